import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from labelwood import CategoricalHMM, PoissonHMM
from labelwood.errors import DataError
from labelwood.sequences.discrete_hmm.emissions import Categorical, Poisson
from labelwood.sequences.engine import Sequences, maximize, random_chain


def symbols(n=120, seed=0):
    rng = np.random.default_rng(seed)
    low = np.repeat([True, False], n // 4)
    low = np.resize(low, n)
    return np.where(low, rng.integers(0, 3, n), rng.integers(1, 5, n))[:, None].astype(float)


def counts(n=120, seed=0):
    rng = np.random.default_rng(seed)
    low = np.resize(np.repeat([True, False], n // 4), n)
    return rng.poisson(np.where(low, 2.0, 9.0)[:, None] * [1.0, 0.3]).astype(float)


def density(model, x, state):
    """Of one row, by scipy; a missing value has density one."""
    if isinstance(model, CategoricalHMM):
        return 1.0 if np.isnan(x[0]) else model.probabilities_[state, int(x[0])]
    seen = ~np.isnan(x)
    return float(np.prod(stats.poisson.pmf(x[seen], model.rates_[state, seen])))


def enumerated(model, X):
    """Likelihood, posteriors and the best path by all paths of states."""
    n, s = len(X), model.n_states
    total, gamma, best = 0.0, np.zeros((n, s)), (-1.0, ())
    for path in itertools.product(range(s), repeat=n):
        p = model.start_[path[0]] * density(model, X[0], path[0])
        for t in range(1, n):
            p *= model.transition_[path[t - 1], path[t]] * density(model, X[t], path[t])
        total += p
        for t, state in enumerate(path):
            gamma[t, state] += p
        best = max(best, (p, path))
    return total, gamma / total, best


@pytest.fixture(scope="module", params=["categorical", "poisson"])
def fitted(request):
    if request.param == "categorical":
        return CategoricalHMM(3, random_state=0).fit(symbols())
    return PoissonHMM(3, random_state=0).fit(counts())


@pytest.mark.parametrize("missing", [False, True])
def test_likelihood_posteriors_and_path_are_those_of_all_paths(fitted, missing):
    X = (symbols(seed=1) if isinstance(fitted, CategoricalHMM) else counts(seed=1))[27:33].copy()
    if missing:
        X[2] = np.nan
        X[4, -1] = np.nan
    likelihood, gamma, (p, path) = enumerated(fitted, X)
    assert fitted.log_likelihood(X) == pytest.approx(np.log(likelihood), rel=1e-10)
    np.testing.assert_allclose(fitted.predict_proba(X), gamma, atol=1e-10)
    log_probability, states = fitted.decode(X)
    assert log_probability == pytest.approx(np.log(p), rel=1e-10)
    assert tuple(states) == path


@pytest.mark.parametrize("kind", ["categorical", "poisson"])
def test_it_agrees_with_hmmlearn(kind):
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(3)
    chain = random_chain(2, rng)
    if kind == "categorical":
        X = symbols()
        emissions = Categorical(rng.dirichlet(np.ones(5), 2))
        peer = hmm.CategoricalHMM(2, init_params="", n_iter=15, tol=-np.inf)
        peer.emissionprob_ = emissions.probabilities.copy()
        rows = X.astype(int)
    else:
        X = counts()
        emissions = Poisson(rng.uniform(1, 8, (2, 2)), np.full(2, 1e-9))
        peer = hmm.PoissonHMM(2, init_params="", n_iter=15, tol=-np.inf)
        peer.lambdas_ = emissions.rates.copy()
        rows = X.astype(int)
    peer.startprob_, peer.transmat_ = chain.start.copy(), chain.transition.copy()
    peer.fit(rows)
    data = Sequences(X.T.copy(), None, np.array([0, len(X)]))
    run = maximize(data, chain, emissions, stationary=False, max_iter=15, tol=-1.0)
    theirs = peer.emissionprob_ if kind == "categorical" else peer.lambdas_
    ours = run.emissions.probabilities if kind == "categorical" else run.emissions.rates
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(run.chain.transition, peer.transmat_, rtol=1e-6)
    assert run.log_likelihood == pytest.approx(peer.score(rows), rel=1e-8)


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 3), gaps=st.booleans())
def test_the_likelihood_never_falls(seed, n_states, gaps):
    rng = np.random.default_rng(seed)
    for model, X in ((CategoricalHMM, rng.integers(0, 4, (30, 1))), (PoissonHMM, counts(30, seed))):
        X = X.astype(float)
        if gaps:
            X[rng.random(X.shape) < 0.2] = np.nan
            X[0] = 1
        found = model(n_states, n_init=1, max_iter=400, tol=1e-4, random_state=seed).fit(X)
        assert (np.diff(found.history_) >= -1e-9).all()


def test_they_find_the_states_behind_the_data():
    model = PoissonHMM(2, random_state=0).fit(counts(400))
    low, high = sorted(model.rates_[:, 0])
    assert low == pytest.approx(2, abs=0.5)
    assert high == pytest.approx(9, abs=1)
    drawn, states = model.sample(4000, random_state=1)
    means = [drawn[states == k].mean(axis=0) for k in range(2)]
    np.testing.assert_allclose(means, model.rates_, rtol=0.1)
    symbol_model = CategoricalHMM(2, random_state=0).fit(symbols(400))
    drawn, states = symbol_model.sample(6000, random_state=1)
    shares = [np.bincount(drawn[states == k, 0].astype(int), minlength=5) for k in range(2)]
    shares = [one / one.sum() for one in shares]
    np.testing.assert_allclose(shares, symbol_model.probabilities_, atol=0.04)


def test_an_impossible_sequence_has_no_path():
    model = CategoricalHMM(2, random_state=0).fit(symbols())
    model.transition_, model.start_ = np.eye(2), np.array([1.0, 0.0])
    model.probabilities_ = np.array([[1.0, 0, 0, 0, 0], [0.2] * 5])
    assert model.predict([[0], [0]]).tolist() == [0, 0]
    for method in (model.predict, model.decode, model.predict_proba, model.filter_proba):
        with pytest.raises(DataError, match="sequence 1 has probability zero under the model"):
            method([[0], [0], [3]], lengths=[1, 2])


def test_the_arithmetic_is_reported():
    assert PoissonHMM(2, n_init=1, random_state=0).fit(counts()).arithmetic_ == "scaled"
    far = np.repeat([[0.0], [100_000.0]], 4, axis=0)
    found = PoissonHMM(2, n_init=1, random_state=0).fit(far)
    assert found.arithmetic_ in ("scaled", "log space for 1 of 1 sequences")


def test_parameters_are_counted():
    assert CategoricalHMM(2, random_state=0).fit(symbols()).n_parameters_ == 2 + 1 + 2 * 4
    stationary = PoissonHMM(2, start="stationary", random_state=0).fit(counts())
    assert stationary.n_parameters_ == 2 + 4


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (CategoricalHMM(), [[0.5], [1]], r"row 0, column 0 of X holds 0\.5"),
        (CategoricalHMM(), [[0], [-1]], "row 1, column 0 of X holds -1"),
        (CategoricalHMM(), [[0, 1], [1, 0]], "takes one column of symbols"),
        (CategoricalHMM(), [[0], [10**6]], "number the symbols from 0 on"),
        (PoissonHMM(), [[1, 2], [0, 1.5]], r"counts must be whole .* row 1, column 1"),
        (PoissonHMM(), [[1, 0], [2, 0]], "all counts of column 1 are 0"),
        (PoissonHMM(5), [[1], [2]], "X has 2 samples, fewer than n_states=5"),
        (CategoricalHMM(2), [[1], [np.nan]], "X has 1 sample, fewer than n_states=2"),
    ],
)
def test_what_is_no_symbol_or_count_is_refused(model, X, message):
    with pytest.raises(DataError, match=message):
        model.fit(X)


def test_a_symbol_of_no_state_is_refused_by_name():
    model = CategoricalHMM(2, random_state=0).fit(symbols())
    with pytest.raises(DataError, match=r"row 1 of X holds the symbol 7; .* symbols 0 to 4"):
        model.predict([[0], [7]])
