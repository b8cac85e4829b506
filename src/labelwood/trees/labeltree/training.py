"""Training the nodes of label trees: level by level, in batches, in threads."""

from typing import Any, NamedTuple, Self

import joblib
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from labelwood.core.lanes import WIDTH
from labelwood.core.memory import require_memory
from labelwood.core.parallel import parallel
from labelwood.core.settings import settings_of
from labelwood.core.sparse import CSRArrays, compact_columns, csr_arrays
from labelwood.core.types import CSR, DoubleArray, FloatArray, IndexArray, PointerArray
from labelwood.linear.l2svm import row_norms
from labelwood.trees.labeltree import _training_kernels as kernels
from labelwood.trees.labeltree.clustering import TERMS, LabelClusters, rows_of_nodes

# Rows × blocks of a batch, at least: allocating the workspace would dominate smaller batches.
_LEAST_WORK = 20_000


class Settings(NamedTuple):
    """Parameters of `LabelTreeClassifier`; a `bias` or `max_weights` of 0 is none."""

    n_trees: int
    max_leaf_labels: int
    branching: int
    loss: str
    hard_negatives: bool
    n_negatives: int
    tol: float
    bias: float
    max_iter: int
    prune_below: float
    max_weights: int
    beam: int

    @classmethod
    def of(cls, owner: Any) -> Self:
        """The settings of an estimator."""
        bias = owner.intercept_scaling if owner.fit_intercept else 0.0
        return settings_of(cls, owner, bias=bias)

    @property
    def logistic(self) -> bool:
        """Whether the loss is the logistic one."""
        return self.loss == "logistic"


class Level(NamedTuple):
    """The nodes of a level, and what their children are trained on.

    Row j of `inside` lists the rows of node j, and `firsts[j]:firsts[j + 1]` are its
    children; child c has the rows `children[c]` of `positives`, and its own costs.
    """

    inside: CSRArrays
    firsts: PointerArray
    positives: CSRArrays
    children: IndexArray
    cost_positive: DoubleArray
    cost_negative: DoubleArray
    states: NDArray[np.uint64]

    def with_rows(self, reached: CSR) -> Self:
        """The same with further rows at some nodes; `reached` has shape (nodes, rows)."""
        inside = sp.csr_array(
            (self.inside.data, self.inside.indices, self.inside.indptr), shape=reached.shape
        )
        return self._replace(inside=csr_arrays(sp.csr_array(inside + reached)))


class Batch(NamedTuple):
    """The nodes `start`…`end` of a level; the work is the number of rows × blocks."""

    level: Level
    start: int
    end: int
    work: int


class Trained(NamedTuple):
    """What `train_nodes` returns of a batch."""

    block_sizes: NDArray[np.int64]
    features: IndexArray
    sizes: NDArray[np.uint8]
    lanes: NDArray[np.uint8]
    weights: FloatArray
    intercepts: FloatArray
    passes: NDArray[np.int64]
    solved: NDArray[np.bool_]

    @property
    def model_bytes(self) -> int:
        """Its share of the model, where a feature has a pointer of eight bytes."""
        return sum(array.nbytes for array in self[1:6]) + 7 * self.features.size


class NodeProblem(NamedTuple):
    """The rows of all nodes; `features` are the original columns of X."""

    X: CSRArrays
    features: IndexArray
    norms: FloatArray

    @classmethod
    def of(
        cls, X: CSR, n_labels: int, settings: Settings, n_jobs: int | None, n_roots: int = 1
    ) -> Self:
        """Check that the memory suffices, and renumber the features by frequency."""
        arrays, features = compact_columns(X, commonest_first=True)
        n_threads = min(joblib.effective_n_jobs(n_jobs), n_roots)
        # At a root a thread holds a copy of the rows, and sixteen or more numbers for each row and
        # feature; below it there are fewer rows.
        per_thread = 8 * X.nnz + 4 * WIDTH * (3 * X.shape[0] + features.size)
        needed = 8 * X.nnz + n_threads * per_thread + 16 * TERMS * n_labels
        require_memory(needed, f"training on {n_threads} threads", "lower n_jobs")
        return cls(arrays, features, row_norms(arrays, settings.bias))


