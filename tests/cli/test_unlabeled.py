import json

import pytest
from typer.testing import CliRunner

from labelwood.cli.main import app
from labelwood.errors import DataError, ParameterError

FEW = [
    ("the cat sat on the mat with a cat", ["cat"]),
    ("a dog barks at the other dog", ["dog"]),
]
MANY = ["a cat purrs on the mat", "the dog barks and barks", "my cat and your cat", "zebra zebra"]


@pytest.fixture
def files(tmp_path):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    few.write_text("".join(json.dumps({"text": t, "labels": y}) + "\n" for t, y in FEW))
    many.write_text(
        "".join(json.dumps({"text": t, "id": f"m{i}"}) + "\n" for i, t in enumerate(MANY))
    )
    return few, many


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


OPTIONS = ("--learner", "graph", "--set", "text.min_df=1")


def answers(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["id"]: [one["label"] for one in line["labels"]] for line in lines}


def test_the_unlabeled_file_gets_its_labels(files, tmp_path):
    few, many = files
    told = run("train", few, "--unlabeled", many, "-o", tmp_path / "model", *OPTIONS)
    assert "2 labeled and 4 unlabeled samples; of the latter 1 without a connection" in told
    again = ("train", few, "--unlabeled", many, "-o", tmp_path / "model", *OPTIONS, "-q")
    assert run(*again) == ""
    found = answers(tmp_path / "model.predictions.jsonl")
    assert found["m0"][0] == "cat"
    assert found["m1"][0] == "dog"
    assert found["m2"][0] == "cat"
    assert found["m3"] == []  # no word connects it with a labeled text
    predicted = run("predict", tmp_path / "model", many, "-k", 1, "--quiet")
    assert json.loads(predicted.splitlines()[0])["labels"][0]["label"] == "cat"


def test_self_training_saves_the_flagship(files, tmp_path):
    few, many = files
    told = run(
        "train",
        few,
        "--unlabeled",
        many,
        "-o",
        tmp_path / "model",
        "--self-train",
        "--json",
        *OPTIONS,
    )
    figures = json.loads(told)
    assert figures["learner"] == "OneVsRestSVM"
    assert figures["without an answer"] == 1
    assert figures["self-trained on"] >= 1
    assert answers(tmp_path / "model.predictions.jsonl")["m1"] == ["dog"]


def test_predictions_stand_beside_a_model_that_is_the_directory_itself(
    files, tmp_path, monkeypatch
):
    few, many = files
    (tmp_path / "model").mkdir()
    monkeypatch.chdir(tmp_path / "model")
    run("train", few, "--unlabeled", many, "-o", ".", *OPTIONS)
    assert answers(tmp_path / "model.predictions.jsonl")["m1"][0] == "dog"


@pytest.mark.parametrize("read", [False, True])
def test_another_file_is_not_replaced_by_predictions(files, tmp_path, read):
    few, many = files
    there = tmp_path / "m.predictions.jsonl"
    there.write_text(many.read_text())
    message = "is the file that is read" if read else "is there already, and there is no model"
    with pytest.raises(ParameterError, match=message):
        run("train", few, "--unlabeled", there if read else many, "-o", tmp_path / "m", *OPTIONS)
    assert there.read_text() == many.read_text()
    assert not (tmp_path / "m").exists()


def test_other_learners_take_no_unlabeled_samples(files, tmp_path):
    few, many = files
    with pytest.raises(ParameterError, match="for --learner graph, not onevsrest"):
        run("train", few, "--unlabeled", many, "-o", tmp_path / "m", "--learner", "onevsrest")
    with pytest.raises(ParameterError, match="--self-train needs the unlabeled"):
        run("train", few, "--self-train", "-o", tmp_path / "m", "--learner", "graph")


def test_texts_and_features_do_not_mix(files, tmp_path):
    few, _ = files
    other = tmp_path / "features.jsonl"
    other.write_text('{"features": {"a": 1.0}}\n')
    with pytest.raises(DataError, match="Both files must hold texts"):
        run("train", few, "--unlabeled", other, "-o", tmp_path / "m", *OPTIONS)


def test_features_of_both_files_are_joined_by_name(tmp_path):
    few, many = tmp_path / "few.jsonl", tmp_path / "many.jsonl"
    rows = [({"a": 1.0, "b": 0.2}, ["A"]), ({"b": 1.0, "a": 0.1}, ["B"])]
    few.write_text("".join(json.dumps({"features": f, "labels": y}) + "\n" for f, y in rows))
    new = [{"b": 1.0, "c": 0.3}, {"b": 1.0}, {"c": 0.3, "a": 1.0, "d": 0.1}]
    many.write_text("".join(json.dumps({"features": f}) + "\n" for f in new))
    model = tmp_path / "model"
    options = ("--learner", "graph", "--set", "metric=cosine", "--quiet")
    run("train", few, "--unlabeled", many, "-o", model, *options)
    found = answers(tmp_path / "model.predictions.jsonl")
    assert [found[i][0] for i in range(3)] == ["B", "B", "A"]
    predicted = run("predict", model, many, "-k", 1, "--quiet").splitlines()
    assert [json.loads(one)["labels"][0]["label"] for one in predicted] == ["B", "B", "A"]
