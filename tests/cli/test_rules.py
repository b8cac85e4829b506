"""`labelwood rules`: data are read as those that the model learned from."""

import json

import pytest

from builders import run_command

ROWS = [("the cat purrs", "cat"), ("a dog barks", "dog"), ("the dog and the cat", "cat, dog")]
ROWS += [("an owl hoots", "owl"), ("nothing at all", "none")]
NOTES = ["cat, dog", "elm", "elk"]  # a usual name of labels, which the model did not learn


@pytest.fixture
def model(tmp_path):
    header = "note,codes,remarks,labels"
    rows = [f'x{i},"{y}",{t},"{NOTES[i % 3]}"' for i, (t, y) in enumerate(ROWS * 12)]
    (tmp_path / "train.csv").write_text("\n".join([header, *rows, ""]))
    given = ("--text-column", "remarks", "--label-column", "codes", "--set", "text.min_df=1")
    given += ("--learner", "onevsrest", "-q")
    run("train", tmp_path / "train.csv", "-o", tmp_path / "m", *given)
    return tmp_path / "m"


def run(*arguments):
    return run_command(*arguments).stdout


@pytest.fixture
def data(tmp_path):
    """Columns with usual names beside those of training, and a comma that may be part of a name."""
    path = tmp_path / "new.csv"
    rows = ['z,"cat, dog",the dog and the cat,elm', "z,owl,an owl hoots,elm"]
    path.write_text("\n".join(["text,codes,remarks,labels", *rows * 2, ""]))
    return path


def test_a_change_is_measured_with_the_columns_and_the_separator_of_training(model, data, tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("always dog if dog\n")
    told = run("rules", "edit", model, rules, "--data", data, "--dry-run", "-q")
    assert "dog: precision 100.0% -> 100.0%, recall 100.0% -> 100.0%" in told


def test_rules_that_mimic_a_model_are_measured_on_the_texts_that_it_learned_from(model, data):
    found = json.loads(run("rules", model, "--label", "dog", "--data", data, "--json", "-q"))
    assert found["rules"] != []
    assert "dog" in " ".join(found["rules"])
