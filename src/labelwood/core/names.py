"""Names: the check that they differ, and how messages show them."""

import re
from collections.abc import Iterable, Sequence

from labelwood.errors import DataError

_CHARACTERS, _ITEMS = 40, 8
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_names(names: Sequence[str], what: str) -> None:
    """Refuse names that are no text, hold control characters, or are not all different."""
    if isinstance(names, str):
        raise DataError(f"{what} must be a list of names. Got {shown(names)} instead.")
    for name in names:
        if not isinstance(name, str):
            raise DataError(f"{what} must hold text. Got {name!r} instead.")
        if has_control(name):
            raise DataError(f"{what} holds {shown(name)}, {CONTROL_REFUSED}.")
    double = first_double(names)
    if double is not None:
        raise DataError(f"{what} holds {shown(names[double])} twice.")


CONTROL_REFUSED = "a name with a control character; remove it"
EMPTY_REFUSED = "a label with an empty name; leave it out: a sample without labels has []"


def has_control(name: str) -> bool:
    """Whether a name holds a control character, with which it would not survive all formats.

    NumPy drops a final NUL, so that two names become one; tabs and line ends divide files.

    Examples
    --------
    >>> has_control("owl"), has_control("owl\\0"), has_control("a\\tb")
    (False, True, True)
    """
    return _CONTROL.search(name) is not None


def first_double(names: Sequence[str]) -> int | None:
    """The position of the first name that came before; None when all differ.

    Examples
    --------
    >>> first_double(["cat", "owl", "cat"])
    2
    """
    if len(set(names)) == len(names):
        return None
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    return next(i for i, name in enumerate(names) if first[name] < i)


def shown(text: str) -> str:
    """`text` in quotes, shortened, for an error message.

    Examples
    --------
    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"
    """
    return repr(text if len(text) <= _CHARACTERS else text[:_CHARACTERS] + "…")


def some(items: Iterable[str]) -> str:
    """The first few of `items`, and how many more there are.

    Examples
    --------
    >>> some(map(shown, ["cat", "owl"]))
    "'cat', 'owl'"
    >>> some("abcdefghijk")
    'a, b, c, d, e, f, g, h and 3 more'
    """
    listed = list(items)
    more = len(listed) - _ITEMS
    return ", ".join(listed[:_ITEMS]) + (f" and {more:,} more" if more > 0 else "")


def count(n: int, one: str, many: str | None = None) -> str:
    """``1 node``, ``2 nodes``.

    Examples
    --------
    >>> count(1, "leaf", "leaves"), count(2000, "node")
    ('1 leaf', '2,000 nodes')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"
