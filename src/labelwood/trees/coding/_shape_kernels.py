"""Shapes of the trees that code label sets, and the numbering of their nodes."""

import heapq

import numpy as np

from labelwood.core._order_kernels import stable_order
from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel
from labelwood.core.sparse import CSRArrays
from labelwood.core.types import PointerArray


@kernel
def huffman(counts: PointerArray) -> tuple[PointerArray, PointerArray, int]:
    """The children of each inner node of a Huffman tree, and its root.

    Two queues, of sets and of inner nodes, are both sorted by count, so that the tree takes linear
    time. Among equal counts sets come first, in their order, and then nodes as they were made, so
    that neighbors in the order of the sets are paired.
    """
    n = counts.size
    sets = stable_order(counts)
    positive, negative = empty(n - 1, np.int64), empty(n - 1, np.int64)
    total = empty(n - 1, np.int64)
    pair = empty(2, np.int64)
    next_set, next_node = 0, 0
    for made in range(n - 1):
        total[made] = 0
        for k in range(2):
            # Totals of new nodes never fall, so that the nodes made so far are a sorted queue by
            # themselves; the smaller of the two heads is the next of the tree.
            if next_set < n and (next_node == made or counts[sets[next_set]] <= total[next_node]):
                pair[k] = sets[next_set]
                total[made] += counts[sets[next_set]]
                next_set += 1
            else:
                pair[k] = n + next_node
                total[made] += total[next_node]
                next_node += 1
        positive[made], negative[made] = pair[0], pair[1]
    return positive, negative, 2 * n - 2


@kernel
def _bring_forward(
    sets: CSRArrays,
    members: CSRArrays,
    label: int,
    order: PointerArray,
    place: PointerArray,
    start: int,
    end: int,
) -> int:
    """Move the sets in order[start:end] that have the label to the front; returns their end."""
    middle = start
    first, last = members.indptr[label], members.indptr[label + 1]
    # Whichever is shorter is read: the sets of the label, or the sets of the node.
    if last - first < end - start:
        for p in range(first, last):
            here = place[members.indices[p]]
            if start <= here < end:
                _swap(order, place, here, middle)
                middle += 1
        return middle
    for here in range(start, end):
        one = order[here]
        for p in range(sets.indptr[one], sets.indptr[one + 1]):
            if sets.indices[p] == label:
                _swap(order, place, here, middle)
                middle += 1
                break
    return middle


@kernel
def _swap(order: PointerArray, place: PointerArray, a: int, b: int) -> None:
    order[a], order[b] = order[b], order[a]
    place[order[a]], place[order[b]] = a, b


@kernel
def _add_labels(
    sets: CSRArrays, counts: PointerArray, some: PointerArray, sign: int, samples: PointerArray
) -> int:
    """Add the counts of `some` sets to `samples` of their labels; returns the sum of counts."""
    total = 0
    for k in range(some.size):
        one = some[k]
        total += counts[one]
        for p in range(sets.indptr[one], sets.indptr[one + 1]):
            samples[sets.indices[p]] += sign * counts[one]
    return total


