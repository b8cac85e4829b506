"""Where the user called the package, so that warnings point there."""

import sys

_PACKAGE = __name__.partition(".")[0]


def user_stacklevel() -> int:
    """The `stacklevel` that makes the caller's warning point at the user's own line.

    That is the first frame outside the package, however many of its functions lie between.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
