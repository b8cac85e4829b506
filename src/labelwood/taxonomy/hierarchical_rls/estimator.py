"""Regularised least squares at each node of a taxonomy, at once or on line."""

import warnings
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.contract import FittedAttributes, check_fitted_attributes
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import Constraints, Integer, OneOf, Real
from labelwood.core.sparse import as_csr, csr_arrays, unit_rows
from labelwood.core.types import CSR, DoubleArray, FloatArray
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.taxonomy.hierarchical_rls._update_kernels import learn, spreads
from labelwood.taxonomy.hierarchical_rls.conjugate_gradient import Rows, solve_nodes
from labelwood.taxonomy.hierarchy import Estimates, HierarchicalClassifier, side_by_side
from labelwood.taxonomy.hierarchy.support import NO_LIMIT, Node, Support, learn_in_room

_EVERY_MARGIN = 1e300
_ON_LINE = {"store": "all", "margin": 0.2, "max_support": None}  # by default


class HierarchicalRLSClassifier(HierarchicalClassifier):
    """A least-squares decision at each node of a taxonomy, learned from its parent's examples.

    Labels stand in a forest; a point may have several paths, that end anywhere. The decision of
    a node is w = (I + SSᵀ)⁻¹Sv, where S are the examples that have its parent's label (all, for
    a root) and v = ±1 says which have its own. A point gets a label when wᵀx > 0 and it gets
    the parent, so that label sets always agree with the taxonomy. Rows are scaled to unit length.

    `fit` solves all nodes at once and exactly. `partial_fit` learns on line, from examples that
    come one by one or in batches, and keeps those on which the weights rest.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        The forest of the labels, matched to names of labels by name and to the columns of an
        indicator by place (by number, where that is what nodes are called). None makes every
        label a root.
    train : {"hierarchical", "independent"}
        Whether a node learns from the examples of its parent, or from all.
    store : {"all", "margin"}
        Which examples `partial_fit` keeps at a node: all, or those that are mistaken or have
        |wᵀx| ≤ `margin` when they come. Memory and time grow with the square of their number.
        `fit` takes all, and warns where this, `margin` or `max_support` say otherwise.
    margin : float
        What margin is small. Those of training points lie between −1 and 1.
    max_support : int or None
        How many examples a node keeps at most. When one more comes, the one of the
        smallest |α| leaves, which is the one that the weights Σ α x need least.
    confidence : float or None
        With a level between 0 and 1, a label is given only if its margin is clearly positive: the
        lower end of its interval is. Unsure points get the coarser label. Rankings
        (`predict_topk`) take no notice of it.
    close_labels : bool
        Give every label its ancestors; else a label without its parent is an error.
    tol : float
        Residual of a node, as a share of ‖v‖, at which `fit` has solved it.
    max_iter : int
        Limit of steps for a node.
    n_jobs : int or None
        Threads over nodes; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    parent_ : array of shape (n_labels,)
        The parent of each label, −1 for a root.
    n_positive_ : array of shape (n_labels,)
        Examples that had each label.
    untrained_ : array
        The labels that no example had: they are never predicted.
    train_ : str
        The `train` that learning began with.
    scaled_ : bool
        Whether rows had another length than one (or none).
    coef_ : csr_array of shape (n_features, n_labels)
        The weights.
    n_iter_ : array of shape (n_labels,)
        After `fit`: steps of each node.
    stop_reason_ : str
        After `fit`: whether all nodes met the tolerance, or how many met the limit.
    n_seen_, n_support_ : arrays of shape (n_labels,)
        After `partial_fit`: examples that each node has seen, and that it keeps.
    examples_, example_labels_ : csr_array
        After `fit` with `confidence`: the examples, by which margins are judged.

    Examples
    --------
    >>> from labelwood import HierarchicalRLSClassifier, Taxonomy
    >>> tree = Taxonomy.from_edges([("animal", "cat"), ("animal", "dog")])
    >>> X = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    >>> model = HierarchicalRLSClassifier(tree)
    >>> model.fit(X, [["animal", "cat"], ["animal", "dog"], []]).predict(X).toarray().tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    _constraints: ClassVar[Constraints] = {
        **HierarchicalClassifier._constraints,
        "store": OneOf("all", "margin"),
        "margin": Real(low=0),
        "max_support": (Integer(low=1), None),
        "confidence": (Real(above=0, below=1), None),
        "tol": Real(above=0),
        "max_iter": Integer(low=1),
    }
    _keeps_inverse: ClassVar[bool] = True

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        train: str = "hierarchical",
        store: str = "all",
        margin: float = 0.2,
        max_support: int | None = None,
        confidence: float | None = None,
        close_labels: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.train = train
        self.store = store
        self.margin = margin
        self.max_support = max_support
        self.confidence = confidence
        self.close_labels = close_labels
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Solve the least squares of every node on the rows of `X`."""
        self._say_what_fit_ignores()
        with self._all_or_nothing():
            matrix, Y = self._begin(X, y, first=True)
            labels_with_samples(Y)
            self._solve_all(self._unit(matrix), Y)
        return self

    def _say_what_fit_ignores(self) -> None:
        given = [name for name, value in _ON_LINE.items() if getattr(self, name) != value]
        if given:
            warnings.warn(
                f"fit takes all examples; {', '.join(given)} are for partial_fit alone.",
                LabelwoodWarning,
                stacklevel=3,
            )

    def _solve_all(self, unit: CSR, Y: CSR) -> None:
        self.n_positive_ = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
        solved = solve_nodes(
            unit,
            self._examples(Y),
            self.n_positive_ > 0,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        weights = sorted((one for part in solved for one in part.weights), key=lambda one: one.node)
        self._set_postings(side_by_side(weights, self.n_features_in_))
        self.n_iter_ = np.zeros(Y.shape[1], dtype=np.int64)
        for part in solved:
            self.n_iter_[[one.node for one in part.weights]] = part.n_iter
        self._say_why_it_stopped(sum(int(np.sum(part.left > self.tol)) for part in solved))
        if self.confidence is not None:
            self.examples_, self.example_labels_ = unit, Y

    def _say_why_it_stopped(self, n_unsolved: int) -> None:
        self.stop_reason_ = "tolerance met for every node"
        if n_unsolved:
            self.stop_reason_ = (
                f"iteration limit for {n_unsolved} nodes; "
                f"raise max_iter (now {self.max_iter}) or tol"
            )
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=4)

    def _learn(self, support: Support, i: int, rows: NDArray[np.int64], signs: DoubleArray) -> None:
        margin = _EVERY_MARGIN if self.store == "all" else float(self.margin)
        limit = NO_LIMIT if self.max_support is None else int(self.max_support)
        store, counts, n_features = support.store, support.counts[i], self.n_features_in_

        def take(node: Node, start: int, settles: bool) -> int:
            return learn(
                *store, n_features, rows[start:], signs[start:],
                node.rows, node.alpha, node.inverse, node.pending, node.factors, counts,
                settles, margin, limit,
            )  # fmt: skip

        learn_in_room(support, i, rows.size, limit, take)

    def _begin(
        self, X: object, y: object, classes: object = None, *, first: bool
    ) -> tuple[CSR, CSR]:
        matrix, Y = super()._begin(X, y, classes, first=first)
        limit = NO_LIMIT if self.max_support is None else self.max_support
        if not first and np.any(self.n_support_ > limit):
            raise ParameterError(
                f"A node keeps {self.n_support_.max()} examples already, more than "
                f"max_support={limit}; raise it."
            )
        return matrix, Y

    def _estimates(self, node: int, X: CSR, margins: FloatArray) -> Estimates | None:
        """Lemmas 2 and 3 at the points themselves, before their eigenvalue bounds.

        With r = xᵀA⁻¹x, A = I + SSᵀ, and u = SᵀA⁻¹x the variance is at most ‖u‖²/(1 + r)² and,
        as |uᵢᵀA⁻¹x| ≤ ‖A⁻¹x‖, the bias at most (‖A⁻¹x‖ + r)/(1 + r); ‖A⁻¹x‖² = r − ‖u‖².
        """
        found = self._spreads(node, unit_rows(X))
        if found is None:
            return None
        r, squares = found.T
        away = np.sqrt(np.maximum(r - squares, 0))
        return Estimates(margins / (1 + r), np.sqrt(squares) / (1 + r), (away + r) / (1 + r))

    def _spreads(self, node: int, X: CSR) -> DoubleArray | None:
        """Columns r and ‖u‖² (see `_estimates`); None without examples."""
        if "support_counts_" in vars(self):
            support = self._support()
            return spreads(
                *support.store, self.n_features_in_, csr_arrays(X), support.rows[node],
                support.inverse[node], support.pending[node], support.factors[node],
                support.counts[node],
            )  # fmt: skip
        if "examples_" not in vars(self):
            return None
        parent = -1 if self.train_ == "independent" else int(self.parent_[node])
        rows = self._examples(self.example_labels_).of_children(parent)
        local, S = Rows.of(self.examples_, rows), self.examples_[rows]
        return local.spreads(S, X, self.max_iter, self.n_jobs)

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if "support_counts_" in vars(self):
            return
        wanted: FittedAttributes = {"n_iter_": (np.int64, ("labels",)), "stop_reason_": str}
        check_fitted_attributes(self, wanted, {"labels": self.classes_.size})
        if "examples_" in vars(self):
            self.examples_ = as_csr(self.examples_, n_columns=self.n_features_in_)
            self.example_labels_ = as_csr(self.example_labels_, n_columns=self.classes_.size)
            if self.examples_.shape[0] != self.example_labels_.shape[0]:
                raise DataError("examples_ and example_labels_ must have the same rows")
            counted = np.bincount(self.example_labels_.indices, minlength=self.classes_.size)
            if not np.array_equal(counted, self.n_positive_):
                raise DataError("n_positive_ must count the example_labels_")
