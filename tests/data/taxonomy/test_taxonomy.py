import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import random_labels
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError

ZOO = [("animal", "cat"), ("animal", "dog"), ("cat", "lion"), ("plant", "oak")]


@st.composite
def forests(draw: st.DrawFn) -> Taxonomy:
    """A forest whose columns are in no particular order."""
    n = draw(st.integers(1, 12))
    upward = [draw(st.integers(-1, i - 1)) for i in range(n)]
    place = draw(st.permutations(range(n)))
    parent = np.full(n, -1)
    for i, above in enumerate(upward):
        parent[place[i]] = -1 if above < 0 else place[above]
    return Taxonomy(tuple(f"n{i}" for i in range(n)), parent)


def brute_ancestors(tree: Taxonomy, i: int) -> list[int]:
    above = int(tree.parent[i])
    return [] if above < 0 else [above, *brute_ancestors(tree, above)]


def test_a_taxonomy_cannot_be_changed():
    tree = Taxonomy.from_edges(ZOO)

    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 1
    with pytest.raises(AttributeError, match="cannot assign"):
        tree.names = ()


def test_the_callers_array_of_parents_stays_their_own():
    parents = np.array([-1, 0], dtype=np.int32)
    tree = Taxonomy(("a", "b"), parents)

    parents[1] = -1

    assert tree.parent.tolist() == [-1, 0]


def test_equal_forests_are_equal_and_hash_alike():
    tree, same = Taxonomy.from_edges(ZOO), Taxonomy.from_edges(reversed(ZOO))

    assert tree == same
    assert hash(tree) == hash(same)
    assert tree != Taxonomy(tree.names, np.full(6, -1))
    assert tree != tree.align(tree.names[::-1])
    assert tree != "tree"


@pytest.mark.parametrize("i", [-1, 6])
def test_a_label_outside_the_forest_has_no_relatives(i):
    tree = Taxonomy.from_edges(ZOO)

    with pytest.raises(DataError, match=f"Label {i} is outside 0…5"):
        tree.children(i)
    with pytest.raises(DataError, match=f"Label {i} is outside 0…5"):
        tree.ancestors(i)


@settings(deadline=None)
@given(forests())
def test_relations_agree_with_walking_up_from_every_node(tree):
    n = len(tree)
    ancestors = [brute_ancestors(tree, i) for i in range(n)]

    assert [tree.ancestors(i).tolist() for i in range(n)] == ancestors
    assert tree.depth.tolist() == [len(above) for above in ancestors]
    for i in range(n):
        assert tree.children(i).tolist() == [j for j in range(n) if tree.parent[j] == i]
    assert tree.leaves.tolist() == [i for i in range(n) if tree.children(i).size == 0]
    assert tree.roots.tolist() == [i for i in range(n) if not ancestors[i]]


@settings(deadline=None)
@given(forests())
def test_the_order_has_every_node_once_and_parents_first(tree):
    place = {int(node): at for at, node in enumerate(tree.order)}

    assert sorted(place) == list(range(len(tree)))
    assert all(place[i] > place[p] for i, p in enumerate(tree.parent) if p >= 0)


@settings(deadline=None)
@given(forests(), st.data())
def test_closure_adds_exactly_the_ancestors(tree, data):
    n = len(tree)
    rows = data.draw(st.lists(st.sets(st.integers(0, n - 1)), max_size=5))
    Y = np.zeros((len(rows), n))
    expected = np.zeros((len(rows), n))
    for row, labels in enumerate(rows):
        for label in labels:
            Y[row, label] = 1
            expected[row, [label, *brute_ancestors(tree, label)]] = 1

    closed = tree.close(Y)

    assert closed.dtype == np.float32
    assert closed.has_canonical_format
    np.testing.assert_array_equal(closed.toarray(), expected)
    assert tree.is_closed(closed)
    assert tree.is_closed(Y) == np.array_equal(Y, expected)


def test_a_closed_matrix_passes_the_check():
    tree = Taxonomy.from_edges(ZOO)

    tree.check(tree.close(random_labels(50, 6)))


