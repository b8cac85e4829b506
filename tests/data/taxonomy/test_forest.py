"""A forest from edges, from paths, or from names and parents."""

import numpy as np
import pytest

from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

ZOO = [("animal", "cat"), ("animal", "dog"), ("cat", "lion"), ("plant", "oak")]


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
        (("a", "a", "b"), [-1, -1, -1], "The list of nodes holds 'a' twice"),
        (("a", 2), [-1, -1], "The list of nodes must hold text. Got 2 instead"),
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