@kernel
def annotate(
    sets: CSRArrays, members: CSRArrays, counts: PointerArray
) -> tuple[PointerArray, PointerArray, int]:
    """The children of each inner node of the annotation tree, and its root.

    A node asks for the label that most of its samples have, but not all (of equals the first).
    Label counts of the positive child are computed from its own sets; for the negative child they
    are updated by the sets that have left, so that a chain of thousands of negative children
    costs no more than the labels that leave it. `members` are the sets of each label.
    """
    n, n_labels = counts.size, members.indptr.size - 1
    positive, negative = empty(n - 1, np.int64), empty(n - 1, np.int64)
    order, place = np.arange(n), np.arange(n)
    samples = zeros(n_labels, np.int64)
    stack = empty((n, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, n, -1
    top, made, root = 1, 0, 0 if n == 1 else n
    while top > 0:
        top -= 1
        start, end, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        if parent >= 0:
            positive[parent] = order[start] if end - start == 1 else n + made
        first = start
        total = _add_labels(sets, counts, order[start:end], 1, samples)
        queue = _queue(sets, order[start:end], samples)
        # The negative chain is followed in this loop, the positive children wait on the stack: its
        # depth is the number of sets at most, whatever the depth of the tree.
        while end - start > 1:
            label = _commonest(queue, samples, total)
            middle = _bring_forward(sets, members, label, order, place, start, end)
            total -= _add_labels(sets, counts, order[start:middle], -1, samples)
            stack[top, 0], stack[top, 1], stack[top, 2] = start, middle, made
            top += 1
            negative[made] = order[middle] if end - middle == 1 else n + made + 1
            made += 1
            start = middle
        # Counts are cleared at the cost of the labels met, so that small nodes stay cheap.
        for k in range(first, end):
            for p in range(sets.indptr[order[k]], sets.indptr[order[k] + 1]):
                samples[sets.indices[p]] = 0
    return positive, negative, root


@kernel
def _queue(sets: CSRArrays, some: PointerArray, samples: PointerArray) -> list[np.int64]:
    """A heap of the labels of `some` sets, each encoded as one integer.

    The key label − count · n_labels sorts by descending count, then by label. A label may be in
    the heap several times; keys with an outdated count are corrected when they are popped.
    """
    n_labels = samples.size
    queue = [np.int64(0)]
    queue.pop()
    for k in range(some.size):
        for p in range(sets.indptr[some[k]], sets.indptr[some[k] + 1]):
            label = np.int64(sets.indices[p])
            queue.append(label - samples[label] * n_labels)
    heapq.heapify(queue)
    return queue


@kernel
def _commonest(queue: list[np.int64], samples: PointerArray, total: int) -> int:
    """The label that most samples have, but not all; keys before it are popped."""
    n_labels = samples.size
    while True:
        key = heapq.heappop(queue)
        label = key % n_labels
        n_samples = (label - key) // n_labels
        if n_samples == samples[label]:
            if 0 < n_samples < total:
                return int(label)
        # Counts only fall along a chain, so that an outdated key is too early, never too late: it
        # is put back with its true count.
        elif samples[label] > 0:
            heapq.heappush(queue, label - samples[label] * n_labels)


@kernel
def preorder(
    positive: PointerArray, negative: PointerArray, root: int, n_leaves: int
) -> tuple[PointerArray, PointerArray]:
    """Number the nodes so that the positive child comes next, and the negative one at `right`.

    Children below `n_leaves` are leaves, others inner nodes. Returns `right` (−1 for a leaf)
    and the old leaf of each new node (−1 for an inner node).
    """
    n = 2 * n_leaves - 1
    right, leaf = np.full(n, -1), np.full(n, -1)
    old, parent = empty(n_leaves + 1, np.int64), empty(n_leaves + 1, np.int64)
    old[0], parent[0] = root, -1
    top, node = 1, 0
    while top > 0:
        top -= 1
        this, above = old[top], parent[top]
        if above >= 0:
            right[above] = node
        # The walk goes down along positive children, which get consecutive numbers; negative ones
        # are stacked with the node that has to point to them.
        while this >= n_leaves:
            old[top], parent[top] = negative[this - n_leaves], node
            top += 1
            this = positive[this - n_leaves]
            node += 1
        leaf[node] = this
        node += 1
    return right, leaf


@kernel
def node_depths(right: PointerArray) -> PointerArray:
    """How many decisions lead to each node."""
    depths = zeros(right.size, np.int64)
    for node in range(right.size):
        if right[node] >= 0:
            depths[node + 1] = depths[right[node]] = depths[node] + 1
    return depths


@kernel
def node_ends(right: PointerArray, sizes: PointerArray) -> tuple[PointerArray, PointerArray]:
    """Where the samples of each node start and end when they stand in the order of the leaves.

    `sizes` holds how many samples each leaf has, and zero for inner nodes.
    """
    n = right.size
    starts, ends = empty(n, np.int64), empty(n, np.int64)
    total = 0
    for node in range(n):
        starts[node] = total
        total += sizes[node]
    # Children have larger numbers than their parents: backwards, they are ready.
    for node in range(n - 1, -1, -1):
        ends[node] = starts[node] + sizes[node] if right[node] < 0 else ends[right[node]]
    return starts, ends
