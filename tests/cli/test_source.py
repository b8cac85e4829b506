"""Data as the command line reads them, and what it remarks."""

import json

import pytest

from builders import run_command
from labelwood.cli.source import in_options

ROWS = [f"{i},a {pet} at noon,{pet}\n" for i, pet in enumerate(["cat", "dog", "owl"] * 8)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "tickets.csv"
    path.write_text("Vorgang,text,tags\n" + "".join(ROWS))
    return path


@pytest.fixture(scope="module")
def model(table):
    output = table.parent / "model"
    run_command("train", table, "-o", output, "--learner", "onevsrest", "-q")
    return output


def test_remarks_name_options(table, model):
    remark = "no id column (rows are numbered from 0; name one by --id-column)"
    assert remark in json.loads(run_command("info", table, "--json").stdout)["data"]
    assert remark in run_command("predict", model, table).stderr
    assert remark not in run_command("predict", model, table, "--id-column", "Vorgang").stderr


def test_the_name_of_a_file_is_no_option():
    assert in_options("label_names.txt (lines)") == "label_names.txt (lines)"
    assert in_options("data/label_names: it is empty") == "data/label_names: it is empty"
    assert in_options("named by label_column.") == "named by --label-column."
