"""Columns of a matrix as features of trees: kinds, categories and missing values."""

import warnings
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from labelwood.core.caller import user_stacklevel
from labelwood.core.classes import check_weight_range
from labelwood.core.contract import check_features
from labelwood.core.sparse import csr_arrays, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray, PointerArray
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.trees.rules.growth import (
    CATEGORICAL,
    NUMERIC,
    PRESENCE,
    BoolArray,
    Entries,
    KindArray,
    entries_by_feature,
)

MAX_CATEGORIES = 65_536


def read_matrix(owner: Any, X: object, *, reset: bool = False) -> CSR:
    """X as CSR; NaN is refused or kept by the owner's parameter `missing`."""
    try:
        return check_features(owner, X, reset=reset, allow_nan=owner.missing != "error")
    except DataError as error:
        if "could not convert string" in str(error):
            raise _text_in_column(X, error) from None
        if "contains NaN" in str(error) and "missing" in owner.get_params(deep=False):
            raise DataError(f"{error} Or choose another value of 'missing'.") from None
        raise


def _text_in_column(X: object, error: DataError) -> DataError:
    """The error for a table with text, which names the column and what to do."""
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return error
    texts = [column for column in range(cells.shape[1]) if _first_text(cells[:, column])]
    if not texts:
        return error
    names = getattr(X, "columns", None)
    name = texts[0] if names is None else repr(str(names[texts[0]]))
    return DataError(
        f"Column {name} of X holds text ({_first_text(cells[:, texts[0]])!r}). Encode categories "
        "with scikit-learn's OrdinalEncoder and name the column in categorical_features; leave out "
        "columns that are no features."
    )


def _first_text(cells: AnyArray) -> str:
    """The first text of a column that is no number; empty where there is none."""
    for cell in cells.tolist():
        if isinstance(cell, str):
            try:
                float(cell)
            except ValueError:
                return cell
    return ""


def feature_kinds(owner: Any) -> KindArray:
    """The kind of each feature by `presence_features` and `categorical_features`."""
    n = owner.n_features_in_
    kinds = np.full(n, NUMERIC, dtype=np.uint8)
    kinds[_columns(owner, "presence_features")] = PRESENCE
    categorical = _columns(owner, "categorical_features")
    if np.any(kinds[categorical] == PRESENCE) and owner.presence_features != "all":
        both = categorical[kinds[categorical] == PRESENCE][0]
        raise ParameterError(
            f"Feature {both} of {type(owner).__name__} is in both categorical_features and "
            "presence_features; name it in one of them."
        )
    kinds[categorical] = CATEGORICAL
    return kinds


def _columns(owner: Any, name: str) -> AnyArray:
    """The columns that a parameter names: None, "all", a mask, numbers or names."""
    given, n = getattr(owner, name), owner.n_features_in_
    if given is None:
        return np.empty(0, dtype=np.int64)
    if isinstance(given, str):
        if given != "all":
            raise ParameterError(
                f"The {name!r} parameter of {type(owner).__name__} must be None, 'all', a mask, "
                f"or a list of columns or names. Got {given!r} instead."
            )
        return np.arange(n)
    columns = np.asarray(given)
    if columns.size == 0:
        return np.empty(0, dtype=np.int64)
    if columns.dtype.kind in "UO":
        names = {str(one): i for i, one in enumerate(getattr(owner, "feature_names_in_", ()))}
        unknown = [str(one) for one in columns if str(one) not in names]
        if unknown:
            raise ParameterError(
                f"The {name!r} parameter of {type(owner).__name__} names {unknown[0]!r}, which is "
                "no column of X."
            )
        return np.array([names[str(one)] for one in columns], dtype=np.int64)
    if columns.dtype == bool and columns.shape == (n,):
        return np.flatnonzero(columns)
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or columns.min() < -n:
        columns = np.array([n])
    if columns.max() >= n:
        raise ParameterError(
            f"The {name!r} parameter of {type(owner).__name__} must name columns in 0…{n - 1}. "
            f"Got {given!r} instead."
        )
    return columns.astype(np.int64) % n


Categories: TypeAlias = dict[int, PointerArray]
"""The categories of each categorical column that training has seen, sorted."""


def check_categories(matrix: CSR, kinds: KindArray) -> None:
    """Refuse a categorical column whose values are not 0, 1, 2, … or missing."""
    categorical = kinds[matrix.indices] == CATEGORICAL
    values = matrix.data[categorical]
    values = np.where(np.isnan(values), 0, values)
    bad = np.flatnonzero((values < 0) | (values != np.floor(values)) | (values >= MAX_CATEGORIES))
    if bad.size:
        column = matrix.indices[categorical][bad[0]]
        raise DataError(
            f"Categorical feature {column} must hold whole numbers in 0…{MAX_CATEGORIES - 1}. "
            f"Got {values[bad[0]]:g}; encode categories with scikit-learn's OrdinalEncoder."
        )


def seen_categories(matrix: CSR, columns: AnyArray) -> Categories:
    """The whole numbers, other than missing values, that stand in each of the columns.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[3, 1], [1, np.nan], [3, 2]], allow_nan=True)
    >>> {column: seen.tolist() for column, seen in seen_categories(X, np.arange(2)).items()}
    {0: [1, 3], 1: [1, 2]}
    """
    chosen = matrix[:, columns].tocsc()
    found = {}
    for place, column in enumerate(columns.tolist()):
        values = chosen.data[chosen.indptr[place] : chosen.indptr[place + 1]]
        seen = np.unique(values[values == np.floor(values)]).astype(np.int64)
        # Zeros need no entry.
        has_zeros = values.size < matrix.shape[0]
        found[column] = np.union1d(seen, [0]) if has_zeros else seen
    return found


