"""Tables with named columns: pandas, polars, Arrow, and whatever keeps their protocols.

No table library is imported unless a table needs it. Columns are read by what all of them share
(names of columns, `table[name]`, a list of values); a table that cannot be subscripted is handed
to pyarrow by the Arrow stream or the dataframe interchange protocol.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelwood.core.names import shown, some
from labelwood.errors import DataError

_LISTS = ("to_pylist", "to_list", "tolist")


def is_frame(value: object) -> bool:
    """Whether `value` is a table with named columns (not one column of a table).

    Examples
    --------
    >>> is_frame([["cat"]]), is_frame(np.eye(2))
    (False, False)
    """
    if isinstance(value, (np.ndarray, list, tuple, str, bytes)):
        return False
    if hasattr(value, "__dataframe__"):
        return True
    if not hasattr(value, "__arrow_c_stream__"):
        return False  # asked first, as the columns of a lazy table cost a plan, and a warning
    return hasattr(value, "columns") or hasattr(value, "column_names")


def is_missing(value: object) -> bool:
    """Whether a cell is empty: None, NaN, or what pandas writes for them.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _columns(frame: Any) -> Any:
    """What the library calls the columns: names, or in pandas any objects."""
    names = getattr(frame, "column_names", None)
    if names is None or callable(names):
        names = getattr(frame, "columns", None)
    return frame.__dataframe__().column_names() if names is None else names


def is_numbered(frame: Any) -> bool:
    """Whether the columns are called 0, 1, 2…, which pandas does where no names are given."""
    names = list(_columns(frame))
    whole = all(isinstance(name, (int, np.integer)) for name in names)
    return whole and names == list(range(len(names)))


def frame_names(frame: Any) -> list[str]:
    """The names of the columns, in their order."""
    names = _columns(frame)
    listed = [str(name) if isinstance(name, (int, np.integer)) else name for name in names]
    odd = [name for name in listed if not isinstance(name, str)]
    if odd:
        raise DataError(f"Columns must be called by names. Got {odd[0]!r}; rename it.")
    twice = [name for name in listed if listed.count(name) > 1]
    if twice:
        raise DataError(f"Two columns are called {shown(twice[0])}; rename one of them.")
    return listed


def frame_column(frame: Any, name: str) -> list[Any]:
    """The values of the column `name` as a list; missing cells are None."""
    names = frame_names(frame)
    if name not in names:
        raise DataError(f"There is no column {shown(name)}; there are {some(map(shown, names))}.")
    if not hasattr(frame, "__getitem__"):
        frame = _arrow_table(frame)
    # pandas may call columns by numbers, which are shown as names.
    keys = names if hasattr(frame, "column_names") else list(getattr(frame, "columns", names))
    column = frame[keys[names.index(name)]]
    for method in _LISTS:
        if hasattr(column, method):
            return [None if is_missing(one) else one for one in getattr(column, method)()]
    raise DataError(f"The column {shown(name)} of a {type(frame).__name__} cannot be read.")


def frame_matrix(frame: Any, columns: Sequence[str] | None = None) -> np.ndarray:
    """The numbers of some columns, or of all, as a dense array."""
    names = frame_names(frame) if columns is None else list(columns)
    if not names:
        raise DataError("The table has no columns.")
    return np.column_stack([_numbers(frame, name) for name in names])


def _numbers(frame: Any, name: str) -> np.ndarray:
    values = frame_column(frame, name)
    if None in values:
        raise DataError(
            f"Row {values.index(None)} has no value in column {shown(name)}; fill it or drop it."
        )
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biuf":
        raise DataError(f"Column {shown(name)} holds {values[0]!r} where numbers are expected.")
    return numbers


def like_frame(frame: Any, columns: Mapping[str, Sequence[Any]], index: Any = None) -> Any:
    """A table of the same library as `frame`; a pandas table of any other value."""
    kind = type(frame)
    if is_frame(frame) and kind.__module__.startswith("pandas"):
        return kind(dict(columns), index=index)
    if is_frame(frame) and hasattr(kind, "from_pydict"):  # an Arrow table
        return kind.from_pydict({name: list(values) for name, values in columns.items()})
    if is_frame(frame) and kind.__module__.startswith("polars"):
        return kind({name: list(values) for name, values in columns.items()})
    try:
        from pandas import DataFrame
    except ImportError:
        raise DataError(
            "A table of predictions needs pandas, which is not installed (pip install pandas); "
            "predict and predict_topk give lists."
        ) from None
    return DataFrame(dict(columns), index=index)


def _arrow_table(frame: Any) -> Any:
    try:
        import pyarrow
        from pyarrow.interchange import from_dataframe
    except ImportError:
        raise DataError(
            f"A {type(frame).__name__} is read by pyarrow, which is not installed; "
            "pip install 'labelwood[parquet]', or give lists."
        ) from None
    if hasattr(frame, "__arrow_c_stream__"):
        return pyarrow.table(frame)
    return from_dataframe(frame)
