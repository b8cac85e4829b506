"""Evidence for a difference: the formula, its validity at every look, and its power."""

import math

import numpy as np
import pytest
from scipy.special import betaln, logsumexp
from scipy.stats import norm

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm import (
    ArmStatistics,
    Bernoulli,
    BestArmExperiment,
    Bounded,
    SubGaussian,
    arm_p_value,
    difference_evidence,
    difference_interval,
)
from labelwood.experiments.simulation import Setting, simulate

EFFECTS = 2.0 ** np.arange(-2, 6)
SHARES = np.array([0.10, 0.20, 0.35, 0.15, 0.10, 0.05, 0.03, 0.02])
BETTING = Bernoulli(bound="beta", evidence="betting", effect=0.01)
MIXTURE = Bernoulli(bound="beta", evidence="mixture", effect=0.01)
RETENTION = ArmStatistics.from_counts(44_700, 8_502), ArmStatistics.from_counts(45_489, 8_279)


def capital(m, n1, h1, n0, h0, d, effect, ratio=1.0):
    """ln of the capital at means m of the control, by the definition, for zeros and ones."""
    m = np.atleast_1d(m)
    above = np.minimum(m + d, 1)
    v = (m * (1 - m) + above * (1 - above)) / 2
    cap = 0.95 * np.minimum(1 / above, 1 / (ratio * (1 - m)))
    bets = np.minimum(EFFECTS[:, None] * effect / (v * (1 + ratio)), cap)
    treatment = h1 * np.log(1 + bets * (1 - above)) + (n1 - h1) * np.log(1 - bets * above)
    control = h0 * np.log(1 - ratio * bets * (1 - m)) + (n0 - h0) * np.log(1 + ratio * bets * m)
    mixture = betaln(h0 + 0.5, n0 - h0 + 0.5) - math.log(math.pi)
    alone = mixture - h0 * np.log(m) - (n0 - h0) * np.log(1 - m)
    joint = np.log(0.95 * SHARES)[:, None] + treatment + control
    return logsumexp(np.vstack([joint, math.log(0.05) + alone]), axis=0)


@pytest.mark.parametrize(
    ("treatment", "control", "d", "effect", "ratio"),
    [
        ((400, 60), (420, 30), 0.0, 0.01, 1.0),
        ((400, 60), (420, 30), 0.03, 0.05, 1.0),
        ((4000, 260), (1000, 45), 0.0, 0.01, 4.0),
        ((50, 50), (40, 3), 0.2, 0.1, 1.0),
        ((300, 90), (300, 100), -0.2, 0.1, 1.0),
    ],
)
def test_evidence_is_the_smallest_capital_over_all_means_of_the_control(
    treatment, control, d, effect, ratio
):
    model = Bernoulli(evidence="betting", effect=effect, ratio=ratio)
    arms = ArmStatistics.from_counts(*treatment), ArmStatistics.from_counts(*control)
    grid = np.linspace(max(0, -d) + 1e-6, 1 - 1e-6, 100_001)
    expected = capital(grid, *treatment, *control, d, effect, ratio).min()
    found = difference_evidence(*arms, reward=model, difference=d)
    assert found == pytest.approx(max(expected, 0), abs=1e-4)


def test_the_expected_capital_of_a_true_null_hypothesis_is_at_most_one():
    # One pull of each arm: all outcomes are listed, so that nothing is drawn.
    for p0, p1, d in ((0.3, 0.3, 0.0), (0.3, 0.1, 0.0), (0.2, 0.5, 0.3), (0.6, 0.5, -0.1)):
        for ratio in (1.0, 3.0):
            mean = sum(
                (p1 if h1 else 1 - p1)
                * (p0 if h0 else 1 - p0)
                * math.exp(capital(p0, 1, h1, 1, h0, d, 0.2, ratio)[0])
                for h1 in (0, 1)
                for h0 in (0, 1)
            )
            assert mean <= 1 + 1e-12
            if p1 == p0 + d:  # a martingale at the edge: nothing is given away
                assert mean == pytest.approx(1)


