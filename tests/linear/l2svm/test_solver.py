import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from builders import random_csr
from labelwood import load_dataset
from labelwood.core.sparse import as_csr
from labelwood.errors import DataError
from labelwood.linear.l2svm.solver import l2svm, primal_objective


def noisy_problem(n=300, d=60, seed=0):
    X = random_csr(n, d, density=0.15, seed=seed)
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.standard_normal(n)
    signs = np.where(X @ rng.standard_normal(d) + noise > 0, 1, -1)
    return X, signs


def liblinear(X, signs, *, C, bias, tol):
    return LinearSVC(
        C=C,
        loss="squared_hinge",
        dual=True,
        tol=tol,
        fit_intercept=bias > 0,
        intercept_scaling=bias or 1.0,
        max_iter=10_000,
        random_state=0,
    ).fit(X, signs)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("tol", [0.1, 1e-3])
def test_the_objective_is_liblinears_within_a_thousandth(C, bias, tol):
    X, signs = noisy_problem()
    theirs = liblinear(X, signs, C=C, bias=bias, tol=tol)
    ours = l2svm(X, signs, C=C, bias=bias, tol=tol, max_iter=10_000)
    intercept = float(theirs.intercept_[0]) if bias else 0.0
    reference = primal_objective(X, signs, theirs.coef_[0], intercept, C=C, bias=bias)
    objective = primal_objective(X, signs, ours.coef, ours.intercept, C=C, bias=bias)
    assert ours.converged
    assert objective == pytest.approx(reference, rel=1e-3)


@pytest.mark.shared
@pytest.mark.parametrize(("C", "tol"), [(0.01, 0.1), (0.1, 0.01)])
def test_the_objective_is_liblinears_on_real_data(shared_data, C, tol):
    data = load_dataset(shared_data / "bibtex" / "train.txt.xz")
    for label in (4, 20, 100):
        signs = np.where(data.Y[:, [label]].toarray().ravel() > 0, 1, -1)
        theirs = liblinear(data.X, signs, C=C, bias=1.0, tol=tol)
        ours = l2svm(data.X, signs, C=C, bias=1.0, tol=tol)
        intercept = float(theirs.intercept_[0])
        reference = primal_objective(data.X, signs, theirs.coef_[0], intercept, C=C)
        objective = primal_objective(data.X, signs, ours.coef, ours.intercept, C=C)
        assert objective == pytest.approx(reference, rel=1e-3)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.05, 20), st.sampled_from([0.0, 1.0]))
def test_the_solution_meets_the_optimality_conditions(seed, C, bias):
    X, signs = noisy_problem(n=40, d=15, seed=seed)
    solved = l2svm(X, signs, C=C, bias=bias, tol=1e-4, max_iter=100_000)
    slack = 1 - signs * (X @ solved.coef + solved.intercept)
    # In the optimum α_i = 2 C max(0, slack_i) and w = Σ α_i s_i x_i (Hsieh et al., eq. 3–4).
    np.testing.assert_allclose(solved.alpha, 2 * C * np.maximum(0, slack), atol=2e-3 * max(C, 1))
    np.testing.assert_allclose(solved.coef, X.T @ (solved.alpha * signs), atol=1e-3 * max(C, 1))


def test_a_row_subset_gives_what_the_subset_alone_gives():
    X, signs = noisy_problem()
    rows = np.arange(5, 200, 3)
    part = l2svm(X, signs[rows], rows=rows, tol=1e-5, max_iter=100_000)
    alone = l2svm(as_csr(X[rows]), signs[rows], tol=1e-5, max_iter=100_000)
    np.testing.assert_allclose(part.coef, alone.coef, atol=1e-4)


def test_costs_of_single_rows_count_as_repetitions():
    X, signs = noisy_problem(n=60)
    twice = np.concatenate([np.arange(60), np.arange(20)])
    weighted = l2svm(X, signs, C=np.where(np.arange(60) < 20, 2.0, 1.0), tol=1e-5, max_iter=100_000)
    repeated = l2svm(as_csr(X[twice]), signs[twice], C=1.0, tol=1e-5, max_iter=100_000)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-3)


def test_running_out_of_passes_is_not_called_convergence():
    X, signs = noisy_problem()
    stopped = l2svm(X, signs, C=100.0, tol=1e-6, max_iter=2)
    assert (stopped.n_iter, stopped.converged) == (2, False)


def test_a_mask_of_rows_is_the_rows_it_marks():
    X, signs = noisy_problem(n=40)
    mask = np.arange(40) % 3 == 0
    by_mask = l2svm(X, signs[mask], rows=mask)
    by_number = l2svm(X, signs[mask], rows=np.flatnonzero(mask))
    np.testing.assert_array_equal(by_mask.coef, by_number.coef)


def test_values_too_large_to_be_squared_are_refused():
    with pytest.raises(DataError, match="row 1 are too large to be squared"):
        l2svm(as_csr([[1, 0], [0, 1e25]]), [1, -1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signs": [1, 0]}, "signs must be"),
        ({"signs": [1]}, "signs must be"),
        ({"signs": [1, -1], "C": 0}, "C must be positive"),
        ({"signs": [1, -1], "C": [1, np.nan]}, "C must be positive"),
        ({"signs": [1, -1], "rows": [0, 2]}, "rows must be numbers in 0…1"),
        ({"signs": [1, -1], "rows": [0.7, 1.9]}, "rows must be a list of row numbers"),
        ({"signs": [1, -1], "rows": [True, False, True]}, "rows must be a list of row numbers"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        l2svm(as_csr([[1, 0], [0, 1]]), **arguments)
