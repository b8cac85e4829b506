"""What every estimator of the package keeps: parameters as data, and fits that succeed whole."""

import functools
from abc import ABC
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from labelwood.core.params import Constraints
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR
from labelwood.errors import DataError

FittedAttributes: TypeAlias = Mapping[str, type | tuple[type, tuple[str | int | None, ...]]]
"""Attribute → its type, or dtype and shape of its array."""

_FITTING_METHODS = ("fit", "fit_transform", "partial_fit", "add_labels", "add_trees", "update")
_PLAIN = frozenset({np.ndarray, int, float, bool, str, type(None), dict, tuple, list})


class FittedEstimator(BaseEstimator, ABC):
    """Base of all estimators.

    A subclass declares `_constraints` (its parameters), `_fitted` (its fitted attributes, of
    sizes that `_sizes` names) and calls `check_parameters(self, self._constraints)` first in
    `fit`. Its methods named in `_FITTING_METHODS` are all-or-nothing: when one of them raises,
    every attribute is what it was before the call, lists, dicts and nested estimators included.
    Fitted arrays are not copied for that: a method must replace them, or name those that it writes
    into in `_updated_in_place`.

    What is derived from fitted attributes for speed alone is in attributes `_kept_…`, which
    `_keep_derived` sets at the end of these methods. Copies and pickles make it themselves: joblib
    writes an array once for each place that holds it.

    Prediction compares the width of X with the arrays that its kernels read: those of `_fitted`
    with an axis "features", those with a pointer to each feature's part, which are named in
    `_feature_pointers`, those that hold feature indices, named in `_feature_indices`, and the
    training samples that it keeps, if it does, as `X_fit_`.
    """

    _constraints: ClassVar[Constraints] = {}
    _fitted: ClassVar[FittedAttributes] = {}
    _updated_in_place: ClassVar[tuple[str, ...]] = ()
    _feature_pointers: ClassVar[tuple[str, ...]] = ()
    _feature_indices: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _FITTING_METHODS:
            if name in vars(cls):
                setattr(cls, name, _all_or_nothing(vars(cls)[name]))

    def _common_sizes(self) -> dict[str, int]:
        """What the names of sizes stand for in `_fitted` of every estimator of a kind."""
        return {"features": self.n_features_in_}

    def _sizes(self) -> dict[str, int]:
        """What other names of sizes in `_fitted` stand for."""
        return {}

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        check_fitted_attributes(self, {"n_features_in_": int}, {})
        check_fitted_attributes(self, self._fitted, self._common_sizes() | self._sizes())

    def _check_width(self, n_columns: int) -> None:
        """Refuse X of `n_columns` if the fitted arrays were made for another width."""
        for name, axis in _feature_axes(type(self)):
            shape = getattr(getattr(self, name, None), "shape", ())
            if shape[axis : axis + 1] not in ((), (n_columns,)):
                raise _wrong_width(self, n_columns, name)
        for name in self._feature_pointers:
            if np.size(getattr(self, name, ())) not in (0, n_columns + 1):
                raise _wrong_width(self, n_columns, name)
        if getattr(vars(self).get("X_fit_"), "shape", (0, n_columns))[1:] != (n_columns,):
            raise _wrong_width(self, n_columns, "X_fit_")
        for name in self._feature_indices:
            if self._largest_index(name) >= n_columns:
                raise _wrong_width(self, n_columns, name)
        for value in vars(self).values():
            # An estimator is an abstract class, which isinstance takes long to compare with.
            if type(value) in _PLAIN:
                continue
            if isinstance(value, FittedEstimator) and "n_features_in_" in vars(value):
                value._check_width(n_columns)

    def _largest_index(self, name: str) -> int:
        """The largest of an array of feature indices, known since `fit` unless it was replaced."""
        indices = getattr(self, name, None)
        searched, largest = vars(self).get("_kept_largest_indices", {}).get(name, (None, -1))
        if indices is searched or indices is None:
            return int(largest)
        return int(indices.max()) if indices.size else -1

    def __getstate__(self) -> dict[str, Any]:
        """What copies and pickles take: all but what they can derive."""
        state: dict[str, Any] = super().__getstate__()
        return {name: one for name, one in state.items() if not name.startswith("_kept_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._fitted.keys() <= state.keys():
            self._keep_derived()

    def _keep_derived(self) -> None:
        """Keep the largest feature indices, so that a prediction need not search for them."""
        if self._feature_indices:
            self._kept_largest_indices = {
                name: (getattr(self, name, None), self._largest_index(name))
                for name in self._feature_indices
            }

    @property
    def model_size(self) -> int:
        """Bytes of all fitted arrays."""
        check_is_fitted(self)
        return sum(_n_bytes(value) for name, value in vars(self).items() if name.endswith("_"))


@functools.cache
def _feature_axes(owner: type[FittedEstimator]) -> list[tuple[str, int]]:
    """Names of the fitted arrays that are as long as X is wide, and along which axis."""
    return [
        (name, axis)
        for name, kind in owner._fitted.items()
        if not isinstance(kind, type)
        for axis, size in enumerate(kind[1])
        if size == "features"
    ]


def _wrong_width(owner: FittedEstimator, n_columns: int, name: str) -> DataError:
    return DataError(
        f"X has {n_columns} features, for which {name} of this {type(owner).__name__} was not "
        "made: an attribute was changed by hand. Fit it again."
    )


def _all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: FittedEstimator, *args: Any, **kwargs: Any) -> Any:
        restore = _restorer(self)
        try:
            result = method(self, *args, **kwargs)
            self._keep_derived()
            return result
        except BaseException:  # an interrupted fit must not leave half a model either
            restore()
            raise

    return call


def _restorer(owner: BaseEstimator) -> Callable[[], None]:
    """A function that gives the estimator, and those that it holds, the state of now."""
    in_place = getattr(owner, "_updated_in_place", ())
    before = {
        name: value.copy() if name in in_place else _copied_containers(value)
        for name, value in vars(owner).items()
    }
    nested = [_restorer(value) for value in before.values() if isinstance(value, BaseEstimator)]

    def restore() -> None:
        vars(owner).clear()
        vars(owner).update(before)
        for one in nested:
            one()

    return restore


def _copied_containers(value: Any) -> Any:
    """Lists, dicts and sets as copies, to any depth; whatever else they hold is shared."""
    if type(value) is list:
        return [_copied_containers(one) for one in value]
    if type(value) is dict:
        return {key: _copied_containers(one) for key, one in value.items()}
    return set(value) if type(value) is set else value


def check_features(
    owner: BaseEstimator, X: object, *, reset: bool = False, allow_nan: bool = False
) -> CSR:
    """X as CSR; with `reset` the owner takes its width and names from it, else they must fit."""
    if not reset and "n_features_in_" not in vars(owner):  # quicker than to ask scikit-learn
        check_is_fitted(owner)
    if sp.issparse(X):
        matrix = as_csr(X, allow_nan=allow_nan)  # scikit-learn would follow indices out of bounds
        if not reset and matrix.shape[0] > 0 and matrix.shape[1] == owner.n_features_in_:
            _check_width(owner, matrix)
            return matrix  # nothing is left to check, and one row is answered sooner
        X = matrix
    try:
        checked = validate_data(
            owner,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float32, np.float64],
            ensure_all_finite=False,
        )
    except ValueError as error:
        texts = "; X must hold numbers: give texts to a Tagger, or through a TextVectorizer"
        remedy = texts if "could not convert string" in str(error) else ""
        raise DataError(f"{error}{remedy}") from None
    matrix = as_csr(checked, allow_nan=allow_nan)
    if not reset:
        _check_width(owner, matrix)
    return matrix


