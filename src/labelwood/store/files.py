"""Model directories: written beside and renamed, read memory-mapped and checked."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from labelwood.errors import ModelError

MODEL_FILE = "model.json"
ARRAY_FILE = "arrays.safetensors"
FORMAT = "labelwood-model"
_MOST_JSON = 2**30
PIECE = 2**23  # bytes hashed by one thread at a time
_READ = 2**18
_DTYPES = {
    "BOOL": np.bool_,
    "U8": np.uint8,
    "I8": np.int8,
    "U16": np.uint16,
    "I16": np.int16,
    "U32": np.uint32,
    "I32": np.int32,
    "U64": np.uint64,
    "I64": np.int64,
    "F32": np.float32,
    "F64": np.float64,
}


@contextmanager
def replaced_directory(target: Path) -> Iterator[Path]:
    """A new directory beside `target` that takes its place when the block ends well.

    An interruption leaves `target` as it was. A directory that is there is replaced
    only when it is a model.
    """
    target = target.resolve()
    check_replaceable(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = _new_sibling(target)
    try:
        yield fresh
        _swap(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def check_replaceable(target: Path) -> None:
    """Refuse what cannot be written to, and to replace anything but a model or nothing."""
    if not target.exists():
        parent = next(parent for parent in target.absolute().parents if parent.exists())
        if not (parent.is_dir() and os.access(parent, os.W_OK)):
            raise ModelError(f"{target} cannot be made: {parent} is not a writable directory")
        return
    if not target.is_dir():
        raise ModelError(f"{target} is a file; give a directory for the model")
    others = sorted({path.name for path in target.iterdir()} - {MODEL_FILE, ARRAY_FILE})
    if others:
        raise ModelError(
            f"{target} holds {others[0]!r}, which is no part of a model; it is not replaced"
        )
    if any(target.iterdir()):
        description = read_json(target / MODEL_FILE)
        if not isinstance(description, dict) or description.get("format") != FORMAT:
            raise ModelError(f"{target} holds something that is not a model; it is not replaced")


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """Write the arrays; the answer is the file's hash."""
    save_file({name: arrays[name] for name in sorted(arrays)}, path)
    return file_hash(path)


def read_arrays(path: Path, expected_hash: object, piece: int = PIECE) -> dict[str, np.ndarray]:
    """Memory-mapped arrays of a file whose hash is as expected.

    The maps are copy-on-write: the arrays can be changed in memory, the file never is.
    """
    if not path.is_file():
        raise ModelError(f"{path} is missing")
    if file_hash(path, piece) != expected_hash:
        raise ModelError(f"{path} is damaged: its content is not what {MODEL_FILE} says")
    try:
        with safe_open(path, framework="numpy"):
            pass  # checks the header: offsets, shapes and sizes agree with the file
    except SafetensorError as error:
        raise ModelError(f"{path} is not a valid array file: {error}") from None
    with path.open("rb") as file:
        header_size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(header_size))
    return {
        name: _map_array(path, 8 + header_size, entry)
        for name, entry in header.items()
        if name != "__metadata__"
    }


def _map_array(path: Path, start: int, entry: dict[str, Any]) -> np.ndarray:
    if entry["dtype"] not in _DTYPES:
        raise ModelError(f"{path} holds numbers of the unknown kind {entry['dtype']}")
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    first, end = entry["data_offsets"]
    if first == end:
        return np.empty(shape, dtype=dtype)
    mapped = np.memmap(path, dtype=dtype, mode="c", offset=start + first, shape=shape)
    return np.asarray(mapped)


def write_json(path: Path, content: object) -> None:
    """Write `content`, readable by people and on disk when this returns."""
    with path.open("w", encoding="utf-8") as file:
        json.dump(content, file, ensure_ascii=False, allow_nan=False, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def read_json(path: Path) -> Any:
    """The content of a JSON file; ModelError when it is none."""
    try:
        if path.stat().st_size > _MOST_JSON:
            raise ModelError(f"{path} is larger than any model description")
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ModelError(f"{path.parent} is not a model: it has no {path.name}") from None
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None


def file_hash(path: Path, piece: int = PIECE) -> str:
    """SHA-256 of a file of one piece, else of the SHA-256s of its pieces.

    Nearly all the time of loading is spent here, so pieces are hashed on threads.
    """
    starts = range(0, max(path.stat().st_size, 1), piece)
    with ThreadPoolExecutor(min(len(starts), os.cpu_count() or 1)) as threads:
        hashes = list(threads.map(lambda start: _piece_hash(path, start, piece), starts))
    return (hashes[0] if len(hashes) == 1 else hashlib.sha256(b"".join(hashes)).digest()).hex()


def _piece_hash(path: Path, start: int, left: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while left > 0 and (some := file.read(min(_READ, left))):
            digest.update(some)
            left -= len(some)
    return digest.digest()


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    aside = _new_sibling(target)
    old = target.rename(aside / target.name)
    try:
        fresh.rename(target)
    except BaseException:
        old.rename(target)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _new_sibling(target: Path) -> Path:
    """A new, empty, hidden directory beside `target`, with the usual permissions."""
    sibling = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    sibling.mkdir()
    return sibling
