"""A tree of linear decisions that read few features: the supervised budgeted tree."""

import math
import warnings
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.special import log_expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from labelwood.core.caller import user_stacklevel
from labelwood.core.columns import Scaling, equal_columns, moderate_columns
from labelwood.core.contract import FittedAttributes
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Integer,
    OneOf,
    Real,
)
from labelwood.core.random import RandomState
from labelwood.core.records import record_of, set_record
from labelwood.core.settings import settings_of
from labelwood.core.types import AnyArray, DoubleArray, IndexArray, PointerArray
from labelwood.linear.budgeted import (
    CLASS_WEIGHT,
    NOT_DIVIDED,
    NOT_DIVIDED_REMEDY,
    UNSOLVED_REMEDY,
    BudgetedEstimator,
)

if TYPE_CHECKING:
    from labelwood.trees.budgeted.arrays import FlatTrees
    from labelwood.trees.budgeted.export import Rule


class BudgetedTreeClassifier(BudgetedEstimator):
    """A tree of linear decisions, each on at most `budget` features (SBT).

    Each node has one classifier for each fold of a cross-validation; they share their features
    and vote. A node becomes a leaf where the decisions below it leave no fewer held-out errors.
    Where no linear decision helps, a pair of features that decides together is looked for,
    and one of them split at its mean. More than two classes have a tree each.

    Values should be around 1: smaller ones need larger weights, for which a larger `C` has to
    pay. `scale` sees to that. Columns whose values are above 16 (the root mean square of their
    non-zeros) are always divided by a power of two, that is, `C` is for values around 1. They are
    kept in single precision, seven digits.

    Parameters
    ----------
    budget : int
        Features in a decision, at most.
    C : float
        Cost of an error, for each sample.
    class_weight : "balanced" or None
        Whether, in each tree, its class and the others cost the same in all. A class that is
        nowhere the commoner one is predicted only so; probabilities are then those of classes of
        equal size.
    max_planes : int
        Limit of planes in the search for features; see `BudgetedClassifier`.
    plane_size : int or None
        Features in a plane; see there. With a large `budget` a sixth of it, and a larger `C` and
        `max_planes`, can be more accurate than None.
    scale : bool
        Whether features are brought to one standard deviation first, 1/√`budget`: then neither
        their units nor their number matter to the choice and to `C`. Weights are for the values
        as they came. Columns that do not vary are never chosen.
    max_depth : int
        Limit of decisions on a path.
    min_samples_split : int
        Samples that a node must have to be split.
    n_folds : int
        Folds of the cross-validation, and so classifiers in a decision. With 1 nothing is held
        out, as in Algorithm 2 of Liu & Tsang 2017; errors are then those of training.
    prune : bool
        Whether decisions that hardly lower held-out errors are removed.
    pruning : {"gain", "paper"}
        Which: those that do not gain enough, by `min_gain`; or as Liu & Tsang 2017, §5.2, has it,
        both children of a node whose CV errors add up to more than that of the node.
    min_gain : float or None
        Standard errors by which they have to; with 0 one error fewer will do. None tries 0, ¼, ½,
        1, 2 and 4 for each tree on halves of the samples: training takes two to three times as
        long.
    second_order : bool
        Whether pairs of features are looked for where no linear decision helps.
    tol, max_iter : float, int
        Tolerance and limit of steps of each decision; see `BudgetedClassifier`.
    random_state : int, SeedSequence, Generator, RandomState or None
        For the folds.
    n_jobs : int or None
        Threads; the result is the same for any number of them.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    n_leaves_, depth_ : int
        Leaves of all trees, and decisions on the longest path.
    selected_features_ : array of int
        Features used in any decision, sorted; `selected_names_` are their names.
    feature_counts_, feature_usage_ : arrays
        How many decisions use each of them, and the mean number of decisions using it that a
        training sample meets in a tree.
    roots_, right_, depths_ : arrays of int
        First node of each tree; for each node the child for the negative side (−1 for a leaf;
        that for the positive side comes next), and its depth.
    indptr_, features_, weights_, intercepts_ : arrays
        Node v decides on `features_[indptr_[v]:indptr_[v + 1]]`, fold k by that part of
        `weights_[k]` and by `intercepts_[k, v]`.
    units_ : array
        What each of `features_` was divided by: 1 (a power of two for columns of large values),
        or with `scale` its deviation × √`budget`.
    n_samples_, totals_ : arrays
        For each node its training samples, as their own fold's classifiers sent them,
        and their weight outside and in the class of the tree. Weights are scaled to a mean of 1
        here and below.
    cv_errors_ : array
        For each node the weight of its samples that its decision gets wrong, if its features
        are chosen without them; NaN if it never had a linear decision.
    subtree_errors_ : array of shape (n_nodes, 2)
        For each node the weight of its samples for which the leaves below predict another class:
        leaves to which their own fold's classifiers send them, and those of `cv_errors_`.
    min_gains_, trial_errors_ : arrays of shape (n_trees,)
        How strictly each tree was pruned, −∞ for not at all and NaN for ``pruning="paper"``; and
        the share of the samples, by weight, that it gets wrong if it is grown from the other half
        of them and pruned so (NaN where `min_gain` was given).
    slopes_ : array
        For each leaf, the logit of its class at distance 1 from the last decision.
    kinds_ : array of str
        For each node "linear" or "second order", or why it is a leaf.
    n_iter_ : int
        Steps made, for all decisions, also for those of trial trees.
    stop_reason_ : str
        How many leaves ended for which reason, and what to do where a whole tree could not
        divide its samples or decisions met the iteration limit.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import BudgetedTreeClassifier
    >>> X = np.random.default_rng(0).standard_normal((400, 20))
    >>> y = np.where(X[:, 3] * X[:, 8] > 0, "same", "different")  # no line separates these
    >>> model = BudgetedTreeClassifier(budget=1, random_state=0).fit(X, y)
    >>> model.selected_features_.tolist()
    [3, 8]
    >>> model.predict(np.eye(20)[[3]] + 2 * np.eye(20)[[8]]).tolist()
    ['same']
    """

    _constraints: ClassVar[Constraints] = {
        "budget": Integer(low=1),
        "C": Real(above=0),
        "class_weight": CLASS_WEIGHT,
        "max_planes": Integer(low=1),
        "plane_size": (Integer(low=1), None),
        "scale": Boolean(),
        "max_depth": Integer(low=0),
        "min_samples_split": Integer(low=2),
        "n_folds": Integer(low=1),
        "prune": Boolean(),
        "pruning": OneOf("gain", "paper"),
        "min_gain": (Real(low=0, high=1e9), None),
        "second_order": Boolean(),
        "tol": Real(low=1e-6, below=1),
        "max_iter": Integer(low=1),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _fitted: ClassVar[FittedAttributes] = {
        "roots_": (np.int64, ("trees",)),
        "right_": (np.int64, ("nodes",)),
        "depths_": (np.int64, ("nodes",)),
        "indptr_": (np.int64, (None,)),
        "features_": (np.uint32, ("entries",)),
        "weights_": (np.float64, (None, "entries")),
        "intercepts_": (np.float64, (None, "nodes")),
        "units_": (np.float64, ("entries",)),
        "n_samples_": (np.int64, ("nodes",)),
        "totals_": (np.float64, ("nodes", 2)),
        "cv_errors_": (np.float64, ("nodes",)),
        "subtree_errors_": (np.float64, ("nodes", 2)),
        "slopes_": (np.float64, ("nodes",)),
        "min_gains_": (np.float64, ("trees",)),
        "trial_errors_": (np.float64, ("trees",)),
        "n_iter_": int,
        "stop_reason_": str,
    }

    roots_: PointerArray
    right_: PointerArray
    depths_: PointerArray
    indptr_: PointerArray
    features_: IndexArray
    weights_: DoubleArray
    intercepts_: DoubleArray
    units_: DoubleArray
    n_samples_: PointerArray
    totals_: DoubleArray
    cv_errors_: DoubleArray
    subtree_errors_: DoubleArray
    slopes_: DoubleArray
    min_gains_: DoubleArray
    trial_errors_: DoubleArray
    kinds_: AnyArray
    stop_reason_: str

    def __init__(
        self,
        budget: int = 10,
        *,
        C: float = 1.0,
        class_weight: Literal["balanced"] | None = None,
        max_planes: int = 10,
        plane_size: int | None = None,
        scale: bool = False,
        max_depth: int = 8,
        min_samples_split: int = 10,
        n_folds: int = 5,
        prune: bool = True,
        pruning: str = "gain",
        min_gain: float | None = None,
        second_order: bool = True,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.C = C
        self.class_weight = class_weight
        self.max_planes = max_planes
        self.plane_size = plane_size
        self.scale = scale
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.n_folds = n_folds
        self.prune = prune
        self.pruning = pruning
        self.min_gain = min_gain
        self.second_order = second_order
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow and prune the tree; `sample_weight` multiplies the cost of each sample's error."""
        from labelwood.trees.budgeted.decisions import Growth, Samples, draw_folds
        from labelwood.trees.budgeted.growth import grow_trees

        matrix, codes, weights = self._begin_classes(X, y, sample_weight)
        # A leaf is given two samples of weight 1, which has to be that of a usual sample.
        unit = float(weights[weights > 0].mean())
        scaling: Scaling | None
        if self.scale:
            matrix, scaling = equal_columns(matrix, weights, int(self.budget))
        else:
            matrix, scaling = moderate_columns(matrix)
        n_folds = int(self.n_folds)
        folds = draw_folds(codes, n_folds, self.random_state)
        samples = Samples(matrix, np.empty(0), weights / unit, folds, n_folds)
        growth = settings_of(Growth, self)
        min_gain = math.nan if self.min_gain is None else float(self.min_gain)
        growth = growth._replace(C=growth.C * unit, min_gain=min_gain)
        n_classes = self.classes_.size
        positive = range(n_classes) if n_classes > 2 else range(1, 2)
        trees, strictness, effort = grow_trees(samples, codes, positive, growth, self.n_jobs)
        set_record(self, trees)
        self.units_ = np.ones(self.features_.size)
        if scaling is not None:
            factors = scaling.of(self.features_)
            self.weights_, self.units_ = self.weights_ * factors, 1 / factors
        self.min_gains_ = np.array([one.min_gain for one in strictness])
        self.trial_errors_ = np.array([one.error for one in strictness])
        self.n_iter_ = effort.n_iter
        self._set_stop_reason(effort.n_unsolved)
        return self

    def _set_stop_reason(self, n_unsolved: int) -> None:
        reasons, counts = np.unique(self.kinds_[self.right_ < 0], return_counts=True)
        ended = ", ".join(f"{n} {reason}" for reason, n in zip(reasons, counts, strict=True))
        self.stop_reason_ = f"leaves: {ended}"
        if np.any(self.kinds_[self.roots_] == NOT_DIVIDED):
            self.stop_reason_ += f"; {NOT_DIVIDED_REMEDY}"
        if n_unsolved:
            message = (
                f"{n_unsolved} problems met the iteration limit; {UNSOLVED_REMEDY}, or raise "
                f"max_iter (now {self.max_iter}) or tol"
            )
            self.stop_reason_ += f"; {message}"
            warnings.warn(message, ConvergenceWarning, stacklevel=user_stacklevel())

    @property
    def n_leaves_(self) -> int:
        """Leaves of all trees."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.right_ < 0))

    @property
    def depth_(self) -> int:
        """Decisions on the longest path."""
        check_is_fitted(self)
        return int(self.depths_.max())

    @property
    def selected_features_(self) -> IndexArray:
        """Features used in any decision, sorted."""
        check_is_fitted(self)
        return np.unique(self.features_)

    @property
    def feature_counts_(self) -> PointerArray:
        """How many decisions use each of the selected features."""
        check_is_fitted(self)
        return np.unique(self.features_, return_counts=True)[1].astype(np.int64)

    @property
    def feature_usage_(self) -> DoubleArray:
        """Mean number of decisions with each selected feature that a sample meets in a tree."""
        places = np.searchsorted(self.selected_features_, self.features_)
        passing = np.repeat(self.n_samples_, np.diff(self.indptr_)).astype(np.float64)
        return np.bincount(places, passing) / self.n_samples_[self.roots_].sum()

    def decision_function(self, X: object) -> DoubleArray:
        """Logit of the probability of each class in its tree, of shape (n, n_classes).

        For two classes of shape (n,), and positive for the second.
        """
        matrix = self._check_X(X)
        leaves, distances = self._trees().walk(matrix, self.n_jobs)
        # A sample exactly on a decision still gets the class of its leaf.
        scores = self.slopes_[leaves] * np.maximum(distances, 1e-9)
        return scores[:, 0] if self.classes_.size == 2 else scores

    def _trees(self) -> "FlatTrees":
        from labelwood.trees.budgeted.arrays import FlatTrees

        return record_of(self, FlatTrees)

    def apply(self, X: object) -> PointerArray:
        """The leaf of each sample in each tree, as a node number, of shape (n, n_trees)."""
        matrix = self._check_X(X)
        return self._trees().walk(matrix, self.n_jobs)[0]

    def predict_proba(self, X: object) -> DoubleArray:
        """Probabilities of the classes, of shape (n, n_classes), normalized over the trees.

        The largest is that of the class which `predict` gives.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([-scores, scores])
        return _probabilities(scores)

    def export_text(
        self, feature_names: object = None, *, max_features: int = 5, digits: int = 3
    ) -> str:
        """The trees as indented text, with `max_features` of each decision.

        Numbers have `digits` significant digits, or more before the decimal point.
        """
        from labelwood.trees.budgeted.export import export_text

        return export_text(self, feature_names, max_features, digits)

    def rules(self, feature_names: object = None, *, digits: int = 3) -> "list[Rule]":
        """One readable rule for each leaf, with numbers as in `export_text`."""
        from labelwood.trees.budgeted.export import rules

        return rules(self, feature_names, digits)

    def to_json(self, feature_names: object = None, *, digits: int = 17) -> str:
        """The trees as JSON: each node has a condition, `then` and `else`."""
        from labelwood.trees.budgeted.export import to_json

        return to_json(self, feature_names, digits)

    def plot(self, ax: object = None, feature_names: object = None, *, tree: int = 0) -> Any:
        """Draw one tree with matplotlib and return the axes.

        Without `ax` on a figure of its own: `model.plot().figure.savefig("tree.png")`.
        """
        from labelwood.trees.budgeted.export import plot

        return plot(self, ax, feature_names, tree)

    def _sizes(self) -> dict[str, int]:
        return {
            "trees": self.classes_.size if self.classes_.size > 2 else 1,
            "nodes": np.size(getattr(self, "right_", ())),
            "entries": np.size(getattr(self, "features_", ())),
        }

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._trees().check(self.n_features_in_)


def _probabilities(logits: DoubleArray) -> DoubleArray:
    """Probabilities of these logits over their sum; that of the largest logit is the largest."""
    # Far from a decision the probabilities of all classes can be too small for a number.
    logs: DoubleArray = log_expit(logits)
    probabilities = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    best = logits.argmax(axis=1)
    # Floating-point numbers cannot distinguish two probabilities this near to 1 (or ½).
    tied = np.flatnonzero(probabilities.argmax(axis=1) != best)
    probabilities[tied, best[tied]] = np.nextafter(probabilities[tied].max(axis=1), 1)
    return probabilities
