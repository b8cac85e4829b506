"""From data to fitted trees: one tree or one for each label, grown, pruned and joined."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from labelwood.core.parallel import parallel
from labelwood.core.random import seed_sequence
from labelwood.core.settings import settings_of
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, PointerArray
from labelwood.errors import ParameterError
from labelwood.trees.rules.decision_tree.arrays import RuleTrees, flatten, join
from labelwood.trees.rules.decision_tree.pruning import (
    LossOfNode,
    PruningPath,
    SizeChoice,
    choose_size,
    node_losses,
    pruning_path,
    size_curve,
)
from labelwood.trees.rules.features import (
    Categories,
    category_pairs,
    check_categories,
    feature_kinds,
    fill_missing,
    imputed_values,
    seen_categories,
    sort_matrix,
)
from labelwood.trees.rules.growth import (
    CATEGORICAL,
    BoolArray,
    Criterion,
    Entries,
    Grower,
    Growth,
    KindArray,
    Problem,
    Targets,
)


@dataclass(frozen=True)
class Table:
    """Features ready for growth: without gaps that are to be filled, and by feature."""

    matrix: CSR
    entries: Entries
    kinds: KindArray
    positive: BoolArray
    categories: Categories
    imputed: FloatArray
    weights: DoubleArray


@dataclass(frozen=True)
class Task:
    """What one tree learns; `targets` and `squares` as in `Problem`.

    `dense` gives the values of the outputs of some rows, of shape (n, k), and `strata` the
    groups that folds of a cross-validation share out evenly (None for none).
    """

    targets: Targets
    squares: DoubleArray
    n_outputs: int
    criterion: Criterion
    exclusive: bool
    dense: Callable[[AnyArray], AnyArray]
    strata: AnyArray | None


class Grown(NamedTuple):
    """A grown tree, its pruning path, how many pairs are removed, the curve of sizes."""

    trees: RuleTrees
    reasons: list[str]
    path: PruningPath
    n_removed: int
    choice: SizeChoice | None


def make_table(owner: Any, matrix: CSR, weights: DoubleArray) -> Table:
    """Kinds, categories and missing values by the owner's parameters."""
    kinds = feature_kinds(owner)
    check_categories(matrix, kinds)
    imputed = np.empty(0, dtype=np.float32)
    if owner.missing == "impute":
        imputed = imputed_values(matrix, kinds, weights)
    matrix = fill_missing(matrix, owner.missing, imputed)
    columns = np.flatnonzero(kinds == CATEGORICAL)
    seen = seen_categories(matrix[weights > 0], columns) if columns.size else {}
    entries, positive = sort_matrix(matrix, weights > 0)
    return Table(matrix, entries, kinds, positive, seen, imputed, weights)


def grow_all(owner: Any, table: Table, tasks: Sequence[Callable[[], Task]]) -> list[Grown]:
    """One tree for each task, in parallel; the folds of all are drawn from one seed."""
    growth = settings_of(Growth, owner)
    seeds = seed_sequence(owner.random_state).spawn(len(tasks))

    def one(number: int) -> Grown:
        return _grow_one(owner, table, tasks[number](), growth, seeds[number])

    return parallel(one, range(len(tasks)), n_jobs=owner.n_jobs, description="growing trees")


def _grow_one(
    owner: Any, table: Table, task: Task, growth: Growth, seed: np.random.SeedSequence
) -> Grown:
    rows = np.flatnonzero(table.weights > 0).astype(np.uint32)
    problem = Problem(
        table.entries,
        table.kinds,
        table.positive,
        {column: int(seen.max(initial=0)) + 1 for column, seen in table.categories.items()},
        rows,
        task.targets,
        task.squares,
        task.n_outputs,
        task.criterion,
    )
    trees, reasons, path = _grow_path(problem, growth, owner.pruning_loss, task.exclusive)
    choice = None
    if owner.prune == "cv":
        choice = _size_by_folds(owner, table, task, problem, growth, seed)
        size = choice.chosen
    else:
        size = int(path.n_leaves[0]) if owner.prune is None else int(owner.prune)
    return Grown(trees, reasons, path, path.removed(size).size, choice)


