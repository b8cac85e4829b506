"""Rows of a matrix scaled inside kernels."""

import numpy as np

from labelwood.core.kernel import exact_kernel
from labelwood.core.sparse import CSRArrays


@exact_kernel
def unit_rows(X: CSRArrays) -> CSRArrays:
    """Rows of length one as `core.sparse.unit_rows` gives them, to the bit, in new arrays."""
    first = X.indptr[0]
    data = np.empty(X.indptr[-1] - first, dtype=np.float32)
    for i in range(X.indptr.size - 1):
        squares = 0.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            squares += np.float64(X.data[p]) * np.float64(X.data[p])
        # The squares are added one after the other, as NumPy's bincount does.
        length = np.sqrt(squares) if squares > 0 else 1.0
        for p in range(X.indptr[i], X.indptr[i + 1]):
            data[p - first] = np.float32(np.float64(X.data[p]) / length)
    return CSRArrays(X.indptr - first, X.indices[first : X.indptr[-1]], data)
