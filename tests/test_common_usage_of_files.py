"""Common usage of files: each case is a small file, and what is read of it.

Frames and pipelines have a file of their own, `test_common_usage.py`.
"""
# ruff: noqa: E501 - a case and its message stand side by side

import bz2

import pytest

from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import DataError, LabelwoodWarning, MissingExtraError, ParameterError

ROWS = [("An owl, at night", ["owl", "bird"]), ("Café at noon", ["cat"])]
LABELS = [["bird", "owl"], ["cat"]]
WIDE = "body;tags\nAn owl;owl|bird\nCafé;cat\n"


@pytest.fixture
def file(tmp_path):
    def write(name, content, encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return write


@pytest.mark.parametrize(
    ("name", "content", "encoding", "remark"),
    [
        ("comma.csv", "text,labels\nAn owl,owl;bird\nCafé,cat\n", "utf-8", ""),
        ("excel-utf8.csv", "text,labels\nAn owl,owl;bird\nCafé,cat\n", "utf-8-sig", ""),
        ("excel-de.csv", "text;labels\nAn owl;owl|bird\nCafé;cat\n", "cp1252", "cp1252, delimiter"),
        ("excel-unicode.txt", "text\tlabels\nAn owl\towl;bird\nCafé\tcat\n", "utf-16", "UTF-16"),
        ("powershell.csv", "text,labels\r\nAn owl,owl;bird\r\nCafé,cat\r\n", "utf-16-le", "UTF-16"),
        ("sep.csv", "sep=;\ntext;labels\nAn owl;owl|bird\nCafé;cat\n", "utf-8", "delimiter ';'"),
        ("tab.csv", "text\tlabels\nAn owl\towl;bird\nCafé\tcat\n", "utf-8", "delimiter tab"),
        ("pipe.csv", "text|labels\nAn owl|owl;bird\nCafé|cat\n", "utf-8", "delimiter '|'"),
        ("semicolon.csv", WIDE, "utf-8", "text from 'body', labels from 'tags', labels separated"),
        ("Headers.csv", "Text,Tags \nAn owl,owl;bird\nCafé,cat\n", "utf-8", "labels from 'Tags '"),
        ("index.csv", ",text,labels\n0,An owl,owl;bird\n1,Café,cat\n", "utf-8", ""),
        ("spare.csv", "text,labels,,\nAn owl,owl;bird,,\nCafé,cat,,\n", "utf-8", ""),
        ("json.csv", 'text,labels\nAn owl,"[""owl"", ""bird""]"\nCafé,"[""cat""]"\n', "utf-8", ""),
        ("repr.csv", "text,labels\nAn owl,\"['owl', 'bird']\"\nCafé,['cat']\n", "utf-8", ""),
        ("stack.csv", "text,tags\nAn owl,<owl><bird>\nCafé,<cat>\n", "utf-8", "labels in <…>"),
        ("hash.csv", "text,tags\nAn owl,#owl #bird\nCafé,#cat\n", "utf-8", "labels after #"),
        ("hot.csv", "text,bird,cat,owl\nAn owl,1,0,1\nCafé,0,1,0\n", "utf-8", "the 3 columns 'bird'"),
        ("bool.csv", "id,text,bird,cat,owl\n7,An owl,True,False,True\n8,Café,False,True,False\n",
         "utf-8", "of 0 and 1"),
        ("text.ft", "__label__owl __label__bird An owl\n__label__cat Café\n", "utf-8", "fastText"),
        ("ft.txt", "An owl __label__owl __label__bird\nCafé __label__cat\n", "utf-8", "fastText"),
        ("annif.tsv", "An owl\t<owl> <bird>\nCafé\t<cat>\n", "utf-8", "Annif TSV"),
        ("annif.csv", "document_id,text,subject_uris\n7,An owl,<owl> <bird>\n8,Café,<cat>\n",
         "utf-8", "labels from 'subject_uris'"),
        ("annif.jsonl", '{"text": "An owl", "subjects": [{"uri": "owl"}, {"uri": "bird"}]}\n'
         '{"text": "Café", "subjects": [{"uri": "cat", "label": "Katze"}]}\n', "utf-8", "'subjects'"),
        ("records.json", '[{"text": "An owl", "tags": ["owl", "bird"]},\n'
         '{"text": "Café", "tags": ["cat"]}]', "utf-8", "labels from 'tags'"),
    ],
)  # fmt: skip
def test_a_file_is_read_as_it_is_with_a_remark_of_what_was_guessed(
    file, name, content, encoding, remark
):
    data = load_dataset(file(name, content, encoding))
    assert data.texts == ["An owl", "Café"]
    assert data.label_lists() == LABELS
    assert remark in data.description


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("title,body,tags\nA,B,x\n", {}, ("A\nB", ["x"])),
        ("Summary,Description,Category\nA,B,x\n", {}, ("A\nB", ["x"])),
        ("Datum;Betreff;Nachricht;Schlagwörter\n3.4.;A;B;x\n", {}, ("A\nB", ["x"])),
        ("Titre;Texte;Étiquettes\nA;B;x\n", {}, ("A\nB", ["x"])),
        ("Título;Descripción;Categorías\nA;B;x\n", {}, ("A\nB", ["x"])),
        ("comment_text,toxic,insult\nB,1,0\n", {}, ("B", ["toxic"])),
        ("text,rating,cat,owl\nB,5,1,1\n", {}, ("B", ["cat", "owl"])),
        ("text,cat,rating,owl\nB,1,5,1\n", {"label_column": "cat,owl"}, ("B", ["cat", "owl"])),
        ("text,a,b,c\nB,1,0,1\n", {"label_column": "a..b"}, ("B", ["a"])),
        ("text,first,second\nB,x,y\n", {"label_column": "first,second"}, ("B", ["x", "y"])),
        ("3,A,B\n", {"header": False, "text_column": "2,3", "label_column": "1"}, ("A\nB", ["3"])),
        ("text^tags\nB^x\n", {"delimiter": "^"}, ("B", ["x"])),
        ("text,tags\nB,a-b\n", {"label_separator": "-"}, ("B", ["a", "b"])),
    ],
)
def test_columns_are_the_usual_ones_or_those_that_are_named(file, content, options, expected):
    data = load_dataset(file("a.csv", content), **options)
    assert (data.texts[0], data.label_lists()[0]) == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,tags,category\na,x,y\n", "line 1: found the columns 'tags', 'category', each"
         " of which may hold the labels; give label_column='category', or several: label_column="
         "'tags,category'"),
        ("a.csv", "comment,message,tags\na,b,y\n", "line 1: found the columns 'comment', 'message', "
         "each of which may hold the text; give text_column='message', or several: text_column="
         "'comment,message'"),
        ("a.csv", "text,labels\nan owl, at night,owl\n", "line 2: found 3 fields where the header "
         "row has 2; a field that holds ',' must stand in double quotes"),
        ("a.csv", "3,Fed raises rates\n4,Owls return\n", "line 1: found the columns '3', 'Fed raises"
         " rates', but no 'text'; name the right one by text_column, or give header=False if the "
         "first row is none"),
        ("a.csv", "m1,m2,m3,kind\n0.5,-1e-3,7,x\n", "line 1: found the columns 'm1', 'm2', 'm3', 'kind', "
         "but no 'text', and numbers in line 2: a table of features is read from ARFF, XMC text, JSONL or "
         "npz, or goes to a learner in Python, as OneVsRestSVM().fit(X, y); a column of texts is named "
         "by text_column"),
        ("a.csv", "a,b;c\nx,y;z\n", "line 1: cannot tell whether ',' or ';' divides 'a,b;c'; give it"
         " by delimiter=','"),
        ("a.csv", "text,labels\nпривет,x\n".encode("cp1251"), "line 2: byte 0xef at position 1 is not"
         " UTF-8, nor does '������,x' read as cp1252; save the file as UTF-8, or give its encoding by"
         " encoding"),
        ("a.xlsx", b"PK\x03\x04[Content_Types].xml", "this is a workbook; save its sheet as CSV (in "
         "Excel: CSV UTF-8) and read that"),
        ("a.ft", "__label__ an owl\n", "line 1: found '__label__' without a name of a label behind it"),
        ("a.tsv", "An owl\t<owl>\nno subject\n", "line 2: found 'no subject' where a text, a tab and "
         "subjects as <uri> <uri> are expected"),
        ("a.txt", "An owl at night\n", "cannot tell the format from 'An owl at night'; give it by "
         "format"),
        ("a.csv.bz2", b"no bz2", "is not valid bz2 data (Invalid data stream); it is damaged or "
         "wrongly named"),
    ],
)  # fmt: skip
def test_a_file_in_doubt_is_one_line_with_the_remedy(file, name, content, message):
    path = file(name, content)
    with pytest.raises(DataError) as error:
        load_dataset(path)
    found = str(error.value)
    assert found.startswith(str(path))
    assert found.removeprefix(str(path)).removeprefix(", ").removeprefix(": ").strip() == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delimiter": "::"}, "'delimiter' parameter of load_dataset must be one character"),
        ({"encoding": "excel"}, "'encoding' parameter of load_dataset must be the name of an enc"),
        ({"format": "excel"}, "'format' parameter of load_dataset must be one of"),
    ],
)
def test_a_wrong_option_names_what_is_possible(file, options, message):
    with pytest.raises(ParameterError, match=message):
        load_dataset(file("a.csv", "text,labels\na,x\n"), **options)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a;b;tags\nx;y;z\n", {"delimiter": ",", "text_column": "a"}, "found the columns 'a;b;tags', "
         "but no 'a'; is ';' the delimiter, which was given as ','"),
        ("text;tags\nCafé;z\n", {"encoding": "utf-8"}, "byte 0xe9 is not UTF-8; give another "
         "encoding, or none, and it is inferred"),
        ("text;tags\na;z\n", {"label_column": "text"}, "the column 'text' is taken for the text "
         "already; name another one by label_column"),
    ],
)  # fmt: skip
def test_an_option_that_does_not_fit_the_file_is_one_line(file, content, options, message):
    with pytest.raises(DataError, match=message):
        load_dataset(file("a.csv", content, "cp1252"), **options)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ({"text": ["a"]}, {}, "'path' parameter of load_dataset must be a path, .* Got dict"),
        (7, {}, "'path' parameter of load_dataset must be a path, .* Got int"),
        (
            "a.csv",
            {"text_column": 1},
            "'text_column' parameter of load_dataset must be a name.*Got 1",
        ),
        (
            "a.csv",
            {"id_column": ["a"]},
            "'id_column' parameter of load_dataset must be a name.*\\['a'",
        ),
    ],
)
def test_what_is_no_path_and_no_name_is_refused(path, options, message):
    with pytest.raises(ParameterError, match=message):
        load_dataset(path, **options)


