"""Files as bytes and lines."""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import threading
import time
import zlib

import pytest
import zstandard

from labelwood.core import io as files
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


def test_many_small_members_take_time_in_proportion(write):
    path = write("a.gz", gzip.compress(b"x\n", mtime=0) * 30_000)
    start = time.process_time()
    assert read_source(path).data == b"x\n" * 30_000
    assert time.process_time() - start < 5  # copying all that follows each member took minutes


def test_a_bomb_is_refused_before_it_fills_the_memory(write, monkeypatch):
    monkeypatch.setattr(files, "_UNLIMITED_RATIO_BELOW", 2**20)
    bomb = gzip.compress(b"\0" * 2**23)
    with pytest.raises(DataError, match=r"decompresses to over .* set LABELWOOD_MAX_DECOMPRESSED"):
        read_source(write("a.gz", bomb))
    monkeypatch.setenv("LABELWOOD_MAX_DECOMPRESSED", str(2**24))
    assert len(read_source(write("a.gz", bomb)).data) == 2**23
    monkeypatch.setenv("LABELWOOD_MAX_DECOMPRESSED", "1000")
    with pytest.raises(DataError, match="decompresses to over"):
        read_source(write("a.gz", bomb))


@pytest.mark.parametrize(
    ("compress", "n_megabytes"),
    [
        (lambda data: gzip.compress(data, 1), 128),
        (lambda data: lzma.compress(data, preset=0), 64),
        (bz2.compress, 64),
        (zstandard.compress, 64),
    ],
    ids=["gz", "xz", "bz2", "zst"],
)
def test_a_bomb_is_refused_before_all_of_it_is_decompressed(
    write, monkeypatch, compress, n_megabytes
):
    monkeypatch.setenv("LABELWOOD_MAX_DECOMPRESSED", str(2**20))
    path = write("a.bomb", compress(bytes(n_megabytes * 2**20)))
    with pytest.raises(DataError, match=r"decompresses to over \d+ MB") as error:
        read_source(path)
    assert int(re.search(r"over (\d+) MB", str(error.value))[1]) < n_megabytes


def test_a_dictionary_of_gigabytes_is_refused(write):
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**20}]
    content = bytearray(lzma.compress(TEXT, filters=filters))
    header = content.index(b"\x21\x01", 12)  # the filter, the size of its properties, the size
    content[header + 2] = 40  # 4 GiB
    block = content[12 : 12 + 4 * (content[12] + 1) - 4]
    content[12 + len(block) : 16 + len(block)] = zlib.crc32(block).to_bytes(4, "little")
    with pytest.raises(DataError, match="needs over 1,024 MB to decompress"):
        read_source(write("a.xz", bytes(content)))


def test_what_does_not_fit_in_memory_is_refused(write, monkeypatch):
    monkeypatch.setattr(files, "_MEMORY_CHECK_INTERVAL", 2**10)
    monkeypatch.setattr(files, "available_memory", lambda: 10)
    for path in (write("a.txt", b"x" * 2**21), write("a.gz", gzip.compress(b"x" * 2**21))):
        with pytest.raises(DataError, match=r"does not fit in memory \(0\.0 GB are free\)"):
            read_source(path)


def test_closed_streams_are_errors(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        read_source("-")
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(DataError, match="standard output is closed"), writing("-"):
        pass


def test_links_are_followed_and_stay_links(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "dangling").symlink_to("new")
    for name in ("link", "dangling"):
        with writing(tmp_path / name) as file:
            file.write(b"text")
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / name).read_text() == "text"


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    (tmp_path / "secret").write_text("old")
    (tmp_path / "secret").chmod(0o600)
    with writing(tmp_path / "secret") as file:
        file.write(b"text")
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    with writing(tmp_path / "pipe") as file:
        file.write(b"text")
    reader.join()
    assert found == [b"text"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_a_device_is_written_to_and_stays_a_device():
    before = os.stat(os.devnull)
    with writing(os.devnull) as file:
        file.write(b"text")
    after = os.stat(os.devnull)
    assert stat.S_ISCHR(after.st_mode)
    assert (before.st_ino, before.st_rdev) == (after.st_ino, after.st_rdev)


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_an_open_descriptor_is_written_to(tmp_path):
    with open(tmp_path / "out", "ab") as out:
        out.write(b"first ")
        out.flush()
        with writing(f"/dev/fd/{out.fileno()}") as file:
            file.write(b"second")
    assert (tmp_path / "out").read_bytes() == b"first second"


def test_a_directory_cannot_be_written_to(tmp_path):
    with pytest.raises(DataError, match="cannot be written: Is a directory"), writing(tmp_path):
        pass


def test_a_long_name_can_be_written_to(tmp_path):
    with writing(tmp_path / ("x" * 250)) as file:
        file.write(b"text")
    assert (tmp_path / ("x" * 250)).read_bytes() == b"text"
