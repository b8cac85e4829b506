"""What theory says of one budgeted decision, and of the decisions of a path, by their margins."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from labelwood.core.bound import Bound
from labelwood.core.params import Instance, Integer, Real, check_parameter
from labelwood.core.types import DoubleArray
from labelwood.errors import DataError

if TYPE_CHECKING:
    from labelwood.linear.budgeted import BudgetedClassifier

_N_MARGINS = 20  # halvings of the radius that are tried for the margin; each is paid for


def budgeted_classifier_bound(
    model: "BudgetedClassifier", X: object, y: object, delta: float = 0.05
) -> Bound:
    """The error of a budgeted decision on new samples: Liu & Tsang 2017, theorem 4.

    With g of norm 1 (the intercept is the weight of a constant feature) and slacks ξ below a
    margin γ, the error is at most Σξ/(nγ) + 4√tr(K)/(nγ) + 3√(ln(2/δ)/2n). The theorem is for
    features and a margin that were fixed beforehand: δ is divided among all choices of as many
    features as the decision reads, and among margins R/2, R/4, …

    Parameters
    ----------
    model : fitted BudgetedClassifier of two classes
    X, y : the samples it was fitted on, or other ones
    delta : float
        The bound fails with at most this probability.

    Notes
    -----
    `facts` has under `counted` the bound by the number of ways in which half-spaces of k features
    can part n samples, as in `budgeted_tree_bound`. It needs no margin, and is smaller wherever
    the budget is: the union over C(m, k) choices costs three times as much in theorem 4.

    Examples
    --------
    >>> from labelwood import BudgetedClassifier
    >>> x = np.random.default_rng(0).standard_normal((20_000, 3))
    >>> y = x[:, 1] > 0
    >>> bound = budgeted_classifier_bound(BudgetedClassifier(1).fit(x, y), x, y)
    >>> bound.vacuous, bound.facts["counted"] < bound.value
    (False, True)
    """
    owner = "budgeted_classifier_bound"
    check_parameter(owner, "model", model, Instance("BudgetedClassifier"))
    check_parameter(owner, "delta", delta, Real(above=0, below=1))
    check_is_fitted(model)
    if model.classes_.size != 2:
        raise DataError(f"{owner} is for two classes; the model has {model.classes_.size}.")
    signs = np.where(np.asarray(y) == model.classes_[1], 1.0, -1.0)
    margins, squares, k, m = _normalized(model, X)
    if signs.size != margins.size:
        raise DataError(f"X has {margins.size} rows and y {signs.size} classes.")
    terms, margin = theorem_4_terms(signs * margins, squares, k, m, delta)
    n_wrong = int(np.count_nonzero(signs * margins <= 0))
    return Bound(
        "error on new samples",
        terms,
        1.0,
        f"independent samples of one distribution; holds with probability {1 - delta:g}",
        "Liu & Tsang 2017, theorem 4, with a union over features and margins",
        {
            "samples": signs.size,
            "features read": k,
            "margin": margin,
            "training error": n_wrong / signs.size,
            "counted": _counted(n_wrong, signs.size, k, m, delta),
        },
    )


def theorem_4_terms(
    margins: DoubleArray, squares: DoubleArray, k: int, m: int, delta: float
) -> tuple[dict[str, float], float]:
    """The terms of theorem 4 at the best of the margins that are tried, and that margin.

    `margins` are y g(x), `squares` the squared lengths of the samples on the k features (of m)
    that g reads, the constant one included.

    Examples
    --------
    >>> terms, margin = theorem_4_terms(np.full(10_000, 0.8), np.ones(10_000), 1, 10, 0.05)
    >>> margin, {name: round(value, 3) for name, value in terms.items()}
    (0.5, {'slack': 0.0, 'capacity': 0.08, 'choices and confidence': 0.064})
    """
    n = margins.size
    radius = float(np.sqrt(squares.max(initial=0))) or 1.0
    best: tuple[float, dict[str, float], float] | None = None
    for j in range(1, _N_MARGINS + 1):
        gamma = radius / 2**j
        # 1/(j (j + 1)) over all j adds up to one: the share of δ that this margin gets.
        choices = _log_choices(m, k) + np.log(j * (j + 1))
        terms = {
            "slack": float(np.maximum(gamma - margins, 0).sum() / (n * gamma)),
            "capacity": float(4 * np.sqrt(squares.sum()) / (n * gamma)),
            "choices and confidence": float(3 * np.sqrt((np.log(2 / delta) + choices) / (2 * n))),
        }
        value = sum(terms.values())
        if best is None or value < best[0]:
            best = (value, terms, gamma)
    assert best is not None
    return best[1], best[2]


def fat_shattering_bound(radius: float, margin: float, n_features: int) -> float:
    """The fat-shattering dimension of linear functions: min(R²/γ², M + 1), theorem 16.

    For a decision under a budget M is the number of features that it reads, which makes the
    second half the smaller one as soon as margins are small.

    Examples
    --------
    >>> fat_shattering_bound(1.0, 0.5, 45), fat_shattering_bound(1.0, 0.01, 45)
    (4.0, 46.0)
    """
    owner = "fat_shattering_bound"
    check_parameter(owner, "radius", radius, Real(above=0))
    check_parameter(owner, "margin", margin, Real(above=0))
    check_parameter(owner, "n_features", n_features, Integer(low=0))
    return float(min((radius / margin) ** 2, n_features + 1))


def path_dimension_bound(dimensions: ArrayLike, n: int, delta: float = 0.05) -> Bound:
    """Mistakes of K decisions that err on none of n samples: Liu & Tsang 2017, lemma 15.

    The share of n further samples that is misclassified is at most
    (Σ k_i log(4en/k_i) · log(8n) + log(2^K/δ))/n, logarithms binary, where k_i is the
    fat-shattering dimension of decision i at an eighth of its margin (`fat_shattering_bound`).

    Parameters
    ----------
    dimensions : array of shape (K,)
    n : int
    delta : float

    Examples
    --------
    >>> print(path_dimension_bound([11.0], 10**6))
    share misclassified of n new samples ≤ 0.005... (Liu & Tsang 2017, lemma 15)
      dimensions  0.005...
      decisions   1e-06
      confidence  4.322e-06
      assumes independent samples, none of them misclassified by these decisions
    """
    owner = "path_dimension_bound"
    check_parameter(owner, "n", n, Integer(low=1))
    check_parameter(owner, "delta", delta, Real(above=0, below=1))
    k = np.asarray(dimensions, dtype=np.float64)
    if k.ndim != 1 or not (np.isfinite(k) & (k > 0)).all():
        raise DataError("dimensions must be positive numbers, one for each decision.")
    log_ways = float(np.sum(k * np.log2(4 * np.e * n / k)))
    return Bound(
        "share misclassified of n new samples",
        {
            "dimensions": log_ways * float(np.log2(8 * n)) / n,
            "decisions": k.size / n,
            "confidence": float(np.log2(1 / delta)) / n,
        },
        1.0,
        "independent samples, none of them misclassified by these decisions",
        "Liu & Tsang 2017, lemma 15",
    )


def _normalized(
    model: "BudgetedClassifier", X: object
) -> tuple[DoubleArray, DoubleArray, int, int]:
    """G of norm one on each row, squared lengths of rows, features read, and features."""
    matrix = model._check_X(X)
    scores = np.asarray(model.decision_function(X), dtype=np.float64).ravel()
    features = np.asarray(model.selected_features_, dtype=np.int64)
    read = matrix[:, features]
    squares = np.asarray(read.multiply(read).sum(axis=1), dtype=np.float64).ravel() + 1
    # The weights are found again from the scores of unit rows, whatever the model scales inside.
    probes = np.zeros((features.size + 1, matrix.shape[1]), dtype=np.float32)
    probes[np.arange(1, features.size + 1), features] = 1
    values = np.asarray(model.decision_function(probes), dtype=np.float64).ravel()
    norm = float(np.hypot(np.linalg.norm(values[1:] - values[0]), values[0]))
    return scores / (norm or 1.0), squares, int(features.size), int(matrix.shape[1])


def _counted(n_wrong: int, n: int, k: int, m: int, delta: float) -> float:
    """The bound by counting: training error, ways to part n samples, choices of features."""
    dimension = min(k + 1, n)
    ways = dimension * np.log(np.e * n / dimension)
    choices = _log_choices(m, k) + np.log(1 / delta)
    return float(n_wrong / n + np.sqrt(2 * ways / n) + np.sqrt(choices / (2 * n)))


def _log_choices(m: int, k: int) -> float:
    """Logarithm of what it costs to name k, from 0 to m, and k of m features."""
    return float(np.log(m + 1) + gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1))
