import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from builders import random_csr, separable
from labelwood import KernelRidgeClassifier, KernelRidgeRegressor
from labelwood.errors import DataError, ParameterError
from labelwood.kernels.functions import KernelFunction
from labelwood.kernels.ridge.representations import REPRESENTATIONS, choose_representation

RNG = np.random.default_rng(0)
X, Z = RNG.random((50, 4)), RNG.random((9, 4))
Y = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1] ** 2, RNG.normal(size=50)])
SKLEARN = {
    "linear": "linear",
    "gaussian": "rbf",
    "laplacian": "laplacian",
    "polynomial": "polynomial",
}
LAMBDA = 0.003


@pytest.fixture(params=["linear", "gaussian", "laplacian", "polynomial", "sobolev"])
def kernel(request):
    return request.param


def dense_oracle(kernel, samples=X, targets=Y):
    """K_m×n (K_n + λnI)⁻¹Y by plain matrix algebra."""
    from labelwood.kernels.functions import KernelFunction

    k = KernelFunction(kernel, gamma=0.5, degree=2, coef0=1.0)
    n = samples.shape[0]
    alpha = np.linalg.solve(k(samples, samples) + LAMBDA * n * np.eye(n), targets)
    return k(np.vstack([samples, Z]), samples) @ alpha


def model(kernel, representation, **more):
    return KernelRidgeRegressor(
        alpha=LAMBDA,
        kernel=kernel,
        gamma=0.5,
        degree=2,
        representation=representation,
        **{"tol": 1e-13, **more},
    )


@pytest.mark.parametrize("representation", [*REPRESENTATIONS, "auto"])
def test_all_representations_agree_at_all_samples(kernel, representation):
    fitted = model(kernel, representation).fit(X, Y, X_unlabeled=Z)
    expected = dense_oracle(kernel)
    np.testing.assert_allclose(fitted.transduction_, expected, atol=1e-8)
    np.testing.assert_allclose(fitted.predict(Z), expected[50:], atol=1e-8)
    if kernel in SKLEARN:
        theirs = KernelRidge(
            alpha=LAMBDA * 50, kernel=SKLEARN[kernel], gamma=0.5, degree=2, coef0=1
        ).fit(X, Y)
        np.testing.assert_allclose(fitted.predict(Z), theirs.predict(Z), atol=1e-8)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_repeated_samples_get_the_same_answer_in_all_representations(kernel, representation):
    twice, targets = np.vstack([X, X[:20]]), np.vstack([Y, -Y[:20]])
    fitted = model(kernel, representation).fit(twice, targets, X_unlabeled=Z)
    expected = dense_oracle(kernel, twice, targets)
    np.testing.assert_allclose(fitted.transduction_, expected, atol=1e-8)
    np.testing.assert_allclose(
        fitted.transduction_[:20], fitted.transduction_[50:70], rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize("representation", ["features", "kernel", "dual"])
def test_a_precomputed_kernel_is_the_kernel_itself(representation):
    K, K_new = X @ X.T, Z @ X.T
    fitted = model("precomputed", representation).fit(K, Y, X_unlabeled=K_new)
    np.testing.assert_allclose(fitted.transduction_, dense_oracle("linear"), atol=1e-8)
    np.testing.assert_allclose(fitted.predict(K_new), dense_oracle("linear")[50:], atol=1e-8)


def test_sparse_samples_are_solved_as_dense_ones(kernel):
    sparse = random_csr(40, 30)
    y = np.asarray(sparse.sum(axis=1)).ravel()
    for representation in REPRESENTATIONS:
        one = model(kernel, representation).fit(sparse, y)
        other = model(kernel, representation)
        other.fit(sparse.toarray(), y)
        np.testing.assert_allclose(one.predict(sparse), other.predict(sparse.toarray()), atol=1e-9)
        assert one.predict(sparse).shape == (40,)


def test_the_duality_gap_is_primal_minus_dual_value():
    few = model("gaussian", "dual", max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"iteration limit \(3\)"):
        few.fit(X, Y)
    K, a, n = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(-1)), few.dual_coef_, 50
    primal = np.square(K @ a - Y).mean(axis=0) + LAMBDA * (a * (K @ a)).sum(axis=0)
    dual = LAMBDA * (
        2 * (a * Y).sum(axis=0) - (a * (K @ a)).sum(axis=0) - LAMBDA * n * (a**2).sum(axis=0)
    )
    np.testing.assert_allclose(few.duality_gap_, primal - dual, rtol=1e-9)
    assert few.duality_gap_.min() > 1e-6
    assert few.n_iter_ == 3
    solved = model("gaussian", "dual").fit(X, Y)
    assert solved.duality_gap_.max() < 1e-20
    assert "residual below" in solved.stop_reason_


