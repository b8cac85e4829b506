"""`load_dataset` and `save_dataset`: formats, options, and bytes that nobody meant."""

import gzip
import io
import json
import subprocess
import sys
import warnings

import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.load import load_dataset, save_dataset
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, LabelwoodWarning, ParameterError

XMC = "2 4 3\n0,2 1:0.5 3:2\n1 0:1\n"
SVMLIGHT = "# made by hand\na,b 1:0.5 3:2\n+1 qid:3 2:1 # why\n"
JSONL = '{"id": "a", "text": "An owl.", "labels": ["owl"]}\n{"id": "b", "text": "", "labels": []}\n'
CSV = "id,text,labels\n1,An owl.,owl;bird\n2,A cat.,\n"
TSV = CSV.replace(",", "\t")
ARFF = (
    "@relation 'r: -C 1'\n@attribute owl {0,1}\n@attribute size numeric\n@attribute kind {a,b}\n"
    "@data\n1,2.5,a\n{0 1, 2 b}\n"
)
TEXTS = {"xmc": XMC, "svmlight": SVMLIGHT, "jsonl": JSONL, "csv": CSV, "tsv": TSV, "arff": ARFF}
TITLES = {
    "xmc": "XMC text", "svmlight": "svmlight, features from 1", "jsonl": "JSONL",
    "csv": "CSV", "tsv": "TSV", "arff": "ARFF",
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.mark.parametrize("format_name", TEXTS)
@pytest.mark.parametrize("name", ["data", "data.txt", "data.TXT.gz"])
def test_the_format_is_told_from_the_content_and_named(write, format_name, name):
    content = TEXTS[format_name].encode()
    data = load_dataset(write(name, gzip.compress(content) if "gz" in name else content))
    assert data.description == f"{name} ({TITLES[format_name]})"
    assert len(data) == 2


@pytest.mark.parametrize(
    ("name", "content", "title"),
    [
        ("a.svm", XMC, "XMC text"),
        ("a.libsvm", "1\n", "svmlight, features from 1"),
        ("a.ndjson", JSONL, "JSONL"),
        ("a.csv", "id,a,text\n1,2,b\n", "CSV, no labels among the columns 'id', 'a', 'text'"),
        ("a.tab", TSV, "TSV"),
        ("a.arff", ARFF, "ARFF"),
        ("a", " 1:2\n", "svmlight, features from 1"),
        ("a", "1 qid:2 1:2\n", "svmlight, features from 1"),
    ],
)
def test_the_suffix_helps_to_tell_the_format(write, name, content, title):
    assert load_dataset(write(name, content)).description == f"{name} ({title})"


def test_a_given_format_overrides_the_suffix(write):
    assert load_dataset(write("a.csv", JSONL), format="jsonl").ids == ["a", "b"]


def test_a_format_that_cannot_be_told_is_an_error(write):
    with pytest.raises(DataError, match=r"a\.txt: cannot tell the format from 'hello'; give it by"):
        load_dataset(write("a.txt", "hello\nworld\n"))


def test_standard_input_is_read(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(JSONL.encode())))
    monkeypatch.setattr("sys.stdin", stream)
    data = load_dataset("-")
    assert (data.description, data.ids) == ("standard input (JSONL)", ["a", "b"])


def test_archives_and_parquet_are_known_by_their_first_bytes(tmp_path):
    data = Dataset(random_csr(3, 2), random_labels(3, 2))
    save_dataset(data, tmp_path / "data.bin", format="npz")
    assert load_dataset(tmp_path / "data.bin").description == "data.bin (NumPy archive)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "xls"}, "The 'format' parameter of load_dataset must be one of 'xmc', 'svml"),
        ({"one_based": 1}, "The 'one_based' parameter of load_dataset must be True or False or No"),
        ({"n_features": -1}, "The 'n_features' parameter of load_dataset must be an int ≥ 0"),
        (
            {"missing": "mean"},
            "The 'missing' parameter of load_dataset must be one of 'error', 'ze",
        ),
        ({"label_separator": ""}, "The 'label_separator' parameter of load_dataset must not be"),
        ({"text_column": []}, "The 'text_column' parameter of load_dataset must not be empty"),
        (
            {"n_features": 4},
            "parameter of load_dataset is for svmlight, JSONL; XMC text has no use",
        ),
        ({"text_column": "a"}, "is for JSONL, CSV, TSV, Parquet; XMC text has no use for it"),
    ],
)
def test_options_with_a_wrong_value_or_no_use_are_errors(write, options, message):
    with pytest.raises(ParameterError, match=message):
        load_dataset(write("a.txt", XMC), **options)


