"""One-vs-rest with a weight for each sample, and costs by the frequencies of labels.

The working sets of `working_sets` share one cost among all negatives of a label. Where samples have
weights of their own, each label is solved on all samples by itself, which is slower and as exact.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwood.core.classes import MAX_WEIGHT, check_weight_range
from labelwood.core.lanes import WIDTH
from labelwood.core.parallel import parallel
from labelwood.core.random import kernel_states
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, IndexArray
from labelwood.errors import DataError, ParameterError
from labelwood.linear.l2svm import l2svm
from labelwood.linear.onevsrest.working_sets import Block, Settings


def check_weights(sample_weight: object, n: int) -> DoubleArray | None:
    """Weights as numbers ≥ 0, or None where all are one."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight must hold a number for each sample.") from None
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar. Got {weights.ndim} axes.")
    if weights.shape != (n,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected {(n,)}!")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise DataError(
            f"sample_weight must hold numbers ≥ 0. Got {weights[wrong[0]]:g} for sample {wrong[0]}."
        )
    if not np.any(weights > 0):
        raise DataError("All sample weights are zero: there is nothing to learn from.")
    check_weight_range(weights)
    return None if np.all(weights == 1) else weights


def class_factors(
    class_weight: object, Y: CSR, classes: AnyArray, multilabel: bool, *, adding: bool = False
) -> tuple[DoubleArray, DoubleArray]:
    """By how much the costs of positive and of negative samples of each label are multiplied.

    "balanced" gives both sides of each label the same sum, n/2, as scikit-learn does in a problem
    of two classes; a mapping multiplies the cost of the positive samples of the labels it names.
    With one class for each sample the weights are those of LinearSVC: of several classes, they
    multiply the cost of the positive samples alone; of two, that of the other class too.
    """
    n, n_labels = Y.shape
    factors, ones = np.ones(n_labels), np.ones(n_labels)
    if class_weight is None:
        return ones, ones
    counts = np.bincount(Y.indices, minlength=n_labels)
    if class_weight == "balanced":
        if multilabel:
            return n / (2 * np.maximum(counts, 1)), n / (2 * np.maximum(n - counts, 1))
        factors = n / (n_labels * np.maximum(counts, 1))
    else:
        place = {name: column for column, name in enumerate(classes.tolist())}
        for name, weight in _items(class_weight):
            if name in place:
                factors[place[name]] = weight
            elif multilabel and not adding:  # labels that are added are weighed by the same dict
                raise ParameterError(f"class_weight names {name!r}, which is no label of the data.")
    return factors, factors[::-1] if not multilabel and n_labels == 2 else ones


def _items(class_weight: object) -> list[tuple[object, float]]:
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            "The 'class_weight' parameter of OneVsRestSVM must be None, 'balanced', or a dict of "
            f"labels and numbers. Got {class_weight!r} instead."
        )
    for name, weight in class_weight.items():
        if not isinstance(weight, (int, float, np.number)) or not weight > 0:
            raise ParameterError(
                "The 'class_weight' parameter of OneVsRestSVM must hold numbers > 0. "
                f"Got {weight!r} for {name!r}."
            )
        if not 1 / MAX_WEIGHT <= weight <= MAX_WEIGHT:
            raise ParameterError(
                "The numbers of the 'class_weight' parameter of OneVsRestSVM must lie in "
                f"{1 / MAX_WEIGHT:g}…{MAX_WEIGHT:g}. Got {weight!r} for {name!r}."
            )
    return [(name, float(weight)) for name, weight in class_weight.items()]


def train_weighted(
    X: CSR,
    Y: CSR,
    labels: IndexArray,
    cost_positive: DoubleArray,
    cost_negative: DoubleArray,
    settings: Settings,
    *,
    sample_weight: DoubleArray,
    random_state: object,
    n_jobs: int | None,
) -> list[Block]:
    """As `train_labels`, with the costs of sample i multiplied by `sample_weight[i]`."""
    _check_products(sample_weight, np.concatenate([cost_positive[labels], cost_negative[labels]]))
    members = sp.csc_array(Y)
    groups = [labels[start : start + WIDTH] for start in range(0, labels.size, WIDTH)]
    states = kernel_states(random_state, len(groups))

    def train(block: int) -> Block:
        solved = []
        for label in groups[block]:
            signs = np.full(X.shape[0], -1, dtype=np.float32)
            signs[members.indices[members.indptr[label] : members.indptr[label + 1]]] = 1
            costs = np.where(signs > 0, cost_positive[label], cost_negative[label])
            seed = int(states[block][0] % np.uint64(2**32))
            solved.append(_solve(X, signs, costs * sample_weight, settings, seed))
        return _block(groups[block], solved, settings, X.shape)

    weights = [group.size for group in groups]
    tasks = range(len(groups))
    return parallel(train, tasks, n_jobs=n_jobs, description="training labels", weights=weights)


def _check_products(sample_weight: DoubleArray, costs: DoubleArray) -> None:
    """Refuse costs of samples whose squares are no finite numbers, though those of labels are."""
    if not costs.size:
        return
    with np.errstate(over="ignore", under="ignore"):  # both are refused below
        low, high = sample_weight * costs.min(), sample_weight * costs.max()
    bad = np.flatnonzero((sample_weight > 0) & ((low < 1 / MAX_WEIGHT) | (high > MAX_WEIGHT)))
    if bad.size:
        raise DataError(
            f"sample_weight × class_weight × C must lie in {1 / MAX_WEIGHT:g}…{MAX_WEIGHT:g}. Got "
            f"{low[bad[0]]:g}…{high[bad[0]]:g} for sample {bad[0]}; scale the weights."
        )


class _Solved(NamedTuple):
    coef: FloatArray
    intercept: float
    objective: float
    gap: float
    n_iter: int
    converged: bool


def _solve(X: CSR, signs: FloatArray, costs: DoubleArray, settings: Settings, seed: int) -> _Solved:
    """One label on all samples, with its objective and duality gap."""
    found = l2svm(
        X,
        signs,
        C=costs,
        bias=settings.bias,
        tol=settings.tol,
        max_iter=settings.max_iter,
        random_state=seed,
    )
    w = found.coef.astype(np.float64)
    constant = found.intercept / settings.bias if settings.bias else 0.0
    square = 0.5 * float(w @ w + constant * constant)
    hinge = np.maximum(0, 1 - signs * (X @ w + found.intercept))
    primal = square + float(costs @ hinge**2)
    alpha = found.alpha.astype(np.float64)
    dual = float(np.sum(alpha - alpha**2 / (4 * costs))) - square
    gap = max(primal - dual, 0.0)
    return _Solved(found.coef, found.intercept, primal, gap, found.n_iter, found.converged)


def _block(
    labels: IndexArray, solved: list[_Solved], settings: Settings, shape: tuple[int, int]
) -> Block:
    """The classifiers of some labels side by side, without their small weights."""
    lanes = np.zeros((shape[1], WIDTH), dtype=np.float32)
    for lane, one in enumerate(solved):
        lanes[:, lane] = np.where(np.abs(one.coef) > settings.prune_below, one.coef, 0)
    features = np.flatnonzero(lanes.any(axis=1)).astype(np.uint32)
    return Block(
        labels,
        features,
        np.ascontiguousarray(lanes[features]).ravel(),
        np.array([one.intercept for one in solved], dtype=np.float32),
        np.array([[one.objective, one.gap] for one in solved]),
        max(one.n_iter for one in solved),
        1,
        shape[0],
        all(one.converged for one in solved),
        True,
    )