def _grow_path(
    problem: Problem, growth: Growth, loss: str, exclusive: bool
) -> tuple[RuleTrees, list[str], PruningPath]:
    trees, reasons = flatten([Grower(problem, growth).grow()])
    # A regression has the squared loss of its nodes; shares of classes give every loss.
    losses = trees.losses if loss == "variance" else node_losses(loss, trees, exclusive)
    return trees, reasons, pruning_path(trees, losses)


def _size_by_folds(
    owner: Any,
    table: Table,
    task: Task,
    problem: Problem,
    growth: Growth,
    seed: np.random.SeedSequence,
) -> SizeChoice:
    """The size by cross-validation; each fold grows and prunes on the others."""
    n_folds = int(owner.n_folds)
    if problem.rows.size < n_folds:
        raise ParameterError(
            f"The 'n_folds' parameter of {type(owner).__name__} must be at most the number of "
            f"samples ({problem.rows.size}). Got {n_folds} instead."
        )
    fold = draw_folds(problem.rows, task.strata, n_folds, seed)
    loss = "squared" if owner.pruning_loss == "variance" else owner.pruning_loss
    curves = []
    for k in range(n_folds):
        keep = np.ones(table.weights.size, dtype=np.bool_)
        held_out = problem.rows[fold == k]
        keep[held_out] = False
        trees, _, path = _grow_path(
            problem.restricted(keep), growth, owner.pruning_loss, task.exclusive
        )
        losses_of = LossOfNode(loss, trees.values, task.dense(held_out), task.exclusive)
        X = table.matrix[held_out]
        curves.append(size_curve(trees, path, X, table.weights[held_out], losses_of))
    return choose_size(curves, float(owner.standard_errors))


def draw_folds(
    rows: AnyArray, strata: AnyArray | None, n_folds: int, seed: np.random.SeedSequence
) -> PointerArray:
    """A fold for each row, such that folds share out every stratum evenly.

    Examples
    --------
    >>> fold = draw_folds(np.arange(6), np.array([0, 0, 0, 1, 1, 1]), 3, np.random.SeedSequence(0))
    >>> np.bincount(fold).tolist(), sorted(fold[3:].tolist())
    ([2, 2, 2], [0, 1, 2])
    """
    order = np.random.default_rng(seed).permutation(rows.size)
    if strata is not None:
        order = order[np.argsort(strata[rows[order]], kind="stable")]
    fold = np.empty(rows.size, dtype=np.int64)
    fold[order] = np.arange(rows.size) % n_folds
    return fold


def fitted_attributes(grown: Sequence[Grown], table: Table) -> dict[str, Any]:
    """The attributes that all estimators of trees have, by name."""
    trees = join([one.trees for one in grown])
    sizes = [one.path.nodes.size for one in grown]
    nodes = [one.path.nodes + root for one, root in zip(grown, trees.roots, strict=True)]
    curves = [one.choice for one in grown if one.choice is not None]
    values: dict[str, Any] = {f"{name}_": value for name, value in trees._asdict().items()}
    values |= {
        "path_indptr_": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "path_nodes_": np.concatenate([np.empty(0, dtype=np.int64), *nodes]),
        "path_losses_": np.concatenate([np.empty(0), *(one.path.losses for one in grown)]),
        "n_removed_": np.array([one.n_removed for one in grown], dtype=np.int64),
        "cv_indptr_": np.concatenate([[0], np.cumsum([c.losses.size for c in curves])]).astype(
            np.int64
        ),
        "cv_losses_": np.concatenate([np.empty(0), *(c.losses for c in curves)]),
        "cv_standard_errors_": np.concatenate([np.empty(0), *(c.standard_errors for c in curves)]),
        "categories_": category_pairs(table.categories),
        "imputed_": table.imputed,
    }
    return values


def stop_reason(grown: Sequence[Grown]) -> str:
    """How many leaves ended for which reason, before pruning."""
    reasons, counts = np.unique(
        [reason for one in grown for reason in one.reasons], return_counts=True
    )
    ended = ", ".join(f"{n} {reason}" for reason, n in zip(reasons, counts, strict=True))
    return f"leaves: {ended}"
