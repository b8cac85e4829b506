"""Rows of new texts by a fitted vocabulary."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from labelwood.core.parallel import parallel_stream
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import FloatArray
from labelwood.data.text._count_kernels import TermIndex
from labelwood.data.text._locate_kernels import locate_block
from labelwood.data.text._transform_kernels import transform_block
from labelwood.data.text.blocks import Block, weights_array
from labelwood.data.text.counting import field_parts
from labelwood.data.text.documents import Segment
from labelwood.data.text.unicode_tables import unicode_tables
from labelwood.data.text.weighting import join_blocks, join_fields


def transform_rows(
    parts: Iterable[Segment],
    blocks: Sequence[Block],
    indexes: Sequence[TermIndex],
    idf: FloatArray,
    fields: Mapping[str, float],
    *,
    sublinear: bool,
    n_jobs: int | None,
) -> CSRArrays:
    """The rows of all segments."""
    tables = unicode_tables()
    separate = blocks[0].field is not None
    widths = [index.records.size // 3 for index in indexes]
    weights = [block.weight for block in blocks]
    idfs = [idf] if len(blocks) == 1 else np.split(idf, np.cumsum(widths)[:-1])

    def transform(segment: Segment) -> CSRArrays:
        sources = field_parts(segment, len(fields)) if separate else [segment]
        rows = []
        for k, (block, index) in enumerate(zip(blocks, indexes, strict=True)):
            source = sources[k * len(sources) // len(blocks)]
            row = CSRArrays(
                *transform_block(
                    source.data, source.ptr, block.rule, tables, index, idfs[k], sublinear
                )
            )
            if fields and not separate:
                row = join_fields(row, weights_array(fields))
            rows.append(row)
        return join_blocks(rows, widths, weights)

    return _stacked(list(parallel_stream(transform, parts, n_jobs=n_jobs)))


def locate_terms(
    text: str, blocks: Sequence[Block], indexes: Sequence[TermIndex]
) -> list[tuple[int, int, int]]:
    """Column, start and end of every feature in a text, counted in characters."""
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    if data.size == 0:
        return []
    # How many characters there are before each byte, and one more for the end.
    characters = np.concatenate([[0], np.cumsum(data & 0xC0 != 0x80)])
    found: list[tuple[int, int, int]] = []
    first_column = 0
    for block, index in zip(blocks, indexes, strict=True):
        columns, starts, ends = locate_block(data, block.rule, unicode_tables(), index)
        found.extend(
            zip(
                (columns.astype(np.int64) + first_column).tolist(),
                characters[starts].tolist(),
                characters[ends].tolist(),
                strict=True,
            )
        )
        first_column += index.records.size // 3
    return sorted(found, key=lambda one: (one[1], one[2], one[0]))


def _stacked(parts: list[CSRArrays]) -> CSRArrays:
    """The rows of all parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return CSRArrays(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0, np.float32))
    ends = np.cumsum([0, *(part.indices.size for part in parts)])
    ptrs = [part.indptr[1:] + end for part, end in zip(parts, ends, strict=False)]
    return CSRArrays(
        np.concatenate([np.zeros(1, np.int64), *ptrs]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.data for part in parts]),
    )
