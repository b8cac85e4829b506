"""What every metric asks of its input, checked in one place."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.labels import indicator
from labelwood.core.names import count
from labelwood.core.params import Integer, check_parameter
from labelwood.core.sparse import check_finite, checked_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR
from labelwood.errors import DataError


def check_truth(Y_true: object) -> CSR:
    """The true labels as an indicator of at least one sample and one label."""
    Y = indicator(Y_true, name="Y_true")
    if 0 in Y.shape:
        raise DataError(
            f"Y_true has shape {Y.shape}: there is nothing to evaluate without samples and labels."
        )
    return Y


def require_labels(Y: CSR) -> None:
    """Refuse a truth in which nothing can be found."""
    if Y.nnz == 0:
        raise DataError("Y_true holds no label at all: there is nothing to find.")


def check_sets(Y_true: object, Y_pred: object) -> tuple[CSR, CSR]:
    """True and predicted labels as two indicators of one shape."""
    true = check_truth(Y_true)
    predicted = indicator(Y_pred, name="Y_pred")
    if predicted.shape != true.shape:
        raise DataError(
            f"Y_true and Y_pred must have one shape. Got {true.shape} and {predicted.shape}."
        )
    return true, predicted


def ranked_labels(
    pred: object, Y: CSR, k: int, label_names: Sequence[str] | None = None
) -> NDArray[np.int32]:
    """The `k` best labels of each sample of `Y`, best first, −1 where there are fewer."""
    n, n_labels = Y.shape
    check_parameter("the top-k metrics", "k", k, Integer(low=1))
    top = pred if isinstance(pred, TopK) else _rank(pred, Y.shape, min(k, n_labels))
    top.check_labels(n, n_labels, label_names)
    # A model may know fewer labels than the truth has, and then cannot rank more.
    known = n_labels if top.classes is None else len(top.classes)
    if top.k < min(k, known):
        raise DataError(
            f"The ranking holds {top.k} labels per sample and k is {k}: "
            f"predict at least {k} labels per sample, or ask for k ≤ {top.k}."
        )
    _check_rows(top)
    labels = np.full((n, k), -1, dtype=np.int32)
    labels[:, : top.k] = top.labels[:, :k]
    return labels


def _rank(scores: object, shape: tuple[int, int], k: int) -> TopK:
    """A matrix of scores as a ranking, without the rounding that would make new ties."""
    if not sp.issparse(scores):
        raise DataError(
            f"A ranking must be a TopK or a sparse matrix of scores. Got {type(scores).__name__} "
            "instead; scipy.sparse.csr_array(scores) ranks the entries that are not zero."
        )
    matrix = checked_csr(scores, "The ranking")
    if matrix.shape != shape:
        raise DataError(
            f"The ranking is of {' and '.join(map(count, matrix.shape, ('sample', 'label')))}, "
            f"Y_true of {' and '.join(map(count, shape, ('sample', 'label')))}."
        )
    if matrix.dtype.kind not in "fiub":
        raise DataError(f"The ranking must hold real numbers. Got dtype {matrix.dtype} instead.")
    matrix = matrix.astype(np.float64)  # a copy: the caller's matrix stays as it is
    matrix.sum_duplicates()
    check_finite(matrix, "The ranking")
    if matrix.nnz > 1 and np.all(matrix.data == matrix.data[0]):
        raise DataError(
            f"All scores of the ranking are {matrix.data[0]:g}, so that it ranks nothing: an "
            "indicator, as predict gives it, is passed as labels=model.predict(X), and a ranking "
            "comes from model.predict_topk(X, k) or model.decision_function(X)."
        )
    return TopK.from_csr(matrix, k)


def _check_rows(top: TopK) -> None:
    """Refuse gaps, duplicates and scores that are not sorted."""
    labels = top.labels
    gaps = (labels[:, :-1] < 0) & (labels[:, 1:] >= 0)
    if gaps.any():
        row = np.argwhere(gaps)[0][0]
        raise DataError(
            f"The ranking of sample {row} has −1 before a label; −1 may only end a row."
        )
    in_order = np.sort(labels, axis=1)
    twice = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] >= 0)
    if twice.any():
        row, at = np.argwhere(twice)[0]
        raise DataError(f"The ranking of sample {row} holds label {in_order[row, at]} twice.")
    sorted_scores = top.scores[:, 1:] <= top.scores[:, :-1]
    if not sorted_scores.all():
        row, rank = np.argwhere(~sorted_scores)[0]
        raise DataError(
            f"The ranking of sample {row} is not best first: score {top.scores[row, rank + 1]:g} "
            f"follows {top.scores[row, rank]:g}."
        )
