"""A directory that holds one model, which readers and writers see whole at every moment.

`model.json` names the file of its arrays, whose name is made from their hash. A save writes new
arrays beside the old ones, replaces `model.json` in one step, and then removes what the new one
does not name. So whoever is killed leaves the old model or the new one, and at most files that
the next save removes; and whoever reads has both files of one model, or finds that the arrays are
gone and reads again.
"""

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from labelwood.core.types import AnyArray
from labelwood.errors import ModelError
from labelwood.store.arrays import content_hash, map_file, read_arrays, write_arrays

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where two savers at once are not serialized
    fcntl = None  # type: ignore[assignment]

MODEL_FILE = "model.json"
FORMAT = "labelwood-model"
FORMAT_VERSION = 3
FORMAT_VERSION_UNPACKED = 2  # of models without packed weights, which older programs read
FIRST_ARRAY_FILE = "arrays.safetensors"  # the name in format 1
_ARRAY_FILE = re.compile(r"arrays(-[0-9a-f]{16})?\.safetensors")
_TEMPORARY = re.compile(r"\.labelwood-[0-9a-f]{12}\.tmp")
_MAX_JSON = 2**30  # bytes
_READ_ATTEMPTS = 100
_SPACE_FOR_JSON = 2**16  # bytes kept free for model.json beside the names in it


@contextmanager
def locked_directory(path: Path) -> Iterator[Path]:
    """The directory `path`, made if it is missing, for one saver at a time.

    What a killed save left in it is removed at the end, and so is a directory that was made here
    and got no model.
    """
    target = path.resolve()
    check_replaceable(target)
    created = not target.exists()
    try:
        with _lock(target):
            check_replaceable(target)  # another saver may have been here since
            try:
                yield target
            finally:
                _remove_leftovers(target)
                if created:
                    with suppress(OSError):  # it holds a model
                        target.rmdir()
    except OSError as error:
        raise _write_error(path, error) from None


def check_replaceable(target: Path) -> None:
    """Refuse what cannot be written to, and to replace anything but a model or nothing."""
    if target.exists() and not target.is_dir():
        raise ModelError(f"{target} is a file; give a directory for the model")
    above = target.absolute().parent
    if (above / MODEL_FILE).exists():
        raise ModelError(f"{above} is a model; give another directory than one inside it")
    if not target.exists():
        parent = next(parent for parent in target.absolute().parents if parent.exists())
        if not (parent.is_dir() and os.access(parent, os.W_OK)):
            raise ModelError(f"{target} cannot be made: {parent} is not a writable directory")
        return
    if not os.access(target, os.W_OK):
        raise ModelError(f"{target} cannot be replaced: it is not writable")
    names = sorted(path.name for path in target.iterdir())
    others = [name for name in names if name != MODEL_FILE and not _is_part(name)]
    if others:
        raise ModelError(
            f"{target} holds {others[0]!r}, which is no part of a model; it is not replaced"
        )
    if MODEL_FILE in names:
        description = _parse_json(read_file(target / MODEL_FILE), target / MODEL_FILE)
        if not isinstance(description, dict) or description.get("format") != FORMAT:
            raise ModelError(f"{target} holds something that is not a model; it is not replaced")


def require_space(target: Path, n_bytes: int) -> None:
    """Refuse to begin what does not fit on the disk of `target`."""
    place = next(one for one in (target.absolute(), *target.absolute().parents) if one.exists())
    free = shutil.disk_usage(place).free
    if n_bytes + _SPACE_FOR_JSON > free:
        raise ModelError(
            f"{target} needs about {_megabytes(n_bytes)} and {_megabytes(free)} are free there; "
            "make space, or save to another disk"
        )


def store_arrays(directory: Path, arrays: dict[str, AnyArray]) -> tuple[str, str]:
    """Write an array file of its own beside what is there; its name and its hash."""
    temporary = _temporary(directory)
    try:
        with open(temporary, "xb+") as file:
            write_arrays(file, arrays)
            _sync(file)
            digest = content_hash(map_file(file))
        name = f"arrays-{digest[:16]}.safetensors"
        os.replace(temporary, directory / name)
    finally:
        temporary.unlink(missing_ok=True)
    return name, digest


def replace_description(directory: Path, content: object) -> None:
    """Replace `model.json` in one step; with it the directory holds the new model."""
    temporary = _temporary(directory)
    try:
        with open(temporary, "x", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, allow_nan=False, indent=1)
            file.write("\n")
            _sync(file)
        _sync_directory(directory)  # the arrays must not reach the disk after what names them
        os.replace(temporary, directory / MODEL_FILE)
        _sync_directory(directory)
    finally:
        temporary.unlink(missing_ok=True)


