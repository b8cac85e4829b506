import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import labelwood
from labelwood import GaussianHMM
from labelwood.errors import DataError, LabelwoodError, LabelwoodWarning, ParameterError
from labelwood.sequences.engine import Sequences
from labelwood.sequences.engine.em import check_rise
from labelwood.sequences.gaussian_hmm import Gaussian
from sequences.brute_force import enumerate_paths, gaussian_log_density, random_model, with_gaps

KINDS = ("spherical", "diagonal", "tied", "full")


def simulated(n=400, s=2, d=2, seed=0, spread=3.0, stay=0.9):
    rng = np.random.default_rng(seed)
    A = stay * np.eye(s) + (1 - stay) / s
    A /= A.sum(axis=1, keepdims=True)
    means = spread * rng.normal(size=(s, d))
    z = np.zeros(n, dtype=int)
    for t in range(1, n):
        z[t] = rng.choice(s, p=A[z[t - 1]])
    return means[z] + rng.normal(size=(n, d)), z, means


def with_parameters(kind, start, transition, means, covariances):
    """A model with given parameters, as loading one would make it."""
    s, d = means.shape
    model = GaussianHMM(s, covariance=kind)
    model.start_, model.transition_, model.means_ = start, transition, means
    model.covariances_, model.n_features_in_ = covariances, d
    model.floor_ = np.full(d, 1e-12)
    return model


def of_kind(kind, covariances):
    if kind == "spherical":
        return np.array([matrix[0, 0] for matrix in covariances])
    if kind == "diagonal":
        return np.array([np.diag(matrix) for matrix in covariances])
    return covariances[0] if kind == "tied" else covariances


def quick_fit(model, X, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LabelwoodWarning)
        return model.fit(X, **kwargs)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [False, True])
def test_it_agrees_with_the_enumeration_of_all_paths(kind, missing):
    rng = np.random.default_rng(KINDS.index(kind))
    start, transition, means, matrices = random_model(rng, 3, 3)
    covariances = of_kind(kind, matrices)
    model = with_parameters(kind, start, transition, means, covariances)
    X = rng.normal(scale=2, size=(6, 3))
    X = with_gaps(rng, X) if missing else X
    log_b = gaussian_log_density(X, means, model._emissions().full())
    log_likelihood, gamma, pairs, best, path = enumerate_paths(log_b, start, transition)
    assert model.log_likelihood(X) == pytest.approx(log_likelihood, abs=1e-10)
    assert model.score(X) == pytest.approx(log_likelihood / 6, abs=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), gamma, atol=1e-10)
    np.testing.assert_allclose(model.pair_posteriors(X), pairs, atol=1e-10)
    log_probability, states = model.decode(X)
    assert log_probability == pytest.approx(best, abs=1e-10)
    assert states.tolist() == path.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("kind", "theirs"),
    [("spherical", "spherical"), ("diagonal", "diag"), ("tied", "tied"), ("full", "full")],
)
def test_it_agrees_with_hmmlearn_iteration_by_iteration(kind, theirs):
    hmmlearn = pytest.importorskip("hmmlearn.hmm")
    X, _, means = simulated(1_500, 3, 3)
    lengths = [700, 800]
    rng = np.random.default_rng(5)
    start, A, near = (
        np.full(3, 1 / 3),
        rng.dirichlet(np.ones(3), 3),
        means + rng.normal(size=(3, 3)),
    )
    covariances = of_kind(kind, np.tile(np.eye(3), (3, 1, 1)))
    ours = GaussianHMM(
        3, covariance=kind, n_init=1, max_iter=12, tol=0, start_init=start, transition_init=A,
        means_init=near, covariances_init=covariances,
    )  # fmt: skip
    quick_fit(ours, X, lengths=lengths)
    peer = hmmlearn.GaussianHMM(
        3, theirs, init_params="", n_iter=ours.n_iter_, tol=-np.inf,
        covars_prior=0, covars_weight=0, means_weight=0,
    )  # fmt: skip
    peer.startprob_, peer.transmat_, peer.means_ = start, A, near.copy()
    peer.covars_ = covariances.copy()
    peer.fit(X, lengths)
    assert ours.log_likelihood_ == pytest.approx(peer.score(X, lengths), abs=1e-6)
    np.testing.assert_allclose(ours.start_, peer.startprob_, atol=1e-6)
    np.testing.assert_allclose(ours.transition_, peer.transmat_, atol=1e-6)
    np.testing.assert_allclose(ours.means_, peer.means_, atol=1e-6)
    their_variances = peer._covars_[:, 0] if kind == "spherical" else peer._covars_
    np.testing.assert_allclose(ours.covariances_, their_variances, atol=1e-6)
    # hmmlearn records the likelihood before each M-step.
    np.testing.assert_allclose(ours.history_[:-1], peer.monitor_.history, atol=1e-6)


