"""Kernel functions k(x, x') on dense and sparse samples, and checks of kernel matrices."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from labelwood.core.memory import require_memory
from labelwood.core.params import Constraints, Integer, OneOf, Real
from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError

Samples: TypeAlias = DoubleArray | CSR
"""Dense or sparse rows in double precision; a dense kernel matrix when it is precomputed."""

KERNELS = ("gaussian", "laplacian", "sobolev", "polynomial", "linear", "precomputed")
KERNEL_CONSTRAINTS: Constraints = {
    "kernel": OneOf(*KERNELS),
    "gamma": (Real(above=0), None),
    "degree": Integer(low=1),
    "coef0": Real(low=0),
}
_BLOCK_BYTES = 2**26  # of one block of kernel values when samples are scored
_MOST_SOBOLEV_FEATURES = 1000  # doubles end at 2^1024
_LEAST_VARIANCE = 1e-280  # its inverse is still a double


@dataclass(frozen=True)
class KernelFunction:
    """A positive semidefinite function of two samples.

    Attributes
    ----------
    name : str
        "gaussian" exp(−γ‖x − x'‖²), "laplacian" exp(−γ‖x − x'‖₁), "sobolev" Π_j (1 + min(x_j,
        x'_j)) for features in [0, 1], "polynomial" (γ x·x' + coef0)^degree, "linear" x·x', or
        "precomputed", where samples are rows of kernel values.
    gamma, coef0 : float
    degree : int
    scale : float
        All values are divided by it.

    Examples
    --------
    >>> k = KernelFunction("sobolev")
    >>> k(np.array([[0.25], [0.5]]), np.array([[1.0]])).ravel().tolist()
    [1.25, 1.5]
    """

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 1.0
    scale: float = 1.0

    @classmethod
    def of(cls, owner: Any, X: Samples) -> "KernelFunction":
        """The kernel that the parameters of an estimator describe; `gamma` None goes by `X`."""
        gamma = default_gamma(owner.kernel, X) if owner.gamma is None else float(owner.gamma)
        return cls(owner.kernel, gamma, int(owner.degree), float(owner.coef0))

    def __call__(self, A: Samples, B: Samples) -> DoubleArray:
        """The matrix of all k(a, b), rows of `A` by rows of `B`."""
        if self.name == "precomputed":
            values = np.array(A, dtype=np.float64)
        elif self.name == "gaussian":
            values = np.exp(-self.gamma * _squared_distances(A, B))
        elif self.name == "laplacian":
            values = np.exp(-self.gamma * _manhattan_distances(A, B))
        elif self.name == "sobolev":
            values = _sobolev(_dense(A), _dense(B))
        else:
            values = self._of_products(_inner_products(A, B))
        return values if self.scale == 1 else values / self.scale

    def _of_products(self, products: DoubleArray) -> DoubleArray:
        """The linear or polynomial kernel from inner products."""
        if self.name == "linear":
            return products
        with np.errstate(over="ignore"):
            values = (self.gamma * products + self.coef0) ** self.degree
        if not np.isfinite(values).all():
            raise DataError(
                f"The polynomial kernel of degree {self.degree} is beyond double precision on "
                "these samples; scale the features, or lower degree or gamma."
            )
        return np.asarray(values)

    def diagonal(self, A: Samples) -> DoubleArray:
        """k(a, a) of each sample; of a precomputed matrix, its diagonal."""
        n = A.shape[0]
        if self.name in ("gaussian", "laplacian"):
            values = np.ones(n)
        elif self.name == "precomputed":
            values = np.array(np.diagonal(A), dtype=np.float64)
        elif self.name == "sobolev":
            values = np.prod(1 + _in_unit_interval(_dense(A)), axis=1)
        else:
            values = self._of_products(_squares(A))
        return values / self.scale

    def bounded_by_one(self, X: Samples) -> "KernelFunction":
        """The same divided by its largest value k(x, x), as Yang 2018, chapter 3, assumes.

        That of the Sobolev kernel on [0, 1]^p is 2^p; of kernels without a bound it is the
        largest on the training samples.
        """
        if self.name in ("gaussian", "laplacian"):
            return replace(self, scale=1.0)
        if self.name == "sobolev":
            p = X.shape[1]
            if p > _MOST_SOBOLEV_FEATURES:
                raise DataError(
                    f"The Sobolev kernel of {p:,} features, of values up to 2^{p}, is beyond "
                    "double precision; take fewer features, or kernel='laplacian'."
                )
            return replace(self, scale=2.0**p)
        largest = float(replace(self, scale=1.0).diagonal(X).max())
        return replace(self, scale=largest if largest > 0 else 1.0)


def default_gamma(kernel: str, X: Any) -> float:
    """1 / (n_features · variance of X) for the Gaussian kernel, 1 / n_features for the others.

    The former is `gamma="scale"` of scikit-learn's support vector machines.
    """
    n, d = X.shape
    if kernel != "gaussian":
        return 1.0 / d
    if sp.issparse(X):
        mean = X.sum() / (n * d)
        rest = (n * d - X.nnz) * mean**2  # of the entries that are not stored
        variance = float((np.square(X.data - mean).sum() + rest) / (n * d))
    else:
        variance = float(np.var(X))
    return 1.0 / (d * variance) if variance > _LEAST_VARIANCE else 1.0


def canonical(X: Any, *, sparse: bool | None = None) -> Samples:
    """Samples as CSR where they are sparse by content, and dense otherwise.

    The form that they come in does not matter, so that equal data give equal models. With
    `sparse` the form is prescribed: new samples take that of the training samples.
    """
    n, d = X.shape
    if sparse is None:
        # Zeros may be stored, and do not count.
        filled = int(np.count_nonzero(X.data if sp.issparse(X) else X))
        sparse = filled <= 0.25 * n * d
    if sparse:
        matrix = sp.csr_array(X, dtype=np.float64)
        # Indices of 32 bits, which scikit-learn needs.
        return make_csr(matrix.indptr, matrix.indices, matrix.data, matrix.shape)
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def stack(A: Samples, B: Samples) -> Samples:
    """Rows of `A`, then rows of `B`, in the form of `A`."""
    if sp.issparse(A):
        return sp.csr_array(sp.vstack([A, B], format="csr"))
    return np.vstack([A, B])


def row_slices(n_rows: int, n_columns: int) -> list[slice]:
    """Slices of rows whose kernel values against `n_columns` samples take 64 MB or less."""
    size = max(1, _BLOCK_BYTES // (8 * max(n_columns, 1)))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def require_matrix(n_rows: int, n_columns: int, copies: float, what: str, remedy: str) -> None:
    """Refuse a dense matrix in double precision that cannot fit, before it is allocated."""
    require_memory(int(8 * copies * n_rows * n_columns), what, remedy)


def check_kernel_matrix(K: DoubleArray, *, name: str = "X") -> None:
    """Refuse a kernel matrix that is not square, symmetric and positive semidefinite.

    Examples
    --------
    >>> check_kernel_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    ...
    labelwood.errors.DataError: X is no kernel matrix: its smallest eigenvalue is -1 ...
    """
    n = K.shape[0]
    if K.ndim != 2 or K.shape != (n, n):
        raise DataError(f"A precomputed kernel matrix must be square. Got shape {K.shape}.")
    size = float(np.abs(K).max())
    difference = np.abs(K - K.T)
    if difference.max() > 1e-8 * max(size, 1e-300):
        i, j = np.unravel_index(int(difference.argmax()), K.shape)
        raise DataError(
            f"{name} is no kernel matrix: it is not symmetric, K[{i}, {j}] = {K[i, j]:.6g} and "
            f"K[{j}, {i}] = {K[j, i]:.6g}; give (K + K.T) / 2 if that is what you mean."
        )
    # A Cholesky factor exists if no eigenvalue is below the shift; it costs a tenth of the
    # eigenvalues, which are needed for the message only.
    shift = 1e-8 * max(float(np.trace(K)) / n, size / n, 1e-300)
    try:
        scipy.linalg.cholesky(K + shift * np.eye(n), lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        smallest = float(scipy.linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
        raise DataError(
            f"{name} is no kernel matrix: its smallest eigenvalue is {smallest:.6g} and none may "
            "be negative; use a positive semidefinite kernel, or add a constant to the diagonal."
        ) from None


def _dense(A: Any) -> DoubleArray:
    return A.toarray() if sp.issparse(A) else np.asarray(A)


def _inner_products(A: Samples, B: Samples) -> DoubleArray:
    if sp.issparse(A) != sp.issparse(B):
        B = canonical(B, sparse=bool(sp.issparse(A)))
    return _dense(A @ B.T)


def _squares(A: Any) -> DoubleArray:
    squares = A.multiply(A).sum(axis=1) if sp.issparse(A) else np.einsum("ij,ij->i", A, A)
    return np.asarray(squares, dtype=np.float64).ravel()


def _squared_distances(A: Samples, B: Samples) -> DoubleArray:
    same = A is B
    if not sp.issparse(A) and not sp.issparse(B):
        # Distances do not depend on the origin, and near it less is lost to rounding: features far
        # from zero for their spread, such as times, would leave nothing else.
        center = B.mean(axis=0)
        B = B - center
        A = B if same else A - center
    distances = -2.0 * _inner_products(A, B)
    distances += _squares(A)[:, None]
    distances += _squares(B)[None, :]
    if same:
        np.fill_diagonal(distances, 0)  # which rounding would leave a little off zero
    return np.maximum(distances, 0, out=distances)


def _manhattan_distances(A: Samples, B: Samples) -> DoubleArray:
    from sklearn.metrics.pairwise import manhattan_distances

    if sp.issparse(A) != sp.issparse(B):
        B = canonical(B, sparse=bool(sp.issparse(A)))
    if sp.issparse(A):  # scikit-learn wants the older kind of sparse matrix
        return np.asarray(manhattan_distances(sp.csr_matrix(A), sp.csr_matrix(B)))
    return np.asarray(manhattan_distances(A, B))


def _sobolev(A: DoubleArray, B: DoubleArray) -> DoubleArray:
    _in_unit_interval(A)
    _in_unit_interval(B)
    values = 1 + np.minimum(A[:, :1], B[:, :1].T)
    for j in range(1, A.shape[1]):
        values *= 1 + np.minimum(A[:, j : j + 1], B[:, j : j + 1].T)
    return values


def _in_unit_interval(A: DoubleArray) -> DoubleArray:
    outside = (A < 0) | (A > 1)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise DataError(
            f"The Sobolev kernel is for features in [0, 1]. Got {A[row, column]:g} in row {row}, "
            f"column {column}; scale them, for example by MinMaxScaler(clip=True)."
        )
    return A
