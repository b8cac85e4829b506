"""What the classifiers of kernels share: targets of two classes, and scores as CSR."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.sparse import make_csr
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError
from labelwood.kernels.functions import Samples, row_slices


def scored_labels(
    values: Callable[[Samples], DoubleArray],
    X: Samples,
    usable: NDArray[np.bool_],
    above: float | None,
) -> CSR:
    """Scores of the `usable` labels as float32, all of them or only those `above` a value.

    `values` gives the scores of a block of rows, a column for each label.
    """
    n, n_labels = X.shape[0], usable.size
    if above is None:
        cells = n * n_labels
        require_memory(
            16 * cells, f"scores of {cells:,} pairs", "score fewer rows, or use predict_topk"
        )
    parts = [_sparse(values(X[rows]), usable, above) for rows in row_slices(n, max(n_labels, 64))]
    return sp.csr_array(sp.vstack(parts, format="csr")) if len(parts) > 1 else parts[0]


def _sparse(scores: DoubleArray, usable: NDArray[np.bool_], above: float | None) -> CSR:
    kept = np.broadcast_to(usable, scores.shape)
    if above is not None:
        kept = kept & (scores > above)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    columns = np.nonzero(kept)[1]
    return make_csr(indptr, columns, scores[kept].astype(np.float32), scores.shape)


def check_two_classes(Y: CSR, multilabel: bool) -> None:
    """Refuse one class for all samples, of which there is nothing to learn."""
    if not multilabel and Y.shape[1] < 2:
        raise DataError("y holds one class and two are needed.")
