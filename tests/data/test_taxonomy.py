import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import random_labels
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

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


def test_edges_by_name_give_a_forest_with_sorted_names():
    tree = Taxonomy.from_edges(ZOO)

    assert tree.names == ("animal", "cat", "dog", "lion", "oak", "plant")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 5, -1]
    assert tree.depth.tolist() == [0, 1, 1, 2, 1, 0]
    assert tree.roots.tolist() == [0, 5]
    assert tree.leaves.tolist() == [2, 3, 4]
    assert tree.children(0).tolist() == [1, 2]
    assert tree.children(3).tolist() == []
    assert tree.ancestors(3).tolist() == [1, 0]
    assert tree.index("oak") == 4
    assert len(tree) == 6
    assert repr(tree) == "Taxonomy(6 nodes, 2 roots, 3 leaves, depth 2)"


def test_edges_by_index_name_the_nodes_by_number():
    tree = Taxonomy.from_edges([(-1, 3), (3, 0), (0, 1)])

    assert tree.names == ("0", "1", "2", "3")
    assert tree.parent.tolist() == [3, 0, -1, -1]


def test_edges_by_index_refer_to_given_names():
    tree = Taxonomy.from_edges([(2, 0)], names=["c", "alone", "a"])

    assert tree == Taxonomy(("c", "alone", "a"), np.array([2, -1, -1]))


def test_a_root_can_be_declared_by_none_or_minus_one_beside_names():
    assert Taxonomy.from_edges([(None, "a"), (-1, "b"), ("a", "c")]).parent.tolist() == [-1, -1, 0]


def test_the_same_edge_twice_counts_once():
    assert Taxonomy.from_edges([*ZOO, *ZOO]) == Taxonomy.from_edges(ZOO)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "a")], r"cycle \(parent → child\): a → b → c → a"),
        ([("a", "a")], "'a' is its own parent"),
        ([("a", "c"), ("b", "c")], "'c' has two parents, 'a' and 'b'; multiple_parents='first'"),
        ([(None, "c"), ("b", "c")], "'c' has two parents, no parent and 'b'"),
        ([], "at least one node"),
        ([("a", None)], r"edge \('a', None\) has no child"),
        ([("a", 1)], "all names or all indices"),
        ([(None, "")], "must have names. Got ''"),
    ],
)
def test_edges_that_are_no_forest_are_refused_by_node(edges, message):
    with pytest.raises(DataError, match=message):
        Taxonomy.from_edges(edges)


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (("a", "z"), "Unknown node 'z': it is not one of the 2 names"),
        ((0, 2), "Node 2 is outside −1…1"),
        ((0, -2), "Node -2 is outside −1…1"),
        ((0, 1.5), "must be a name or an index. Got 1.5"),
    ],
)
def test_an_edge_outside_the_given_names_is_refused(edge, message):
    with pytest.raises(DataError, match=message):
        Taxonomy.from_edges([edge], names=["a", "b"])


def test_a_long_cycle_is_shortened_in_the_message():
    n = 1000
    with pytest.raises(DataError, match=r"0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → … → 0\.$"):
        Taxonomy.from_edges([(i, (i + 1) % n) for i in range(n)])


def test_a_graph_is_taken_as_a_tree_by_its_first_parents():
    tree = Taxonomy.from_edges([("a", "c"), ("b", "c"), ("c", "d")], multiple_parents="first")

    assert tree.names == ("a", "b", "c", "d")
    assert tree.parent.tolist() == [-1, -1, 0, 2]


def test_an_unknown_way_with_multiple_parents_is_refused():
    with pytest.raises(ParameterError, match=r"'multiple_parents' .* one of 'error', 'first'"):
        Taxonomy.from_edges(ZOO, multiple_parents="last")


def test_paths_create_the_nodes_between():
    tree = Taxonomy.from_paths(["b", "a.x.y", "a.z"], separator=".")

    assert tree.names == ("a", "a.x", "a.x.y", "a.z", "b")
    assert tree.parent.tolist() == [-1, 0, 1, 0, -1]


@pytest.mark.parametrize("path", ["", "a//b", "/a", "a/"])
def test_a_path_with_an_empty_part_is_refused(path):
    with pytest.raises(DataError, match="has an empty part"):
        Taxonomy.from_paths(["a/b", path])


@pytest.mark.parametrize(
    ("names", "parents", "message"),
    [
        (("a", "a", "b"), [-1, -1, -1], "different names. Twice: 'a'"),
        (("a", 2), [-1, -1], "must have names. Got 2"),
        (("a", "b"), [-1], r"2 nodes needs as many parents. Got \(1,\)"),
        (("a", "b"), [-1, 2], "'b' has the parent 2, outside −1…1"),
        (("a", "b"), [-2, 0], "'a' has the parent -2"),
        (("a", "b"), [-1, 0.5], "whole numbers. Got float64"),
        (("a", "b"), [1, 0], "a → b → a"),
    ],
)
def test_names_and_parents_that_are_no_forest_are_refused(names, parents, message):
    with pytest.raises(DataError, match=message):
        Taxonomy(names, parents)


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
        r"'lion' \(parent 'cat'\), as do 1 other row; close\(Y\) adds",
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
        ({"names": [["a"]], "parents": [-1]}, "must have names"),
        ({"names": [], "parents": []}, "at least one node"),
    ],
)
def test_a_strangers_stored_taxonomy_is_refused(stored, message):
    with pytest.raises(DataError, match=message):
        Taxonomy.from_dict(stored)