def test_the_normal_mixture_is_the_integral_over_a_half_normal_prior():
    treatment, control = ArmStatistics.from_counts(900, 80), ArmStatistics.from_counts(1000, 60)
    p, q = 81 / 902, 61 / 1002
    variance = p * (1 - p) / 900 + q * (1 - q) / 1000
    gap, theta = 80 / 900 - 60 / 1000 - 0.001, np.linspace(0, 0.3, 300_001)
    ratio = np.exp((theta * gap - theta**2 / 2) / variance) * 2 * norm.pdf(theta, scale=0.01)
    model = Bernoulli(evidence="mixture", effect=0.01)
    found = difference_evidence(treatment, control, reward=model, difference=0.001)
    assert found == pytest.approx(math.log(np.trapezoid(ratio, theta)), rel=1e-6)


def test_gaussian_bets_are_exponentials():
    n1, s1, n0, s0, theta = 60, 45.0, 50, 5.0, 0.2 * EFFECTS
    model = SubGaussian(2.0, evidence="betting", effect=0.4)

    def log_capital(m):
        bets = theta / 2
        joint = bets * (s1 / 2 - n1 * m) - n1 * bets**2 / 2
        joint = joint - bets * (s0 / 2 - n0 * m) - n0 * bets**2 / 2
        s = s0 / 2 - n0 * m
        alone = s * s / (2 * (1 + n0)) - math.log(1 + n0) / 2
        return logsumexp([*(np.log(0.95 * SHARES) + joint), math.log(0.05) + alone])

    arms = [ArmStatistics(n, s, 1e4, -50.0, 50.0) for n, s in ((n1, s1), (n0, s0))]
    expected = min(map(log_capital, np.linspace(-3, 3, 20_001)))
    assert difference_evidence(*arms, reward=model) == pytest.approx(expected, abs=1e-5)


def test_rewards_inside_the_range_count_as_shares_of_its_ends():
    stars = Bounded(1, 5, bound="beta", evidence="betting", effect=0.2)
    new, old = ArmStatistics.of([5, 4, 3, 5] * 60), ArmStatistics.of([2, 3, 1, 4] * 60)
    shares = [(arm.count, (arm.total - arm.count) / 4) for arm in (new, old)]
    grid = np.linspace(1e-6, 1 - 1e-6, 20_001)
    expected = capital(grid, *shares[0], *shares[1], 0.0, 0.05).min()
    assert difference_evidence(new, old, reward=stars) == pytest.approx(expected, abs=1e-4)


# What it is for


def test_the_public_retention_experiment_is_significant():
    for model, p in ((BETTING, 0.0256), (MIXTURE, 0.0183)):
        assert arm_p_value(*RETENTION, reward=model) == pytest.approx(p, abs=1e-3)
    for bound in ("lil", "beta"):
        assert arm_p_value(*RETENTION, reward=Bernoulli(bound=bound)) == 1


def test_an_effect_that_is_stated_wrong_by_a_factor_of_two_costs_little():
    for effect in (0.005, 0.02):
        model = Bernoulli(evidence="betting", effect=effect)
        assert arm_p_value(*RETENTION, reward=model) <= 0.05


@pytest.mark.parametrize("model", [BETTING, MIXTURE], ids=["betting", "mixture"])
def test_five_against_six_per_cent_takes_at_most_45_000_samples(model):
    done = simulate([0.05, 0.06], 0.05, Setting(60_000, reward=model, batch=200), runs=200,
                    random_state=0)  # fmt: skip
    n = np.where(done.ended_with == 1, done.n_samples, np.inf)
    assert np.quantile(n, 0.9, method="higher") <= 40_000


# Validity under peeking; the large simulation is the study `mab-coverage`


@pytest.mark.parametrize("policy", ["uniform", "best_arm"])
@pytest.mark.parametrize("model", [BETTING, MIXTURE], ids=["betting", "mixture"])
@pytest.mark.parametrize("means", [[0.05, 0.05], [0.2, 0.2, 0.2, 0.1]])
def test_the_p_value_is_super_uniform_at_the_worst_look(policy, model, means):
    setting = Setting(4_000, reward=model, policy=policy, batch=5)
    done = simulate(means, 0.05, setting, runs=400, random_state=1)
    # Three standard errors above the level, so that a right method fails once in a thousand.
    for alpha in (0.05, 0.2):
        assert np.mean(done.p_value <= alpha) <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / 400)
    assert np.mean(done.ended_with > 0) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_an_adversary_who_chooses_arms_by_what_was_seen_does_not_break_it():
    # The control is pulled while it is below its mean, the treatment while it is above: the
    # worst that optional stopping of either arm can do to the two means.
    rng, broken = np.random.default_rng(5), 0
    model = Bernoulli(evidence="betting", effect=0.1).for_kernels()
    from labelwood.experiments.evidence import log_evidence

    for _ in range(300):
        n, hits, worst = np.zeros(2), np.zeros(2), 0.0
        for _ in range(300):
            lucky = hits[1] > 0.3 * n[1]
            arm = int(not lucky) if n.min() > 3 else int(n[1] < n[0])
            hits[arm] += rng.random() < 0.3
            n[arm] += 1
            worst = log_evidence(n[1], hits[1], n[0], hits[0], 0.0, worst, model)
        broken += worst >= math.log(10)
    assert broken / 300 <= 0.1


