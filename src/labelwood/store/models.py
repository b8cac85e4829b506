"""Save a fitted model to a directory, and load it again."""

import hashlib
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from labelwood.errors import ModelError
from labelwood.store.codec import Encoder, decode_checked
from labelwood.store.files import (
    ARRAY_FILE,
    FORMAT,
    MODEL_FILE,
    read_arrays,
    read_json,
    replaced_directory,
    write_arrays,
    write_json,
)
from labelwood.store.upgrade import upgrade

FORMAT_VERSION = 2


def save(model: BaseEstimator, path: str | Path) -> None:
    """Write a fitted model to the directory `path`, replacing a model that is there.

    The directory appears whole or not at all. It holds `model.json` (format version,
    class, parameters, names and a manifest) and `arrays.safetensors`. A `random_state`
    that is not a number is not stored.
    """
    check_is_fitted(model)
    encoder = Encoder()
    content = encoder.encode(model, type(model).__name__)
    with replaced_directory(Path(path)) as directory:
        digest = write_arrays(directory / ARRAY_FILE, encoder.arrays)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "manifest": _manifest(model, digest, _content_hash(content)),
            "model": content,
        }
        write_json(directory / MODEL_FILE, description)


def load(path: str | Path) -> Any:
    """Read the model in the directory `path`; its arrays are memory-mapped.

    Nothing in the directory is executed: classes come from labelwood's own list,
    and a directory that is truncated, changed or of a newer format is refused.
    """
    directory = Path(path)
    description = read_description(directory)
    manifest, content = description["manifest"], description.get("model")
    if _content_hash(content) != manifest.get("model_sha256"):
        raise ModelError(f"{directory / MODEL_FILE} is damaged: it was changed after it was saved")
    if "arrays_sha256" in manifest:  # of the whole file, as it was written at first
        arrays = read_arrays(directory / ARRAY_FILE, manifest["arrays_sha256"], sys.maxsize)
    else:
        arrays = read_arrays(directory / ARRAY_FILE, manifest.get("arrays_pieces_sha256"))
    content = upgrade(content, description["format_version"])
    model = decode_checked(content, arrays, str(directory / MODEL_FILE))
    if not isinstance(model, BaseEstimator):
        raise ModelError(f"{directory / MODEL_FILE} holds no model")
    return model


def read_description(path: str | Path) -> dict[str, Any]:
    """The checked content of `model.json`, without the arrays."""
    file = Path(path) / MODEL_FILE
    description = read_json(file)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelError(f"{file} does not describe a labelwood model")
    found = description.get("format_version")
    if not isinstance(found, int) or not 1 <= found <= FORMAT_VERSION:
        raise ModelError(
            f"{file} has format version {found!r}; this labelwood reads up to "
            f"{FORMAT_VERSION}: upgrade it"
        )
    if not isinstance(description.get("manifest"), dict):
        raise ModelError(f"{file} has no manifest")
    return description


def _content_hash(content: object) -> str:
    canonical = json.dumps(content, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _manifest(model: BaseEstimator, arrays: str, content: str) -> dict[str, Any]:
    packages = ("labelwood", "numpy", "scipy", "scikit-learn", "numba")
    seed = model.get_params().get("random_state")
    if seed is None:
        seed = model.get_params().get("estimator__random_state")
    return {
        "arrays_pieces_sha256": arrays,
        "model_sha256": content,
        "data_sha256": getattr(model, "data_hash_", None),
        "seed": seed if isinstance(seed, int) else None,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in packages},
        },
    }
