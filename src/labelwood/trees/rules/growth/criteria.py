"""What a split is chosen by: purity measures, and the check that a user's measure is one."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.special import xlogy

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import ParameterError

Purity: TypeAlias = Callable[[DoubleArray], AnyArray]
"""A vectorized function of the share p of a class, in [0, 1]."""

_N_GRID = 201
_TOLERANCE = 1e-12


def squared(p: DoubleArray) -> DoubleArray:
    """p(1 − p): the least squared loss, which is the Gini index (lecture 8).

    Examples
    --------
    >>> squared(np.array([0.7, 0.5, 0.9])).round(2).tolist()
    [0.21, 0.25, 0.09]
    """
    return p * (1 - p)


def log_loss(p: DoubleArray) -> DoubleArray:
    """−p ln p − (1 − p) ln(1 − p): the least log-loss (lecture 8, with its misprint corrected).

    Examples
    --------
    >>> log_loss(np.array([0.0, 0.5])).round(4).tolist()
    [0.0, 0.6931]
    """
    return np.asarray(0 - xlogy(p, p) - xlogy(1 - p, 1 - p))


def zero_one(p: DoubleArray) -> DoubleArray:
    """½ − |p − ½|: the least 0/1 loss, which must not guide growth (see `check_purity`).

    Examples
    --------
    >>> zero_one(np.array([0.7, 0.5, 0.9])).round(2).tolist()
    [0.3, 0.5, 0.1]
    """
    return 0.5 - np.abs(p - 0.5)


class CriterionName:
    """Constraint of a criterion: a name, or a function that `check_purity` looks at in `fit`."""

    names = ("gini", "squared", "log_loss")

    def accepts(self, value: object) -> bool:
        """Whether `value` is one of the names or a function."""
        return callable(value) or (isinstance(value, str) and value in self.names)

    def parse(self, text: str) -> object:
        """`text` itself."""
        return text

    def __str__(self) -> str:
        return f"one of {', '.join(map(repr, self.names))}, or a function of the share p"


LOSSES: dict[str, Purity] = {"zero_one": zero_one, "squared": squared, "log_loss": log_loss}
"""The loss L′ by which trees are pruned, as a function of p."""


def check_purity(purity: Purity) -> None:
    """Refuse a measure that is not symmetric about ½ and strictly concave.

    Both are checked on a grid of 201 values of p; the error names the first place at which
    the measure fails. A measure that is not strictly concave sees no progress in some splits
    that make progress: *Topics in Learning Theory*, lecture 8.

    Examples
    --------
    >>> check_purity(lambda p: np.sqrt(p * (1 - p)))
    >>> check_purity(lambda p: 1 - p)
    Traceback (most recent call last):
    ...
    labelwood.errors.ParameterError: The criterion is not symmetric: Q(0) = 1 and Q(1) = 0. ...
    """
    grid = np.linspace(0, 1, _N_GRID)
    values = np.asarray(purity(grid), dtype=np.float64)
    if values.shape != grid.shape or not np.isfinite(values).all():
        raise ParameterError(
            "The criterion must return one finite number for each share p in an array over "
            f"[0, 1]. Got an array of shape {values.shape}."
        )
    scale = max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    skew = np.flatnonzero(np.abs(values - values[::-1]) > 1e-9 * scale)
    if skew.size:
        p = grid[skew[0]]
        raise ParameterError(
            f"The criterion is not symmetric: Q({p:g}) = {values[skew[0]]:g} and "
            f"Q({1 - p:g}) = {values[::-1][skew[0]]:g}. Give a function of |p − ½|."
        )
    bends = values[1:-1] - (values[:-2] + values[2:]) / 2
    flat = np.flatnonzero(bends <= _TOLERANCE * scale)
    if flat.size:
        p = grid[flat[0] + 1]
        raise ParameterError(
            f"The criterion is not strictly concave at p = {p:g}: Q there is not above the mean "
            "of its neighbors. Such a measure overlooks progress: the 0/1 loss ½ − |p − ½| gives "
            "0.3 before and after p = 0.7 is split into equal halves of 0.5 and 0.9, where the "
            "Gini index falls from 0.21 to 0.17. Use 'gini' or 'log_loss' to grow, and 0/1 loss "
            "to prune (pruning_loss)."
        )


def purity_score(purity: Purity, weights: DoubleArray, sums: DoubleArray) -> DoubleArray:
    """Minus the loss W Σ Q(p) of nodes of these weights (n,) and sums of outputs (n, k).

    Examples
    --------
    >>> purity_score(squared, np.array([10.0]), np.array([[7.0]])).round(2).tolist()
    [-2.1]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.clip(sums / weights[:, None], 0, 1)
    return np.asarray(-weights * np.asarray(purity(shares.ravel())).reshape(sums.shape).sum(axis=1))


def squared_score(weights: DoubleArray, sums: DoubleArray) -> DoubleArray:
    """Σ P²/W: minus the squared loss, but for the term that every split of a node shares."""
    return np.asarray(np.square(sums).sum(axis=1) / weights)


def class_log_score(weights: DoubleArray, sums: DoubleArray) -> DoubleArray:
    """Minus the log-loss Σ −P ln(P/W) of classes that exclude each other."""
    return np.asarray(xlogy(sums, sums).sum(axis=1) - xlogy(weights, weights))
