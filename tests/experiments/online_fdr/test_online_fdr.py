import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from online_fdr.p_values import (
    Gai,
    LordThree,
    NaiveTest,
    WeightedGaiPlusPlus,
)
from online_fdr.p_values import LordPlusPlus as TheirLordPlusPlus
from online_fdr.p_values import Saffron as TheirSaffron
from scipy import integrate, stats

from labelwood.errors import DataError, ParameterError
from labelwood.experiments.online_fdr.gamma import ListedGamma, LogGamma, PowerGamma, as_gamma
from labelwood.experiments.online_fdr.procedures import PROCEDURES, online_fdr, online_fdr_from_dict

PUBLISHED = LogGamma(scale=0.07720838)
P_VALUES = st.lists(
    st.one_of(st.floats(0, 1), st.floats(0, 1e-3), st.sampled_from([0.0, 1.0])), max_size=60
)


def run(procedure, p_values):
    """(level, discovery, wealth after) of each test."""
    return [(procedure.next_level(), procedure.record(p), procedure.wealth) for p in p_values]


def levels(procedure, p_values):
    return [level for level, _, _ in run(procedure, p_values)]


def stream(n, share=0.3, effect=3.0, seed=0):
    """p-values of a one-sided Gaussian test, and which null hypotheses are true."""
    rng = np.random.default_rng(seed)
    null = rng.random(n) >= share
    z = rng.standard_normal(n) + np.where(null, 0.0, effect)
    return stats.norm.sf(z).tolist(), null


def test_a_candidate_of_saffron_has_a_p_value_of_at_most_a_half_unless_told_otherwise():
    assert online_fdr("saffron", 0.1).options["candidate"] == 0.5


# γ sequences


def test_the_default_sequence_sums_to_one_over_all_tests():
    n = 300_000
    start = math.sqrt(math.log(n))
    tail, _ = integrate.quad(
        lambda u: 2 * u**3 * math.exp(-u), start, np.inf, epsabs=1e-13, epsrel=1e-12
    )
    values = LogGamma().values(n)
    scale = values[0] / math.log(2)
    # the sum from n on lies between its integral and the integral plus its first term
    assert values.sum() - values[-1] + scale * tail < 1 < values.sum() + scale * tail
    # here the slope at n no longer matters, as it does in the sum of fewer terms that is used
    total = math.fsum(values) - values[-1] / 2 + scale * tail
    assert total == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("exponent", [1.3, 1.6, 2, 5])
def test_power_sequences_sum_to_one_over_all_tests(exponent):
    n = 300_000
    values = PowerGamma(exponent).values(n)
    tail = values[0] * n ** (1 - exponent) / (exponent - 1)
    assert values.sum() - values[-1] / 2 + tail == pytest.approx(1, abs=1e-9)


def test_the_published_constant_leaves_two_per_cent_unspent():
    assert LogGamma().total == 1
    assert PUBLISHED.total == pytest.approx(0.976308, abs=1e-6)
    assert LogGamma(scale=0.07).total == pytest.approx(0.885158, abs=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogGamma(scale=0.08), r"sums to 1\.0116"),
        (lambda: LogGamma(scale=0), "'scale' parameter of LogGamma must be a number > 0"),
        (lambda: PowerGamma(1), "'exponent' parameter of PowerGamma must be a number > 1"),
        (lambda: PowerGamma(2, scale=0.61), "sums to 1.003"),
        (lambda: ListedGamma([0.6, 0.5]), r"sums to 1\.1"),
        (lambda: ListedGamma([1.2]), "γ_1' parameter of ListedGamma must be .* ≤ 1"),
        (lambda: ListedGamma([1.0, 1.2e-9]), "sums to 1"),  # more than a rounded scale explains
        (lambda: ListedGamma([0.2, 0.3]), "γ_2' parameter of ListedGamma must be .* ≤ 0.2"),
        (lambda: ListedGamma([0.2, math.nan]), "γ_2' parameter of ListedGamma"),
        (lambda: ListedGamma("ab"), "must be numbers. Got 'ab'"),
        (lambda: as_gamma("exponential"), "'gamma' parameter must be .* Got 'exponential'"),
        (lambda: as_gamma({"kind": "power", "speed": 2}), "'gamma' parameter must be"),
        (lambda: as_gamma({"kind": []}), "'gamma' parameter must be"),
        (lambda: as_gamma(0.5), "'gamma' parameter must be"),
    ],
)
def test_a_sequence_that_overspends_or_makes_no_sense_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


