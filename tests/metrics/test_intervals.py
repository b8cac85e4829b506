from functools import partial
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood import metrics
from labelwood.errors import DataError, ParameterError
from labelwood.metrics import PerSample
from labelwood.metrics.intervals import bootstrap_replicates

SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=30)


def test_the_radius_of_theorem_4_3_by_hand() -> None:
    expected = 3 * 2 * sqrt(log(2 / 0.1) / (2 * 50))
    assert metrics.concentration_radius(rho=3, L_bar=2, n=50, delta=0.1) == pytest.approx(expected)


def test_hoeffding_by_hand() -> None:
    radius = 2 * sqrt(log(2 / 0.05) / (2 * 3))
    low, high = metrics.hoeffding_interval([1, 2, 0], 2, 0.05)
    assert (low, high) == pytest.approx((1 - radius, 1 + radius))


def test_without_more_words_a_thousand_resamples_are_drawn_from_seed_0() -> None:
    plain = bootstrap_replicates(lambda drawn: drawn[:, 0], 20)
    again = bootstrap_replicates(lambda drawn: drawn[:, 0], 20, n_bootstrap=1000, random_state=0)
    assert plain.shape == (1000,)
    np.testing.assert_array_equal(plain, again)
    values = np.arange(20.0) ** 2
    expected = metrics.bootstrap_interval(values, 0.05, n_bootstrap=1000, random_state=0)
    assert metrics.bootstrap_interval(values, 0.05) == expected


def test_one_resample_may_be_drawn_and_of_one_sample() -> None:
    assert bootstrap_replicates(lambda drawn: drawn[:, 0], 1, n_bootstrap=1).tolist() == [1.0]


def test_of_many_samples_that_hardly_vary_bernstein_has_the_last_word() -> None:
    values = np.zeros(2000)
    values[:3] = 1
    found = PerSample.mean(values)
    assert found.span == 1
    half = metrics.bernstein_interval(values, 1, 0.05)
    assert half.high < metrics.hoeffding_interval(values, 1, 0.05).high
    assert found.guaranteed(0.1).high == half.high


def test_two_samples_are_enough_for_bernstein_and_one_is_not() -> None:
    radius = 7 * log(4 / 0.05) / 3
    assert metrics.bernstein_interval([1, 1], 1, 0.05) == pytest.approx((1 - radius, 1 + radius))
    assert metrics.bernstein_interval([1], 1, 0.05) == (-np.inf, np.inf)


def test_bernstein_by_hand() -> None:
    values = np.array([0.0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    variance = 10 * 0.7 * 0.3 / 9
    radius = sqrt(2 * variance * log(4 / 0.05) / 10) + 7 * log(4 / 0.05) / (3 * 9)
    assert metrics.bernstein_interval(values, 1, 0.05) == pytest.approx(
        (0.7 - radius, 0.7 + radius)
    )


def test_bernstein_beats_hoeffding_when_values_vary_little() -> None:
    values = np.full(1000, 0.5)
    narrow = metrics.bernstein_interval(values, 1, 0.05)
    wide = metrics.hoeffding_interval(values, 1, 0.05)
    assert narrow.high - narrow.low < 0.3 * (wide.high - wide.low)


@given(values=SHARES, delta=st.floats(0.01, 0.5))
def test_the_guaranteed_interval_is_what_both_leave_at_half_the_risk(
    values: list[float], delta: float
) -> None:
    ours = metrics.guaranteed_interval(values, 1, delta)
    one = metrics.hoeffding_interval(values, 1, delta / 2)
    other = metrics.bernstein_interval(values, 1, delta / 2)
    assert ours == (max(one.low, other.low), min(one.high, other.high))
    assert ours.low <= np.mean(values) <= ours.high


@given(values=SHARES, scale=st.floats(0.1, 10))
def test_a_constant_denominator_divides_the_interval_of_the_mean(
    values: list[float], scale: float
) -> None:
    constant = np.full(len(values), scale)
    for interval in (metrics.hoeffding_interval, metrics.bernstein_interval):
        mean = interval(values, 1.0, 0.1)
        ratio = interval(values, 1.0, 0.1, denominator=constant)
        np.testing.assert_allclose(ratio, np.array(mean) / scale, atol=1e-9)


@given(
    pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0.3, 1)), min_size=50, max_size=200),
    delta=st.floats(0.01, 0.5),
)
def test_a_ratio_interval_holds_exactly_the_ratios_that_a_mean_interval_does_not_reject(
    pairs: list[tuple[float, float]], delta: float
) -> None:
    top, bottom = np.array([(share * size, size) for share, size in pairs]).T
    for interval in (metrics.hoeffding_interval, metrics.bernstein_interval):
        low, high = interval(top, 1.0, delta, denominator=bottom)
        for t in np.linspace(0, 1, 21):
            mean = interval(top - t * bottom, 1.0, delta)
            if mean.low < -1e-9 and mean.high > 1e-9:
                assert low <= t <= high
            elif mean.low > 1e-9 or mean.high < -1e-9:
                assert not low <= t <= high or low == -np.inf


