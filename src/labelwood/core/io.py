"""Files as bytes and lines: decompression, standard input, and errors that say where."""

import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, cast

from labelwood.errors import DataError

STANDARD_STREAM = "-"
_COMPRESSIONS = (".gz", ".xz")
_MAGIC = {b"\x1f\x8b": ".gz", b"\xfd7zXZ\x00": ".xz"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 20


class _Decompressor(Protocol):
    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    ".gz": lambda: zlib.decompressobj(wbits=zlib.MAX_WBITS | 16),
    ".xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
}


@dataclass(frozen=True)
class Source:
    """The decompressed bytes of a file, and what to call it in messages."""

    name: str
    data: bytearray
    unit: str = "line"

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines with their line ends, decoded."""
        start, number = 0, 0
        while start < len(self.data):
            end = self.data.find(b"\n", start) + 1 or len(self.data)
            number += 1
            yield number, self.decode(self.data[start:end], number)
            start = end

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
    """`path` without a final ``.gz`` or ``.xz``."""
    path = Path(path)
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSIONS else path


def file_name(path: str | Path) -> str:
    """What `path` is called in messages."""
    return "standard input" if str(path) == STANDARD_STREAM else str(path)


def read_source(path: str | Path) -> Source:
    """Read all of `path` (`-` is standard input), decompressed, without a byte order mark."""
    name = file_name(path)
    try:
        if str(path) == STANDARD_STREAM:
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
    except (OSError, ValueError) as error:
        raise DataError(f"{name} cannot be read: {error}") from None
    if data.startswith(_BYTE_ORDER_MARK):
        del data[: len(_BYTE_ORDER_MARK)]
    if not data or data.isspace():
        raise DataError(f"{name} is empty")
    return Source(name, data)


def _read(file: IO[bytes], suffix: str, name: str) -> bytearray:
    chunk = file.read(_CHUNK)
    for magic, compression in _MAGIC.items():
        if chunk.startswith(magic):
            suffix = compression
    if suffix in _COMPRESSIONS and chunk:
        return _decompress(file, chunk, suffix, name)
    data = bytearray(chunk)
    while chunk := file.read(_CHUNK):
        data += chunk
    return data


def _decompress(file: IO[bytes], chunk: bytes, suffix: str, name: str) -> bytearray:
    """All members of a compressed file; bytes after the last one are an error, zeros are not."""
    data = bytearray()
    member = _DECOMPRESSORS[suffix]()
    kind = suffix[1:]
    try:
        while chunk:
            if member.eof:
                chunk = chunk.lstrip(b"\0")
                if not chunk:
                    chunk = file.read(_CHUNK)
                    continue
                member = _DECOMPRESSORS[suffix]()
            data += member.decompress(chunk)
            chunk = member.unused_data or file.read(_CHUNK)
    except (zlib.error, lzma.LZMAError) as error:
        raise DataError(
            f"{name} is not valid {kind} data ({error}); it is damaged or wrongly named"
        ) from None
    if not member.eof:
        raise DataError(f"{name} is cut short: the {kind} data ends too early; fetch it again")
    return data


@contextmanager
def writing(path: str | Path) -> Iterator[IO[bytes]]:
    """Write to a temporary sibling that takes the place of `path` when all went well.

    The suffixes ``.gz`` and ``.xz`` compress; ``-`` is standard output.
    """
    if str(path) == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        with open(temporary, "xb") as file, _compressed(file, path.suffix.lower()) as stream:
            yield stream
        os.replace(temporary, path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _compressed(file: IO[bytes], suffix: str) -> Iterator[IO[bytes]]:
    if suffix == ".gz":
        # Without a name and a time in it the file depends on its content alone.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield cast(IO[bytes], stream)
    elif suffix == ".xz":
        with lzma.LZMAFile(file, "wb") as stream:
            yield stream
    else:
        yield file
