"""Texts to weighted rows in one call, as a service asks for it."""

import numpy as np

from labelwood.core.allocation import empty
from labelwood.core.kernel import kernel
from labelwood.core.types import FloatArray, IndexArray, PointerArray
from labelwood.data.text._count_kernels import Rule, TermIndex, count_block
from labelwood.data.text._table_kernels import Bytes
from labelwood.data.text._weight_kernels import weigh_rows
from labelwood.data.text.unicode_tables import UnicodeTables


@kernel
def transform_block(
    data: Bytes,
    ptr: PointerArray,
    rule: Rule,
    tables: UnicodeTables,
    index: TermIndex,
    idf: FloatArray,
    sublinear: bool,
) -> tuple[PointerArray, IndexArray, FloatArray]:
    """Rows of one block by the terms of `index`, each of length one."""
    # Nothing is added to the index: a term outside the vocabulary has no column and is skipped.
    counts = count_block(data, ptr, rule, 1, tables, index, False)[0]
    m = counts.ids.size
    columns, weights = empty(m, np.uint32), empty(m, np.float32)
    # The index holds kept terms alone, so that a term's number is its column: `kept` is empty, and
    # a row has as many entries after weighing as before.
    weigh_rows(
        counts.ptr,
        counts.ids,
        counts.counts,
        empty(0, np.uint32),
        idf,
        sublinear,
        counts.ptr,
        columns,
        weights,
    )
    return counts.ptr, columns, weights
