"""Bounds on the risk of functions of bounded norm in a kernel space, for bounded Lipschitz losses.

*Topics in Learning Theory*, lecture 8. The radius a of the ball ‖f‖ ≤ a must be fixed *before*
fitting. Where the norm is that of a fitted function, a grid of radii is fixed instead, and the
confidence is divided among them. The loss is the ramp of the margin y f(x): bounded by 0 and 1
and Lipschitz, as squared error is not.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from labelwood.core.bound import Bound
from labelwood.core.params import Real, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError, ParameterError

_OWNER = "kernels.bounds"
_ASSUMES = "independent samples of one distribution, and a radius (or grid) fixed before fitting"


def ramp_loss(margins: Any, gamma: float = 1.0) -> DoubleArray:
    """1 for margins y f(x) ≤ 0, 0 from `gamma` on, linear between: never below the 0/1 error.

    Examples
    --------
    >>> ramp_loss([-1.0, 0.25, 2.0], gamma=0.5).tolist()
    [1.0, 0.5, 0.0]
    """
    check_parameter(_OWNER, "gamma", gamma, Real(above=0))
    return np.clip(1 - np.asarray(margins, dtype=np.float64) / gamma, 0, 1)


def rademacher_bound(
    margins: Any,
    *,
    trace: float,
    radius: float | None = None,
    radii: Sequence[float] = (),
    norm: float | None = None,
    gamma: float = 1.0,
    eta: float = 0.05,
    loss: str = "ramp",
) -> Bound:
    """Rademacher bound for ‖f‖ ≤ a: empirical ramp loss + 2a√(tr K_n)/(γn) + 3√(ln(2/η)/(2n)).

    Parameters
    ----------
    margins : array of shape (n,)
        y f(x) of the training samples, y = ±1.
    trace : float
        Σ k(x_i, x_i), at most b²n.
    radius : float
        a, fixed before fitting.
    radii, norm : sequence of float, float
        In place of it, a grid fixed before fitting and the norm of the fitted function: the
        smallest radius of the grid that is no smaller counts, and η is divided by their number.
    gamma : float
        Margin at which the ramp reaches 0; it is 1/γ-Lipschitz.
    eta : float
        The bound holds with probability 1 − η.
    loss : "ramp"
        The only one; unbounded losses are refused.

    Examples
    --------
    >>> bound = rademacher_bound(np.ones(10_000), trace=10_000.0, radius=2.0)
    >>> round(bound.value, 3), bound.vacuous
    (0.081, False)
    """
    n, empirical = _check(margins, gamma, eta, loss)
    a, n_radii = _radius(radius, radii, norm)
    check_parameter(_OWNER, "trace", trace, Real(low=0))
    return Bound(
        "expected ramp loss (and so the classification error)",
        {
            "on the training samples": empirical,
            "complexity of the ball": 2 * a * math.sqrt(trace) / (gamma * n),
            "confidence": 3 * math.sqrt(math.log(2 * n_radii / eta) / (2 * n)),
        },
        1.0,
        _ASSUMES,
        "Topics in Learning Theory, lecture 8, Rademacher complexity",
        {"samples": n, "radius": a, "radii in the grid": n_radii},
    )


def log_covering_number(epsilon: float, *, radius: float, b: float, n: int) -> float:
    """Ln N_∞(ε, n) ≤ 36 a²b²/ε² · ln(2⌈4ab/ε + 2⌉n + 1) of the ball of radius a (lecture 8).

    Examples
    --------
    >>> round(log_covering_number(0.5, radius=1.0, b=1.0, n=100), 1)
    1094.6
    """
    ab = radius * b
    return 36 * (ab / epsilon) ** 2 * math.log(2 * math.ceil(4 * ab / epsilon + 2) * n + 1)


def covering_bound(
    margins: Any,
    *,
    b: float,
    radius: float | None = None,
    radii: Sequence[float] = (),
    norm: float | None = None,
    gamma: float = 1.0,
    eta: float = 0.05,
    loss: str = "ramp",
) -> Bound:
    """The same by L_∞ covering numbers of the ball, with b = sup √k(x, x).

    The deviation ε solves 4 N(γε/16, 2n) exp(−nε²/32) = η (Anthony & Bartlett 1999, Theorem
    17.1, with the covering number of the lecture, and a ramp that is 1/γ-Lipschitz).

    Examples
    --------
    >>> covering_bound(np.ones(10_000), b=1.0, radius=2.0).vacuous
    True
    """
    n, empirical = _check(margins, gamma, eta, loss)
    a, n_radii = _radius(radius, radii, norm)
    check_parameter(_OWNER, "b", b, Real(above=0))

    def log_probability(epsilon: float) -> float:
        cover = log_covering_number(gamma * epsilon / 16, radius=a, b=b, n=2 * n)
        return math.log(4) + cover - n * epsilon**2 / 32

    low, high = 1e-6, 1.0
    while log_probability(high) > math.log(eta / n_radii):
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if log_probability(middle) > math.log(eta / n_radii):
            low = middle
        else:
            high = middle
    return Bound(
        "expected ramp loss (and so the classification error)",
        {"on the training samples": empirical, "deviation": high},
        1.0,
        _ASSUMES,
        "Topics in Learning Theory, lecture 8, L∞ covering; Anthony & Bartlett 1999, Theorem 17.1",
        {"samples": n, "radius": a, "radii in the grid": n_radii},
    )


def _check(margins: Any, gamma: float, eta: float, loss: str) -> tuple[int, float]:
    if loss != "ramp":
        raise ParameterError(
            f"The 'loss' parameter of {_OWNER} must be 'ramp', which is bounded and Lipschitz; "
            f"these bounds do not hold for {loss!r}."
        )
    check_parameter(_OWNER, "eta", eta, Real(above=0, below=1))
    values = np.asarray(margins, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise DataError("margins must be a list of finite numbers, one for each sample.")
    return values.size, float(ramp_loss(values, gamma).mean())


def _radius(radius: float | None, radii: Sequence[float], norm: float | None) -> tuple[float, int]:
    """The radius of the ball, and among how many the confidence is divided."""
    if (radius is None) == (len(radii) == 0):
        raise ParameterError("Give either radius, fixed before fitting, or radii and norm.")
    if radius is not None:
        check_parameter(_OWNER, "radius", radius, Real(above=0))
        if norm is not None and norm > radius * (1 + 1e-9):
            raise DataError(
                f"The function has norm {norm:g}, outside the ball of radius {radius:g} that was "
                "fixed; give a grid of radii instead."
            )
        return float(radius), 1
    if norm is None:
        raise ParameterError("A grid of radii needs the norm of the fitted function.")
    large = sorted(float(one) for one in radii if one >= norm)
    if not large:
        raise DataError(f"No radius of the grid is at least the norm {norm:g}.")
    return large[0], len(radii)
