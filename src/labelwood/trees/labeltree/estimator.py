"""Label trees: clusters of labels, and one linear decision for each child of a cluster.

As Parabel (Prabhu et al. 2018), Bonsai (Khandagale et al. 2020) and XR-Linear (Yu et al.
2022): a sample goes down from the root to the clusters whose decisions it passes best.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np

from labelwood.core.contract import FittedAttributes
from labelwood.core.convergence import convergence_report
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Instance,
    Integer,
    OneOf,
    Real,
    check_parameters,
)
from labelwood.core.propensity import Propensity
from labelwood.core.records import record_of, set_record
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, DoubleArray
from labelwood.errors import DataError
from labelwood.linear.onevsrest import label_costs
from labelwood.linear.tuning import TunedC
from labelwood.trees.labeltree.arrays import LabelForest, Search
from labelwood.trees.labeltree.fitting import Outcome, add_labels, fit_trees
from labelwood.trees.labeltree.row_index import RowIndex
from labelwood.trees.labeltree.training import Settings

# Chosen on training folds of several data sets (docs/research/labeltree.md).
_DEFAULT_C = 1.0
_NO_THRESHOLD = -1.0  # below every score


class LabelTreeClassifier(TunedC, LabelEstimator):
    """Trees over the labels, with a linear classifier for each child of a node.

    Training and prediction visit few of the labels: for a hundred thousand labels and more, and
    for short texts. For fewer labels `OneVsRestSVM` is often a little more accurate.

    A model that is asked for few rows twice holds its weights a second time in memory, in the order
    of the features, so that rows alone are answered soon: about two thirds of `model_size` more.
    Models of more than 4,096 blocks of sixteen classifiers do without. Results are the same.

    Parameters
    ----------
    n_trees : int
        Trees over different clusterings, whose scores are averaged. A second and a third one
        add little to the accuracy; each costs as much as the first.
    max_leaf_labels : int
        Largest number of labels of a leaf.
    branching : int
        Largest number of children of a node, from 2 to 32.
    C : float, array of shape (n_labels,) or "auto"
        "auto" chooses a multiple of the default on held-out training samples (see `C_` and
        `tuning_`). Inverse regularization strength, as in LinearSVC. With rows of unit length
        the default suits TF-IDF.
    frequency_power : float or "auto"
        By which power of its samples the C of a label is smaller: one with four times as many as
        others has their C / 4^frequency_power. `C` is that of a label with `typical_count_`
        samples. "auto" is 0.4 where `C` is "auto", and 0 where it is given.
    loss : "squared_hinge" or "logistic"
        Loss of a classifier. The logistic loss is slower and needs a larger `C`.
    propensity : None, "estimate", Propensity or array of shape (n_labels,)
        Probability that a true label was recorded, as in `OneVsRestSVM`; an error on a cluster
        costs the mean over the occurrences of its labels.
    hard_negatives : bool
        Train the labels of a leaf also against the samples that the nodes above send there.
        Without it, `path_weight=1` is better.
    n_negatives : int
        Random samples on which every node is trained besides its own.
    tol : float
        Largest difference of projected gradients at which a block of classifiers is solved.
    fit_intercept : bool
        Whether classifiers have an intercept.
    intercept_scaling : float
        Value of the constant feature whose (penalized) weight is the intercept, as in LinearSVC.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction.
    max_iter : int
        Limit of passes over the samples of a node.
    prune_below : float
        Weights of at most this size are dropped: smaller and faster models.
    max_weights : int or None
        Keep at most this many weights, the largest, of each classifier.
    beam : int
        Nodes that prediction, and the search for hard negatives, keep at each level.
    path_weight : float
        Weight of the classifiers above a leaf in the score of a label.
    calibrate : bool
        Train a second time, on four fifths of the samples, and learn from the rest how often
        a score is right: `predict_proba` and `predict_topk(…, proba=True)` give probabilities.
    random_state : int, SeedSequence, Generator or None
        Seed of the clusters and of the order in which the solver visits samples.
    n_jobs : int or None
        Threads over nodes and over rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    roots_, node_blocks_, is_leaf_, children_, intercepts_, block_indptr_, features_,
    entry_indptr_, lanes_, weights_ :
        The trees in flat arrays (see `labelwood.trees.labeltree.arrays.LabelForest`).
    calibration_scores_, calibration_probabilities_ : arrays
        With `calibrate`: knots of the map from scores to probabilities.
    n_iter_ : int
        Largest number of passes of a block of classifiers.
    C_ : float or array
        The value of `C` that was used.
    frequency_power_, typical_count_ : float
        The power that was used, and the samples of a label (geometric mean over all pairs of a
        sample and a label).
    tuning_ : dict
        With `C="auto"`: the values that were tried, their P@1, 3 and 5 on held-out samples,
        and the reason of the choice.
    stop_reason_ : str
        Whether the classifiers trained last met their tolerance.

    Examples
    --------
    >>> from labelwood import LabelTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> model = LabelTreeClassifier(random_state=0)
    >>> model = model.fit(X, [["cat"], ["dog"], ["dog", "owl"], ["cat"]])
    >>> model.predict_topk([[1, 0, 0]], k=1).names()
    [['cat']]
    """

    # The best of 0, 0.2 and 0.4 on held-out parts of 16 training sets: P@1, 3 and 5 gain 0.13
    # points in the mean, and 0.2 to 0.5 on Bibtex, Delicious, Corel5k, pydocs, titles and WordNet.
    _tuned_power = 0.4
    _constraints: ClassVar[Constraints] = {
        "n_trees": Integer(low=1),
        "max_leaf_labels": Integer(low=1),
        "branching": Integer(low=2, high=32),
        "C": (Real(above=0), OneOf("auto"), Instance("ndarray")),
        "frequency_power": (Real(low=0, high=1), OneOf("auto")),
        "loss": OneOf("squared_hinge", "logistic"),
        "propensity": (OneOf("estimate"), Instance("ndarray", "Propensity"), None),
        "n_negatives": Integer(low=0),
        "hard_negatives": Boolean(),
        "tol": Real(above=0),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(above=0),
        "normalize": Boolean(),
        "max_iter": Integer(low=1),
        "prune_below": Real(low=0),
        "max_weights": (Integer(low=1), None),
        "beam": Integer(low=1),
        "path_weight": Real(low=0),
        "calibrate": Boolean(),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _fitted: ClassVar[FittedAttributes] = {
        "roots_": (np.int64, (None,)),
        "node_blocks_": (np.int64, (None,)),
        "is_leaf_": (np.bool_, (None,)),
        "children_": (np.int32, (None,)),
        "intercepts_": (np.float32, (None,)),
        "block_indptr_": (np.int64, (None,)),
        "features_": (np.uint32, (None,)),
        "entry_indptr_": (np.int64, (None,)),
        "lanes_": (np.uint8, (None,)),
        "weights_": (np.float32, (None,)),
        "n_iter_": int,
        "stop_reason_": str,
    }

    def __init__(
        self,
        *,
        n_trees: int = 1,
        max_leaf_labels: int = 32,
        branching: int = 16,
        C: float | str | DoubleArray = _DEFAULT_C,
        frequency_power: float | str = "auto",
        loss: str = "squared_hinge",
        propensity: str | DoubleArray | Propensity | None = None,
        n_negatives: int = 0,
        hard_negatives: bool = True,
        tol: float = 0.3,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        normalize: bool = True,
        max_iter: int = 200,
        prune_below: float = 0.02,
        max_weights: int | None = None,
        beam: int = 10,
        path_weight: float = 0.25,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaf_labels = max_leaf_labels
        self.branching = branching
        self.C = C
        self.frequency_power = frequency_power
        self.loss = loss
        self.propensity = propensity
        self.n_negatives = n_negatives
        self.hard_negatives = hard_negatives
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.normalize = normalize
        self.max_iter = max_iter
        self.prune_below = prune_below
        self.max_weights = max_weights
        self.beam = beam
        self.path_weight = path_weight
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Cluster the labels and train the classifiers of all trees."""
        matrix, Y = self._begin_fit(X, y)
        self._choose_C(matrix, Y, _DEFAULT_C)
        if self.calibrate:
            self._calibrate(matrix, Y, C=self.C_, frequency_power=self.frequency_power_)
        outcome = fit_trees(
            self._scaled(matrix),
            Y,
            labels_with_samples(Y),
            label_costs(self._used_C(Y), self.propensity, Y, type(self).__name__),
            Settings.of(self),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._set_forest(outcome)
        return self

    def add_labels(self, X: object, Y: object, labels: Sequence[object]) -> Self:
        """Add new labels, and leave the classifiers of all others as they are.

        A label joins, in each tree, the leaf that its samples reach best, and is trained there
        against the other samples that reach it (also without `hard_negatives`). Labels that are
        added together share their blocks of classifiers. A leaf may get more labels than
        `max_leaf_labels`; after many additions, fit again.

        Parameters
        ----------
        X : features of shape (n, n_features)
            Samples with and without the new labels: the latter are the negatives.
        Y : indicator of shape (n, len(labels)), or lists of names
        labels : sequence
            What the columns of Y are; none of them may be known already.
            An array `C` or `propensity` has a value for each of these.

        Examples
        --------
        >>> X = [[1, 0], [0, 1], [1, 1]]
        >>> model = LabelTreeClassifier(random_state=0).fit(X, [["cat"], ["dog"], ["cat", "dog"]])
        >>> model.add_labels(X, [[0], [0], [1]], ["both"]).classes_.tolist()
        ['cat', 'dog', 'both']
        """
        matrix = self._check_X(X)
        check_parameters(self, self._constraints)
        columns = self._check_new_columns(Y, labels, matrix.shape[0])
        known = set(self.classes_.tolist()) & set(np.asarray(labels).tolist())
        if known:
            raise DataError(f"{min(known)!r} is known already; only new labels can be added.")
        if not self.roots_.size and columns.nnz:
            raise DataError("Labels cannot be added to a model without a tree; fit it again.")
        used = labels_with_samples(columns)
        costs = label_costs(self._used_C(columns), self.propensity, columns, type(self).__name__)
        numbers = np.arange(len(labels), dtype=np.uint32) + np.uint32(self.classes_.size)
        if used.size:
            outcome = add_labels(
                self._forest(),
                self._scaled(matrix),
                columns,
                used,
                numbers[used],
                costs,
                Settings.of(self),
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            self._set_forest(outcome)
        self._place_labels(labels)
        return self

    def _set_forest(self, outcome: Outcome) -> None:
        set_record(self, outcome.forest)
        self.n_iter_ = outcome.n_iter
        remedy = f"raise max_iter (now {self.max_iter}) or tol"
        self.stop_reason_ = convergence_report(outcome.n_unsolved, "block of classifiers", remedy)

    @property
    def _threshold(self) -> float:  # type: ignore[override]
        """The score of a label with one decision at 0 and all others certain."""
        return 0.5 if self.loss == "logistic" else float(np.exp(-1.01))

    def _forest(self) -> LabelForest:
        return record_of(self, LabelForest)

    def _keep_derived(self) -> None:
        """Keep a place for what single rows need, too, which is made by and by."""
        super()._keep_derived()
        self._kept_index = RowIndex(self._forest(), self.n_features_in_)

    def _index(self, forest: LabelForest) -> RowIndex:
        index = vars(self).get("_kept_index")
        if index is None or not index.is_of(forest):  # an attribute was changed by hand
            return RowIndex(forest, self.n_features_in_)
        return cast(RowIndex, index)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._forest().check(self.n_features_in_, self.classes_.size)

    def _score_topk(self, X: CSR, k: int) -> TopK:
        forest = self._forest()
        options = self._search(), self.n_jobs, self._index(forest)
        return forest.topk(X, self.classes_.size, k, *options, unit=bool(self.normalize))

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        forest, least = self._forest(), _NO_THRESHOLD if above is None else above
        options = self._search(), self.n_jobs, self._index(forest)
        return forest.above(X, self.classes_.size, least, *options, unit=bool(self.normalize))

    def _search(self) -> Search:
        return Search(self.beam, self.loss == "logistic", float(self.path_weight))
