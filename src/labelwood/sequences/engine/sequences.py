"""Checked observations: one array for all sequences, and which values are missing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from labelwood.core.frames import frame_column, frame_names, is_frame, is_missing
from labelwood.core.names import count
from labelwood.core.types import AnyArray, DoubleArray, PointerArray
from labelwood.errors import DataError

# Numbers whose squares, and whose sums of squares over any number of rows, are ordinary doubles.
_LEAST_SPAN, _LARGEST = 1e-140, 1e140


@dataclass(frozen=True, eq=False)
class Pattern:
    """Rows in which the same features are missing."""

    rows: PointerArray
    observed: PointerArray
    missing: PointerArray


@dataclass(frozen=True, eq=False)
class Sequences:
    """Observations of all sequences, features by steps, so that kernels run along time.

    Attributes
    ----------
    values : array of shape (n_features, n_steps)
        With 0 in place of what is missing.
    observed : array of bool of that shape, or None when nothing is missing
    offsets : array of shape (n_sequences + 1,)
        Where each sequence begins.
    """

    values: DoubleArray
    observed: AnyArray | None
    offsets: PointerArray

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.values.shape[0]

    @property
    def n_steps(self) -> int:
        """Number of steps of all sequences together."""
        return self.values.shape[1]

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return self.offsets.size - 1

    @cached_property
    def n_observed(self) -> int:
        """Number of steps that hold a value."""
        return self.n_steps if self.observed is None else int(self.observed.any(axis=0).sum())

    @cached_property
    def counts(self) -> DoubleArray:
        """Observed values of each feature."""
        if self.observed is None:
            return np.full(self.n_features, float(self.n_steps))
        return self.observed.sum(axis=1).astype(np.float64)

    @cached_property
    def means(self) -> DoubleArray:
        """Mean of the observed values of each feature."""
        return self.values.sum(axis=1) / np.maximum(self.counts, 1)

    @cached_property
    def variances(self) -> DoubleArray:
        """Variance of the observed values of each feature."""
        deviations = self.values - self.means[:, None]
        if self.observed is not None:
            deviations *= self.observed
        return np.einsum("ct,ct->c", deviations, deviations) / np.maximum(self.counts, 1)

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The incomplete rows, by what they lack."""
        if self.observed is None:
            return []
        incomplete = np.flatnonzero(~self.observed.all(axis=0))
        masks, which = np.unique(self.observed[:, incomplete], axis=1, return_inverse=True)
        return [
            Pattern(incomplete[np.ravel(which) == k], np.flatnonzero(mask), np.flatnonzero(~mask))
            for k, mask in enumerate(masks.T)
        ]

    def imputed(self) -> DoubleArray:
        """Rows by features, with the mean of its feature in place of what is missing."""
        rows = self.values.T.copy()
        if self.observed is not None:
            rows = np.where(self.observed.T, rows, self.means)
        return rows


