"""Save a fitted model to a directory, and load it again."""

import hashlib
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from labelwood.core.params import OneOf, check_parameter
from labelwood.errors import ModelError, ParameterError
from labelwood.store.codec import Encoder, decode_checked
from labelwood.store.directory import (
    FORMAT,
    FORMAT_VERSION,
    FORMAT_VERSION_UNPACKED,
    MODEL_FILE,
    checked_description,
    locked_directory,
    read_file,
    read_model,
    replace_description,
    require_space,
    store_arrays,
)
from labelwood.store.upgrade import upgrade


def save(model: BaseEstimator, path: str | Path, *, precision: str = "full") -> None:
    """Write a fitted model to the directory `path`, replacing a model that is there.

    At every moment the directory holds the old model or the new one, also for a process that is
    killed and for those that load meanwhile. It holds `model.json` (format version, class,
    parameters, names and a manifest) and `arrays-<hash>.safetensors`. A `random_state` that is not
    a number is not stored.

    With `precision="int8"` the weights of `OneVsRestSVM` and `LabelTreeClassifier` take eight bits
    each, with a scale for each classifier: the files are much smaller, and each weight comes back
    within 1/254 of its classifier's largest one. Other models are stored as with "full", which
    keeps every bit. Saving what was loaded gives the same bytes again.
    """
    _refuse_others(model)
    _check_path("save", path)
    check_is_fitted(model)
    check_parameter("save", "precision", precision, OneOf("full", "int8"))
    encoder = Encoder(precision)
    content = encoder.encode(model, type(model).__name__)
    n_bytes = sum(array.nbytes for array in encoder.arrays.values())
    with locked_directory(Path(path)) as directory:
        require_space(directory, n_bytes)
        arrays_file, digest = store_arrays(directory, encoder.arrays)
        manifest = _manifest(model)
        manifest |= {"arrays_file": arrays_file, "arrays_pieces_sha256": digest}
        manifest["model_sha256"] = _content_hash(content)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION if encoder.has_packed else FORMAT_VERSION_UNPACKED,
            "manifest": manifest,
            "model": content,
        }
        replace_description(directory, description)


def _refuse_others(model: object) -> None:
    """Refuse what is no estimator, or a pipeline, and name what can be saved in its place."""
    if not isinstance(model, BaseEstimator):
        is_ours = type(model).__module__.partition(".")[0] == __name__.partition(".")[0]
        keeps = is_ours and hasattr(model, "to_json")
        remedy = "keep its to_json()" if keeps else "save a fitted estimator, such as a Tagger"
        raise ModelError(f"A {type(model).__name__} is no estimator and cannot be saved: {remedy}.")
    if isinstance(model, Pipeline):
        last = type(model[-1]).__name__
        raise ModelError(
            f"A Pipeline cannot be saved, as its steps need not be labelwood's: save its {last} "
            f"(pipeline[-1]), or fit Tagger({last}(), TextVectorizer()), which is saved whole."
        )


def _check_path(owner: str, path: object) -> None:
    if not isinstance(path, (str, os.PathLike)) or not str(path):
        found = repr(path) if isinstance(path, (str, int, float)) else type(path).__name__
        raise ParameterError(
            f"The 'path' parameter of {owner} must be the directory of a model (str or Path). "
            f"Got {found if path is not None else 'None'} instead."
        )


def load(path: str | Path) -> Any:
    """Read the model in the directory `path`; its arrays are memory-mapped.

    Nothing in the directory is executed: classes come from labelwood's own list,
    and a directory that is truncated, changed or of a newer format is refused.
    """
    _check_path("load", path)
    file = Path(path) / MODEL_FILE
    description, arrays = read_model(Path(path))
    content = description.get("model")
    if _content_hash(content) != description["manifest"].get("model_sha256"):
        raise ModelError(f"{file} is damaged: it was changed after it was saved")
    content = upgrade(content, description["format_version"])
    model = decode_checked(content, arrays, str(file))
    if not isinstance(model, BaseEstimator):
        raise ModelError(f"{file} holds no model")
    return model


def read_description(path: str | Path) -> dict[str, Any]:
    """The checked content of `model.json`, without the arrays."""
    file = Path(path) / MODEL_FILE
    return checked_description(read_file(file), file)


def _content_hash(content: object) -> str:
    try:
        canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return ""  # no model is nested so deeply
    return hashlib.sha256(canonical.encode()).hexdigest()


def _manifest(model: BaseEstimator) -> dict[str, Any]:
    packages = ("labelwood", "numpy", "scipy", "scikit-learn", "numba")
    seed = model.get_params().get("random_state")
    if seed is None:
        seed = model.get_params().get("estimator__random_state")
    return {
        "data_sha256": getattr(model, "data_hash_", None),
        "seed": seed if isinstance(seed, int) else None,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
    }
