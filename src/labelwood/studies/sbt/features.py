"""How few features a classifier needs: trees of budgeted decisions, one of them, and L1.

Figure 5 of Liu and Tsang (JMLR 2017), "Making decision trees feasible in ultrahigh feature and
label dimensions", on data of two classes that are at hand. Pcmac is the paper's, rcv1 has other
documents of its corpus; classifiers with an absolute penalty stand for those that it compares with.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.sbt._binary import (
    FILES,
    N_FOLDS,
    Split,
    best_by_trial,
    best_of,
    error_note,
    figures,
    n_features,
    read_splits,
)

C_GRID = (0.1, 0.5, 2.0, 10.0)
L1_GRID = tuple(2.0 ** (power / 2) for power in range(-28, 21))
BUDGETS = {  # of a decision: 0.1, 0.3, 1, 3, 10 per cent of the features, as far as time allows
    "pcmac": (3, 10, 33, 99, 328),
    "basehock": (5, 15, 49, 146, 486),
    "madelon": (1, 2, 5, 15),
    "a9a": (1, 4, 12),
    "rcv1": (47, 472),
}
FGM_PLANES = 30  # of a feature generating machine, at most
PLANES = 6  # of a sixth of the budget each; as they overlap, more may be within it
PUBLISHED = {  # per cent (Table 5)
    "pcmac": {"SBT": 7.22, "linear SVM": 7.47},
    "rcv1": {"SBT": 3.85, "linear SVM": 4.05},
}


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every learner at every budget on one data set, then the SVM with all features."""
    splits = read_splits(part, options)
    budgets = BUDGETS[part][:2] if options.quick else BUDGETS[part]
    for learner, budget, models in _models(splits, budgets, options):
        yield {"data": part, "learner": learner, "budget": budget, **figures(models, splits)}
    for learner, value in PUBLISHED.get(part, {}).items():
        yield {"data": part, "learner": f"{learner}, published", "error": value}


def _models(
    splits: Sequence[Split], budgets: Sequence[int], options: Options
) -> Iterator[tuple[str, int | None, list[Any]]]:
    """Learner, budget, and a fitted model for each split."""
    from sklearn.svm import LinearSVC

    from labelwood.linear.budgeted import BudgetedClassifier
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    for budget in budgets:
        trees = [BudgetedTreeClassifier(budget, C=C, random_state=options.seed) for C in C_GRID]
        yield "SBT", budget, best_by_trial(trees, splits, options)
    for budget in budgets:
        yield "SBT of planes", budget, best_of(_of_planes(budget, options), splits, options)
    for budget in budgets:
        decisions = [BudgetedClassifier(budget, C=C) for C in C_GRID]
        yield "BAC", budget, best_of(decisions, splits, options)
    for budget in budgets:
        yield "FGM", budget, best_of(_machines(budget, splits[0]), splits, options)
    for learner, sparse in _sparse(options.seed).items():
        paths = [_within(sparse, split, budgets) for split in splits]
        for budget, *models in zip(budgets, *paths, strict=True):
            yield learner, budget, models
    linear = [LinearSVC(C=C, max_iter=10_000, random_state=options.seed) for C in C_GRID]
    yield "linear SVM", None, best_of(linear, splits, options)


def _machines(plane_size: int, split: Split) -> list[Any]:
    """Feature generating machines: all features of their planes, however many."""
    from labelwood.linear.budgeted import BudgetedClassifier

    unlimited: dict[str, Any] = {"plane_size": plane_size, "max_planes": FGM_PLANES}
    return [BudgetedClassifier(split.X.shape[1], C=C, **unlimited) for C in C_GRID]


def _of_planes(budget: int, options: Options) -> list[Any]:
    """Trees whose decisions use all features of planes that are smaller than the budget."""
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    settings: dict[str, Any] = {
        "plane_size": max(1, budget // PLANES),
        "max_planes": 3 * PLANES,
        "min_gain": 1.0,
        "random_state": options.seed,
    }
    return [
        BudgetedTreeClassifier(budget, C=C, scale=scale, **settings)
        for scale in (False, True)
        for C in C_GRID
    ]


def _sparse(seed: int) -> dict[str, Any]:
    """Classifiers whose C decides how many features they keep."""
    import sklearn
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC
    from sklearn.utils.fixes import parse_version

    new = parse_version(sklearn.__version__) >= parse_version("1.8")
    penalty: dict[str, Any] = {"l1_ratio": 1} if new else {"penalty": "l1"}
    settings: dict[str, Any] = {"max_iter": 10_000, "random_state": seed}
    return {
        "L1-SVM": LinearSVC(penalty="l1", dual=False, **settings),
        "L1-logistic": LogisticRegression(solver="liblinear", **penalty, **settings),
    }


def _within(model: Any, split: Split, budgets: Sequence[int]) -> list[Any]:
    """For each budget, the model with the largest C that keeps no more features."""
    from sklearn.base import clone

    found: list[tuple[int, Any]] = []
    for C in L1_GRID:
        one = clone(model).set_params(C=C).fit(split.X, split.y)
        found.append((n_features(one), one))
        if found[-1][0] > budgets[-1]:
            break
    return [[one for n, one in found if n <= budget][-1] for budget in budgets]


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each data set: error against the number of features, a curve a learner."""
    draw_panels(figure, rows, panel="data", curve="learner", x="features", y="error")


STUDY = Study(
    name="sbt-features",
    title="Test error and number of features of SBT, BAC and L1 on data of two classes",
    parts=FILES,
    columns={
        "data": "",
        "learner": "",
        "budget": "d",
        "features": ",.1f",
        "leaves": ".1f",
        "error": ".2f",
        "±": ".2f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        error_note(options),
        "budget: features that a decision may have; features: those that the whole model reads.",
        f"C of {C_GRID}: for SBT by its own trial on halves of the points, for SBT of planes, BAC "
        f"and linear SVM from {N_FOLDS}-fold cross-validation; L1: the largest within the budget.",
        "SBT of planes: all features of planes of a sixth of the budget, of columns as they are or "
        "scaled, by the same cross-validation; pruned strictly.",
        f"FGM: all features of up to {FGM_PLANES} planes of `budget` features each, without a "
        "limit on all of them (Tan et al. 2014).",
        "published: Table 5 of Liu and Tsang (JMLR 2017), one split, of rcv1 another part.",
    ),
)