@pytest.mark.parametrize("gamma", [LogGamma(), PUBLISHED, PowerGamma(1.9), ListedGamma([0.5, 0.5])])
def test_a_sequence_comes_back_from_its_description(gamma):
    assert as_gamma(json.loads(json.dumps(gamma.to_dict()))) == gamma
    assert as_gamma(gamma) is gamma


def test_numbers_are_a_sequence_too():
    assert as_gamma(np.array([0.5, 0.25])) == as_gamma([0.5, 0.25]) == ListedGamma([0.5, 0.25])


# Levels, against formulas written out


def lord_by_hand(p_values, alpha, w0, gamma):
    """Procedure 2 with the whole history: (levels, wealth)."""
    wealth, rejected, given_out = [w0], [], []
    for j, p in enumerate(p_values, start=1):
        tau = max((i for i, r in enumerate(rejected, start=1) if r), default=0)
        given_out.append(gamma[j - tau - 1] * wealth[tau])
        rejected.append(p <= given_out[-1])
        wealth.append(wealth[-1] - given_out[-1] + rejected[-1] * (alpha - w0))
    return given_out, wealth[1:]


@given(p_values=P_VALUES, alpha=st.floats(0.01, 0.5), share=st.floats(0.05, 0.95))
def test_lord_is_procedure_2(p_values, alpha, share):
    procedure = online_fdr("lord", alpha, initial_wealth=alpha * share)
    done = run(procedure, p_values)
    expected, wealth = lord_by_hand(p_values, alpha, alpha * share, LogGamma().values(60))
    assert [level for level, _, _ in done] == pytest.approx(expected, rel=1e-12)
    assert [after for _, _, after in done] == pytest.approx(wealth, rel=1e-12)


@given(p_values=P_VALUES, alpha=st.floats(0.01, 0.5))
def test_lord_15_starts_anew_with_alpha_after_each_discovery(p_values, alpha):
    done = run(online_fdr("lord15", alpha), p_values)
    gamma, since, wealth = LogGamma().values(60), 0, alpha
    for level, discovery, after in done:
        since += 1
        assert level == pytest.approx(alpha * gamma[since - 1], rel=1e-12)
        wealth = alpha if discovery else wealth - level
        since = 0 if discovery else since
        assert after == pytest.approx(wealth, rel=1e-12)


@given(p_values=P_VALUES, decay=st.sampled_from([1.0, 0.95, 0.5]))
def test_lord_plus_plus_adds_up_the_shares_of_all_discoveries(p_values, decay):
    alpha, w0, gamma = 0.2, 0.05, LogGamma().values(60)
    procedure = online_fdr("lord++", alpha, initial_wealth=w0, decay=decay)
    times, wealth = [], w0
    for t, (level, discovery, after) in enumerate(run(procedure, p_values), start=1):
        first = times[0] if times else t
        expected = w0 * gamma[t - 1] * decay ** (t - first)
        for k, tau in enumerate(times):
            reward = alpha - w0 if k == 0 else alpha
            expected += reward * gamma[t - tau - 1] * decay ** (t - tau)
        assert level == pytest.approx(expected, rel=1e-9)
        wealth = decay * wealth + (1 - decay) * w0 * (not times) - level
        if discovery:
            wealth += alpha if times else alpha - w0
            times.append(t)
        assert after == pytest.approx(wealth, rel=1e-9)


@given(p_values=P_VALUES, candidate=st.sampled_from([0.1, 0.5, 0.9]))
def test_saffron_pays_only_for_tests_above_the_candidate_threshold(p_values, candidate):
    alpha, w0, gamma = 0.2, 0.05, PowerGamma().values(61)
    procedure = online_fdr("saffron", alpha, initial_wealth=w0, candidate=candidate)
    done = run(procedure, p_values)
    times = []
    for t, (level, discovery, _) in enumerate(done, start=1):
        share = w0 * gamma[sum(p > candidate for p in p_values[: t - 1])]
        for k, tau in enumerate(times):
            reward = alpha - w0 if k == 0 else alpha
            share += reward * gamma[sum(p > candidate for p in p_values[tau : t - 1])]
        assert level == pytest.approx(min(candidate, (1 - candidate) * share), rel=1e-9)
        times += [t] * discovery
    pairs = zip(done, p_values, strict=True)
    paid = [level / (1 - candidate) for (level, _, _), p in pairs if p > candidate]
    earned = w0 if not times else alpha * len(times)
    assert procedure.wealth == pytest.approx(earned - math.fsum(paid), rel=1e-9, abs=1e-12)


