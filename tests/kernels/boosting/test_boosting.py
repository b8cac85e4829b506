import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from builders import random_csr, separable
from labelwood import KernelBoostingClassifier, KernelBoostingRegressor
from labelwood.errors import DataError, ParameterError
from labelwood.kernels.boosting.features import exact_features, make_features
from labelwood.kernels.boosting.losses import Loss
from labelwood.kernels.boosting.path import boost
from labelwood.kernels.boosting.pilot import noise_and_norm
from labelwood.kernels.boosting.stopping import THEORY_CONSTANT, check_step
from labelwood.kernels.critical_radius import critical_radius, guaranteed_time, stopping_time
from labelwood.kernels.functions import KernelFunction

RNG = np.random.default_rng(0)
X = RNG.random((60, 2))
SIGNS = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0.5, 1.0, -1.0)
NUMBERS = np.sin(5 * X[:, 0]) + 0.2 * RNG.normal(size=60)
GRADIENTS = {
    "squared": lambda y, f: f - y,
    "logistic": lambda y, f: -y * expit(-y * f),
    "exponential": lambda y, f: -y * np.exp(-y * f),
}


def by_hand(K, y, loss, step, n_steps):
    """The update (3.9) as printed, on values; K is k(x_i, x_j)/n."""
    f, total = np.zeros_like(y), np.zeros_like(y)
    for _ in range(n_steps):
        f = f - step * K @ GRADIENTS[loss](y, f)
        total += f
    return f, total / n_steps


@pytest.mark.parametrize("loss", GRADIENTS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "sobolev", "polynomial", "linear"])
def test_boosting_is_the_printed_update(loss, average, kernel):
    model = KernelBoostingClassifier(
        loss=loss, kernel=kernel, stopping=25, step=0.3, average=average, gamma=0.5
    ).fit(X, SIGNS)
    K = KernelFunction(kernel, 0.5).bounded_by_one(X)(X, X)
    last, mean = by_hand(K / 60, SIGNS, loss, 0.3, 25)
    np.testing.assert_allclose(
        model.decision_function(X), mean if average else last, rtol=1e-5, atol=1e-6
    )
    assert model.n_iter_.tolist() == [25]


@pytest.mark.parametrize("loss", GRADIENTS)
def test_the_gradient_is_the_derivative_of_the_loss(loss):
    one, f, h = Loss(loss), np.linspace(-2, 2, 9), 1e-6
    for y in (np.ones(9), -np.ones(9)):
        slope = (one.value(y, f + h) - one.value(y, f - h)) / (2 * h)
        np.testing.assert_allclose(one.gradient(y, f), slope, atol=1e-6)
        np.testing.assert_allclose(one.gradient(y, f), GRADIENTS[loss](y, f), atol=1e-12)


def test_five_trials_are_five_losses_summed():
    one, five, f = Loss("logistic"), Loss("logistic", trials=5), np.linspace(-2, 2, 9)
    successes = np.array([0, 1, 2, 3, 4, 5, 1, 2, 3])
    summed = successes * one.value(np.ones(9), f) + (5 - successes) * one.value(-np.ones(9), f)
    y = 2.0 * successes - 5
    np.testing.assert_allclose(five.value(y, f), summed)
    h = 1e-6
    slope = (five.value(y, f + h) - five.value(y, f - h)) / (2 * h)
    np.testing.assert_allclose(five.gradient(y, f), slope, atol=1e-6)
    np.testing.assert_allclose(five.residual(y, f), successes - 5 * expit(f))


@pytest.mark.parametrize("loss", GRADIENTS)
def test_the_constants_of_the_losses_are_extremes_of_their_curvature(loss):
    m, M, B = Loss(loss).constants(1.5)
    f, h = np.linspace(-1.5, 1.5, 301), 1e-4
    one = Loss(loss)
    curvature = np.concatenate(
        [
            (one.gradient(s, f + h) - one.gradient(s, f - h)) / (2 * h)
            for s in (np.ones(301), -np.ones(301))
        ]
    )
    assert curvature.min() == pytest.approx(m, rel=1e-3)
    assert curvature.max() == pytest.approx(M, rel=1e-3)
    if loss != "squared":
        assert np.abs(one.gradient(np.ones(301), f)).max() <= B * (1 + 1e-12)


