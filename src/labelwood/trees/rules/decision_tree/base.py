"""What classifiers and regressors of rule trees share: the pruned tree, walks and words."""

import copy
import json
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from labelwood.core.contract import FittedAttributes
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Constraints,
    Integer,
    OneOf,
    Real,
    check_parameter,
)
from labelwood.core.sparse import cuts
from labelwood.core.types import CSR, PointerArray
from labelwood.errors import DataError
from labelwood.trees import readable
from labelwood.trees.rules.decision_tree.arrays import RuleTrees
from labelwood.trees.rules.decision_tree.pruning import PruningPath
from labelwood.trees.rules.decision_tree.readout import SplitReader
from labelwood.trees.rules.features import (
    categories_by_column,
    fill_missing,
    read_matrix,
    warn_of_new_categories,
)


class Columns:
    """Constraint of parameters that name columns; checked in full where X is known."""

    def accepts(self, value: object) -> bool:
        """Whether `value` can name columns."""
        return value is None or isinstance(value, (str, list, tuple, np.ndarray))

    def parse(self, text: str) -> object:
        """Numbers of columns, separated by commas, or a word."""
        parts = text.split(",")
        return [int(part) for part in parts] if parts[0].strip().isdigit() else text

    def __str__(self) -> str:
        return "None, 'all', a mask, or a list of columns or names"


TREE_CONSTRAINTS: Constraints = {
    "max_depth": (Integer(low=1), None),
    "max_leaves": (Integer(low=2), None),
    "min_samples_split": Integer(low=2),
    "min_samples_leaf": Integer(low=1),
    "min_gain": Real(low=0),
    "prune": (Integer(low=1), OneOf("cv"), None),
    "n_folds": Integer(low=2),
    "standard_errors": Real(low=0),
    "missing": OneOf("error", "value", "zero", "impute"),
    "presence_features": Columns(),
    "categorical_features": Columns(),
    "random_state": RANDOM_STATE,
    "n_jobs": N_JOBS,
}

TREE_ATTRIBUTES: FittedAttributes = {
    "roots_": (np.int64, (None,)),
    "right_": (np.int64, ("nodes",)),
    "features_": (np.int64, ("nodes",)),
    "thresholds_": (np.float64, ("nodes",)),
    "missing_left_": (np.bool_, ("nodes",)),
    "larger_left_": (np.bool_, ("nodes",)),
    "mask_indptr_": (np.int64, (None,)),
    "masks_": (np.uint32, (None,)),
    "n_samples_": (np.int64, ("nodes",)),
    "weights_": (np.float64, ("nodes",)),
    "losses_": (np.float64, ("nodes",)),
    "values_": (np.float64, ("nodes", None)),
    "path_indptr_": (np.int64, (None,)),
    "path_nodes_": (np.int64, (None,)),
    "path_losses_": (np.float64, (None,)),
    "n_removed_": (np.int64, (None,)),
    "cv_indptr_": (np.int64, (None,)),
    "cv_losses_": (np.float64, (None,)),
    "cv_standard_errors_": (np.float64, (None,)),
    "categories_": (np.int64, (None, 2)),
    "imputed_": (np.float32, (None,)),
    "stop_reason_": str,
}


