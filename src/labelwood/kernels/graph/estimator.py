"""Few labeled samples, many unlabeled ones: labels spread over a graph of both."""

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import FittedAttributes
from labelwood.core.estimator import LabelEstimator
from labelwood.core.params import N_JOBS, Boolean, Constraints, Integer, OneOf, Real
from labelwood.core.sparse import check_structure, row_numbers
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray
from labelwood.errors import DataError
from labelwood.kernels.functions import Samples, canonical
from labelwood.kernels.graph import neighbors as knn
from labelwood.kernels.graph.transduction import (
    check_graph,
    label_remote_nodes,
    make_system,
    node_scales,
    solve_labels,
    unreachable_nodes,
)
from labelwood.kernels.scores import check_two_classes

_LEAST_SCORE = 1e-3  # smaller scores are not kept


class GraphLaplacianClassifier(LabelEstimator):
    """Transduction: labels of few samples spread over a graph of labeled and unlabeled ones.

    It minimizes the squared error at the labeled nodes plus the graph Laplacian's penalty
    Σ w_ij (f_i − f_j)² (*Topics in Learning Theory*, lecture 8) by preconditioned conjugate
    gradient. Scores are shares: of the labeled nodes that are near in the graph, how many have
    the label. Nodes in components without a labeled node get no answer, and are listed.

    Parameters
    ----------
    metric : {"auto", "cosine", "euclidean", "precomputed"}
        Of the nearest neighbors. "auto" takes the cosine for sparse rows, by exact search in
        postings, and the Euclidean distance for tables. With "precomputed" X is the graph: a
        sparse symmetric matrix of weights; in prediction, of new samples by nodes.
    n_neighbors : int
        Edges from each node; two nodes are joined if either is a neighbor of the other.
    weights : {"similarity", "uniform"}
        Squared cosines, or exp(−d²) in units of local scales; or 1 for every edge.
    normalized : bool
        Whether the Laplacian is normalized by the degrees of the nodes.
    alpha : float
        Weight of the graph's penalty against the error at one labeled node.
    decay : float
        How fast labels fade with the distance; 0 is the plain Laplacian.
    threshold : float
        `predict` gives labels of at least this score, and always the best one.
    tol, max_iter : float, int
        Of conjugate gradient, by the norm of the residual.
    n_jobs : int or None
        Threads over rows and blocks of labels; results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_labels,)
    transduction_ : csr_array of shape (n_nodes, n_labels)
        Scores of all nodes: the samples of `fit` in their order, then the unlabeled ones. A row
        is empty where there is no answer.
    unanswered_ : array of int
        Nodes in components without a labeled node.
    labeled_ : array of int
        Nodes with a label.
    graph_ : csr_array of shape (n_nodes, n_nodes)
    n_components_ : int
    n_iter_, stop_reason_ :
        Of conjugate gradient.

    Examples
    --------
    >>> from labelwood import GraphLaplacianClassifier
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
    >>> model = GraphLaplacianClassifier(n_neighbors=2)
    >>> model.fit([X[0], X[5]], ["low", "high"], X_unlabeled=X[1:5]).n_components_
    2
    >>> model.predict([[1.5], [10.5]]).tolist()
    ['low', 'high']
    """

    # Decay, the square of the cosine, the number of neighbors (10 or 20) and the threshold were
    # chosen on the unlabeled training documents of Reuters and RCV1, with 2 and 5 % of the labels.
    _constraints: ClassVar[Constraints] = {
        "metric": OneOf("auto", "cosine", "euclidean", "precomputed"),
        "n_neighbors": Integer(low=1),
        "weights": OneOf("similarity", "uniform"),
        "normalized": Boolean(),
        "alpha": Real(above=0),
        "decay": Real(low=0),
        "threshold": Real(above=0, high=1),
        "tol": Real(above=0, below=1),
        "max_iter": Integer(low=1),
        "n_jobs": N_JOBS,
    }
    _fitted: ClassVar[FittedAttributes] = {
        "metric_": str,
        "transduction_": (np.float32, (None, "labels")),
        "graph_": (np.float64, (None, None)),
        "mass_": (np.float64, (None,)),
        "unanswered_": (np.int64, (None,)),
        "labeled_": (np.int64, (None,)),
        "n_components_": int,
        "n_iter_": int,
        "stop_reason_": str,
    }
    _threshold: ClassVar[float] = 0.0

    transduction_: CSR
    graph_: CSR
    X_fit_: Samples | None

    def __init__(
        self,
        *,
        metric: str = "auto",
        n_neighbors: int = 20,
        weights: str = "similarity",
        normalized: bool = True,
        alpha: float = 1.0,
        decay: float = 0.15,
        threshold: float = 0.4,
        tol: float = 1e-5,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.normalized = normalized
        self.alpha = alpha
        self.decay = decay
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs

    def fit(
        self,
        X: object,
        y: object,
        *,
        X_unlabeled: object = None,
        labeled: ArrayLike | None = None,
    ) -> Self:
        """Build the graph and spread the labels of the labeled samples.

        Parameters
        ----------
        X : samples, or with metric="precomputed" the graph
        y : labels of the rows of X
            In an indicator or in label lists, rows without a label are unlabeled. Of one class
            per sample every row is labeled, and −1 is a class like any other: name the labeled
            rows, or give the others as `X_unlabeled`.
        X_unlabeled : more samples, all unlabeled
        labeled : mask or row numbers
            Which rows of `y` count, where it is not all those with a label: a row that has no
            label by `y` and is named here counts as labeled with none.
        """
        matrix, Y = self._begin_fit(X, y)
        check_two_classes(Y, self.multilabel_)
        nodes = self._labeled_rows(Y, labeled)
        samples, n_nodes = self._nodes(matrix, X_unlabeled)
        W = self._build_graph(samples)
        system = make_system(
            W,
            nodes,
            alpha=float(self.alpha),
            decay=float(self.decay),
            normalized=self.normalized,
        )
        solved = solve_labels(
            system,
            nodes,
            sp.csr_array(Y[nodes]),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            least=_LEAST_SCORE,
            n_jobs=self.n_jobs,
        )
        solved = label_remote_nodes(system, solved, tol=float(self.tol), least=_LEAST_SCORE)
        self.graph_, self.labeled_ = W, nodes.astype(np.int64)
        self.transduction_, self.mass_ = solved.scores, solved.mass
        missing, component = unreachable_nodes(W, nodes)
        self.unanswered_ = missing.astype(np.int64)
        self.n_components_ = int(component.max(initial=-1)) + 1
        self.X_fit_ = None if self.metric_ == "precomputed" else samples
        self.n_nodes_ = n_nodes
        self._set_stop_reason(solved.n_iter, solved.converged)
        return self

    def _labeled_rows(self, Y: CSR, labeled: ArrayLike | None) -> AnyArray:
        if labeled is None:
            rows = np.flatnonzero(np.diff(Y.indptr)) if self.multilabel_ else np.arange(Y.shape[0])
            # Without a single label column everything is known: that there is none.
            rows = np.arange(Y.shape[0]) if Y.shape[1] == 0 else rows
        else:
            rows = np.unique(row_numbers(labeled, Y.shape[0], name="labeled"))
        if rows.size == 0:
            raise DataError("No sample is labeled; at least one must be.")
        return rows

    def _nodes(self, X: CSR, X_unlabeled: object) -> tuple[Samples, int]:
        """All samples in one matrix, in the form that the metric goes by."""
        if self.metric == "precomputed":
            if X_unlabeled is not None:
                raise DataError("With metric='precomputed' all samples are nodes of X itself.")
            self.metric_ = "precomputed"
            return X, X.shape[0]
        rows = X
        if X_unlabeled is not None:
            more = self._check_X(X_unlabeled)
            rows = sp.csr_array(sp.vstack([X, more], format="csr"))
        self.metric_ = self.metric
        if self.metric == "auto":
            filled = rows.nnz / max(rows.shape[0] * rows.shape[1], 1)
            self.metric_ = "cosine" if filled <= 0.25 else "euclidean"
        return self._form(rows), rows.shape[0]

    def _form(self, X: CSR) -> Samples:
        return X if self.metric_ == "cosine" else canonical(X, sparse=False)

    def _build_graph(self, samples: Samples) -> CSR:
        if self.metric_ == "precomputed":
            return check_graph(sp.csr_array(samples))
        directed = self._neighbors(samples, samples, same=True)
        return check_graph(sp.csr_array(directed.maximum(directed.T)))

    def _neighbors(self, known: Samples, new: Samples, *, same: bool) -> CSR:
        """Weights of the nearest nodes of each row."""
        n = known.shape[0]
        k = min(int(self.n_neighbors), n - 1 if same else n)
        if k < 1:
            graph = sp.csr_array((new.shape[0], n), dtype=np.float64)
        elif self.metric_ == "cosine":
            index: knn.CosineIndex = self._index(known, same)
            found = index.topk(new, k, same=same, n_jobs=self.n_jobs)
            graph = knn.cosine_graph(*found, n)
        else:
            searched = None if same else new
            indices, distances = knn.euclidean_neighbors(self._index(known, same), searched, k)
            if same:
                self.scales_ = np.maximum(distances[:, -1], 1e-12)
            own = self.scales_ if same else np.maximum(distances[:, -1], 1e-12)
            graph = knn.euclidean_graph(indices, distances, own, self.scales_)
        if self.weights == "uniform":
            graph.data[:] = 1
        return graph

    def _index(self, known: Samples, fitting: bool) -> Any:
        """An index of the nodes, which is kept from the first prediction on.

        It takes as much memory as the samples themselves, and is not needed for those of `fit`.
        """
        if fitting:
            return knn.make_index(self.metric_, known, self.n_jobs)
        cache = self._kept_index
        found = cache.get("index")
        if found is None or found[0] is not known:  # threads at worst make it twice
            found = cache["index"] = (known, knn.make_index(self.metric_, known, self.n_jobs))
        return found[1]

    def _keep_derived(self) -> None:
        super()._keep_derived()
        self._kept_index: dict[str, Any] = {}

    def _set_stop_reason(self, n_iter: int, converged: bool) -> None:
        self.n_iter_ = max(n_iter, 1)
        self.stop_reason_ = f"residual below {self.tol:g} for every label"
        if not converged:
            self.stop_reason_ = f"iteration limit; raise max_iter (now {self.max_iter}) or tol"
            warnings.warn(self.stop_reason_, ConvergenceWarning, stacklevel=user_stacklevel())

    def transduced_topk(self, k: int = 5) -> TopK:
        """The `k` best labels of all nodes; −1 fills the rows that have no answer."""
        width = min(k, max(self.classes_.size, 1))
        return TopK.from_csr(self.transduction_, width, self.classes_)

    def transduced_labels(self) -> CSR:
        """The labels of all nodes by the rule of `predict`, as an indicator."""
        return self._decide(self.transduction_)

    def _decide(self, scores: CSR) -> CSR:
        """Labels of at least the threshold, and the best one."""
        best = np.zeros(scores.shape[0], dtype=np.float32)
        rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
        np.maximum.at(best, rows, scores.data)
        kept = (scores.data >= self.threshold) | (scores.data == best[rows])
        return sp.csr_array(
            (np.ones(int(kept.sum()), dtype=np.float32), (rows[kept], scores.indices[kept])),
            shape=scores.shape,
        )

    def _score(self, X: CSR, above: float | None = None) -> CSR:
        """Weighted mean of the scores of the nearest nodes, as a new node would get them."""
        if self.metric_ == "precomputed":
            weights = sp.csr_array(X, dtype=np.float64)
            if weights.nnz and weights.data.min() < 0:
                raise DataError("Weights of a graph must not be negative.")
        else:
            weights = self._neighbors(self.X_fit_, self._form(X), same=False)
        mass = self.mass_ * node_scales(self.graph_, self.normalized)
        share = sp.csr_array(weights @ sp.diags_array(mass))
        total = np.asarray(share.sum(axis=1), dtype=np.float64).ravel()
        inverse = np.where(total > 0, 1 / np.where(total > 0, total, 1), 0)
        scores = sp.csr_array(
            sp.diags_array(inverse) @ share @ self.transduction_.astype(np.float64)
        )
        scores.data = np.minimum(scores.data, 1)
        scores.eliminate_zeros()
        scores.sort_indices()
        scores = sp.csr_array(scores, dtype=np.float32)
        return scores if above is None else self._decide(scores)

    def predict(self, X: object) -> Any:
        """The labels of new samples; after a fit on one class per sample, the best class.

        A sample that is near no answered node has no label; if each must have a class, that is
        an error that names it.
        """
        if getattr(self, "multilabel_", True):
            return super().predict(X)
        scores = self._score(self._check_X(X))
        empty = np.flatnonzero(np.diff(scores.indptr) == 0)
        if empty.size:
            raise DataError(
                f"{empty.size} of {scores.shape[0]} samples have no answer (row {empty[0]}, …): no "
                "labeled node is connected with them; predict_topk gives the others."
            )
        return self.classes_[TopK.from_csr(scores, 1).labels[:, 0]]

    def _check_fitted(self) -> None:
        super()._check_fitted()
        sizes = self.graph_.shape[0] if sp.issparse(getattr(self, "graph_", None)) else -1
        if getattr(self.transduction_, "shape", (0,))[0] != sizes or self.mass_.shape != (sizes,):
            raise DataError("graph_, mass_ and transduction_ must be of the same nodes")
        for name in ("graph_", "transduction_"):
            check_structure(getattr(self, name), name)
        if self.transduction_.shape[1] != self.classes_.size:
            raise DataError("transduction_ must have a column for each label")
        if self.metric_ not in ("cosine", "euclidean", "precomputed"):
            raise DataError(f"metric_ must be a metric. Got {self.metric_!r} instead")
        if self.metric_ != "precomputed":
            known = self.X_fit_
            if known is None or known.shape != (sizes, self.n_features_in_):
                raise DataError("X_fit_ must hold the samples of the nodes")
            if sp.issparse(known):
                check_structure(known, "X_fit_")
        if self.metric_ == "euclidean" and self.scales_.shape != (sizes,):
            raise DataError("scales_ must have a number for each node")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags
