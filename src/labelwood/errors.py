"""The few exceptions a user can meet.

A message says what was wrong, where (file, line, parameter, value) and what to
do about it, in one line: the command line prints it as it is and exits 2.
"""


class LabelwoodError(Exception):
    """Base of everything labelwood raises on purpose."""


class DataError(LabelwoodError, ValueError):
    """The data cannot be used as it is: a file, a matrix, a label set, a taxonomy."""


class ParameterError(LabelwoodError, ValueError):
    """A parameter has a value outside its constraint."""


class ModelError(LabelwoodError):
    """A stored model cannot be written, read, or trusted."""


class MissingExtraError(LabelwoodError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the '{extra}' extra: pip install 'labelwood[{extra}]'")


class LabelwoodWarning(UserWarning):
    """Something the user should know, after which work goes on."""
