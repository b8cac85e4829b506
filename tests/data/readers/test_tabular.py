"""CSV and TSV."""

import csv
import io
import lzma

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwood.data.load import load_dataset
from labelwood.errors import DataError, LabelwoodWarning, ParameterError

CSV = 'id,text,labels\n1,"An owl, or two.",owl;bird\n2,Nothing,\n'
TSV = 'id\ttext\tlabels\n1\t"An owl" is\towl; bird\n2\tNothing\t \n'
words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=10)


@pytest.mark.parametrize(
    ("name", "content", "first"), [("a.csv", CSV, "An owl, or two."), ("a.tsv", TSV, '"An owl" is')]
)
def test_texts_labels_and_ids_are_read(write, name, content, first):
    data = load_dataset(write(name, content))
    assert data.texts == [first, "Nothing"]
    assert data.ids == ["1", "2"]
    assert data.label_lists() == [["bird", "owl"], []]


@given(st.lists(st.tuples(words, words), min_size=1, max_size=5))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, rows):
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows([("id", "text"), *rows])
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(buffer.getvalue().encode())
    data = load_dataset(path)
    assert list(zip(data.ids, data.texts, strict=True)) == rows


def test_columns_and_separator_can_be_named(write):
    content = "key,title,body,tags\nk,T,B,a b|c\n"
    data = load_dataset(
        write("a.csv", content),
        text_column=["title", "body"],
        label_column="tags",
        id_column="key",
        label_separator="|",
    )
    assert (data.texts, data.ids, data.label_names) == (["T\nB"], ["k"], ["a b", "c"])


def test_labels_and_ids_may_be_missing(write):
    data = load_dataset(write("a.csv", "text\na\n"))
    assert (data.texts, data.ids, data.Y.shape) == (["a"], None, (1, 0))


def test_long_texts_are_read_and_the_limit_of_the_csv_module_is_left_as_it_was(write):
    before = csv.field_size_limit()
    assert load_dataset(write("a.csv", "text\n" + "a" * 200_000)).texts == ["a" * 200_000]
    assert csv.field_size_limit() == before


def test_the_limit_fits_a_platform_with_short_longs(write, monkeypatch):
    real = csv.field_size_limit

    def of_32_bits(limit):
        if limit > 2**31 - 1:
            raise OverflowError("Python int too large to convert to C long")
        return real(limit)

    monkeypatch.setattr(csv, "field_size_limit", of_32_bits)
    assert load_dataset(write("a.csv", "text\n" + "a" * 200_000)).texts == ["a" * 200_000]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_skipped_and_the_last_line_end_may_be_missing(write, end):
    content = f"\ufefftext,labels{end}{end}a,x{end}{end}b,"
    data = load_dataset(write("a.csv", content))
    assert (data.texts, data.label_lists()) == (["a", "b"], [["x"], []])


def test_a_header_alone_gives_no_points(write):
    data = load_dataset(write("a.csv", "text,labels\n"))
    assert (len(data), data.label_lists()) == (0, [])
    assert repr(data).startswith(
        "Dataset('a.csv (CSV)': 0 samples, texts, not vectorized, 0 labels"
    )


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("text,labels\na,x,y\n", {}, r"line 2: found 3 fields where the header row has 2"),
        ("text,labels\na,x\nb\n", {}, r"line 3: found 1 field where the header row has 2"),
        ('text,labels\n"a\n\nb",x\n"c\nd"\n', {}, r"line 5: found 1 field where"),
        ('text,labels\n"a\nb\n', {}, r"line 2: this row cannot be read \(unexpected end of data\)"),
        ('text,labels\n"a"b,x\n', {}, r"line 2: this row cannot be read"),
        ("text,labels\na\rb,x\n", {}, "line 2: found a carriage return within a row"),
        ("text,labels\na,x;;y\n", {}, r"line 2: found a label with an empty name"),
        ("text,labels\na,x\n", {"label_names": ["y"]}, r"line 2: found label 'x', which is not"),
        (
            "name,labels\na,x\n",
            {},
            r"line 1: found the columns 'name', 'labels', but no 'text'; na",
        ),
        ("text\na\n", {"label_column": "tags"}, r"line 1: .* no 'tags'; .* by label_column"),
        ("text\na\n", {"id_column": "key"}, r"line 1: .* no 'key'; .* by id_column"),
        ("text,text\na,x\n", {}, r"line 1: the column 'text' comes twice"),
        (b"text\nok\n\xff\n", {}, r"line 3: byte 0xff at position 1 is not UTF-8"),
        (b"text\nok\na\0b\n", {}, r"line 3: found a NUL byte"),
    ],
)
def test_bad_rows_are_errors_that_say_what_and_where(write, content, options, message):
    with pytest.raises(DataError, match=rf"a\.csv, {message}") as error:
        load_dataset(write("a.csv", content), **options)
    assert "\n" not in str(error.value)


