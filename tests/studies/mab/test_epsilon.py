import pytest

from labelwood import studies
from labelwood.experiments.discoveries import best_arms
from labelwood.studies.mab.epsilon import EPSILON, SITUATIONS


def test_the_situation_is_that_of_figure_4_5():
    means = SITUATIONS["figure 4.5"]
    near = [arm for arm in range(1, 6) if means[arm] >= max(means) - EPSILON]
    assert near == [1, 2, 3]
    assert best_arms(means, epsilon=EPSILON) == [1, 2]


@pytest.fixture(scope="module")
def rows():
    return studies.run("mab-epsilon", quick=True, jobs=1).rows


def test_experiments_end_with_a_right_arm(rows):
    assert len(rows) == 12
    for row in rows:
        assert row["right"] + row["wrong"] + row["undecided"] == pytest.approx(1)
        assert row["wrong"] <= 1 - row["guaranteed"]


def test_betting_takes_fewer_samples_than_bounds(rows):
    samples = {(row["situation"], row["evidence"], row["policy"]): row["samples"] for row in rows}
    for (situation, evidence, policy), n in samples.items():
        if evidence != "betting":
            assert samples[situation, "betting", policy] < n
