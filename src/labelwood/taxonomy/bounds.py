"""What is proved of hierarchical regularized least squares: its regret, its bias and its noise.

The statements are those of Cesa-Bianchi, Conconi and Gentile, "Regret Bounds for Hierarchical
Classification with Linear-Threshold Functions", COLT 2004; `docs/research/taxonomy_bounds.md`
explains which of them hold, and how they were mended or sharpened.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import betainc

from labelwood.core.bound import Bound, Terms
from labelwood.core.params import Instance, Integer, Real, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.taxonomy.process import Process

_DATA = (
    "instances of length one that are drawn independently, labels drawn from the "
    "linear-threshold model, eq. (1), and |u·x| ≥ γ at every node"
)
_CHERNOFF = (1 - np.log(2)) / 2  # of the event that an eigenvalue is below half its mean
_MOST_DOUBLINGS = 100


def regret_bound(process: Process, t: int) -> Bound:
    """The regret of the t-th prediction: Cesa-Bianchi, Conconi & Gentile 2004, theorem 1.

    Regret is how much more often the learner of Figure 2 than the true predictor (2) is wrong
    about at least one label, after t − 1 examples. The terms are the sums over the nodes of

    - margins: the estimate is off by half the margin, P(A) 2et exp(−γ²λn/16);
    - eigenvalues: the examples do not spread over all directions, P(A) e(t + 1)² exp(−λ²n/304);
    - examples: there are too few of them, P(A) exp(−n/5),

    where P(A) is the probability that the true predictor gives all ancestors of the node
    (`Process.predicted`) and n = (t − 1) P(A) / 2^(h + 1). `parts` has what each node adds to them
    (remark 2).

    Parameters
    ----------
    process : Process
    t : int

    Notes
    -----
    The theorem says P(u·x ≥ γ) = 1, and means |u·x|. It asks for a minimal t (in `facts`), but
    its formula holds for every t: see `docs/research/taxonomy_bounds.md`. Nodes with P(A) = 0 add
    nothing and have no part in the minimal t.

    Examples
    --------
    >>> print(regret_bound(Process(2, [0], [0.5], [0.5], [1.0], [1.0]), 80_000))
    regret ≤ 9.009e-05 (Cesa-Bianchi, Conconi & Gentile 2004, theorem 1)
      margins         8.377e-131
      eigenvalues     9.009e-05
      examples        0
      minimal t       1,537
      below 1 from t  55,575
      assumes instances of length one ...
    """
    _check("regret_bound", process, t)
    minimal = _minimal_t(process)
    return Bound(
        "regret",
        _stated_terms(process, t),
        1.0,
        _DATA,
        "Cesa-Bianchi, Conconi & Gentile 2004, theorem 1",
        {"minimal t": minimal, "below 1 from t": _below_one_from(_stated_terms, process)},
        "t is below the minimal one, without which it holds as well" if t < minimal else "",
        _stated_parts(process, t),
    )


def _stated_terms(process: Process, t: int) -> Terms:
    """The three terms of theorem 1, as they are stated."""
    return {name: float(part.sum()) for name, part in _stated_parts(process, t).items()}


def _stated_parts(process: Process, t: int) -> dict[str, DoubleArray]:
    """What each node adds to the terms of theorem 1: remark 2 discusses these."""
    p, gamma, lam = process.predicted, process.margin, process.eigenvalue
    n = (t - 1) * p / 2.0 ** (process.depth + 1)
    return {
        "margins": p * (2 * np.e * t * np.exp(-(gamma**2) * lam * n / 16)),
        "eigenvalues": p * (np.e * (t + 1.0) ** 2 * np.exp(-(lam**2) * n / 304)),
        "examples": p * np.exp(-n / 5),
    }


def _minimal_t(process: Process) -> float:
    """The first t to which the theorem applies by its own words; infinite if there is none."""
    met = process.predicted > 0
    gamma, lam, d = process.margin[met], process.eigenvalue[met], process.n_features
    with np.errstate(divide="ignore"):
        needed = np.maximum(8 / (lam * gamma), 96 * d / lam**2)
    largest = np.max(2.0 ** (process.depth[met] + 1) / process.predicted[met] * needed, initial=0)
    return int(largest) + 1 if np.isfinite(largest) else np.inf


def sharper_regret_bound(process: Process, t: int) -> Bound:
    """The same regret as in `regret_bound`, with less slack than theorem 1.

    The number N of a node's examples is binomial, so that no limit for it is needed: with
    E[e^(−aN)] = (1 − μ(1 − e^(−a)))^(t − 1) the terms of a node are P(A) times

    - margins: 2 e^(−γ²/4) E[e^(−γ²λN/16)];
    - eigenvalues: d E[e^(−0.153 λN)], by the matrix Chernoff inequality in place of lemma 1;
    - examples: P(N ≤ (8/γ − 4)/λ), up to where the bias may be half the margin.

    A node for which they add up to P(A) or more counts as unlearned, with P(A).

    Parameters
    ----------
    process : Process
    t : int

    Examples
    --------
    >>> process = Process(2, [0], [0.5], [0.5], [1.0], [1.0])
    >>> bound = sharper_regret_bound(process, 2_000)
    >>> bound.vacuous, list(bound.terms)
    (False, ['margins', 'eigenvalues', 'examples', 'unlearned nodes'])
    >>> regret_bound(process, 2_000).vacuous
    True
    """
    _check("sharper_regret_bound", process, t)
    return Bound(
        "regret",
        _sharper_terms(process, t),
        1.0,
        _DATA,
        "in place of Cesa-Bianchi, Conconi & Gentile 2004, theorem 1",
        {"below 1 from t": _below_one_from(_sharper_terms, process)},
        parts=_sharper_parts(process, t),
    )


def _sharper_terms(process: Process, t: int) -> Terms:
    return {name: float(part.sum()) for name, part in _sharper_parts(process, t).items()}


def _sharper_parts(process: Process, t: int) -> dict[str, DoubleArray]:
    """What each node adds to the terms."""
    p, gamma, lam, mu = process.predicted, process.margin, process.eigenvalue, process.observed
    n = float(t - 1)
    with np.errstate(divide="ignore"):
        too_few = (8 / gamma - 4) / lam
    parts = {
        "margins": 2 * np.exp(-(gamma**2) / 4) * _mean_power(gamma**2 * lam / 16, n, mu),
        "eigenvalues": process.n_features * _mean_power(_CHERNOFF * lam, n, mu),
        "examples": _binomial_below(np.minimum(too_few, n), n, mu),
    }
    learned = sum(parts.values()) < 1
    of_nodes = {name: p * np.where(learned, part, 0) for name, part in parts.items()}
    return {**of_nodes, "unlearned nodes": p * ~learned}


def _mean_power(rate: DoubleArray, n: float, p: DoubleArray) -> DoubleArray:
    """E[e^(−rate·N)] for N binomial with parameters n and p."""
    return np.exp(n * np.log1p(p * np.expm1(-rate)))


def _binomial_below(k: DoubleArray, n: float, p: DoubleArray) -> DoubleArray:
    """P(N ≤ k) for N binomial with parameters n and p, for n beyond any integer type too."""
    k = np.floor(k)
    return np.where(k >= n, 1.0, betainc(np.maximum(n - k, 1), k + 1, 1 - p))


def _below_one_from(terms: Callable[[Process, int], Terms], process: Process) -> float:
    """The t from which on the terms add up to less than 1; infinite if there is none."""

    def too_large(t: int) -> bool:
        return not sum(terms(process, t).values()) < 1

    last = max((k for k in range(_MOST_DOUBLINGS) if too_large(2**k)), default=-1)
    if last < 0:
        return 1
    if last == _MOST_DOUBLINGS - 1:
        return np.inf
    low, high = 2**last, 2 ** (last + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_large(middle) else (low, middle)
    return high


def eigenvalue_bound(n: int, n_features: int, eigenvalue: float) -> Bound:
    """How probably n examples leave a direction out: Cesa-Bianchi et al. 2004, lemma 1.

    The probability that the smallest eigenvalue of Σ xxᵀ over n instances is below nλ/2 is at
    most 2(n + 1) exp(−nλ²/304), λ being the smallest eigenvalue of E[xxᵀ].

    Parameters
    ----------
    n : int
        Independent instances.
    n_features : int
        d, their dimension.
    eigenvalue : float
        λ, at most 1/d.

    Notes
    -----
    The lemma asks for n ≥ 96d/λ². That is not needed: the matrix Chernoff inequality
    d exp(−(1 − ln 2)/2 · nλ), which is in `facts`, is smaller wherever d ≤ 2(n + 1); for fewer
    instances lemma 1 says no more than that a probability is at most 1.

    Examples
    --------
    >>> print(eigenvalue_bound(50_000, 2, 0.5))
    probability ≤ 1.388e-13 (Cesa-Bianchi, Conconi & Gentile 2004, lemma 1)
      tail             1.388e-13
      matrix Chernoff  0
      assumes independent instances of length one
    """
    owner = "eigenvalue_bound"
    check_parameter(owner, "n", n, Integer(low=1))
    check_parameter(owner, "n_features", n_features, Integer(low=1))
    check_parameter(owner, "eigenvalue", eigenvalue, Real(low=0, high=1 / n_features))
    asked = n * eigenvalue**2 >= 96 * n_features
    return Bound(
        "probability",
        {"tail": float(2 * (n + 1) * np.exp(-n * eigenvalue**2 / 304))},
        1.0,
        "independent instances of length one",
        "Cesa-Bianchi, Conconi & Gentile 2004, lemma 1",
        {"matrix Chernoff": float(n_features * np.exp(-_CHERNOFF * n * eigenvalue))},
        "n is below 96 d/λ², without which it holds as well" if not asked else "",
    )


def bias_bound(eigenvalue: float) -> Bound:
    """How far the expected margin of a node is from the true one: the same paper, lemma 2.

    |E[W·x] − u·x| ≤ 2 / (1 + λ̂), one half for the regularization and one for the current
    instance, λ̂ being the smallest eigenvalue of the sum of xxᵀ over the node's examples.

    Notes
    -----
    The lemma bounds the bias B from above; its proof bounds |B|. More is true: |B| ≤ 2 / (2 + λ̂),
    which is in `facts` as `sharp`; it is reached when all eigenvalues are λ̂ and x = u. It follows
    that |B| ≤ 1, and the lemma is vacuous for λ̂ ≤ 1.

    Examples
    --------
    >>> print(bias_bound(7.0))
    bias ≤ 0.25 (Cesa-Bianchi, Conconi & Gentile 2004, lemma 2)
      regularization    0.125
      current instance  0.125
      sharp             0.2222
      assumes u and x of length one, labels drawn from the linear-threshold model, eq. (1)
    """
    check_parameter("bias_bound", "eigenvalue", eigenvalue, Real(low=0))
    half = 1 / (1 + eigenvalue)
    return Bound(
        "bias",
        {"regularization": half, "current instance": half},
        1.0,
        "u and x of length one, labels drawn from the linear-threshold model, eq. (1)",
        "Cesa-Bianchi, Conconi & Gentile 2004, lemma 2",
        {"sharp": 2 / (2 + eigenvalue)},
    )


def variance_bound(eigenvalue: float) -> Bound:
    """How much the labels of the examples vary a node's margin: the same paper, lemma 3.

    ‖Z‖² ≤ 1 / (2 + λ̂) for W·x = Σ V_k Z_k, with λ̂ as in `bias_bound`. It is at least the
    variance of the margin given the instances, and by Hoeffding's inequality
    P(|W·x − E[W·x]| ≥ ε) ≤ 2 exp(−ε² / 2‖Z‖²).

    Notes
    -----
    More is true: ‖Z‖² ≤ λ̂ / (2 + λ̂)² from λ̂ = 2 on, and never more than 1/8. That is in `facts`
    as `sharp`, and makes the lemma vacuous for λ̂ ≤ 6.

    Examples
    --------
    >>> print(variance_bound(8.0))
    squared norm ≤ 0.1 (Cesa-Bianchi, Conconi & Gentile 2004, lemma 3)
      labels  0.1
      sharp   0.08
      assumes x of length one
    """
    check_parameter("variance_bound", "eigenvalue", eigenvalue, Real(low=0))
    larger = max(eigenvalue, 2.0)
    return Bound(
        "squared norm",
        {"labels": 1 / (2 + eigenvalue)},
        0.125,
        "x of length one",
        "Cesa-Bianchi, Conconi & Gentile 2004, lemma 3",
        {"sharp": larger / (2 + larger) ** 2},
    )


def _check(owner: str, process: object, t: object) -> None:
    check_parameter(owner, "process", process, Instance("Process"))
    check_parameter(owner, "t", t, Integer(low=1))
