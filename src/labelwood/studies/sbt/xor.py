"""Two features that decide together, among many that say nothing.

Figure 4 of Liu and Tsang (JMLR 2017), "Making decision trees feasible in ultrahigh feature and
label dimensions". Two features are drawn from N(0, 1); a point is positive if they have the
same sign; no line separates the classes. The noise is uniform on (0, 1). There the deciding
features have the larger scale, by which a linear decision chances upon them; the other
parts take that away.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from labelwood.studies._measure import timed
from labelwood.studies._plot import draw_panels
from labelwood.studies._result import Row
from labelwood.studies._study import Options, Study
from labelwood.studies.sbt._binary import Split, error, is_tree

NOISE = (200, 1_000, 5_000)
BUDGETS = (1, 3)
FGM_PLANE_SIZE, FGM_PLANES = 3, 30  # of a feature generating machine
MOST_WITHOUT_PAIRS = 1_000  # the trees are large, and wrong, beyond
N_TRAIN, N_TEST = 10_000, 2_000
PARTS = {  # center and standard deviation of the noise
    "original": (0.5, 12**-0.5),
    "centered": (0.0, 12**-0.5),
    "rescaled": (0.0, 1.0),
}
_QUICK = (300, 200, (10,))
_WARM_POINTS = 40


def _sizes(options: Options) -> tuple[int, int, tuple[int, ...]]:
    """Training and test samples, and numbers of noise features."""
    return _QUICK if options.quick else (N_TRAIN, N_TEST, NOISE)


def rows(part: str, options: Options) -> Iterator[Row]:
    """Every learner at each number of noise features."""
    n_train, n_test, counts = _sizes(options)
    for n_noise in counts:
        split = xor(n_train, n_test, n_noise, part, options.seed)
        for learner, model in _learners(part, n_noise, options).items():
            found = _measure(model, split)
            yield {"features": part, "noise": n_noise, "learner": learner, **found}


def xor(n_train: int, n_test: int, n_noise: int, part: str, seed: int) -> Split:
    """Points of two classes: features 0 and 1 decide, the others are noise."""
    import numpy as np

    rng = np.random.default_rng(seed)
    center, deviation = PARTS[part]
    X = rng.random((n_train + n_test, n_noise + 2), dtype=np.float32)
    X = (X - 0.5) * (12**0.5 * deviation) + center
    X[:, :2] = rng.standard_normal((X.shape[0], 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def _learners(part: str, n_noise: int, options: Options) -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    from labelwood.linear.budgeted import BudgetedClassifier
    from labelwood.trees.budgeted import BudgetedTreeClassifier

    threads: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    learners: dict[str, Any] = {
        f"SBT (B = {budget})": BudgetedTreeClassifier(budget, **threads) for budget in BUDGETS
    }
    if n_noise <= MOST_WITHOUT_PAIRS:
        learners["SBT without pairs (B = 1)"] = BudgetedTreeClassifier(
            1, second_order=False, **threads
        )
    if part == "original":
        learners["FGM"] = BudgetedClassifier(
            n_noise + 2, plane_size=FGM_PLANE_SIZE, max_planes=FGM_PLANES
        )
        learners["linear SVM"] = LinearSVC(random_state=options.seed)
        learners["CART"] = DecisionTreeClassifier(random_state=options.seed)
        learners["random forest"] = RandomForestClassifier(**threads)
    return learners


def _measure(model: Any, split: Split) -> Row:
    from sklearn.base import clone

    clone(model).fit(split.X[:_WARM_POINTS], split.y[:_WARM_POINTS])  # compiles kernels
    _, seconds = timed(lambda: model.fit(split.X, split.y))
    return {
        "error": error(model, split),
        "deciding": _deciding(model, split.X.shape[1]),
        "leaves": model.n_leaves_ if is_tree(model) else None,
        "pairs": int((model.kinds_ == "second order").sum()) if is_tree(model) else None,
        "seconds": seconds,
    }


def _deciding(model: Any, n_features: int) -> int:
    """How many of the two features that the model uses most are those that decide."""
    import numpy as np
    from scipy import sparse

    if is_tree(model):
        use = np.zeros(n_features)
        use[model.selected_features_] = model.feature_usage_
    else:
        weights = getattr(model, "feature_importances_", None)
        weights = model.coef_ if weights is None else weights
        weights = weights.toarray() if sparse.issparse(weights) else weights
        use = abs(np.ravel(weights))
    most = np.argsort(-use, kind="stable")[:2]
    return int(((most < 2) & (use[most] > 0)).sum())


def draw(figure: Any, rows: Sequence[Row]) -> None:
    """A panel for each part: error against the number of noise features, a curve a learner."""
    draw_panels(figure, rows, panel="features", curve="learner", x="noise", y="error")


STUDY = Study(
    name="sbt-xor",
    title="Test error on XOR among noise features of SBT, FGM, linear SVM, CART and forest",
    parts=dict.fromkeys(PARTS, ()),
    columns={
        "features": "",
        "noise": ",d",
        "learner": "",
        "error": ".2f",
        "deciding": "d",
        "leaves": "d",
        "pairs": "d",
        "seconds": ".1f",
    },
    rows=rows,
    draw=draw,
    notes=lambda options: (
        "error: per cent of {1:,} test samples, after {0:,} for training.".format(*_sizes(options)),
        "deciding: how many of the two features used most are the two that decide; pairs: splits "
        "by a pair of features, where no linear one helps.",
        "B: features in a decision; without pairs: linear splits alone, up to "
        f"{MOST_WITHOUT_PAIRS:,} noise features; seconds: training, with compiled kernels.",
        f"FGM: all features of up to {FGM_PLANES} planes of {FGM_PLANE_SIZE} features each.",
        "noise: uniform on (0, 1); centered: on (−½, ½); rescaled: of mean 0 and variance 1. CART "
        "and forests do not depend on scales.",
    ),
)
