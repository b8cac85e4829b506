"""Files as bytes and lines: decompression, standard input, and errors that say where.

A compressed file may hold up to `MAX_DECOMPRESSED` bytes, and beyond the first GiB at most 500
times its own size, so that a small file cannot fill the memory. The environment variable
`LABELWOOD_MAX_DECOMPRESSED` (bytes) replaces both limits.
"""

import bz2
import gzip
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, cast

from labelwood.core.memory import available_memory
from labelwood.errors import DataError, MissingExtraError

STANDARD_STREAM = "-"
COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
    **{b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)},
}
_APPEND = os.O_WRONLY | os.O_APPEND
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 20
_SMALL_PIECE, _LARGE_PIECE = 1 << 12, 1 << 16
_ZSTD_PIECE = 1 << 10  # zstandard makes 128 KiB of 4 bytes, and gives all of a piece at once
_LARGEST_PART = 1 << 24

MAX_DECOMPRESSED = 2**36
LIMIT_VARIABLE = "LABELWOOD_MAX_DECOMPRESSED"
_MAX_RATIO = 500  # gzip cannot exceed 1,032; texts stay below 100
_UNLIMITED_RATIO_BELOW = 2**30
_XZ_MEMORY = 2**30  # for the dictionary, of which xz -9 needs 2**26
_MEMORY_CHECK_INTERVAL = 2**28  # bytes read between two looks at the free memory


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("Reading and writing .zst", "zst") from None
    return zstandard


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    ".gz": lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16),
    ".xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY),
    ".bz2": bz2.BZ2Decompressor,
    ".zst": lambda: _zstandard().ZstdDecompressor(max_window_size=_XZ_MEMORY).decompressobj(),
}


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of a file, and what to call it in messages."""

    name: str
    data: bytearray
    unit: str = "line"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but blanks."""
        return not self.data or self.data.isspace()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines with their line ends, decoded."""
        start, number = 0, 0
        while start < len(self.data):
            end = self.data.find(b"\n", start) + 1 or len(self.data)
            number += 1
            yield number, self.decode(self.data[start:end], number)
            start = end

    def head(self) -> str:
        """The first line, for messages."""
        line = self.data[: self.data.find(b"\n") + 1 or len(self.data)].rstrip(b"\r\n")
        return line.decode("utf-8", errors="backslashreplace")

    def end_last_line(self) -> None:
        """Give the last line its line feed, for a parser that stops at nothing else."""
        if not self.data.endswith(b"\n"):
            self.data.append(ord("\n"))

    def line_at(self, offset: int) -> int:
        """The number of the line that holds the byte at `offset`."""
        return self.data.count(b"\n", 0, offset) + 1

    def error(self, line: int | None, message: str) -> DataError:
        """A `DataError` that names the file and the line."""
        where = "" if line is None else f", {self.unit} {line}"
        return DataError(f"{self.name}{where}: {message}")

    def decode(self, raw: bytearray, line: int) -> str:
        """The text of bytes that stand on `line`."""
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.error(
                line,
                f"byte 0x{raw[error.start]:02x} at position {error.start + 1} is not UTF-8; "
                "save the file as UTF-8",
            ) from None
        if "\0" in text:
            raise self.error(line, "found a NUL byte where text is expected")
        return text


def reason(error: Exception) -> str:
    """The first line of what a library says went wrong.

    Examples
    --------
    >>> reason(ValueError("no magic\\nsee the manual")), reason(EOFError())
    ('no magic', 'EOFError')
    """
    return next(iter(str(error).splitlines()), type(error).__name__)


def without_compression(path: str | Path) -> Path:
    """`path` without a final ``.gz``, ``.xz``, ``.bz2`` or ``.zst``."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path


def file_name(path: str | Path) -> str:
    """What `path` is called in messages."""
    return "standard input" if str(path) == STANDARD_STREAM else str(path)


def read_source(path: str | Path, *, may_be_empty: bool = False) -> Source:
    """Read all of `path` (`-` is standard input), decompressed, without a byte order mark."""
    name = file_name(path)
    try:
        if str(path) == STANDARD_STREAM:
            if sys.stdin is None:
                raise DataError("standard input is closed; give a file")
            data = _read(sys.stdin.buffer, "", name)
        else:
            with open(path, "rb") as file:
                data = _read(file, Path(path).suffix.lower(), name)
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{name}: there is no such file") from None
    except IsADirectoryError:
        raise DataError(f"{name} is a directory; name a file in it") from None
    except MemoryError:
        raise _does_not_fit(name) from None
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from None
    if data.startswith(_BYTE_ORDER_MARK):
        del data[: len(_BYTE_ORDER_MARK)]
    source = Source(name, data)
    if source.is_empty and not may_be_empty:
        raise DataError(f"{name} is empty")
    return source


def _read(file: IO[bytes], suffix: str, name: str) -> bytearray:
    chunk = file.read(_CHUNK)
    for magic, compression in _MAGIC.items():
        if chunk.startswith(magic):
            suffix = compression
    if suffix in COMPRESSIONS and chunk:
        return _decompress(file, chunk, suffix, name)
    data = bytearray(chunk)
    while chunk := file.read(_CHUNK):
        _check_memory(len(data), len(chunk), name)
        data += chunk
    return data


