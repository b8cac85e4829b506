import numpy as np
import pytest

from labelwood import studies
from labelwood.studies.hrls import coverage
from labelwood.taxonomy.simulator import TaxonomyModel, balanced

SELECTED = [mode for mode in coverage.MODES if "margin" in mode or mode.endswith(", max_support")]
HELD = [mode for mode in coverage.MODES if mode not in SELECTED]


@pytest.mark.parametrize("independent", [False, True])
def test_the_mean_of_an_estimate_is_that_of_many_drawn_labels(independent):
    model = TaxonomyModel.draw(balanced(2, 1), 3, random_state=0)
    X, Y = model.sample(40, random_state=1)
    x = model.instances(1, random_state=2)[0]
    node, parent = 1, 0
    has_parent = Y.toarray()[:, parent] > 0
    S = X if independent else X[has_parent]
    A = np.eye(3) + S.T @ S + np.outer(x, x)
    estimates = []
    for seed in range(4000):
        drawn = model.labels(X, random_state=seed).toarray()[:, [parent, node]] > 0
        if not independent:  # the parent's labels are given, and the node's drawn below them
            rng = np.random.default_rng(seed)
            label = rng.random(len(S)) < (1 + S @ model.vectors[node]) / 2
        else:
            label = drawn[:, 1]
        estimates.append(np.linalg.solve(A, S.T @ np.where(label, 1.0, -1.0)) @ x)
    mean = coverage.estimate_mean(model, type(model.sample(0, random_state=0))(X, Y), node, x,
                                  independent)  # fmt: skip
    assert np.mean(estimates) == pytest.approx(mean, abs=4 * np.std(estimates) / 4000**0.5)


def test_the_study_gives_intervals_only_where_no_sample_is_kept_by_its_label():
    rows = studies.run("hrls-coverage", quick=True, jobs=1).rows
    assert [row["mode"] for row in rows[::2]] == list(coverage.MODES)
    for row in rows:
        if "margin" in row["mode"]:
            assert row["given"] == 0
            assert "mean held" not in row
        else:
            assert row["given"] == 1
            assert row["mean held"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("mode", coverage.MODES)
def test_intervals_hold_at_their_level_in_every_mode(mode):
    rows = studies.run("hrls-coverage", only=mode, jobs=1).rows
    assert [row["d"] for row in rows] == list(coverage.DIMENSIONS)
    for row in rows:
        assert row["margins"] > 5_000
        if mode in SELECTED:
            assert row["given"] <= 0.5  # children may have seen fewer samples than the limit
        else:
            assert row["given"] == 1
        if row["given"]:
            assert row["mean held"] >= coverage.LEVEL
            assert row.get("margin held", 1) >= coverage.LEVEL
