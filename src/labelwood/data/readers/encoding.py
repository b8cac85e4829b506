"""Which encoding a text file is in; whatever it is, readers get UTF-8.

UTF-16 is known by its byte order mark, or by the zero byte in each ASCII character. cp1252, which
older spreadsheets save, is taken only for a file that cannot be UTF-8 and reads as text of a
Western European language; every other encoding has to be given.
"""

import codecs
import re
from dataclasses import replace

from labelwood.core.io import Source
from labelwood.core.names import shown
from labelwood.errors import ParameterError

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is its beginning
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_HEAD = 1 << 12
_CHUNK = 1 << 20
_MOST_ACCENTS = 1 / 3  # of all bytes; a language with Latin letters has fewer than one in ten
_REMEDY = "save the file as UTF-8, or give its encoding by encoding"

# What the bytes of other encodings look like when they are read as cp1252.
_NOT_WESTERN = re.compile(
    "[ÂÃâ][\u0080-¿€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]"  # UTF-8, so the file is damaged or mixed
    "|[ðÐþÞÿ]"  # Turkish (cp1254), or a stray byte 0xff
    "|[À-ÿ]{3}"  # three accents in a row: Cyrillic, Greek, Arabic…
    "|[a-zà-ÿ][‚„ˆ‹˜ŠŒŽŸÀ-ÖØ-Þ]"  # a capital behind a small letter: Mac Roman, DOS
    "|ƒ"  # the first byte of most Japanese letters in Shift JIS
    "|[a-zà-ÿ][€‚ƒ„†‡ˆ‰Š‹Žšž˜›¡-¦¨-¬¯-³µ¶¸-¿×÷][a-zà-ÿ]"  # cp1250 (Polish, Czech)
)


def in_utf8(
    source: Source, encoding: str | None = None, *, western: bool = True
) -> tuple[Source, str]:
    """`source` in UTF-8, and a remark where its encoding was guessed.

    Only with `western` it may be cp1252.

    Examples
    --------
    >>> found, remark = in_utf8(Source("a.csv", bytearray("text\\ncafé\\n".encode("cp1252"))))
    >>> found.data.decode(), remark
    ('text\\ncafé\\n', 'encoding cp1252')
    """
    if encoding is not None:
        return _recoded(source, _known(encoding)), ""
    for mark, name in _MARKS.items():
        if source.data.startswith(mark):
            return _recoded(source, name), f"encoding {name.upper()}"
    wide = _wide(source.data[:_HEAD])
    if wide is not None:
        return _recoded(source, wide), f"encoding {wide.upper()}"
    bad = _first_bad_byte(source.data)
    if bad is None:
        return source, ""
    if not (western and _is_western(source.data)):
        raise _refusal(source, bad, western)
    return _recoded(source, "cp1252"), "encoding cp1252"


def _known(encoding: str) -> str:
    """The codec that is meant; it must be one for text."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, ValueError):
        found = None
    if found is None or not getattr(found, "_is_text_encoding", True):
        raise ParameterError(
            f"The 'encoding' parameter of load_dataset must be the name of an encoding, such as "
            f"'utf-8', 'cp1252' or 'utf-16'. Got {encoding!r} instead."
        )
    # A file that is read as UTF-8 may have the byte order mark of spreadsheets all the same.
    return "utf-8-sig" if found.name == "utf-8" else found.name


def _recoded(source: Source, encoding: str) -> Source:
    try:
        text = codecs.decode(source.data, encoding)
    except (UnicodeDecodeError, UnicodeError) as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        before = bytes(source.data[:start]).decode(encoding, errors="ignore")
        name = encoding.removesuffix("-sig").upper()
        raise source.error(
            before.count("\n") + 1,
            f"byte 0x{source.data[start]:02x} is not {name}; give another encoding, "
            "or none, and it is inferred",
        ) from None
    return replace(source, data=bytearray(text.removeprefix("\ufeff").encode("utf-8")))


def _wide(head: bytearray) -> str | None:
    """UTF-16 without a mark: every other byte is zero, as in text that is mostly ASCII."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    most = 0.7 * (len(head) // 2)
    if len(head) < 4 or max(even, odd) < most or min(even, odd) > 0:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _first_bad_byte(data: bytearray) -> int | None:
    """Where the data stop to be UTF-8, looked for in pieces, as a text takes more space."""
    if data.isascii():
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + _CHUNK], final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            return start - pending + error.start
    return None


def _is_western(data: bytearray) -> bool:
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if "\0" in text or _NOT_WESTERN.search(text) is not None:
        return False
    n_accents = len(data.translate(None, bytes(range(0x80))))
    return n_accents <= _MOST_ACCENTS * len(data)


def _refusal(source: Source, at: int, western: bool) -> Exception:
    start = source.data.rfind(b"\n", 0, at) + 1
    line = shown(bytes(source.data[start : start + 40]).split(b"\n")[0].decode(errors="replace"))
    tried = f", nor does {line} read as cp1252" if western else f" in {line}"
    return source.error(
        source.line_at(at),
        f"byte 0x{source.data[at]:02x} at position {at - start + 1} is not UTF-8{tried}; {_REMEDY}",
    )