def _decompress(file: IO[bytes], chunk: bytes, suffix: str, name: str) -> bytearray:
    """All members of a compressed file; bytes after the last one are an error, zeros are not."""
    data = bytearray()
    member = _DECOMPRESSORS[suffix]()
    kind = suffix[1:]
    n_read = 0
    largest_piece = _ZSTD_PIECE if suffix == ".zst" else _LARGE_PIECE
    piece_size = largest_piece
    try:
        while chunk:
            n_read += len(chunk)
            at = 0
            while at < len(chunk):
                if member.eof:
                    if chunk[at] == 0:  # padding between and after members
                        at += 1
                        continue
                    member = _DECOMPRESSORS[suffix]()
                    # What follows a member is copied by the decompressor, so a file of many
                    # small members is fed in small pieces.
                    piece_size = min(_SMALL_PIECE, largest_piece)
                piece = chunk[at : at + piece_size]
                for found in _decompressed(member, piece):
                    _check_memory(len(data), len(found), name)
                    data += found
                    check_decompressed(len(data), n_read, name)
                at += len(piece) - len(member.unused_data)
                piece_size = min(2 * piece_size, largest_piece)
            chunk = file.read(_CHUNK)
    except DataError:
        raise
    except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file cannot be read; what bz2 finds wrong in it has no number
        raise _not_decompressed(error, name, kind) from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of a module that may not be there to name it
            raise
        raise _not_decompressed(error, name, kind) from None
    if not member.eof:
        raise DataError(f"{name} is cut short: the {kind} data ends too early; fetch it again")
    return data


def _decompressed(member: Any, piece: bytes) -> Iterator[bytes]:
    """What a piece holds, in parts that are checked one by one.

    bz2 makes 45 MB of 40 bytes, and xz 7 MB of 1,000, so their output is asked for in parts. The
    pieces of the other formats are so small that their output is bounded.
    """
    if not hasattr(member, "needs_input"):
        yield member.decompress(piece)
        return
    yield member.decompress(piece, _LARGEST_PART)
    while not (member.eof or member.needs_input):
        yield member.decompress(b"", _LARGEST_PART)


def _not_decompressed(error: Exception, name: str, kind: str) -> DataError:
    if "limit" in str(error).lower():
        return DataError(
            f"{name} needs over {_XZ_MEMORY >> 20:,} MB to decompress; compress it with a "
            "smaller dictionary, as xz -9 has"
        )
    return DataError(f"{name} is not valid {kind} data ({error}); it is damaged or wrongly named")


def check_decompressed(n_bytes: int, n_compressed: int, name: str) -> None:
    """Refuse a compressed file that grows beyond the limits."""
    given = os.environ.get(LIMIT_VARIABLE, "")
    if given.isascii() and given.isdigit():
        too_large = n_bytes > int(given)
    else:
        ratio_counts = n_bytes > _UNLIMITED_RATIO_BELOW
        too_large = n_bytes > (
            min(MAX_DECOMPRESSED, _MAX_RATIO * n_compressed) if ratio_counts else MAX_DECOMPRESSED
        )
    if too_large:
        raise DataError(
            f"{name} decompresses to over {n_bytes >> 20:,} MB, {n_bytes // max(n_compressed, 1)} "
            f"times its own size; if that is right, set {LIMIT_VARIABLE} to more bytes"
        )


def _check_memory(n_bytes: int, more: int, name: str) -> None:
    """Refuse to go on when the memory is about to be used up, seldom enough to cost nothing."""
    if (n_bytes + more) // _MEMORY_CHECK_INTERVAL == n_bytes // _MEMORY_CHECK_INTERVAL:
        return
    # A bytearray that grows may be copied, so as much again must be free.
    if available_memory() < n_bytes // 4 + 2 * _MEMORY_CHECK_INTERVAL:
        raise _does_not_fit(name)


def _does_not_fit(name: str) -> DataError:
    free = available_memory() / 2**30
    return DataError(f"{name} does not fit in memory ({free:.1f} GB are free); split it")


@contextmanager
def writing(path: str | Path) -> Iterator[IO[bytes]]:
    """Write to a temporary sibling that takes the place of `path` when all went well.

    The suffixes ``.gz``, ``.xz``, ``.bz2`` and ``.zst`` compress; ``-`` is standard output.
    Symbolic links are followed. What is not a regular file (a device, a pipe) is written to and
    stays what it is.
    """
    if str(path) == STANDARD_STREAM:
        if sys.stdout is None:
            raise DataError("standard output is closed; give a file to write to")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    try:
        with _opened(path) as file, _compressed(file, path.suffix.lower()) as stream:
            yield stream
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        before: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        before = None
    if before is not None and _is_stream(path, before):
        # Appending, as "> file" behind /dev/stdout is shared with the shell; nothing is created.
        with open(path, "ab", opener=lambda name, _: os.open(name, _APPEND)) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{os.urandom(6).hex()}.labelwood.tmp")
    try:
        with open(temporary, "xb") as file:
            if before is not None:
                os.chmod(temporary, stat.S_IMODE(before.st_mode))
            yield file
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _is_stream(path: Path, status: os.stat_result) -> bool:
    """Whether `path` is no regular file, or names an open one (``/dev/stdout``, ``/dev/fd/3``)."""
    folder = os.path.realpath(path.parent)
    return not stat.S_ISREG(status.st_mode) or folder.startswith(("/dev", "/proc"))


@contextmanager
def _compressed(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        # Without a name and a time in it the file depends on its content alone.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    elif suffix == ".xz":
        with lzma.LZMAFile(file, "wb") as stream:
            yield stream
    elif suffix == ".bz2":
        with bz2.BZ2File(file, "wb") as stream:
            yield cast(IO[bytes], stream)
    elif suffix == ".zst":
        with _zstandard().ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield stream
    else:
        yield file