def test_a_file_without_labels_beside_one_with_them_is_warned_of(file):
    files = [file("a.csv", "text,labels\na,x\n"), file("b.csv", "text\nb\n")]
    with pytest.warns(LabelwoodWarning, match=r"b\.csv .*has no labels: its 1 sample counts as"):
        assert load_dataset(files).label_lists() == [["x"], []]
    assert len(load_dataset(files, ignore_labels=True)) == 2


def test_a_separator_that_no_cell_holds_is_remarked(file):
    path = file("a.csv", "text;tags\na;x, y\nb;x\nc;y, x\nd;y\n")
    data = load_dataset(path, label_separator=";")
    assert "no cell of labels holds ';', but 2 of 4 hold ','" in data.description
    assert "no cell" not in load_dataset(path, label_separator=",").description


def test_several_files_and_patterns_are_one_data_set(file, tmp_path):
    first = file("part-1.csv", "text,labels\nAn owl,owl;bird\n")
    file("part-2.jsonl", '{"text": "Café", "labels": ["cat"]}\n')
    for paths in (tmp_path / "part-*", [first, tmp_path / "part-2.jsonl"]):
        data = load_dataset(paths)
        assert (data.texts, data.label_lists()) == (["An owl", "Café"], LABELS)
    assert data.description == "part-1.csv (CSV), part-2.jsonl (JSONL)"
    with pytest.raises(DataError, match="no file matches this pattern"):
        load_dataset(tmp_path / "none-*.csv")
    numbers = file("a.txt", "1 2 1\n0 0:1\n")
    with pytest.raises(DataError, match=r"holds texts and a\.txt \(XMC text\) features"):
        load_dataset([first, numbers])