@pytest.mark.parametrize(("loss", "scale"), [("logistic", 1.0), ("exponential", 0.5)])
def test_the_noise_of_a_loss_is_that_of_its_gradient_at_the_minimizer(loss, scale):
    p = 0.8
    f = scale * np.log(p / (1 - p))
    gradients = np.array([GRADIENTS[loss](1.0, f), GRADIENTS[loss](-1.0, f)])
    assert p * gradients[0] + (1 - p) * gradients[1] == pytest.approx(0)
    sigma, curvature = Loss(loss).noise(np.array([np.sqrt(p * (1 - p))]))
    assert sigma[0] ** 2 == pytest.approx(p * gradients[0] ** 2 + (1 - p) * gradients[1] ** 2)
    h = 1e-5
    bend = [(GRADIENTS[loss](s, f + h) - GRADIENTS[loss](s, f - h)) / (2 * h) for s in (1.0, -1.0)]
    assert curvature[0] == pytest.approx(p * bend[0] + (1 - p) * bend[1], rel=1e-6)


def test_times_come_from_the_critical_radius_of_the_effective_noise():
    model = KernelBoostingRegressor(sigma=0.4, norm=2.0, step=0.5, average=False).fit(X, NUMBERS)
    K = KernelFunction("gaussian", model.gamma_)(X, X) / 60
    radius = critical_radius(np.linalg.eigvalsh(K), 60, 0.2)
    assert model.critical_radius_[0, 0] == pytest.approx(radius.delta, rel=1e-9)
    assert model.stopping_times_[0, 0] == guaranteed_time(radius, 1)
    assert model.stopping_times_[0, 1] == stopping_time(
        radius, step=0.5, constant=THEORY_CONSTANT[False]
    )
    assert model.n_iter_[0] == model.stopping_times_[0, 1]
    assert "stopping='theory'" in model.stop_reason_


def test_the_logistic_time_is_that_of_squared_error_with_the_same_information():
    model = KernelBoostingClassifier(sigma=0.4, norm=1.0, step=1.0).fit(X, SIGNS)
    K = KernelFunction("gaussian", model.gamma_)(X, X) / 60
    radius = critical_radius(np.linalg.eigvalsh(K), 60, 0.4 / 0.16)
    expected = stopping_time(radius, curvature=0.16, constant=THEORY_CONSTANT[True])
    assert model.stopping_times_[0, 1] == expected


@pytest.mark.parametrize("average", [False, True])
def test_discrepancy_stops_at_the_first_risk_below_the_noise(average):
    model = KernelBoostingRegressor(stopping="discrepancy", average=average).fit(X, NUMBERS)
    t = model.n_iter_[0]
    assert t == model.stopping_times_[0, 2]
    risks = model.risk_path_[:, 0]
    assert risks[t - 1] <= model.sigma_[0] ** 2 < risks[t - 2]
    assert risks[t - 1] == pytest.approx(np.square(NUMBERS - model.predict(X)).mean(), rel=1e-6)


def test_cross_validation_takes_the_steps_of_least_held_out_loss():
    model = KernelBoostingRegressor(stopping="cv", max_iter=300, random_state=0, average=False).fit(
        X, NUMBERS
    )
    rng = np.random.default_rng(np.random.SeedSequence(0))
    K = KernelFunction("gaussian", model.gamma_)(X, X)
    total = np.zeros(300)
    for rows in np.array_split(rng.permutation(60), 5):
        rest = np.setdiff1d(np.arange(60), rows)
        a = np.zeros(rest.size)
        for t in range(300):
            a -= (K[np.ix_(rest, rest)] @ a - NUMBERS[rest]) / rest.size
            total[t] += np.square(K[np.ix_(rows, rest)] @ a - NUMBERS[rows]).sum() / 2
    assert model.n_iter_[0] == total.argmin() + 1


def test_the_noise_is_estimated_well():
    x = np.arange(1, 301) / 300
    features = exact_features((1 + np.minimum(x[:, None], x[None])) / 2)
    rng = np.random.default_rng(1)
    f = np.sin(6 * x)
    Y = np.column_stack([f + s * rng.normal(size=300) for s in (0.2, 0.5, 1.0)])
    found, _ = noise_and_norm(features.Z, features.spectrum, Y)
    np.testing.assert_allclose(found, [0.2, 0.5, 1.0], rtol=0.12)


