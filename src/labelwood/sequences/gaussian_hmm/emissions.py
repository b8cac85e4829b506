"""Gaussian observations: densities, moments, and the M-step with a floor under the covariances."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from labelwood.core.types import AnyArray, DoubleArray
from labelwood.sequences.engine import Sequences
from labelwood.sequences.gaussian_hmm import _kernels
from labelwood.sequences.gaussian_hmm.missing import add_missing_moments, fill_missing_densities

_LOG_2PI = float(np.log(2 * np.pi))
_NO_WEIGHT = 1e-8  # expected steps below which a state has no data to learn from


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums of powers of x − origin, weighted by the posteriors; they can be added.

    Attributes
    ----------
    origin : array of shape (n_states, n_features)
    counts, first : arrays of that shape
        Weights of the observed values, and their weighted deviations.
    second : array of shape (n_states, n_features) or (n_states, n_features, n_features)
        Squares, or products (full and tied covariances).
    """

    origin: DoubleArray
    counts: DoubleArray
    first: DoubleArray
    second: DoubleArray

    def about(self, origin: DoubleArray) -> Self:
        """The same moments about another origin."""
        shift = self.origin - origin
        first = self.first + self.counts * shift
        if self.second.ndim == 2:
            second = self.second + 2 * self.first * shift + self.counts * shift**2
        else:
            cross = self.first[:, :, None] * shift[:, None, :]
            square = shift[:, :, None] * shift[:, None, :]
            second = self.second + cross + cross.transpose(0, 2, 1)
            second += self.counts[:, :, None] * square
        return replace(self, origin=origin, first=first, second=second)

    def blended(self, other: "Moments", weight: float) -> Self:
        """(1 − weight) of these and `weight` of the other, about this origin."""
        there = other.about(self.origin)
        return replace(
            self,
            counts=(1 - weight) * self.counts + weight * there.counts,
            first=(1 - weight) * self.first + weight * there.first,
            second=(1 - weight) * self.second + weight * there.second,
        )

    def scaled(self, factor: float) -> Self:
        """All sums times a factor."""
        return replace(
            self,
            counts=factor * self.counts,
            first=factor * self.first,
            second=factor * self.second,
        )


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Gaussian emissions.

    Attributes
    ----------
    kind : str
        "spherical", "diagonal", "tied" or "full".
    means : array of shape (n_states, n_features)
    covariances : array
        Of shape (n_states,), (n_states, n_features), (n_features, n_features) or
        (n_states, n_features, n_features), by kind.
    floor : array of shape (n_features,)
        Least variance of a feature, in every direction of the space scaled by it.
    degenerate : array of bool of shape (n_states,)
        States whose covariance the floor had to hold up, or without any data.
    """

    kind: str
    means: DoubleArray
    covariances: DoubleArray
    floor: DoubleArray
    degenerate: AnyArray

    @property
    def n_states(self) -> int:
        """Number of states."""
        return self.means.shape[0]

    def variances(self) -> DoubleArray:
        """Variance of each feature under each state."""
        if self.kind == "spherical":
            return np.repeat(self.covariances[:, None], self.means.shape[1], axis=1)
        if self.kind == "diagonal":
            return self.covariances
        return np.diagonal(self.full(), axis1=1, axis2=2)

    def full(self) -> DoubleArray:
        """Covariance matrices of all states, whatever the kind."""
        s, d = self.means.shape
        if self.kind == "full":
            return self.covariances
        if self.kind == "tied":
            return np.broadcast_to(self.covariances, (s, d, d))
        return np.asarray(self.variances()[:, :, None] * np.eye(d))

    def log_density(self, data: Sequences, out: DoubleArray) -> None:
        """Log densities of all steps; what is missing is integrated out."""
        if self.kind in ("spherical", "diagonal"):
            variances = self.variances()
            constants = -0.5 * (_LOG_2PI + np.log(variances))
            if data.observed is None:
                _kernels.diagonal_densities(
                    data.values, self.means, 1 / variances, constants.sum(axis=1), out
                )
            else:
                _kernels.diagonal_densities_missing(
                    data.values, data.observed, self.means, 1 / variances, constants, out
                )
            return
        factors = inverse_factors(self.full())
        diagonals = np.diagonal(factors, axis1=1, axis2=2)
        constants = np.log(diagonals).sum(axis=1) - 0.5 * self.means.shape[1] * _LOG_2PI
        _kernels.full_densities(data.values, self.means, factors, constants, out)
        fill_missing_densities(data, self.means, self.full(), out)

    def statistics(self, data: Sequences, gamma: DoubleArray) -> Moments:
        """Moments about the current means, which keeps them exact however large the means."""
        s, d = self.means.shape
        counts, first = np.zeros((s, d)), np.zeros((s, d))
        if self.kind in ("spherical", "diagonal"):
            second = np.zeros((s, d))
            if data.observed is None:
                _kernels.diagonal_moments(data.values, gamma, self.means, counts, first, second)
            else:
                _kernels.diagonal_moments_missing(
                    data.values, data.observed, gamma, self.means, counts, first, second
                )
            return Moments(self.means, counts, first, second)
        second = np.zeros((s, d, d))
        complete = gamma
        if data.observed is not None:
            complete = gamma * np.all(data.observed, axis=0, keepdims=True).T
        _kernels.full_moments(data.values, complete, self.means, counts, first, second)
        second += np.tril(second, -1).transpose(0, 2, 1)  # the kernel fills the lower triangles
        add_missing_moments(data, self.means, self.full(), gamma, counts, first, second)
        return Moments(self.means, counts, first, second)

    def maximized(self, statistics: Moments) -> Self:
        """The M-step: means and covariances of largest likelihood above the floor.

        Raising the eigenvalues (of the matrix scaled by the floor) to one gives the maximum under
        the constraint, so the likelihood cannot fall.
        """
        moments = statistics
        empty: AnyArray = moments.counts < _NO_WEIGHT  # features that the state has no data of
        counts = np.maximum(moments.counts, _NO_WEIGHT)
        shift = np.where(empty, 0, moments.first / counts)
        if moments.second.ndim == 2:
            scatter = np.maximum(moments.second - moments.first * shift, 0)
        else:
            scatter = moments.second - moments.first[:, :, None] * shift[:, None, :]
        nothing: AnyArray = np.all(empty, axis=1)
        if self.kind == "spherical":
            weights = np.where(empty, 0, moments.counts).sum(axis=1)
            found = np.where(empty, 0, scatter).sum(axis=1) / np.maximum(weights, _NO_WEIGHT)
            found = np.where(nothing, self.covariances, found)
        elif self.kind == "diagonal":
            found = np.where(empty, self.covariances, scatter / counts)
        elif self.kind == "tied":
            found = scatter.sum(axis=0) / counts[:, 0].sum()
        else:
            found = np.where(
                nothing[:, None, None], self.covariances, scatter / counts[:, :1, None]
            )
        moved = replace(self, means=moments.origin + shift, covariances=found).above_floor()
        return replace(moved, degenerate=moved.degenerate | empty.any(axis=1))

    def above_floor(self) -> Self:
        """The same with covariances raised to the floor, and the states where that was needed."""
        if self.kind in ("spherical", "diagonal"):
            floor = self.floor.mean() if self.kind == "spherical" else self.floor
            low: AnyArray = np.less(self.covariances, floor).reshape(self.n_states, -1)
            degenerate: AnyArray = np.any(low, axis=1)
            covariances = np.maximum(self.covariances, floor)
            return replace(self, covariances=covariances, degenerate=degenerate)
        if self.kind == "tied":
            matrix, held = raised(self.covariances, self.floor)
            return replace(self, covariances=matrix, degenerate=np.full(self.n_states, held))
        pairs = [raised(matrix, self.floor) for matrix in self.covariances]
        return replace(
            self,
            covariances=np.array([matrix for matrix, _ in pairs]),
            degenerate=np.array([held for _, held in pairs]),
        )

    def distance(self, other: Self) -> float:
        """Largest difference of a mean or of a standard deviation, in standard deviations."""
        mine, theirs = self.variances(), other.variances()
        scale = np.sqrt(np.maximum(mine, theirs))
        moved = np.abs(self.means - other.means) / scale
        widened = np.abs(np.sqrt(mine) - np.sqrt(theirs)) / scale
        return float(max(moved.max(), widened.max()))

    def state_gaps(self, other: Self) -> DoubleArray:
        """Squared distance of each mean to each of another model, in its standard deviations."""
        scale = np.sqrt(other.variances()).mean(axis=0)
        gaps = (self.means[:, None] - other.means[None]) / scale
        return np.asarray((gaps**2).sum(axis=2))

    def permuted(self, order: AnyArray) -> Self:
        """The same with the states in another order."""
        covariances = self.covariances if self.kind == "tied" else self.covariances[order]
        return replace(
            self,
            means=self.means[order],
            covariances=covariances,
            degenerate=self.degenerate[order],
        )

    def n_parameters(self) -> int:
        """Free parameters."""
        s, d = self.means.shape
        triangle = d * (d + 1) // 2
        sizes = {"spherical": s, "diagonal": s * d, "tied": triangle, "full": s * triangle}
        return s * d + sizes[self.kind]


def inverse_factors(covariances: DoubleArray) -> DoubleArray:
    """Inverses of the lower Cholesky factors."""
    d = covariances.shape[-1]
    factors = np.linalg.cholesky(covariances)
    return np.array([solve_triangular(one, np.eye(d), lower=True) for one in factors])


def raised(matrix: DoubleArray, floor: DoubleArray) -> tuple[DoubleArray, bool]:
    """The matrix with no eigenvalue (scaled by `floor`) below one, and whether one was.

    Examples
    --------
    >>> raised(np.diag([4.0, 0.0]), np.array([1.0, 0.5]))[0].round(9).tolist()
    [[4.0, 0.0], [0.0, 0.5]]
    """
    scale = np.sqrt(floor)
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    if values[0] >= 1:
        return (matrix + matrix.T) / 2, False
    lifted = (vectors * np.maximum(values, 1)) @ vectors.T
    return lifted * np.outer(scale, scale), True