def tree_levels(
    tree: LabelClusters,
    Y: CSR,
    members: CSRArrays,
    cost_positive: DoubleArray,
    cost_negative: DoubleArray,
    seed: np.random.SeedSequence,
) -> list[Level]:
    """What each level of a tree is trained on; costs are those of the columns of Y.

    An error on a cluster costs the mean over the occurrences of its labels.
    """
    rows = rows_of_nodes(Y, tree)
    occurrences = np.diff(members.indptr)[tree.order]
    starts = [*tree.starts[1:], np.arange(tree.order.size + 1)]
    streams = seed.spawn(len(tree.firsts))
    levels = []
    for depth, firsts in enumerate(tree.firsts):
        leaves = depth == len(tree.firsts) - 1
        borders = starts[depth][:-1]
        total = np.add.reduceat(occurrences, borders)
        positive, negative = (
            np.add.reduceat(occurrences * cost[tree.order], borders) / total
            for cost in (cost_positive, cost_negative)
        )
        levels.append(
            Level(
                rows[depth],
                firsts,
                members if leaves else rows[depth + 1],
                tree.order if leaves else np.arange(firsts[-1], dtype=np.uint32),
                positive,
                negative,
                node_states(streams[depth], firsts.size - 1),
            )
        )
    return levels


def node_states(seed: np.random.SeedSequence, n: int) -> NDArray[np.uint64]:
    """A random stream for each of `n` nodes."""
    states: NDArray[np.uint64] = seed.generate_state(4 * n, np.uint64).reshape(n, 4)  # type: ignore[assignment]
    return states


def train_levels(
    problem: NodeProblem, levels: list[Level], settings: Settings, n_jobs: int | None
) -> list[list[Trained]]:
    """The trained batches of each level, in the order of its nodes."""
    batches = [_batches(level) for level in levels]
    flat = [batch for level in batches for batch in level]
    # The largest batches first, so that no thread ends long after the others.
    order = sorted(range(len(flat)), key=lambda number: -flat[number].work)

    def train(number: int) -> Trained:
        return _train_batch(problem, flat[number], settings)

    pilots = [order[2**i - 1] for i in range(len(order).bit_length())]
    first = parallel(train, pilots, n_jobs=n_jobs, description="training some nodes first")
    done = dict(zip(pilots, first, strict=True))
    _require_model_memory(done, flat, order)
    todo = [number for number in order if number not in done]
    work = [flat[number].work for number in todo]
    results = parallel(train, todo, n_jobs=n_jobs, description="training decisions", weights=work)
    done.update(zip(todo, results, strict=True))
    numbers = iter(range(len(flat)))
    return [[done.pop(next(numbers)) for _ in level] for level in batches]


def _train_batch(problem: NodeProblem, batch: Batch, settings: Settings) -> Trained:
    return Trained(
        *kernels.train_nodes(
            problem,
            batch.level,
            batch.start,
            batch.end,
            settings.logistic,
            np.float32(settings.bias),
            settings.tol,
            settings.max_iter,
            settings.n_negatives,
            settings.prune_below,
            settings.max_weights,
        )
    )


def _batches(level: Level) -> list[Batch]:
    """Runs of nodes with enough work for a thread, none much larger than it has to be."""
    blocks = -(-np.diff(level.firsts) // WIDTH)
    work = np.cumsum(np.diff(level.inside.indptr) * blocks)
    number = np.append(0, work[:-1]) // max(_LEAST_WORK, int(work[-1]) // 100)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    ends = np.append(starts[1:], number.size)
    sums = np.diff(work[ends - 1], prepend=0)
    return [Batch(level, *map(int, one)) for one in zip(starts, ends, sums, strict=True)]


def _require_model_memory(pilots: dict[int, Trained], flat: list[Batch], order: list[int]) -> None:
    """Estimate the model from a few batches, each standing for those up to the next."""
    ends = [*(2**i - 1 for i in range(1, len(pilots))), len(order)]
    estimate = 0.0
    for i, (number, part) in enumerate(pilots.items()):
        work = sum(flat[other].work for other in order[2**i - 1 : ends[i]])
        estimate += part.model_bytes * work / max(flat[number].work, 1)
    require_memory(
        int(1.2 * estimate), "a model of so many labels", "raise prune_below or set max_weights"
    )