def test_the_norm_of_the_function_is_estimated_well_whatever_its_unit():
    x = np.arange(1, 801) / 800
    features = exact_features((1 + np.minimum(x[:, None], x[None])) / 2)
    f = np.sin(2 * np.pi * x) / 2
    norm = np.sqrt(2) * np.pi / np.sqrt(2)  # of f for (1 + min)/2: √2 ‖f'‖, and ‖f'‖² = π²/2
    Y = f[:, None] + 0.3 * np.random.default_rng(2).normal(size=(800, 30))
    _, found = noise_and_norm(features.Z, features.spectrum, Y)
    assert found.mean() == pytest.approx(norm, rel=0.1)
    _, thousandfold = noise_and_norm(features.Z, features.spectrum, 1000 * Y)
    np.testing.assert_allclose(thousandfold, 1000 * found)
    sigma, given = noise_and_norm(features.Z, features.spectrum, Y, sigma=0.3)
    assert set(sigma) == {0.3}
    assert given.mean() == pytest.approx(norm, rel=0.1)


def test_targets_without_noise_are_given_a_little():
    features = exact_features(KernelFunction("gaussian", 2.0)(X, X))
    y = features.Z[:, [0]]
    found, _ = noise_and_norm(features.Z, features.spectrum, y)
    assert found[0] == pytest.approx(0.03 * np.sqrt(np.square(y).mean()))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_all_landmarks_are_the_exact_kernel(loss):
    function = KernelFunction("gaussian", 2.0)
    exact = make_features(function, X, None, "uniform", 0)
    few = make_features(function, X, 59, "leverage", 0)
    paths = [
        boost(one, SIGNS[:, None], Loss(loss), 0.5, np.array([40]), np.ones(1), 100)
        for one in (exact, few)
    ]
    f, g = (one.Z @ path.last for one, path in zip((exact, few), paths, strict=True))
    np.testing.assert_allclose(f, g, atol=0.01)


def test_the_linear_kernel_boosts_sparse_samples_without_a_kernel_matrix():
    sparse, labels = separable(300, 4)
    model = KernelBoostingClassifier(kernel="linear", stopping=30, average=False)
    model.fit(sparse, labels)
    assert model.dual_coef_ is None
    scale = float(sparse.multiply(sparse).sum(axis=1).max())
    K = (sparse @ sparse.T).toarray() / scale / 300
    signs = 2 * labels.toarray().astype(float) - 1
    f, _ = by_hand(K, signs, "logistic", 4.0, 30)
    np.testing.assert_allclose(model.decision_function(sparse).toarray(), f, rtol=1e-4, atol=1e-5)


def test_a_precomputed_kernel_is_boosted_with():
    K = KernelFunction("gaussian", 2.0)(X, X)
    for options in ({}, {"n_landmarks": 20, "random_state": 0}):
        one = KernelBoostingRegressor(kernel="precomputed", stopping=20, **options).fit(K, NUMBERS)
        two = KernelBoostingRegressor(gamma=2.0, stopping=20, **options).fit(X, NUMBERS)
        np.testing.assert_allclose(one.predict(K[:7]), two.predict(X[:7]), atol=1e-8)


def test_every_label_stops_on_its_own_and_shares_the_kernel():
    features = np.random.default_rng(2).random((100, 2))
    noise = np.random.default_rng(3).normal(size=(100, 20)) * np.linspace(0, 1, 20)
    labels = sp.csr_array(((features[:, [0]] + noise) > 0.5).astype(np.float32))
    whole = KernelBoostingClassifier(stopping="theory").fit(features, labels)
    assert len(set(whole.n_iter_.tolist())) > 5
    alone = KernelBoostingClassifier(stopping="theory").fit(features, sp.csr_array(labels[:, [7]]))
    assert alone.n_iter_[0] == whole.n_iter_[7]
    np.testing.assert_allclose(
        whole.decision_function(features).toarray()[:, 7],
        alone.decision_function(features).toarray()[:, 0],
        rtol=1e-5,
    )


def test_the_report_and_the_plot_show_all_times():
    pytest.importorskip("matplotlib")
    model = KernelBoostingRegressor(stopping="discrepancy").fit(X, NUMBERS)
    report = model.stopping_report()
    assert f"sigma     {model.sigma_[0]:.4g}, estimated by a pilot ridge fit" in report
    assert f"theory      {model.stopping_times_[0, 1]}" in report
    assert "cv          not computed" in report
    names = [text.get_text() for text in model.plot_path().get_legend().get_texts()]
    assert f"guaranteed: {model.stopping_times_[0, 0]:,}" in names
    assert {"σ²", "stopped"} <= set(names)
    assert model.radius().delta == model.critical_radius_[0, 0]


def test_a_limit_of_steps_is_told():
    with pytest.warns(ConvergenceWarning, match=r"iteration limit \(2\) for 1 of 1 outputs"):
        model = KernelBoostingRegressor(max_iter=2).fit(X, NUMBERS)
    assert model.n_iter_[0] == 2


# Bad input


