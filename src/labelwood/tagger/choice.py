"""The parts that a Tagger takes when none are given: vectorizer, and learners to choose from."""

import warnings
from collections.abc import Sequence
from typing import Any

from labelwood.core.caller import user_stacklevel
from labelwood.data.text import TextVectorizer
from labelwood.errors import LabelwoodWarning, ParameterError


def default_vectorizer(**options: Any) -> TextVectorizer:
    """The vectorizer of `Tagger` and of `labelwood train`: its feature set is found by trial.

    Examples
    --------
    >>> default_vectorizer(n_jobs=2)
    TextVectorizer(features='auto', n_jobs=2, random_state=0)
    """
    return TextVectorizer(**{"features": "auto", "random_state": 0, **options})


def require_instance(name: str, given: Any) -> Any:
    """The part of a Tagger that is given, unless it is a class, or cannot be fitted."""
    if isinstance(given, type):
        raise ParameterError(
            f"The {name!r} parameter of Tagger must be an instance. Got the class "
            f"{given.__name__}; give {given.__name__}()."
        )
    if not hasattr(given, "fit"):
        raise ParameterError(
            f"The {name!r} parameter of Tagger must have a method fit. Got {given!r} instead."
        )
    return given


def weighted_candidate() -> Any:
    """The estimator that takes weights of samples."""
    from labelwood.linear.onevsrest import OneVsRestSVM

    return OneVsRestSVM(C="auto", random_state=0)


def candidates(given: str | tuple[Any, ...], *, linear: bool = False) -> dict[str, Any]:
    """The estimators to choose from, by the names of their classes; of "auto", `linear` only."""
    from labelwood.linear.onevsrest import OneVsRestSVM
    from labelwood.trees.fastxml import FastXMLClassifier
    from labelwood.trees.labeltree import LabelTreeClassifier

    kinds = {kind.__name__: kind for kind in (OneVsRestSVM, LabelTreeClassifier)}
    forest = FastXMLClassifier.__name__
    if given == "auto":
        found = {name: kind(C="auto", random_state=0) for name, kind in kinds.items()}
        return found if linear else {**found, forest: FastXMLClassifier(random_state=0)}
    named = {} if isinstance(given, str) else {type(one).__name__: one for one in given}
    if not kinds.keys() <= named.keys() <= {*kinds, forest} or len(named) != len(given):
        raise ParameterError(
            "The 'estimator' parameter of Tagger must be 'auto', an estimator, or a tuple of one "
            f"{' and one '.join(kinds)}, and maybe one {forest}. Got {given!r} instead."
        )
    return named


def split_taxonomy(given: str | tuple[Any, ...]) -> tuple[str | tuple[Any, ...], Any]:
    """The flat estimators to choose from, and one along a taxonomy to compare with, or None."""
    if isinstance(given, str):
        return given, None
    along = [one for one in given if getattr(one, "taxonomy", None) is not None]
    if len(along) != 1:
        return given, None
    return tuple(one for one in given if one is not along[0]), along[0]


def with_numbered_weights(estimator: Any, names: Sequence[str]) -> Any:
    """The estimator with class weights by column, which people give by the names of labels."""
    given = getattr(estimator, "class_weight", None)
    if not isinstance(given, dict):
        return estimator
    place = {name: column for column, name in enumerate(names)}
    unknown = [name for name in given if str(name) not in place]
    if unknown:
        raise ParameterError(f"class_weight names {unknown[0]!r}, which is no label of the data.")
    return estimator.set_params(class_weight={place[str(name)]: given[name] for name in given})


def warn_of_foreign(vectorizer: object) -> None:
    """Tell at `fit`, and not after hours of training, that a model cannot be saved."""
    if not isinstance(vectorizer, TextVectorizer):
        warnings.warn(
            f"labelwood.save cannot store a {type(vectorizer).__name__}, so this Tagger cannot be "
            "saved; with TextVectorizer() it can (of the parts, estimator_ can be saved).",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )
