"""Decision trees whose splits can be read, pruned and turned into rules."""

import functools
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import Boolean, Constraints, OneOf
from labelwood.core.random import RandomState
from labelwood.core.sparse import make_csr, row_blocks
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray, PointerArray
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
from labelwood.trees.rules.decision_tree.readout import SplitReader, rules_of_tree
from labelwood.trees.rules.features import check_weights, fill_missing, read_matrix
from labelwood.trees.rules.growth import CriterionName, make_criterion, many_targets, single_target
from labelwood.trees.rules.rule_set import RuleSet

_ROWS_AT_ONCE = 1_024


def _tells_classes(estimator: object) -> bool:
    return not getattr(estimator, "multilabel_", False)


def scores_as_csr(dense: DoubleArray, above: float | None) -> CSR:
    """Scores above a limit, or all of them, as CSR."""
    kept = np.ones(dense.shape, dtype=bool) if above is None else dense > above
    rows, columns = np.nonzero(kept)
    indptr = np.searchsorted(rows, np.arange(dense.shape[0] + 1))
    return make_csr(indptr, columns, dense[kept].astype(np.float32), dense.shape)


class RuleTreeClassifier(RuleTreeMixin, LabelEstimator):
    """A decision tree for classes or labels that is grown, pruned and read as rules.

    Growth chooses the split that takes away most of the loss; pruning then removes pairs of
    leaves under a loss of its own. Features may be a table, CSR text where a zero is a value
    that costs nothing, or both side by side.

    Parameters
    ----------
    criterion : {"gini", "squared", "log_loss"} or callable
        What a split must reduce. "squared" is another name of "gini". A callable is a purity
        Q(p) of the share p of a class, applied to an array: it must be strictly concave and
        symmetric about ½, which is checked. Save a model grown with one after
        `set_params(criterion="gini")`: predictions do not need it.
    max_depth : int or None
        Splits on a path, at most.
    max_leaves : int or None
        If given, growth is best first: the leaf with the largest gain is split next, until
        there are so many leaves.
    min_samples_split, min_samples_leaf : int
        Samples that a node must have to be split, and that each side of a split must have.
    min_gain : float
        Loss that a split must take away, in the units of the summed sample weights.
    prune : int, "cv" or None
        Leaves to keep, or "cv" to choose their number by cross-validation.
    pruning_loss : {"zero_one", "squared", "log_loss"}
        The loss L′ by which pairs of leaves are removed and sizes compared.
    n_folds : int
        Folds of that cross-validation.
    standard_errors : float
        The smallest tree is taken whose held-out loss is within so many standard errors of the
        least: 1 is the one-standard-error rule, 0 takes the least.
    presence_features : None, "all", mask, or list of columns or names
        Features that are only split into present (above 0) and absent, such as words.
    categorical_features : None, "all", mask, or list of columns or names
        Features whose values 0, 1, 2, … are categories without order, split into subsets. For
        two classes the best subset is found; for more, the best one among the prefixes of the
        categories ordered by the share of each class.
    missing : {"error", "value", "zero", "impute"}
        NaN is refused, a value of its own, a zero, or replaced by the mean of the column
        (the commonest category).
    shared_tree : bool
        With label sets: one tree for all labels, by the summed purity, instead of one per label.
    random_state : int, SeedSequence, Generator, RandomState or None
        For the folds.
    n_jobs : int or None
        Threads; the result is the same for any number of them.

    Attributes
    ----------
    classes_ : array
    n_leaves_, depth_ : int
        Leaves of all trees, and splits on the longest path, after pruning.
    pruning_path_ : list of PruningPath
        For each tree the nested sequence of trees: the nodes collapsed, leaves left, and the
        training loss L′. `pruned(n)` gives the model of any size in it.
    roots_, right_, features_, thresholds_, missing_left_, larger_left_ : arrays
        The trees as grown, in preorder: first node of each tree; for each node the right child
        (−1 for a leaf; the left child comes next), the feature, the threshold up to which
        values go left, and the sides of missing values and of more training samples.
    mask_indptr_, masks_ : arrays
        Categories that go left, as bits.
    categories_ : array of shape (n, 2)
        Columns and categories that training has seen.
    n_samples_, weights_, losses_, values_ : arrays
        For each node its training samples, their weight, its loss under the criterion, and
        the share of each class or label (of the second class, if there are two).
    path_indptr_, path_nodes_, path_losses_, n_removed_ : arrays
        Pruning paths of all trees, and how many pairs of leaves each tree has lost.
    cv_indptr_, cv_losses_, cv_standard_errors_ : arrays
        With ``prune="cv"``, the held-out loss at 1, 2, … leaves of each tree.
    stop_reason_ : str
        How many leaves of the grown trees ended for which reason.

    Examples
    --------
    >>> import numpy as np
    >>> from labelwood import RuleTreeClassifier
    >>> X = np.array([[1, 0], [1, 1], [0, 1], [0, 0]] * 5)
    >>> y = ["earn", "earn", "earn", "other"] * 5
    >>> model = RuleTreeClassifier(presence_features="all").fit(X, y)
    >>> print(model.export_text(feature_names=["shr", "div"]), end="")
    if shr
    |   earn (100.0%, 10 samples)
    else
    |   if div
    |   |   earn (100.0%, 5 samples)
    |   else
    |   |   other (100.0%, 5 samples)
    """

    _constraints: ClassVar[Constraints] = {
        **TREE_CONSTRAINTS,
        "criterion": CriterionName(),
        "pruning_loss": OneOf("zero_one", "squared", "log_loss"),
        "shared_tree": Boolean(),
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _is_scale_invariant: ClassVar[bool] = True
    _fitted: ClassVar[FittedAttributes] = TREE_ATTRIBUTES
    _threshold: ClassVar[float] = 0.5

    values_: DoubleArray
    stop_reason_: str

    def __init__(
        self,
        *,
        criterion: str | Callable[[Any], Any] = "gini",
        max_depth: int | None = None,
        max_leaves: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_gain: float = 0.0,
        prune: int | Literal["cv"] | None = None,
        pruning_loss: Literal["zero_one", "squared", "log_loss"] = "zero_one",
        n_folds: int = 5,
        standard_errors: float = 1.0,
        presence_features: Any = None,
        categorical_features: Any = None,
        missing: Literal["error", "value", "zero", "impute"] = "error",
        shared_tree: bool = False,
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
        self.pruning_loss = pruning_loss
        self.n_folds = n_folds
        self.standard_errors = standard_errors
        self.presence_features = presence_features
        self.categorical_features = categorical_features
        self.missing = missing
        self.shared_tree = shared_tree
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Grow and prune the tree, or the trees of all labels."""
        matrix, Y = self._begin_fit(X, y)
        weights = check_weights(sample_weight, matrix)
        table = make_table(self, matrix, weights)
        grown = grow_all(self, table, self._tasks(Y, weights))
        for name, value in fitted_attributes(grown, table).items():
            setattr(self, name, value)
        self.stop_reason_ = stop_reason(grown)
        self._set_view()
        return self

    def _check_X(self, X: object, *, reset: bool = False) -> CSR:
        matrix = read_matrix(self, X, reset=reset)
        if not reset:
            self._warn_of_new_categories(matrix)
        return matrix

    def _tasks(self, Y: CSR, weights: DoubleArray) -> list[Callable[[], Task]]:
        """What each tree learns; targets are made when its turn comes, to save memory."""
        if self.multilabel_ and not self.shared_tree and Y.shape[1]:
            columns = Y.tocsc()
            return [
                functools.partial(self._one_output, columns, label, weights)
                for label in range(Y.shape[1])
            ]
        if not self.multilabel_ and self.classes_.size == 2:
            return [functools.partial(self._one_output, Y.tocsc(), 1, weights)]
        return [functools.partial(self._many_outputs, Y, weights)]

    def _one_output(self, columns: Any, label: int, weights: DoubleArray) -> Task:
        target = np.zeros(columns.shape[0])
        target[columns.indices[columns.indptr[label] : columns.indptr[label + 1]]] = 1
        targets, squares = single_target(weights, target)
        # A label or the second of two classes: log-loss has a term for either outcome.
        criterion = make_criterion(self.criterion, exclusive=False)
        return Task(
            targets, squares, 1, criterion, False, lambda rows: target[rows][:, None], target
        )

    def _many_outputs(self, Y: CSR, weights: DoubleArray) -> Task:
        exclusive = not self.multilabel_
        targets, squares = many_targets(weights, Y.indptr, Y.indices, Y.data)
        strata = Y.indices if exclusive else None
        criterion = make_criterion(self.criterion, exclusive)
        return Task(
            targets,
            squares,
            Y.shape[1],
            criterion,
            exclusive,
            lambda rows: Y[rows].toarray(),
            strata,
        )

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """The share of each label in the leaf of each sample; with `above`, only those greater."""
        parts = [scores_as_csr(self._probabilities_of(X[rows]), above) for rows in self._blocks(X)]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _score_topk(self, X: CSR, k: int) -> TopK:
        """The labels of the largest shares, found block by block: no (n, n_labels) array."""
        parts = [
            TopK.from_csr(scores_as_csr(self._probabilities_of(X[rows]), None), k)
            for rows in self._blocks(X)
        ]
        labels = np.concatenate([part.labels for part in parts])
        return TopK(labels, np.concatenate([part.scores for part in parts]))

    def _blocks(self, X: CSR) -> list[slice]:
        return row_blocks(X, _ROWS_AT_ONCE)

    def _probabilities_of(self, X: CSR) -> DoubleArray:
        """The share of each class or label, of shape (n, n_classes)."""
        leaves = self._walk(X)
        values = self._trees().values
        if not self.multilabel_ and self.classes_.size == 2:
            p = values[leaves[:, 0], 0]
            return np.column_stack([1 - p, p])
        if self.multilabel_ and not self.shared_tree and self.classes_.size:
            return np.asarray(values[leaves, 0])
        return np.asarray(values[leaves[:, 0]])

    def _walk(self, X: CSR) -> PointerArray:
        filled = fill_missing(X, self.missing, self.imputed_)
        return self._trees().apply(filled, self.n_jobs)

    def _check_calibrated(self) -> None:
        """Nothing to check: shares of training samples are probabilities as they are."""

    def _probabilities(self, scores: AnyArray) -> DoubleArray:
        return np.asarray(scores, dtype=np.float64)

    @available_if(_tells_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: object) -> DoubleArray:
        """Shares of the classes in the leaf of each sample, of shape (n, n_classes).

        After a fit on label sets, `decision_function` has them as CSR, and
        ``predict_topk(X, k, proba=True)`` the largest of them.
        """
        return self._probabilities_of(self._check_X(X))

    def rules(self, feature_names: object = None, *, label: object = None) -> RuleSet:
        """The tree as an ordered list of rules that predicts the same.

        Parameters
        ----------
        feature_names : list of str, optional
            Names of the columns; else those of the data frame of `fit`, else x0, x1, …
        label : optional
            Whose tree to read, after a fit on label sets.
        """
        return rules_of_tree(self, SplitReader(self, feature_names), label)

    def _leaf_words(self, node: int, trees: RuleTrees) -> tuple[str, str]:
        """The class or labels of a leaf, and the share of its samples that have it."""
        p = trees.values[node]
        if not self.multilabel_:
            if self.classes_.size == 2:
                p = np.array([1 - p[0], p[0]])
            best = int(p.argmax())
            return str(self.classes_[best]), f"{p[best]:.1%}"
        if self.shared_tree:
            labels = np.flatnonzero(p > 0.5)
            names = ", ".join(str(self.classes_[one]) for one in labels) or "no label"
            return names, " ".join(f"{p[one]:.1%}" for one in labels) or "–"
        tree = int(np.searchsorted(trees.roots, node, side="right")) - 1
        name = str(self.classes_[tree]) if self.classes_.size else "no label"
        share = float(p[0]) if p.size else 0.0
        return (name, f"{share:.1%}") if share > 0.5 else (f"~{name}", f"{1 - share:.1%}")

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._check_trees(self.n_features_in_)
        if not self.multilabel_ and self.classes_.size == 2:
            wanted = (1, 1)
        elif self.multilabel_ and not self.shared_tree and self.classes_.size:
            wanted = (self.classes_.size, 1)
        else:
            wanted = (1, self.classes_.size)
        if (self.roots_.size, self.values_.shape[1]) != wanted:
            raise DataError("the trees and the classes do not fit together")

    def _sizes(self) -> dict[str, int]:
        return {"nodes": np.size(getattr(self, "right_", ()))}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags
