"""The learners that `labelwood train` can be asked for, and their parameters."""

import importlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from labelwood.core.params import parse_parameter
from labelwood.errors import LabelwoodWarning, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

LEARNERS = {
    "annotationtree": ("AnnotationTreeClassifier",),
    "auto": ("OneVsRestSVM", "LabelTreeClassifier"),
    "fastxml": ("FastXMLClassifier",),
    "hierarchicalperceptron": ("HierarchicalPerceptron",),
    "hierarchicalrls": ("HierarchicalRLSClassifier",),
    "labeltree": ("LabelTreeClassifier",),
    "onevsrest": ("OneVsRestSVM",),
    "pfastrexml": ("PfastreXMLClassifier",),
    "pfastxml": ("PfastXMLClassifier",),
    "popularity": ("PopularityClassifier",),
    "powersettree": ("PowersetTreeClassifier",),
}


def make_vectorizer(settings: Sequence[str]) -> Any:
    """The vectoriser; of the settings it takes those that begin with `text.`."""
    labelwood = importlib.import_module("labelwood")
    own = [name.removeprefix("text.") for name in settings if name.startswith("text.")]
    return _make(labelwood.TextVectorizer, own, {})


def make_learners(learner: str, settings: Sequence[str], *, seed: int, jobs: int) -> dict[str, Any]:
    """Unfitted estimators by class: the one that is named, or both that `auto` chooses from."""
    labelwood = importlib.import_module("labelwood")
    if learner not in LEARNERS:
        raise ParameterError(f"no learner {learner!r}; there are {', '.join(LEARNERS)}")
    own = [setting for setting in settings if not setting.startswith("text.")]
    defaults = {"random_state": seed, "n_jobs": jobs}
    kinds = [getattr(labelwood, name) for name in LEARNERS[learner]]
    for name in (setting.partition("=")[0] for setting in own):
        knowing = [kind for kind in kinds if name in kind._constraints]
        if knowing and len(knowing) < len(kinds):
            short = next(key for key, value in LEARNERS.items() if value == (knowing[0].__name__,))
            raise ParameterError(f"{name!r} is a parameter of {short}; add --learner {short}")
    return {kind.__name__: _make(kind, own, defaults) for kind in kinds}


def give_taxonomy(learner: Any, dataset: "Dataset") -> None:
    """Hand the forest of the labels to a learner that goes by it; labels outside stand alone."""
    if "taxonomy" not in learner.get_params(deep=False):
        return
    if dataset.taxonomy is None:
        raise ParameterError(f"{type(learner).__name__} goes by a taxonomy; give --taxonomy FILE")
    names = dataset.label_names or [str(label) for label in range(dataset.n_labels)]
    nodes = set(dataset.taxonomy.names)
    alone = [name for name in names if name not in nodes]
    if alone:
        warnings.warn(
            f"{len(alone)} of {len(names)} labels are no nodes of the taxonomy "
            f"({alone[0]!r}, …); they stand alone.",
            LabelwoodWarning,
            stacklevel=2,
        )
    learner.set_params(taxonomy=dataset.label_taxonomy)


def _make(kind: Any, settings: Sequence[str], defaults: dict[str, Any]) -> Any:
    values = {name: value for name, value in defaults.items() if name in kind._constraints}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value. Got {setting!r} instead.")
        values[name] = parse_parameter(kind.__name__, name, text, kind._constraints)
    return kind(**values)
