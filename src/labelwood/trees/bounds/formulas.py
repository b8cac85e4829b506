"""The formulas of bounds, on plain numbers and arrays.

Each formula returns the terms of a bound by name; they add up to it.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from labelwood.core.bound import Terms
from labelwood.core.types import DoubleArray, PointerArray


class Leaf(NamedTuple):
    """A leaf of a perceptron tree and the samples that reach it.

    `scores` has a row for each decision on the way and a column for each sample: w·x + b, times −1
    where the right answer is negative. `norms` are the lengths of the vectors (w, b), and `traces`
    has for each decision the sum over the samples of ‖x‖² + 1, with x restricted to the features
    that the decision reads: it is a function of these alone.
    """

    scores: DoubleArray
    norms: DoubleArray
    traces: DoubleArray


def perceptron_tree_terms(
    leaves: list[Leaf], n: int, depth: int, complexity: float, delta: float, c: float
) -> Terms:
    """Liu & Tsang 2017, theorem 5, as it is stated.

    A decision of margin 1 / ‖(w, b)‖ has the slack max(0, 1 − score) / ‖(w, b)‖: in ξ/γ
    the norm cancels. `complexity` is G_n of the class of decisions, `c` the constant that the
    theorem leaves open. Leaves without a sample add nothing but to their number.

    Examples
    --------
    >>> leaf = Leaf(np.array([[2.0, 0.5]]), np.array([3.0]), np.array([4.0]))
    >>> terms = perceptron_tree_terms([leaf, leaf], 4, 1, 0.1, 0.05, 1.0)
    >>> {name: round(value, 2) for name, value in terms.items()}
    {'slack': 0.5, 'capacity': 24.0, 'complexity': 0.5, 'confidence': 13.15}
    """
    slack = capacity = 0.0
    for leaf in leaves:
        n_samples = leaf.scores.shape[1]
        if n_samples:
            slack += float(np.maximum(0, 1 - leaf.scores).sum()) / n_samples
            capacity += 4 / n_samples * float(leaf.norms @ np.sqrt(leaf.traces))
    tail = np.sqrt(np.log(6 / delta) / (2 * n))
    return {
        "slack": slack,
        "capacity": capacity,
        "complexity": 5 / 2 * c * depth * len(leaves) * complexity,
        "confidence": float(((3 * depth + 1) * np.sqrt(n) * len(leaves) + 1) * tail),
    }


def gaussian_complexity(n: int, n_features: int, budget: int) -> float:
    """At most so much is G_n of the half-spaces that read `budget` of `n_features` features.

    G_n = E sup |2/n Σ g_i h(x_i)| ≤ 2 √(2 ln(2Π) / n), where Π bounds in how many ways they
    part n samples (Sauer's lemma for each choice of features).

    Examples
    --------
    >>> round(gaussian_complexity(10_000, 200, 2), 3)
    0.186
    """
    log_ways = _log_choices(n_features, budget) + _log_partitions(n, np.array([budget]))[0]
    return float(2 * np.sqrt(2 * (np.log(2) + log_ways) / n))


def counted_tree_terms(
    n: int,
    n_wrong: int,
    budgets: PointerArray,
    n_functions: PointerArray,
    n_features: int,
    n_trees: int,
    delta: float,
) -> Terms:
    """A bound that holds in place of theorem 5: trees are counted instead of their margins.

    Parameters
    ----------
    n, n_wrong : int
        Samples, and how many the tree gets wrong.
    budgets, n_functions : arrays with an entry for each decision
        Features that it reads, and linear functions of them that its side depends on.
    n_features, n_trees : int
        Columns of X, and trees (all must be right).
    delta : float

    Notes
    -----
    Once shape, leaf labels and features are given, the answers of the tree on n samples are fixed
    by those of its linear functions, which are at most Π = Π_f (en / (k_f + 1))^(k_f + 1)
    (Sauer). Massart's lemma and McDiarmid's inequality bound the error by

        training error + √(2 ln Π / n) + √(ln(1/δ') / 2n).

    The union over all shapes, labels and features, each with its share δ' of δ, adds what
    it takes to write them down: a bit per node, one per leaf, one per decision for whether its
    functions are the same, and ln(m + 1) + ln C(m, k) for its k of m features. How many
    folds vote must have been set without looking at the samples.

    Examples
    --------
    >>> one = np.array([1])
    >>> terms = counted_tree_terms(10_000, 500, one, one, 20, 1, 0.05)
    >>> {name: round(value, 3) for name, value in terms.items()}
    {'training error': 0.05, 'decisions': 0.062, 'choices and confidence': 0.026}
    """
    log_ways = float(n_functions @ _log_partitions(n, budgets))
    bits = 4 * budgets.size + 2 * n_trees
    choices = bits * np.log(2) + sum(_log_choices(n_features, k) for k in budgets.tolist())
    return {
        "training error": n_wrong / n,
        "decisions": float(np.sqrt(2 * log_ways / n)),
        "choices and confidence": float(np.sqrt((choices + np.log(1 / delta)) / (2 * n))),
    }


def path_terms(margins: DoubleArray, radius: float, n: int, delta: float) -> Terms:
    """Liu & Tsang 2017, theorems 17 and 18: 130R²/n (D' log 4en · log 4n + N log 2n + log 2/δ).

    `margins` are those of the N decisions of a path, D' = Σ 1/γ², logarithms are binary.

    Examples
    --------
    >>> terms = path_terms(np.array([0.5]), 1.0, 10**6, 0.05)
    >>> {name: round(value, 4) for name, value in terms.items()}
    {'margins': 0.2666, 'decisions': 0.0027, 'confidence': 0.0007}
    """
    with np.errstate(divide="ignore"):
        inverse = float(np.sum(1.0 / np.square(margins)))
    scale = 130 * radius**2 / n
    return {
        "margins": float(scale * inverse * np.log2(4 * np.e * n) * np.log2(4 * n)),
        "decisions": float(scale * margins.size * np.log2(2 * n)),
        "confidence": float(scale * np.log2(2 / delta)),
    }


def _log_partitions(n: int, budgets: PointerArray) -> DoubleArray:
    """Logarithm of how many ways half-spaces of so many features can part n samples (Sauer)."""
    dimension = np.minimum(budgets + 1.0, n)  # in no more than 2ⁿ ≤ eⁿ ways
    return dimension * np.log(np.e * n / dimension)


def _log_choices(n_features: int, k: int) -> float:
    """Logarithm of what it costs to name k, from 0 to n_features, and k of the features."""
    choices = gammaln(n_features + 1) - gammaln(k + 1) - gammaln(n_features - k + 1)
    return float(np.log(n_features + 1) + choices)