def test_too_little_information_gives_the_whole_line() -> None:
    everything = (-np.inf, np.inf)
    assert metrics.bernstein_interval([0.5], 1, 0.05) == everything
    assert metrics.bernstein_interval([0, 0, 1], 1, 0.05, denominator=[0, 0, 1]) == everything
    assert metrics.hoeffding_interval([0, 0], 1, 0.05, denominator=[0, 0]) == everything


def test_the_bootstrap_is_the_same_for_the_same_seed_and_differs_for_another() -> None:
    values = np.random.default_rng(0).random(100)
    first = metrics.bootstrap_interval(values, 0.05, random_state=1)
    assert first == metrics.bootstrap_interval(values, 0.05, random_state=1)
    assert first != metrics.bootstrap_interval(values, 0.05, random_state=2)


def test_bootstrap_replicates_are_means_of_resampled_samples() -> None:
    values = np.arange(7.0)
    counts = metrics.bootstrap_replicates(lambda drawn: drawn, 7, n_bootstrap=50, random_state=3)
    means = metrics.bootstrap_replicates(
        lambda drawn: drawn @ values / 7, 7, n_bootstrap=50, random_state=3
    )
    assert counts.shape == (50, 7)
    assert np.all(counts.sum(axis=1) == 7)
    np.testing.assert_allclose(means, counts @ values / 7)


def test_bootstrap_replicates_do_not_depend_on_how_they_are_cut_into_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = partial(metrics.bootstrap_replicates, lambda drawn: drawn, 5, n_bootstrap=9)
    whole = draw()
    monkeypatch.setattr("labelwood.metrics.intervals._FLOATS_AT_ONCE", 10)
    np.testing.assert_array_equal(draw(), whole)


def test_replicates_without_a_denominator_are_left_out() -> None:
    low, high = metrics.bootstrap_interval([0, 0, 1], 0.05, denominator=[0, 0, 1])
    assert (low, high) == (1, 1)


def test_a_bootstrap_without_any_denominator_is_refused() -> None:
    with pytest.raises(DataError, match="Not one of 20 bootstrap replicates has a denominator"):
        metrics.bootstrap_interval([0, 0], 0.05, denominator=[0, 0], n_bootstrap=20)


def population(seed: int, size: int = 60) -> tuple[np.ndarray, np.ndarray, float]:
    """Points to draw from: hits and best by inverse propensity, with the true ratio."""
    rng = np.random.default_rng(seed)
    bottom = rng.choice([0.0, 1.0, 2.0, 5.0, 12.0], size=size, p=[0.1, 0.4, 0.3, 0.15, 0.05])
    top = bottom * rng.choice([0.0, 0.4, 1.0], size=size)
    return top, bottom, top.sum() / bottom.sum()


def coverage(n: int, repeats: int, seed: int) -> tuple[float, float]:
    """How often the guaranteed and the bootstrap interval hold the true ratio."""
    top, bottom, truth = population(seed)
    rng = np.random.default_rng(seed + 1)
    held = np.zeros(2)
    for repeat in range(repeats):
        drawn = rng.integers(top.size, size=n)
        a, b = top[drawn], bottom[drawn]
        sure = metrics.guaranteed_interval(a, 12.0, 0.05, denominator=b)
        resampled = metrics.bootstrap_interval(
            a, 0.05, denominator=b, n_bootstrap=300, random_state=repeat
        )
        held += [sure.low <= truth <= sure.high, resampled.low <= truth <= resampled.high]
    return held[0] / repeats, held[1] / repeats


def test_intervals_of_a_ratio_cover_at_their_rate() -> None:
    sure, resampled = coverage(n=200, repeats=200, seed=5)
    assert sure >= 0.95
    assert resampled >= 0.90


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_intervals_of_a_ratio_cover_at_their_rate_in_long_runs(seed: int) -> None:
    sure, resampled = coverage(n=400, repeats=2000, seed=seed)
    assert sure >= 0.95
    assert 0.92 <= resampled <= 0.98


