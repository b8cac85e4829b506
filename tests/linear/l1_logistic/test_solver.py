import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.utils.fixes import parse_version

from builders import random_csr
from labelwood import load_dataset
from labelwood.core.sparse import as_csr, csr_arrays, unit_rows
from labelwood.errors import DataError
from labelwood.linear.l1_logistic._column_kernels import gather_columns
from labelwood.linear.l1_logistic.solver import l1_logistic, objective

# How scikit-learn is asked for the absolute penalty, before and since release 1.8.
L1 = (
    {"l1_ratio": 1}
    if parse_version(sklearn.__version__) >= parse_version("1.8")
    else {"penalty": "l1"}
)


def noisy_problem(n=300, d=60, seed=0):
    X = random_csr(n, d, density=0.15, seed=seed)
    rng = np.random.default_rng(seed)
    noise = 0.3 * rng.standard_normal(n)
    signs = np.where(X @ rng.standard_normal(d) + noise > 0, 1, -1)
    return X, signs


def liblinear(X, signs, *, C, bias, tol):
    model = LogisticRegression(
        **L1,
        solver="liblinear",
        C=C,
        tol=tol,
        fit_intercept=bias > 0,
        intercept_scaling=bias or 1.0,
        max_iter=10_000,
        random_state=0,
    )
    fitted = model.fit(X, signs)
    return fitted.coef_[0], float(fitted.intercept_[0]) if bias else 0.0


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("tol", [0.1, 0.01, 1e-4])
def test_the_objective_is_no_higher_than_liblinears(C, bias, tol):
    X, signs = noisy_problem()
    reference = objective(X, signs, *liblinear(X, signs, C=C, bias=bias, tol=tol), C=C, bias=bias)
    ours = l1_logistic(X, signs, C=C, bias=bias, tol=tol, max_iter=1000)
    assert ours.converged
    assert objective(X, signs, ours.coef, ours.intercept, C=C, bias=bias) <= 1.005 * reference


@pytest.mark.parametrize("C", [0.5, 2.0, 10.0])
def test_the_same_features_carry_weights_as_in_liblinear(C):
    X, signs = noisy_problem(seed=1)
    coef, intercept = liblinear(X, signs, C=C, bias=1.0, tol=1e-6)
    ours = l1_logistic(X, signs, C=C, tol=1e-6, max_iter=1000)
    np.testing.assert_allclose(ours.coef, coef, atol=2e-3 * max(np.abs(coef).max(), 1))
    assert ours.intercept == pytest.approx(intercept, abs=5e-3)
    assert np.array_equal(np.abs(ours.coef) > 0.01, np.abs(coef) > 0.01)


@pytest.mark.shared
@pytest.mark.parametrize(("C", "tol"), [(1.0, 0.01), (10.0, 0.01)])
def test_the_objective_is_no_higher_on_real_data(shared_data, C, tol):
    data = load_dataset(shared_data / "bibtex" / "train.txt.xz")
    X = unit_rows(data.X)
    for label in (4, 20, 100):
        signs = np.where(data.Y[:, [label]].toarray().ravel() > 0, 1, -1)
        coef, intercept = liblinear(X, signs, C=C, bias=1.0, tol=tol)
        ours = l1_logistic(X, signs, C=C, tol=tol)
        reference = objective(X, signs, coef, intercept, C=C)
        assert objective(X, signs, ours.coef, ours.intercept, C=C) <= 1.005 * reference
        assert np.count_nonzero(ours.coef) <= 1.2 * np.count_nonzero(coef) + 5


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.05, 20), st.sampled_from([0.0, 1.0]))
def test_the_solution_meets_the_optimality_conditions(seed, C, bias):
    X, signs = noisy_problem(n=40, d=15, seed=seed)
    solved = l1_logistic(X, signs, C=C, bias=bias, tol=1e-5, max_iter=10_000)
    w = np.append(solved.coef, solved.intercept / bias if bias else 0).astype(np.float64)
    features = np.hstack([X.toarray(), np.full((40, 1), bias)])
    gradient = features.T @ (-C * signs / (1 + np.exp(signs * (features @ w))))
    slack = 1e-3 * max(C, 1)
    assert np.all(np.abs(gradient) <= 1 + slack)
    some = w != 0
    np.testing.assert_allclose(gradient[some], -np.sign(w[some]), atol=slack)