@given(p_values=P_VALUES)
def test_alpha_investing_pays_a_over_one_minus_a_for_what_it_does_not_find(p_values):
    alpha, w0 = 0.2, 0.05
    procedure = online_fdr("gai", alpha, initial_wealth=w0)
    wealth, found = w0, 0
    for level, discovery, after in run(procedure, p_values):
        if discovery:
            wealth += alpha if found else alpha - w0
            found += 1
        else:
            wealth -= level / (1 - level)
        assert after == pytest.approx(wealth, rel=1e-9)


def test_bonferroni_ignores_what_was_found():
    procedure = online_fdr("bonferroni", 0.05)
    expected = [6 * 0.05 / (math.pi * j) ** 2 for j in range(1, 401)]
    assert levels(procedure, [0.0, 1.0] * 200) == pytest.approx(expected, rel=1e-12)
    assert procedure.wealth == pytest.approx(0.05 - math.fsum(expected), rel=1e-9)


def test_without_correction_every_test_has_level_alpha():
    procedure = online_fdr("none", 0.05)
    assert levels(procedure, [0.2, 0.05, 0.0]) == [0.05] * 3
    assert procedure.n_discoveries == 2
    assert procedure.wealth is None


# Levels, against online-fdr


def their_levels(test, p_values):
    return [test.test_one_detail(p).rejection_threshold for p in p_values]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            lambda: online_fdr("lord++", 0.1, initial_wealth=0.03, gamma=PUBLISHED),
            lambda: TheirLordPlusPlus(0.1, wealth=0.03),
        ),
        (
            lambda: online_fdr("saffron", 0.1, initial_wealth=0.03, candidate=0.4),
            lambda: TheirSaffron(0.1, wealth=0.03, lambda_=0.4),
        ),
        (
            lambda: online_fdr("gai", 0.1, initial_wealth=0.03),
            lambda: Gai(0.1, wealth=0.03),
        ),
        (lambda: online_fdr("none", 0.1), lambda: NaiveTest(0.1)),
    ],
    ids=["lord++", "saffron", "gai", "none"],
)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_levels_are_those_of_online_fdr(ours, theirs, share):
    p_values, _ = stream(500, share=share)
    expected = their_levels(theirs(), p_values)
    assert levels(ours(), p_values) == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_lord_plus_plus_is_weighted_gai_without_weights():
    p_values, _ = stream(400)
    raw = LogGamma().values(400)
    gamma = (raw / raw.sum()).tolist()
    ours = online_fdr("lord++", 0.1, initial_wealth=0.03, gamma=gamma)
    theirs = WeightedGaiPlusPlus(0.1, wealth=0.03, gamma_horizon=400)
    assert levels(ours, p_values) == pytest.approx(their_levels(theirs, p_values), rel=1e-9)


def test_lord_of_online_fdr_earns_for_a_discovery_one_test_late():
    """Its only difference: rewards come late, and one comes at test 2 for nothing."""
    p_values, _ = stream(300)
    alpha, w0, gamma = 0.1, 0.03, PUBLISHED.values(300)
    expected, wealth, spread, last, rejected = [], w0, w0, 0, [True]
    for t, p in enumerate(p_values, start=1):
        expected.append(gamma[t - last - 1] * spread)
        rejected.append(p <= expected[-1])
        wealth -= expected[-1]
        wealth += (alpha - w0) * (rejected[1] if t == 1 else rejected[t - 2])
        if rejected[-1]:
            last, spread = t, wealth
    theirs = their_levels(LordThree(alpha, wealth=w0, reward=alpha - w0), p_values)
    assert theirs == pytest.approx(expected, rel=1e-9)
    ours = levels(online_fdr("lord", alpha, initial_wealth=w0, gamma=PUBLISHED), p_values)
    by_hand, _ = lord_by_hand(p_values, alpha, w0, gamma)
    assert ours == pytest.approx(by_hand, rel=1e-9)
    first = next(t for t, p in enumerate(p_values) if p <= ours[t])
    assert ours[: first + 1] == pytest.approx(theirs[: first + 1], rel=1e-9)
    assert ours != pytest.approx(theirs, rel=0.05)


