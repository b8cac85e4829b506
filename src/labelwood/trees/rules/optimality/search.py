"""Is a greedy tree of two or three leaves the best of all? Every tree is tried, by bit sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwood.core.params import Integer, OneOf, check_parameter
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray
from labelwood.errors import DataError
from labelwood.trees.rules.optimality._kernels import pair_counts

_TIE = 1e-12  # losses that differ by less, as shares of the samples, are equal


@dataclass(frozen=True)
class Optimality:
    """A greedy tree beside the best one; losses are shares of the samples.

    `greedy` and `best` name the root's test and the second test, with the side it divides.
    """

    loss: str
    greedy_loss: float
    best_loss: float
    greedy: tuple[str, ...]
    best: tuple[str, ...]
    n_tests: int

    @property
    def gap(self) -> float:
        """How much more the greedy tree loses."""
        return self.greedy_loss - self.best_loss

    def __str__(self) -> str:
        verdict = "is optimal" if self.gap <= _TIE else "is not optimal"
        greedy, best = ", ".join(self.greedy), ", ".join(self.best)
        return (
            f"the greedy tree {verdict}: {self.loss} loss {self.greedy_loss:.4%} ({greedy}) "
            f"against {self.best_loss:.4%} ({best}), gap {self.gap:.4%}, over all "
            f"trees of {self.n_tests} tests"
        )


def compare_with_optimum(
    X: object,
    y: object,
    *,
    n_leaves: int = 3,
    n_features: int = 200,
    loss: Literal["zero_one", "squared"] = "zero_one",
    feature_names: Sequence[str] | None = None,
) -> Optimality:
    """Compare the greedy tree with the best of all trees of two or three leaves.

    `y` holds one of two classes for each sample. Tests ask whether a feature is above 0, for the
    `n_features` features that are best at the root. The greedy tree takes the split of least
    squared loss (Gini index) at each step, as `RuleTreeClassifier` does; both are then measured
    by `loss` on the same samples.

    Examples
    --------
    >>> X = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]] * 4)
    >>> y = X[:, 0] ^ X[:, 1]
    >>> print(compare_with_optimum(X, y, n_leaves=2).gap)
    0.0
    """
    owner = "compare_with_optimum"
    check_parameter(owner, "n_leaves", n_leaves, Integer(low=2, high=3))
    check_parameter(owner, "n_features", n_features, Integer(low=1, high=2_000))
    check_parameter(owner, "loss", loss, OneOf("zero_one", "squared"))
    matrix = as_csr(X)
    target = _second_class(y, matrix.shape[0])
    present = matrix.copy()
    present.data = (present.data > 0).astype(np.float32)
    chosen = _best_features(present, target, n_features)
    tests = present[:, chosen].toarray().T > 0
    bits, bits_of_target = _packed(tests), _packed(target[None])[0]
    counts, positives = pair_counts(bits, bits_of_target)
    names = [f"x{c}" if feature_names is None else str(feature_names[c]) for c in chosen]
    n, t = target.size, int(target.sum())
    measure = _LOSSES[loss]
    sides = _second_split_losses(counts, positives, n, t, measure)
    guide = _second_split_losses(counts, positives, n, t, _squared)
    root = int(np.argmin(guide.root))
    if n_leaves == 2:
        best = int(np.argmin(sides.root))
        return Optimality(
            loss,
            sides.root[root] / n,
            sides.root[best] / n,
            (names[root],),
            (names[best],),
            chosen.size,
        )
    side, second = np.unravel_index(int(np.argmin(guide.split[:, root])), guide.split[:, 0].shape)
    at: tuple[Any, ...] = np.unravel_index(int(np.argmin(sides.split)), sides.split.shape)
    if sides.split[side, root, second] - sides.split[at] <= _TIE * n:
        at = (side, root, second)  # of equally good trees, the greedy one is shown
    return Optimality(
        loss,
        float(sides.split[side, root, second]) / n,
        float(sides.split[at]) / n,
        _described(names, root, int(side), int(second)),
        _described(names, int(at[1]), int(at[0]), int(at[2])),
        chosen.size,
    )


def _second_class(y: object, n: int) -> AnyArray:
    """Which samples have the second of two classes."""
    values = np.asarray(y)
    if values.shape != (n,):
        raise DataError(f"y must hold a class for each of the {n} rows of X. Got {values.shape}.")
    try:
        classes = np.unique(values)
    except TypeError:  # classes of different types have no order
        raise DataError("The classes in y must be all texts or all numbers.") from None
    if classes.size != 2:
        raise DataError(f"y must hold two classes. Got {classes.size}.")
    return np.asarray(values == classes[1])


@dataclass(frozen=True)
class _Losses:
    """Loss of each root alone, and with a second test on a side of it: [side, root, second]."""

    root: DoubleArray
    split: DoubleArray


def _squared(n: AnyArray, t: AnyArray) -> AnyArray:
    return t * (n - t) / np.maximum(n, 1)


def _zero_one(n: AnyArray, t: AnyArray) -> AnyArray:
    return np.minimum(t, n - t)


_LOSSES: dict[str, Callable[[AnyArray, AnyArray], AnyArray]] = {
    "squared": _squared,
    "zero_one": _zero_one,
}


def _second_split_losses(
    counts: AnyArray,
    positives: AnyArray,
    n: int,
    t: int,
    measure: Callable[[AnyArray, AnyArray], AnyArray],
) -> _Losses:
    """The losses of all trees of two and of three leaves, from counts of pairs."""
    n11, t11 = counts.astype(np.float64), positives.astype(np.float64)
    n1, t1 = np.diag(n11), np.diag(t11)
    inside, outside = measure(n1, t1), measure(n - n1, t - t1)
    n10, t10 = n1[:, None] - n11, t1[:, None] - t11  # root holds, second does not
    n01, t01 = n1[None, :] - n11, t1[None, :] - t11
    n00, t00 = n - n11 - n10 - n01, t - t11 - t10 - t01
    where_it_holds = measure(n11, t11) + measure(n10, t10) + outside[:, None]
    where_not = measure(n01, t01) + measure(n00, t00) + inside[:, None]
    return _Losses(inside + outside, np.stack([where_it_holds, where_not]))


def _best_features(matrix: CSR, target: AnyArray, n_features: int) -> AnyArray:
    n1 = np.bincount(matrix.indices, matrix.data, minlength=matrix.shape[1])
    rows = np.repeat(target.astype(np.float64), np.diff(matrix.indptr))
    t1 = np.bincount(matrix.indices, matrix.data * rows, minlength=matrix.shape[1])
    n, t = target.size, float(target.sum())
    losses = _squared(n1, t1) + _squared(n - n1, t - t1)
    return np.argsort(losses, kind="stable")[:n_features]


def _packed(tests: AnyArray) -> AnyArray:
    """Rows of booleans as 64-bit words."""
    padded = np.ascontiguousarray(np.pad(tests, ((0, 0), (0, -tests.shape[1] % 64))))
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _described(names: list[str], root: int, side: int, second: int) -> tuple[str, ...]:
    return names[root], f"{names[second]} where {'-' if side else ''}{names[root]}"
