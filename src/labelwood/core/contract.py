"""What every estimator of the package keeps: parameters as data, and fits that succeed whole."""

import functools
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

_FITTING_METHODS = ("fit", "partial_fit", "add_labels")


class FittedEstimator(BaseEstimator):
    """Base of all estimators.

    A subclass declares `_constraints` (its parameters), `_fitted` (its fitted attributes, of
    sizes that `_sizes` names) and calls `check_parameters(self, self._constraints)` first in
    `fit`. Its `fit`, `partial_fit` and `add_labels` are all-or-nothing: when one of them
    raises, every attribute is what it was before the call. Fitted arrays must therefore be
    replaced and never be written into.
    """

    _constraints: ClassVar[Constraints] = {}
    _fitted: ClassVar[FittedAttributes] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in _FITTING_METHODS:
            if name in vars(cls):
                setattr(cls, name, _all_or_nothing(vars(cls)[name]))

    def _sizes(self) -> dict[str, int]:
        """What the names of sizes in `_fitted` stand for."""
        return {"features": self.n_features_in_}

    def _check_fitted(self) -> None:
        """Refuse fitted attributes that would send a kernel out of bounds (after loading)."""
        check_fitted_attributes(self, {"n_features_in_": int}, {})
        check_fitted_attributes(self, self._fitted, self._sizes())

    @property
    def model_size(self) -> int:
        """Bytes of all fitted arrays."""
        check_is_fitted(self)
        return sum(_n_bytes(value) for name, value in vars(self).items() if name.endswith("_"))


def _all_or_nothing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(self: FittedEstimator, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:  # an interrupted fit must not leave half a model either
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    return call


def check_features(
    owner: BaseEstimator, X: object, *, reset: bool = False, allow_nan: bool = False
) -> CSR:
    """X as CSR; with `reset` the owner takes its width and names from it, else they must fit."""
    if not reset and "n_features_in_" not in vars(owner):  # quicker than to ask scikit-learn
        check_is_fitted(owner)
    if sp.issparse(X):
        matrix = as_csr(X, allow_nan=allow_nan)  # scikit-learn would follow indices out of bounds
        if not reset and matrix.shape[0] > 0 and matrix.shape[1] == owner.n_features_in_:
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
        raise DataError(str(error)) from None
    return as_csr(checked, allow_nan=allow_nan)


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
