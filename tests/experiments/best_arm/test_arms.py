"""Statistics that can be added, and bounds that hold at all times."""

import json
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import betaln, zeta

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.best_arm.arms import (
    ArmStatistics,
    Bernoulli,
    Bounded,
    SubGaussian,
    Tally,
    check_statistics,
    reward_model,
)

REWARDS = st.lists(st.floats(-1e6, 1e6), max_size=20)
BOUNDS = pytest.mark.parametrize("bound", ["lil", "beta"])


@given(rewards=REWARDS)
def test_statistics_are_those_of_the_rewards(rewards):
    found = ArmStatistics.of(rewards)
    assert found.count == len(rewards)
    assert found.total == pytest.approx(math.fsum(rewards), abs=1e-6)
    assert found.squares == pytest.approx(math.fsum(x * x for x in rewards))
    if rewards:
        assert (found.minimum, found.maximum) == (min(rewards), max(rewards))
        assert found.mean == pytest.approx(np.mean(rewards), abs=1e-6)
    if len(rewards) > 1 and np.var(rewards) > 1e-3 * np.mean(np.square(rewards)):
        assert found.variance == pytest.approx(np.var(rewards, ddof=1), rel=1e-6)


@given(first=REWARDS, second=REWARDS)
@example(first=[], second=[2e-161] * 3)
def test_statistics_add_like_the_rewards_they_are_of(first, second):
    added = ArmStatistics.of(first) + ArmStatistics.of(second)
    together = ArmStatistics.of(first + second)
    one_by_one = ArmStatistics()
    tally = Tally(1)
    for reward in first + second:
        one_by_one = one_by_one.add(reward)
        tally.add(0, reward)
    for other in (together, one_by_one, tally.statistics[0]):
        assert (added.count, added.minimum, added.maximum) == (
            other.count,
            other.minimum,
            other.maximum,
        )
        assert added.total == pytest.approx(other.total, abs=1e-6)
        assert added.squares == pytest.approx(other.squares)


def test_without_rewards_there_is_no_mean():
    assert math.isnan(ArmStatistics().mean)
    assert math.isnan(ArmStatistics.of([1.0]).variance)


@given(rewards=REWARDS)
def test_statistics_survive_json(rewards):
    found = ArmStatistics.of(rewards)
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert ArmStatistics.from_dict(json.loads(text)) == found


@pytest.mark.parametrize(
    "values",
    [
        (-1, 0.0, 0.0, math.inf, -math.inf),
        (0, 1.0, 1.0, 1.0, 1.0),
        (1.5, 1.0, 1.0, 1.0, 1.0),
        (2, 1.0, 1.0, 1.0, 0.0),
        (2, 5.0, 25.0, 0.0, 1.0),
        (2, -1.0, 1.0, 0.0, 1.0),
        (2, 2.0, 1.0, 0.0, 2.0),
        (1, math.nan, 1.0, 0.0, 1.0),
        (1, 1.0, math.inf, 0.0, 1.0),
        (1, 1.0, 1.0, -math.inf, math.inf),
    ],
)
def test_impossible_statistics_are_refused(values):
    with pytest.raises(DataError, match="no rewards have these statistics"):
        ArmStatistics(*values)


@pytest.mark.parametrize(
    "values",
    [(1, "x", 1, 1, 1), (1, None, 1, 1, 1), (1, 10**400, 1, 1, 1), (True, 1, 1, 1, 1)],
)
def test_what_are_no_numbers_are_no_statistics(values):
    with pytest.raises(DataError, match="no rewards have these statistics"):
        ArmStatistics(*values)


def test_an_arm_has_no_more_outcomes_than_the_bounds_can_deal_with():
    with pytest.raises(DataError, match=r"at most 10¹² outcomes\. Got 1000000000001"):
        ArmStatistics(10**12 + 1, 0, 0, 0, 0)
    half = ArmStatistics(10**12, 0, 0, 0, 0)
    with pytest.raises(DataError, match=r"at most 10¹² outcomes\. Got 2000000000000"):
        half + half


@pytest.mark.parametrize("number", [int, np.int64, np.float32])
def test_whatever_their_kind_statistics_are_plain_numbers(number):
    found = ArmStatistics(np.int64(1), *(number(1) for _ in range(4)))
    assert type(found.count) is int
    assert {type(one) for one in (found.total, found.squares, found.minimum)} == {float}
    check_statistics(Bernoulli(), found)
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_long_sums_may_be_rounded():
    tally = Tally(1)
    tally.counts, tally.totals = [10**9], [10**9 * 0.1 * (1 + 1e-8)]
    tally._squares, tally._minima, tally._maxima = [10**9 * 0.01], [0.1], [0.1]
    found = tally.statistics[0]  # as they come from adding up, unchecked
    assert ArmStatistics.from_dict(found.to_dict()) == found
    with pytest.raises(DataError, match="no rewards have these statistics"):
        ArmStatistics(100, 10 * (1 + 1e-8), 1.0, 0.1, 0.1)