@settings(max_examples=60)
@given(
    st.sampled_from(KINDS),
    st.sampled_from(["free", "stationary"]),
    st.sampled_from(["kmeans", "random", "spectral"]),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 10**6),
)
def test_the_likelihood_never_falls(kind, start, init, s, d, missing, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) * rng.choice([1, 10, 0.01]) + rng.choice([0, 1e4])
    X[20:40] += rng.normal(scale=3, size=d)
    X[rng.random(X.shape) < missing] = np.nan
    X[[0, 35]] = rng.normal(size=(2, d))  # so that no column or sequence is empty
    model = GaussianHMM(
        s, covariance=kind, start=start, init=init, n_init=1, max_iter=25, tol=0, random_state=seed
    )
    quick_fit(model, X, lengths=[30, 30])  # a fall is an error
    gains = np.diff(model.history_)
    assert (gains >= -1e-9 * (1 + np.abs(model.history_[0]))).all()
    np.testing.assert_allclose(model.transition_.sum(axis=1), 1)
    assert model.log_likelihood(X, lengths=[30, 30]) == pytest.approx(model.log_likelihood_)


def test_a_fall_of_the_likelihood_is_an_error_with_the_numbers():
    with pytest.raises(LabelwoodError, match=r"fell from -10.0 to -10.5 in iteration 1"):
        check_rise([-10.0, -10.5])
    with pytest.raises(LabelwoodError, match=r"fell from -10\.0 to nan"):
        check_rise([-10.0, float("nan")])
    check_rise([-10.0, -10.0 - 1e-12])


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_integrated_out_to_a_stationary_point_of_the_likelihood(kind):
    X, _, _ = simulated(150, 2, 2, seed=3)
    X = with_gaps(np.random.default_rng(0), X, 0.2)
    model = GaussianHMM(2, covariance=kind, n_init=2, tol=1e-13, max_iter=5000, random_state=0)
    model.fit(X)
    for nudge in (1e-4, -1e-4):
        for k in range(2):
            moved = model.means_.copy()
            moved[k, 0] += nudge
            other = with_parameters(
                kind, model.start_, model.transition_, moved, model.covariances_
            )
            assert other.log_likelihood(X) < model.log_likelihood_
        wider = model.covariances_ * (1 + nudge)
        other = with_parameters(kind, model.start_, model.transition_, model.means_, wider)
        assert other.log_likelihood(X) < model.log_likelihood_


@pytest.mark.parametrize("init", ["mixed", "kmeans", "random", "spectral"])
def test_it_finds_separated_states_from_every_kind_of_start(init):
    X, z, means = simulated(2_000, 3, 2, seed=1, spread=4)
    model = GaussianHMM(3, init=init, n_init=3, random_state=0).fit(X)
    order = [int(np.argmin(((model.means_ - mean) ** 2).sum(axis=1))) for mean in means]
    assert sorted(order) == [0, 1, 2]
    assert (np.array(order)[z] == model.predict(X)).mean() > 0.97
    np.testing.assert_allclose(model.means_[order], means, atol=0.2)


def test_more_starts_are_never_worse_and_all_ends_are_reported():
    X, _, _ = simulated(300, 4, 1, seed=2, spread=2)
    one = quick_fit(GaussianHMM(4, init="random", n_init=1, random_state=3), X)
    many = quick_fit(GaussianHMM(4, init="random", n_init=6, random_state=3), X)
    assert many.log_likelihoods_.shape == (6,)
    assert many.log_likelihood_ == many.log_likelihoods_.max() >= one.log_likelihood_


