"""The array file of a model, in the safetensors format: written in one pass, mapped when read.

The format is simple enough to be written here, which the library cannot do to an open file: the
descriptor is needed to sync the file, and to map the very bytes that were hashed.
"""

import hashlib
import json
import math
import mmap
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, TypeAlias

import numpy as np

from labelwood.core.types import AnyArray
from labelwood.errors import ModelError

_Buffer: TypeAlias = bytes | memoryview | mmap.mmap

PIECE = 2**23  # bytes hashed by one thread at a time
_MAX_HEADER = 10**8  # bytes, as in the safetensors library
_ALIGNMENT = 8
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
_NAMES = {np.dtype(kind): name for name, kind in _DTYPES.items()}


def write_arrays(file: IO[bytes], arrays: Mapping[str, AnyArray]) -> None:
    """Write `arrays` in the safetensors format, without a copy of them in memory."""
    # Wide items first: so each array starts at a multiple of its item size.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    header: dict[str, object] = {}
    end = 0
    for name in names:
        array = arrays[name]
        start, end = end, end + array.nbytes
        dtype = _NAMES[array.dtype.newbyteorder("=")]
        header[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for name in names:
        little_endian = arrays[name].astype(arrays[name].dtype.newbyteorder("<"), copy=False)
        file.write(np.ascontiguousarray(little_endian).reshape(-1).view(np.uint8).data)


def map_file(file: IO[bytes]) -> _Buffer:
    """The bytes of an open file, mapped copy-on-write: changes in memory never reach the file."""
    if os.fstat(file.fileno()).st_size == 0:
        return b""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def content_hash(content: _Buffer, piece: int = PIECE) -> str:
    """SHA-256 of `content` of one piece, else of the SHA-256s of its pieces.

    Nearly all the time of loading is spent here, so pieces are hashed on threads.
    """
    view = memoryview(content)
    pieces = [view[start : start + piece] for start in range(0, max(len(view), 1), piece)]
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as threads:
        hashes = list(threads.map(lambda part: hashlib.sha256(part).digest(), pieces))
    return (hashes[0] if len(hashes) == 1 else hashlib.sha256(b"".join(hashes)).digest()).hex()


def read_arrays(content: _Buffer, where: object) -> dict[str, AnyArray]:
    """The arrays of a file in the safetensors format, as views of its bytes."""
    view = memoryview(content)
    size = int.from_bytes(view[:8], "little")
    if len(view) < 8 or size > min(_MAX_HEADER, len(view) - 8):
        raise ModelError(f"{where} is not a valid array file: its header is cut short")
    try:
        header = json.loads(bytes(view[8 : 8 + size]))
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        _check_layout(entries, len(view) - 8 - size)
        return {name: _array(content, 8 + size, entry) for name, entry in entries.items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise ModelError(f"{where} is not a valid array file: {error}") from None


def _check_layout(entries: dict[str, Any], n_bytes: int) -> None:
    """Refuse arrays that do not fill the file, one after the other."""
    end = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1]["data_offsets"]):
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{name!r} holds numbers of the unknown type {entry['dtype']!r}")
        first, last = entry["data_offsets"]
        numbers = [first, last, *entry["shape"]]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError(f"{name!r} has offsets or a shape that are no whole numbers")
        n_items = math.prod(entry["shape"])
        if first != end or last - first != n_items * np.dtype(_DTYPES[entry["dtype"]]).itemsize:
            raise ValueError(f"the place of {name!r} does not fit its shape")
        end = last
    if end != n_bytes:
        raise ValueError(f"its arrays have {end} bytes and the file {n_bytes}")


def _array(content: _Buffer, start: int, entry: dict[str, Any]) -> AnyArray:
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]).newbyteorder("<"), tuple(entry["shape"])
    first, last = entry["data_offsets"]
    if first == last:
        return np.empty(shape, dtype=dtype)
    count = (last - first) // dtype.itemsize
    array = np.frombuffer(content, dtype=dtype, count=count, offset=start + first).reshape(shape)
    # Kernels are compiled for aligned arrays in native byte order.
    return np.require(array.astype(dtype.newbyteorder("="), copy=False), requirements="A")
