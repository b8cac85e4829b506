"""A metric before it is averaged: what each point adds to it."""

from dataclasses import dataclass

import numpy as np

from labelwood.core.types import DoubleArray
from labelwood.metrics.intervals import Interval, guaranteed_interval


@dataclass(frozen=True)
class PerPoint:
    """A metric as the ratio of two sums over the points.

    Attributes
    ----------
    numerator, denominator : float64 arrays of shape (n,)
        The metric is Σ numerator / Σ denominator; a mean has denominator one.
    width : float64 array of shape (n,)
        How wide the range of numerator − t·denominator is for each point, over all
        labels that the point could have, for whatever t the metric can be.
    span : float
        The width of one range that holds those of all points.
    limits : (float, float)
        The values that the expectation can have.

    Examples
    --------
    >>> PerPoint.mean(np.array([0.0, 1.0, 1.0]), width=1.0).value
    0.666...
    """

    numerator: DoubleArray
    denominator: DoubleArray
    width: DoubleArray
    span: float
    limits: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def mean(
        cls,
        values: DoubleArray,
        width: DoubleArray | float,
        limits: tuple[float, float] = (0.0, 1.0),
    ) -> "PerPoint":
        """The mean of `values`, each between 0 and its `width`."""
        widths = np.broadcast_to(np.asarray(width, dtype=np.float64), values.shape)
        return cls(values, np.ones_like(values), widths, float(widths.max()), limits)

    @property
    def value(self) -> float:
        """The metric; 1 when there was nothing to find and nothing was claimed (0/0)."""
        bottom = self.denominator.sum()
        return float(self.numerator.sum() / bottom) if bottom else 1.0

    def guaranteed(self, delta: float) -> Interval:
        """The interval that holds the expectation with probability at least 1 − δ."""
        low, high = guaranteed_interval(
            self.numerator, self.width, self.span, delta, denominator=self.denominator
        )
        return Interval(max(low, self.limits[0]), min(high, self.limits[1]))