def test_the_norm_is_that_of_the_hilbert_space():
    linear = model("linear", "features").fit(X, Y)
    np.testing.assert_allclose(linear.norm_, np.linalg.norm(linear.coef_, axis=0))
    for representation in REPRESENTATIONS[1:]:
        other = model("linear", representation).fit(X, Y)
        np.testing.assert_allclose(other.norm_, linear.norm_, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("representation", ["features", "kernel"])
def test_leave_one_out_errors_are_those_of_leaving_one_out(kernel, representation):
    fitted = KernelRidgeRegressor(kernel=kernel, gamma=0.5, representation=representation).fit(X, Y)
    assert fitted.alpha_ == fitted.alphas_[fitted.loo_errors_.argmin()]
    for i in (6, 12):
        errors = []
        for left in range(50):
            rest = np.arange(50) != left
            one = KernelRidgeRegressor(
                alpha=fitted.alphas_[i] * 50 / 49, kernel=kernel, gamma=0.5, representation="kernel"
            ).fit(X[rest], Y[rest])
            errors.append((one.predict(X[left : left + 1]) - Y[left]) ** 2)
        assert fitted.loo_errors_[i] == pytest.approx(np.mean(errors), rel=1e-6)


def test_the_cheapest_representation_is_chosen_and_reported():
    assert choose_representation(1000, 10, 1000, 1, linear=True, iterations=None)[0] == "features"
    assert choose_representation(100, 9000, 100, 1, linear=True, iterations=80)[0] == "kernel"
    assert choose_representation(9000, 9, 9000, 1, linear=False, iterations=100)[0] == "dual"
    assert choose_representation(9000, 9, 9000, 500, linear=False, iterations=100)[0] == "kernel"
    assert model("linear", "auto").fit(X, Y).representation_ == "features"
    assert model("gaussian", "auto").fit(X, Y).representation_ == "kernel"


def test_label_sets_and_classes_are_targets_of_minus_one_and_one():
    features, labels = separable(60, 5)
    fitted = KernelRidgeClassifier(alpha=0.01, kernel="linear").fit(features, labels)
    signs = 2 * labels.toarray() - 1
    expected = KernelRidge(alpha=0.6, kernel="linear").fit(features.toarray(), signs)
    np.testing.assert_allclose(
        fitted.decision_function(features).toarray(),
        expected.predict(features.toarray()),
        rtol=1e-4,
        atol=1e-5,
    )
    names = np.where(X[:, 0] > 0.5, "up", "down")
    assert (KernelRidgeClassifier().fit(X, names).predict(X) == names).mean() > 0.95


def test_scores_of_unlabeled_samples_come_with_the_fit():
    features, labels = separable(60, 5)
    fitted = KernelRidgeClassifier(alpha=0.01).fit(
        features[:40], labels[:40], X_unlabeled=features[40:]
    )
    scores = fitted.decision_function(features[40:]).toarray()
    np.testing.assert_allclose(fitted.transduction_[40:], scores, rtol=1e-5, atol=1e-6)


# Bad input


def test_an_indefinite_precomputed_kernel_is_refused():
    with pytest.raises(DataError, match="smallest eigenvalue is -1"):
        model("precomputed", "kernel").fit([[1.0, 2.0], [2.0, 1.0]], [1, 2])


def test_an_asymmetric_precomputed_kernel_is_refused():
    with pytest.raises(DataError, match=r"K\[0, 1\] = 0\.5 and K\[1, 0\] = 0"):
        model("precomputed", "kernel").fit([[1.0, 0.5], [0.0, 1.0]], [1, 2])


def test_a_precomputed_kernel_of_all_samples_is_needed_for_their_process():
    with pytest.raises(DataError, match="needs the kernel of all samples"):
        model("precomputed", "gaussian_process").fit(X @ X.T, Y, X_unlabeled=Z @ X.T)


def test_one_class_is_refused():
    with pytest.raises(DataError, match="y holds one class and two are needed"):
        KernelRidgeClassifier().fit(X, ["a"] * 50)


def test_a_kernel_matrix_beyond_memory_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"50 × 50 kernel matrix needs about .* use represent"):
        KernelRidgeRegressor().fit(X, Y)


def test_unlabeled_samples_of_another_width_are_refused():
    with pytest.raises(DataError, match="3 features, but KernelRidgeRegressor is expecting 4"):
        KernelRidgeRegressor().fit(X, Y, X_unlabeled=Z[:, :3])


def test_a_singular_system_names_alpha():
    same = np.ones((30, 2))
    with pytest.raises(DataError, match=r"alpha=1e-30 is too small"):
        KernelRidgeRegressor(alpha=1e-30, representation="kernel").fit(same, np.arange(30.0))


@pytest.mark.parametrize(
    ("name", "value"), [("alpha", 0), ("alpha", "best"), ("kernel", "cosine"), ("tol", 0)]
)
def test_parameters_are_checked(name, value):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of KernelRidgeRegressor"):
        KernelRidgeRegressor(**{name: value}).fit(X, Y)


def test_damaged_models_are_refused():
    fitted = KernelRidgeRegressor(alpha=0.1).fit(X, Y)
    fitted.X_fit_ = fitted.X_fit_[:-1]
    with pytest.raises(DataError, match="do not fit the samples"):
        fitted._check_fitted()


def test_sparse_samples_stay_sparse():
    fitted = KernelRidgeRegressor(alpha=0.1).fit(random_csr(30, 50), np.arange(30.0))
    assert sp.issparse(fitted.X_fit_)


def test_kernel_values_of_unlabeled_samples_are_computed_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    labeled, more = rng.random((20, 2)), rng.random((500, 2))
    y = np.sin(5 * labeled[:, 0])
    whole = KernelRidgeRegressor(alpha=0.01, representation="kernel")
    expected = whole.fit(labeled, y, X_unlabeled=more).transduction_
    monkeypatch.setattr("labelwood.kernels.functions._BLOCK_BYTES", 8 * 20 * 64)
    largest = []
    call = KernelFunction.__call__
    monkeypatch.setattr(
        KernelFunction, "__call__", lambda k, A, B: largest.append(A.shape[0]) or call(k, A, B)
    )
    again = KernelRidgeRegressor(alpha=0.01, representation="kernel")
    np.testing.assert_allclose(again.fit(labeled, y, X_unlabeled=more).transduction_, expected)
    assert max(largest) == 64


def test_values_at_all_samples_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr("labelwood.core.memory.available_memory", lambda: 8 * 3 * 20**2 + 1)
    with pytest.raises(MemoryError, match=r"values of 1 outputs at 1,020 samples needs"):
        KernelRidgeRegressor(alpha=0.1, representation="kernel").fit(
            np.ones((20, 2)), np.ones(20), X_unlabeled=np.ones((1000, 2))
        )