def test_a_missing_parent_is_named_with_its_row_and_labels():
    tree = Taxonomy.from_edges(ZOO)
    Y = sp.csr_array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0]])

    with pytest.raises(
        DataError,
        match=r"Row 1 has labels without their parents: 'dog' \(parent 'animal'\), "
        r"'lion' \(parent 'cat'\), and so in 1 other row; close\(Y\) adds",
    ):
        tree.check(Y)


def test_a_label_matrix_of_another_width_is_refused():
    with pytest.raises(DataError, match=r"Y has 3 columns and the taxonomy 6 nodes; align"):
        Taxonomy.from_edges(ZOO).close(random_labels(2, 3))


def test_closure_takes_read_only_labels_with_long_indices():
    tree = Taxonomy.from_edges(ZOO)
    Y = sp.csr_array(random_labels(20, 6))
    expected = tree.close(Y).toarray()
    Y.indices, Y.indptr = Y.indices.astype(np.int64), Y.indptr.astype(np.int64)
    for array in (Y.indices, Y.indptr, Y.data):
        array.flags.writeable = False

    np.testing.assert_array_equal(tree.close(Y).toarray(), expected)
    assert not tree.is_closed([[0, 1, 0, 0, 0, 0]])


def test_a_deep_chain_is_read_and_closed_without_recursion():
    n = 100_000
    tree = Taxonomy(tuple(str(i) for i in range(n)), np.arange(-1, n - 1))
    deepest = sp.csr_array(([1.0], [n - 1], [0, 1]), shape=(1, n))

    assert repr(tree) == "Taxonomy(100,000 nodes, 1 root, 1 leaf, depth 99999)"
    assert tree.close(deepest).nnz == n
    assert tree.align(["99999", "0"]).parent.tolist() == [1, -1]


def test_alignment_follows_the_order_of_the_labels():
    tree = Taxonomy.from_edges(ZOO)

    aligned = tree.align(tree.names[::-1])

    assert aligned.names == tree.names[::-1]
    assert aligned.ancestors(aligned.index("lion")).tolist() == [4, 5]


@settings(deadline=None)
@given(forests(), st.data())
def test_alignment_keeps_the_ancestors_among_the_labels(tree, data):
    names = data.draw(st.lists(st.sampled_from(tree.names), min_size=1, unique=True))

    aligned = tree.align(names)

    assert aligned.names == tuple(names)
    for i, name in enumerate(names):
        kept = [tree.names[a] for a in brute_ancestors(tree, tree.index(name))]
        assert [names[a] for a in aligned.ancestors(i)] == [a for a in kept if a in names]


def test_a_label_outside_the_taxonomy_is_named_or_stands_alone():
    tree = Taxonomy.from_edges(ZOO)

    with pytest.raises(DataError, match=r"2 labels not in the taxonomy: 'elf', 'orc'; unknown="):
        tree.align(["cat", "elf", "orc"])
    aligned = tree.align(["animal", "elf", "cat", "orc"], unknown="root")

    assert aligned.parent.tolist() == [-1, -1, 0, -1]


def test_the_index_of_an_unknown_label_is_an_error():
    with pytest.raises(DataError, match="Unknown node 'elf'"):
        Taxonomy.from_edges(ZOO).index("elf")


@settings(deadline=None)
@given(forests())
def test_a_taxonomy_survives_json(tree):
    assert Taxonomy.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ([], "exactly the keys 'names' and 'parents'"),
        ({"names": ["a"]}, "exactly the keys"),
        ({"names": "a", "parents": [-1]}, "lists of names and of parents"),
        ({"names": ["a"], "parents": [True]}, "whole numbers as parents"),
        ({"names": ["a"], "parents": ["-1"]}, "whole numbers as parents"),
        ({"names": ["a"], "parents": [10**30]}, "outside −1…0"),
        ({"names": ["a", "b"], "parents": [1, 0]}, "cycle"),
        ({"names": [["a"]], "parents": [-1]}, "must hold text"),
        ({"names": [], "parents": []}, "at least one node"),
    ],
)
def test_a_strangers_stored_taxonomy_is_refused(stored, message):
    with pytest.raises(DataError, match=message):
        Taxonomy.from_dict(stored)