class RuleTreeMixin:
    """Trees that are kept as grown, with the pairs of leaves that pruning removes."""

    _tree_names: ClassVar[tuple[str, ...]] = RuleTrees._fields

    def _trees(self) -> RuleTrees:
        """The trees after pruning."""
        check_is_fitted(self)
        view: RuleTrees = vars(self)["_pruned_trees"]
        return view

    def _set_view(self) -> None:
        """Collapse the removed pairs; called whenever the fitted attributes change."""
        grown = RuleTrees(**{name: getattr(self, f"{name}_") for name in self._tree_names})
        nodes = [
            self.path_nodes_[start : start + n]  # type: ignore[attr-defined]
            for start, n in zip(self.path_indptr_, self.n_removed_, strict=False)  # type: ignore[attr-defined]
        ]
        self._pruned_trees = grown.collapsed(np.concatenate([np.empty(0, dtype=np.int64), *nodes]))

    def _warn_of_new_categories(self, matrix: CSR) -> None:
        seen = categories_by_column(self.categories_)  # type: ignore[attr-defined]
        warn_of_new_categories(matrix, seen, "they take the side of more training samples")

    def _read(self, X: object) -> CSR:
        """Checked features with missing values filled as in training."""
        matrix = read_matrix(self, X)
        self._warn_of_new_categories(matrix)
        return fill_missing(matrix, self.missing, self.imputed_)  # type: ignore[attr-defined]

    @property
    def n_leaves_(self) -> int:
        """Leaves of all trees, after pruning."""
        return int(np.count_nonzero(self._trees().right < 0))

    @property
    def depth_(self) -> int:
        """Splits on the longest path, after pruning."""
        return int(self._trees().depths().max())

    @property
    def selected_features_(self) -> PointerArray:
        """Features that any split reads, sorted."""
        features = self._trees().features
        return np.unique(features[features >= 0])

    @property
    def pruning_path_(self) -> list[PruningPath]:
        """For each tree, the sequence of nested trees that pruning goes through."""
        check_is_fitted(self)
        me: Any = self
        paths = []
        for tree in range(me.roots_.size):
            start, end = int(me.path_indptr_[tree]), int(me.path_indptr_[tree + 1])
            nodes = me.path_nodes_[start:end]
            sizes = np.arange(nodes.size + 1, 0, -1)
            losses = me.path_losses_[start + tree : end + tree + 1]
            paths.append(PruningPath(nodes, sizes, losses))
        return paths

    def pruned(self, n_leaves: int) -> Self:
        """A copy whose trees have at most `n_leaves` leaves each, from the pruning path.

        It can have more leaves than this one, up to those that were grown.
        """
        check_is_fitted(self)
        check_parameter(type(self).__name__, "n_leaves", n_leaves, Integer(low=1))
        model = copy.copy(self)
        sizes = [path.removed(n_leaves).size for path in self.pruning_path_]
        model.n_removed_ = np.array(sizes, dtype=np.int64)  # type: ignore[attr-defined]
        model._set_view()
        return model

    def apply(self, X: object) -> PointerArray:
        """The leaf of each sample in each tree, as a node of the pruned trees."""
        matrix = self._read(X)
        return self._trees().apply(matrix, self.n_jobs)  # type: ignore[attr-defined]

    def export_text(self, feature_names: object = None) -> str:
        """The trees as indented text."""
        return readable.text(SplitReader(self, feature_names))

    def plot(self, ax: object = None, feature_names: object = None, *, tree: int = 0) -> Any:
        """Draw one tree with matplotlib and return the axes.

        Without `ax` on a figure of its own: `model.plot().figure.savefig("tree.png")`.
        """
        return readable.plot(SplitReader(self, feature_names), ax, tree)

    def to_json(self, feature_names: object = None) -> str:
        """The trees as JSON: each node has a condition, `then` and `else`."""
        content = readable.as_dict(SplitReader(self, feature_names))
        return json.dumps(content, ensure_ascii=False, indent=2)

    def _check_trees(self, n_features: int) -> None:
        """Refuse fitted attributes that do not belong together (after loading)."""
        me: Any = self
        RuleTrees(**{name: getattr(self, f"{name}_") for name in self._tree_names}).check(
            n_features
        )
        n_trees = me.roots_.size
        if (
            not cuts(me.path_indptr_, n_trees, me.path_nodes_.size)
            or me.path_losses_.size != me.path_nodes_.size + n_trees
            or me.n_removed_.shape != (n_trees,)
            or np.any(me.n_removed_ < 0)
            or np.any(me.n_removed_ > np.diff(me.path_indptr_))
        ):
            raise DataError("the pruning paths and the trees do not fit together")
        if me.path_nodes_.size and not 0 <= me.path_nodes_.min() <= me.path_nodes_.max() < (
            me.right_.size
        ):
            raise DataError("a pruning path names a node that does not exist")
        if np.any(me.categories_ < 0) or np.any(me.categories_[:, 0] >= n_features):
            raise DataError("categories_ names a feature that does not exist")
        if me.imputed_.size != (n_features if me.missing == "impute" else 0):
            raise DataError("imputed_ must have a value for each feature")
        self._set_view()
