"""State of on-line learning: stored rows that all nodes share, and the support of each node."""

from abc import ABC, abstractmethod
from typing import NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.sparse import CSRArrays, csr_arrays, cuts
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.errors import DataError
from labelwood.taxonomy.hierarchy._row_kernels import (
    N_COUNTS,
    PENDING,
    POSITIVE,
    SEEN,
    SELECTED,
    SUPPORT,
)

TERMS = 32  # rank-one terms that may be pending; a multiple of four, as they are added by fours
NO_LIMIT = 2**62  # of the examples that a node keeps
_SWEEP_ROWS = 1024  # stored rows after which unused ones are looked for
_MODERATE = 1e15  # far above what learning gives, far below what float32 holds
_MEMORY_CHECK_BYTES = 2**26  # smaller allocations are made without asking for free memory

_Number = TypeVar("_Number", np.int64, np.float64)


class Node(NamedTuple):
    """State of a node, with capacity for more support than there is.

    `rows[i]` is the stored row of example i and `alpha[i]` its coefficient: the weights are the
    sum of the rows, each times its coefficient. The others are (I + G)⁻¹, G being the Gram matrix
    of the support (see `hierarchical_rls._inverse_kernels`), and empty for a rule without it.

    A node in the primal form has no rows: `alpha` are the weights themselves, and `inverse` is
    (I + SSᵀ)⁻¹ of all features, row by row, whatever the number of examples.
    """

    rows: NDArray[np.int64]
    alpha: DoubleArray
    inverse: DoubleArray
    pending: DoubleArray
    factors: DoubleArray

    @classmethod
    def empty(cls, *, inverse: bool) -> Self:
        """No support, and no capacity for it."""
        none, terms = np.empty(0), TERMS if inverse else 0
        return cls(np.empty(0, dtype=np.int64), none, none, np.empty((terms, 0)), np.zeros(terms))

    @property
    def is_primal(self) -> bool:
        """Whether the node has weights in place of support."""
        return self.rows.size == 0 < self.alpha.size

    def copied(self) -> Self:
        """A copy, except for the triangle unless that is read-only, as one that was loaded."""
        parts = {name: part.copy() for name, part in self._asdict().items() if name != "inverse"}
        inverse = self.inverse if self.inverse.flags.writeable else self.inverse.copy()
        return self._replace(inverse=inverse, **parts)

    def enlarged(self, limit: int) -> Self:
        """The same with capacity for a quarter more examples, at most `limit`."""
        size, terms = min(limit, self.rows.size + self.rows.size // 4 + 32), self.factors.size
        triangle = size * (size + 1) // 2 if terms else 0
        _require(triangle, f"A node with {size:,} examples")
        pending = np.zeros((terms, size))
        pending[:, : self.pending.shape[1]] = self.pending
        return type(self)(
            _padded(self.rows, size),
            _padded(self.alpha, size),
            _padded(self.inverse, triangle),
            pending,
            self.factors,
        )

    @classmethod
    def primal(cls, n_features: int) -> Self:
        """The primal form of a node without examples: A = I, and weights of zero."""
        _require(n_features**2, f"A node with {n_features:,} features")
        empty = cls.empty(inverse=True)
        return empty._replace(alpha=np.zeros(n_features), inverse=np.eye(n_features).ravel())


class Examples(NamedTuple):
    """What a node learns from in one call: stored rows, and ±1 for each."""

    rows: NDArray[np.int64]
    signs: DoubleArray

    def after(self, start: int) -> "Examples":
        """Those from number `start` on."""
        return Examples(self.rows[start:], self.signs[start:])


class UpdateRule(ABC):
    """How a node learns from one example after another."""

    keeps_inverse: bool
    """Whether nodes need (I + G)⁻¹."""
    max_support: int = NO_LIMIT
    """How many examples a node keeps at most."""

    @abstractmethod
    def update(
        self,
        store: CSRArrays,
        n_features: int,
        examples: Examples,
        node: Node,
        counts: NDArray[np.int64],
        may_flush: bool,
    ) -> int:
        """Learn from `examples` in their order, in `node` and `counts`; return how many were used.

        Fewer than all are used when the node must be `enlarged`, or when the inverse would have
        to be written without `may_flush`.
        """

    def enlarged(
        self, store: CSRArrays, n_features: int, node: Node, counts: NDArray[np.int64]
    ) -> Node | None:
        """The node with a larger capacity where it has none left; None where it has."""
        if counts[SUPPORT] == node.rows.size < self.max_support:
            return node.enlarged(self.max_support)
        return None


class Nodes(NamedTuple):
    """Stored rows (CSR), the counts of each node, and the parts of the nodes, a list each."""

    indptr: PointerArray
    indices: IndexArray
    data: FloatArray
    counts: NDArray[np.int64]
    rows: list[NDArray[np.int64]]
    alpha: list[DoubleArray]
    inverse: list[DoubleArray]
    pending: list[DoubleArray]
    factors: list[DoubleArray]

    @classmethod
    def empty(cls, n_nodes: int, *, inverse: bool) -> Self:
        """Nodes that have seen nothing."""
        store = (np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.float32))
        nodes = [Node.empty(inverse=inverse) for _ in range(n_nodes)]
        parts = ([getattr(node, name) for node in nodes] for name in Node._fields)
        return cls(*store, np.zeros((n_nodes, N_COUNTS), dtype=np.int64), *parts)  # type: ignore[arg-type]

    def node(self, i: int) -> Node:
        """Node `i` as it is."""
        return Node(*(getattr(self, name)[i] for name in Node._fields))

    @property
    def store(self) -> CSRArrays:
        """The stored rows, for kernels."""
        return CSRArrays(self.indptr, self.indices, self.data)

    @property
    def n_rows(self) -> int:
        """How many rows are stored."""
        return int(self.indptr.size) - 1

    def with_rows(self, X: CSR) -> Self:
        """The same with the rows of `X` stored after those that are.

        It has counts and lists of its own: to learn in it leaves this one as it is.
        """
        new = csr_arrays(X)
        store = (
            np.concatenate([self.indptr, self.indptr[-1] + new.indptr[1:]]),
            np.concatenate([self.indices, new.indices]),
            np.concatenate([self.data, new.data]),
        )
        parts = (list(getattr(self, name)) for name in Node._fields)
        return type(self)(*store, self.counts.copy(), *parts)

    def learn(self, i: int, examples: Examples, rule: UpdateRule, n_features: int) -> None:
        """Node `i` learns from `examples` by `rule`; the arrays it had are not written into.

        The inverse is large and changes seldom, so it is copied only when the rule reports that
        it must be written, and every other array at once.
        """
        node, counts = self.node(i).copied(), self.counts[i]
        used = rule.update(self.store, n_features, examples, node, counts, False)
        while used < examples.rows.size:
            larger = rule.enlarged(self.store, n_features, node, counts)
            node = larger or node._replace(inverse=node.inverse.copy())
            rest = examples.after(used)
            used += rule.update(self.store, n_features, rest, node, counts, True)
        for name, part in zip(Node._fields, node, strict=True):
            getattr(self, name)[i] = part

    def swept(self, n_before: int) -> Self:
        """The same without the rows that no node uses, where these are most of them.

        They are looked for when another thousand rows have come since there were `n_before`.
        """
        if self.n_rows // _SWEEP_ROWS == n_before // _SWEEP_ROWS:
            return self
        used = np.zeros(self.n_rows, dtype=bool)
        for rows, n in zip(self.rows, self.counts[:, SUPPORT], strict=True):
            used[rows[:n]] = True
        if 2 * np.count_nonzero(used) > used.size:
            return self
        position = np.cumsum(used) - 1
        for i, n in enumerate(self.counts[:, SUPPORT]):
            self.rows[i] = _padded(position[self.rows[i][:n]], self.rows[i].size)
        lengths = np.diff(self.indptr)
        kept = np.repeat(used, lengths)
        indptr = np.concatenate([[0], np.cumsum(lengths[used])])
        return self._replace(indptr=indptr, indices=self.indices[kept], data=self.data[kept])

    def check(self, n_features: int, n_nodes: int, *, inverse: bool) -> None:
        """Refuse arrays that would send a kernel out of bounds, or that no learning gives."""
        if (
            not cuts(self.indptr, self.n_rows, self.indices.size)
            or self.data.size != self.indices.size
            or np.any(self.indices >= n_features)
            or not moderate(self.data)
        ):
            raise DataError("the stored rows are inconsistent")
        if any(len(getattr(self, name)) != n_nodes for name in Node._fields):
            raise DataError("the support must have parts for each label")
        for i in range(n_nodes):
            node, counts = self.node(i), self.counts[i]
            if not _is_typed(node):
                fits = False
            elif inverse and node.is_primal:
                fits = _fits_primal(node, counts, n_features)
            else:
                fits = _fits(node, counts, self.n_rows, inverse=inverse)
            if not fits:
                raise DataError(f"the support of label {i} is inconsistent")


