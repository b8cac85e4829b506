"""The kernels that cut and count, against the rules in plain Python."""

import unicodedata

import numpy as np
import pytest

from data.text import reference
from labelwood.data.text._count_kernels import Rule, count_block, empty_index
from labelwood.data.text._normalize_kernels import normalize
from labelwood.data.text.documents import segments
from labelwood.data.text.unicode_tables import unicode_tables, unicode_version

pytestmark = pytest.mark.skipif(
    unicodedata.unidata_version != unicode_version(),
    reason="the oracle is this Python, which knows another version of Unicode",
)

WORDS = Rule(True, False, False, False, 2, False, 1, 1)
RULES = {
    "words": WORDS,
    "words as they are": WORDS._replace(lowercase=False, shortest=1),
    "triples and symbols": WORDS._replace(symbols=True, high=3),
    "folded": WORDS._replace(fold_accents=True, fold_digits=True, symbols=True, shortest=1),
    "characters": WORDS._replace(chars=True, shortest=1, low=2, high=5),
    "long characters, folded": WORDS._replace(
        chars=True, shortest=1, low=4, high=6, fold_accents=True, fold_digits=True
    ),
}


def counted(texts, rule, size=1 << 30):
    """The counts of each text by term, as strings."""
    rows = []
    for segment in segments(texts, (), "replace", size):
        counts, text = count_block(
            segment.data, segment.ptr, rule, 1, unicode_tables(), empty_index(), True
        )
        raw = text.tobytes()
        starts, sizes = counts.records[1::3].tolist(), counts.records[2::3].tolist()
        names = [raw[p : p + n].decode() for p, n in zip(starts, sizes, strict=True)]
        for begin, end in zip(counts.ptr[:-1], counts.ptr[1:], strict=True):
            ids, times = counts.ids[begin:end].tolist(), counts.counts[begin:end].tolist()
            rows.append({names[i]: n for i, n in zip(ids, times, strict=True)})
    return rows


def assert_as_the_reference(texts):
    for name, rule in RULES.items():
        for text, found in zip(texts, counted(texts, rule), strict=True):
            assert found == reference.terms(text, rule), (name, text)


def test_random_unicode_gives_what_plain_python_gives():
    assert_as_the_reference(reference.random_unicode(2000, seed=1))


def test_random_bytes_give_what_plain_python_gives():
    assert_as_the_reference(reference.random_bytes(2000, seed=2))


@pytest.mark.slow
def test_a_hundred_thousand_random_texts_give_what_plain_python_gives():
    assert_as_the_reference(reference.random_unicode(50_000, seed=3))
    assert_as_the_reference(reference.random_bytes(50_000, seed=4))


@pytest.mark.parametrize(
    "text",
    [
        "ΑΣ ΑΣΑ Σ ΑΣ' Α'Σ ΑΣ\u0301 \u0301Σ 1Σ",
        "İSTANBUL İ",
        "ǅ Ǆ ẞ SS",
        "\ud800a\udfff b",
        "x" * 63 + "é" * 3,
        "a" * 64 + " " + "b" * 128,
        "!" * 65,
        "a" * 63 + "😀" + "b",
    ],
)
def test_texts_that_are_easy_to_get_wrong(text):
    assert_as_the_reference([text, text.encode("utf-8", "surrogatepass"), " " + text, text * 3])


def test_lower_casing_is_that_of_str_for_every_character():
    texts = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c != 0xFFFD]
    for part in segments(["\n".join(texts)], (), "strict"):
        out, ptr = normalize(
            part.data, part.ptr, True, False, False, unicode_tables(), np.empty(0, np.int64)
        )
    assert out[: ptr[-1]].tobytes().decode() == "\n".join(texts).lower()
