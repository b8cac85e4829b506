"""NumPy archives: the CSR arrays of X and Y, and names, in one ``.npz`` file."""

import io
import sys
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from typing import IO, Any, cast

import numpy as np
import scipy.sparse as sp

from labelwood.core.io import Source, check_decompressed, reason
from labelwood.core.labels import indicator
from labelwood.core.sparse import as_csr
from labelwood.core.types import CSR, AnyArray
from labelwood.data.dataset import Dataset
from labelwood.data.readers.columns import MAX_COLUMNS, check_label_space
from labelwood.data.readers.options import ReadOptions
from labelwood.errors import DataError

_TEXTS = ("label_names", "feature_names", "ids", "texts")


def read(source: Source, options: ReadOptions) -> Dataset:
    """Read an archive as `write` makes it; nothing in it is executed."""
    arrays = _arrays(source)
    try:
        labels, features = options.labels, options.features
        return Dataset(
            X=as_csr(_matrix(arrays, "X")) if any(key.startswith("X_") for key in arrays) else None,
            Y=_labels(source, arrays),
            label_names=labels.names if labels else _strings(arrays, "label_names"),
            feature_names=features.names if features else _strings(arrays, "feature_names"),
            ids=_strings(arrays, "ids"),
            texts=_strings(arrays, "texts"),
        )
    except DataError as error:
        raise source.error(None, str(error)) from None


def _labels(source: Source, arrays: dict[str, AnyArray]) -> CSR:
    matrix = _matrix(arrays, "Y", default=1)
    check_label_space(source, None, matrix.shape[1], matrix.nnz)
    return indicator(matrix)


def _arrays(source: Source) -> dict[str, AnyArray]:
    if not source.data.startswith(b"PK"):
        raise source.error(None, "not a valid .npz archive (it is no zip file)")
    try:
        _check_sizes(source)
        with np.load(io.BytesIO(source.data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except DataError:
        raise
    except Exception as error:  # zipfile and NumPy raise a dozen kinds for damaged archives
        raise source.error(None, f"not a valid .npz archive ({reason(error)})") from None


def _check_sizes(source: Source) -> None:
    """Refuse an archive that decompresses to far more than its own size."""
    with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
        claimed = sum(member.file_size for member in archive.infolist())
    check_decompressed(claimed, len(source.data), source.name)


def _matrix(arrays: dict[str, AnyArray], name: str, default: float | None = None) -> CSR:
    """The matrix `name`; its data may be missing when there is a default."""
    parts = [f"{name}_{part}" for part in ("indptr", "indices", "shape", "data")]
    if default is not None and parts[1] in arrays:
        ones = np.full(arrays[parts[1]].shape, default, dtype=np.float32)
        arrays = {parts[3]: ones, **arrays}
    absent = [part for part in parts if part not in arrays]
    if absent:
        found = ", ".join(sorted(arrays)) or "none"
        raise DataError(
            f"found the arrays {found}, but no {', '.join(absent)}; save_dataset writes such files"
        )
    indptr, indices, shape, data = (arrays[part] for part in parts)
    vectors = all(array.dtype.kind in "iu" and array.ndim == 1 for array in (indptr, indices))
    if not vectors or shape.dtype.kind not in "iu" or shape.shape != (2,):
        raise DataError(f"{', '.join(parts[:3])} must be vectors of whole numbers, the last of two")
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise DataError(f"{parts[3]} must be a vector of numbers")
    if int(shape[1]) > MAX_COLUMNS:
        raise DataError(f"{name} is said to have {int(shape[1]):,} columns, over {MAX_COLUMNS:,}")
    try:
        return sp.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"{name} is not a valid CSR matrix ({error})") from None


def _strings(arrays: dict[str, AnyArray], name: str) -> Sequence[str] | None:
    """The texts `name`: one array of text, or UTF-8 bytes with the pointers of their ends."""
    if name not in arrays:
        return None
    array, pointers = arrays[name], arrays.get(f"{name}_indptr")
    if array.ndim == 1 and array.dtype.kind == "U":
        number = np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        codes = np.frombuffer(array.tobytes(), dtype=number)
        # 32 bits a character can hold more than Unicode has, on which NumPy gives a SystemError.
        if codes.size and codes.max() > sys.maxunicode:
            raise DataError(f"{name} holds characters that do not exist")
        return [str(text) for text in array]
    bytes_with_ends = (
        array.dtype == np.uint8
        and array.ndim == 1
        and pointers is not None
        and pointers.dtype.kind in "iu"
        and pointers.ndim == 1
    )
    if not bytes_with_ends or pointers is None:
        raise DataError(f"{name} must be an array of text, or UTF-8 bytes with {name}_indptr")
    ends = [0, *pointers[1:].tolist()]
    if ends != sorted(ends) or ends[-1] != array.size:
        raise DataError(f"{name}_indptr does not fit the {array.size} bytes of {name}")
    raw = array.tobytes()
    try:
        return [raw[start:end].decode("utf-8") for start, end in pairwise(ends)]
    except UnicodeDecodeError:
        raise DataError(f"{name} holds bytes that are not UTF-8") from None


def write(dataset: Dataset, file: IO[bytes]) -> None:
    """Write all but the taxonomy and the description."""
    arrays: dict[str, AnyArray] = {}
    if dataset.X is not None:
        arrays |= _parts("X", dataset.X) | {"X_data": dataset.X.data}
    arrays |= _parts("Y", dataset.Y)
    for name in _TEXTS:
        texts: Sequence[str] | None = getattr(dataset, name)
        if texts is not None:
            # Not an array of text: NumPy would pad every text to the longest.
            encoded = [text.encode("utf-8") for text in texts]
            arrays[name] = np.frombuffer(b"".join(encoded), dtype=np.uint8)
            arrays[f"{name}_indptr"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    # Not straight to the file: an archive is written back and forth, a compressed file is not.
    archive = io.BytesIO()
    np.savez(archive, **cast(Any, arrays))
    file.write(archive.getbuffer())


def _parts(name: str, matrix: CSR) -> dict[str, AnyArray]:
    shape = np.array(matrix.shape, dtype=np.int64)
    return {
        f"{name}_indptr": matrix.indptr,
        f"{name}_indices": matrix.indices,
        f"{name}_shape": shape,
    }