def test_models_have_plain_numbers():
    for model in (SubGaussian(np.float32(1)), Bounded(np.float32(0), np.int64(5))):
        assert reward_model(json.loads(json.dumps(model.to_dict()))) == model


@pytest.mark.parametrize(
    "values", [{}, 5, {"count": 1}, {**ArmStatistics.of([1]).to_dict(), "total": "1"}]
)
def test_stored_statistics_that_are_not_whole_are_refused(values):
    with pytest.raises(DataError, match="statistics of an arm are numbers"):
        ArmStatistics.from_dict(values)


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, 1e200, "1", None, 1j, [1]])
@pytest.mark.parametrize("model", [SubGaussian(1.0), Bounded(0, 2), Bernoulli()])
def test_what_is_no_finite_number_is_no_reward(model, reward):
    with pytest.raises(DataError, match="a reward must be a finite number"):
        model.check(reward)
    with pytest.raises(DataError, match="a reward must be a finite number"):
        ArmStatistics.of([reward])


@pytest.mark.parametrize(
    ("model", "good", "bad"),
    [
        (SubGaussian(1.0), [-1e9, 0, np.float32(2)], []),
        (Bounded(1, 5), [1, 5, np.int64(3), 2.5], [0.999, 5.001, -3]),
        (Bernoulli(), [0, 1, True, np.bool_(False), 1.0], [0.5, 2, -1]),
    ],
)
def test_rewards_outside_their_bounds_are_refused(model, good, bad):
    assert [model.check(reward) for reward in good] == [float(reward) for reward in good]
    for reward in bad:
        with pytest.raises(DataError, match="a reward must be"):
            model.check(reward)


@pytest.mark.parametrize(
    ("model", "span"), [(Bernoulli, 1), (lambda **given: Bounded(1, 5, **given), 4)]
)
def test_an_effect_larger_than_the_range_is_refused(model, span):
    assert model(evidence="betting", effect=span).effect == span
    with pytest.raises(ParameterError, match=f"'effect' parameter .* ≤ {span} or None. Got 4.5"):
        model(evidence="betting", effect=4.5)


def test_statistics_of_rewards_outside_their_bounds_are_refused():
    with pytest.raises(DataError, match=r"in \[0, 5\]"):
        check_statistics(Bounded(0, 5), ArmStatistics.of([1, 6]))
    with pytest.raises(DataError, match="not the statistics of zeros and ones"):
        check_statistics(Bernoulli(), ArmStatistics.of([0, 0.5, 1]))
    with pytest.raises(DataError, match="not the statistics of zeros and ones"):
        check_statistics(Bernoulli(), ArmStatistics(3, 1.5, 1.5, 0.0, 1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SubGaussian(0), "'sigma' parameter of SubGaussian must be a number > 0"),
        (lambda: Bounded(1, 1), "'high' parameter of Bounded must be a number > 1"),
        (lambda: Bounded(0, math.inf), "'high' parameter of Bounded must be"),
        (lambda: Bernoulli(bound="normal"), "'bound' parameter of Bernoulli must be one of"),
        (lambda: SubGaussian(1).radius(0, 0.1), "'n' parameter of SubGaussian"),
        (lambda: SubGaussian(1).radius(1, 0.0), "'delta' parameter of SubGaussian"),
        (lambda: Bernoulli().lower(ArmStatistics(), 1.0), "'delta' parameter of Bernoulli"),
        (lambda: Bernoulli().upper(ArmStatistics(), -1), "'delta' parameter of Bernoulli"),
    ],
)
def test_parameters_out_of_range_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "model", [SubGaussian(2.5), Bounded(-1, 4, bound="beta"), Bernoulli(), Bernoulli(bound="beta")]
)
def test_a_model_survives_json(model):
    assert reward_model(json.loads(json.dumps(model.to_dict()))) == model


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "Got None"), ({"name": "cauchy"}, "Got 'cauchy'"), ({"name": "bounded"}, "parameters")],
)
def test_an_unknown_model_is_refused(values, message):
    with pytest.raises(DataError, match=message):
        reward_model(values)


@given(n=st.integers(1, 10**9), delta=st.floats(1e-200, 0.99), sigma=st.floats(0.01, 100))
def test_the_radius_by_hand(n, delta, sigma):
    level = math.log(1 / min(delta, 0.1))
    beta = level + 3 * math.log(level) + 1.5 * math.log(math.log(math.e * n))
    expected = sigma * math.sqrt(2 * beta / n)
    assert SubGaussian(sigma).radius(n, delta) == pytest.approx(expected, rel=1e-9)
    assert Bounded(-sigma, sigma).radius(n, delta) == pytest.approx(expected, rel=1e-9)


