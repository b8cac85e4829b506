"""Which encoding a text file is in."""

import pytest

from labelwood.core.io import Source
from labelwood.data.load import load_dataset
from labelwood.data.readers.encoding import in_utf8
from labelwood.errors import DataError, ParameterError

FRENCH = "Où est l’œuvre créée à Zürich ? « Là-bas », 5 €\n"


@pytest.mark.parametrize(
    ("text", "encoding", "remark"),
    [
        (FRENCH, "utf-8", ""),
        (FRENCH, "cp1252", "encoding cp1252"),
        (FRENCH, "utf-16", "encoding UTF-16"),
        (FRENCH, "utf-32", "encoding UTF-32"),
        ("plain text\n", "utf-16-le", "encoding UTF-16-LE"),
        ("plain text\n", "utf-16-be", "encoding UTF-16-BE"),
        ("Señor Müller fährt nach Århus, 3 m³\n", "latin-1", "encoding cp1252"),
    ],
)
def test_an_encoding_without_doubt_is_found_and_remarked(text, encoding, remark):
    source, found = in_utf8(Source("a.csv", bytearray(text.encode(encoding))))
    assert (source.data.decode(), found) == (text, remark)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("привет", "cp1251"),
        ("καλημέρα", "cp1253"),
        ("zażółć gęślą jaźń", "cp1250"),
        ("město Žďár, příliš žluťoučký kůň", "cp1250"),
        ("Işık ve ağaç", "cp1254"),
        ("créé à Zürich", "mac-roman"),
        ("créé à Zürich", "cp850"),
        ("日本語", "shift-jis"),
        ("café", "utf-7"),
    ],
)
def test_an_encoding_in_doubt_is_never_taken_for_another(text, encoding):
    source = Source("a.csv", bytearray(b"text\n" + text.encode(encoding) + b"\n"))
    if source.data.isascii():  # utf-7 is plain text to everyone
        assert in_utf8(source)[1] == ""
        return
    with pytest.raises(
        DataError, match=r"a\.csv, line 2: byte 0x.* is not UTF-8, nor does .* read"
    ):
        in_utf8(source)
    assert in_utf8(source, encoding)[0].data.decode() == f"text\n{text}\n"


def test_a_damaged_utf8_file_is_not_taken_for_cp1252():
    data = bytearray("é\nü\n".encode() + b"caf\xe9\n")
    with pytest.raises(DataError, match="line 3: byte 0xe9 at position 4"):
        in_utf8(Source("a.csv", data))


def test_a_file_longer_than_a_piece_is_checked_across_its_pieces():
    data = bytearray(b"a" * ((1 << 20) - 1) + "é".encode() + b"\n")
    assert in_utf8(Source("a.csv", data))[1] == ""


def test_given_encodings_are_checked():
    with pytest.raises(DataError, match="line 2: byte 0xe9 is not UTF-8; give another encoding"):
        in_utf8(Source("a.csv", bytearray(b"a\ncaf\xe9\n")), "utf8")
    for wrong in ("excel", "hex", "a\0b"):
        with pytest.raises(ParameterError, match="must be the name of an encoding"):
            in_utf8(Source("a.csv", bytearray(b"a")), wrong)


def test_json_is_never_taken_for_cp1252_and_not_said_to_be_no_such(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "café", "labels": []}\n'.encode("cp1252"))
    with pytest.raises(DataError, match=r"byte 0xe9 at position 14 is not UTF-8 in .*; save the"):
        load_dataset(path)
