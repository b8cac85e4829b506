"""A chain from the moments of triples of symbols (Anandkumar, Hsu & Kakade 2012).

The observations are symbols here (clusters of the real ones), so that the method applies
whatever their dimension. With O the probabilities of symbols given states, P₃₁ the joint
probabilities of the first and third symbol of a triple and P₃₁₂(η) the same weighted by η of the
second, U₃ᵀP₃₁₂(η)U₁ (U₃ᵀP₃₁U₁)⁻¹ has the eigenvalues (Oᵀη)_k, with the same eigenvectors for
every η.
"""

import numpy as np

from labelwood.core.types import DoubleArray, PointerArray
from labelwood.sequences.engine import Chain, stationary_distribution

_LEAST_RATIO = 1e-3  # of singular values: below it, the moments hold fewer states than wanted
_LEAST_PROBABILITY = 1e-3  # what estimates below it (or below 0) are raised to


def spectral_start(
    symbols: PointerArray, offsets: PointerArray, n_states: int, rng: np.random.Generator
) -> tuple[Chain, DoubleArray] | None:
    """A chain, and the probabilities of states given each symbol; None if not identified."""
    m = int(symbols.max()) + 1
    P31, P312 = triple_moments(symbols, offsets, m)
    if P31.sum() == 0 or m < n_states:
        return None
    U3, values, U1t = np.linalg.svd(P31)
    if values[n_states - 1] < _LEAST_RATIO * values[0]:
        return None
    U3, U1 = U3[:, :n_states], U1t[:n_states].T
    middle = np.linalg.inv(U3.T @ P31 @ U1)
    joint = P312.sum(axis=0)  # first by second symbol
    U2 = np.linalg.svd(joint.T)[0][:, :n_states]
    theta = np.linalg.qr(rng.standard_normal((n_states, n_states)))[0]
    operators = [
        U3.T @ np.einsum("iaj,j->ia", P312, U2 @ direction) @ U1 @ middle for direction in theta
    ]
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


def triple_moments(
    symbols: PointerArray, offsets: PointerArray, m: int
) -> tuple[DoubleArray, DoubleArray]:
    """P₃₁ (third by first) and P₃₁₂ (third by first by second) of all triples in a sequence."""
    inside = np.ones(symbols.size, dtype=bool)
    for skipped in (0, 1):
        heads = offsets[:-1] + skipped
        inside[heads[heads < symbols.size]] = False
    third = np.flatnonzero(inside)
    third = third[third >= 2]
    codes = (symbols[third] * m + symbols[third - 2]) * m + symbols[third - 1]
    counts = np.bincount(codes, minlength=m**3).reshape(m, m, m).astype(np.float64)
    P312 = counts / max(third.size, 1)
    return P312.sum(axis=2), P312


def _distributions(rows: DoubleArray) -> DoubleArray:
    """Rows as probabilities: estimates outside [0, 1] come from noise."""
    raised = np.maximum(rows, _LEAST_PROBABILITY)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