def test_a_taxonomy_is_kept_or_read_from_its_file(write):
    forest = Taxonomy.from_edges([("0", "1")], ["0", "1", "2"])
    path = write("a.txt", XMC)
    edges = write("edges.tsv", "1\t0\n2\t\n")
    assert load_dataset(path, taxonomy=forest).taxonomy is forest
    assert load_dataset(path, taxonomy=edges).taxonomy == forest


def test_ids_of_a_label_file_become_names_in_data_and_taxonomy(write):
    labels = write("labels.txt", "c7\towl\nc8\tbird\nc9\tcat\n")
    edges = write("edges.tsv", "c7\tc8\nc5\tc8\n")
    numbered = load_dataset(write("a.txt", XMC), label_names=labels, taxonomy=edges)
    named = load_dataset(
        write("a.jsonl", '{"text": "", "labels": ["c9", "c7"]}'), label_names=labels
    )
    assert numbered.label_lists() == [["owl", "cat"], ["bird"]]
    assert named.label_lists() == [["owl", "cat"]]
    assert named.label_names == numbered.label_names == ("owl", "bird", "cat")
    assert numbered.taxonomy == Taxonomy.from_edges([("bird", "owl"), ("bird", "c5")]).align(
        numbered.taxonomy.names
    )


def test_an_id_that_the_label_file_lacks_is_an_error(write):
    labels = write("labels.txt", "c7\towl\nc8\tbird\n")
    path = write("a.jsonl", '{"text": "", "labels": ["c7"]}\n{"text": "", "labels": ["c9"]}\n')
    with pytest.raises(DataError, match=r"line 2: found label 'c9', which is not among the label_"):
        load_dataset(path, label_names=labels)


def test_a_number_is_not_taken_for_an_id_nor_for_a_column_of_a_label_file_with_ids(write):
    labels = write("labels.txt", "1\towl\n0\tbird\n")
    path = write("a.jsonl", '{"text": "", "labels": [1]}\n')
    with pytest.raises(DataError, match=r"line 1: found label number 1, .* as text: \"1\"$"):
        load_dataset(path, label_names=labels)


def test_a_taxonomy_of_another_layout_is_refused_with_the_way_out(write):
    edges = write("edges.tsv", "top\ta\ntop\tb\n")
    with pytest.raises(
        DataError, match=r"edges\.tsv: The node 'top' has two .* read as child parent: "
    ):
        load_dataset(write("a.txt", XMC), taxonomy=edges)


@pytest.mark.shared
def test_a_thesaurus_goes_with_its_documents_by_ids(shared_data, tmp_path):
    folder = shared_data / "eurlex57k"
    Taxonomy.from_file(
        folder / "hierarchy.tsv", columns="parent child", multiple_parents="first"
    ).to_file(tmp_path / "tree.tsv.gz")

    data = load_dataset(
        folder / "test.jsonl.xz",
        label_names=folder / "labels.txt",
        taxonomy=tmp_path / "tree.tsv.gz",
    )

    tree = data.taxonomy.align(data.label_names, unknown="root")
    assert (len(data), len(tree), data.taxonomy.depth.max()) == (6_000, 4_271, 5)
    ids = dict(line.split("\t")[::-1] for line in (folder / "labels.txt").read_text().splitlines())
    edges = {tuple(line.split()) for line in (folder / "hierarchy.tsv").read_text().splitlines()}
    child = data.taxonomy.index("retail trade")
    parent = data.taxonomy.names[data.taxonomy.parent[child]]
    assert (ids.get(parent, parent), ids["retail trade"]) in edges


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.svm", {}, "data are written as xmc, jsonl, csv, tsv, parquet, npz, not as .svm; give"),
        ("a.foo", {}, "not as .foo; give one of them by format"),
        ("-", {}, "give the format to write to"),
        ("a.txt", {"format": "arff"}, "Got 'arff' instead"),
    ],
)
def test_what_cannot_be_written_is_an_error(tmp_path, name, options, message):
    with pytest.raises(ParameterError, match=message):
        save_dataset(Dataset(random_csr(1, 1), random_labels(1, 1)), tmp_path / name, **options)