@pytest.mark.shared
def test_real_data_are_read_whole(shared_data):
    path = shared_data / "captions" / "520.csv.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="") as file:
        captions = [row["caption"] for row in csv.DictReader(file)]
    assert load_dataset(path, text_column="caption", id_column="rank").texts == captions


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (['"[""a"", ""b""]"', "[]"], [["a", "b"], []]),
        (["\"['a', 'b c']\"", "['it\\'s']"], [["a", "b c"], ["it's"]]),
        (["['a' 'b']", ""], [["a", "b"], []]),
        (['"[a, b c]"', "[a]"], [["a", "b c"], ["a"]]),
        (['"[""\\u00e9, x""]"', "[]"], [["é, x"], []]),
        (["a; b", "[c]"], [["a", "b"], ["[c]"]]),
        (['"Washington, DC"', "Rome", "Oslo"], [["Washington, DC"], ["Rome"], ["Oslo"]]),
        (["true/false", "a", "b"], [["true/false"], ["a"], ["b"]]),
    ],
)
def test_labels_are_lists_or_separated_by_semicolons(write, cells, expected):
    rows = "".join(f"text,{cell}\n" for cell in cells)
    assert load_dataset(write("a.csv", "text,labels\n" + rows)).label_lists() == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["a|b", "c"], [["a", "b"], ["c"]]),
        (["a, b", "b, c", "a", "c"], [["a", "b"], ["b", "c"], ["a"], ["c"]]),
        (["a/b", "b/a", "a", "b"], [["a", "b"], ["a", "b"], ["a"], ["b"]]),
        (["a b", "b a", "a", "b"], [["a", "b"], ["a", "b"], ["a"], ["b"]]),
        (["new york", "new orleans", "york"], [["new york"], ["new orleans"], ["york"]]),
        (["<a><b c>", "<a>"], [["a", "b c"], ["a"]]),
        (["#a #b", "#a"], [["a", "b"], ["a"]]),
        (["{a,b}", "{}"], [["a", "b"], []]),
        (["a\nb", "a"], [["a", "b"], ["a"]]),
        (["a; b;", "a"], [["a", "b"], ["a"]]),
        (["Rome, IT; Oslo, NO", "Oslo, NO"], [["Oslo, NO", "Rome, IT"], ["Oslo, NO"]]),
    ],
)
def test_separators_are_inferred_where_the_cells_leave_no_doubt(write, cells, expected):
    rows = "".join(f'text,"{cell}"\n' for cell in cells)
    assert load_dataset(write("a.csv", "text,labels\n" + rows)).label_lists() == expected


@pytest.mark.parametrize(
    ("cells", "separator"),
    [(["a,b", "c,d"], ","), (["a;b", "a|b"], r"\|"), (["Smith, J", "Doe, A", "x"], ",")],
)
def test_a_separator_in_doubt_is_refused_with_the_remedy(write, cells, separator):
    rows = "".join(f'text,"{cell}"\n' for cell in cells)
    path = write("a.csv", "text,labels\n" + rows)
    with pytest.raises(
        DataError, match=rf"a\.csv, line .*separates labels give label_separator='{separator}'"
    ):
        load_dataset(path)
    assert load_dataset(path, label_separator=";").n_labels >= 2


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["[a]", "[b]", "c"], "line 4: found 'c' where most cells of labels are lists"),
        (["['a]", "['b']"], r"line 2: found \"\['a\]\" where a list of labels is expected"),
        (["[[a]]", "['b']"], r"where a list of labels is expected"),
    ],
)
def test_lists_that_are_none_are_refused(write, cells, message):
    rows = "".join(f"text,{cell}\n" for cell in cells)
    with pytest.raises(DataError, match=message):
        load_dataset(write("a.csv", "text,labels\n" + rows))