def read_model(directory: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """The description of a model and its arrays, which are memory-mapped.

    The arrays can be changed in memory, the file never is.
    """
    for attempt in range(_READ_ATTEMPTS):
        raw = read_file(directory / MODEL_FILE)
        description = checked_description(raw, directory / MODEL_FILE)
        try:
            return description, _read_arrays(directory, description["manifest"])
        except ModelError:
            if read_file(directory / MODEL_FILE) == raw:
                raise
            time.sleep(0.001 * attempt)  # a save has taken place since: read the new model
    raise ModelError(f"{directory} is replaced faster than it can be read; load it again later")


def checked_description(raw: bytes, file: Path) -> dict[str, Any]:
    """The content of `model.json`, with its format and a manifest."""
    description = _parse_json(raw, file)
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


def _read_arrays(directory: Path, manifest: dict[str, Any]) -> dict[str, AnyArray]:
    name = manifest.get("arrays_file", FIRST_ARRAY_FILE)
    if not isinstance(name, str) or not _ARRAY_FILE.fullmatch(name):
        raise ModelError(f"{directory / MODEL_FILE} names no array file of a model: {name!r}")
    path = directory / name
    try:
        with open(path, "rb") as file:
            content = map_file(file)
    except FileNotFoundError:
        raise ModelError(f"{path} is missing") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from None
    if "arrays_sha256" in manifest:  # of the whole file, as in the first models of format 1
        matches = content_hash(content, max(len(content), 1)) == manifest["arrays_sha256"]
    else:
        matches = content_hash(content) == manifest.get("arrays_pieces_sha256")
    if not matches:
        raise ModelError(f"{path} is damaged: its content is not what {MODEL_FILE} says")
    return read_arrays(content, path)


def read_file(path: Path) -> bytes:
    """The content of `model.json`, read through one descriptor."""
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_JSON + 1)
    except NotADirectoryError:
        raise ModelError(
            f"{path.parent} is a file, and a model is a directory; name that of a saved model"
        ) from None
    except FileNotFoundError:
        if path.parent.is_dir():
            raise ModelError(f"{path.parent} is not a model: it has no {path.name}") from None
        raise ModelError(
            f"{path.parent}: there is no such directory; name that of a saved model"
        ) from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > _MAX_JSON:
        raise ModelError(f"{path} is larger than any model description")
    return content


def _parse_json(raw: bytes, path: Path) -> Any:
    """The content of a JSON file; ModelError when it is none."""
    try:
        return json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} is damaged: {error}") from None


def directory_size(directory: Path) -> int:
    """Bytes of the files of a model."""
    return sum(file.stat().st_size for file in directory.iterdir())


def _is_part(name: str) -> bool:
    return bool(_ARRAY_FILE.fullmatch(name) or _TEMPORARY.fullmatch(name))


def _remove_leftovers(directory: Path) -> None:
    """Remove arrays and temporary files that `model.json` does not name."""
    used: object = None
    if (directory / MODEL_FILE).exists():
        try:
            description = _parse_json(read_file(directory / MODEL_FILE), directory / MODEL_FILE)
            used = description["manifest"].get("arrays_file", FIRST_ARRAY_FILE)
        except (ModelError, AttributeError, KeyError, TypeError):
            return  # what it names cannot be known
    for path in directory.iterdir():
        if _is_part(path.name) and path.name != used:
            path.unlink(missing_ok=True)


@contextmanager
def _lock(directory: Path) -> Iterator[None]:
    """Hold the lock of the directory, which the system releases even for a killed process."""
    while True:
        directory.mkdir(parents=True, exist_ok=True)
        if fcntl is None:  # pragma: no cover
            yield
            return
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            # It may have been removed, and made again, while this waited for the lock.
            if directory.exists() and os.path.samestat(os.fstat(descriptor), directory.stat()):
                yield
                return
        finally:
            os.close(descriptor)


def _temporary(directory: Path) -> Path:
    return directory / f".labelwood-{secrets.token_hex(6)}.tmp"


def _sync(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    with suppress(OSError):  # not every file system can sync a directory
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_error(path: Path, error: OSError) -> ModelError:
    remedy = "; make space, or save to another disk"
    full = error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG)
    what = error.strerror or str(error) or type(error).__name__
    return ModelError(f"{path} cannot be written: {what}{remedy if full else ''}")


def _megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 2**20:,.1f} MB"
