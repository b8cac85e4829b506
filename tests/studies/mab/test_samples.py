import numpy as np
import pytest

from labelwood import studies
from labelwood.experiments.best_arm.rewards import Bernoulli, SubGaussian
from labelwood.studies._study import Options
from labelwood.studies.mab import samples as mab_samples


@pytest.fixture(scope="module")
def result():
    return studies.run("mab-samples", quick=True, jobs=1)


@pytest.mark.parametrize("n_arms", [2, 30])
def test_the_best_arm_is_ahead_by_the_gap_and_the_others_are_spread_below(n_arms):
    rng = np.random.default_rng(0)
    means = np.array([mab_samples.draw_means(n_arms, 0.2, 0.3, rng) for _ in range(50)])
    np.testing.assert_allclose(means[:, 0], 0.75)
    np.testing.assert_allclose(means[:, 1], 0.55)
    assert means[:, 1:].max() <= 0.55
    assert means[:, 1:].min() >= 0.25
    if n_arms > 2:
        assert means[:, 2:].mean() == pytest.approx(0.4, abs=0.01)


def test_the_largest_gap_leaves_the_means_of_zeros_and_ones_within_their_range():
    sigma = Bernoulli().sigma
    rng = np.random.default_rng(0)
    gap, spread = max(mab_samples.GAPS) * sigma, mab_samples.SPREAD * sigma
    means = mab_samples.draw_means(50, gap, spread, rng)
    assert means.min() >= 0
    assert means.max() <= 1


def test_rewards_are_those_of_the_part():
    assert mab_samples.reward_model("gaussian") == SubGaussian(1.0)
    assert mab_samples.reward_model("bernoulli").bound == "lil"


def test_every_problem_has_a_row_and_every_part_a_slope(result):
    for part in ("gaussian", "bernoulli"):
        own = [row for row in result.rows if row["rewards"] == part]
        *problems, last = own
        assert [row["best"] for row in problems] == ["treatment"] * 4 + ["control"] * 4
        for row in problems:
            assert row["times"] == row["samples"] / row["sum"]
            assert row["right"] == 1
        points = np.log([(row["sum"], row["samples"]) for row in problems])
        (x, y), center = points.T, points.mean(axis=0)
        slope = ((x - center[0]) * (y - center[1])).sum() / ((x - center[0]) ** 2).sum()
        assert last["slope"] == pytest.approx(slope)


def test_a_smaller_gap_takes_more_samples(result):
    rows = [row for row in result.rows if row["best"] != "all"]
    for wide, close in zip(rows[1::2], rows[::2], strict=True):
        assert close["gap"] < wide["gap"]
        assert close["samples"] > wide["samples"]


def test_results_do_not_depend_on_the_number_of_threads(result):
    assert studies.run("mab-samples", quick=True, jobs=2).rows == result.rows


@pytest.mark.slow
@pytest.mark.parametrize("part", ["gaussian", "bernoulli"])
def test_the_slope_is_near_one_and_the_arm_right_in_enough_runs(part):
    *problems, last = mab_samples.rows(part, Options())
    assert 0.9 < last["slope"] < 1.1
    n = len(problems) * mab_samples.RUNS
    right = np.mean([row["right"] for row in problems])
    assert right >= 1 - mab_samples.DELTA - 3 * np.sqrt(mab_samples.DELTA / n)


def test_the_plot_has_a_panel_for_each_kind_of_rewards_and_tells_the_slope(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("mab-samples").draw, result.rows).decode()
    slopes = [row["slope"] for row in result.rows if row["best"] == "all"]
    for part, slope in zip(("gaussian", "bernoulli"), slopes, strict=True):
        assert f">{part}: slope {slope:.2f}<" in image
    for text in ("a treatment is best", "the control is best", "slope 1"):
        assert f">{text}<" in image