# Intervals


def test_the_differences_that_are_rejected_are_all_below_the_others():
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = rng.integers(20, 2000, 2)
        arms = [ArmStatistics.from_counts(int(k), int(rng.binomial(k, rng.random()))) for k in n]
        found = np.array(
            [
                difference_evidence(*arms, reward=BETTING, difference=d)
                for d in np.linspace(-0.98, 0.98, 99)
            ]
        )
        # So an end of an interval can be found by bisection.
        for level in (math.log(20), math.log(2000)):
            assert np.all(np.diff((found >= level).astype(int)) <= 0)


@pytest.mark.parametrize("model", [BETTING, MIXTURE], ids=["betting", "mixture"])
def test_the_ends_of_an_interval_are_where_the_evidence_is_two_over_delta(model):
    new, old = ArmStatistics.from_counts(2000, 150), ArmStatistics.from_counts(2100, 110)
    low, high = difference_interval(new, old, 0.1, reward=model)
    assert low < new.mean - old.mean < high
    for one, other, d in ((new, old, low), (old, new, -high)):
        found = difference_evidence(one, other, reward=model, difference=d)
        assert found == pytest.approx(math.log(20), abs=1e-6)


def test_an_interval_without_outcomes_is_the_whole_range():
    nothing, some = ArmStatistics(), ArmStatistics.from_counts(5, 2)
    assert difference_interval(nothing, some, 0.05, reward=BETTING) == (-1, 1)
    assert difference_evidence(nothing, some, reward=BETTING) == 0


# Bad input


def test_bounds_alone_give_no_evidence_for_a_difference():
    with pytest.raises(ParameterError, match="needs a reward model with evidence 'betting'"):
        difference_evidence(*RETENTION, reward=Bernoulli())


@pytest.mark.parametrize(
    ("parameters", "name"),
    [({"evidence": "bayes"}, "evidence"), ({"effect": 0}, "effect"), ({"ratio": 0}, "ratio")],
)
def test_wrong_parameters_of_evidence_are_refused(parameters, name):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of Bernoulli"):
        Bernoulli(**parameters)


@pytest.mark.parametrize("counts", [(-1, 0), (5, 6), (5, -1), (2.5, 1), ("5", 1)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(DataError, match="whole number"):
        ArmStatistics.from_counts(*counts)


# In an experiment


def test_named_arms_are_recorded_by_name_and_survive_storage():
    experiment = BestArmExperiment(2, 0.05, names=["old", "new"], control="old", effect=0.02)
    experiment.record_counts({"old": (4000, 210), "new": (4010, 290)})
    assert experiment.winner == 1
    assert str(experiment).startswith("new wins: new 7.23 % against old 5.25 %")
    assert "<strong>new wins" in experiment._repr_html_()
    again = BestArmExperiment.from_dict(experiment.to_dict())
    assert (again.names, again.evidence, again.reward.effect) == (("old", "new"), "betting", 0.02)
    assert again.p_value == experiment.p_value
    with pytest.raises(DataError, match="arm 'red' does not exist: old, new"):
        experiment.record("red", 1)
    with pytest.raises(DataError, match="as many different names"):
        BestArmExperiment(2, 0.05, names=["a", "a"])


def test_a_batch_with_a_wrong_row_changes_nothing():
    experiment = BestArmExperiment(2, 0.05, names=["old", "new"])
    with pytest.raises(DataError, match="conversions are a whole number from 0 to the 10"):
        experiment.record_counts({"old": (100, 5), "new": (10, 11)})
    assert experiment.n_samples == 0


def test_arms_that_the_leader_has_beaten_are_not_pulled_again():
    experiment = BestArmExperiment(3, 0.05, effect=0.1)
    experiment.record_counts({0: (300, 30), 1: (300, 150), 2: (300, 140)})
    assert not experiment.stopped
    assert experiment.next_arms() == [1, 2]
    assert experiment.p_value < 1e-6
