"""Regularized least squares at each node of a taxonomy, at once or on line."""

import warnings
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes, check_fitted_attributes
from labelwood.core.labels import labels_with_samples
from labelwood.core.params import Constraints, Integer, OneOf, Real
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.taxonomy.hierarchical_rls.conjugate_gradient import Settings, solve_nodes
from labelwood.taxonomy.hierarchical_rls.intervals import BatchMargins, OnlineMargins
from labelwood.taxonomy.hierarchical_rls.update_rule import LeastSquaresRule
from labelwood.taxonomy.hierarchy import HierarchicalClassifier, as_postings

_ONLINE_DEFAULTS = {"store": "all", "margin": 0.2, "max_support": None}


class HierarchicalRLSClassifier(HierarchicalClassifier):
    """A least-squares classifier at each node of a taxonomy, learned from its parent's samples.

    Labels stand in a forest; a sample may have several paths, which end anywhere. The weights of
    a node are w = (I + SSᵀ)⁻¹Sv, where S are the samples that have its parent's label (all, for
    a root) and v = ±1 says which have its own. A label is predicted when wᵀx > 0 and its parent
    is predicted, so that label sets always agree with the taxonomy. Rows are scaled to unit
    length. The algorithm is that of Cesa-Bianchi, Conconi & Gentile 2004.

    `fit` solves all nodes at once and exactly. `partial_fit` learns on line, from samples that
    come one by one or in batches, and keeps those on which the weights rest.

    Parameters
    ----------
    taxonomy : Taxonomy or None
        The forest of the labels, matched to names of labels by name and to the columns of an
        indicator by position (by number, where that is what nodes are called). None makes every
        label a root.
    train : {"hierarchical", "independent"}
        Whether a node learns from the samples of its parent, or from all.
    store : {"all", "margin"}
        Which samples `partial_fit` keeps at a node: all, or those that are mistaken or have
        |wᵀx| ≤ `margin` when they come. Memory and time grow with the square of their number,
        and with "all" with the square of the number of features once that is smaller: the node
        then takes the primal form, which keeps (I + SSᵀ)⁻¹ in place of samples (`primal_`).
        Samples that are kept by their labels allow no intervals. `fit` uses all samples, and
        warns where this, `margin` or `max_support` differ from their defaults.
    margin : float
        The largest |wᵀx| that counts as small. On training samples it lies between 0 and 1.
    max_support : int or None
        How many samples a node keeps at most. When one more comes, the one of the
        smallest |α| leaves, which is the one that the weights Σ α x need least. From then on
        the node gives no intervals.
    confidence : float or None
        With a level between 0 and 1, a label is predicted only if the lower end of its interval
        is positive, so that unsure samples get the coarser label. It needs intervals, and so
        `fit`, or `partial_fit` with ``store="all"`` and no `max_support`. Rankings
        (`predict_topk`) do not depend on it.
    close_labels : bool
        Give every label its ancestors; else a label without its parent is an error.
    assignment : {"sign", "likeliest"}
        Predict each label by the sign of its margin, given its parent; or the label set of
        greatest probability if (1 + margin)/2 is the probability of a label given its parent. On
        RCV1 that gained nothing: 43.2 against 43.1 % with any label wrong. It can be changed
        after the fit.
    tol : float
        `fit` stops at a node when its residual is at most `tol` ‖v‖.
    max_iter : int
        Maximum number of iterations of `fit` for a node.
    n_jobs : int or None
        Number of threads over nodes; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
        Label names, or 0…n_labels−1.
    parent_ : array of shape (n_labels,)
        The parent of each label, −1 for a root.
    n_positive_ : array of shape (n_labels,)
        Samples that had each label.
    untrained_ : array
        The labels that no sample had: they are never predicted.
    train_ : str
        The `train` that learning began with.
    scaled_ : bool
        Whether rows had to be scaled to length one, or were empty.
    coef_ : csr_array of shape (n_labels, n_features)
        The weights.
    n_iter_ : int
        After `fit`: the largest number of iterations of a node.
    n_iter_labels_ : array of shape (n_labels,)
        After `fit`: iterations of each node.
    stop_reason_ : str
        After `fit`: whether all nodes met the tolerance, or how many met the limit.
    n_seen_, n_support_ : arrays of shape (n_labels,)
        After `partial_fit`: samples that each node has seen, and that its weights rest on.
    primal_ : array of shape (n_labels,)
        After `partial_fit`: whether each node has taken the primal form, where a sample costs
        the square of the number of features. The weights are the same up to rounding.
    examples_, example_labels_ : csr_array
        After `fit` with `confidence`: the training samples, from which intervals are computed.

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
        assignment: str = "sign",
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
        self.assignment = assignment
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(self, X: object, y: object) -> Self:
        """Solve the least squares of every node on the rows of `X`."""
        self._warn_of_ignored_parameters()
        matrix, Y = self._begin(X, y, first=True)
        labels_with_samples(Y)
        self._solve_all(self._unit(matrix), Y)
        return self

    def _warn_of_ignored_parameters(self) -> None:
        given = [name for name, value in _ONLINE_DEFAULTS.items() if getattr(self, name) != value]
        if given:
            warnings.warn(
                f"fit uses all samples; {', '.join(given)} are parameters of partial_fit alone.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )

    def _solve_all(self, unit: CSR, Y: CSR) -> None:
        self.n_positive_ = np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.int64)
        trained = self.n_positive_ > 0
        settings = Settings(self.tol, self.max_iter)
        solved = solve_nodes(unit, self._training_sets(Y), trained, settings, self.n_jobs)
        self._set_postings(as_postings(solved.weights, self.n_features_in_))
        n_iter = np.zeros(Y.shape[1], dtype=np.int64)
        n_iter[trained] = solved.n_iter
        self.n_iter_labels_, self.n_iter_ = n_iter, int(n_iter.max(initial=0))
        self._set_stop_reason(int(np.count_nonzero(solved.residual > self.tol)))
        if self.confidence is not None:
            self.examples_, self.example_labels_ = unit, Y

    def _set_stop_reason(self, n_unsolved: int) -> None:
        self.stop_reason_ = "tolerance met for every node"
        if n_unsolved:
            self.stop_reason_ = (
                f"iteration limit for {n_unsolved} nodes; "
                f"raise max_iter (now {self.max_iter}) or tol"
            )
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=user_stacklevel())

    def _update_rule(self) -> LeastSquaresRule:
        margin = None if self.store == "all" else self.margin
        return LeastSquaresRule(margin, self.max_support, self.n_features_in_)

    def _check_rule(self) -> None:
        """Refuse parameters of `partial_fit` that cannot be had together, or any more."""
        if self.confidence is not None and self.store == "margin":
            raise ParameterError(
                "confidence needs intervals, which do not hold when samples are kept by their "
                "labels, as with store='margin'; set store='all' or confidence=None."
            )
        if "support_counts_" in vars(self) and self.max_support is not None:
            n_primal = int(np.count_nonzero(self.primal_))
            if n_primal:
                raise ParameterError(
                    f"{n_primal} nodes have the primal form and keep no samples that could leave; "
                    f"set max_support=None, or learn from scratch with {self.max_support}."
                )
            most = int(self.n_support_.max(initial=0))
            if most > self.max_support:
                raise ParameterError(
                    f"A node keeps {most} samples already, more than "
                    f"max_support={self.max_support}; raise it."
                )

    @property
    def primal_(self) -> NDArray[np.bool_]:
        """Whether each node has taken the primal form in `partial_fit`."""
        self._counts()
        nodes = self._nodes()
        return np.array([nodes.node(i).is_primal for i in range(self.classes_.size)], dtype=bool)

    def _margin_estimator(self) -> OnlineMargins | BatchMargins | None:
        independent = self.train_ == "independent"
        linear = (self.parent_ < 0) | (not independent)
        if "support_counts_" in vars(self):
            return OnlineMargins(linear, self._nodes(), self.n_features_in_)
        if "examples_" not in vars(self):
            return None
        return BatchMargins(
            linear,
            self.examples_,
            self._training_sets(self.example_labels_),
            self.max_iter,
            self.n_jobs,
        )

    def _check_fitted(self) -> None:
        super()._check_fitted()
        if "support_counts_" in vars(self):
            return
        wanted: FittedAttributes = {
            "n_iter_labels_": (np.int64, ("labels",)),
            "stop_reason_": str,
        }
        check_fitted_attributes(self, wanted, {"labels": self.classes_.size})
        if "n_iter_" not in vars(self):  # in model files of format 1
            self.n_iter_ = int(self.n_iter_labels_.max(initial=0))
        check_fitted_attributes(self, {"n_iter_": int}, {})
        if "examples_" in vars(self):
            self._check_examples()

    def _check_examples(self) -> None:
        self.examples_ = as_csr(self.examples_, n_columns=self.n_features_in_)
        self.example_labels_ = as_csr(self.example_labels_, n_columns=self.classes_.size)
        if self.examples_.shape[0] != self.example_labels_.shape[0]:
            raise DataError("examples_ and example_labels_ must have the same rows")
        counted = np.bincount(self.example_labels_.indices, minlength=self.classes_.size)
        if not np.array_equal(counted, self.n_positive_):
            raise DataError("n_positive_ must count the example_labels_")
