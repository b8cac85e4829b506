"""Columns of a matrix as features of trees: kinds, categories and missing values."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from labelwood.core.caller import user_stacklevel
from labelwood.core.contract import check_features
from labelwood.core.sparse import csr_arrays, make_csr
from labelwood.core.types import CSR, AnyArray, DoubleArray, FloatArray
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
    return check_features(owner, X, reset=reset, allow_nan=owner.missing != "error")


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


def category_counts(matrix: CSR, kinds: KindArray) -> dict[int, int]:
    """How many categories each categorical column has; they must be numbered from 0."""
    columns = np.flatnonzero(kinds == CATEGORICAL)
    if not columns.size:
        return {}
    chosen = matrix[:, columns].tocsc()
    found = {}
    for place, column in enumerate(columns.tolist()):
        values = chosen.data[chosen.indptr[place] : chosen.indptr[place + 1]]
        values = values[~np.isnan(values)]
        bad = values[(values < 0) | (values != np.floor(values)) | (values >= MAX_CATEGORIES)]
        if bad.size:
            raise DataError(
                f"Categorical feature {column} must hold whole numbers in 0…{MAX_CATEGORIES - 1}. "
                f"Got {bad[0]:g}; encode categories with scikit-learn's OrdinalEncoder."
            )
        found[column] = int(values.max(initial=0)) + 1
    return found


def warn_of_new_categories(matrix: CSR, n_categories: dict[int, int]) -> None:
    """A warning that names the first category which training has not seen, and how many rows."""
    if not n_categories:
        return
    columns = np.array(list(n_categories))
    chosen = matrix[:, columns].tocoo()
    limits = np.array(list(n_categories.values()))[chosen.coords[1]]
    new = (chosen.data >= limits) | (chosen.data < 0) | (chosen.data != np.floor(chosen.data))
    new &= ~np.isnan(chosen.data)
    if new.any():
        first = int(np.flatnonzero(new)[0])
        warnings.warn(
            f"{np.count_nonzero(new)} values are categories that training has not seen (first: "
            f"{chosen.data[first]:g} in row {chosen.coords[0][first]}, column "
            f"{columns[chosen.coords[1][first]]}); they take the side of more training samples.",
            LabelwoodWarning,
            stacklevel=user_stacklevel(),
        )


def imputed_values(matrix: CSR, kinds: KindArray) -> FloatArray:
    """The mean of each column over values that are not missing; the commonest category.

    Examples
    --------
    >>> from labelwood.core.sparse import as_csr
    >>> X = as_csr([[2, np.nan], [0, 3], [np.nan, 1]], allow_nan=True)
    >>> imputed_values(X, np.zeros(2, dtype=np.uint8)).tolist()
    [1.0, 2.0]
    """
    n, width = matrix.shape
    known = ~np.isnan(matrix.data)
    n_missing = np.bincount(matrix.indices[~known], minlength=width)
    sums = np.bincount(matrix.indices[known], matrix.data[known], minlength=width)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(n_missing < n, sums / np.maximum(n - n_missing, 1), 0.0)
    for column in np.flatnonzero(kinds == CATEGORICAL):
        here = matrix.indices == column
        counts = np.bincount(matrix.data[here & known].astype(np.int64), minlength=1)
        counts[0] += n - int(here.sum())
        means[column] = counts.argmax()
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
