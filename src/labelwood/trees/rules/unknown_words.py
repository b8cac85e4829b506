"""Words of rules that the vocabulary lacks, and how it writes them."""

import unicodedata
from collections.abc import Collection, Sequence


def in_vocabulary(unknown: Sequence[str], vocabulary: Collection[str]) -> str:
    """Each unknown word, with that of the vocabulary which is written alike.

    Vectorizers write words in lower case and often without accents. Rules cannot be folded in the
    same way, as a model knows the names of its features, and not always what made them.

    Examples
    --------
    >>> in_vocabulary(["Etikett", "shr"], ["etikett", "cafe"])
    "'Etikett' (is 'etikett' meant?), 'shr'"
    """
    wanted = {_plain(word) for word in unknown}
    known: dict[str, str] = {}
    for word in vocabulary:
        plain = _plain(word)
        if plain in wanted:
            known.setdefault(plain, word)
    alike = [(word, known.get(_plain(word))) for word in unknown]
    return ", ".join(f"{word!r} (is {one!r} meant?)" if one else repr(word) for word, one in alike)


def _plain(word: str) -> str:
    """In lower case, without accents."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))
