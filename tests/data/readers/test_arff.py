"""ARFF with several labels."""

import gzip

import pytest

from labelwood.data.load import load_dataset
from labelwood.data.readers.arff.header import split_fields
from labelwood.data.taxonomy.taxonomy import Taxonomy
from labelwood.errors import DataError, ParameterError

MEKA = """% a comment
@relation 'birds: -C 2 -split-number 3'

@attribute 'an owl' {0,1}
@ATTRIBUTE cat {0, 1}
@attribute weight\tnumeric
@attribute color {brown,'off white', "it's"}
@attribute seen {0,1}

@DATA
% another comment
1,0,2.5,brown,1
0,1, 0 ,'off white',0
1,1,-1e1,'it\\'s',1
"""
SPARSE = """@relation birds
@attribute a numeric
@attribute b numeric
@attribute x {0,1}
@attribute y {0,1}
@data
{0 1.5, 2 1}
{}
{ 3 1,1 -2 }
"""
TREE = """@relation genes
@attribute size numeric
@attribute class\thierarchical\t01,01/02,01/02/03,04/05
@data
1.5,01/02/03@04/05
0,04
"""


def body_of(text, row):
    return text.partition("@data\n")[0] + "@data\n" + row


def test_dense_rows_with_the_labels_that_the_relation_counts(write):
    data = load_dataset(write("a.arff", MEKA))
    assert data.label_names == ("an owl", "cat")
    assert data.label_lists() == [["an owl"], ["cat"], ["an owl", "cat"]]
    assert data.feature_names == (
        "weight", "color=brown", "color=off white", "color=it's", "seen",
    )  # fmt: skip
    assert data.X.toarray().tolist() == [[2.5, 1, 0, 0, 1], [0, 0, 1, 0, 0], [-10, 0, 0, 1, 1]]
    assert data.X.nnz == 7


def test_a_negative_count_makes_the_last_attributes_labels(write):
    text = SPARSE.replace("@relation birds", "@relation 'birds: -C -2'")
    data = load_dataset(write("a.arff", text))
    assert data.label_names == ("x", "y")
    assert data.label_lists() == [["x"], [], ["y"]]
    assert data.X.toarray().tolist() == [[1.5, 0], [0, 0], [0, -2]]


@pytest.mark.parametrize(
    ("options", "label_names", "feature_names"),
    [
        ({"label_count": -2}, ("x", "y"), ("a", "b")),
        ({"label_count": -1}, ("y",), ("a", "b", "x")),
        ({"label_names": ["y", "x"]}, ("y", "x"), ("a", "b")),
    ],
)
def test_options_tell_which_attributes_are_labels(write, options, label_names, feature_names):
    data = load_dataset(write("a.arff", SPARSE), **options)
    assert (data.label_names, data.feature_names) == (label_names, feature_names)


@pytest.mark.parametrize("name", ["birds.arff", "birds-train.arff", "birds-test.arff.gz"])
def test_an_xml_file_beside_tells_which_attributes_are_labels(write, name):
    write(
        "birds.xml",
        '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">'
        '<label name="y"/><label name="x"></label></labels>',
    )
    content = gzip.compress(SPARSE.encode()) if name.endswith(".gz") else SPARSE
    data = load_dataset(write(name, content))
    assert data.label_names == ("y", "x")
    assert data.taxonomy is None


@pytest.mark.parametrize("beside", [True, False])
def test_nested_labels_in_xml_are_a_taxonomy(write, beside):
    xml = write("birds.xml", '<labels><label name="x"><label name="y"/></label></labels>')
    data = load_dataset(write("birds.arff", SPARSE), **({} if beside else {"label_names": xml}))
    assert data.taxonomy == Taxonomy.from_edges([("x", "y")], ["x", "y"])


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("<labels>", "not valid XML"),
        ("<labels/>", "found no label$"),
        ('<?xml version="1.0" encoding="owl"?><labels/>', "not valid XML"),
        ('<labels><label name="x"/><label name="x"/></labels>', "a label comes twice"),
        ('<labels><tag name="x"/></labels>', 'found .<tag name="x" />. where <label name="…"> is'),
        ("<labels><label/></labels>", "found '<label />' where"),
        (
            "<!DOCTYPE labels []><labels/>",
            "found a document type declaration, which is not supported$",
        ),
        (
            '<!DOCTYPE l SYSTEM "l.dtd"><labels/>',
            "found a document type declaration, which is not supported$",
        ),
        (
            '<!DOCTYPE l [<!ENTITY a "x">]><labels><label name="&a;&a;"/></labels>',
            "found a document type declaration, which is not supported$",
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_bad_xml_is_an_error(write, xml, message, encoding):
    write("birds.xml", xml.encode(encoding))
    with pytest.raises(DataError, match=rf"birds\.xml: {message}"):
        load_dataset(write("birds.arff", SPARSE))


def test_a_sparse_row_that_leaves_out_a_nominal_attribute_means_its_first_value(write):
    text = (
        "@relation 'a: -C 1'\n@attribute l {1,0}\n@attribute c {red,blue}\n@attribute n {0,1}\n"
        "@data\n{}\n{0 0, 1 blue, 2 1}\n"
    )
    data = load_dataset(write("a.arff", text))
    assert data.label_lists() == [["l"], []]
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]


