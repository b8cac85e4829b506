"""FastXML: a forest whose trees split samples by the ranking of labels that suits them."""

from typing import Any, ClassVar, Self, cast

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
    OneOf,
    Real,
    check_parameter,
    check_parameters,
)
from labelwood.core.random import kernel_states
from labelwood.core.records import record_of, set_record
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.trees.fastxml.arrays import Forest
from labelwood.trees.fastxml.top_nodes import NO_TOP_NODES, TopNodes, TopNodesOf

# Factor of C, chosen on training folds so that C = 1 is a good start (docs/research/fastxml.md).
_COST = 5.0


class FastXMLClassifier(LabelEstimator):
    """A forest of trees with sparse linear decisions (Prabhu & Varma 2014).

    A node partitions its samples into two sides such that the ranking of labels of each side has
    a high nDCG on its samples, and learns an L1-regularized logistic regression of the sides,
    whose sign sends samples to the children. A leaf keeps the mean of its samples' labels. The
    score of a label is the mean over the leaves that a sample reaches in all trees, between 0
    and 1; `predict` gives the labels above 0.5.

    A model that is asked for few rows twice holds the decisions near the roots a second time in
    memory, in the order of the features, so that rows alone are answered soon. Results are the
    same.

    Parameters
    ----------
    n_trees : int
        Number of trees. Accuracy grows slowly with it, time and size in proportion.
    max_leaf_samples : int
        A node with at most so many samples is a leaf; so is one that cannot be split.
    max_leaf_labels : int
        Labels with the largest averages that a leaf keeps.
    C : float
        Inverse regularization strength of the separators, as in LogisticRegression with an L1
        penalty. The two sides of a node have the same total cost: with m of its n samples on a
        side, an error there costs 5 C n/m. Rows behave as if divided by their median length.
    fit_intercept : bool
        Whether separators have an intercept.
    intercept_scaling : float
        Value of the constant feature whose (penalized) weight is the intercept, for rows of unit
        median length.
    newton_steps : int
        Iterations of the solver in a node. More hardly help: the sides are a heuristic.
    gain : "ndcg" or "dcg"
        What a sample adds to the rankings of a side: its labels over their best DCG, as in
        Prabhu & Varma 2014, or as they are, as in public copies of the authors' program. It does
        not change the side that a sample prefers, only its weight in the rankings.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction. Off by default: the
        separators adapt to the median length, and on Delicious and Bibtex, whose rows are word
        counts and bits, the published forests use rows as they are.
    calibrate : bool
        Train a second time, on four fifths of the samples, and learn from the rest how often
        a score is right: `predict_proba` and `predict_topk(…, proba=True)` give probabilities.
    random_state : int, SeedSequence, Generator or None
        Seed of the initial partition of each node and of the solver's order.
    n_jobs : int or None
        Threads over trees and blocks of rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    n_leaves_, depth_, path_length_ : arrays of shape (n_trees,)
        Leaves of each tree, decisions on its longest path, and the mean number of decisions
        of a training sample.
    calibration_scores_, calibration_probabilities_ : arrays
        With `calibrate`: knots of the map from scores to probabilities.
    roots_, right_, intercepts_, weight_indptr_, features_, weights_ : arrays
        The decisions of all trees, flat (see `labelwood.trees.fastxml.arrays.Forest`).
    leaf_indptr_, labels_, averages_ : arrays
        What the leaves hold.

    Examples
    --------
    >>> from labelwood import FastXMLClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]] * 10
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 10
    >>> model = FastXMLClassifier(n_trees=5, random_state=0).fit(X, Y)
    >>> model.predict_topk([[1, 0, 0]], k=1).names()
    [['cat']]
    """

    _constraints: ClassVar[Constraints] = {
        "n_trees": Integer(low=1, high=10**6),
        "max_leaf_samples": Integer(low=1),
        "max_leaf_labels": Integer(low=1),
        "C": Real(above=0, high=1e6),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(above=0, high=1e6),
        "newton_steps": Integer(low=1),
        "gain": OneOf("ndcg", "dcg"),
        "normalize": Boolean(),
        "calibrate": Boolean(),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _threshold: ClassVar[float] = 0.5
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
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
        max_leaf_samples: int = 10,
        max_leaf_labels: int = 100,
        C: float = 1.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        newton_steps: int = 3,
        gain: str = "ndcg",
        normalize: bool = False,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf_samples = max_leaf_samples
        self.max_leaf_labels = max_leaf_labels
        self.C = C
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.newton_steps = newton_steps
        self.gain = gain
        self.normalize = normalize
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Grow `n_trees` trees on the rows of `X`."""
        matrix, Y = self._begin_fit(X, y)
        labels_with_samples(Y)
        self._prepare_fit(matrix, Y)
        self._set_trees(*self._grow(matrix, Y, 0, self.n_trees))
        if self.calibrate:
            self._calibrate(matrix, Y)
        return self

    def _prepare_fit(self, matrix: CSR, Y: CSR) -> None:
        """Fit what a subclass needs before its trees are grown."""

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
        from labelwood.trees.fastxml._growth_kernels import Settings
        from labelwood.trees.fastxml.growth import grow_trees

        settings = Settings(
            int(self.max_leaf_samples),
            int(self.max_leaf_labels),
            _COST * float(self.C),
            float(self.intercept_scaling) if self.fit_intercept else 0.0,
            int(self.newton_steps),
        )
        states = kernel_states(self.random_state, first + n)[first:]
        return grow_trees(
            self._scaled(matrix),
            Y,
            self._label_weights(Y),
            settings,
            states,
            self.n_jobs,
            gain=self.gain,
        )

    def _set_trees(self, forest: Forest, depths: PointerArray, paths: DoubleArray) -> None:
        set_record(self, forest)
        self.n_leaves_ = forest.leaves()
        self.depth_ = depths
        self.path_length_ = paths

    def _forest(self) -> Forest:
        return record_of(self, Forest)

    def _keep_derived(self) -> None:
        """Keep a place for what single rows read, too, which is made by and by."""
        super()._keep_derived()
        self._kept_top_nodes = TopNodesOf(self._forest(), self.n_features_in_)

    def _top_nodes(self, forest: Forest, n: int) -> TopNodes:
        kept = vars(self).get("_kept_top_nodes")
        if kept is None or not kept.is_of(forest):  # an attribute was changed by hand
            return NO_TOP_NODES
        return cast(TopNodesOf, kept).for_rows(n)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._forest().check(self.n_features_in_, self.classes_.size)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        forest = self._forest()
        options = self.n_jobs, self._top_nodes(forest, X.shape[0])
        return forest.topk(self._scaled(X), self.classes_.size, k, *options)

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        forest, threshold = self._forest(), 0.0 if above is None else above
        options = self.n_jobs, self._top_nodes(forest, X.shape[0])
        return forest.above(self._scaled(X), self.classes_.size, threshold, *options)
