"""Learners with the options of a study, and their times."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from labelwood.studies._datasets import QUICK_SAMPLES, first
from labelwood.studies._study import Options

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

_QUICK_TREES = 3
_WARM_SAMPLES = 200


def make(class_name: str, options: Options) -> Any:
    """A learner of the package with default parameters; small forests in the quick version."""
    import labelwood

    model = getattr(labelwood, class_name)()
    values: dict[str, Any] = {"random_state": options.seed, "n_jobs": options.jobs}
    if options.quick:
        values["n_trees"] = _QUICK_TREES
    known = model.get_params()
    return model.set_params(**{name: values[name] for name in values if name in known})


def parameters_note(options: Options) -> str:
    """Of which parameters, and on how much data, the figures of `make`'s learners are."""
    if not options.quick:
        return "Default parameters"
    return f"{_QUICK_TREES} trees a forest, {QUICK_SAMPLES} samples at most"


def compile_kernels(model: Any, train: "Dataset") -> None:
    """Learn from a few samples, so that the times are those of compiled kernels."""
    from sklearn.base import clone

    few, _ = first(train, train, _WARM_SAMPLES)
    small = clone(model)
    if "n_trees" in small.get_params():
        small.set_params(n_trees=1)
    small.fit(few.X, few.Y)
    small.predict(few.X)
    small.predict_topk(few.X)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and its seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def best_of_three(work: Callable[[], Any]) -> tuple[Any, float]:
    """What `work` gives, and the fewest seconds that it takes."""
    return min((timed(work) for _ in range(3)), key=lambda one: one[1])
