"""Reading what a stranger may have written: whatever is wrong with it is a `DataError`."""

from collections.abc import Iterator
from contextlib import contextmanager

from labelwood.errors import DataError, LabelwoodError


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn what goes wrong with the stored values of `what` into a `DataError` of one line.

    Examples
    --------
    >>> with reading("experiment"):
    ...     {}["seed"]
    Traceback (most recent call last):
    ...
    labelwood.errors.DataError: the stored experiment is damaged: KeyError('seed')
    """
    try:
        yield
    except DataError:
        raise
    except LabelwoodError as error:
        raise DataError(f"the stored {what} is damaged: {error}") from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise DataError(f"the stored {what} is damaged: {error!r}") from None