def test_levels_above_a_tenth_are_taken_as_a_tenth():
    model = SubGaussian(1.0)
    assert model.radius(7, 0.9) == model.radius(7, 0.5) == model.radius(7, 0.1)
    assert model.radius(7, 0.0999) > model.radius(7, 0.1)


@pytest.mark.parametrize("exponent", [1, 2, 5, 20, 100, 200, 300])
def test_the_radius_is_beyond_a_stitched_boundary_that_is_proved(exponent):
    """Howard et al. (2021), theorem 1: this is why (4.4) holds, with its factor of two."""
    level = exponent * math.log(10)
    log_n = np.concatenate([np.linspace(0, 50, 2000), np.geomspace(50, 1e12, 2000)])
    ours = 2 * (level + 3 * math.log(level) + 1.5 * np.log1p(log_n))
    assert any(
        (_stitched(log_n, level, log_eta, s) <= ours).all()
        for log_eta in (1.0, 0.5, 0.2, 0.1, 0.05)
        for s in (1.2, 1.3, 1.4)
    )


def _stitched(log_n, level, log_eta, s):
    """n times the square of the boundary of the mean, for 1-sub-Gaussian rewards."""
    k = (math.exp(log_eta / 4) + math.exp(-log_eta / 4)) ** 2 / 2
    return k * (s * np.log1p(log_n / log_eta) + math.log(zeta(s)) + level)


@pytest.mark.slow
def test_the_formula_as_printed_is_crossed_too_often():
    """Without the factor of two, standard normal rewards cross it with more than δ = 0.1."""
    rng = np.random.default_rng(0)
    n = np.arange(1, 100_001)
    level = math.log(10)
    printed = n * np.sqrt((level + 3 * math.log(level) + 1.5 * np.log1p(np.log(n))) / n)
    runs = 4000
    crossed = halved = 0
    for _ in range(runs):
        sums = rng.standard_normal(n.size).cumsum()
        crossed += (sums > printed).any()
        halved += (sums > math.sqrt(2) * printed).any()
    assert crossed / runs > 0.1 + 2 * math.sqrt(0.1 * 0.9 / runs)
    assert halved / runs < 0.02


@given(
    n=st.integers(1, 10**6),
    share=st.floats(0, 1),
    delta=st.floats(1e-100, 0.5),
    whole=st.booleans(),
)
def test_at_the_beta_bounds_the_mixture_is_one_over_delta(n, share, delta, whole):
    hits = round(n * share) if whole else n * share
    arm = ArmStatistics(n, hits, hits, 0.0, 1.0)
    model = Bounded(0, 1, bound="beta")
    for m, at_end in ((model.lower(arm, delta), hits == 0), (model.upper(arm, delta), hits == n)):
        if at_end:
            assert m in (0.0, 1.0)
        elif 1e-6 < m < 1 - 1e-6:
            mixture = betaln(hits + 0.5, n - hits + 0.5) - math.log(math.pi)
            ratio = mixture - hits * math.log(m) - (n - hits) * math.log1p(-m)
            assert ratio == pytest.approx(-math.log(delta), rel=1e-5)
    assert 0 <= model.lower(arm, delta) <= hits / n <= model.upper(arm, delta) <= 1


@given(n=st.integers(1, 10**4), share=st.floats(0, 1), delta=st.floats(1e-20, 0.05))
def test_the_beta_bounds_are_the_narrower_ones(n, share, delta):
    hits = round(n * share)
    arm = ArmStatistics(n, hits, hits, 0.0 if hits < n else 1.0, 1.0 if hits else 0.0)
    narrow, wide = Bernoulli(bound="beta"), Bernoulli()
    assert narrow.lower(arm, delta) >= wide.lower(arm, delta)
    assert narrow.upper(arm, delta) <= wide.upper(arm, delta)


@BOUNDS
@given(rewards=st.lists(st.sampled_from([0, 0.25, 1]), min_size=1, max_size=50))
def test_bounds_move_with_the_unit_of_the_rewards(bound, rewards):
    unit, stars = Bounded(0, 1, bound=bound), Bounded(-10, 30, bound=bound)
    arm, scaled = ArmStatistics.of(rewards), ArmStatistics.of([40 * x - 10 for x in rewards])
    assert stars.lower(scaled, 0.05) == pytest.approx(40 * unit.lower(arm, 0.05) - 10)
    assert stars.upper(scaled, 0.05) == pytest.approx(40 * unit.upper(arm, 0.05) - 10)


@pytest.mark.parametrize("model", [SubGaussian(1.0), Bernoulli(), Bernoulli(bound="beta")])
def test_nothing_is_known_of_an_arm_without_rewards(model):
    assert model.lower(ArmStatistics(), 0.05) == -math.inf
    assert model.upper(ArmStatistics(), 0.05) == math.inf
