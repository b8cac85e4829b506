"""A chain from the moments of triples of symbols (Anandkumar, Hsu & Kakade 2012).

The observations are symbols here (clusters of the real ones), so that the method applies
whatever their dimension. With O the probabilities of symbols given states, P₃₁ the joint
probabilities of the first and third symbol of a triple and P₃₁₂(η) the same weighted by η of the
second, U₃ᵀP₃₁₂(η)U₁ (U₃ᵀP₃₁U₁)⁻¹ has the eigenvalues (Oᵀη)_k, with the same eigenvectors for
every η.
"""

from dataclasses import dataclass

import numpy as np

from labelwood.core.memory import require_memory
from labelwood.core.types import DoubleArray, PointerArray
from labelwood.sequences.engine import Chain, stationary_distribution

_LEAST_RATIO = 1e-3  # of singular values: below it, the moments hold fewer states than wanted
_DENSE = (
    8  # arrays of symbols by symbols that are there at once, two singular decompositions included
)
_LEAST_PROBABILITY = 1e-3  # what estimates below it (or below 0) are raised to


def spectral_start(
    symbols: PointerArray, offsets: PointerArray, n_states: int, rng: np.random.Generator
) -> tuple[Chain, DoubleArray] | None:
    """A chain, and the probabilities of states given each symbol; None if not identified."""
    m = int(symbols.max()) + 1
    require_memory(
        8 * _DENSE * m**2,
        f"a spectral start with {m:,} symbols for {n_states:,} states",
        'lower n_states, or take init="kmeans"',
    )
    triples = triple_moments(symbols, offsets, m)
    P31 = triples.contracted(np.ones(m))
    if P31.sum() == 0 or m < n_states:
        return None
    U3, values, U1t = np.linalg.svd(P31)
    if values[n_states - 1] < _LEAST_RATIO * values[0]:
        return None
    U3, U1 = U3[:, :n_states], U1t[:n_states].T
    middle = np.linalg.inv(U3.T @ P31 @ U1)
    joint = triples.first_by_second()
    U2 = np.linalg.svd(joint.T)[0][:, :n_states]
    theta = np.linalg.qr(rng.standard_normal((n_states, n_states)))[0]
    operators = [U3.T @ triples.contracted(U2 @ eta) @ U1 @ middle for eta in theta]
    eigenvectors = np.linalg.eig(operators[0])[1]
    if np.linalg.cond(eigenvectors) > 1e8:
        return None
    inverse = np.linalg.inv(eigenvectors)
    L = np.array([np.diagonal(inverse @ B @ eigenvectors) for B in operators]).real
    O = _distributions((U2 @ np.linalg.solve(theta, L)).T).T  # noqa: E741 the paper's letter
    pair = joint / joint.sum()
    weights = np.linalg.pinv(O)
    transition = _distributions(weights @ pair @ weights.T)
    pi = stationary_distribution(transition)
    responsibilities = O * pi
    return Chain(pi, transition), responsibilities / responsibilities.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class Triples:
    """The triples of successive symbols that occur, with their shares.

    The array of all m³ would be far larger than the data: there are no more triples than rows.
    """

    first: PointerArray
    second: PointerArray
    third: PointerArray
    shares: DoubleArray
    m: int

    def contracted(self, eta: DoubleArray) -> DoubleArray:
        """P₃₁₂(η): third by first symbol, weighted by η of the second."""
        weights = self.shares * eta[self.second]
        return self._table(self.third, self.first, weights)

    def first_by_second(self) -> DoubleArray:
        """Joint shares of the first and the second symbol."""
        return self._table(self.first, self.second, self.shares)

    def _table(self, rows: PointerArray, columns: PointerArray, values: DoubleArray) -> DoubleArray:
        m = self.m
        sums: DoubleArray = np.bincount(rows * m + columns, values, m**2).astype(np.float64)
        return sums.reshape(m, m)


def triple_moments(symbols: PointerArray, offsets: PointerArray, m: int) -> Triples:
    """All triples that lie inside one sequence."""
    inside = np.ones(symbols.size, dtype=bool)
    for skipped in (0, 1):
        heads = offsets[:-1] + skipped
        inside[heads[heads < symbols.size]] = False
    third = np.flatnonzero(inside)
    third = third[third >= 2]
    codes = (symbols[third] * m + symbols[third - 2]) * m + symbols[third - 1]
    if m**3 <= codes.size:  # counting takes less time than sorting
        counts = np.bincount(codes, minlength=m**3)
        found = np.flatnonzero(counts)
        counts = counts[found]
    else:
        found, counts = np.unique(codes, return_counts=True)
    shares = counts / max(third.size, 1)
    return Triples(found // m % m, found % m, found // m**2, shares, m)


def _distributions(rows: DoubleArray) -> DoubleArray:
    """Rows as probabilities: estimates outside [0, 1] come from noise."""
    raised = np.maximum(rows, _LEAST_PROBABILITY)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
