"""Files as bytes and lines."""

import gzip
import io
import lzma
import os

import pytest

from labelwood.core.io import Source, read_source, writing
from labelwood.errors import DataError

TEXT = b"first line\nsecond line\n" * 50
COMPRESS = {".gz": gzip.compress, ".xz": lzma.compress}


class StandardInput:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_are_decompressed_by_suffix(write, suffix):
    path = write(f"a.txt{suffix}", COMPRESS[suffix](TEXT))
    assert read_source(path).data == TEXT


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_standard_input_is_known_by_its_first_bytes(monkeypatch, suffix):
    monkeypatch.setattr("sys.stdin", StandardInput(COMPRESS[suffix](TEXT)))
    source = read_source("-")
    assert (source.name, source.data) == ("standard input", TEXT)


def test_plain_standard_input_is_read_as_it_is(monkeypatch):
    monkeypatch.setattr("sys.stdin", StandardInput(TEXT))
    assert read_source("-").data == TEXT


@pytest.mark.parametrize("suffix", COMPRESS)
def test_members_after_the_first_are_read_too(write, suffix):
    path = write(f"a{suffix}", COMPRESS[suffix](b"one\n") + COMPRESS[suffix](b"two\n"))
    assert read_source(path).data == b"one\ntwo\n"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_zeros_after_the_last_member_are_padding(write, suffix):
    path = write(f"a{suffix}", COMPRESS[suffix](TEXT) + b"\0" * 8)
    assert read_source(path).data == TEXT


@pytest.mark.parametrize("suffix", COMPRESS)
def test_other_bytes_after_the_last_member_are_an_error(write, suffix):
    path = write(f"a{suffix}", COMPRESS[suffix](TEXT) + b"more")
    with pytest.raises(DataError, match=rf"a\{suffix} is (not valid|cut short)"):
        read_source(path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_data_cut_anywhere_are_an_error(write, suffix):
    whole = COMPRESS[suffix](TEXT)
    for size in range(1, len(whole)):
        path = write(f"a{suffix}", whole[:size])
        with pytest.raises(DataError, match=rf"a\{suffix} is cut short: .* fetch it again"):
            read_source(path)


@pytest.mark.parametrize("suffix", COMPRESS)
def test_text_named_as_compressed_is_an_error(write, suffix):
    with pytest.raises(DataError, match=f"is not valid {suffix[1:]} data .* wrongly named"):
        read_source(write(f"a{suffix}", TEXT))


def test_damaged_bytes_inside_gzip_are_an_error(write):
    damaged = bytearray(gzip.compress(os.urandom(500)))
    damaged[300] ^= 0xFF
    with pytest.raises(DataError, match=r"is (not valid gz data|cut short)"):
        read_source(write("a.gz", bytes(damaged)))


@pytest.mark.parametrize(
    "content", [b"", b"\n \r\n\t\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)]
)
def test_a_file_without_content_is_an_error(write, content):
    with pytest.raises(DataError, match=r"a\.txt is empty"):
        read_source(write("a.txt", content))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt: there is no such file"):
        read_source(tmp_path / "none.txt")


def test_a_directory_is_an_error(tmp_path):
    with pytest.raises(DataError, match="is a directory; name a file in it"):
        read_source(tmp_path)


def test_a_name_that_cannot_be_opened_is_an_error():
    with pytest.raises(DataError, match="cannot be read: embedded null byte"):
        read_source("a\0b")


def test_a_byte_order_mark_is_dropped(write):
    assert read_source(write("a.txt", b"\xef\xbb\xbfabc")).data == b"abc"


def test_lines_are_numbered_and_keep_their_ends():
    source = Source("a", bytearray("é\r\n\nlast".encode()))
    assert list(source.lines()) == [(1, "é\r\n"), (2, "\n"), (3, "last")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"fine\nb\xe9d\n", r"a, line 2: byte 0xe9 at position 2 is not UTF-8; save the file as"),
        ("text".encode("utf-16"), r"a, line 1: byte 0xff at position 1 is not UTF-8"),
        (b"fine\nfine\nb\0d\n", r"a, line 3: found a NUL byte where text is expected"),
    ],
)
def test_bytes_that_are_no_text_are_an_error(content, message):
    with pytest.raises(DataError, match=message):
        list(Source("a", bytearray(content)).lines())


@pytest.mark.parametrize("suffix", ["", *COMPRESS])
def test_what_is_written_is_read_back(tmp_path, suffix):
    path = tmp_path / f"a.txt{suffix}"
    with writing(path) as file:
        file.write(TEXT)
    assert read_source(path).data == TEXT
    assert path.read_bytes().startswith(
        {"": b"first", ".gz": b"\x1f\x8b", ".xz": b"\xfd7z"}[suffix]
    )


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half() -> None:
        with writing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"


def test_a_place_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be written"), writing(tmp_path / "no" / "a.txt"):
        pass
