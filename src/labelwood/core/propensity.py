"""The propensity model of Jain, Prabhu and Varma, KDD 2016.

"Extreme Multi-label Loss Functions for Recommendation, Tagging, Ranking & Other Missing
Label Applications".
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from labelwood.core.params import Integer, Real, check_parameter
from labelwood.core.types import AnyArray, DoubleArray
from labelwood.errors import DataError

PUBLISHED = {"Wikipedia": (0.5, 0.4), "Amazon": (0.6, 2.6), "other data": (0.55, 1.5)}
"""The constants (a, b) that the authors give, by the kind of data."""
CONSTANTS = {"a": Real(low=0, high=10), "b": Real(above=0, high=1e9)}
"""What they can be."""
_SMALLEST = 1e-150  # whose inverse is a weight with a finite square


def label_propensity(counts: AnyArray, n_samples: int, a: float, b: float) -> DoubleArray:
    """p_l = 1/(1 + C (N_l + b)^(−a)), C = (ln N − 1)(b + 1)^a, from the labels' counts N_l.

    With N < e the formula would give p > 1; C is then 0 and every propensity 1.
    """
    rarity = ((b + 1) / (np.asarray(counts, dtype=np.float64) + b)) ** a
    return np.asarray(1 / (1 + max(np.log(n_samples) - 1, 0) * rarity), dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Propensity:
    """Probabilities that a true label was recorded, and what they were computed from.

    It stands wherever an array of such probabilities does, in training and in evaluation; as
    it knows its counts it can also be had with other constants.

    Attributes
    ----------
    counts : int64 array of shape (n_labels,)
        How many training samples have each label.
    n_samples : int
        How many training samples there are.
    a, b : float
        Constants of the model.
    values : float64 array of shape (n_labels,)
        The probabilities, in (0, 1]; `numpy.asarray` gives the same.

    Examples
    --------
    >>> probabilities = Propensity([90, 10], n_samples=100)
    >>> probabilities
    Propensity(2 labels, 100 samples, a=0.55, b=1.5)
    >>> probabilities.values.round(3).tolist()
    [0.668, 0.391]
    >>> probabilities.with_constants(a=0.5, b=0.4).values.round(3).tolist()
    [0.69, 0.431]
    """

    counts: NDArray[np.int64]
    n_samples: int
    a: float = 0.55
    b: float = 1.5

    def __post_init__(self) -> None:
        check_parameter("Propensity", "n_samples", self.n_samples, Integer(low=1))
        check_parameter("Propensity", "a", self.a, CONSTANTS["a"])
        check_parameter("Propensity", "b", self.b, CONSTANTS["b"])
        checked = {
            "counts": _frozen(_check_counts(self.counts, self.n_samples)),
            "n_samples": int(self.n_samples),
            "a": float(self.a),
            "b": float(self.b),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def values(self) -> DoubleArray:
        """The probability of each label."""
        return _frozen(label_propensity(self.counts, self.n_samples, self.a, self.b))

    def with_constants(self, a: float, b: float) -> "Propensity":
        """The same counts under other constants."""
        return replace(self, a=a, b=b)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.array(self.values, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return int(self.counts.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Propensity):
            return NotImplemented
        ours, theirs = ((one.n_samples, one.a, one.b) for one in (self, other))
        return ours == theirs and np.array_equal(self.counts, other.counts)

    def __repr__(self) -> str:
        sizes = f"{len(self):,} labels, {self.n_samples:,} samples"
        return f"Propensity({sizes}, a={self.a:g}, b={self.b:g})"


def check_propensity(p: object, n_labels: int) -> DoubleArray:
    """`p` as a float64 array of `n_labels` values in (0, 1], or an error that says where not.

    Examples
    --------
    >>> check_propensity([0.5, 1], 2).tolist()
    [0.5, 1.0]
    """
    try:
        values = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Propensities must be numbers. Got {type(p).__name__} instead.") from None
    if values.shape != (n_labels,):
        raise DataError(
            f"Propensities must be one for each of {n_labels} labels. "
            f"Got an array of shape {values.shape}; compute them from the training labels."
        )
    bad = np.flatnonzero(~((values >= _SMALLEST) & (values <= 1)))
    if bad.size:
        raise DataError(
            f"Propensities must lie in (0, 1], from {_SMALLEST:g} on. "
            f"Got {values[bad[0]]:g} for label {bad[0]}."
        )
    return values


def _check_counts(counts: object, n_samples: int) -> NDArray[np.int64]:
    """A copy of `counts`, one for each label."""
    values = np.asarray(counts)
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        raise DataError(
            "Propensities are computed from one whole number per label, the samples that have it. "
            f"Got an array of {values.dtype} and shape {values.shape} instead."
        )
    bad = np.flatnonzero((values < 0) | (values > n_samples))
    if bad.size:
        raise DataError(
            f"Label {bad[0]} has the count {values[bad[0]]}, outside 0…{n_samples} (n_samples)."
        )
    return values.astype(np.int64)


def _frozen(array: AnyArray) -> AnyArray:
    array.setflags(write=False)
    return array
