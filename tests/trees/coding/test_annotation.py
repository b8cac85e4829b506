import itertools
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.core.sparse import csr_arrays
from labelwood.trees.coding._shape_kernels import annotate, node_depths, preorder
from labelwood.trees.coding._walk_kernels import _chain, _chain_pays
from labelwood.trees.coding.estimator import AnnotationTreeClassifier
from labelwood.trees.coding.label_sets import label_sets
from trees.coding.codingtrees import code_lengths, entropy, sets_of, shape, walk


def brute_force_tree(sets):
    """Algorithm 4 as it is written, on a list of label sets."""
    frequency = Counter(itertools.chain.from_iterable(sets))
    working = [label for label in frequency if frequency[label] < len(sets)]
    if not working:
        return frozenset(sets[0])
    label = min(working, key=lambda one: (-frequency[one], one))
    return (
        brute_force_tree([one for one in sets if label in one]),
        brute_force_tree([one for one in sets if label not in one]),
    )


def mean_and_entropy(sets):
    """The mean number of decisions of samples that follow their own code, and the entropy."""
    counts = Counter(map(frozenset, sets))
    depths = code_lengths(brute_force_tree(sets))
    mean = sum(counts[one] * depths[one] for one in counts) / len(sets)
    return mean, entropy(list(counts.values()))


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 9), st.floats(0.2, 5))
def test_the_tree_is_that_of_algorithm_4(seed, n, n_labels, per_point):
    Y = random_labels(n, n_labels, min(per_point, 0.9 * n_labels), seed)
    sets, counts, _ = label_sets(Y)
    code = annotate(csr_arrays(sets), csr_arrays(sp.csr_array(sets.T)), counts)
    names = sets_of(sets)

    def nested(node):
        if node < len(names):
            return names[node]
        made = node - len(names)
        return nested(code[0][made]), nested(code[1][made])

    assert nested(code[2]) == brute_force_tree(sets_of(Y))


def test_a_fitted_tree_has_the_shape_of_algorithm_4():
    X, Y = random_csr(150, 20, 0.2), random_labels(150, 12)
    model = AnnotationTreeClassifier(random_state=0).fit(X, Y)
    assert shape(model) == brute_force_tree(sets_of(Y))
    mean, bits = mean_and_entropy(sets_of(Y))
    assert model.mean_decisions_ == pytest.approx(mean)
    assert model.entropy_ == pytest.approx(bits)


def test_the_example_of_the_paper_asks_for_a_then_b_or_e():
    sets = [["a", "b"]] * 3 + [["a", "c"]] + [["e"]] * 3 + [["c"]]  # figure 3 of the paper
    model = AnnotationTreeClassifier(random_state=0).fit(np.eye(8, dtype=np.float32), sets)
    a, b, c, e = range(4)
    assert shape(model) == (
        (frozenset({a, b}), frozenset({a, c})),
        (frozenset({e}), frozenset({c})),
    )
    assert model.mean_decisions_ == 2


def test_a_chain_of_thousands_of_labels_is_built():
    n = 5000
    Y = sp.csr_array(sp.identity(n, dtype=np.float32))
    counts = np.ones(n, dtype=np.int64)
    code = annotate(csr_arrays(Y), csr_arrays(Y), counts)
    right, leaves = preorder(*code, n)
    assert np.array_equal(leaves[leaves >= 0], np.arange(n))
    assert node_depths(right).max() == n - 1


def test_rows_that_go_down_a_chain_together_reach_the_leaves_of_the_dense_walk():
    X = random_csr(400, 40, 0.3)
    Y = sp.csr_array((np.random.default_rng(0).random((400, 60)) < 0.03).astype(np.float32))
    model = AnnotationTreeClassifier(random_state=0, balance=1.0).fit(X, Y)
    new = random_csr(900, 40, 0.3, seed=5)
    tree, chain = model._tree(), np.empty(16, dtype=np.int64)
    size = _chain(tree, 0, tree.right.size, chain)
    assert _chain_pays(csr_arrays(new), tree, chain[:size], np.arange(450, dtype=np.uint32))
    leaves, lengths = walk(model, new)
    np.testing.assert_array_equal(tree.leaves(new, True, 1), leaves)
    assert np.unique(leaves).size > 20
    assert model.mean_decisions(new) == pytest.approx(lengths.mean())


# Theorem 13 claims H ≤ mean < H + 1. The first half holds for every binary tree; the second
# one for small samples only.


@given(st.lists(st.frozensets(st.integers(0, 4)), min_size=1, max_size=30))
def test_no_sample_takes_fewer_decisions_than_its_entropy(sets):
    mean, bits = mean_and_entropy(sets)
    assert mean >= bits - 1e-9


def samples(n_labels, n):
    """Every sample of n samples over the subsets of the labels, in no order."""
    subsets = [
        frozenset(one)
        for size in range(n_labels + 1)
        for one in itertools.combinations(range(n_labels), size)
    ]
    return itertools.combinations_with_replacement(subsets, n)


@pytest.mark.parametrize(("n_labels", "n_samples"), [(2, 11), (3, 8), (4, 7)])
def test_theorem_13_fails_first_when_most_points_have_no_label(n_labels, n_samples):
    alone = [frozenset({label}) for label in range(n_labels)]
    mean, bits = mean_and_entropy([frozenset()] * (n_samples - n_labels) + alone)
    assert mean > bits + 1
    if n_labels < 4:
        for sets in samples(n_labels, n_samples - 1):
            mean, bits = mean_and_entropy(list(sets))
            assert mean < bits + 1


def test_theorem_13_holds_up_to_six_points_as_even_a_chain_keeps_to_it():
    for n in range(1, 7):
        for n_sets in range(1, n + 1):
            for counts in itertools.combinations_with_replacement(range(1, n + 1), n_sets):
                if sum(counts) != n:
                    continue
                # No tree has longer ways: the heaviest leaves are the deepest of a chain.
                depths = [*range(1, n_sets), n_sets - 1]
                assert np.dot(depths, counts) / n < entropy(counts) + 1


def test_theorem_13_fails_when_every_label_is_rare():
    mean, bits = mean_and_entropy([frozenset({label}) for label in range(7)])
    assert mean == pytest.approx(27 / 7)
    assert mean > bits + 1


def test_no_number_of_bits_more_is_enough_for_every_sample():
    n_labels = 6
    whole = frozenset(range(n_labels))
    sets = [whole] * 1000 + [whole - {label} for label in range(n_labels)]
    mean, bits = mean_and_entropy(sets)
    assert bits < 0.2
    assert mean > n_labels - 0.1
