"""Which columns are taken."""

import json

import pytest

from labelwood.data.load import load_dataset

NUMBERED = "(rows are numbered from 0; name one by id_column)"
NO_IDS = f"no id column {NUMBERED}"


@pytest.mark.parametrize(
    ("header", "options", "remarked"),
    [
        ("Vorgang;Text;Tags", {}, True),
        ("Nr;Text;Tags", {}, True),  # of which two are alike
        ("id;Text;Tags", {}, False),
        ("Vorgang;Text;Tags", {"id_column": "Vorgang"}, False),
        ("Titel;Nachricht;Tags", {}, False),
        (";Text;Tags", {}, False),
        ("Vorgang;Text;Tags", {"ignore_labels": True}, True),
        ("Titel;Nachricht;Tags", {"ignore_labels": True}, False),
        ("Titel;Nachricht;Art", {"ignore_labels": True, "known_label_columns": ["Art"]}, False),
        ("Titel;Nachricht;Art", {"ignore_labels": True, "label_column": "Art"}, False),
        ("Titel;Nachricht;Art", {"ignore_labels": True}, True),
    ],
)
def test_ids_that_are_lost_are_remarked(write, header, options, remarked):
    data = load_dataset(write("a.csv", f"{header}\n7;An owl;owl\n7;A cat;cat\n"), **options)
    assert (NUMBERED in data.description) == remarked
    assert (data.ids is None) == (not header.startswith("id") and "id_column" not in options)


def test_columns_that_were_taken_for_labels_by_their_content_are_used(write):
    rows = "\na,1,0,7\nb,0,1,7\n"
    assert NO_IDS in load_dataset(write("a.csv", f"text,owl,cat,size{rows}")).description
    unnamed = load_dataset(write("b.csv", f"text,owl,cat,id{rows}"))
    assert "no id column" not in unnamed.description


def test_ids_under_another_key_and_in_parquet_are_remarked(write, tmp_path):
    lines = [{"Vorgang": "7", "text": "a", "labels": ["x"]}, {"text": "b", "labels": []}]
    file = write("a.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    assert NO_IDS in load_dataset(file).description
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    parquet.write_table(pyarrow.table({"Vorgang": [7], "text": ["a"]}), tmp_path / "a.parquet")
    assert NO_IDS in load_dataset(tmp_path / "a.parquet").description
