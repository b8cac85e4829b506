"""JSON Lines."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from builders import random_csr, random_labels
from labelwood.data.dataset import Dataset
from labelwood.data.load import load_dataset, save_dataset
from labelwood.errors import DataError


def as_lines(*points):
    return "".join(json.dumps(point) + "\n" for point in points)


def test_texts_labels_and_ids_are_read(write):
    content = as_lines(
        {"id": "a", "text": "An owl.", "labels": ["owl", "bird"], "other": 1},
        {"id": 7, "text": "", "labels": []},
        {"id": "c", "text": "é\n", "labels": ["owl", "owl"]},
    )
    data = load_dataset(write("a.jsonl", content))
    assert data.texts == ["An owl.", "", "é\n"]
    assert data.ids == ["a", "7", "c"]
    assert data.label_names == ["bird", "owl"]
    assert data.Y.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    assert data.X is None


def test_labels_may_be_missing_or_null(write):
    data = load_dataset(write("a.jsonl", as_lines({"text": "a"}, {"text": "b", "labels": None})))
    assert data.Y.shape == (2, 0)
    assert data.ids is None


def test_text_columns_are_joined(write):
    content = as_lines({"title": "T", "body": "B", "text": "x", "tags": ["a"], "key": 1})
    data = load_dataset(
        write("a.jsonl", content), text_column="title, body", label_column="tags", id_column="key"
    )
    assert (data.texts, data.label_names, data.ids) == (["T\nB"], ["a"], ["1"])


@pytest.mark.parametrize(
    "features", [{"x": 0.5, "b": 2}, [["x", 0.5], ["b", 2]], [["x", 0.25], ["b", 2], ["x", 0.25]]]
)
def test_named_features_are_read_and_summed(write, features):
    data = load_dataset(write("a.jsonl", as_lines({"features": features, "labels": ["l"]})))
    assert data.feature_names == ["b", "x"]
    assert data.X.toarray().tolist() == [[2, 0.5]]


def test_whole_numbers_are_columns(write):
    content = as_lines({"features": [[3, 1], [0, 2]], "labels": [1]}, {"features": []})
    data = load_dataset(write("a.jsonl", content), n_labels=4)
    assert data.X.toarray().tolist() == [[2, 0, 0, 1], [0, 0, 0, 0]]
    assert data.Y.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert data.label_names is None
    assert data.feature_names is None


def test_text_and_features_may_come_together(write):
    data = load_dataset(write("a.jsonl", as_lines({"text": "a", "features": {"x": 1}})))
    assert data.texts == ["a"]
    assert data.X.toarray().tolist() == [[1]]


def test_given_names_set_the_columns(write):
    content = as_lines({"features": {"x": 1}, "labels": ["b"]})
    data = load_dataset(
        write("a.jsonl", content), label_names=["c", "b"], feature_names=["w", "x", "y"]
    )
    assert data.X.toarray().tolist() == [[0, 1, 0]]
    assert data.Y.toarray().tolist() == [[0, 1]]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blank_lines_are_skipped_and_the_last_line_end_may_be_missing(write, end):
    content = f'\ufeff{{"text": "a"}}{end}{end}  {end}{{"text": "b"}}'
    assert load_dataset(write("a.jsonl", content)).texts == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"not valid JSON \("),
        ('{"text": "b"} x', r"not valid JSON \(Extra data"),
        ("[" * 100_000, r"not valid JSON \(maximum recursion"),
        ("1" * 5000, r"not valid JSON \(Exceeds the limit"),
        ('["b"]', r"found '\[\"b\"\]' where an object \{…\} is expected"),
        ('{"text": "b", "text": "c"}', r"not valid JSON \(a key comes twice\)"),
        ('{"labels": []}', r"the key 'text' is missing; every line must have it"),
        ('{"text": "b", "id": 1}', r"found the key 'id', which the first line lacks"),
        ('{"text": "b", "features": {}}', r"found the key 'features', which the first line lacks"),
        ('{"text": 3}', r"'text' must be a string. Got '3' instead"),
        ('{"text": "b", "labels": "owl"}', r"'labels' must be a list of names such as \[\"cat\","),
        ('{"text": "b", "labels": [1.5]}', r"'labels' must be a list of names"),
        ('{"text": "b", "labels": [true]}', r"'labels' must be a list of names"),
        ('{"text": "b", "labels": [" "]}', r"found a label with an empty name"),
        ('{"text": "b", "labels": [1]}', r"label 1: a file holds names \(text\) or numbers, not"),
        ('{"text": "\\ud800"}', r"found half of a surrogate pair"),
        ('{"text": "b", "id": NaN}', r"not valid JSON \(NaN is not a finite number\)"),
        ('{"text": "b", "x": Infinity}', r"not valid JSON \(Infinity is not a finite number\)"),
        ('{"text": "a\tb"}', r"not valid JSON \(Invalid control character"),
        ('{"text": "a\0b"}', r"found a NUL byte"),
    ],
)
def test_bad_lines_are_errors_that_say_what_and_where(write, line, message):
    path = write("a.jsonl", f'{{"text": "a", "labels": ["owl"]}}\n\n{line}\n')
    with pytest.raises(DataError, match=rf"a\.jsonl, line 3: {message}") as error:
        load_dataset(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("3", r"'features' must be an object \{\"name\": number\} or a list of \[name, number\]"),
        ('[["x", 1, 2]]', r"'features' must be an object"),
        ('{"x": "1"}', r"'features' must be an object"),
        ('{"x": true}', r"'features' must be an object"),
        ('{"x": 1, "x": 2}', r"not valid JSON \(a key comes twice\)"),
        ('{"x": 1e39}', r"the value of feature 0 is too large for a 32-bit float"),
        (
            f'{{"x": 1{"0" * 400}}}',
            r"'features' must be numbers within the range of a 32-bit float",
        ),
        ("[[-1, 2]]", r"feature number -1 is outside 0…2147483646"),
        ("[[2147483648, 2]]", r"feature number 2147483648 is outside 0…2147483646"),
        ('[[0, 1], ["x", 2]]', r"feature 'x': a file holds names \(text\) or numbers, not both"),
    ],
)
def test_bad_features_are_errors_that_say_what_and_where(write, features, message):
    with pytest.raises(DataError, match=rf"a\.jsonl, line 1: {message}"):
        load_dataset(write("a.jsonl", f'{{"features": {features}}}\n'))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('{"x": 1}\n', {}, r"found the keys 'x', but 'text' or 'features' is expected; name"),
        ("{}\n", {}, r"found the keys none, but"),
        ('{"text": "a"}\n', {"text_column": "body"}, r"the key 'body' is missing"),
        ('{"text": "a"}\n', {"label_column": "tags"}, r"the key 'tags' is missing"),
        ('{"text": "a"}\n', {"id_column": "key"}, r"the key 'key' is missing"),
        (
            '{"text": "a", "labels": ["b"]}\n',
            {"label_names": ["c"]},
            r"'b', which is not among the",
        ),
        ('{"text": "a", "labels": ["b"]}\n', {"n_labels": 2}, r"'b', but n_labels is for numbered"),
        ('{"text": "a", "labels": [2]}\n', {"n_labels": 2}, r"label number 2 is outside 0…1"),
        ('{"text": "a", "id": null}\n', {}, r"'id' must be a string or a whole number. Got 'null'"),
        ('{"text": "a", "id": true}\n', {}, r"'id' must be a string or a whole number. Got 'true'"),
    ],
)
def test_what_the_options_ask_for_must_be_there(write, content, options, message):
    with pytest.raises(DataError, match=rf"a\.jsonl, line 1: .*{message}"):
        load_dataset(write("a.jsonl", content), **options)


def test_a_file_of_blank_lines_has_no_samples(write):
    assert len(load_dataset(write("a.jsonl", "\n \n"))) == 0


@pytest.mark.parametrize("named", [True, False])
def test_writing_and_reading_gives_the_same_data(tmp_path, named):
    data = Dataset(
        X=random_csr(30, 20, density=0.3),
        Y=random_labels(30, 4, per_point=3),
        label_names=["d", "é", "b", "a"] if named else None,
        feature_names=[f"f {i}" for i in range(20)] if named else None,
        ids=[f"id{i}" for i in range(30)],
        texts=[f"text \u2028 {i}\n" for i in range(30)],
    )
    path = tmp_path / "a.jsonl.gz"
    save_dataset(data, path)
    names = {"label_names": data.label_names, "feature_names": data.feature_names}
    widths = {"n_labels": 4, "n_features": 20}
    again = load_dataset(path, **(names if named else widths))
    assert (again.X != data.X).nnz == 0
    assert (again.Y != data.Y).nnz == 0
    assert (again.ids, again.texts) == (data.ids, data.texts)
    assert again.label_lists() == data.label_lists()


def test_values_are_written_with_as_few_decimals_as_float32_needs(tmp_path):
    data = Dataset(sp.csr_array(np.float32([[0.1]])), random_labels(1, 1))
    save_dataset(data, tmp_path / "a.jsonl")
    assert '"features": [[0, 0.1]]' in (tmp_path / "a.jsonl").read_text()


def test_a_data_set_without_samples_is_a_file_without_lines(tmp_path):
    save_dataset(Dataset(None, random_labels(0, 1), texts=[]), tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    again = load_dataset(tmp_path / "a.jsonl", n_labels=1)
    assert (len(again), again.texts, again.n_labels) == (0, [], 1)


def test_codes_of_labels_are_names_in_the_order_of_numbers(write):
    lines = '{"text": "a", "labels": [45000000, 7]}\n{"text": "b", "labels": [10]}\n'
    data = load_dataset(write("a.jsonl", lines))
    assert data.label_names == ["7", "10", "45000000"]
    assert data.label_lists() == [["7", "45000000"], ["10"]]


def test_a_value_nested_too_deeply_is_refused(write):
    deep = "[" * 990 + "]" * 990
    for line in (f'{{"text": {deep}}}\n', f'{{"text": "a", "labels": {deep}}}\n', deep + "\n"):
        with pytest.raises(DataError, match=r"a\.jsonl, line 1: "):
            load_dataset(write("a.jsonl", line))


@pytest.mark.parametrize("key", ["tags", "Label", "categories"])
def test_labels_under_another_usual_key_are_read_with_a_remark(write, key):
    data = load_dataset(write("a.jsonl", f'{{"text": "a", "{key}": ["x"]}}\n'))
    assert data.description == f"a.jsonl (JSONL, labels from '{key}')"
    assert data.label_lists() == [["x"]]


def test_labels_in_strings_are_split_as_cells_of_a_table_are(write):
    lines = '{"text": "a", "label": null}\n{"text": "a", "label": "x|y"}\n{"text": "b"}\n'
    data = load_dataset(write("a.jsonl", lines))
    assert data.label_lists() == [[], ["x", "y"], []]
    with pytest.raises(DataError, match=r"line 4: 'label' must be a string, as in the lines bef"):
        load_dataset(write("b.jsonl", lines + '{"text": "c", "label": ["x"]}\n'))


def test_an_array_of_objects_is_read_and_its_items_are_counted(write):
    items = '[{"body": "a", "tags": ["x"]},\n {"body": "b", "tags": []}]'
    assert load_dataset(write("a.json", items)).label_lists() == [["x"], []]
    with pytest.raises(DataError, match=r"a\.json, item 2: 'body' must be a string"):
        load_dataset(write("a.json", items.replace('"b"', "3")))
    with pytest.raises(DataError, match=r"a\.json, line 2: not a valid JSON array"):
        load_dataset(write("a.json", items[:-2]))


def test_lists_of_zeros_and_ones_for_each_label_are_refused(write):
    points = [{"text": "a", "labels": [1, 0, 1]}, {"text": "b", "labels": [0, 0, 1]}]
    with pytest.raises(DataError, match="line 1: found 3 zeros and ones, here and in all other"):
        load_dataset(write("a.jsonl", as_lines(*points)))
    points.append({"text": "c", "labels": [2]})
    assert load_dataset(write("b.jsonl", as_lines(*points))).label_names == ["0", "1", "2"]


KNOWN = {"known_label_columns": ["codes"]}


def test_the_labels_that_a_model_knows_win_over_those_of_the_usual_name(write):
    points = [{"text": "a", "codes": ["c"], "labels": ["x"]}, {"text": "b", "labels": ["y"]}]
    data = load_dataset(write("a.jsonl", as_lines(*points)), **KNOWN)
    assert data.label_lists() == [["c"], []]
    assert data.label_columns == ("codes",)


@pytest.mark.parametrize("first", [{"text": "a", "tags": ["x"]}, {"text": "a", "labels": ["x"]}])
def test_labels_that_a_model_knows_and_the_first_line_lacks_are_refused(write, first):
    file = write("a.jsonl", as_lines(first, {"text": "b", "codes": ["c"], "tags": []}))
    with pytest.raises(DataError, match="line 2: found the key 'codes', which the first line"):
        load_dataset(file, **KNOWN)


def test_labels_that_a_model_knows_may_be_missing_in_the_first_line(write):
    points = [{"text": "a"}, {"text": "b", "codes": ["c"]}]
    data = load_dataset(write("a.jsonl", as_lines(*points)), **KNOWN)
    assert data.label_lists() == [[], ["c"]]
    assert load_dataset(write("b.jsonl", as_lines(*points)), ignore_labels=True, **KNOWN).Y.nnz == 0


def test_several_columns_of_a_model_leave_the_usual_key(write):
    point = {"text": "a", "toxic": 1, "insult": 0, "labels": ["toxic"]}
    file = write("a.jsonl", as_lines(point))
    data = load_dataset(file, known_label_columns=["toxic", "insult"])
    assert data.label_lists() == [["toxic"]]


def test_a_name_with_a_control_character_is_refused(write):
    with pytest.raises(DataError, match=r"line 1: found label 'x\\x00', a name with a control"):
        load_dataset(write("a.jsonl", '{"text": "a", "labels": ["x\\u0000", "x"]}\n'))


@pytest.mark.shared
def test_real_data_are_read_whole(shared_data):
    folder = shared_data / "eurlex57k"
    data = load_dataset(
        folder / "test.jsonl.xz", text_column="title,text", label_names=folder / "labels.txt"
    )
    sparse = load_dataset(folder / "test.txt.xz", label_names=folder / "labels.txt")
    assert len(data) == 6000
    assert (data.Y != sparse.Y).nnz == 0
    assert data.label_names == sparse.label_names


@pytest.mark.parametrize("later", ["2.5", "null", "true", "[1]", None])
def test_a_guessed_key_that_holds_no_ids_is_left_alone(write, later):
    second = "" if later is None else f', "number": {later}'
    lines = (
        f'{{"text": "a", "labels": ["x"], "number": 1}}\n{{"text": "b", "labels": []{second}}}\n'
    )
    data = load_dataset(write("a.jsonl", lines))
    assert data.ids is None
    assert "no ids from 'number', as 1 sample has none" in data.description
    with pytest.raises(DataError, match=r"line 2: .*number"):
        load_dataset(write("a.jsonl", lines), id_column="number")


def test_the_number_of_a_class_is_a_label(write):
    lines = (
        '{"text": "a", "label": 0}\n{"text": "b", "label": 12.0}\n{"text": "c", "label": null}\n'
    )
    assert load_dataset(write("a.jsonl", lines)).label_lists() == [["0"], ["12"], []]
    with pytest.raises(DataError, match=r"'label' must be a list of names .* Got .*0.5.* instead"):
        load_dataset(write("a.jsonl", '{"text": "a", "label": 0.5}\n'))


def test_labels_that_are_objects_are_refused_as_they_stand_in_the_file(write):
    file = write("a.jsonl", as_lines({"text": "a", "labels": [{"name": "Lob"}]}))
    with pytest.raises(DataError, match=r"""Got '\[{"name": "Lob"}\]' instead"""):
        load_dataset(file)
