"""The k rows of greatest cosine to each row of a sparse matrix, exactly, by postings."""

import numpy as np

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import AnyArray, FloatArray, IndexArray, PointerArray

# Finishing a row costs about as much as this many postings, which are read in order, and a
# comparison of all bounds about as much as this many postings for each row. Both were set for the
# training documents of EURLEX57K.
_POSTINGS_PER_ROW = 300
_POSTINGS_PER_BOUND = 2


@kernel
def suffix_norms(
    indptr: PointerArray, indices: IndexArray, data: FloatArray, levels: IndexArray
) -> FloatArray:
    """Norm of each row's part from feature `levels[l]` on, a line for each l."""
    norms = zeros((levels.size, indptr.size - 1), np.float32)
    for row in range(indptr.size - 1):
        square = 0.0
        e = indptr[row + 1] - 1
        for level in range(levels.size - 1, -1, -1):
            while e >= indptr[row] and indices[e] >= levels[level]:
                square += data[e] * data[e]
                e -= 1
            # The bound is a little more than the norm, so that rounding never excludes a row.
            norms[level, row] = np.sqrt(square) * 1.000001
    return norms


@kernel
def _replace_least(heap: FloatArray, rows: PointerArray, value: float, row: int) -> None:
    """Put `value` in place of the least of a min-heap, and `row` beside it."""
    i = 0
    while True:
        child = 2 * i + 1
        if child >= heap.size:
            break
        if child + 1 < heap.size and heap[child + 1] < heap[child]:
            child += 1
        # Sift down with a hole: the value is written once, at its final position.
        if heap[child] >= value:
            break
        heap[i] = heap[child]
        rows[i] = rows[child]
        i = child
    heap[i] = value
    rows[i] = row


@kernel
def _largest(values: FloatArray, heap: FloatArray, rows: PointerArray) -> None:
    """Fill a min-heap with the largest values and their places."""
    for i in range(heap.size):
        heap[i] = 0.0
        rows[i] = -1
    for row in range(values.size):
        # After the first few rows hardly any value beats the least of the heap, so that a row costs
        # one comparison.
        if values[row] > heap[0]:
            _replace_least(heap, rows, values[row], row)


@kernel
def _rest(
    indptr: PointerArray,
    indices: IndexArray,
    data: FloatArray,
    row: int,
    from_feature: int,
    query: FloatArray,
) -> np.float32:
    """Inner product of the query with the row's part from a feature on."""
    total = np.float32(0.0)
    e = indptr[row + 1] - 1
    # The row is read from its end, because features are sorted and the frequent ones stand last.
    while e >= indptr[row] and indices[e] >= from_feature:
        total += query[indices[e]] * data[e]
        e -= 1
    return total


@kernel
def _insert(neighbors: AnyArray, scores: FloatArray, n_found: int, row: int, score: float) -> int:
    """Insert into lists sorted by falling score (then rising row); how many are in them."""
    k = scores.size
    if n_found == k:
        if score < scores[k - 1] or (score == scores[k - 1] and row > neighbors[k - 1]):
            return n_found
        i = k - 1
    else:
        i = n_found
        n_found += 1
    while i > 0 and (score > scores[i - 1] or (score == scores[i - 1] and row < neighbors[i - 1])):
        scores[i] = scores[i - 1]
        neighbors[i] = neighbors[i - 1]
        i -= 1
    scores[i] = score
    neighbors[i] = row
    return n_found


@kernel
def _add_postings(
    postings: CSRArrays,
    indices: IndexArray,
    data: FloatArray,
    start: int,
    end: int,
    sums: FloatArray,
) -> None:
    """Add the products with the query's non-zeros start…end − 1 to the sums of all rows."""
    indptr, rows, values = postings
    for e in range(start, end):
        weight = data[e]
        for a in range(indptr[indices[e]], indptr[indices[e] + 1]):
            # A feature is added to all rows at once: postings are read in order, and only the
            # accesses to the sums are random.
            sums[rows[a]] += weight * values[a]


@kernel
def _level_end(indices: IndexArray, start: int, end: int, levels: IndexArray, level: int) -> int:
    """The first of a query's non-zeros start…end − 1 whose feature is beyond a level."""
    if level >= levels.size:
        return end
    while start < end and indices[start] < levels[level]:
        start += 1
    return start


