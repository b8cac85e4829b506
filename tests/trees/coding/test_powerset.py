import heapq
import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.trees.coding._shape_kernels import huffman
from labelwood.trees.coding.estimator import PowersetTreeClassifier
from trees.coding.codingtrees import code_lengths, entropy, sets_of, shape

EXAMPLE = [["a", "b"]] * 3 + [["a", "c"]] + [["e"]] * 3 + [["c"]]  # figure 2 of the paper


def brute_force_mean(counts):
    """The mean code length of Huffman's algorithm: each merge adds its share of the samples."""
    heap = list(counts)
    heapq.heapify(heap)
    total = 0
    while len(heap) > 1:
        merged = heapq.heappop(heap) + heapq.heappop(heap)
        total += merged
        heapq.heappush(heap, merged)
    return total / sum(counts)


def lengths(counts):
    """Code lengths from the children that the kernel gives."""
    positive, negative, root = huffman(np.asarray(counts, dtype=np.int64))
    depth = {root: 0}
    for made in range(len(counts) - 2, -1, -1):
        for child in (positive[made], negative[made]):
            depth[int(child)] = depth[len(counts) + made] + 1
    return [depth[i] for i in range(len(counts))]


def least_mean(counts):
    """The shortest code of all: every way to part the symbols in two, again and again."""
    if len(counts) == 1:
        return 0
    first, *others = counts
    best = np.inf
    for k in range(len(others)):
        for chosen in itertools.combinations(range(len(others)), k):
            left = [first, *(others[i] for i in chosen)]
            right = [others[i] for i in range(len(others)) if i not in chosen]
            best = min(best, least_mean(left) + least_mean(right))
    return best + sum(counts)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40))
def test_code_lengths_are_as_short_as_those_of_a_heap(counts):
    mean = np.dot(lengths(counts), counts) / sum(counts)
    assert mean == pytest.approx(brute_force_mean(counts))


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=60))
def test_the_mean_lies_between_the_entropy_and_one_bit_more(counts):
    mean = np.dot(lengths(counts), counts) / sum(counts)
    assert entropy(counts) - 1e-9 <= mean < entropy(counts) + 1


def test_theorem_12_holds_for_every_small_sample_and_no_code_is_shorter():
    for n_sets in range(1, 6):
        for counts in itertools.combinations_with_replacement(range(1, 6), n_sets):
            mean = np.dot(lengths(counts), counts) / sum(counts)
            assert entropy(counts) - 1e-9 <= mean < entropy(counts) + 1
            assert mean == pytest.approx(least_mean(list(counts)) / sum(counts))


def test_the_example_of_the_paper_takes_fifteen_eighths():
    model = PowersetTreeClassifier(random_state=0).fit(np.eye(8, dtype=np.float32), EXAMPLE)
    assert model.mean_decisions_ == 15 / 8
    assert model.entropy_ == pytest.approx(1.8113, abs=1e-4)
    assert sorted(code_lengths(shape(model)).values()) == [1, 2, 3, 3]


def test_a_fitted_tree_has_huffmans_mean():
    X, Y = random_csr(300, 20, 0.2), random_labels(300, 12)
    model = PowersetTreeClassifier(random_state=0).fit(X, Y)
    counts = list(Counter(sets_of(Y)).values())
    assert model.mean_decisions_ == pytest.approx(brute_force_mean(counts))
    assert model.entropy_ <= model.mean_decisions_ < model.entropy_ + 1


def test_among_equal_counts_sets_with_common_labels_are_neighbors():
    Y = sp.csr_array(
        np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, 0]], dtype=np.float32)
    )
    model = PowersetTreeClassifier(random_state=0).fit(np.eye(4, dtype=np.float32), Y)
    pairs = {frozenset(pair) for pair in shape(model)}
    assert pairs == {
        frozenset({frozenset({0}), frozenset({0, 1})}),
        frozenset({frozenset({2}), frozenset({2, 3})}),
    }


def test_counts_that_double_make_a_chain():
    assert lengths([2**i for i in range(60)]) == [59, *range(59, 0, -1)]