# What always holds


@pytest.mark.parametrize("name", PROCEDURES)
@given(p_values=P_VALUES, alpha=st.floats(0.001, 0.999))
def test_levels_are_chances_and_wealth_is_never_negative(name, p_values, alpha):
    procedure = online_fdr(name, alpha)
    for level, _, wealth in run(procedure, p_values):
        assert 0 <= level < 1
        assert wealth is None or wealth >= 0


@pytest.mark.parametrize("name", ["lord", "lord15", "lord++", "gai", "saffron"])
def test_a_sequence_used_up_leaves_no_level_until_the_next_discovery(name):
    procedure = online_fdr(name, 0.1, gamma=[0.7, 0.2, 0.1])
    found = run(procedure, [1.0] * 5)
    assert [level > 0 for level, _, _ in found] == [True] * 3 + [False] * 2
    assert found[-1][2] == pytest.approx(0, abs=1e-15)
    level, discovery, wealth = run(procedure, [0.0])[0]  # p = 0 is a discovery at any level
    assert (level, discovery) == (0, True)
    assert wealth > 0
    assert procedure.next_level() > 0


@pytest.mark.parametrize("name", PROCEDURES)
def test_asking_again_does_not_change_the_level(name):
    procedure = online_fdr(name, 0.1)
    assert procedure.next_level() == procedure.next_level()
    procedure.record(0.0)
    assert (procedure.n_tests, procedure.n_discoveries, procedure.p_values) == (1, 1, (0.0,))


@pytest.mark.parametrize("name", PROCEDURES)
@pytest.mark.parametrize("asked", [False, True])
def test_the_state_survives_json(name, asked):
    p_values, _ = stream(80)
    procedure = online_fdr(name, 0.1)
    run(procedure, p_values[:50])
    if asked:
        procedure.next_level()
    again = online_fdr_from_dict(json.loads(json.dumps(procedure.to_dict())))
    assert again.to_dict() == procedure.to_dict()
    assert run(again, p_values[50:]) == run(procedure, p_values[50:])


def test_options_survive_json():
    options = {"initial_wealth": 0.01, "gamma": PowerGamma(1.5), "decay": 0.9}
    procedure = online_fdr("lord++", 0.1, **options)
    again = online_fdr_from_dict(json.loads(json.dumps(procedure.to_dict())))
    assert (again.initial_wealth, again.gamma, again.decay) == tuple(options.values())


def test_a_long_stream_is_no_burden():
    p_values, _ = stream(100_000, share=0.1)
    procedure = online_fdr("lord++", 0.05)
    run(procedure, p_values)
    assert procedure.n_tests == 100_000
    assert procedure.n_discoveries > 3000


# What is refused


@pytest.mark.parametrize("name", PROCEDURES)
@pytest.mark.parametrize("alpha", [0, 1, -0.1, math.nan, "0.1", True])
def test_alpha_lies_between_zero_and_one(name, alpha):
    with pytest.raises(ParameterError, match=r"'alpha' parameter of .* > 0 and < 1"):
        online_fdr(name, alpha)


@pytest.mark.parametrize("name", ["lord", "lord++", "gai", "saffron"])
@pytest.mark.parametrize("wealth", [0.1, 0.2, 0, -1, math.nan])
def test_the_initial_wealth_lies_between_zero_and_alpha(name, wealth):
    with pytest.raises(ParameterError, match=r"'initial_wealth' parameter of .* > 0 and < 0\.1"):
        online_fdr(name, 0.1, initial_wealth=wealth)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lord", {"decay": 0.9}, "'lord' has no option 'decay'; it has initial_wealth, gamma"),
        ("lord15", {"initial_wealth": 0.05}, "'lord15' has no option 'initial_wealth'"),
        ("bonferroni", {"alpha": 0.2}, "'bonferroni' has no option 'alpha'; it has none"),
        ("lord++", {"decay": 0}, "'decay' parameter of LordPlusPlus must be a number > 0"),
        ("lord++", {"decay": 1.1}, "'decay' parameter of LordPlusPlus must be .* ≤ 1"),
        ("saffron", {"candidate": 1}, "'candidate' parameter of Saffron"),
        ("lond", {}, "No procedure is called 'lond'; there are 'lord', 'lord15'"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options, message):
    with pytest.raises(ParameterError, match=message.replace("++", r"\+\+")):
        online_fdr(name, 0.1, **options)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, "0.5", None, True])