def test_hierarchical_classes_are_paths_with_their_taxonomy(write):
    data = load_dataset(write("a.arff", TREE))
    assert data.label_names == ("01", "01/02", "01/02/03", "04", "04/05")
    assert data.label_lists() == [["01/02/03", "04/05"], ["04"]]
    assert data.taxonomy.names == data.label_names
    assert data.taxonomy.parent.tolist() == [-1, 0, 1, -1, 3]
    assert data.feature_names == ("size",)


def test_missing_values_are_zeros_on_request(write):
    text = body_of(MEKA.replace("@DATA", "@data"), "1,0,?,?,1\n")
    data = load_dataset(write("a.arff", text), missing="zero")
    assert data.X.toarray().tolist() == [[0, 0, 0, 0, 1]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_byte_order_mark_and_blank_lines_are_legal(write, end):
    text = "\ufeff" + SPARSE.replace("\n", end + end).rstrip()
    assert len(load_dataset(write("a.arff", text), label_count=-2)) == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,2.5,brown\n", r"line 11: found 4 fields where 5 are expected"),
        (
            "1,0,2.5,green,1\n",
            r"line 11: found 'green' for 'color' where one of the values in the",
        ),
        ("1,0,x,brown,1\n", r"line 11: found 'x' for 'weight' where a finite number is expected"),
        ("1,0,nan,brown,1\n", r"line 11: found 'nan' for 'weight' where a finite number"),
        ("1,0,1_0,brown,1\n", r"line 11: found '1_0' for 'weight' where a finite number"),
        ("1,0,1e39,brown,1\n", r"line 11: the value of feature 0 is too large"),
        ("1,0,?,brown,1\n", r"line 11: the value of 'weight' is missing; missing='zero' reads it"),
        ("1,?,1,brown,1\n", r"line 11: the value of 'cat' is missing$"),
        ("2,0,1,brown,1\n", r"line 11: found '2' for 'an owl' where one of the values"),
        ("1,0,1,'brown,1\n", r"line 11: the quotes in .* do not match"),
        ("{0 1, 9 1}\n", r"line 11: found index 9 where 0 to 4 exist"),
        ("{0 1, 0 1}\n", r"line 11: an index comes twice"),
        ("{0 1, -1 1}\n", r"line 11: found '\{0 1, -1 1\}' where a sparse row"),
        ("{0 1 2}\n", r"line 11: found '\{0 1 2\}' where a sparse row"),
        ("{0 1,}\n", r"line 11: found '\{0 1,\}' where a sparse row"),
        ("{99999999999999999999 1}\n", r"line 11: found .* where a sparse row"),
    ],
)
def test_bad_rows_are_errors_that_say_what_and_where(write, row, message):
    text = body_of(MEKA.replace("@DATA", "@data"), row)
    with pytest.raises(DataError, match=rf"a\.arff, {message}") as error:
        load_dataset(write("a.arff", text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,01/09\n", r"line 5: found the class '01/09', not in the header"),
        ("1,?\n", r"line 5: the value of 'class' is missing$"),
    ],
)
def test_bad_classes_are_errors_that_say_what_and_where(write, row, message):
    with pytest.raises(DataError, match=rf"a\.arff, {message}"):
        load_dataset(write("a.arff", body_of(TREE, row)))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@relation a\n@attribute a numeric\n", r"a\.arff: the file ends before its @data line"),
        ("@relation a\nfoo\n", r"line 2: found 'foo' where @relation, @attribute or @data is"),
        ("@relation a\n@attribute a\n@data\n", r"line 2: found 'a' where a name and a type"),
        ("@attribute a string\n@data\n", r"line 1: attribute 'a' has the type 'string'; numeric"),
        ("@attribute a {x,x}\n@data\n", r"line 1: the values '\{x,x\}' must be different"),
        ("@attribute a {}\n@data\n", r"line 1: the values '\{\}' must be different"),
        ("@attribute a {'x}\n@data\n", r"line 1: the values"),
        ("@attribute a real\n@attribute a real\n@data\n", r"line 2: the attribute 'a' comes twice"),
        (
            "@attribute a real\n@data\n1\n",
            r"line 2: nothing says which attributes are labels; give",
        ),
        (
            "@relation 'a: -C 2'\n@attribute a real\n@data\n",
            r"line 3: 2 labels are expected, but there",
        ),
        (
            "@relation 'a: -C 1'\n@attribute a {x,y}\n@data\n",
            r"line 3: the label 'a' must be an at",
        ),
        ("@attribute a hierarchical x//y\n@data\n", r"The path 'x//y' has an empty part"),
        (
            "@attribute a hierarchical x\n@attribute b hierarchical x\n@data\n",
            r"a\.arff: found several hierarchical attributes where one is expected",
        ),
    ],
)
def test_bad_headers_are_errors_that_say_what_and_where(write, header, message):
    with pytest.raises(DataError, match=message) as error:
        load_dataset(write("a.arff", header))
    assert "a.arff" in str(error.value)


