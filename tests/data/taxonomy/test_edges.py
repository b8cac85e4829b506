"""A forest in a text file of edges."""

import io
from pathlib import Path

import pytest

from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError


@pytest.mark.parametrize("name", ["tree.tsv", "tree.tsv.gz", "tree.tsv.xz"])
def test_a_taxonomy_survives_a_file(tmp_path: Path, name):
    tree = Taxonomy.from_edges([("animal", "cat"), ("cat", "lion"), (None, "Löwe mit Zahn")])

    tree.to_file(tmp_path / name)

    assert Taxonomy.from_file(tmp_path / name) == tree
    reordered = tree.align(tree.names[::-1])
    reordered.to_file(tmp_path / name)
    assert Taxonomy.from_file(tmp_path / name, reordered.names) == reordered


def test_a_file_is_written_in_column_order_and_read_from_standard_input(monkeypatch, capfdbinary):
    tree = Taxonomy(("b", "a"), [1, -1])

    tree.to_file("-")

    written = capfdbinary.readouterr().out
    assert written == b"b\ta\na\t\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(written)))
    assert Taxonomy.from_file("-", ["b", "a"]) == tree


def test_a_name_with_a_tab_is_refused():
    with pytest.raises(DataError, match=r"holds 'a\\tb', a name with a control character"):
        Taxonomy(("a\tb",), [-1])


def test_an_index_far_beyond_the_number_of_nodes_is_refused(tmp_path: Path):
    (tmp_path / "tree.txt").write_text("999999999999 0\n")
    with pytest.raises(DataError, match="Node 999,999,999,999 would make as many nodes"):
        Taxonomy.from_file(tmp_path / "tree.txt", entries="indices")


@pytest.mark.parametrize("index", ["1_0", "１"])
def test_an_index_is_written_in_plain_digits(tmp_path: Path, index: str):
    (tmp_path / "tree.txt").write_text(f"{index} 0\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"found '{index}' where an index is expected"):
        Taxonomy.from_file(tmp_path / "tree.txt", entries="indices")


def test_a_file_may_have_parents_first_blanks_a_root_word_and_windows_line_ends(tmp_path: Path):
    path = tmp_path / "edges.txt"
    path.write_bytes(b"\xef\xbb\xbfRoot a\r\na b\r\n\r\na\tlong name\r\n")

    tree = Taxonomy.from_file(path, columns="parent child", root="Root")

    assert tree == Taxonomy.from_edges([(None, "a"), ("a", "b"), ("a", "long name")])


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (b"a b\na b c\n", {}, r"edges\.txt, line 2: found 'a b c' where two columns are expected"),
        (b"a\n", {}, r"line 1: found 'a' where two columns are expected"),
        (b"\tb\n", {}, r"line 1: the child has no name"),
        (b"0 1\nx 1\n", {"entries": "indices"}, r"line 2: found 'x' where an index is expected"),
        (b"a b\nb a\n", {}, r"edges\.txt: The taxonomy has a cycle"),
        (b"c a\nc b\n", {}, r"edges\.txt: The node 'c' has two parents"),
        (b"a \xff\n", {}, r"edges\.txt, line 1: byte 0xff at position 3 is not UTF-8"),
        (b"\n", {}, r"edges\.txt is empty"),
    ],
)
def test_a_malformed_file_is_refused_with_its_place(tmp_path: Path, content, options, message):
    path = tmp_path / "edges.txt"
    path.write_bytes(content)

    with pytest.raises(DataError, match=message):
        Taxonomy.from_file(path, **options)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(DataError, match=r"none\.txt: there is no such file"):
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