def test_a_p_value_lies_between_zero_and_one(p):
    procedure = online_fdr("lord", 0.1)
    level = procedure.next_level()
    with pytest.raises(DataError, match=r"test 1: a p-value is a number between 0 and 1\. Got"):
        procedure.record(p)
    assert (procedure.n_tests, procedure.next_level()) == (0, level)


def test_a_p_value_needs_a_test_whose_level_was_asked_for():
    procedure = online_fdr("lord", 0.1)
    with pytest.raises(DataError, match=r"ask for next_level\(\) before test 1"):
        procedure.record(0.5)
    procedure.next_level()
    procedure.record(0.5)
    with pytest.raises(DataError, match=r"ask for next_level\(\) before test 2"):
        procedure.record(0.5)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"procedure": "lond"}, ParameterError, "No procedure is called 'lond'"),
        ({"procedure": ["lord"]}, ParameterError, "No procedure is called"),
        ({"alpha": 2}, ParameterError, "'alpha' parameter"),
        ({"options": None}, DataError, "not the state of Lord"),
        ({"options": {"speed": 1}}, DataError, "not the state of Lord: .*speed"),
        ({"p_values": "0.5"}, DataError, "p_values of Lord must be a list. Got '0.5'"),
        ({"p_values": [0.5, 2]}, DataError, "test 2: a p-value is .* Got 2"),
    ],
)
def test_a_strange_state_is_refused(change, error, message):
    state = {**online_fdr("lord", 0.1).to_dict(), **change}
    with pytest.raises(error, match=message):
        online_fdr_from_dict(state)


@pytest.mark.parametrize("state", [{}, [], "lord", {"procedure": "lord"}])
def test_half_a_state_is_refused(state):
    with pytest.raises(DataError, match="not the state of"):
        online_fdr_from_dict(state)


# Error rates


class Paths:
    """All courses that n tests can take, with the levels that the procedure gives on each.

    A test ends in a discovery (p = 0 here), not quite (p = 0.5, just a candidate of SAFFRON), or
    not at all (p = 1). The chances of that are exact, so the error rates are, too.
    """

    def __init__(self, name, n, **options):
        p_values = {"none": 1.0, "candidate": 0.5, "discovery": 0.0}
        ends = list(p_values) if name == "saffron" else ["none", "discovery"]
        self.alpha, self.n = options.pop("alpha"), n
        self.paths = list(itertools.product(ends, repeat=n))
        self.levels = np.array(
            [
                levels(online_fdr(name, self.alpha, **options), [p_values[end] for end in path])
                for path in self.paths
            ]
        )
        self.found = np.array([[end == "discovery" for end in path] for path in self.paths])
        self.candidate = np.array([[end == "candidate" for end in path] for path in self.paths])
        self.split = name == "saffron"

    def weights(self, null, power):
        """The chance of each path, when true effects are found with chance power(level)."""
        hit = np.where(null, self.levels, power(self.levels))
        middle = np.where(null, 0.5 - self.levels, (1 - hit) / 2) if self.split else 0.0
        chance = np.where(self.found, hit, np.where(self.candidate, middle, 1 - hit - middle))
        return chance.prod(axis=1)

    def error_rates(self, null, power):
        """mFDR(J) and FDR(J) for J = 1 … n."""
        weight = self.weights(null, power)
        assert weight.sum() == pytest.approx(1)
        false, all_found = (self.found & null).cumsum(axis=1), self.found.cumsum(axis=1)
        fdr = weight @ (false / np.maximum(all_found, 1))
        return (weight @ false) / (weight @ all_found + 1), fdr


POWERS = {"perfect": np.ones_like, "fair": np.sqrt, "blind": np.zeros_like, "poor": lambda a: a}
GAMMAS = {
    "log": LogGamma(),
    "halves": ListedGamma([0.5**j for j in range(1, 12)]),
    "all at once": ListedGamma([1.0]),
}
N_TESTS = {"lord": 7, "lord15": 7, "lord++": 7, "gai": 7, "saffron": 5}


