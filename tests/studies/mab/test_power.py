import numpy as np
import pytest

from labelwood import studies
from labelwood.experiments.best_arm.rewards import SubGaussian
from labelwood.experiments.simulation.simulate import SequenceRuns
from labelwood.studies._study import Options
from labelwood.studies.mab import _sequences as _experiments
from labelwood.studies.mab import power as mab_power
from labelwood.studies.mab._sequences import (
    Comparison,
    Experiments,
    at_rate,
    one_best,
    with_controls,
)

CURVES = {"MAB-FDR": {"policy": "best_arm"}, "AB-FDR": {"policy": "uniform"}}


@pytest.fixture(scope="module")
def result():
    return studies.run("mab-power", quick=True, jobs=1)


def test_one_arm_is_best_and_the_others_are_spread_evenly_below():
    means = one_best(2_000, 5, 8.0, 5.0, np.random.default_rng(0))
    assert (means[:, 0] == 8).all()
    others = means[:, 1:]
    assert 0 <= others.min() < 0.01
    assert 4.99 < others.max() <= 5
    assert others.mean() == pytest.approx(2.5, abs=0.1)


@pytest.mark.parametrize("n_controls", [1, 3, 100])
def test_the_control_is_best_but_in_experiments_with_an_effect(n_controls):
    arms = np.random.default_rng(1).random((200, 6))
    made = with_controls(arms, n_controls, np.random.default_rng(2), effects=0.4)
    assert made.effects.sum() == 80
    np.testing.assert_array_equal(np.sort(made.means), np.sort(arms))
    rank = (made.means > made.means[:, :1]).sum(axis=1)  # of the control, 0 for the best
    assert (rank[~made.effects] == 0).all()
    assert set(rank[made.effects]) == set(range(1, min(n_controls, 5) + 1))


def test_the_best_treatment_may_stand_anywhere():
    arms = -np.sort(-np.random.default_rng(1).random((300, 4)))
    made = with_controls(arms, 2, np.random.default_rng(0), effects=1.0)
    assert set(made.means.argmax(axis=1)) == {1, 2, 3}


def test_the_same_rate_is_found_between_two_limits():
    rows = [
        {"limit": 100, "BDR": 0.1, "samples": 1_000.0},
        {"limit": 200, "BDR": 0.3, "samples": 1_800.0},
        {"limit": 400, "BDR": 0.7, "samples": 2_000.0},
    ]
    assert at_rate(rows, 0.4) == pytest.approx({"limit": 250, "samples": 1_850})
    assert at_rate(rows, 0.3) == pytest.approx({"limit": 200, "samples": 1_800})
    assert at_rate(rows, 0.8) == {}
    assert at_rate(rows, 0.05) == {}  # reached before the first limit, nobody knows where


MEANS = np.array([[3.0, 1, 2], [1, 3, 2], [2, 3, 3]])  # control best; arm 1 best; arms 1 and 2


def finished(limit):
    """Two runs of three experiments; those with more than 100 samples to go end by themselves."""
    return SequenceRuns(
        level=np.full((2, 3), 0.01),
        p_value=np.full((2, 3), 0.5),
        rejected=np.array([[True, True, True], [False, True, True]]),
        ended_with=np.array([[1, 1, 2], [0, 2, 1 if limit > 100 else -1]]),
        leader=np.array([[1, 1, 2], [0, 2, 1]]),
        n_samples=np.array([[10, 20, 30], [10, 20, 50]]),
    )


@pytest.fixture
def by_hand(monkeypatch):
    """The rows of a figure whose runs are those above, and the limits that were run."""
    limits = []

    def run_sequence(given, setting, runs, options, draw, initial_wealth):
        assert (runs, draw) == (2, 0)
        limits.append((setting.policy, setting.max_samples))
        return finished(setting.max_samples)

    monkeypatch.setattr(_experiments, "run_sequence", run_sequence)
    comparison = Comparison(
        rewards="toy",
        curves=CURVES,
        draws=lambda n_arms: [Experiments(MEANS, np.array([False, True, True]))],
        n_arms=3,
        limits=(100, 200, 300),
        limit=100,
        arms=(2, 3, 4),
        runs=2,
    )
    return list(comparison.rows(Options())), limits