def table(*cells):
    return "".join(["text,labels\n", *(f't{i},"{cell}"\n' for i, cell in enumerate(cells))])


MIXED = ["a, b", "b, c", "a, c", "a", "b", "c"] * 10


@pytest.mark.parametrize("n_semicolons", [1, 2, 6, 30])
def test_two_marks_that_both_separate_labels_are_refused(write, n_semicolons):
    cells = [*MIXED, *["a; b", "b; c"] * n_semicolons][: len(MIXED) + n_semicolons]
    file = write("a.csv", table(*cells))
    with pytest.raises(DataError, match="if both do label_separator=',;', else label_separator="):
        load_dataset(file)
    data = load_dataset(file, label_separator=",;")
    assert data.label_names == ["a", "b", "c"]
    assert data.Y.shape[0] == len(cells)


def test_a_given_separator_beside_another_one_is_remarked(write):
    file = write("a.csv", table(*MIXED, "a; b"))
    remark = "1 cell of labels holds ';' between labels; if both marks separate give label_sep"
    assert remark in load_dataset(file, label_separator="comma").description
    named = write("b.csv", table("Rome, IT; Oslo", "Oslo; Rome, IT", "Oslo", "Bonn, DE"))
    assert "between labels" not in load_dataset(named, label_separator="semicolon").description


def test_a_slash_in_a_name_is_kept_where_others_stand_between_blanks(write):
    cells = ["a / b/c", "b/c / a", "a", "b/c", "a / d", "d"]
    assert load_dataset(write("a.csv", table(*cells))).label_names == ["a", "b/c", "d"]


def test_cells_of_zeros_and_ones_for_each_label_are_refused(write):
    file = write("a.csv", table("[1, 0, 1]", "[0, 0, 1]"))
    with pytest.raises(DataError, match="line 2: found 3 zeros and ones, here and in all other"):
        load_dataset(file)
    assert load_dataset(write("b.csv", table("[1]", "[0]"))).label_names == ["0", "1"]


def test_a_word_for_a_missing_value_beside_lists_is_none_of_the_labels(write):
    data = load_dataset(write("a.csv", table("['a', 'b']", "nan", "", "['a']")))
    assert data.label_lists() == [["a", "b"], [], [], ["a"]]


def test_texts_that_are_a_word_for_a_missing_value_are_remarked(write):
    data = load_dataset(write("a.csv", "title,body,labels\nNaN,NaN,a\nx,None,b\n,nan,b\n"))
    assert "'NaN', 'nan' are all of the text of 2 samples; leave" in data.description
    assert data.texts == ["NaN\nNaN", "x\nNone", "\nnan"]


def test_columns_of_zeros_and_ones_that_were_guessed_are_named(write):
    data = load_dataset(write("a.csv", "text,toxic,insult\na,1,0\nb,0,1\n"))
    assert data.label_columns == ["toxic", "insult"]
    content = "text,toxic,insult,reviewed\na,1,0,1\nb,0,1,1\n"
    data = load_dataset(write("b.csv", content), known_label_columns=data.label_columns)
    assert data.label_lists() == [["toxic"], ["insult"]]


def test_a_known_column_may_be_a_name_alone_and_nothing_else(write):
    file = write("a.csv", "text,codes,tags\na,c,x\n")
    assert load_dataset(file, known_label_columns="codes").label_lists() == [["c"]]
    with pytest.raises(ParameterError, match=r"known_label_columns.*or a list of names. Got 5"):
        load_dataset(file, known_label_columns=5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sep=;\nage;size\n1;2\n", "line 2: found .* and numbers in line 3: a table of features"),
        ('age,size\n1,"2\n', "line 1: found .* no 'text'; name the right one by text_column"),
    ],
)
def test_a_table_of_numbers_is_refused_with_its_line_and_before_its_faults(write, content, message):
    with pytest.raises(DataError, match=message):
        load_dataset(write("a.csv", content))


