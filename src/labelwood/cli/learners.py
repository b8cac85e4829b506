"""The learners that `labelwood train` can be asked for, and their parameters."""

import importlib
import warnings
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from labelwood.cli.source import called
from labelwood.core.names import count
from labelwood.core.params import Constraint, Instance, parse_parameter
from labelwood.errors import LabelwoodWarning, ParameterError

if TYPE_CHECKING:
    from labelwood.data.dataset import Dataset

LEARNERS = {
    "annotationtree": ("AnnotationTreeClassifier",),
    "auto": ("OneVsRestSVM", "LabelTreeClassifier", "FastXMLClassifier"),
    "fastxml": ("FastXMLClassifier",),
    "graph": ("GraphLaplacianClassifier",),
    "hierarchicalperceptron": ("HierarchicalPerceptron",),
    "hierarchicalrls": ("HierarchicalRLSClassifier",),
    "labeltree": ("LabelTreeClassifier",),
    "onevsrest": ("OneVsRestSVM",),
    "pfastrexml": ("PfastreXMLClassifier",),
    "pfastxml": ("PfastXMLClassifier",),
    "popularity": ("PopularityClassifier",),
    "powersettree": ("PowersetTreeClassifier",),
    "ruletree": ("RuleTreeClassifier",),
}
_TUNED = ("OneVsRestSVM", "LabelTreeClassifier")  # that can choose their own C


class AskedLearner(NamedTuple):
    """A learner by its name, with the settings of `--set` and what is the same for all."""

    name: str
    settings: tuple[str, ...]
    seed: int
    jobs: int

    def estimators(self) -> dict[str, Any]:
        """See `make_learners`."""
        return make_learners(self.name, self.settings, seed=self.seed, jobs=self.jobs)

    def vectorizer(self) -> Any:
        """See `make_vectorizer`."""
        return make_vectorizer(self.settings, seed=self.seed, jobs=self.jobs)


def make_vectorizer(settings: Sequence[str], *, seed: int = 0, jobs: int | None = None) -> Any:
    """The vectorizer, with the settings that begin with `text.`."""
    from labelwood.tagger import default_vectorizer

    own = [name.removeprefix("text.") for name in settings if name.startswith("text.")]
    default = default_vectorizer(random_state=seed, n_jobs=jobs)
    return _make(type(default), own, default.get_params())


def make_learners(learner: str, settings: Sequence[str], *, seed: int, jobs: int) -> dict[str, Any]:
    """Unfitted estimators by class: the one that is named, or those that `auto` chooses from.

    With settings `auto` chooses between the two linear ones, whose parameters they are.
    """
    labelwood = importlib.import_module("labelwood")
    check_learner(learner)
    own = [setting for setting in settings if not setting.startswith("text.")]
    defaults: dict[str, Any] = {"random_state": seed, "n_jobs": jobs}
    names = [name for name in LEARNERS[learner] if not own or learner != "auto" or name in _TUNED]
    kinds = [getattr(labelwood, name) for name in names]
    for setting in own:
        name, equals, _ = setting.partition("=")
        knowing = [kind for kind in kinds if name in kind._constraints]
        if equals and not knowing and name in _vectorizer_parameters():
            raise ParameterError(
                f"--set {setting} is for the vectorizer; write --set text.{setting}"
            )
        if knowing and len(knowing) < len(kinds):
            short = next(key for key, value in LEARNERS.items() if value == (knowing[0].__name__,))
            raise ParameterError(f"{name!r} is a parameter of {short}; add --learner {short}")
    # People do not tune; --set C=… does.
    tuned = {name: {**defaults, "C": "auto"} if name in _TUNED else defaults for name in names}
    return {kind.__name__: _make(kind, own, tuned[kind.__name__]) for kind in kinds}


def check_learner(learner: str) -> None:
    """Refuse a name that no learner has."""
    if learner not in LEARNERS:
        raise ParameterError(f"no learner {learner!r}; {_nearest(learner)}")


def _vectorizer_parameters() -> Collection[str]:
    from labelwood.data.text import TextVectorizer

    return TextVectorizer._constraints


def _nearest(learner: str) -> str:
    """What to ask for in place of a class, as Python has it, or of a name that there is not."""
    for short, kinds in LEARNERS.items():
        if kinds == (learner,) or short == learner.lower():
            return f"use --learner {short}"
    return f"there are {', '.join(LEARNERS)}"