def test_the_figures_of_a_row_are_those_of_its_definition(by_hand):
    row = by_hand[0][0]
    names = {"rewards": "toy", "panel": "truncation", "policy": "MAB-FDR", "arms": 3, "limit": 100}
    assert {name: row[name] for name in names} == names
    # Run 1 finds the best arm in both experiments with an effect, run 2 in the second of them.
    assert row["BDR"] == pytest.approx(0.75)
    assert row["±"] == pytest.approx(0.25)  # of 1 and 1/2
    assert row["FDR"] == pytest.approx((1 / 3 + 0) / 2)
    assert row["samples"] == pytest.approx((60 + 80) / 2)


def test_nothing_is_run_twice_nor_when_every_experiment_has_ended_before(by_hand):
    rows, limits = by_hand
    assert limits[:4] == [("best_arm", 100), ("best_arm", 200), ("uniform", 100), ("uniform", 200)]
    assert limits[4:] == [("best_arm", 100)] * 2 + [("uniform", 100)] * 2  # with 2 and 4 arms
    shown = [row["limit"] for row in rows if row["panel"] == "truncation"]
    assert shown == [100, 200, 300] * 2
    assert [row["arms"] for row in rows if row["panel"] == "arms"] == [2, 3, 4] * 2


def test_the_panel_over_arms_has_a_row_for_each_number_of_them(result):
    for part, arms in (("gaussian", [5, 10]), ("bernoulli", [3, 5])):
        for policy in CURVES:
            own = [row for row in result.rows if (row["rewards"], row["policy"]) == (part, policy)]
            assert [row["arms"] for row in own if row["panel"] == "arms"] == arms


def test_samples_for_the_same_rate_are_given_as_a_multiple_of_the_first_policy(result):
    rows = [row for row in result.rows if row["panel"] == "equal BDR"]
    assert [row["BDR"] for row in rows] == [0.5, 0.5, 0.9, 0.9, 0.99, 0.99] * 4
    for adaptive, uniform in zip(rows[::2], rows[1::2], strict=True):
        assert (adaptive["policy"], uniform["policy"]) == ("MAB-FDR", "AB-FDR")
        assert adaptive["times"] == 1
        assert uniform["times"] == pytest.approx(uniform["samples"] / adaptive["samples"])


def test_no_more_samples_are_taken_than_the_limits_allow(result):
    for row in result.rows:
        if row["panel"] != "equal BDR":
            assert row["samples"] <= 10 * row["limit"]
            assert 0 <= row["BDR"] <= 1


def test_results_do_not_depend_on_the_number_of_threads(result):
    again = studies.run("mab-power", quick=True, jobs=2)
    assert again.rows == result.rows


def test_adaptive_sampling_of_fifty_arms_needs_less_than_half_the_samples(monkeypatch):
    small = {"limits": (100, 140, 160, 200, 400, 600, 800, 1_000), "arms": (), "runs": 4}
    monkeypatch.setitem(mab_power.PARTS, "gaussian", {**mab_power.PARTS["gaussian"], **small})
    monkeypatch.setitem(mab_power.N_EXPERIMENTS, "gaussian", 60)
    rows = list(mab_power.rows("gaussian", Options()))
    assert {row["arms"] for row in rows} == {50}
    times = [row["times"] for row in rows if row["panel"] == "equal BDR"]
    assert times[::2] == [1, 1, 1]
    assert min(times[1::2]) > 2.5
    assert max(row["FDR"] for row in rows if "FDR" in row) == 0


def test_gaussian_rewards_vary_by_one_and_bernoulli_ones_have_the_bound_of_the_chapter():
    gaussian, bernoulli = mab_power._curves("gaussian"), mab_power._curves("bernoulli")
    assert gaussian["MAB-FDR"]["reward"] == SubGaussian(1.0)
    assert bernoulli["AB-FDR"]["reward"].bound == "lil"


def test_the_plot_has_two_panels_for_each_kind_of_rewards(result):
    pytest.importorskip("matplotlib")
    from labelwood.studies._plot import svg

    image = svg(studies.find("mab-power").draw, result.rows).decode()
    for text in ("gaussian", "bernoulli", "MAB-FDR", "AB-FDR", "number of arms", "BDR"):
        assert f">{text}<" in image