def _check_width(owner: BaseEstimator, matrix: CSR) -> None:
    if isinstance(owner, FittedEstimator):
        owner._check_width(matrix.shape[1])


def check_fitted_attributes(
    owner: object, wanted: FittedAttributes, sizes: Mapping[str, int]
) -> None:
    """Check kinds, dtypes and shapes; a size is a number, a name in `sizes`, or None for any."""
    for name, kind in wanted.items():
        value: Any = getattr(owner, name, None)
        if isinstance(kind, type):
            if not isinstance(value, kind):
                raise DataError(f"{name} must be of type {kind.__name__}")
            continue
        dtype, dimensions = np.dtype(kind[0]), kind[1]
        shape = tuple(sizes[size] if isinstance(size, str) else size for size in dimensions)
        found = getattr(value, "shape", ())
        fits = len(found) == len(shape) and all(
            size in (None, actual) for size, actual in zip(shape, found, strict=True)
        )
        if not fits or value.dtype != dtype:
            raise DataError(f"{name} must be an array of {dtype} and shape {shape}")


def _n_bytes(value: object) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if sp.issparse(value):
        parts: Any = value
        return int(parts.indptr.nbytes + parts.indices.nbytes + parts.data.nbytes)
    if isinstance(value, FittedEstimator):
        return value.model_size
    if isinstance(value, (list, tuple)):
        return sum(_n_bytes(one) for one in value)
    return 0