def test_a_row_subset_gives_what_the_subset_alone_gives():
    X, signs = noisy_problem()
    rows = np.arange(5, 200, 3)
    part = l1_logistic(X, signs[rows], rows=rows, C=3)
    alone = l1_logistic(as_csr(X[rows]), signs[rows], C=3)
    np.testing.assert_array_equal(part.coef, alone.coef)
    mask = np.isin(np.arange(300), rows)
    np.testing.assert_array_equal(l1_logistic(X, signs[rows], rows=mask, C=3).coef, alone.coef)


def test_costs_of_single_rows_count_as_repetitions():
    X, signs = noisy_problem(n=60)
    twice = np.concatenate([np.arange(60), np.arange(20)])
    costs = np.where(np.arange(60) < 20, 4.0, 2.0)
    weighted = l1_logistic(X, signs, C=costs, tol=1e-6, max_iter=1000)
    repeated = l1_logistic(as_csr(X[twice]), signs[twice], C=2.0, tol=1e-6, max_iter=1000)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=5e-3)


def test_a_small_cost_leaves_no_weights():
    X, signs = noisy_problem()
    solved = l1_logistic(X, signs, C=1e-4)
    assert not solved.coef.any()
    assert (solved.intercept, solved.converged) == (0.0, True)


def test_running_out_of_steps_is_not_called_convergence():
    X, signs = noisy_problem()
    stopped = l1_logistic(X, signs, C=100.0, tol=1e-8, max_iter=2)
    assert (stopped.n_iter, stopped.converged) == (2, False)


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("least", [-1.0, 0.3, 100.0])
def test_columns_are_those_with_a_large_gradient_at_zero(least, bias):
    X, signs = noisy_problem(n=50, d=20)
    costs = np.linspace(0.5, 2, 30).astype(np.float32)
    sign = signs[10:40].astype(np.float32)
    cells = np.zeros(40, dtype=np.uint32)
    room = X.nnz + 31
    features, columns = gather_columns(
        csr_arrays(X), 10, sign, costs, bias, least, cells,
        np.empty(room, dtype=np.uint32), np.empty(room, dtype=np.float32),
    )  # fmt: skip
    part = X[10:40].toarray()
    gradient = part.T @ (-0.5 * sign * costs)
    wanted = np.flatnonzero(part.any(axis=0) & (np.abs(gradient) > least))
    assert sorted(features.tolist()) == wanted.tolist()
    assert not cells.any()
    assert columns.indptr.size - 1 == wanted.size + (bias > 0)
    dense = np.zeros((30, columns.indptr.size - 1))
    for j in range(columns.indptr.size - 1):
        entries = slice(columns.indptr[j], columns.indptr[j + 1])
        dense[columns.indices[entries], j] = columns.data[entries]
    expected = np.hstack([part[:, features], np.full((30, int(bias > 0)), bias)])
    np.testing.assert_array_equal(dense, expected)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signs": [1, 0]}, "signs must be"),
        ({"signs": [1]}, "signs must be"),
        ({"signs": [1, -1], "C": 0}, "C must be positive"),
        ({"signs": [1, -1], "C": [1, np.nan]}, "C must be positive"),
        ({"signs": [1, -1], "rows": [0, 2]}, "rows must be numbers in 0…1"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        l1_logistic(as_csr([[1, 0], [0, 1]]), **arguments)


def test_values_too_large_to_be_squared_are_refused():
    with pytest.raises(DataError, match=r"X holds a value above 1e\+15; scale the features down"):
        l1_logistic(as_csr([[1, 0], [0, 1e25]]), [1, -1])