def test_remarks_on_several_columns_of_labels_are_made_once(write):
    data = load_dataset(write("a.csv", "text,a,b\nx,NaN,u|v\ny,NaN,w\n"), label_column="a,b")
    assert data.label_lists() == [["NaN", "u", "v"], ["NaN", "w"]]
    assert data.description.count("'NaN' is a label of its own in 2 cells") == 1
    assert data.description.count("labels separated by '|'") == 1


@pytest.mark.parametrize(
    ("cells", "remark"),
    [
        (["NaN", "owl", "NaN"], "'NaN' is a label of its own in 2 cells; leave them empty if"),
        (["owl", "None", "bird"], "'None' is a label of its own in 1 cell; leave it empty if"),
        (["null", "<NA>", "owl"], "'<NA>', 'null' are labels of their own in 2 cells;"),
        (["", "owl", "None of these"], None),
    ],
)
def test_a_word_for_a_missing_value_is_a_label_with_a_remark(write, cells, remark):
    rows = [f"t{i},{cell}" for i, cell in enumerate(cells)]
    data = load_dataset(write("a.csv", "\n".join(["text,labels", *rows, ""])))
    assert data.label_lists() == [[cell] if cell else [] for cell in cells]
    assert remark in data.description if remark else "label" not in data.description.split("(")[1]


def test_a_column_that_may_be_the_labels_is_warned_of(write):
    path = write("a.csv", "text,subject\na,x\n")
    with pytest.warns(
        LabelwoodWarning, match="if the labels are in 'subject', give label_column='subject'"
    ):
        data = load_dataset(path)
    assert "no labels among the columns 'text', 'subject'" in repr(data)


@pytest.mark.parametrize(
    ("content", "ids", "labels"),
    [
        ("text,yes,no,maybe\na,1,0,0\nb,0,1,1\nc,0,1,0\n", None, {"yes", "no", "maybe"}),
        ("text,yes,no\na,1,0\nb,0,1\n", None, {"yes", "no"}),
        ("no,text,yes,maybe\n7,a,1,0\n8,b,0,1\n", ["7", "8"], {"yes", "maybe"}),
        ("number,text,labels\n3,a,x\n3,b,y\n", None, {"x", "y"}),  # a count
        ("uuid,number,text,labels\nk,3,a,x\nl,3,b,y\n", ["k", "l"], {"x", "y"}),
    ],
)
def test_a_name_that_counts_and_labels_have_too_is_an_id_only_where_values_differ(
    write, content, ids, labels
):
    data = load_dataset(write("a.csv", content))
    assert data.ids == ids
    assert set(data.label_names) == labels
    assert (", ids from" in data.description) == (ids is not None)


def test_no_separator_is_proposed_that_would_be_taken_as_one_mark(write):
    cells = "".join(f"t,{one}\n" for one in ("a", "b", "c", "a;b c", "b;c a", "c;a b"))
    data = load_dataset(write("a.csv", "text,labels\n" + cells), label_separator=" ")
    assert "3 cells of labels hold ';' between labels" in data.description
    assert "label_separator=" not in data.description


def test_samples_without_labels_do_not_hide_nested_zeros_and_ones(write):
    rows = 't,"[0, 1, 0]"\nt,[]\nt,\nt,"[1, 1, 0]"\n'
    with pytest.raises(DataError, match="line 2: found 3 zeros and ones, here and in all other"):
        load_dataset(write("a.csv", "text,labels\n" + rows))


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("text,labels\ra,x\rb,y\r", "line 1: found a carriage return within a row"),
        ("text,labels,more\na,x\n", "line 2: found 2 fields where .* 3; a field without a value"),
        ("text,labels\na,x,y\n", "line 2: found 3 fields where .* 2; a field that holds ','"),
        ("text,labels\na\n", "line 2: found 1 field where .* 2; a field without a value"),
        ("My tags,\ntext,labels\na,x\n", "line 2 looks like the header row: delete what stands"),
    ],
)
def test_rows_that_do_not_fit_name_what_to_do(write, content, match):
    with pytest.raises(DataError, match=match):
        load_dataset(write("a.csv", content), delimiter=",")