def category_pairs(seen: Categories) -> PointerArray:
    """Seen categories as rows of a column and a category, as they are stored."""
    pairs = [(column, one) for column, known in seen.items() for one in known.tolist()]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def categories_by_column(pairs: PointerArray) -> Categories:
    """The inverse of `category_pairs`."""
    return {int(column): pairs[pairs[:, 0] == column, 1] for column in np.unique(pairs[:, 0])}


def warn_of_new_categories(matrix: CSR, seen: Categories, consequence: str) -> None:
    """A warning that names the first category which training has not seen, and how many rows."""
    if not seen or not matrix.shape[0]:
        return
    columns = np.array(list(seen))
    chosen = matrix[:, columns].tocsc()
    n_new, first = 0, (matrix.shape[0], 0, 0.0)
    for place, (column, known) in enumerate(seen.items()):
        part = slice(chosen.indptr[place], chosen.indptr[place + 1])
        rows, values = chosen.indices[part], chosen.data[part]
        new = ~np.isin(values, known) & ~np.isnan(values)
        if 0 not in known and rows.size < matrix.shape[0]:  # zeros need no entry
            rows_of_zeros = np.setdiff1d(np.arange(matrix.shape[0]), rows)
            n_new += rows_of_zeros.size
            first = min(first, (int(rows_of_zeros[0]), column, 0.0))
        if new.any():
            n_new += int(np.count_nonzero(new))
            at = np.flatnonzero(new)[np.argmin(rows[new])]
            first = min(first, (int(rows[at]), column, float(values[at])))
    if n_new:
        row, column, value = first
        warnings.warn(
            f"{n_new} values are categories that training has not seen (first: {value:g} in row "
            f"{row}, column {column}); {consequence}.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )


def imputed_values(matrix: CSR, kinds: KindArray, weights: DoubleArray) -> FloatArray:
    """The weighted mean of each column over values that are not missing; the commonest category.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[2, np.nan], [0, 3], [np.nan, 1]], allow_nan=True)
    >>> imputed_values(X, np.zeros(2, dtype=np.uint8), np.array([3.0, 1.0, 1.0])).tolist()
    [1.5, 2.0]
    """
    width = matrix.shape[1]
    known = ~np.isnan(matrix.data)
    weight = np.repeat(weights, np.diff(matrix.indptr))
    columns, values, weight_known = matrix.indices[known], matrix.data[known], weight[known]
    missing_weight = np.bincount(matrix.indices[~known], weight[~known], minlength=width)
    sums = np.bincount(columns, values * weight_known, minlength=width)
    rest = weights.sum() - missing_weight
    # Differences of sums of weights carry rounding: nothing is known of such a column.
    some = rest > 1e-12 * weights.sum()
    means = np.where(some, sums / np.where(some, rest, 1.0), 0.0)
    for column in np.flatnonzero(kinds == CATEGORICAL):
        here = columns == column
        totals = np.bincount(values[here].astype(np.int64), weight_known[here], minlength=1)
        totals[0] += rest[column] - weight_known[here].sum()
        means[column] = totals.argmax()
    return np.asarray(means, dtype=np.float32)


def fill_missing(matrix: CSR, missing: str, imputed: FloatArray) -> CSR:
    """NaN replaced as the mode `missing` says; "value" leaves it, "error" has none."""
    if missing not in ("zero", "impute"):
        return matrix
    gaps = np.isnan(matrix.data)
    if not gaps.any():
        return matrix
    data = matrix.data.copy()
    data[gaps] = 0 if missing == "zero" else imputed[matrix.indices[gaps]]
    return make_csr(matrix.indptr, matrix.indices, data, matrix.shape)


def sort_matrix(matrix: CSR, keep: BoolArray) -> tuple[Entries, BoolArray]:
    """The entries of the kept rows by feature, and which features have positive values only."""
    arrays = csr_arrays(matrix)
    data = np.require(arrays.data, requirements="W")
    indices = np.require(arrays.indices, requirements="W")
    indptr = np.require(arrays.indptr, requirements="W")
    return entries_by_feature(indptr, indices, data, keep, matrix.shape[1])


def check_weights(sample_weight: object, matrix: CSR) -> DoubleArray:
    """Weights of the samples, 1 if none are given; at least one must be positive."""
    try:
        weights = np.asarray(
            _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
        )
    except ValueError as error:
        raise DataError(str(error)) from None
    if not np.any(weights > 0):
        raise DataError("sample_weight is 0 for all samples; give at least one a positive weight.")
    check_weight_range(weights)
    return weights


def feature_names_of(model: Any, feature_names: object = None) -> dict[int, str]:
    """Names of the columns that are given, else those of the data frame of `fit`."""
    names: AnyArray | None = getattr(model, "feature_names_in_", None)
    if feature_names is not None:
        try:
            names = np.asarray(feature_names)
        except ValueError:  # lists of different lengths
            names = np.empty(())
        if names.shape != (model.n_features_in_,):
            raise DataError(
                f"feature_names must be a list of {model.n_features_in_} names. "
                f"Got shape {names.shape}."
            )
        if np.unique(names).size < names.size:
            raise DataError("feature_names must be different from each other.")
    if names is None:
        return {}
    return {column: str(name) for column, name in enumerate(names.tolist())}
