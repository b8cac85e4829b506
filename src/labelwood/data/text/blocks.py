"""Feature sets as blocks of columns, and what their columns are called."""

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from labelwood.core.types import FloatArray
from labelwood.data.text._count_kernels import Rule
from labelwood.errors import ParameterError

FEATURE_SETS: Mapping[str, tuple[str, ...]] = {
    "words": ("words",),
    "words+pairs": ("pairs",),
    "chars": ("chars",),
    "words+chars": ("words", "chars"),
    "words+pairs+chars": ("pairs", "chars"),
}
"""The blocks of each feature set; a block of pairs holds the single words too."""

_SEQUENCES = ("word", "pair", "triple", "four words", "five words")


class Block(NamedTuple):
    """Columns that are normalized together."""

    kind: str
    field: str | None
    rule: Rule
    weight: float


def make_rules(owner: Any, features: str) -> list[Rule]:
    """The rules of the blocks of a feature set, by the parameters of a vectorizer."""
    rules = []
    for kind in FEATURE_SETS[features]:
        chars = kind == "chars"
        words = 1 if kind == "words" else int(owner.ngrams)
        rules.append(
            Rule(
                lowercase=bool(owner.lowercase),
                fold_accents=owner.accents == "fold",
                fold_digits=owner.numbers == "fold",
                symbols=bool(owner.symbols) and not chars,
                shortest=1 if chars else int(owner.min_length),
                chars=chars,
                low=int(owner.min_chars) if chars else 1,
                high=int(owner.max_chars) if chars else words,
            )
        )
    return rules


def make_blocks(owner: Any, features: str) -> list[Block]:
    """The blocks of a feature set, in the order of their columns."""
    rules = make_rules(owner, features)
    fields = field_weights(owner.fields)
    separate = owner.separate_fields and len(fields) > 0
    blocks = []
    for name, weight in fields.items() if separate else [(None, 1.0)]:
        for kind, rule in zip(FEATURE_SETS[features], rules, strict=True):
            own = float(owner.char_weight) if rule.chars else 1.0
            blocks.append(Block(kind, name, rule, weight * own))
    return blocks


def field_weights(fields: Mapping[str, float] | None) -> dict[str, float]:
    """Fields and their weights, checked."""
    if fields is None:
        return {}
    weights = {}
    for name, weight in fields.items():
        number = isinstance(weight, Real) and not isinstance(weight, bool)
        if not isinstance(name, str) or not number or not 0 < weight < np.inf:
            raise ParameterError(
                "The 'fields' parameter of TextVectorizer must be a dict of field names and "
                f"positive weights. Got {name!r}: {weight!r} in it."
            )
        weights[name] = float(weight)
    if not weights:
        raise ParameterError("The 'fields' parameter of TextVectorizer must not be empty.")
    return weights


def weights_array(fields: Mapping[str, float]) -> FloatArray:
    """The weights of the fields, in order; only their ratios matter, and the largest is 1."""
    weights = np.array(list(fields.values()), np.float64)
    return (weights / weights.max()).astype(np.float32)


def describe(term: str, block: Block) -> str:
    """A feature for people to read.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> words = Block("pairs", None, None, 1.0)
    >>> describe("net income", words), describe("net", words)
    ('pair: net income', 'word: net')
    >>> chars = Block("chars", "title", None, 1.0)
    >>> [describe(term, chars) for term in ("ing ", " un", "ri", " the ")]
    ['title chars: -ing', 'title chars: un-', 'title chars: -ri-', 'title chars: the']
    """
    if block.kind == "chars":
        front = "" if term.startswith(" ") else "-"
        back = "" if term.endswith(" ") else "-"
        # A dash stands where the word goes on.
        text = f"chars: {front}{term.strip(' ')}{back}"
    else:
        text = f"{_SEQUENCES[term.count(' ')]}: {term}"
    return text if block.field is None else f"{block.field} {text}"
