"""A Perceptron at each node of a taxonomy: what least squares are compared with."""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from labelwood.core.labels import labels_with_samples
from labelwood.core.params import Constraints, Integer
from labelwood.core.types import DoubleArray
from labelwood.data.taxonomy import Taxonomy
from labelwood.taxonomy.hierarchy import (
    NO_LIMIT,
    HierarchicalClassifier,
    Node,
    Support,
    learn_in_room,
    side_by_side,
)
from labelwood.taxonomy.perceptron._kernels import learn


class HierarchicalPerceptron(HierarchicalClassifier):
    """A Perceptron at each node of a taxonomy, in the place of least squares.

    It is the comparison of Cesa-Bianchi, Conconi and Gentile (COLT 2004) with
    `HierarchicalRLSClassifier`, from which it differs in the update of a node alone: an
    example that is mistaken is added to the weights with its sign, any other is passed over.
    Least squares make fewer errors.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        The forest of the labels; None makes every label a root.
    train : {"hierarchical", "independent"}
        Whether a node learns from the examples of its parent, or from all.
    n_epochs : int
        How often `fit` goes through the examples. The paper does so once.
    close_labels : bool
        Give every label its ancestors; else a label without its parent is an error.
    n_jobs : int or None
        Threads over nodes; results do not depend on it.

    Attributes
    ----------
    classes_, parent_, n_positive_, untrained_, train_, scaled_, coef_ :
        As those of `HierarchicalRLSClassifier`.
    n_seen_, n_support_ : arrays of shape (n_labels,)
        After `partial_fit`: examples that each node has seen, and its mistakes.

    Examples
    --------
    >>> from labelwood import HierarchicalPerceptron, Taxonomy
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> model = HierarchicalPerceptron(tree)
    >>> model.fit(X, [["animal", "cat"], ["animal", "dog"], []]).predict(X).toarray().tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    _constraints: ClassVar[Constraints] = {
        **HierarchicalClassifier._constraints,
        "n_epochs": Integer(low=1),
    }

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        train: str = "hierarchical",
        n_epochs: int = 1,
        close_labels: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.train = train
        self.n_epochs = n_epochs
        self.close_labels = close_labels
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Go through the rows of `X`, `n_epochs` times."""
        with self._all_or_nothing():
            matrix, Y = self._begin(X, y, first=True)
            labels_with_samples(Y)
            self._set_support(Support.empty(self.classes_.size, inverse=False))
            self._learn_all(self._unit(matrix), Y, self.n_epochs)
            self.n_positive_ = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
            weights = side_by_side(self._node_weights(), self.n_features_in_)
            self._drop_support()
            self._set_postings(weights)
        return self

    def _learn(self, support: Support, i: int, rows: NDArray[np.int64], signs: DoubleArray) -> None:
        def take(node: Node, start: int, _settles: bool) -> int:
            asked = (rows[start:], signs[start:])
            return learn(
                *support.store, self.n_features_in_, *asked, node.rows, node.alpha,
                support.counts[i],
            )  # fmt: skip

        learn_in_room(support, i, rows.size, NO_LIMIT, take)
