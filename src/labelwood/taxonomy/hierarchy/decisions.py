"""From margins of all nodes to label sets and rankings that agree with the forest."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from labelwood.core.sparse import make_csr
from labelwood.core.topk import TopK
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray
from labelwood.data.taxonomy import ParentSets

BoolMatrix = NDArray[np.bool_]

_NEVER = 1e-9  # probability of a label whose margin is −1 or less, so that logarithms are finite


class NodeMargin(NamedTuple):
    """Why a label was predicted, or where a prediction stopped.

    Attributes
    ----------
    label : str or int
    margin : float
        wᵀx. A label is predicted when it is positive (and, with `confidence`, `low` too).
    predicted : bool
    estimate : float or None
        wᵀx/(1 + r), r = xᵀ(I + SSᵀ)⁻¹x: the margin with the sample itself among the examples.
    low, high : float or None
        With probability `confidence` (0.95 without one) the mean of the estimate, given the
        instances, lies between them, if the labels of different samples are independent. None
        where that is not known to hold: where examples were kept or dropped by their labels.
    bias : float or None
        How far that mean can be from the true margin u·x, if labels follow the model of
        Cesa-Bianchi, Conconi & Gentile 2004, eq. (1). None where `low` is, and below a root
        with ``train="independent"``, whose labels do not follow eq. (1).
    """

    label: object
    margin: float
    predicted: bool
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    bias: float | None = None

    @property
    def margin_interval(self) -> tuple[float, float] | None:
        """`low` − `bias` and `high` + `bias`, which hold the true margin at the same level."""
        if self.low is None or self.high is None or self.bias is None:
            return None
        return self.low - self.bias, self.high + self.bias


class Estimates(NamedTuple):
    """Margins of some samples at one node, with the sample itself among the examples.

    `deviation` and `bias` are None where nothing is known of them.
    """

    estimate: DoubleArray
    deviation: DoubleArray | None
    bias: DoubleArray | None

    def half_width(self, confidence: float) -> DoubleArray | None:
        """Half the width of the interval that holds the mean of the estimate (Hoeffding)."""
        if self.deviation is None:
            return None
        width: DoubleArray = self.deviation * np.sqrt(2 * np.log(2 / (1 - confidence)))
        return width

    def rows(self, confidence: float) -> list[tuple[float | None, ...]]:
        """For each sample the last fields of its `NodeMargin`: estimate, low, high and bias."""
        half = self.half_width(confidence)
        parts = [self.estimate.tolist()]
        nothing = [None] * self.estimate.size
        if half is None:
            parts += [nothing, nothing]
        else:
            parts += [(self.estimate - half).tolist(), (self.estimate + half).tolist()]
        parts.append(nothing if self.bias is None else self.bias.tolist())
        return list(zip(*parts, strict=True))


class MarginEstimator(Protocol):
    """What a learner offers that knows how sure its margins are."""

    def estimates(self, node: int, X: CSR, margins: FloatArray) -> Estimates:
        """The estimates of `margins`, which `node` has on the rows of `X` (of any length)."""


class Forest:
    """Nodes level by level, each with its parent, or with several.

    With several parents a node needs any or all of them, as the rule of `sets` says.

    Examples
    --------
    >>> forest = Forest(np.array([-1, 0, 0], dtype=np.int32))
    >>> margins = np.array([[0.5, -0.1, 0.2], [-0.5, 0.9, 0.9]])
    >>> forest.predicted(margins).tolist()
    [[True, False, True], [False, False, False]]
    """

    def __init__(self, parent: NDArray[np.int32], sets: ParentSets | None = None) -> None:
        self.parent = parent
        self._sets = sets
        self.levels: list[NDArray[np.int64]] = []
        # The last entry is the parent −1 of roots, which stands above all levels.
        placed = np.zeros(parent.size + 1, dtype=bool)
        placed[-1] = True
        while True:
            ready = self._above(placed[None, :], np.arange(parent.size), np.logical_and)[0]
            level = np.flatnonzero(ready & ~placed[:-1])
            if not level.size:
                break
            self.levels.append(level)
            placed[level] = True
        self.order = np.concatenate([np.empty(0, dtype=np.int64), *self.levels])

    def _above(self, values: AnyArray, nodes: NDArray[np.int64], combine: np.ufunc) -> AnyArray:
        """The values of the parents of `nodes`, of several combined; columns are nodes."""
        sets = self._sets
        if sets is None:
            return values[:, self.parent[nodes]]
        sizes = np.maximum(np.diff(sets.indptr)[nodes], 1)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        within = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        at = np.repeat(sets.indptr[nodes], sizes) + within
        below = np.repeat(self.parent[nodes] >= 0, sizes)
        columns = np.where(below, np.append(sets.indices, -1)[np.where(below, at, -1)], -1)
        if not columns.size:
            return values[:, columns]
        return combine.reduceat(values[:, columns], starts, axis=1)

    @property
    def _needs_any(self) -> bool:
        return self._sets is not None and self._sets.rule == "any"

    def predicted(
        self,
        margins: FloatArray,
        is_clear: Callable[[int, NDArray[np.int64]], NDArray[np.bool_]] | None = None,
    ) -> BoolMatrix:
        """Labels with a positive margin whose parent is predicted too.

        `is_clear(node, rows)` may reject some of the rows for which a node would be predicted.
        """
        # Roots have parent −1, which as an index is the last column: a root of all roots.
        result = np.zeros((margins.shape[0], self.parent.size + 1), dtype=bool)
        result[:, -1] = True
        for nodes in self.levels:
            found = self._above(result, nodes, self._logical) & (margins[:, nodes] > 0)
            if is_clear is not None:
                for at in np.flatnonzero(found.any(axis=0)):
                    rows = np.flatnonzero(found[:, at])
                    found[rows, at] = is_clear(int(nodes[at]), rows)
            result[:, nodes] = found
        return result[:, :-1]

    def likeliest(self, margins: FloatArray) -> BoolMatrix:
        """The label set of greatest probability, if labels follow (1 + margin)/2.

        Cesa-Bianchi, Conconi & Gentile 2004, remark 4, with fitted margins in place of the true
        ones: from the leaves upwards, a positive label is worth its own logarithm and the better
        answer of each of its children, a negative one settles all below it.
        """
        p = np.clip((1 + margins.astype(np.float64)) / 2, _NEVER, 1 - _NEVER)
        below = np.zeros((margins.shape[0], self.parent.size + 1))
        gains = np.empty(margins.shape)
        for nodes in reversed(self.levels):
            negative = np.log1p(-p[:, nodes])
            positive = np.log(p[:, nodes]) + below[:, nodes]
            gains[:, nodes] = positive - negative
            # A parent may have several of these nodes as children, so they are added one by one.
            np.add.at(below.T, self.parent[nodes], np.maximum(positive, negative).T)
        return self.predicted(gains.astype(np.float32))

    def reached(self, predicted: BoolMatrix) -> BoolMatrix:
        """Labels whose parent is predicted: roots, and children of predicted labels."""
        above_roots = np.ones((predicted.shape[0], 1), dtype=bool)
        values = np.hstack([predicted, above_roots])
        return self._above(values, np.arange(self.parent.size), self._logical)

    @property
    def _logical(self) -> np.ufunc:
        return np.logical_or if self._needs_any else np.logical_and

    def path_scores(self, margins: FloatArray) -> DoubleArray:
        """Products of 1/(1 + exp(−2 margin)) along the path to each label, for rankings.

        1/(1 + exp(−2m)) has the value and the slope of the model's probability (1 + m)/2 at
        m = 0, and is defined for every m. It is not calibrated: shrunken or selected margins
        give other probabilities. A label never has more than its parent; of several parents the
        best counts where any is needed, the worst where all are.
        """
        with np.errstate(over="ignore"):
            steps = 1 / (1 + np.exp(-2 * margins.astype(np.float64)))
        result = np.ones((margins.shape[0], self.parent.size + 1))
        for nodes in self.levels:
            combine = np.maximum if self._needs_any else np.minimum
            result[:, nodes] = steps[:, nodes] * self._above(result, nodes, combine)
        return result[:, :-1]

    def best(self, scores: DoubleArray, scored: NDArray[np.bool_], k: int) -> TopK:
        """The `k` best of the labels that are `scored`; of equals a parent before its child."""
        nodes = self.order[scored[self.order]]
        order = np.argsort(-scores[:, nodes], axis=1, kind="stable")[:, :k]
        labels = np.full((scores.shape[0], k), -1, dtype=np.int32)
        values = np.full(labels.shape, -np.inf, dtype=np.float32)
        labels[:, : order.shape[1]] = nodes[order]
        values[:, : order.shape[1]] = np.take_along_axis(scores, nodes[order], axis=1)
        return TopK(labels, values)


def chosen_entries(values: FloatArray, chosen: BoolMatrix) -> CSR:
    """The chosen entries of a matrix as CSR, zeros among them too."""
    indptr = np.concatenate([[0], np.cumsum(chosen.sum(axis=1))])
    return make_csr(indptr, np.nonzero(chosen)[1], values[chosen], values.shape)
