"""Fitted objects as JSON and named arrays, and back.

JSON values stand for themselves; what JSON lacks is an object with one key that
starts with `$`: `{"$array": name}`, `{"$csr": …}`, `{"$strings": […]}`,
`{"$tuple": […]}`, `{"$float": "inf"}`, `{"$taxonomy": …}`, `{"$propensity": …}`,
`{"$object": …}`.
Objects come from the package's own public estimators and from nowhere else, and
their fitted attributes are set, never executed.
"""

import importlib
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from labelwood.core.params import check_parameters
from labelwood.core.propensity import Propensity
from labelwood.core.sparse import check_structure
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import LabelwoodError, ModelError
from labelwood.store.packing import pack, unpack

_FAULTS = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
_BLOCK = 2**20  # numbers checked at once
# Format 1 did not say which attributes hold NaN or infinity on purpose.
_NOT_FINITE_IN_FORMAT_1 = (
    "intercept_",
    "center_squares_",
    "margin_",
    "lower_bound_",
    "cv_errors_",
    "subtree_errors_",
    "slopes_",
    "min_gains_",
    "trial_errors_",
)
_FITTED = re.compile(r"[A-Za-z][A-Za-z0-9_]*_")


class Encoder:
    """Turns values into JSON; `arrays` collects what goes into the array file."""

    def __init__(self, precision: str = "full") -> None:
        self.precision = precision
        self.has_packed = False
        self.arrays: dict[str, np.ndarray] = {}

    def encode(self, value: object, name: str) -> Any:
        """`value` as JSON; `name` is where it stands, and names its arrays."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return value if math.isfinite(value) else {"$float": repr(value)}
        if isinstance(value, np.ndarray):
            return self._encode_array(value, name)
        if sp.issparse(value):  # of any kind; it comes back as a csr_array
            matrix: Any = sp.csr_array(value)
            parts = {part: getattr(matrix, part) for part in ("indptr", "indices", "data")}
            names = {part: self._put(array, f"{name}.{part}") for part, array in parts.items()}
            return {"$csr": {"shape": list(matrix.shape), **names}}
        if isinstance(value, tuple):
            return {"$tuple": self.encode(list(value), name)}
        if isinstance(value, list):
            return [self.encode(one, f"{name}.{i}") for i, one in enumerate(value)]
        if isinstance(value, dict):
            return {self._key(key, name): self.encode(value[key], f"{name}.{key}") for key in value}
        if isinstance(value, Taxonomy):
            return {"$taxonomy": value.to_dict()}
        if isinstance(value, Propensity):
            parts = {part: getattr(value, part) for part in ("counts", "n_samples", "a", "b")}
            return {"$propensity": self.encode(parts, name)}
        if isinstance(value, BaseEstimator):
            return {"$object": self._encode_object(value, name)}
        raise ModelError(f"{name} is a {type(value).__name__}, which cannot be saved.")

    def _put(self, array: np.ndarray, name: str) -> str:
        self.arrays[name] = np.ascontiguousarray(array)
        return name

    def _encode_array(self, array: np.ndarray, name: str) -> Any:
        if array.dtype.kind in "biuf":
            return {"$array": self._put(array, name)}
        texts = array.tolist()
        if array.ndim == 1 and all(isinstance(text, str) for text in texts):
            return {"$strings": texts}
        raise ModelError(f"{name} is an array of {array.dtype}, which cannot be saved.")

    def _encode_object(self, value: BaseEstimator, name: str) -> Any:
        kind = type(value).__name__
        if estimator_class(kind) is not type(value):
            raise ModelError(f"{kind} is not an estimator of labelwood and cannot be saved.")
        params = value.get_params(deep=False)
        params.pop("n_jobs", None)  # of the machine, not of the model
        if not isinstance(params.get("random_state"), int):
            # A generator has moved on since; the fitted model does not need it.
            params.pop("random_state", None)
        fitted = {key: one for key, one in vars(value).items() if _FITTED.fullmatch(key)}
        packed = pack(kind, fitted) if self.precision == "int8" else None
        self.has_packed |= packed is not None
        contents = fitted if packed is None else packed
        stored: dict[str, Any] = {
            "class": kind,
            "params": {key: self.encode(one, f"{name}.{key}") for key, one in params.items()},
            "fitted": {key: self.encode(one, f"{name}.{key}") for key, one in contents.items()},
        }
        if packed is not None:
            stored["packed"] = True
        # NaN and infinity mean something in some attributes, as for a label without samples; in
        # all others they are refused when the model is loaded.
        not_finite = [key for key, one in fitted.items() if not _is_finite(one)]
        return {**stored, "not_finite": not_finite} if not_finite else stored

    @staticmethod
    def _key(key: object, name: str) -> str:
        if not isinstance(key, str) or key.startswith("$"):
            raise ModelError(f"{name} has the key {key!r}; only names can be saved as keys.")
        return key


class Decoder:
    """The way back; everything unexpected is a ModelError."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays

    def decode(self, value: Any) -> Any:
        """The value that `value` stands for."""
        if isinstance(value, list):
            return [self.decode(one) for one in value]
        if not isinstance(value, dict):
            return value
        marks = [key for key in value if key.startswith("$")]
        if not marks:
            return {key: self.decode(one) for key, one in value.items()}
        if len(value) != 1:
            raise ModelError(f"an entry mixes {marks[0]!r} with other keys")
        mark, content = marks[0], value[marks[0]]
        reader = {
            "$float": self._float,
            "$array": self._array,
            "$strings": self._strings,
            "$csr": self._csr,
            "$tuple": self._tuple,
            "$taxonomy": Taxonomy.from_dict,
            "$propensity": self._propensity,
            "$object": self._object,
        }.get(mark)
        if reader is None:
            raise ModelError(f"unknown kind of entry {mark!r}")
        return reader(content)

    def _float(self, text: Any) -> float:
        if text not in ("inf", "-inf", "nan"):
            raise ModelError(f"{text!r} is not a special number")
        return float(text)

    def _array(self, name: Any) -> np.ndarray:
        if not isinstance(name, str) or name not in self.arrays:
            raise ModelError(f"the array {name!r} is missing")
        return self.arrays[name]

    def _strings(self, texts: Any) -> np.ndarray:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise ModelError("a list of names holds something else")
        return np.array(texts, dtype=np.str_ if texts else "U1")

    def _tuple(self, values: Any) -> tuple[Any, ...]:
        return tuple(self.decode(values))

    def _csr(self, content: Any) -> Any:
        rows, columns = (int(size) for size in content["shape"])
        data, indices, indptr = (
            self._array(content[part]) for part in ("data", "indices", "indptr")
        )
        if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise ModelError("a sparse matrix has indices that are no integers")
        matrix = sp.csr_array((data, indices, indptr), shape=(rows, columns))
        check_structure(matrix, content["data"])
        return matrix

    def _propensity(self, content: Any) -> Propensity:
        return Propensity(**self.decode(content))

    def _object(self, content: Any) -> BaseEstimator:
        kind = estimator_class(content["class"])
        params = {key: self.decode(one) for key, one in content["params"].items()}
        fitted = {key: self.decode(one) for key, one in content["fitted"].items()}
        if content.get("packed"):
            fitted = unpack(content["class"], fitted)
        if hasattr(kind, "_from_older_version"):
            kind._from_older_version(params, fitted)
        value = kind(**params)
        check_parameters(value, getattr(value, "_constraints", {}))
        may_be_infinite = content.get("not_finite", _NOT_FINITE_IN_FORMAT_1)
        for key, one in fitted.items():
            if not _FITTED.fullmatch(key):
                raise ModelError(f"{content['class']} cannot have the fitted attribute {key!r}")
            if key not in may_be_infinite and not _is_finite(one):
                raise ModelError(f"{content['class']}.{key} holds NaN or infinity")
            setattr(value, key, one)
        if content["fitted"]:
            value._check_fitted()
            value._keep_derived()
        return value


