"""Parameters by name: a misspelled one is refused in one line that names the right one."""

import difflib
from collections.abc import Iterable
from typing import Any, Self

from labelwood.errors import ParameterError


def check_keywords(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse names that are none of the known ones.

    Examples
    --------
    >>> check_keywords("Tagger", ["treshold"], ["estimator", "threshold"])
    Traceback (most recent call last):
    ...
    labelwood.errors.ParameterError: Tagger has no parameter 'treshold'; did you mean 'threshold'?
    """
    names = list(known)
    for name in given:
        if name in names:
            continue
        folded = {one.lower(): one for one in names}
        near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.5)
        remedy = f"did you mean {folded[near[0]]!r}?" if near else f"it has {', '.join(names)}."
        raise ParameterError(f"{owner} has no parameter {name!r}; {remedy}")


class NamedParameters:
    """An estimator that refuses parameters which its constructor does not have."""

    def __new__(cls, *_: Any, **params: Any) -> Self:
        """Check the names before Python reports them by the constructor of a base class."""
        if params:
            known: list[str] = cls._get_param_names()  # type: ignore[attr-defined]
            check_keywords(cls.__name__, params, known)
        return super().__new__(cls)
