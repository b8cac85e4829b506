"""Words that programs write for a missing value, where they stand for a label or for a text.

Each may be meant, so that it is read as it stands, with a remark.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

MISSING = frozenset({"NaN", "nan", "None", "null", "NULL", "<NA>", "NaT"})
MISSING |= {"#N/A", "#NV", "N/A", "n/a", "NA", "-", "--", "?"}  # of spreadsheets, and by hand


def remark_on_missing(labels: Iterable[Sequence[str]]) -> str:
    """A remark on cells whose only label is such a word.

    Examples
    --------
    >>> remark_on_missing([["owl"], ["NaN"], ["NaN"], ["None", "owl"]])
    "'NaN' is a label of its own in 2 cells; leave them empty if they have none"
    """
    counts = Counter(cell[0] for cell in labels if len(cell) == 1 and cell[0] in MISSING)
    if not counts:
        return ""
    n = counts.total()
    return (
        f"{_words(counts)} {'is a label of its' if len(counts) == 1 else 'are labels of their'} "
        f"own in {n:,} {'cell' if n == 1 else 'cells'}; leave {'it' if n == 1 else 'them'} empty "
        f"if {'it has' if n == 1 else 'they have'} none"
    )


def remark_on_missing_texts(texts: Iterable[str]) -> str:
    """A remark on texts that consist of such a word, in each of their columns.

    Examples
    --------
    >>> remark_on_missing_texts(["an owl", "NaN", "NaN\\nNaN"])
    "'NaN' is all of the text of 2 samples; leave it empty if it is missing"
    """
    counts: Counter[str] = Counter()
    for text in texts:
        # Most texts are too long to be a few such words, which is what keeps this cheap.
        if len(text) < 40:
            parts = {part for part in text.split("\n") if part}
            if parts and parts <= MISSING:
                counts[min(parts)] += 1
    if not counts:
        return ""
    n = counts.total()
    return (
        f"{_words(counts)} {'is' if len(counts) == 1 else 'are'} all of the text of {n:,} "
        f"{'sample' if n == 1 else 'samples'}; leave it empty if it is missing"
    )


def _words(counts: Counter[str]) -> str:
    return ", ".join(map(repr, sorted(counts)))
