"""Lower-casing, word characters and accents of all of Unicode, as arrays for kernels.

The tables are made from Python's own `str`, `re` and `unicodedata` by

    python -m labelwood.data.text.unicode_tables

and are stored beside this file, so that a model gives the same features under every Python,
whose versions differ in the Unicode they know. `version` names the one of the tables.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelwood.core.types import AnyArray

WORD = 1  # re's \w
SPACE = 2  # str.isspace
SYMBOL = 4  # punctuation, symbols and emoji: the categories P and S
DIGIT = 8  # str.isdecimal
CASED = 16  # a capital sigma after it is final …
IGNORABLE = 32  # … also with these between

REPLACEMENT = 0xFFFD
CAPITAL_SIGMA, SIGMA, FINAL_SIGMA = 0x3A3, 0x3C3, 0x3C2
DOTTED_I, DOT_ABOVE = 0x130, 0x307  # the only character that becomes two when lower-cased
HANGUL, N_HANGUL = 0xAC00, 11_172  # syllables are taken apart by arithmetic, not by table

_FILE = Path(__file__).with_name("unicode_tables.npz")
_N = 0x110000
_BLOCK = 256


class UnicodeTables(NamedTuple):
    """Two-stage tables: `stage2[256 * stage1[c >> 8] + (c & 255)]` is the class of c.

    A class has `flags` and the distance `lower` to its lower-case character. The tables of
    `fold` lead in the same way to the range of `fold_data` that replaces a character when
    accents are folded; range 0 stands for the character itself.
    """

    stage1: NDArray[np.uint16]
    stage2: NDArray[np.uint8]
    flags: NDArray[np.uint8]
    lower: NDArray[np.int32]
    fold1: NDArray[np.uint16]
    fold2: NDArray[np.uint16]
    fold_ptr: NDArray[np.int64]
    fold_data: NDArray[np.int32]


@cache
def unicode_tables() -> UnicodeTables:
    """The stored tables."""
    with np.load(_FILE, allow_pickle=False) as stored:
        return UnicodeTables(*(stored[name] for name in UnicodeTables._fields))


@cache
def unicode_version() -> str:
    """The version of Unicode that the stored tables are of.

    Examples
    --------
    >>> unicode_version()
    '14.0.0'
    """
    with np.load(_FILE, allow_pickle=False) as stored:
        return str(stored["version"])


def generate() -> UnicodeTables:
    """The tables of the Python that runs."""
    records = [_record(chr(c)) for c in range(_N)]
    classes = {record: i for i, record in enumerate(dict.fromkeys(records))}
    stage1, stage2 = _two_stages(np.array([classes[record] for record in records], np.uint8))
    folds: dict[tuple[int, ...], int] = {(): 1}
    which = np.array([_fold(c, folds) for c in range(_N)], np.uint16)
    fold1, fold2 = _two_stages(which)
    # Range 0 is not read; range 1 is the empty one, of characters that vanish.
    lengths = [0, 0, *(len(fold) for fold in list(folds)[1:])]
    return UnicodeTables(
        stage1,
        stage2,
        np.array([flags for flags, _ in classes], np.uint8),
        np.array([lower for _, lower in classes], np.int32),
        fold1,
        fold2,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([c for fold in folds for c in fold], np.int32),
    )


def _record(char: str) -> tuple[int, int]:
    """Flags, and the distance to the lower-case character."""
    symbol = unicodedata.category(char)[0] in "PS" and ord(char) != REPLACEMENT
    # Python tells a cased letter, and what may stand between it and a final sigma, only by
    # how it lower-cases a capital sigma after them.
    cased = (char + "Σ").lower()[-1] == "ς"
    ignorable = not cased and ("A" + char + "Σ").lower()[-1] == "ς"
    flags = (
        WORD * bool(re.match(r"\w", char))
        + SPACE * char.isspace()
        + SYMBOL * symbol
        + DIGIT * char.isdecimal()
        + CASED * cased
        + IGNORABLE * ignorable
    )
    return flags, ord(char.lower()[0]) - ord(char)


def _fold(c: int, folds: dict[tuple[int, ...], int]) -> int:
    """Which range replaces `c`: its compatibility decomposition without combining marks."""
    if HANGUL <= c < HANGUL + N_HANGUL:
        return 0
    parts = unicodedata.normalize("NFKD", chr(c))
    kept = tuple(ord(part) for part in parts if not unicodedata.combining(part))
    return 0 if kept == (c,) else folds.setdefault(kept, len(folds) + 1)


def _two_stages(values: AnyArray) -> tuple[NDArray[np.uint16], Any]:
    blocks, which = np.unique(values.reshape(-1, _BLOCK), axis=0, return_inverse=True)
    return which.ravel().astype(np.uint16), blocks.ravel()


def main() -> None:
    """Write the tables."""
    tables = generate()._asdict()
    np.savez_compressed(_FILE, version=np.array(unicodedata.unidata_version), **tables)


if __name__ == "__main__":
    main()
