"""Taxonomies in which a label may have several parents."""

import itertools

import numpy as np
import pytest

from labelwood import metrics
from labelwood.data.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

# a and b are roots; c has both, d hangs on c and b, e on a alone.
EDGES = [("a", "c"), ("b", "c"), ("c", "d"), ("b", "d"), ("a", "e")]
NAMES = ("a", "b", "c", "d", "e")
PARENTS = {2: [0, 1], 3: [2, 1], 4: [0]}


def graph(rule: str) -> Taxonomy:
    return Taxonomy.from_edges(EDGES, NAMES, parents=rule)


def closed(labels: set[int], rule: str) -> set[int]:
    """By definition: from the deepest labels upwards, those of one depth at once."""
    result = set(labels)
    for level in ([3], [2, 4]):
        needed = set()
        for node in level:
            if node in result:
                if rule == "all":
                    needed |= set(PARENTS[node])
                elif not result & set(PARENTS[node]):
                    needed.add(PARENTS[node][0])
        result |= needed
    return result


@pytest.mark.parametrize("rule", ["any", "all"])
def test_closure_and_its_check_agree_with_the_definition_on_every_label_set(rule: str) -> None:
    dag = graph(rule)
    rows = np.array(list(itertools.product([0, 1], repeat=5)))
    result = dag.close(rows).toarray()
    for row, found in zip(rows, result, strict=True):
        assert set(np.flatnonzero(found)) == closed(set(np.flatnonzero(row)), rule)
        needs = any if rule == "any" else all
        holds = all(
            not row[node] or needs(row[parent] for parent in above)
            for node, above in PARENTS.items()
        )
        assert dag.is_closed(row[None, :]) == holds
    assert dag.is_closed(result)


def test_depth_is_that_of_the_longest_path_and_parents_come_before_children() -> None:
    dag = graph("any")
    assert dag.depth.tolist() == [0, 0, 1, 2, 1]
    place = {int(node): i for i, node in enumerate(dag.order)}
    assert all(place[p] < place[node] for node, above in PARENTS.items() for p in above)
    assert dag.children(1).tolist() == [2, 3]
    assert dag.ancestors(3).tolist() == [2, 0, 1]
    assert dag.roots.tolist() == [0, 1]
    assert dag.leaves.tolist() == [3, 4]
    assert repr(dag) == (
        "Taxonomy(5 nodes, 2 roots, 2 leaves, depth 2, any of several parents of 2 nodes)"
    )


def test_a_graph_survives_files_and_dictionaries(tmp_path: object) -> None:
    dag = graph("all")
    assert Taxonomy.from_dict(dag.to_dict()) == dag
    path = tmp_path / "edges.tsv"  # type: ignore[operator]
    dag.to_file(path)
    assert Taxonomy.from_file(path, NAMES, parents="all") == dag
    assert dag != graph("any")


def test_a_label_that_is_left_out_hands_its_parents_down() -> None:
    small = graph("any").align(["d", "a", "b"])
    assert small.parent_sets.of(0).tolist() == [1, 2]
    assert small.parents == "any"


def test_labels_with_one_parent_each_are_a_forest_under_either_rule() -> None:
    tree = Taxonomy.from_edges([("a", "b"), ("b", "c")], parents="any")
    assert tree.is_forest
    assert tree.close([[0, 0, 1]]).toarray().tolist() == [[1, 1, 1]]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "b")], "cycle .*: b → c → b|cycle .*: c → b → c"),
        # d hangs on the cycle and so has no path to a root, though a is one.
        ([("a", "e"), ("b", "c"), ("c", "b"), ("c", "d"), ("b", "d")], "has a cycle"),
        ([("b", "b"), ("a", "b")], "'b' is its own parent"),
        ([(None, "b"), ("a", "b")], "'b' is a root and has the parent 'a'"),
    ],
)
def test_a_graph_with_a_cycle_or_a_label_without_a_path_to_a_root_is_refused(
    edges: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Taxonomy.from_edges(edges, parents="any")


def test_bad_rules_and_further_parents_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"'parents' .* 'any', 'all'"):
        Taxonomy.from_edges(EDGES, parents="some")
    with pytest.raises(DataError, match="need parents='any' or parents='all'"):
        Taxonomy(("a", "b", "c"), np.array([-1, -1, 0]), None, np.array([[2, 1]]))
    with pytest.raises(DataError, match="must differ"):
        Taxonomy(("a", "b", "c"), np.array([-1, -1, 0]), "any", np.array([[2, 0]]))
    with pytest.raises(DataError, match=r"pairs of labels, 0…2"):
        Taxonomy(("a", "b", "c"), np.array([-1, -1, 0]), "any", np.array([[2, 7]]))
    with pytest.raises(DataError, match=r"'c' \(parents all of 'a', 'b'\)"):
        graph("all").check([[1, 0, 1, 0, 0]])


def test_hierarchical_metrics_close_by_the_rule_of_the_graph() -> None:
    true, predicted = [[0, 1, 1, 1, 0]], [[0, 1, 0, 1, 0]]
    # With "any", d is closed by b alone; with "all" it brings c and a.
    assert metrics.any_wrong_loss(true, predicted, graph("any")) == 1
    assert metrics.any_wrong_loss(true, predicted, graph("all")) == 0
    assert metrics.hierarchical_f1(true, predicted, graph("any")) == pytest.approx(4 / 5)
