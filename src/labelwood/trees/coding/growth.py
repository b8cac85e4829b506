"""Training one decision for each inner node of a coding tree, in threads."""

from typing import NamedTuple

import joblib
import numpy as np
from numpy.typing import NDArray

from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.random import kernel_states
from labelwood.core.sparse import CSRArrays, compact_columns
from labelwood.core.types import CSR, FloatArray, IndexArray, PointerArray
from labelwood.linear.budgeted import solve_budgeted, warn_of_budget
from labelwood.linear.l2svm import row_norms
from labelwood.trees.coding._decision_kernels import solve_decision
from labelwood.trees.coding._shape_kernels import node_depths, node_ends, preorder
from labelwood.trees.coding.arrays import CodingTree
from labelwood.trees.coding.label_sets import LabelSets

# Most nodes of a tree over label sets have a handful of samples: a few hundred non-zeros.
# Below so many samples a decision is one plane: a search for a better choice of features cannot
# tell from them. It costs most of the time, as nearly all nodes are that small.
_FEW = 64
_MAX_PLANES = 3  # of larger nodes: a limit on the time of a node, which has not been tuned
_TOL = 1e-2  # of the objective


class Code(NamedTuple):
    """A binary tree over label sets.

    Leaf i is set i, and inner node i of n sets has number n + i. `positive[i]` and
    `negative[i]` are its children.
    """

    positive: PointerArray
    negative: PointerArray
    root: int


class Settings(NamedTuple):
    """Parameters of the estimators.

    `bias` is the value of the constant feature, 0 for none, and `budget` the number of features
    that a decision may read, 0 for no limit.
    """

    C: float
    balance: float
    bias: float
    tol: float
    max_iter: int
    prune_below: float
    budget: int = 0


class Decision(NamedTuple):
    """One linear decision, and how its solver ended."""

    features: IndexArray
    weights: FloatArray
    intercept: float
    n_iter: int
    solved: bool


class Grown(NamedTuple):
    """A tree with its decisions, and diagnostics.

    `mean_decisions` is that of training samples which follow the path to their own label set,
    `n_unsolved` the number of decisions that met the iteration limit.
    """

    tree: CodingTree
    mean_decisions: float
    depth: int
    n_iter: int
    n_unsolved: int


class _Problem(NamedTuple):
    """The training rows; `features` are the columns that X was made of, which `matrix` has all."""

    matrix: CSR
    X: CSRArrays
    features: IndexArray
    norms: FloatArray
    settings: Settings


def grow_tree(
    X: CSR,
    found: LabelSets,
    code: Code,
    settings: Settings,
    *,
    random_state: object,
    n_jobs: int | None,
) -> Grown:
    """Learn every decision of `code`, each on the samples of its own label sets."""
    right, set_of = preorder(*code, found.counts.size)
    depth = node_depths(right)
    leaves = set_of >= 0
    sizes = np.zeros(right.size, dtype=np.int64)
    sizes[leaves] = found.counts[set_of[leaves]]
    starts, ends = node_ends(right, sizes)
    position = np.empty(found.counts.size, dtype=np.int64)
    position[set_of[leaves]] = np.arange(found.counts.size)
    samples = np.argsort(position[found.of_sample], kind="stable").astype(np.uint32)
    arrays, features = compact_columns(X, commonest_first=True)
    problem = _Problem(X, arrays, features, row_norms(arrays, settings.bias), settings)
    inner = np.flatnonzero(~leaves)
    spans = np.stack([starts[inner], starts[right[inner]], ends[inner]], axis=1)
    decisions = _train(problem, samples, spans, random_state, n_jobs)
    tree = _assemble(right, inner, decisions, features, found.sets, set_of)
    return Grown(
        tree,
        float(sizes @ depth) / samples.size,
        int(depth.max()),
        max((one.n_iter for one in decisions), default=0),
        sum(not one.solved for one in decisions),
    )


