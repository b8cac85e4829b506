"""A regression tree whose splits can be read, pruned and listed as rules."""

from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted

from labelwood.core.contract import FittedAttributes, FittedEstimator
from labelwood.core.params import Constraints, OneOf, check_parameters
from labelwood.core.random import RandomState
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.trees.rules.decision_tree.arrays import RuleTrees
from labelwood.trees.rules.decision_tree.base import (
    TREE_ATTRIBUTES,
    TREE_CONSTRAINTS,
    RuleTreeMixin,
)
from labelwood.trees.rules.decision_tree.fitting import (
    Task,
    fitted_attributes,
    grow_all,
    make_table,
    stop_reason,
)
from labelwood.trees.rules.decision_tree.readout import SplitReader
from labelwood.trees.rules.features import check_weights, read_matrix
from labelwood.trees.rules.growth import make_criterion, many_targets, single_target
from labelwood.trees.rules.rule_set import Rule


class RuleTreeRegressor(RuleTreeMixin, RegressorMixin, FittedEstimator):
    """A regression tree by squared loss, grown, pruned and read as `RuleTreeClassifier` is.

    Several targets share one tree; their losses are summed.

    Parameters
    ----------
    criterion : {"squared"}
        What a split must reduce.
    max_depth, max_leaves, min_samples_split, min_samples_leaf, min_gain :
        Limits of growth; see `RuleTreeClassifier`.
    prune, n_folds, standard_errors :
        Leaves to keep, or "cv"; see there. Pruning is by squared loss.
    presence_features, categorical_features, missing :
        Kinds of features and missing values; see there. Subsets of categories are exact
        for one target.
    random_state, n_jobs :
        For the folds, and threads.

    Attributes
    ----------
    n_leaves_, depth_, pruning_path_, roots_, right_, features_, thresholds_, … :
        As in `RuleTreeClassifier`; `values_` are means of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import RuleTreeRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = RuleTreeRegressor(max_leaves=2).fit(X, [1, 1, 1, 5, 5, 5])
    >>> print(*model.rules(feature_names=["age"]), sep="; ")
    age <= 2.5 -> "1"; age > 2.5 -> "5"
    """

    _constraints: ClassVar[Constraints] = {**TREE_CONSTRAINTS, "criterion": OneOf("squared")}
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _fitted: ClassVar[FittedAttributes] = {**TREE_ATTRIBUTES, "single_target_": bool}

    pruning_loss: ClassVar[str] = "variance"
    values_: DoubleArray
    single_target_: bool
    stop_reason_: str

    def __init__(
        self,
        *,
        criterion: Literal["squared"] = "squared",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_gain: float = 0.0,
        prune: int | Literal["cv"] | None = None,
        n_folds: int = 5,
        standard_errors: float = 1.0,
        presence_features: Any = None,
        categorical_features: Any = None,
        missing: Literal["error", "value", "zero", "impute"] = "error",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.prune = prune
        self.n_folds = n_folds
        self.standard_errors = standard_errors
        self.presence_features = presence_features
        self.categorical_features = categorical_features
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow and prune the tree."""
        check_parameters(self, self._constraints)
        matrix = read_matrix(self, X, reset=True)
        y, self.single_target_ = _check_targets(type(self).__name__, y, matrix.shape[0])
        weights = check_weights(sample_weight, matrix)
        table = make_table(self, matrix, weights)
        # Differences of large sums of squares lose digits; targets around 0 keep them.
        center = np.average(y, axis=0, weights=weights)
        grown = grow_all(self, table, [lambda: _task(y - center, weights)])
        for name, value in fitted_attributes(grown, table).items():
            setattr(self, name, value)
        self.values_ = self.values_ + center
        self.stop_reason_ = stop_reason(grown)
        self._set_view()
        return self

    def predict(self, X: object) -> DoubleArray:
        """The mean target of each sample's leaf, of shape (n,) or (n, n_targets)."""
        check_is_fitted(self)
        means = self._trees().values[self.apply(X)[:, 0]]
        return means[:, 0] if self.single_target_ else means

    def rules(self, feature_names: object = None) -> list[Rule]:
        """A rule for each leaf, whose label is the mean target, as a number."""
        return [rule for rule, _ in SplitReader(self, feature_names).rules()]

    def _leaf_words(self, node: int, trees: RuleTrees) -> tuple[str, str]:
        """The mean of a leaf, and the standard deviation around it."""
        spread = np.sqrt(trees.losses[node] / trees.weights[node])
        return ", ".join(f"{one:.6g}" for one in trees.values[node]), f"± {spread:.3g}"

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._check_trees(self.n_features_in_)
        if self.roots_.size != 1 or (self.single_target_ and self.values_.shape[1] != 1):
            raise DataError("the tree and the targets do not fit together")

    def _sizes(self) -> dict[str, int]:
        return {"nodes": np.size(getattr(self, "right_", ()))}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing != "error"
        tags.target_tags.multi_output = True
        return tags


def _task(y: DoubleArray, weights: DoubleArray) -> Task:
    n, n_outputs = y.shape
    if n_outputs == 1:
        targets, squares = single_target(weights, y[:, 0])
    else:
        pointers = np.arange(n + 1) * n_outputs
        outputs = np.tile(np.arange(n_outputs), n)
        targets, squares = many_targets(weights, pointers, outputs, y.ravel())
    criterion = make_criterion("squared", exclusive=False)
    return Task(targets, squares, n_outputs, criterion, False, lambda rows: y[rows], None)


def _check_targets(owner: str, y: object, n: int) -> tuple[DoubleArray, bool]:
    """Targets of shape (n, k), and whether they were given as a list of numbers."""
    if y is None:
        raise DataError(f"{owner} requires y to be passed, but the target y is None.")
    dense = y.toarray() if sp.issparse(y) else y  # type: ignore[attr-defined]
    try:
        values: AnyArray = check_array(
            dense, ensure_2d=False, dtype=np.float64, input_name="y", ensure_min_samples=0
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if values.ndim > 2:
        raise DataError(f"y must have one or two dimensions. Got shape {values.shape}.")
    if values.shape[0] != n:
        raise DataError(f"X has {n} rows and y has {values.shape[0]}.")
    return values.reshape(n, -1), values.ndim == 1
