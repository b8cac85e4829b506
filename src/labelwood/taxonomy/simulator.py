"""A data model in which the best predictions are known: labels drawn down a taxonomy.

Cesa-Bianchi, Conconi and Gentile (COLT 2004), §2. Every node i of a taxonomy has a
vector u_i of length one. An instance x of length one gets a root with probability (1 + u_i·x)/2,
and a node below with that probability if it got the parent; see `docs/research/taxonomy_bounds.md`.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from labelwood.core.labels import indicator
from labelwood.core.parallel import blocks
from labelwood.core.params import RANDOM_STATE, Instance, Integer, check_parameter
from labelwood.core.random import RandomState, seed_sequence
from labelwood.core.types import CSR, DoubleArray
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError
from labelwood.taxonomy.process import Process

_UNIT = 1e-4  # how far a length may be from one: rows may have been of 32 bits
_FLOATS_AT_ONCE = 2**20
_TRIES = 10_000  # draws for an instance, before the margins are held to be impossible

_STREAMS = ("vectors", "instances", "labels")

_Choice: TypeAlias = Callable[[int, NDArray[np.int64]], NDArray[np.bool_]]


class Sample(NamedTuple):
    """Instances (rows of length one) and the indicator of their labels."""

    X: DoubleArray
    Y: CSR


class TaxonomyModel:
    """Instances on the unit sphere, and labels that are drawn from the roots down.

    Instances are uniform on the part of the sphere where |u_i·x| ≥ γ_i for all i.

    Parameters
    ----------
    taxonomy : Taxonomy
    vectors : array of shape (nodes, features)
        u_i, of length one.
    margin : float or array of shape (nodes,)
        γ_i, the least |u_i·x| of an instance; 0 for the whole sphere.

    Examples
    --------
    >>> model = TaxonomyModel(chain(2), [[1.0, 0.0], [0.6, 0.8]], margin=0.1)
    >>> X, Y = model.sample(1000, random_state=0)
    >>> model.taxonomy.is_closed(Y)
    True
    >>> model.predict([[0.0, 1.0], [0.8, -0.6]]).toarray().tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, taxonomy: Taxonomy, vectors: ArrayLike, margin: ArrayLike = 0.0) -> None:
        check_parameter("TaxonomyModel", "taxonomy", taxonomy, Instance("Taxonomy"))
        self.taxonomy = taxonomy
        self.vectors = _unit_rows(vectors, "vectors", "u_i")
        if self.vectors.shape[0] != len(taxonomy):
            raise DataError(
                f"A model needs a vector for each node. Got {self.vectors.shape[0]} for {taxonomy}."
            )
        self.margin = _margins(margin, len(taxonomy))

    def __repr__(self) -> str:
        return f"TaxonomyModel({self.taxonomy}, {self.n_features} features)"

    @classmethod
    def draw(
        cls,
        taxonomy: Taxonomy,
        n_features: int,
        *,
        margin: ArrayLike = 0.0,
        random_state: RandomState = 0,
    ) -> "TaxonomyModel":
        """A model whose vectors are uniform on the sphere."""
        check_parameter("TaxonomyModel.draw", "taxonomy", taxonomy, Instance("Taxonomy"))
        check_parameter("TaxonomyModel.draw", "n_features", n_features, Integer(low=1))
        vectors = _on_sphere(_generator(random_state, "vectors"), len(taxonomy), n_features)
        return cls(taxonomy, vectors, margin)

    @property
    def n_features(self) -> int:
        """The dimension of the instances."""
        return int(self.vectors.shape[1])

    def instances(self, n: int, *, random_state: RandomState) -> DoubleArray:
        """`n` instances, by rejection of those with too small a margin."""
        check_parameter("TaxonomyModel.instances", "n", n, Integer(low=0))
        rng = _generator(random_state, "instances")
        rows = max(1, min(_FLOATS_AT_ONCE // max(self.vectors.shape), 2 * n + 1_000))
        kept: list[DoubleArray] = []
        n_kept = n_drawn = 0
        while n_kept < n:
            x = _on_sphere(rng, rows, self.n_features)
            x = x[np.all(np.abs(x @ self.vectors.T) >= self.margin, axis=1)]
            kept.append(x)
            n_kept, n_drawn = n_kept + x.shape[0], n_drawn + rows
            if n_drawn > _TRIES * (n_kept + 100):
                raise DataError(
                    f"{n_kept} of {n_drawn:,} instances drawn have all the margins asked for, "
                    f"{self.margin.min():g}…{self.margin.max():g}; lower `margin`."
                )
        return np.concatenate([*kept, np.empty((0, self.n_features))])[:n]

    def labels(self, X: ArrayLike, *, random_state: RandomState) -> CSR:
        """Labels of instances, drawn by (1): P(V_i = 1 | parent, x) = (1 + u_i·x)/2."""
        x, rng = self._check_instances(X), _generator(random_state, "labels")
        return self._top_down(
            x.shape[0],
            lambda i, rows: rng.random(rows.size) < (1 + x[rows] @ self.vectors[i]) / 2,
        )

    def sample(self, n: int, *, random_state: RandomState) -> Sample:
        """`n` instances and their labels."""
        X = self.instances(n, random_state=random_state)
        return Sample(X, self.labels(X, random_state=random_state))

    def predict(self, X: ArrayLike) -> CSR:
        """The reference predictor (2): a node with u_i·x ≥ 0 whose parent is predicted.

        It knows the vectors, and is not the best one: see `predict_likeliest`.
        """
        x = self._check_instances(X)
        return self._top_down(x.shape[0], lambda i, rows: x[rows] @ self.vectors[i] >= 0)

    def predict_likeliest(self, X: ArrayLike) -> CSR:
        """The most probable label set (remark 4), which is wrong least often.

        With b_i the probability of the best labels of node i and below, given the parent,
        b_i = max((1 − u_i·x)/2, (1 + u_i·x)/2 · Π b_k over the children k): the sum-product
        recursion with max in place of the sum. Of equals the larger set is taken.

        Examples
        --------
        >>> model = TaxonomyModel(chain(2), [[1.0, 0.0], [1.0, 0.0]])
        >>> x = [[0.1, 0.995]]  # each label is more likely than not, given the one above
        >>> for one in (model.predict(x), model.predict_likeliest(x)):
        ...     print(one.toarray().tolist(), model.probability(x, one).round(2))
        [[1.0, 1.0]] [0.3]
        [[0.0, 0.0]] [0.45]
        """
        x = self._check_instances(X)
        parts = [self._likeliest(x[block.start : block.stop]) for block in self._blocks(x.shape[0])]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _likeliest(self, x: DoubleArray) -> CSR:
        positive = np.clip((1 + x @ self.vectors.T) / 2, 0, 1)
        with np.errstate(divide="ignore"):
            take, leave = np.log(positive), np.log1p(-positive)
        for i in self.taxonomy.order[::-1].tolist():  # take[:, i] has all children by now
            above = self.taxonomy.parent[i]
            if above >= 0:
                take[:, above] += np.maximum(take[:, i], leave[:, i])
        return self._top_down(x.shape[0], lambda i, rows: take[rows, i] >= leave[rows, i])

    def probability(self, X: ArrayLike, Y: object) -> DoubleArray:
        """The probability of the label set of each row of `Y`, given the instance.

        f_G(v | x) = Π P(V_i = v_i | V_p = v_p, x), p being the parent: 0 for a label without its
        parent.
        """
        x, has = self._check_instances(X), self._columns(Y)
        if has.shape[0] != x.shape[0]:
            raise DataError(f"X has {x.shape[0]} rows and Y {has.shape[0]}.")
        everywhere = np.ones(x.shape[0], dtype=bool)
        present: dict[int, NDArray[np.bool_]] = {}
        result = np.ones(x.shape[0])
        for i in self.taxonomy.order.tolist():
            present[i] = np.zeros(x.shape[0], dtype=bool)
            present[i][has.indices[has.indptr[i] : has.indptr[i + 1]]] = True
            above = present.get(int(self.taxonomy.parent[i]), everywhere)
            sign = np.where(present[i], 1.0, -1.0)
            result *= np.where(above, (1 + sign * (x @ self.vectors[i])) / 2, ~present[i])
        return np.clip(result, 0, 1)

    def regret(self, X: ArrayLike, Y: object) -> DoubleArray:
        """How much less probable than that of `predict` the label set of each row of `Y` is.

        Its mean over fresh instances is the regret of a predictor that gives `Y`, without the
        noise of drawn labels. It can be negative, as `predict` is not the best.
        """
        return self.probability(X, self.predict(X)) - self.probability(X, Y)

    def process(self, n: int = 100_000, *, random_state: RandomState = 0) -> Process:
        """What the bounds ask for, estimated from `n` instances (labels are not drawn).

        Examples
        --------
        >>> process = TaxonomyModel(chain(2), [[1.0, 0.0], [0.0, 1.0]], margin=0.1).process()
        >>> [round(float(p), 1) for p in process.predicted]
        [1.0, 0.5]
        """
        check_parameter("TaxonomyModel.process", "n", n, Integer(low=1))
        x = self.instances(n, random_state=random_state)
        c, d = self.vectors.shape
        observed, predicted, moments = np.zeros(c), np.zeros(c), np.zeros((c, d, d))
        for block in self._blocks(n):
            part = x[block.start : block.stop]
            weight, above = self._reached(part)
            observed += weight.sum(axis=0)
            predicted += above.sum(axis=0)
            for i in range(c):
                moments[i] += (part * weight[:, [i]]).T @ part
        met = np.maximum(observed, np.finfo(np.float64).tiny)  # a node may never be
        eigenvalue = np.linalg.eigvalsh(moments / met[:, None, None])[:, 0]
        return Process(
            d, self.taxonomy.depth, self.margin, np.clip(eigenvalue, 0, 1 / d),
            predicted / n, observed / n,
        )  # fmt: skip

    def _reached(self, x: DoubleArray) -> tuple[DoubleArray, NDArray[np.bool_]]:
        """For each instance and node: P(parent's label is positive), and whether (2) gives it."""
        margins = x @ self.vectors.T
        weight, above = np.ones(margins.shape), np.ones(margins.shape, dtype=bool)
        for i in self.taxonomy.order.tolist():
            j = self.taxonomy.parent[i]
            if j >= 0:
                weight[:, i] = weight[:, j] * (1 + margins[:, j]) / 2
                above[:, i] = above[:, j] & (margins[:, j] >= 0)
        return weight, above

    def _top_down(self, n: int, choose: _Choice) -> CSR:
        """Labels by `choose(node, rows)`, which is asked about rows that have the parent."""
        everything = np.arange(n)
        rows: dict[int, NDArray[np.int64]] = {}
        for i in self.taxonomy.order.tolist():
            above = rows.get(int(self.taxonomy.parent[i]), everything)
            rows[i] = above[choose(i, above)]
        columns = [rows[i] for i in range(len(self.taxonomy))]
        indptr = np.cumsum([0, *map(len, columns)])
        indices = np.concatenate(columns)
        ones = np.ones(indices.size, dtype=np.float32)
        return indicator(sp.csc_array((ones, indices, indptr), shape=(n, len(columns))))

    def _check_instances(self, X: ArrayLike) -> DoubleArray:
        x = _unit_rows(X, "X", "row")
        if x.shape[1] != self.n_features:
            raise DataError(f"X has {x.shape[1]} columns where {self.n_features} are expected.")
        return x

    def _columns(self, Y: object) -> sp.csc_array:
        matrix = indicator(Y)
        if matrix.shape[1] != len(self.taxonomy):
            raise DataError(f"Y has {matrix.shape[1]} columns for {self.taxonomy}.")
        return sp.csc_array(matrix)

    def _blocks(self, n: int) -> list[range]:
        """All rows, cut so that instances times nodes stay small; at least one range."""
        return blocks(n, max(1, _FLOATS_AT_ONCE // len(self.taxonomy))) or [range(0)]


def chain(n: int) -> Taxonomy:
    """`n` nodes, one below the other.

    Examples
    --------
    >>> chain(3).parent.tolist()
    [-1, 0, 1]
    """
    check_parameter("chain", "n", n, Integer(low=1))
    return _numbered(np.arange(n) - 1)


def star(n: int) -> Taxonomy:
    """`n` nodes: a root, and all others its children.

    Examples
    --------
    >>> star(4).parent.tolist()
    [-1, 0, 0, 0]
    """
    check_parameter("star", "n", n, Integer(low=1))
    return _numbered(np.minimum(np.arange(n), 1) - 1)


def balanced(branching: int, depth: int) -> Taxonomy:
    """A tree whose nodes have `branching` children each, down to `depth` steps from the root.

    Examples
    --------
    >>> balanced(2, 2)
    Taxonomy(7 nodes, 1 root, 4 leaves, depth 2)
    >>> balanced(2, 2).parent.tolist()
    [-1, 0, 0, 1, 1, 2, 2]
    """
    check_parameter("balanced", "branching", branching, Integer(low=1))
    check_parameter("balanced", "depth", depth, Integer(low=0))
    n = sum(branching**level for level in range(depth + 1))
    return _numbered((np.arange(n) - 1) // branching)


def _numbered(parent: NDArray[np.int64]) -> Taxonomy:
    return Taxonomy(tuple(map(str, range(parent.size))), parent.astype(np.int32))


def _generator(random_state: RandomState, of: str) -> np.random.Generator:
    """A stream of its own for each purpose: one seed must not tie labels to instances."""
    check_parameter("TaxonomyModel", "random_state", random_state, RANDOM_STATE)
    streams = seed_sequence(random_state).spawn(len(_STREAMS))
    return np.random.default_rng(streams[_STREAMS.index(of)])


def _on_sphere(rng: np.random.Generator, n: int, d: int) -> DoubleArray:
    x = rng.standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _unit_rows(values: ArrayLike, name: str, row: str) -> DoubleArray:
    try:
        x = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must be a dense array of numbers: {error}.") from None
    if x.ndim != 2:
        raise DataError(f"{name} must have two dimensions. Got {x.ndim} instead.")
    lengths = np.linalg.norm(x, axis=1)
    bad = np.flatnonzero(~(np.abs(lengths - 1) <= _UNIT))
    if bad.size:
        raise DataError(
            f"Every {row} of {name} must have length one. Got {lengths[bad[0]]:g} in row {bad[0]}; "
            "divide by the length."
        )
    return x


def _margins(margin: ArrayLike, n: int) -> DoubleArray:
    values = np.asarray(margin, dtype=np.float64)
    if values.shape not in ((), (n,)) or not np.all((values >= 0) & (values < 1)):
        raise DataError(f"margin must be a number in [0, 1), or {n} of them. Got {margin!r}.")
    return np.broadcast_to(values, n)