def test_labels_are_not_looked_at_where_only_samples_are_wanted(file):
    doubtful = file("a.csv", 'text,tags,category\na,"x,y",z\n')
    assert load_dataset(doubtful, ignore_labels=True).label_lists() == [[]]
    lines = load_dataset(file("a.txt", "An owl\n\nCafé"), ignore_labels=True)
    assert (lines.texts, lines.description) == (["An owl", "", "Café"], "a.txt (lines of text)")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.bz2", "csv.zst", "jsonl.zst", "parquet"])
@pytest.mark.parametrize("labels", [LABELS, [["Rome, IT"], ["a; b", "c|d"]], [["<a>"], ["#b"]]])
def test_what_is_written_is_read_back(tmp_path, suffix, labels):
    pytest.importorskip("zstandard")
    pytest.importorskip("pyarrow")
    from labelwood.data.dataset import Dataset

    data = Dataset.from_lists([text for text, _ in ROWS], labels, ids=["1", "2"])
    save_dataset(data, tmp_path / f"a.{suffix}")
    again = load_dataset(tmp_path / f"a.{suffix}")
    assert (again.texts, again.ids, again.label_lists()) == (data.texts, data.ids, labels)


def test_compressed_files_are_known_by_their_content(file):
    content = b"text,labels\nAn owl,owl;bird\nCaf\xc3\xa9,cat\n"
    assert load_dataset(file("a.csv", bz2.compress(content))).label_lists() == LABELS
    zstandard = pytest.importorskip("zstandard")
    frames = zstandard.compress(content[:20]) + zstandard.compress(content[20:])
    assert load_dataset(file("b.csv", frames)).label_lists() == LABELS
    with pytest.raises(DataError, match=r"b\.csv is cut short: the zst data ends too early"):
        load_dataset(file("b.csv", frames[:-3]))


def test_without_zstandard_the_error_names_the_extra(file, monkeypatch):
    path = file("a.csv.zst", b"\x28\xb5\x2f\xfd")
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'labelwood\[zst\]'"):
        load_dataset(path)