def test_the_hoeffding_interval_is_not_far_wider_than_it_must_be() -> None:
    # For fair coins the exact 95 % radius is 1.96·0.5/√n; Hoeffding's is 1.36/√n.
    means = np.random.default_rng(0).binomial(400, 0.5, size=4000) / 400
    radius = (np.subtract(*metrics.hoeffding_interval([0, 1] * 200, 1, 0.05)[::-1])) / 2
    covered = np.mean(np.abs(means - 0.5) <= radius)
    assert 0.98 <= covered < 1


@pytest.mark.parametrize(
    ("values", "denominator", "message"),
    [
        ([], None, r"at least one sample. Got arrays of shape \(0,\)"),
        ([[1.0]], None, r"Got arrays of shape \(1, 1\)"),
        ([1.0, 2.0], [1.0], r"shape \(2,\) and \(1,\)"),
        ([np.nan], None, "finite values"),
        ([1.0], [np.inf], "finite values"),
    ],
)
def test_values_that_make_no_mean_are_refused(
    values: object, denominator: object, message: str
) -> None:
    for interval in (
        partial(metrics.hoeffding_interval, span=1, delta=0.1),
        partial(metrics.bernstein_interval, span=1, delta=0.1),
        partial(metrics.guaranteed_interval, span=1, delta=0.1),
        partial(metrics.bootstrap_interval, delta=0.1),
    ):
        with pytest.raises(DataError, match=message):
            interval(values, denominator=denominator)


@pytest.mark.parametrize("delta", [0, 1, -0.1, np.nan])
def test_delta_must_lie_between_zero_and_one(delta: float) -> None:
    for interval in (
        partial(metrics.concentration_radius, 1, 1, 1),
        partial(metrics.hoeffding_interval, [1.0], 1),
        partial(metrics.bernstein_interval, [1.0], 1),
        partial(metrics.guaranteed_interval, [1.0], 1),
        partial(metrics.bootstrap_interval, [1.0]),
    ):
        with pytest.raises(ParameterError, match="'delta' parameter"):
            interval(delta)


@pytest.mark.parametrize(("name", "value"), [("rho", -1), ("L_bar", np.inf), ("n", 0)])
def test_the_radius_refuses_parameters_outside_their_range(name: str, value: float) -> None:
    arguments = {"rho": 1.0, "L_bar": 1.0, "n": 1, "delta": 0.1} | {name: value}
    with pytest.raises(ParameterError, match=f"'{name}' parameter of concentration_radius"):
        metrics.concentration_radius(**arguments)


@pytest.mark.parametrize(("name", "value"), [("n_bootstrap", 0), ("random_state", "seed")])
def test_the_bootstrap_refuses_parameters_outside_their_range(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"'{name}' parameter of bootstrap"):
        metrics.bootstrap_interval([1.0], 0.1, **{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("span", [-1, np.inf, np.nan])
def test_a_span_that_is_negative_or_without_end_is_refused(span: float) -> None:
    for interval in (metrics.hoeffding_interval, metrics.bernstein_interval):
        with pytest.raises(ParameterError, match=f"'span' parameter of {interval.__name__}"):
            interval([1.0, 2.0], span, 0.1)


def test_a_guaranteed_interval_stays_within_the_limits_of_its_metric() -> None:
    assert PerSample.mean(np.array([0.0, 1.0, 1.0])).guaranteed(0.05) == (0, 1)
    assert PerSample.mean(np.zeros(3), span=0.0).guaranteed(0.05) == (0, 0)


def test_a_ratio_of_nothing_to_nothing_is_one_and_its_interval_everything() -> None:
    nothing = PerSample(np.zeros(3), np.zeros(3), span=1.0)
    assert nothing.value == 1
    assert nothing.guaranteed(0.05) == (0, 1)


@pytest.mark.parametrize("delta", [0.05, 0.1, 0.5])
def test_the_percentile_interval_leaves_out_half_of_delta_on_each_side(delta: float) -> None:
    replicates = np.append(np.random.default_rng(0).permutation(1001) / 1000, np.nan)
    interval = metrics.intervals.percentile_interval(replicates, delta)
    assert interval == pytest.approx((delta / 2, 1 - delta / 2))