def test_stopping_at_the_limit_is_reported_as_such():
    X, _, _ = simulated(200, 2, 1, spread=0.5)
    model = GaussianHMM(2, n_init=1, max_iter=2, tol=0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="limit of 2 iterations with a gain of"):
        model.fit(X)
    assert model.stop_reason_ == "iteration limit"
    assert model.n_iter_ == 2
    assert model.history_.shape == (3,)


def test_a_state_that_collapses_onto_a_sample_is_held_by_the_floor_and_named():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=100), [50.0] * 3]).reshape(-1, 1)
    with pytest.warns(LabelwoodWarning, match=r"States \[\d\] have collapsed"):
        model = GaussianHMM(2, n_init=1, init="kmeans", random_state=0).fit(X)
    assert model.degenerate_states_.size == 1
    assert model.covariances_.min() == pytest.approx(1e-6 * X.var())


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments_of_the_model(kind):
    rng = np.random.default_rng(7)
    start, transition, means, matrices = random_model(rng, 2, 2)
    model = with_parameters(kind, start, transition, means, of_kind(kind, matrices))
    X, z = model.sample(60_000, random_state=1)
    for k in range(2):
        np.testing.assert_allclose(X[z == k].mean(axis=0), means[k], atol=0.1)
        covariance = model._emissions().full()[k]
        np.testing.assert_allclose(np.cov(X[z == k].T), covariance, atol=0.06 * covariance.max())
    again, _ = model.sample(60_000, random_state=1)
    assert again.tobytes() == X.tobytes()
    for lengths in ([3, 4], np.array([3, 4])):
        assert model.sample(lengths, random_state=0)[0].shape == (7, 2)


def test_information_criteria_count_the_parameters():
    X, _, _ = simulated(300, 2, 3)
    for kind, n in (("spherical", 11), ("diagonal", 15), ("tied", 15), ("full", 21)):
        model = GaussianHMM(2, covariance=kind, n_init=1, random_state=0).fit(X)
        assert model.n_parameters_ == n
        assert model.aic(X) == pytest.approx(2 * n - 2 * model.log_likelihood_)
        assert model.bic(X) == pytest.approx(np.log(300) * n - 2 * model.log_likelihood_)
    assert GaussianHMM(2, start="stationary", random_state=0).fit(X).n_parameters_ == 14


def test_a_stationary_start_is_stationary():
    X, _, _ = simulated(300, 2, 2)
    model = GaussianHMM(2, start="stationary", n_init=1, random_state=0).fit(X, lengths=[100] * 3)
    np.testing.assert_allclose(model.start_ @ model.transition_, model.start_, atol=1e-10)


def test_extreme_values_are_handled_and_reported():
    X = np.array([0.0, 0.1, 1e8, 0.2, 0.1, 1e8 + 1, 0.0, 0.3]).reshape(-1, 1)
    model = with_parameters(
        "diagonal", np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]]),
        np.array([[0.0], [1e8]]), np.ones((2, 1)),
    )  # fmt: skip
    assert np.isfinite(model.log_likelihood(X))
    fitted = quick_fit(GaussianHMM(2, n_init=1, random_state=0), X)
    assert fitted.arithmetic_ in ("scaled", "log space for 1 of 1 sequences")


@pytest.mark.parametrize("kind", KINDS)
def test_given_covariances_below_the_floor_start_on_it(kind):
    """A state of equal rows is more likely the narrower it is, and EM widens it to the floor."""
    X, _, _ = simulated(40, 2, 2)
    X[-20:] = 30.0
    tiny = of_kind(kind, np.array([np.eye(2), 1e-14 * np.eye(2)]))
    if kind == "tied":
        X[:20], X[20:], tiny = -30.0, 30.0, 1e-14 * np.eye(2)
    model = GaussianHMM(
        2, covariance=kind, n_init=1, max_iter=3, tol=0, means_init=[X[0], X[-1]],
        covariances_init=tiny, random_state=0,
    )  # fmt: skip
    quick_fit(model, X)  # a fall of the likelihood is an error
    assert (np.diff(model.history_) >= -1e-9 * np.abs(model.history_[:-1])).all()
    assert 1 in model.degenerate_states_


