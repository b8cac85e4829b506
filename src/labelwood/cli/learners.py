"""The learners that `labelwood train` can be asked for, and their parameters."""

import importlib
from collections.abc import Sequence
from typing import Any

from labelwood.core.params import parse_parameter
from labelwood.errors import ParameterError

LEARNERS = {"onevsrest": "OneVsRestSVM", "popularity": "PopularityClassifier"}


def make_tagger(learner: str, settings: Sequence[str], *, seed: int, jobs: int) -> Any:
    """An unfitted Tagger; a setting is `name=value`, or `text.name=value` for the vectoriser."""
    labelwood = importlib.import_module("labelwood")
    if learner not in LEARNERS:
        raise ParameterError(f"no learner {learner!r}; there are {', '.join(sorted(LEARNERS))}")
    kind = getattr(labelwood, LEARNERS[learner])
    parts: dict[type, dict[str, Any]] = {kind: {}, labelwood.TextVectorizer: {}}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ParameterError(f"--set takes name=value. Got {setting!r} instead.")
        owner = labelwood.TextVectorizer if name.startswith("text.") else kind
        name = name.removeprefix("text.")
        parts[owner][name] = parse_parameter(owner.__name__, name, text, owner._constraints)
    own = parts[kind]
    for name, value in (("random_state", seed), ("n_jobs", jobs)):
        if name in kind._constraints:
            own.setdefault(name, value)
    vectorizer = labelwood.TextVectorizer(**parts[labelwood.TextVectorizer])
    return labelwood.Tagger(kind(**own), vectorizer)