@pytest.mark.parametrize(
    ("loss", "stopping", "largest"),
    [("squared", "theory", 1.0), ("logistic", "theory", 4.0), ("logistic", "guaranteed", 0.25)],
)
def test_too_large_a_step_is_refused_with_the_largest_allowed(loss, stopping, largest):
    model = KernelBoostingClassifier(loss=loss, stopping=stopping, step=largest + 0.01)
    with pytest.raises(ParameterError, match=rf"must be at most {largest:g}, which is"):
        model.fit(X, SIGNS)
    model.set_params(step=largest).fit(X, SIGNS)
    assert check_step("it", None, Loss(loss).constants(1).M, stopping) == largest


def test_the_exponential_loss_refuses_to_leave_its_bound():
    hard = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    same = np.ones((60, 1))
    same[0] = 0.9
    model = KernelBoostingClassifier(loss="exponential", kernel="linear", bound=0.1, stopping=500)
    with pytest.raises(DataError, match=r"left \|f\| ≤ 0\.1"):
        model.fit(same, hard)


@pytest.mark.parametrize("sigma", [0, -0.5])
def test_noise_must_be_positive(sigma):
    with pytest.raises(ParameterError, match="'sigma' parameter of KernelBoostingRegressor"):
        KernelBoostingRegressor(sigma=sigma).fit(X, NUMBERS)


def test_one_class_is_refused():
    with pytest.raises(DataError, match="y holds one class and two are needed"):
        KernelBoostingClassifier().fit(X, np.ones(60))


def test_an_indefinite_or_asymmetric_kernel_is_refused():
    with pytest.raises(DataError, match="smallest eigenvalue is -1"):
        KernelBoostingRegressor(kernel="precomputed").fit([[1.0, 2.0], [2.0, 1.0]], [1, 2])
    with pytest.raises(DataError, match=r"K\[0, 1\] = 0\.5"):
        KernelBoostingRegressor(kernel="precomputed").fit([[1.0, 0.5], [0.0, 1.0]], [1, 2])


def test_a_kernel_beyond_memory_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"kernel matrix of 60 samples needs .* n_landmarks=1000"):
        KernelBoostingRegressor().fit(X, NUMBERS)
    monkeypatch.setattr("labelwood.kernels.nystrom.available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"50 landmarks need"):
        KernelBoostingRegressor(n_landmarks=50).fit(X, NUMBERS)


def test_damaged_models_are_refused():
    model = KernelBoostingRegressor(stopping=3).fit(X, NUMBERS)
    model.dual_coef_ = model.dual_coef_[:-1]
    with pytest.raises(DataError, match="do not fit the samples"):
        model._check_fitted()


def test_sparse_samples_stay_sparse():
    model = KernelBoostingRegressor(stopping=3).fit(random_csr(30, 50), np.arange(30.0))
    assert sp.issparse(model.X_fit_)


def test_a_least_held_out_loss_at_the_limit_is_no_minimum():
    with pytest.warns(ConvergenceWarning, match=r"iteration limit \(3\) for 1 of 1 outputs"):
        KernelBoostingRegressor(stopping="cv", max_iter=3, random_state=0).fit(X, NUMBERS)


def test_features_of_many_samples_count_against_memory(monkeypatch):
    monkeypatch.setattr("labelwood.kernels.nystrom.available_memory", lambda: 24 * 20 * 70)
    with pytest.raises(MemoryError, match=r"for the features of 60 samples.*to 17 or less"):
        KernelBoostingRegressor(n_landmarks=20).fit(X, NUMBERS)
    KernelBoostingRegressor(n_landmarks=17).fit(X, NUMBERS)


def test_all_labels_are_cross_validated_on_the_same_folds():
    labels = sp.csr_array(np.repeat((SIGNS[:, None] > 0).astype(np.float32), 40, axis=1))
    state = np.random.default_rng(0)
    model = KernelBoostingClassifier(stopping="cv", max_iter=40, step=1.0, random_state=state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, labels)
    assert len(set(model.n_iter_.tolist())) == 1


def test_single_precision_of_many_features_changes_next_to_nothing(monkeypatch):
    options = {"stopping": 200, "random_state": 0}
    double = KernelBoostingClassifier(**options).fit(X, SIGNS).decision_function(X)
    monkeypatch.setattr("labelwood.kernels.boosting.path._SINGLE_PRECISION_CELLS", 10)
    single = KernelBoostingClassifier(**options).fit(X, SIGNS).decision_function(X)
    assert (single != double).any()
    np.testing.assert_allclose(single, double, atol=1e-5)