def check_sequences(
    owner: BaseEstimator, X: object, lengths: object, *, reset: bool = False
) -> Sequences:
    """X (NaN for what is missing) and the lengths of its sequences, checked."""
    if not reset:
        check_is_fitted(owner)
    if getattr(X, "ndim", 2) == 1 or (isinstance(X, (list, tuple)) and X and np.isscalar(X[0])):
        raise DataError(
            "X has one dimension, and needs rows (steps) and columns (features). Reshape your "
            "data: numpy.reshape(X, (-1, 1)) makes a single feature of it"
        )
    _refuse_times(X)
    try:
        rows = validate_data(owner, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
    except (ValueError, TypeError) as error:
        # Of arrays of objects scikit-learn's contract has a TypeError.
        if isinstance(error, TypeError) and not is_frame(X):
            raise
        raise DataError(_in_words(error, X)) from None
    offsets = _offsets(lengths, rows.shape[0])
    values = np.array(rows.T, order="C")
    missing = np.isnan(values)
    if not missing.any():
        return Sequences(values, None, offsets)
    empty = np.flatnonzero(missing.all(axis=1))
    if empty.size and reset:
        raise DataError(f"column {empty[0]} of X holds nothing but NaN: drop it")
    for k in range(offsets.size - 1):
        if missing[:, offsets[k] : offsets[k + 1]].all():
            raise DataError(f"all rows of sequence {k} hold nothing but NaN: drop the sequence")
    values[missing] = 0
    return Sequences(values, ~missing, offsets)


def _refuse_times(X: Any) -> None:
    """Refuse dates and durations, which NumPy takes for numbers or stumbles over."""
    for place, values in _columns(X):
        values = values.ravel()
        if values.dtype.kind == "O":
            known = (one for one in values if not is_missing(one))
            values = np.array([next(known, None)], dtype=object)
        first = values[0] if values.size else None
        is_time = isinstance(first, (np.datetime64, np.timedelta64, date, timedelta))
        if is_time or hasattr(first, "to_timestamp"):  # a period of pandas
            raise DataError(
                f"{place} holds times (the first is {first}): drop the column, or number the steps"
            )


def _columns(X: Any) -> list[tuple[str, AnyArray]]:
    """The columns of a table as arrays, and what a message calls each; an array is one of them."""
    if isinstance(X, np.ndarray):
        return [("X", X)]
    if not is_frame(X):
        return []
    if hasattr(X, "iloc"):  # columns of pandas may have any names, and several the same
        pairs = [(name, X.iloc[:, place]) for place, name in enumerate(X.columns)]
    else:
        pairs = [(name, frame_column(X, name)) for name in frame_names(X)]
    return [(f"column {name!r} of X", np.asarray(values)) for name, values in pairs]


def _in_words(error: Exception, X: Any) -> str:
    """Why NumPy or scikit-learn makes no rows of numbers of X, on one line, and the remedy."""
    message = " ".join(str(error).split())
    if "could not convert string" in message:
        return (
            f"{message}: X must hold numbers; numpy.unique(X, return_inverse=True) numbers symbols "
            "from 0 on"
        )
    if isinstance(error, TypeError):
        return f"{message}: X must hold numbers"
    several = "inhomogeneous" in message or "dim 3" in message
    if not several or not all(hasattr(one, "__len__") for one in X):
        return message
    lengths = "lengths=[len(one) for one in X]"
    sizes = [len(one) for one in X]
    other = next((n for n in sizes if n != sizes[0]), None)
    # Rows hold values, and sequences hold rows; one that is empty may be either.
    if other is None or any(hasattr(part, "__len__") for one in X for part in [*one][:1]):
        return (
            f"X holds {count(len(X), 'sequence')}; put them one below the other: give "
            f"numpy.concatenate(X) with {lengths}"
        )
    return (
        f"X holds {count(len(X), 'row')} of {sizes[0]} and {other} values; if they are sequences "
        f"of one feature, give numpy.concatenate(X).reshape(-1, 1) with {lengths}"
    )


def check_n_observed(data: Sequences, n_states: int) -> None:
    """Refuse fewer rows with a value than states."""
    if data.n_observed < n_states:
        raise DataError(
            f"X has {count(data.n_observed, 'sample')}, fewer than n_states={n_states}: "
            "lower n_states or give more samples"
        )


def check_learnable(data: Sequences, n_states: int) -> None:
    """Refuse measurements from which no state can be learned."""
    check_n_observed(data, n_states)
    for column, values in enumerate(data.values):
        seen = values if data.observed is None else values[data.observed[column]]
        low, high = float(seen.min()), float(seen.max())
        with np.errstate(over="ignore"):
            span = high - low
        largest = max(abs(low), abs(high))
        if span > 0 and not (span > _LEAST_SPAN and largest < _LARGEST):
            raise DataError(
                f"column {column} of X spans {span:.3g} with values up to {largest:.3g}, and the "
                "squares of such numbers leave the range of doubles: rescale it"
            )
        if span == 0 or data.variances[column] <= 1e-24 * data.means[column] ** 2:
            raise DataError(
                f"column {column} of X is constant ({data.means[column]:g}), so no density fits "
                "it: drop the column"
            )


def _offsets(lengths: object, n_rows: int) -> PointerArray:
    if lengths is None:
        return np.array([0, n_rows], dtype=np.int64)
    values = whole_numbers(lengths)
    if values is None:
        raise DataError(f"lengths must be a list of whole numbers. Got {lengths!r} instead.")
    if (values < 1).any():
        k = int(np.flatnonzero(values < 1)[0])
        raise DataError(f"sequence {k} has length {values[k]}: a sequence needs at least one row")
    if int(values.sum()) != n_rows:
        raise DataError(f"lengths sum to {int(values.sum())} and X has {n_rows} rows")
    return np.concatenate([[0], np.cumsum(values)]).astype(np.int64)


def whole_numbers(values: object) -> PointerArray | None:
    """A list of whole numbers as an array; None when it is none, or empty.

    Examples
    --------
    >>> whole_numbers([2, 3]), whole_numbers([2.5]), whole_numbers([[1], [2, 3]])
    (array([2, 3]), None, None)
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu":
        return None
    return array.astype(np.int64)


def split_rows(offsets: PointerArray) -> Sequence[slice]:
    """The rows of each sequence.

    Examples
    --------
    >>> list(split_rows(np.array([0, 2, 5])))
    [slice(0, 2, None), slice(2, 5, None)]
    """
    return [slice(first, end) for first, end in pairwise(offsets.tolist())]