def moderate(values: AnyArray) -> bool:
    """Whether all are numbers whose products and sums stay within float32."""
    return bool(np.all(np.abs(values) < _MODERATE))


def _padded(array: NDArray[_Number], size: int) -> NDArray[_Number]:
    longer: NDArray[_Number] = np.zeros(size, dtype=array.dtype)
    longer[: array.size] = array
    return longer


def _require(n_floats: int, what: str) -> None:
    """Refuse an inverse of `n_floats` that memory cannot hold."""
    if 8 * n_floats > _MEMORY_CHECK_BYTES:
        require_memory(8 * n_floats, what, "set max_support, or store='margin', or fit at once")


def _is_typed(node: Node) -> bool:
    """Whether all parts are arrays of the types that kernels take."""
    kinds = (np.int64, np.float64, np.float64, np.float64, np.float64)
    return all(
        isinstance(part, np.ndarray) and part.dtype == kind
        for part, kind in zip(node, kinds, strict=True)
    )


def _fits(node: Node, counts: NDArray[np.int64], n_rows: int, *, inverse: bool) -> bool:
    """Whether kernels can work on the support as it is."""
    size, n = node.rows.size, counts[SUPPORT]
    terms, triangle = (TERMS, size * (size + 1) // 2) if inverse else (0, 0)
    return bool(
        node.rows.ndim == 1
        and 0 <= n <= size
        and 0 <= counts[PENDING] <= terms
        and node.alpha.shape == (size,)
        and node.inverse.shape == (triangle,)
        and node.pending.shape == (terms, size)
        and node.factors.shape == (terms,)
        and np.all((node.rows[:n] >= 0) & (node.rows[:n] < n_rows))
        and np.unique(node.rows[:n]).size == n
        and _is_plausible(node, counts)
    )


def _fits_primal(node: Node, counts: NDArray[np.int64], n_features: int) -> bool:
    """Whether kernels can work on the primal form as it is."""
    return bool(
        counts[SUPPORT] > 0
        and counts[PENDING] == 0
        and node.alpha.shape == (n_features,)
        and node.inverse.shape == (n_features**2,)
        and node.pending.shape == (TERMS, 0)
        and node.factors.shape == (TERMS,)
        and _is_plausible(node, counts)
    )


def _is_plausible(node: Node, counts: NDArray[np.int64]) -> bool:
    """Whether the counts agree with each other, and all numbers are those of learning."""
    return bool(
        0 <= counts[POSITIVE] <= counts[SEEN]
        and 0 <= counts[SELECTED] <= counts[SEEN]
        and counts[SUPPORT] <= counts[SEEN]
        and all(moderate(part) for part in node[1:])
    )