def make_compared(
    settings: Sequence[str], dataset: "Dataset", *, seed: int, jobs: int
) -> tuple[Any, ...]:
    """Learners for `auto` with a taxonomy: the flat ones and, last, the one along the taxonomy.

    With fewer samples than can be held out there is nothing to compare, and it is that one alone.
    Label sets without their ancestors are closed, which the learner along the taxonomy needs.
    """
    from labelwood.core.calibration import MIN_SAMPLES

    labelwood = importlib.import_module("labelwood")
    (name,) = LEARNERS["hierarchicalrls"]
    flat = [getattr(labelwood, one) for one in _TUNED]
    names = [setting.partition("=")[0] for setting in settings]
    to_flat = [
        setting
        for setting, one in zip(settings, names, strict=True)
        if any(one in kind._constraints for kind in flat)
    ]
    along_kind = getattr(labelwood, name)
    to_along = [
        setting
        for setting, one in zip(settings, names, strict=True)
        if setting not in to_flat or one in along_kind._constraints
    ]
    (along,) = make_learners("hierarchicalrls", to_along, seed=seed, jobs=jobs).values()
    if len(dataset) < MIN_SAMPLES:
        return (along,)
    forest = dataset.label_taxonomy
    is_closed = forest is None or (forest.is_closed(dataset.Y) and not _above_labels(dataset))
    if not is_closed and "close_labels" not in names:
        along.set_params(close_labels=True)
        _warn("Labels come without their ancestors in the taxonomy, which are added.")
    return (*make_learners("auto", to_flat, seed=seed, jobs=jobs).values(), along)


def warn_of_ignored_taxonomy(learner: Any, dataset: "Dataset") -> None:
    """Tell that a flat learner, which was asked for, does not use the taxonomy."""
    if dataset.taxonomy is not None and "taxonomy" not in learner.get_params(deep=False):
        _warn(
            f"{type(learner).__name__} does not use the taxonomy, which serves evaluation alone "
            "(--learner hierarchicalrls follows it, and without --learner both are compared)."
        )


def give_taxonomy(learner: Any, dataset: "Dataset") -> "Dataset":
    """Give the taxonomy of the labels to a learner that needs one; labels outside it are roots.

    Nodes above labels that are no labels themselves become labels, in the data set that is
    returned, if the learner is to close label sets; else they are left out, with a warning.
    """
    if "taxonomy" not in learner.get_params(deep=False):
        return dataset
    forest = dataset.taxonomy
    if forest is None:
        raise ParameterError(f"{type(learner).__name__} needs a taxonomy; give --taxonomy FILE")
    names = list(dataset.label_names or map(str, range(dataset.n_labels)))
    nodes = set(forest.names)
    alone = [name for name in names if name not in nodes]
    if alone:
        one = len(alone) == 1
        _warn(
            f"{len(alone):,} of {count(len(names), 'label')} {'is' if one else 'are'} not in the "
            f"taxonomy ({alone[0]!r}{'' if one else ', …'}); "
            f"{'it becomes a root' if one else 'they become roots'}."
        )
    above = _above_labels(dataset)
    if learner.close_labels:  # here, so that a flat learner beside it learns the same
        dataset = _with_labels(dataset, names + [forest.names[node] for node in above])
    elif above:
        _warn(
            f"{len(above)} of {len(forest)} nodes of the taxonomy are ancestors of labels and no "
            f"labels themselves ({forest.names[above[0]]!r}, …); they are left out. "
            "--set close_labels=true gives samples all ancestors of their labels."
        )
    of_labels = dataset.label_taxonomy
    if of_labels is not None:  # checked here, where the remedy can be given in options
        with called({"close(Y)": "--set close_labels=true"}):
            of_labels.check(dataset.Y)
    learner.set_params(taxonomy=of_labels)
    return dataset


def _above_labels(dataset: "Dataset") -> list[int]:
    """The nodes of the taxonomy that are ancestors of labels and no labels themselves."""
    forest = dataset.taxonomy
    if forest is None:
        return []
    nodes = set(forest.names)
    names = dataset.label_names or list(map(str, range(dataset.n_labels)))
    known = [forest.index(name) for name in names if name in nodes]
    return sorted({int(node) for i in known for node in forest.ancestors(i)}.difference(known))


def _with_labels(dataset: "Dataset", names: list[str]) -> "Dataset":
    """The data set with labels of these `names`, the last of them new, by its taxonomy."""
    Y = dataset.Y.copy()
    Y.resize(Y.shape[0], len(names))
    wider = replace(dataset, Y=Y, label_names=names)
    forest = wider.label_taxonomy
    return wider if forest is None else replace(wider, Y=forest.close(Y))


def _warn(message: str) -> None:
    warnings.warn(message, LabelwoodWarning, stacklevel=3)


def _make(kind: Any, settings: Sequence[str], defaults: dict[str, Any]) -> Any:
    values = {name: value for name, value in defaults.items() if name in kind._constraints}
    known = {name: _written(constraint) for name, constraint in kind._constraints.items()}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value. Got {setting!r} instead.")
        values[name] = parse_parameter(kind.__name__, name, text, known)
    return kind(**values)


def _written(
    constraint: Constraint | tuple[Constraint | None, ...],
) -> Constraint | tuple[Constraint | None, ...]:
    """What of a constraint can be written on a command line: objects cannot."""
    if not isinstance(constraint, tuple):
        return constraint
    words = tuple(one for one in constraint if not isinstance(one, Instance))
    return words if any(words) else constraint
