"""FastXML: a forest whose trees split points by the labels they should be ranked by."""

from typing import Any, ClassVar, Self

import numpy as np

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import (
    encode_labels,
    is_label_lists,
    labels_with_samples,
    lists_to_indicator,
)
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Integer,
    Real,
    check_parameter,
    check_parameters,
)
from labelwood.core.random import kernel_states
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.fastxml.arrays import Forest

_COST = 5.0  # so that C = 1 is a good start (see docs/research/fastxml.md)


class FastXMLClassifier(LabelEstimator):
    """A forest of trees with sparse linear decisions (Prabhu and Varma, KDD 2014).

    A node gives its points two sides such that each side's ranking of labels suits its points
    (in nDCG), learns a sparse linear separator of the sides, and lets it send the points down.
    A leaf keeps the mean of its points' labels; a prediction is the mean over the leaves that
    a row reaches in all trees, between 0 and 1, and `predict` gives the labels above 0.5.

    Parameters
    ----------
    n_trees : int
        Trees of the forest. More are more accurate, in proportion slower and larger.
    max_leaf : int
        A node with at most so many points is a leaf; so is one that cannot be split.
    labels_per_leaf : int
        Labels with the largest averages that a leaf keeps.
    C : float
        Cost of the errors of a separator, against the absolute sum of its weights. Its two
        sides cost the same in all: one of m points among the n of a node costs 5 C n/m at each.
        Features behave as if scaled to rows of unit length, by their median.
    bias : float
        Value of the constant feature whose weight is the intercept; 0 for none. It goes by
        the length of the rows as `C` does.
    newton_steps : int
        Steps of the solver in a node. More hardly help: the sides are a heuristic.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction.
    calibrate : bool
        Train a second time, on four fifths of the points, and learn from the rest how often
        a score is right: `predict_proba` and `predict_topk(…, proba=True)` give chances.
    random_state : int, SeedSequence, Generator or None
        Seed of the sides that points start from, and of the solver's order.
    n_jobs : int or None
        Threads over trees and blocks of rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    n_leaves_, depth_, path_length_ : arrays of shape (n_trees,)
        Leaves of each tree, decisions on its longest path, and the mean number of decisions
        that a training point passes.
    calibration_scores_, calibration_probabilities_ : arrays
        With `calibrate`: knots of the map from scores to chances.
    roots_, right_, intercepts_, weight_indptr_, features_, weights_ : arrays
        The decisions of all trees, flat (see `labelwood.trees.fastxml.arrays.Forest`).
    leaf_indptr_, labels_, averages_ : arrays
        What the leaves hold.

    Examples
    --------
    >>> from labelwood.trees.fastxml.estimator import FastXMLClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]] * 10
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 10
    >>> model = FastXMLClassifier(n_trees=5, random_state=0).fit(X, Y)
    >>> model.predict_topk([[1, 0, 0]], k=1).names()
    [['cat']]
    """

    _constraints: ClassVar[Constraints] = {
        "n_trees": Integer(low=1, high=10**6),
        "max_leaf": Integer(low=1),
        "labels_per_leaf": Integer(low=1),
        "C": Real(above=0, high=1e6),
        "bias": Real(low=0, high=1e6),
        "newton_steps": Integer(low=1),
        "normalize": Boolean(),
        "calibrate": Boolean(),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _threshold: ClassVar[float] = 0.5
    _fitted: ClassVar[FittedAttributes] = {
        "roots_": (np.int64, (None,)),
        "right_": (np.int64, (None,)),
        "intercepts_": (np.float32, (None,)),
        "weight_indptr_": (np.int64, (None,)),
        "features_": (np.uint32, (None,)),
        "weights_": (np.float32, (None,)),
        "leaf_indptr_": (np.int64, (None,)),
        "labels_": (np.uint32, (None,)),
        "averages_": (np.float32, (None,)),
        "n_leaves_": (np.int64, (None,)),
        "depth_": (np.int64, (None,)),
        "path_length_": (np.float64, (None,)),
    }

    roots_: PointerArray
    right_: PointerArray
    intercepts_: FloatArray
    weight_indptr_: PointerArray
    features_: IndexArray
    weights_: FloatArray
    leaf_indptr_: PointerArray
    labels_: IndexArray
    averages_: FloatArray
    depth_: PointerArray
    path_length_: DoubleArray

    def __init__(
        self,
        *,
        n_trees: int = 50,
        max_leaf: int = 10,
        labels_per_leaf: int = 100,
        C: float = 1.0,
        bias: float = 1.0,
        newton_steps: int = 3,
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf = max_leaf
        self.labels_per_leaf = labels_per_leaf
        self.C = C
        self.bias = bias
        self.newton_steps = newton_steps
        self.normalize = normalize
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Grow `n_trees` trees on the rows of `X`."""
        matrix, Y = self._begin_fit(X, y)
        labels_with_samples(Y)
        self._before_trees(matrix, Y)
        self._set_trees(*self._grow(matrix, Y, 0, self.n_trees))
        if self.calibrate:
            self._calibrate(matrix, Y)
        return self

    def _before_trees(self, matrix: CSR, Y: CSR) -> None:
        """Learn what the trees, or what comes after them, will need."""

    def add_trees(self, X: object, y: object, n: int) -> Self:
        """Grow `n` more trees.

        With the same data and an int as `random_state` they are those of a larger fit. A
        calibration, and the parameter `n_trees`, stay as they are.

        Examples
        --------
        >>> X, Y = [[1, 0], [0, 1]] * 20, [["cat"], ["dog"]] * 20
        >>> model = FastXMLClassifier(n_trees=2, random_state=0).fit(X, Y)
        >>> model.add_trees(X, Y, 3).n_leaves_.size
        5
        """
        matrix = self._check_X(X)
        check_parameters(self, self._constraints)
        check_parameter(type(self).__name__, "n", n, Integer(low=1))
        Y = self._encode_known(y)
        if Y.shape[0] != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and Y has {Y.shape[0]}.")
        new, depths, paths = self._grow(matrix, Y, self.roots_.size, n)
        self._set_trees(
            Forest.joined([self._forest(), new]),
            np.concatenate([self.depth_, depths]),
            np.concatenate([self.path_length_, paths]),
        )
        return self

    def _encode_known(self, y: object) -> CSR:
        """Labels in any form, which must be those that the model knows."""
        if is_label_lists(y) and self.multilabel_:
            return lists_to_indicator(y, self.classes_.tolist())  # type: ignore[arg-type]
        Y, classes, multilabel = encode_labels(y)
        if multilabel != self.multilabel_ or not np.array_equal(classes, self.classes_):
            raise DataError(
                f"y must have the {self.classes_.size} labels that the model was fitted on, in the "
                f"same form: {self.classes_[:3].tolist()} and so on. Got {classes[:3].tolist()}."
            )
        return Y

    def _label_weights(self, Y: CSR) -> FloatArray:
        """Weights (> 0) of the entries of Y, in nDCG and in the averages of the leaves."""
        return Y.data

    def _grow(
        self, matrix: CSR, Y: CSR, first: int, n: int
    ) -> tuple[Forest, PointerArray, DoubleArray]:
        from labelwood.trees.fastxml._growth_kernels import Growth
        from labelwood.trees.fastxml.growth import grow_trees

        growth = Growth(
            int(self.max_leaf),
            int(self.labels_per_leaf),
            _COST * float(self.C),
            float(self.bias),
            int(self.newton_steps),
        )
        states = kernel_states(self.random_state, first + n)[first:]
        return grow_trees(
            self._scaled(matrix), Y, self._label_weights(Y), growth, states, self.n_jobs
        )

    def _set_trees(self, forest: Forest, depths: PointerArray, paths: DoubleArray) -> None:
        for name, array in zip(Forest._fields, forest, strict=True):
            setattr(self, f"{name}_", array)
        self.n_leaves_ = forest.leaves()
        self.depth_ = depths
        self.path_length_ = paths

    def _forest(self) -> Forest:
        return Forest(*(getattr(self, f"{name}_") for name in Forest._fields))

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._forest().check(self.n_features_in_, self.classes_.size)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        return self._forest().topk(self._scaled(X), self.classes_.size, k, self.n_jobs)

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        threshold = 0.0 if above is None else above
        return self._forest().above(self._scaled(X), self.classes_.size, threshold, self.n_jobs)