def _is_finite(value: Any) -> bool:
    """Whether all numbers in `value` are finite: predictions from others would be NaN."""
    if isinstance(value, (list, tuple)):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, float):
        return math.isfinite(value)
    if sp.issparse(value):
        return _is_finite(value.data)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        flat = value.reshape(-1)
        # In blocks, as the answer of isfinite is an array too.
        blocks = (flat[start : start + _BLOCK] for start in range(0, flat.size, _BLOCK))
        return all(bool(np.isfinite(block).all()) for block in blocks)
    return True


def estimator_class(name: str) -> Any:
    """The public estimator of that name: the allow-list of what a stored model may hold."""
    import labelwood

    home = labelwood._HOME.get(name)
    kind = getattr(importlib.import_module(home), name) if home else None
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise ModelError(f"{name!r} is not an estimator of labelwood")
    return kind


def decode_checked(value: Any, arrays: Mapping[str, np.ndarray], where: str) -> Any:
    """Decode, with every fault of the content reported as one ModelError."""
    try:
        model = Decoder(arrays).decode(value)
        # Estimators inside another may be unfitted parameters; the model itself never is.
        if isinstance(model, BaseEstimator) and not any(map(_FITTED.fullmatch, vars(model))):
            raise ModelError(f"this {type(model).__name__} was never fitted")
        return model
    except (LabelwoodError, *_FAULTS) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else error
        raise ModelError(f"{where}: not a valid labelwood model: {what}") from None
