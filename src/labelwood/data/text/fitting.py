"""From texts to a vocabulary, its weights, and the rows of the texts."""

import warnings
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from labelwood.core.caller import user_stacklevel
from labelwood.core.names import count
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import CSR, FloatArray, PointerArray
from labelwood.data.text._table_kernels import Bytes
from labelwood.data.text.blocks import Block, field_weights, make_rules, weights_array
from labelwood.data.text.counting import Candidates, count_texts
from labelwood.data.text.documents import segments
from labelwood.data.text.selection import (
    chi_squared_scores,
    most_associated,
    most_frequent,
    within_frequencies,
)
from labelwood.data.text.vocabulary import Terms, join_terms
from labelwood.data.text.weighting import (
    inverse_frequencies,
    join_blocks,
    join_fields,
    weigh_counts,
)
from labelwood.errors import DataError, LabelwoodWarning, ParameterError


class Fitted(NamedTuple):
    """The vocabulary of all blocks and the weight of each column."""

    terms: Terms
    idf: FloatArray


def fit_blocks(
    owner: Any, blocks: Sequence[Block], features: str, texts: Iterable[Any], Y: CSR | None
) -> tuple[Fitted, CSRArrays]:
    """Fit the blocks by the parameters of the vectorizer `owner`; also the rows of the texts."""
    fields = field_weights(owner.fields)
    separate = owner.separate_fields and len(fields) > 0
    n_fields = max(len(fields), 1)
    candidates, n = count_texts(
        segments(texts, tuple(fields), owner.decode_error),
        make_rules(owner, features),
        n_fields=n_fields,
        separate=separate,
        limit=owner.max_candidates,
        n_jobs=owner.n_jobs,
    )
    _warn_of_lost(candidates, blocks, owner)
    together = 1 if separate else n_fields
    chosen = [_choose(block, n, owner, Y, together) for block in candidates]
    if sum(terms.size for terms in chosen) == 0:
        raise _nothing_left(n, owner)
    parts: list[tuple[Bytes, PointerArray]] = []
    idfs: list[FloatArray] = []
    rows: list[CSRArrays] = []
    for block, terms in zip(candidates, chosen, strict=True):
        parts.append(block.gather(terms))
        kept = np.zeros(block.n, np.uint32)
        kept[terms] = np.arange(1, terms.size + 1, dtype=np.uint32)
        idfs.append(inverse_frequencies(block.df[terms], n, owner.use_idf))
        weighed = weigh_counts(block.rows, kept, idfs[-1], owner.sublinear_tf, owner.n_jobs)
        rows.append(weighed if together == 1 else join_fields(weighed, weights_array(fields)))
    widths, weights = [idf.size for idf in idfs], [block.weight for block in blocks]
    return Fitted(join_terms(parts), np.concatenate(idfs)), join_blocks(rows, widths, weights)


def _nothing_left(n: int, owner: Any) -> DataError:
    if n and isinstance(owner.min_df, Integral) and int(owner.min_df) > n:
        return DataError(
            f"min_df={owner.min_df} is more than {count(n, 'text')}; give min_df=1, or a share of "
            "the texts such as 0.01."
        )
    return DataError(
        f"No word is left of {count(n, 'text')} with min_df={owner.min_df} and "
        f"max_df={owner.max_df}; lower min_df, raise max_df, or check the texts."
    )


def _choose(block: Candidates, n: int, owner: Any, Y: CSR | None, n_fields: int) -> PointerArray:
    """The candidates that become columns, in the order of their bytes."""
    terms = block.in_order(within_frequencies(block.df, n, owner.min_df, owner.max_df))
    limit = owner.max_features
    if limit is None or terms.size <= limit:
        return terms
    if owner.selection == "df":
        return terms[most_frequent(block.df, terms, limit)]
    if Y is None:
        raise ParameterError("selection='chi2' needs the labels: fit(texts, y).")
    if Y.shape[0] != n:
        raise DataError(f"There are {n} texts and {Y.shape[0]} rows of labels.")
    return terms[most_associated(chi_squared_scores(block, terms, Y, n_fields), limit)]


def _warn_of_lost(candidates: Sequence[Candidates], blocks: Sequence[Block], owner: Any) -> None:
    for block, found in zip(blocks, candidates, strict=True):
        if found.lost_df:
            warnings.warn(
                f"The texts have more than max_candidates={owner.max_candidates:,} different "
                f"{block.kind}: those in the fewest texts were forgotten on the way, so features "
                f"in up to {count(found.lost_df, 'text')} may be missing, or miss so many. Raise "
                "max_candidates or min_df.",
                LabelwoodWarning,
                stacklevel=user_stacklevel(),
            )