def _train(
    problem: _Problem,
    samples: IndexArray,
    spans: PointerArray,
    random_state: object,
    n_jobs: int | None,
) -> list[Decision]:
    """One decision for each of `spans`: start of its samples, of the negative ones, and end."""
    if spans.size == 0:
        return []
    sizes = spans[:, 2] - spans[:, 0]
    order = np.argsort(-sizes, kind="stable")
    groups = _groups(order, sizes, max(samples.size // 2, 1))
    states = kernel_states(random_state, len(groups))
    n_threads = joblib.effective_n_jobs(n_jobs)
    needed = n_threads * (12 * problem.features.size + 20 * samples.size)
    require_memory(needed, f"training on {n_threads} threads", "lower n_jobs")

    def train(group: int) -> list[Decision]:
        state = states[group].copy()
        workspace = np.zeros(problem.features.size + 1, dtype=np.float32)
        return [
            train_decision(problem, samples[start:end], int(middle - start), state, workspace)
            for start, middle, end in spans[groups[group]].tolist()
        ]

    pilots = [2**i - 1 for i in range(len(groups).bit_length())]
    done = dict(zip(pilots, parallel(train, pilots, n_jobs=n_jobs), strict=True))
    _require_model_memory(done, len(groups))
    stack = [group for group in range(len(groups)) if group not in done]
    results = parallel(
        train,
        stack,
        n_jobs=n_jobs,
        description="training decisions",
        weights=[int(sizes[groups[group]].sum()) for group in stack],
    )
    done.update(zip(stack, results, strict=True))
    trained = [one for group in range(len(groups)) for one in done[group]]
    position = np.empty(order.size, dtype=np.int64)
    position[order] = np.arange(order.size)
    return [trained[k] for k in position]


def _groups(order: PointerArray, sizes: PointerArray, quota: int) -> list[PointerArray]:
    """Nodes, largest first, in groups of about `quota` samples, whatever the number of threads."""
    done = np.cumsum(sizes[order]) - sizes[order]
    return np.split(order, np.flatnonzero(np.diff(done // quota)) + 1)


def _require_model_memory(pilots: dict[int, list[Decision]], n_groups: int) -> None:
    """Estimate the model from a few groups of nodes."""
    ends = [*list(pilots)[1:], n_groups]
    spans = zip(pilots.items(), ends, strict=True)
    estimate = sum(
        8 * sum(one.weights.size for one in group) * (end - start) for (start, group), end in spans
    )
    # All decisions are held twice while they are concatenated.
    require_memory(int(2.2 * estimate), "the decisions of the tree", "raise prune_below")


def train_decision(
    problem: _Problem,
    rows: IndexArray,
    n_positive: int,
    state: NDArray[np.uint64],
    workspace: FloatArray,
) -> Decision:
    """An L2-SVM that separates the first `n_positive` of `rows` from the others.

    With a budget it reads no more features than that. `workspace` must hold zeros, and does so
    again at the end.
    """
    settings = problem.settings
    shares = np.array([n_positive, rows.size - n_positive]) / rows.size
    costs = settings.C * (0.5 / shares) ** settings.balance
    if settings.budget:
        both = (float(costs[0]), float(costs[1]))
        fit_intercept, limit = settings.bias > 0, settings.max_iter
        return budgeted_decision(
            problem.matrix, rows, n_positive, both, settings.budget, fit_intercept, limit
        )
    signs = np.ones(rows.size, dtype=np.float32)
    signs[n_positive:] = -1
    ridge = np.where(signs > 0, 0.5 / costs[0], 0.5 / costs[1]).astype(np.float32)
    features, weights, intercept, n_iter, solved = solve_decision(
        problem.X,
        problem.norms,
        rows,
        signs,
        ridge,
        settings.bias,
        settings.tol,
        settings.max_iter,
        settings.prune_below,
        state,
        workspace,
    )
    return Decision(problem.features[features], weights, intercept, n_iter, solved)


def resolved_budget(budget: int | str | None, n_features: int, n_used: int) -> int:
    """The features that a decision may read; 0 for no limit.

    "auto" is twice the square root of the features that occur, and at least 16: no more than a
    person reads, and not fewer than a document of ordinary length shares with its topic.

    Examples
    --------
    >>> [resolved_budget("auto", n, n) for n in (68, 499, 65_256)]
    [17, 45, 511]
    """
    if budget is None:
        return 0
    if budget == "auto":
        return min(max(16, int(np.ceil(2 * np.sqrt(n_used)))), max(n_features, 1))
    warn_of_budget(int(budget), n_features)
    return min(int(budget), n_features)


def budgeted_decision(
    X: CSR,
    rows: IndexArray,
    n_positive: int,
    costs: tuple[float, float],
    budget: int,
    fit_intercept: bool,
    max_iter: int,
) -> Decision:
    """A budget-aware classifier on `rows` of `X` (Liu & Tsang 2017, Algorithms 3 and 4).

    The first `n_positive` of `rows` are positive; `costs` are those of an error on either side.
    """
    signs = np.ones(rows.size)
    signs[n_positive:] = -1
    few = rows.size < _FEW
    solved = solve_budgeted(
        X,
        signs,
        np.where(signs > 0, *costs),
        budget=budget,
        plane_size=budget if few else None,
        rows=rows,
        fit_intercept=fit_intercept,
        tol=_TOL,
        max_planes=1 if few else _MAX_PLANES,
        max_iter=max_iter,
    )
    return Decision(
        solved.features.astype(np.uint32),
        solved.coef[0].astype(np.float32),
        float(solved.intercepts[0]),
        solved.n_iter,
        solved.converged,
    )


def _assemble(
    right: PointerArray,
    inner: PointerArray,
    decisions: list[Decision],
    features: IndexArray,
    sets: CSR,
    set_of: PointerArray,
) -> CodingTree:
    """Decisions and label sets at their nodes, in flat arrays."""
    intercepts = np.zeros(right.size, dtype=np.float32)
    intercepts[inner] = [one.intercept for one in decisions]
    n_weights = np.zeros(right.size, dtype=np.int64)
    n_weights[inner] = [one.weights.size for one in decisions]
    leaves = np.flatnonzero(set_of >= 0)
    held = sets[set_of[leaves]]
    n_labels = np.zeros(right.size, dtype=np.int64)
    n_labels[leaves] = np.diff(held.indptr)
    return CodingTree(
        right,
        intercepts,
        _pointers(n_weights),
        np.concatenate([features[:0], *(one.features for one in decisions)]),
        np.concatenate([intercepts[:0], *(one.weights for one in decisions)]),
        _pointers(n_labels),
        held.indices.astype(np.uint32),
    )


def _pointers(sizes: PointerArray) -> PointerArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