def worst_rates(paths):
    """The largest mFDR and FDR over all J, places of true effects, and chances to see them."""
    rates = [
        paths.error_rates(np.array(null), power)
        for null in itertools.product([True, False], repeat=paths.n)
        for power in POWERS.values()
    ]
    return np.max(rates, axis=(0, 2))


@pytest.mark.parametrize("name", N_TESTS)
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("wealth", [0.15, 0.29])
def test_exact_error_rates_stay_below_alpha_in_every_arrangement(name, gamma, wealth):
    options = {} if name == "lord15" else {"initial_wealth": wealth}
    paths = Paths(name, N_TESTS[name], alpha=0.3, gamma=GAMMAS[gamma], **options)
    mfdr, fdr = worst_rates(paths)
    assert mfdr <= 0.3 + 1e-12
    assert fdr <= 0.3 + 1e-12


def test_exact_error_rates_come_close_to_alpha():
    mfdr, fdr = worst_rates(Paths("lord15", 7, alpha=0.3, gamma=GAMMAS["all at once"]))
    assert fdr == pytest.approx(0.3, abs=1e-12)
    mfdr, fdr = worst_rates(Paths("none", 7, alpha=0.3))
    assert mfdr > 0.6
    assert fdr > 0.9


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("decay", [0.9, 0.5])
def test_with_decaying_memory_recent_discoveries_are_false_no_more_often_than_alpha(gamma, decay):
    n = 7
    paths = Paths("lord++", n, alpha=0.3, gamma=GAMMAS[gamma], initial_wealth=0.29, decay=decay)
    memory = decay ** np.arange(n)[::-1]
    found = paths.found @ memory
    for null in itertools.product([True, False], repeat=n):
        false = (paths.found & np.array(null)) @ memory
        share = np.divide(false, found, out=np.zeros_like(false), where=found > 0)
        for power in POWERS.values():
            assert paths.weights(np.array(null), power) @ share <= 0.3 + 1e-12


def simulated(name, runs, share=0.4, n=500, alpha=0.1, seed=0):
    """Figure 4.10: uniform p-values of true nulls, Gaussian ones otherwise; decisions and nulls."""
    found, nulls = [], []
    for k in range(runs):
        p_values, null = stream(n, share=share, seed=[seed, k])
        found.append([discovery for _, discovery, _ in run(online_fdr(name, alpha), p_values)])
        nulls.append(null)
    return np.array(found), np.array(nulls)


def estimated_rates(found, nulls):
    """mFDR(J), FDR(J) and the standard error of the latter, J = 1 … n; and the power."""
    false, all_found = (found & nulls).cumsum(axis=1), found.cumsum(axis=1)
    fdp = false / np.maximum(all_found, 1)
    mfdr = false.mean(axis=0) / (all_found.mean(axis=0) + 1)
    error = fdp.std(axis=0) / math.sqrt(len(fdp))
    return mfdr, fdp.mean(axis=0), error, found[~nulls].mean()


def test_error_rates_hold_at_every_j_and_lord_finds_more_than_bonferroni():
    power = {}
    for name in ("lord", "lord15", "lord++", "bonferroni"):
        mfdr, fdr, error, power[name] = estimated_rates(*simulated(name, runs=100))
        assert mfdr.max() <= 0.1
        assert (fdr <= 0.1 + 3 * error).all()
    assert power["lord"] > 0.5 > 0.1 > power["bonferroni"]
    mfdr, fdr, error, _ = estimated_rates(*simulated("none", runs=100))
    assert mfdr[-1] > 0.12
    assert fdr[-1] - 5 * error[-1] > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.05, 0.2, 0.4, 0.8])
@pytest.mark.parametrize("name", ["lord", "lord15", "lord++", "gai", "saffron", "bonferroni"])
def test_error_rates_hold_at_every_j_for_every_share_of_true_effects(name, share):
    mfdr, fdr, error, power = estimated_rates(*simulated(name, runs=500, share=share))
    assert mfdr.max() <= 0.1
    assert (fdr <= 0.1 + 3 * error).all()
    assert power > (0.1 if name != "bonferroni" else 0)