def test_text_that_is_no_unicode_is_not_written(tmp_path):
    data = Dataset(None, random_labels(1, 2), texts=["\ud800"])
    with pytest.raises(DataError, match="a text or name cannot be written as UTF-8"):
        save_dataset(data, tmp_path / "a.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_standard_output_is_written(capfdbinary):
    data = Dataset(None, sp.csr_array((1, 0)), texts=["é"])
    save_dataset(data, "-", format="jsonl")
    assert json.loads(capfdbinary.readouterr().out) == {"labels": [], "text": "é"}


def test_importing_the_module_compiles_nothing():
    code = "import labelwood.data.load, sys; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def count_rows(format_name, content):
    """How many points the documented rules see in a file that was read without an error."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    if format_name == "xmc":
        return len(lines) - 1
    if format_name == "svmlight":
        return sum(
            1 for line in lines if line.strip() and not line.strip(b" \t\r").startswith(b"#")
        )
    if format_name == "arff":
        start = next(i for i, line in enumerate(lines) if line.strip().lower()[:5] == b"@data")
        rows = [line.decode().strip() for line in lines[start + 1 :]]
        return sum(1 for row in rows if row and not row.startswith("%"))
    if format_name == "jsonl":
        return sum(1 for line in lines if line.decode().strip())
    return sum(1 for line in lines if line.strip(b"\r")) - 1


marks = [b"\r\n", *(bytes([byte]) for byte in b"\n\r\0\t\\ ,:-#%{}'?e")]
words = [b"9" * 12, b"2147483648", b"nan", b"1e99", b"0:1 0:1", b"\xef\xbb\xbf"]
replacements = st.one_of(st.binary(max_size=3), st.sampled_from(marks + words))
changes = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 3), replacements), min_size=1, max_size=3
)


@pytest.mark.parametrize("format_name", TEXTS)
@settings(deadline=None, max_examples=150)
@given(changes=changes)
def test_a_file_with_random_changes_is_refused_or_read_with_all_its_lines(
    tmp_path_factory, format_name, changes
):
    content = TEXTS[format_name].encode()
    for start, size, new in changes:
        start %= len(content) + 1
        content = content[:start] + new + content[start + size :]
    path = tmp_path_factory.mktemp("fuzz") / "a"
    path.write_bytes(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelwoodWarning)
            data = load_dataset(path, format=format_name)
    except DataError:
        return
    if not (format_name == "csv" and b'"' in content):
        assert len(data) == count_rows(format_name, content)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("Animal", "Owl"), ("Animal", "Cat")], "which has 'Owl' and not 'owl'; write the names"),
        ([("8", "7"), ("8", "9")], "none of its 2 labels is in the taxonomy, which has '7' and n"),
    ],
)
def test_a_taxonomy_without_any_of_the_labels_is_refused(write, edges, message):
    file, forest = write("a.csv", CSV), Taxonomy.from_edges(edges)
    with pytest.raises(DataError, match=message):
        load_dataset(file, taxonomy=forest)
    assert load_dataset(file, taxonomy=forest, ignore_labels=True).taxonomy is forest
    some = Taxonomy.from_edges([("Animal", "owl")])
    assert load_dataset(file, taxonomy=some).taxonomy is some