@pytest.mark.parametrize("kind", ["spherical", "diagonal"])
def test_a_feature_that_a_state_never_shows_leaves_its_other_features_free(kind):
    means = np.array([[0.0, 0.0], [5.0, 0.0]])
    covariances = of_kind(kind, np.tile(np.eye(2), (2, 1, 1)))
    emissions = Gaussian(kind, means, covariances, np.full(2, 1e-6), np.zeros(2, dtype=bool))
    values = np.array([[0.0, 1.0, 6.0, 8.0], [1.0, -1.0, 0.0, 0.0]])
    observed = np.array([[True] * 4, [True, True, False, False]])
    gamma = np.repeat(np.eye(2), 2, axis=0)
    data = Sequences(values, observed, np.array([0, 4]))
    found = emissions.maximized(emissions.statistics(data, gamma))
    assert found.means.tolist() == [[0.5, 0.0], [7.0, 0.0]]
    # The variance of x₀ in the second state is ((6 − 7)² + (8 − 7)²)/2 = 1; x₁ keeps what it had.
    assert found.variances()[1].tolist() == [1.0, 1.0]
    spherical = (0.25 + 0.25 + 1 + 1) / 4
    assert found.variances()[0].tolist() == ([spherical] * 2 if kind == "spherical" else [0.25, 1])
    assert found.degenerate.tolist() == [False, True]