@kernel
def _kth_exact(
    heap: FloatArray,
    heap_rows: PointerArray,
    exact: FloatArray,
    rows: CSRArrays,
    from_feature: int,
    query: FloatArray,
    own: int,
) -> np.float32:
    """The k-th best exact cosine among the rows of the largest sums, or 0 if there are fewer."""
    indptr, indices, data = rows
    k = exact.size
    for i in range(k):
        exact[i] = 0.0
    for i in range(heap.size):
        row = heap_rows[i]
        if row < 0 or row == own:
            continue
        score = heap[i] + _rest(indptr, indices, data, row, from_feature, query)
        j = k
        while j > 0 and score > exact[j - 1]:
            if j < k:
                exact[j] = exact[j - 1]
            j -= 1
        if j < k:
            exact[j] = score
    return exact[k - 1]


@kernel
def cosine_topk(
    queries: CSRArrays,
    rows: CSRArrays,
    norms: FloatArray,
    levels: IndexArray,
    postings: CSRArrays,
    k: int,
    first: int,
) -> tuple[AnyArray, FloatArray]:
    """The k rows of greatest positive cosine to each query, all of unit length.

    Features are numbered from the rarest to the most frequent. Postings of a query's features
    are added up in that order, as far as the next of `levels`. What is left of the query and of
    a row bounds the rest of their inner product by the product of the norms (Cauchy–Schwarz,
    `norms` has those of the rows). The rows of the largest sums are finished first; their k-th
    cosine is a bar, and only rows whose bound is above it are finished one by one. So the long
    postings of frequent features, which weigh little, are rarely read.

    `first` is the row that is the first query itself, which it must not find, or −1.
    """
    q_indptr, q_indices, q_data = queries
    r_indptr, r_indices, r_data = rows
    p_indptr = postings[0]
    n_queries, n_rows = q_indptr.size - 1, r_indptr.size - 1
    neighbors = np.full((n_queries, k), -1, dtype=np.int32)
    cosines = zeros((n_queries, k), np.float32)
    sums = zeros(n_rows, np.float32)
    query = zeros(p_indptr.size - 1, np.float32)
    heap = empty(min(2 * k + 1, n_rows), np.float32)
    heap_rows = empty(heap.size, np.int64)
    exact = empty(k, np.float32)
    for q in range(n_queries):
        start, end = q_indptr[q], q_indptr[q + 1]
        own = first + q if first >= 0 else -1
        square = 0.0
        for e in range(start, end):
            query[q_indices[e]] = q_data[e]
            square += q_data[e] * q_data[e]
        sums[:] = 0.0
        bar, left = np.float32(0.0), np.float32(0.0)
        level, e = 0, start
        while True:
            stop = _level_end(q_indices, e, end, levels, level)
            _add_postings(postings, q_indices, q_data, e, stop, sums)
            for i in range(e, stop):
                square -= q_data[i] * q_data[i]
            e = stop
            if e == end:
                break
            ahead = 0
            for i in range(e, _level_end(q_indices, e, end, levels, level + 1)):
                ahead += p_indptr[q_indices[i] + 1] - p_indptr[q_indices[i]]
            # The bounds cost a pass over all rows; they are computed only where the postings of the
            # next level would cost more.
            if ahead > _POSTINGS_PER_BOUND * n_rows:
                left = np.float32(np.sqrt(max(square, 0.0)))
                _largest(sums, heap, heap_rows)
                bar = _kth_exact(heap, heap_rows, exact, rows, levels[level], query, own)
                able = 0
                for row in range(n_rows):
                    # Rows that could still be among the k best; once few remain, finishing them one
                    # by one is cheaper than reading on.
                    able += sums[row] + left * norms[level, row] >= bar
                if able * _POSTINGS_PER_ROW < ahead:
                    break
            level += 1
        n_found = 0
        finished = e >= end
        for row in range(n_rows):
            score = sums[row]
            if row == own:
                continue
            if not finished:
                if score + left * norms[level, row] < bar:
                    continue
                score += _rest(r_indptr, r_indices, r_data, row, levels[level], query)
            if score > 0.0 and (n_found < k or score >= cosines[q, k - 1]):
                n_found = _insert(neighbors[q], cosines[q], n_found, row, score)
        for e in range(start, end):
            query[q_indices[e]] = 0.0
    return neighbors, cosines
