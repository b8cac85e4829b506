"""Learning along a taxonomy from a stream: each document is predicted, then learned from."""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.params import Integer, OneOf, Real, check_parameter
from labelwood.core.sparse import as_csr, csr_arrays, unit_rows
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError

_FULL = 512  # features up to which "auto" keeps the whole inverse: 2 MB per node


class TaxonomyStream:
    """Hierarchical least squares for a stream, in the primal: predict first, learn then.

    The learner of Cesa-Bianchi, Conconi & Gentile 2004, Figure 2, with A⁻¹ of every node kept
    up to date at a cost of d² (Sherman–Morrison), whatever the number of examples; its weights
    are those of `HierarchicalRLSClassifier`. For many features the diagonal of A stands for A: no
    longer the paper's learner, at a cost that follows the non-zeros of the document. Labels and
    nodes may appear at any time, examples of long ago may be forgotten, and the prequential
    error (of predictions made before learning) is counted.

    Parameters
    ----------
    n_features : int
    taxonomy : Taxonomy or None
        The first nodes; None for none. It must be a forest.
    inverse : {"auto", "full", "diagonal"}
        What is kept of A⁻¹ at each node; "auto" takes all of it up to 512 features.
    decay : float
        λ in (0, 1]: an example of k updates ago counts λ^k. 1 forgets nothing.
    window : int
        How many of the last documents `recent_error` looks back on.

    Attributes
    ----------
    names : list of str
        The labels, in the order in which they came.
    n_documents : int
    n_wrong : int
        Documents whose label set was not predicted exactly, before they were learned from.

    Examples
    --------
    >>> from labelwood.taxonomy.stream import TaxonomyStream
    >>> stream = TaxonomyStream(n_features=3)
    >>> X, Y = [[1, 0, 0], [0, 1, 0]] * 3, [["cat"], ["dog"]] * 3
    >>> stream.predict_then_learn(X, Y)[-2:]
    [['cat'], ['dog']]
    >>> stream.add_label("puma", parent="cat")
    >>> stream.predict_then_learn([[1, 0, 1]] * 3, [["puma"]] * 3)[-1]
    ['cat', 'puma']
    >>> stream.n_documents, stream.prequential_error
    (9, 0.333...)
    """

    def __init__(
        self,
        n_features: int,
        taxonomy: Taxonomy | None = None,
        *,
        inverse: str = "auto",
        decay: float = 1.0,
        window: int = 1000,
    ) -> None:
        owner = "TaxonomyStream"
        check_parameter(owner, "n_features", n_features, Integer(low=1))
        check_parameter(owner, "inverse", inverse, OneOf("auto", "full", "diagonal"))
        check_parameter(owner, "decay", decay, Real(above=0, high=1))
        check_parameter(owner, "window", window, Integer(low=1))
        if taxonomy is not None and not taxonomy.is_forest:
            raise DataError("A stream learns along a forest; this taxonomy has several parents.")
        self.n_features = int(n_features)
        self.decay = float(decay)
        self.full = inverse == "full" or (inverse == "auto" and n_features <= _FULL)
        self.names: list[str] = []
        self.n_documents = self.n_wrong = 0
        self._recent: deque[bool] = deque(maxlen=int(window))
        self._index: dict[str, int] = {}
        self._parent: list[int] = []
        self._arrays = self._fresh_nodes(0)
        self._shape = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))
        if taxonomy is not None:
            above = [None if p < 0 else taxonomy.names[p] for p in taxonomy.parent.tolist()]
            for node in taxonomy.order.tolist():
                self._append(taxonomy.names[node], above[node])
            self._grow()

    @property
    def prequential_error(self) -> float:
        """The share of all documents whose label set was predicted wrongly; NaN without any."""
        return self.n_wrong / self.n_documents if self.n_documents else float("nan")

    @property
    def recent_error(self) -> float:
        """The same over the last `window` documents."""
        return float(np.mean(self._recent)) if self._recent else float("nan")

    def add_label(self, name: str, parent: str | None = None) -> None:
        """A label that the stream did not have, a root or below `parent`."""
        self._append(name, parent)
        self._grow()

    def predict_then_learn(self, X: object, y: Sequence[Sequence[str]]) -> list[list[str]]:
        """The label set of each document before it is learned from, in the order of the rows.

        Parameters
        ----------
        X : features of shape (n, n_features)
            Rows are scaled to unit length; an empty one is predicted and not learned from.
        y : list of label lists
            By name; ancestors are added. A name that is not a label yet becomes one, as a root.
        """
        from labelwood.taxonomy.stream._kernels import predict_then_learn

        matrix = unit_rows(as_csr(X, n_columns=self.n_features))
        truth = [self._closed(labels) for labels in y]
        if len(truth) != matrix.shape[0]:
            raise DataError(f"X has {matrix.shape[0]} rows and y {len(truth)} label lists.")
        self._grow()
        # Built by hand: for a document at a time the checks of a matrix would cost more than the
        # learning.
        flat = [label for labels in truth for label in labels]
        indices = np.array(flat, dtype=np.uint32)
        indptr = np.zeros(len(truth) + 1, dtype=np.int64)
        np.cumsum([len(labels) for labels in truth], out=indptr[1:])
        parent, order = self._shape
        predicted = np.zeros((matrix.shape[0], parent.size), dtype=bool)
        predict_then_learn(
            csr_arrays(matrix), indptr, indices, parent, order, self._arrays, self.decay, predicted
        )
        return self._counted(predicted, truth)

    def _counted(self, predicted: NDArray[np.bool_], truth: list[set[int]]) -> list[list[str]]:
        """The names of the predicted labels; errors are counted on the way."""
        answers = []
        for row, labels in zip(predicted, truth, strict=True):
            found = np.flatnonzero(row).tolist()
            wrong = set(found) != labels
            self.n_documents += 1
            self.n_wrong += wrong
            self._recent.append(wrong)
            answers.append([self.names[node] for node in found])
        return answers

    def _closed(self, labels: Iterable[str]) -> set[int]:
        """The nodes of some names and their ancestors; new names are appended."""
        if isinstance(labels, str):
            raise DataError(f"y must hold a list of names for each document. Got {labels!r}.")
        nodes: set[int] = set()
        for name in labels:
            if name not in self._index:
                self._append(str(name), None)
            node = self._index[str(name)]
            while node >= 0 and node not in nodes:
                nodes.add(node)
                node = self._parent[node]
        return nodes

    def _append(self, name: str, parent: str | None) -> None:
        if not isinstance(name, str) or not name:
            raise DataError(f"A label must have a name. Got {name!r}.")
        if name in self._index:
            raise DataError(f"The stream has the label {name!r} already.")
        if parent is not None and parent not in self._index:
            raise DataError(f"The parent {parent!r} is not a label of the stream; add it first.")
        self._parent.append(-1 if parent is None else self._index[parent])
        self._index[name] = len(self.names)
        self.names.append(name)

    def _grow(self) -> None:
        """Nodes in the arrays for the labels that have none."""
        from labelwood.taxonomy.stream._kernels import State

        n_new = len(self.names) - self._arrays.n_seen.size
        if n_new:
            pairs = zip(self._arrays, self._fresh_nodes(n_new), strict=True)
            self._arrays = State(*(np.concatenate(pair) for pair in pairs))
            parent = np.array(self._parent, dtype=np.int32)
            # Labels come after their parents, so that their numbers are an order from the top.
            self._shape = parent, np.arange(parent.size, dtype=np.int32)

    def _fresh_nodes(self, n: int) -> "State":  # type: ignore[name-defined]  # noqa: F821
        """Nodes that have seen nothing: A = I."""
        from labelwood.taxonomy.stream._kernels import State

        d = self.n_features
        size = 8 * (len(self.names) + n) * d * (d + 1 if self.full else 2)
        if size > 2**26:
            require_memory(size, "the nodes of the stream", "take inverse='diagonal'")
        inverses = np.zeros((n if self.full else 0, d if self.full else 0, d if self.full else 0))
        inverses[:] = np.eye(inverses.shape[1])
        diagonals = np.ones((0 if self.full else n, 0 if self.full else d))
        counts = np.zeros(n, dtype=np.int64)
        return State(np.zeros((n, d)), inverses, diagonals, counts, counts.copy())
