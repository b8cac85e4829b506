"""Self-training: a supervised learner on the labeled samples and the graph's confident answers."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelwood.core.params import Real, check_parameter
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError
from labelwood.kernels.graph.estimator import GraphLaplacianClassifier
from labelwood.linear.onevsrest.estimator import OneVsRestSVM

# A round number well above the threshold of a decision; it was not tuned.
CONFIDENCE = 0.7


class SelfTrained(NamedTuple):
    """The learner, and the unlabeled samples that it was trained on.

    Attributes
    ----------
    model : the fitted learner
    rows : array of int
        Unlabeled samples whose answer was confident.
    labels : csr_array
        The labels that they were given.
    """

    model: Any
    rows: AnyArray
    labels: CSR


def self_train(
    graph: GraphLaplacianClassifier,
    X: CSR,
    Y: CSR,
    X_unlabeled: CSR,
    *,
    learner: Any = None,
    confidence: float = CONFIDENCE,
) -> SelfTrained:
    """Train `learner` on the labeled samples and on confident answers of a fitted graph.

    Parameters
    ----------
    graph : GraphLaplacianClassifier
        Fitted on `X`, `Y` and `X_unlabeled`.
    learner : an estimator of label sets, or None
        None is `OneVsRestSVM(random_state=0)`.
    confidence : float
        An unlabeled sample is taken if its best score is at least this; its labels are those
        that the graph decides for.

    Examples
    --------
    >>> from labelwood import GraphLaplacianClassifier
    >>> X = sp.csr_array(np.repeat(np.eye(2, 4, dtype=np.float32), 5, axis=0))
    >>> Y = sp.csr_array(np.eye(2, dtype=np.float32))
    >>> few, rest = X[[0, 5]], X[[1, 2, 6, 7]]
    >>> graph = GraphLaplacianClassifier(metric="cosine").fit(few, Y, X_unlabeled=rest)
    >>> trained = self_train(graph, few, Y, rest)
    >>> trained.rows.tolist(), trained.model.predict(X[[3, 8]]).indices.tolist()
    ([0, 1, 2, 3], [0, 1])
    """
    check_parameter("self_train", "confidence", confidence, Real(above=0, high=1))
    n = X.shape[0]
    if graph.transduction_.shape[0] != n + X_unlabeled.shape[0]:
        raise DataError(
            f"The graph has {graph.transduction_.shape[0]} nodes, and there are {n} labeled and "
            f"{X_unlabeled.shape[0]} unlabeled samples; fit it on these."
        )
    best = graph.transduced_topk(1).scores[n:, 0]
    rows = np.flatnonzero(best >= confidence)
    labels = sp.csr_array(graph.transduced_labels()[n:][rows])
    model = OneVsRestSVM(random_state=0, n_jobs=graph.n_jobs) if learner is None else clone(learner)
    all_samples = sp.csr_array(sp.vstack([X, X_unlabeled[rows]], format="csr"))
    all_labels = sp.csr_array(sp.vstack([Y, labels], format="csr"))
    return SelfTrained(model.fit(all_samples, all_labels), rows, labels)