def test_a_taxonomy_survives_a_file(tmp_path: Path):
    tree = Taxonomy.from_edges([*ZOO, (None, "Löwe mit Zahn")])

    tree.to_file(tmp_path / "tree.tsv")

    assert Taxonomy.from_file(tmp_path / "tree.tsv") == tree
    reordered = tree.align(tree.names[::-1])
    reordered.to_file(tmp_path / "tree.tsv")
    assert Taxonomy.from_file(tmp_path / "tree.tsv", reordered.names) == reordered


def test_a_name_with_a_tab_cannot_be_written(tmp_path: Path):
    with pytest.raises(DataError, match=r"tab or a line end cannot be written: 'a\\tb'"):
        Taxonomy(("a\tb",), [-1]).to_file(tmp_path / "tree.tsv")


def test_a_file_may_have_parents_first_blanks_a_root_word_and_windows_line_ends(tmp_path: Path):
    path = tmp_path / "edges.txt"
    path.write_bytes(b"\xef\xbb\xbfRoot a\r\na b\r\n\r\na\tlong name\r\n")

    tree = Taxonomy.from_file(path, columns="parent child", root="Root")

    assert tree == Taxonomy.from_edges([(None, "a"), ("a", "b"), ("a", "long name")])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"a b\na b c\n", {}, r"edges\.txt, line 2: two columns are expected\. Got 3: 'a b c'"),
        (b"a\n", {}, r"line 1: two columns are expected\. Got 1"),
        (b"\tb\n", {}, r"line 1: the child has no name"),
        (b"0 1\nx 1\n", {"entries": "indices"}, r"line 2: an index is expected\. Got 'x'"),
        (b"a b\nb a\n", {}, r"edges\.txt: The taxonomy has a cycle"),
        (b"c a\nc b\n", {}, r"edges\.txt: The node 'c' has two parents"),
        (b"a \xff\n", {}, r"edges\.txt: not UTF-8 text \(byte 2\)"),
        (b"\n", {}, r"edges\.txt: A taxonomy needs at least one node"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(tmp_path: Path, content, options, message):
    path = tmp_path / "edges.txt"
    path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        Taxonomy.from_file(path, **options)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(DataError, match=r"none\.txt: cannot be read \(No such file"):
        Taxonomy.from_file(tmp_path / "none.txt")


@pytest.mark.parametrize("option", [{"columns": "both"}, {"entries": "numbers"}])
def test_an_unknown_file_option_is_refused(tmp_path: Path, option):
    with pytest.raises(ParameterError, match="must be one of"):
        Taxonomy.from_file(tmp_path / "none.txt", **option)


@pytest.mark.shared
def test_the_tree_of_newswire_topics_is_read_by_index(shared_data: Path):
    folder = shared_data / "rcv1-15k-hier"
    names = (folder / "labels.txt").read_text().split()

    tree = Taxonomy.from_file(
        folder / "hierarchy.txt", names, columns="parent child", entries="indices"
    )

    assert repr(tree) == "Taxonomy(103 nodes, 4 roots, 82 leaves, depth 3)"
    assert [names[i] for i in tree.roots] == ["CCAT", "ECAT", "GCAT", "MCAT"]


@pytest.mark.shared
@pytest.mark.parametrize("corpus", ["cellcycle_FUN", "enron_corr", "imclef07a"])
def test_paths_and_edges_of_the_same_data_give_the_same_tree(shared_data: Path, corpus):
    folder = shared_data / "hmc" / corpus
    names = (folder / "labels.txt").read_text().splitlines()

    by_edges = Taxonomy.from_file(
        folder / "hierarchy.txt", names, columns="parent child", entries="indices"
    )

    assert Taxonomy.from_paths(names).align(names) == by_edges


@pytest.mark.shared
def test_a_thesaurus_with_several_parents_needs_to_be_told_so(shared_data: Path):
    folder = shared_data / "eurlex57k"
    path = folder / "hierarchy.tsv"
    labels = [line.split("\t")[0] for line in (folder / "labels.txt").read_text().splitlines()]

    with pytest.raises(DataError, match="has two parents"):
        Taxonomy.from_file(path, columns="parent child")
    tree = Taxonomy.from_file(path, columns="parent child", multiple_parents="first")

    assert len(tree) == 7_131
    assert len(tree.align(labels, unknown="root")) == 4_271