def test_a_label_that_is_no_attribute_is_an_error(write):
    with pytest.raises(DataError, match="line 6: there is no attribute for the label 'z'"):
        load_dataset(write("a.arff", SPARSE), label_names=["x", "z"])


def test_a_numeric_label_must_be_zero_or_one(write):
    text = body_of(SPARSE, "2,1,1,1\n")
    with pytest.raises(DataError, match="line 7: found '2' for 'a' where 0 or 1 is expected"):
        load_dataset(write("a.arff", text), label_count=1)


def test_no_labels_at_all_cannot_be_asked_for(write):
    message = "'label_count' parameter of load_dataset must be an int ≥ 1 or an int ≤ -1 or None"
    with pytest.raises(ParameterError, match=message):
        load_dataset(write("a.arff", MEKA), label_count=0)


def test_a_feature_called_like_a_value_of_another_is_an_error(write):
    text = (
        "@relation 'a: -C 1'\n@attribute l {0,1}\n@attribute c {x,y}\n@attribute 'c=x' real\n"
        "@data\n1,x,2\n"
    )
    with pytest.raises(DataError, match=r"a\.arff, line 5: two features are called 'c=x'"):
        load_dataset(write("a.arff", text))


def test_blanks_before_a_stray_quote_take_no_time():
    assert split_fields("1," + " " * 20_000 + "'") is None
    assert split_fields("'a'" + " " * 20_000 + "x") is None
    assert split_fields(" " * 20_000 + "'a' ,  b c  ,'' ,") == ["a", "b c", "", ""]


def test_label_options_do_not_go_with_a_hierarchical_class(write):
    with pytest.raises(DataError, match="the hierarchical attribute holds the labels: leave out"):
        load_dataset(write("a.arff", TREE), label_count=1)


MEDICAL = (
    "@relation 'MEDC: -C 2 -I 0-weka.filters.unsupervised.attribute.Remove-R1-2_MEDC: -C 2'\n"
    "@attribute cough {0,1}\n@attribute fever {0,1}\n"
    "@attribute Class-0 {0,1}\n@attribute Class-1 {0,1}\n@data\n1,0,0,1\n"
)


def test_the_xml_file_wins_over_a_count_that_filters_have_made_void(write):
    write("medical.xml", '<labels><label name="Class-0"/><label name="Class-1"/></labels>')
    data = load_dataset(write("medical.arff", MEDICAL))
    assert data.label_names == ("Class-0", "Class-1")
    assert data.feature_names == ("cough", "fever")


def test_a_count_in_a_name_that_filters_have_changed_is_refused(write):
    with pytest.raises(DataError, match=r"line 6: -C 2 stands in a relation that Weka filters"):
        load_dataset(write("medical.arff", MEDICAL))
    assert load_dataset(write("medical.arff", MEDICAL), label_count=-2).label_names[0] == "Class-0"


def test_an_xml_file_and_a_count_that_disagree_are_refused(write):
    write("birds.xml", '<labels><label name="x"/><label name="y"/></labels>')
    text = SPARSE.replace("@relation birds", "@relation 'birds: -C 2'")
    with pytest.raises(DataError, match=r"-C 2 of the relation makes 'a', … labels, and birds.xml"):
        load_dataset(write("birds.arff", text))
    agreeing = SPARSE.replace("@relation birds", "@relation 'birds: -C -2'")
    assert load_dataset(write("birds.arff", agreeing)).label_names == ("x", "y")


def test_two_different_counts_in_one_name_are_refused(write):
    text = SPARSE.replace("@relation birds", "@relation 'birds: -C 2_more: -C -2'")
    with pytest.raises(DataError, match="the relation's name has -C -2 and -C 2; say which"):
        load_dataset(write("birds.arff", text))


def test_a_label_that_is_not_binary_is_refused_with_the_remedy(write):
    text = SPARSE.replace("@relation birds", "@relation 'birds: -C 2'")
    with pytest.raises(DataError, match=r"found '1.5' for 'a' where 0 or 1 .*by label_names"):
        load_dataset(write("birds.arff", text))


@pytest.mark.parametrize("row", ["1,5", "{0 1}"])
def test_a_row_on_the_line_of_data_is_refused(write, row):
    text = SPARSE.replace("@data\n", f"@data {row}\n")
    with pytest.raises(DataError, match=r"line 6: found .* after @data; the first row belongs on"):
        load_dataset(write("birds.arff", text), label_count=-2)


def test_a_comment_on_the_line_of_data_is_fine(write):
    text = SPARSE.replace("@data\n", "@data % rows\n")
    assert len(load_dataset(write("birds.arff", text), label_count=-2)) == 3