def test_partial_fit_drops_what_described_the_fit(tmp_path):
    X, _, _ = simulated(300, 2, 2, seed=4)
    model = GaussianHMM(2, n_init=1, random_state=0).fit(X[:200]).partial_fit(X[200:])
    for name in ("log_likelihood_", "log_likelihoods_", "history_", "steps_", "n_iter_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="certificate_ describes the end of fit"):
        _ = model.certificate_
    assert model.stop_reason_ == "partial_fit"
    labelwood.save(model, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").means_.tobytes() == model.means_.tobytes()
    assert model.fit(X).certificate_.n_starts == 1


def test_a_small_batch_moves_what_a_long_fit_learned_by_its_share_of_the_rows():
    X, _, _ = simulated(4_000, 2, 2, seed=4)
    model = GaussianHMM(2, n_init=1, random_state=0).fit(X[:3_960])
    before = model.online_
    model.partial_fit(X[3_960:])
    weight = (40 / 4_000) ** 0.6
    pairs = (1 - weight) * before["pairs"].sum() + weight * 39 / 40
    assert model.online_["pairs"].sum() == pytest.approx(pairs)
    assert model.online_["n_rows"] == 4_000


@pytest.mark.parametrize(("name", "value"), [("n_states", 3), ("covariance", "tied")])
def test_partial_fit_refuses_another_model_than_was_fitted(name, value):
    X, _, _ = simulated(200, 2, 2)
    model = GaussianHMM(2, n_init=1, random_state=0).fit(X)
    model.set_params(**{name: value})
    with pytest.raises(ParameterError, match=f"{name}={value!r}, .* fitted with"):
        model.partial_fit(X)


def test_partial_fit_follows_a_stream_of_batches():
    X, _, _ = simulated(6_000, 2, 2, seed=4)
    model = GaussianHMM(2, random_state=0)
    for batch in np.split(X, 12):
        model.partial_fit(batch)
    whole = GaussianHMM(2, random_state=0).fit(X)
    order = np.argsort(model.means_[:, 0]), np.argsort(whole.means_[:, 0])
    np.testing.assert_allclose(model.means_[order[0]], whole.means_[order[1]], atol=0.1)
    assert model.log_likelihood(X) > whole.log_likelihood_ - 15
    assert model.online_["n_rows"] == 6_000


def test_the_step_sizes_of_partial_fit_are_those_stated():
    X, _, _ = simulated(300, 2, 1, seed=4)
    model = GaussianHMM(2, n_init=1, tol=1e-4, random_state=0).partial_fit(X[:100])
    moments = dict(model.online_["moments"])
    model.partial_fit(X[100:200])
    expected = (1 - 2**-0.6) * moments["counts"].sum() + 2**-0.6
    assert model.online_["moments"]["counts"].sum() == pytest.approx(expected)
    assert model.online_["pairs"].sum() == pytest.approx(0.99)


def test_partial_fit_of_one_batch_after_fit_is_one_iteration_of_em():
    X, _, _ = simulated(300, 2, 2, seed=4)
    model = quick_fit(GaussianHMM(2, n_init=1, max_iter=3, tol=0, random_state=0), X)
    longer = quick_fit(GaussianHMM(2, n_init=1, max_iter=4, tol=0, random_state=0), X)
    model.partial_fit(X)
    np.testing.assert_allclose(model.means_, longer.means_, rtol=1e-10)
    np.testing.assert_allclose(model.transition_, longer.transition_, rtol=1e-10)


def test_the_certificate_says_what_was_measured():
    X, _, _ = simulated(2_000, 2, 2, spread=2)
    model = GaussianHMM(2, n_init=5, tol=1e-14, max_iter=2000, random_state=0).fit(X)
    certificate = model.certificate_
    assert certificate.n_agree == certificate.n_starts == 5
    assert certificate.spread < 1e-6
    assert (
        0
        < certificate.contraction_low
        <= certificate.contraction
        <= certificate.contraction_high
        < 1
    )
    assert certificate.statistical_precision == pytest.approx(np.sqrt(2 / 2000))
    assert "5 of 5 starts end within" in str(certificate)
    assert "errors shrink by 0." in str(certificate)
    # The measured factor is that of the real error: the distance to the end of the run.
    short = quick_fit(GaussianHMM(2, n_init=1, init="kmeans", tol=0, max_iter=5, random_state=0), X)
    late = model.n_iter_ // 2
    errors = []
    for n in (late, late + 1):
        run = quick_fit(short.set_params(max_iter=n), X)
        errors.append(np.abs(np.sort(run.means_[:, 0]) - np.sort(model.means_[:, 0])).max())
    assert errors[1] / errors[0] == pytest.approx(certificate.contraction, rel=0.05)


def test_it_is_the_same_for_every_number_of_threads():
    X, _, _ = simulated(300, 3, 2)
    one, two = (quick_fit(GaussianHMM(3, n_init=4, n_jobs=n, random_state=0), X) for n in (1, 2))
    assert one.means_.tobytes() == two.means_.tobytes()
    assert one.log_likelihoods_.tobytes() == two.log_likelihoods_.tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_is_the_same(kind, tmp_path):
    X, _, _ = simulated(300, 2, 2)
    model = GaussianHMM(2, covariance=kind, random_state=0).fit(X)
    labelwood.save(model, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.certificate_ == model.certificate_
    assert loaded.partial_fit(X).means_.tobytes() == model.partial_fit(X).means_.tobytes()


@pytest.mark.parametrize(
    ("X", "lengths", "message"),
    [
        (np.ones((1, 2)), None, "X has 1 sample, fewer than n_states=2"),
        (
            np.column_stack([np.arange(9.0), np.full(9, 7.0)]),
            None,
            r"column 1 of X is constant \(7\)",
        ),
        (
            np.column_stack([np.arange(9.0), np.full(9, np.nan)]),
            None,
            "column 1 .* nothing but NaN",
        ),
        (np.full((9, 2), np.nan), None, "column 0 of X holds nothing but NaN"),
        (
            np.append(np.arange(6.0), [np.nan] * 3).reshape(-1, 1),
            [6, 3],
            "sequence 1 hold nothing but NaN",
        ),
        (np.arange(9.0).reshape(-1, 1), [4, 4], "lengths sum to 8 and X has 9 rows"),
        (np.arange(9.0).reshape(-1, 1), [9, 0], "sequence 1 has length 0"),
        (np.arange(9.0).reshape(-1, 1), [], "lengths must be a list of whole numbers"),
        (np.arange(9.0).reshape(-1, 1), [4.5, 4.5], "lengths must be a list of whole numbers"),
        (np.arange(9.0).reshape(-1, 1), [[4], [4, 1]], "lengths must be a list of whole numbers"),
        (np.array([[1.0], [np.inf], [2.0]]), None, "infinity"),
        (1e200 * np.arange(9.0)[:, None], None, "column 0 of X spans 8e.200.* rescale"),
        (1e-200 * np.arange(9.0)[:, None], None, "column 0 of X spans 8e-200.* rescale"),
        (np.array([[1.0], [np.nan], [np.nan]]), None, "X has 1 sample, fewer than n_states=2"),
        (np.empty((0, 2)), None, "minimum of 1 is required"),
        (np.arange(9.0), None, r"^X has one dimension, .*\(-1, 1\)"),
        ([1.0, 2.0], None, "^X has one dimension"),
        ([["a"], ["b"]], None, "'a': X must hold numbers; numpy.unique"),
    ],
)
def test_data_that_cannot_be_used_are_refused_with_the_reason(X, lengths, message):
    with pytest.raises(DataError, match=message):
        GaussianHMM(2).fit(X, lengths=lengths)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_states": 0}, "The 'n_states' parameter of GaussianHMM must be an int ≥ 1"),
        ({"covariance": "diag"}, "The 'covariance' parameter .* must be one of"),
        ({"tol": -1.0}, "The 'tol' parameter"),
        (
            {"transition_init": [[0, 0], [0.5, 0.5]]},
            "row 0 of the transition probabilities must sum",
        ),
        ({"start_init": [0.7, 0.7]}, "the start probabilities must sum to 1"),
        ({"means_init": [[1.0]]}, r"means must be finite numbers of shape \(2, 1\)"),
        ({"covariances_init": [[1.0], [0.0]]}, "must be positive definite"),
        ({"transition_init": [[1.0], [0.5, 0.5]]}, "transition probabilities must be numbers"),
        ({"start_init": ["a", "b"]}, "start probabilities must be numbers"),
        ({"means_init": [[1.0], [2.0, 3.0]]}, "means must be finite numbers"),
    ],
)
def test_parameters_that_make_no_model_are_refused(parameters, message):
    X = np.arange(9.0).reshape(-1, 1)
    with pytest.raises(ParameterError, match=message):
        GaussianHMM(**parameters).fit(X)


def test_wholly_missing_rows_inside_a_sequence_are_legal():
    X, _, _ = simulated(200, 2, 1)
    X[50:60] = np.nan
    model = GaussianHMM(2, random_state=0).fit(X)
    assert np.isfinite(model.log_likelihood_)
    assert model.bic(X) == pytest.approx(
        np.log(190) * model.n_parameters_ - 2 * model.log_likelihood_
    )


def test_a_stationary_start_survives_a_chain_that_falls_apart():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 100), rng.normal(100, 1, 100)])[:, None]
    model = GaussianHMM(2, start="stationary", random_state=0).fit(X, lengths=[100, 100])
    assert sorted(model.means_.ravel().round().tolist()) == [0.0, 100.0]