def test_the_separator_that_a_model_learned_from_is_taken_before_another(write):
    file = write("a.csv", 'text,labels\na,"x, y"\nb,x\n')
    assert load_dataset(file).label_lists() == [["x, y"], ["x"]]
    known = load_dataset(file, known_label_separator=",")
    assert (known.label_lists(), known.label_separator) == ([["x", "y"], ["x"]], ",")
    given = load_dataset(file, label_separator=";", known_label_separator=",")
    assert given.label_lists() == [["x, y"], ["x"]]
    lists = write("b.csv", 'text,labels\na,"[""x, y""]"\n')
    assert load_dataset(lists, known_label_separator=",").label_lists() == [["x, y"]]


def test_yes_and_no_are_read_in_the_languages_of_spreadsheets(write):
    rows = "a;ja;NEIN\nb;FALSCH;Wahr\n"
    data = load_dataset(write("a.csv", "text;Rad;Post\n" + rows))
    assert data.label_lists() == [["Rad"], ["Post"]]


def test_yes_and_no_of_two_languages_are_codes_and_no_labels(write):
    data = load_dataset(write("a.csv", "text,lang,code\na,ja,no\nb,no,ja\n"))
    assert (data.label_columns, data.n_labels) == (None, 0)
    rows = "a,1,TRUE\nb,,no\nc,x,yes\n"  # numbers and crosses stand beside all words
    data = load_dataset(write("b.csv", "text,cat,owl\n" + rows))
    assert data.label_lists() == [["cat", "owl"], [], ["cat", "owl"]]
    french = load_dataset(write("c.csv", "text,chat,hibou\na,oui,faux\nb,non,vrai\n"))
    assert french.label_lists() == [["chat"], ["hibou"]]


def test_samples_without_a_label_are_counted(write):
    assert ", 1 without one," in repr(load_dataset(write("a.csv", CSV)))


GERMAN = "Vorgang;Datum;Text;Tags\r\n7;3.4.;An owl;owl\r\n8;3.5.;A cat;cat\r\n"


@pytest.mark.parametrize("options", [{}, {"text_column": "Text"}, {"label_column": "Tags"}])
@pytest.mark.parametrize(
    ("title", "table"),
    [
        ("Export Kundenservice 2024\r\n\r\n", GERMAN),
        ("Export Kundenservice 2024\r\n", GERMAN),
        ("Export, Kundenservice, Nord, 2024\r\n", GERMAN),
        ("Export, Nord; 2024\r\n", GERMAN),
        ("Export;;;\r\n", GERMAN),
        ("Text\r\n", GERMAN),
        ("Text\r\n", GERMAN.replace(";", ",")),
        ("Export 2024\r\nvom 3.4.\r\n\r\n", GERMAN.replace(";", "\t")),
    ],
)
def test_a_title_above_the_header_row_is_to_be_deleted(write, title, table, options):
    line = title.count("\r\n") + 1
    with pytest.raises(DataError, match=f"; line {line} looks like the header row: delete what st"):
        load_dataset(write("a.csv", title + table), **options)


def test_below_a_title_the_column_that_is_named_tells_the_header_row(write):
    table = "Export 2024\n\nAnliegen;Art\nAn owl;owl\n"
    with pytest.raises(DataError, match="'Export 2024'; line 3 looks like the header row: delete"):
        load_dataset(write("a.csv", table), text_column="Anliegen")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("id,caption,kind\n1,An owl,question\n", {}, "no 'text'; name the right one by text_col"),
        ("id,text,kind\n1,An owl,text\n", {"text_column": "body"}, "no 'body'; name the right one"),
        ("text,labels\ntext,a,b\n", {}, "a field that holds ','"),
    ],
)
def test_a_sample_that_holds_the_name_of_a_column_is_no_header(write, content, options, message):
    with pytest.raises(DataError, match=message):
        load_dataset(write("a.csv", content), **options)


def test_a_column_of_texts_alone_may_hold_the_marks_that_divide_tables(write):
    content = "text\nText; title; body\nan owl; a cat\nnothing\n"
    assert len(load_dataset(write("a.csv", content))) == 3
