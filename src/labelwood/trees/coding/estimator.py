"""The powerset tree and the annotation tree: one estimator, two shapes of the tree."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from labelwood.core.contract import FittedAttributes
from labelwood.core.convergence import convergence_report
from labelwood.core.estimator import LabelEstimator
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import (
    N_JOBS,
    RANDOM_STATE,
    Boolean,
    Constraints,
    Integer,
    OneOf,
    Real,
)
from labelwood.core.records import record_of, set_record
from labelwood.core.sparse import csr_arrays
from labelwood.core.types import CSR, FloatArray, IndexArray, PointerArray
from labelwood.trees.coding.arrays import CodingTree

if TYPE_CHECKING:
    from labelwood.trees.coding.growth import Code
    from labelwood.trees.coding.label_sets import LabelSets


class CodingTreeClassifier(LabelEstimator):
    """Base of the trees whose leaves are the label sets seen in training.

    Every inner node is a linear classifier (L2-SVM, or with `budget` a budget-aware classifier,
    as Liu & Tsang 2017 has it) trained on the samples of the label sets below
    it. `predict` follows the signs of the decisions to one leaf and gives its label set. The
    probability of a leaf is the product of 1/(1 + exp(−`sharpness` · decision)) along its path,
    and the score of a label is the sum over the `beam` likeliest leaves that have it. A subclass
    gives the shape of the tree, `_code`.

    Parameters
    ----------
    C : float
        Inverse regularization strength of the decisions, as in LinearSVC.
    budget : int, "auto" or None
        Features that a decision may read. Then nodes can be read by people (`export_text`) and
        models are small; None sets no limit, and "auto" takes 2√d for d features that occur.
    balance : float
        From 0, where an error costs the same on both sides of a node, to 1, where both sides have
        the same total cost. Without it the smaller child is hardly ever predicted.
    min_count : int
        Label sets of fewer samples are merged into the most similar set of at least so many (by
        Jaccard index; among equals into the one of most samples). A set that shares no label
        with any of those stays. Labels of merged sets can be lost.
    beam : int
        Nodes that the beam search for scores keeps. More are slower, and score more labels.
    sharpness : float
        Slope of the logistic function that turns a decision into a probability, for scores.
    fit_intercept : bool
        Whether decisions have an intercept.
    intercept_scaling : float
        Value of the constant feature whose (penalized) weight is the intercept.
    normalize : bool
        Scale every row to unit length first, in `fit` and in prediction.
    tol : float
        Largest difference of projected gradients at which a decision is solved.
    max_iter : int
        Limit of iterations over the samples of a node.
    prune_below : float
        Weights of at most this size are dropped: smaller and faster models. Decisions under a
        `budget` keep all of theirs.
    calibrate : bool
        Train a second time, on four fifths of the samples, and learn from the rest how often
        a score is right: `predict_proba` and `predict_topk(…, proba=True)` give probabilities.
    random_state : int, SeedSequence, Generator or None
        Seed of the order in which the solver visits samples.
    n_jobs : int or None
        Threads over nodes and blocks of rows; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    n_leaves_, depth_ : int
        Different label sets (after merging), and decisions on the longest path.
    mean_decisions_ : float
        Decisions on the path to its own label set, on average over the training samples.
    entropy_ : float
        Entropy in bits of how the training samples dense over the leaves. No binary tree has a
        smaller `mean_decisions_`.
    n_iter_ : int
        Largest number of iterations of a decision.
    stop_reason_ : str
        Whether all decisions met the tolerance, or how many met the iteration limit.
    calibration_scores_, calibration_probabilities_ : arrays
        With `calibrate`: knots of the map from scores to probabilities.
    right_, intercepts_, weight_indptr_, features_, weights_, leaf_indptr_, labels_ : arrays
        The tree, flat (see `labelwood.trees.coding.arrays.CodingTree`).
    """

    _constraints: ClassVar[Constraints] = {
        "C": Real(above=0),
        "budget": (Integer(low=1), OneOf("auto"), None),
        "balance": Real(low=0, high=1),
        "min_count": Integer(low=1),
        "beam": Integer(low=1),
        "sharpness": Real(above=0),
        "fit_intercept": Boolean(),
        "intercept_scaling": Real(above=0),
        "normalize": Boolean(),
        "tol": Real(above=0),
        "max_iter": Integer(low=1),
        "prune_below": Real(low=0),
        "calibrate": Boolean(),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }
    _feature_indices: ClassVar[tuple[str, ...]] = ("features_",)
    _fitted: ClassVar[FittedAttributes] = {
        "right_": (np.int64, (None,)),
        "intercepts_": (np.float32, (None,)),
        "weight_indptr_": (np.int64, (None,)),
        "features_": (np.uint32, (None,)),
        "weights_": (np.float32, (None,)),
        "leaf_indptr_": (np.int64, (None,)),
        "labels_": (np.uint32, (None,)),
        "n_leaves_": int,
        "depth_": int,
        "mean_decisions_": float,
        "entropy_": float,
        "n_iter_": int,
        "stop_reason_": str,
    }

    right_: PointerArray
    intercepts_: FloatArray
    weight_indptr_: PointerArray
    features_: IndexArray
    weights_: FloatArray
    leaf_indptr_: PointerArray
    labels_: IndexArray

    def __init__(
        self,
        *,
        C: float = 1.0,
        budget: int | str | None = None,
        balance: float = 0.5,
        min_count: int = 1,
        beam: int = 10,
        sharpness: float = 4.0,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        normalize: bool = True,
        tol: float = 0.1,
        max_iter: int = 1000,
        prune_below: float = 0.05,
        calibrate: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.budget = budget
        self.balance = balance
        self.min_count = min_count
        self.beam = beam
        self.sharpness = sharpness
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.prune_below = prune_below
        self.calibrate = calibrate
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _code(self, found: "LabelSets") -> "Code":
        """The tree over the label sets."""

    def fit(self, X: object, y: object) -> Self:
        """Build the tree from the label sets and learn its decisions from the rows of `X`."""
        from labelwood.trees.coding.growth import Settings, grow_tree, resolved_budget
        from labelwood.trees.coding.label_sets import entropy, label_sets, merge_rare

        matrix, Y = self._begin_fit(X, y)
        n_used = np.unique(matrix.indices).size
        budget = resolved_budget(self.budget, matrix.shape[1], n_used)
        labels_with_samples(Y)
        if self.calibrate:
            self._calibrate(matrix, Y)
        found = merge_rare(label_sets(Y), self.min_count)
        settings = Settings(
            float(self.C),
            float(self.balance),
            float(self.intercept_scaling) if self.fit_intercept else 0.0,
            float(self.tol),
            int(self.max_iter),
            float(self.prune_below),
            budget,
        )
        grown = grow_tree(
            self._scaled(matrix),
            found,
            self._code(found),
            settings,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        set_record(self, grown.tree)
        self.n_leaves_ = int(found.counts.size)
        self.depth_ = grown.depth
        self.mean_decisions_ = grown.mean_decisions
        self.entropy_ = entropy(found.counts)
        self.n_iter_ = grown.n_iter
        remedy = f"raise max_iter (now {self.max_iter}) or tol"
        self.stop_reason_ = convergence_report(grown.n_unsolved, "decision", remedy)
        return self

    def predict(self, X: object) -> Any:
        """The label set of the leaf that each sample reaches, as a CSR indicator.

        Each decision on the path is taken by its sign. After a fit on one class for each sample:
        the class with the best score.
        """
        if type(X) is sp.csr_array and vars(self).get("multilabel_"):
            self._check_width(self.n_features_in_)
            tree = self._tree()
            leaf = tree.leaf_of_row(X, bool(self.normalize), self.n_features_in_)
            if leaf is not None:
                return tree.label_set(leaf, self.classes_.size)
        matrix = self._check_X(X)
        if not self.multilabel_:
            return super().predict(matrix)
        tree = self._tree()
        leaves = tree.leaves(matrix, self.normalize, self.n_jobs)
        return tree.label_sets(leaves, self.classes_.size)

    def export_text(
        self,
        feature_names: object = None,
        *,
        max_features: int = 5,
        max_depth: int | None = None,
    ) -> str:
        """The tree as indented text, with the `max_features` largest terms of each decision.

        Nodes at `max_depth` are shown as the number of label sets below them.
        """
        from labelwood.trees import readable
        from labelwood.trees.coding.export import CodingReader

        check_is_fitted(self)
        return readable.text(CodingReader(self, feature_names, max_features, max_depth))

    def mean_decisions(self, X: object) -> float:
        """How many decisions lead a sample of `X` to its leaf, on average.

        That is what `predict` computes for label sets. After a fit on one class for each sample
        it searches for the best score instead, which takes up to `beam` times as many.
        """
        matrix = self._check_X(X)
        tree = self._tree()
        return float(tree.depths()[tree.leaves(matrix, self.normalize, self.n_jobs)].mean())

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        scores = self._tree().scores(
            X,
            self.normalize,
            float(self.sharpness),
            int(self.beam),
            self.classes_.size,
            self.n_jobs,
        )
        if above is not None:
            scores.data[scores.data <= above] = 0
            scores.eliminate_zeros()
        return scores

    def _tree(self) -> CodingTree:
        return record_of(self, CodingTree)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        self._tree().check(self.n_features_in_, self.classes_.size)


class PowersetTreeClassifier(CodingTreeClassifier):
    """A Huffman tree over the label sets seen in training (Liu & Tsang 2017, Algorithm 3).

    Frequent label sets are reached by few decisions. `mean_decisions_` is the least that any
    binary tree has, and lies in [`entropy_`, `entropy_` + 1) (theorem 12). Among equally
    frequent sets, which Huffman's algorithm may pair as it likes, neighbors in the order of
    their most frequent labels are paired: decisions between sets that share labels are easier.

    Parameters and attributes are those of `CodingTreeClassifier`.

    Examples
    --------
    >>> from labelwood import PowersetTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]] * 5
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 5
    >>> model = PowersetTreeClassifier(C=10, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['dog', 'owl']]
    >>> model.mean_decisions_, model.entropy_
    (1.5, 1.5)
    """

    def _code(self, found: "LabelSets") -> "Code":
        from labelwood.trees.coding._shape_kernels import huffman
        from labelwood.trees.coding.growth import Code

        return Code(*huffman(found.counts))


class AnnotationTreeClassifier(CodingTreeClassifier):
    """A tree that asks for the most frequent undecided label (Liu & Tsang 2017, Algorithm 4).

    A node considers the labels that some but not all of its samples have (those that none has
    or all have, the zero and the one label set, are decided) and asks for the one that most
    have. A leaf is reached when no label is open. `mean_decisions_` is at least `entropy_`;
    that it is below `entropy_` + 1, as theorem 13 states, is not true in general.

    Parameters and attributes are those of `CodingTreeClassifier`.

    Examples
    --------
    >>> from labelwood import AnnotationTreeClassifier
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]] * 5
    >>> Y = [["cat"], ["dog"], ["dog", "owl"], ["cat"]] * 5
    >>> model = AnnotationTreeClassifier(C=10, random_state=0).fit(X, Y)
    >>> model.predict_topk([[0, 1, 1]], k=2).names()
    [['dog', 'owl']]
    >>> model.mean_decisions_, model.entropy_
    (1.5, 1.5)
    """

    def _code(self, found: "LabelSets") -> "Code":
        from labelwood.trees.coding._shape_kernels import annotate
        from labelwood.trees.coding.growth import Code

        members = csr_arrays(sp.csr_array(found.sets.T))
        return Code(*annotate(csr_arrays(found.sets), members, found.counts))