@pytest.mark.parametrize("n", [0, 2.5, [3, 1.5], [], "ab", [[1], [2, 3]], None])
def test_sampling_needs_positive_lengths(n):
    model = GaussianHMM(2, n_init=1, random_state=0).fit(simulated(100)[0])
    with pytest.raises(DataError, match=r"n_samples must be whole numbers ≥ 1\. Got"):
        model.sample(n)


def test_more_threads_or_states_than_memory_are_refused_before_they_start(monkeypatch):
    from labelwood.core import memory

    X, _, _ = simulated(2_000, 2, 2)
    monkeypatch.setattr(memory, "available_memory", lambda: 3 * 16 * 2_000 * 2)
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n_jobs=1: 4 if n_jobs == -1 else 1)
    with pytest.raises(MemoryError, match="2,000 rows in 4 threads"):
        GaussianHMM(2, n_init=4, n_jobs=-1).fit(X)
    quick_fit(GaussianHMM(2, n_init=2, random_state=0), X)
    with pytest.raises(MemoryError, match="spectral start with 90 symbols"):
        GaussianHMM(30, init="spectral", random_state=0).fit(X)


@pytest.mark.shared
def test_depmix_speed_is_fitted_at_least_as_well_as_by_hmmlearns_best_of_twenty(shared_data):
    hmm = pytest.importorskip("hmmlearn.hmm")
    table = np.genfromtxt(
        shared_data / "sequences" / "depmixS4_speed.csv", delimiter=",", names=True, dtype=None,
        encoding="utf-8",
    )  # fmt: skip
    X, lengths = table["rt"].reshape(-1, 1).astype(float), [168, 134, 137]
    best = -np.inf
    for seed in range(20):
        peer = hmm.GaussianHMM(2, "diag", n_iter=1000, tol=1e-6, random_state=seed)
        best = max(best, peer.fit(X, lengths).score(X, lengths))
    ours = GaussianHMM(2, n_init=10, tol=1e-10, max_iter=2000, random_state=0).fit(
        X, lengths=lengths
    )
    assert ours.log_likelihood_ >= best - 1e-6
