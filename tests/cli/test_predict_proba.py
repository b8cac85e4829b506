import json
import sys

import pytest
from typer.testing import CliRunner

import labelwood
from labelwood.cli import main as main_module
from labelwood.cli.main import app
from labelwood.errors import DataError

TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "an owl at night"]
LABELS = [["cat"], ["dog"], ["cat", "dog"], ["owl"]]


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    path = tmp_path_factory.mktemp("proba") / "docs.jsonl"
    lines = [
        json.dumps({"text": text, "labels": labels})
        for text, labels in zip(TEXTS * 6, LABELS * 6, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path


def train(documents, name, *settings):
    path = documents.parent / name
    arguments = ["train", documents, "-o", path, "--quiet", *settings]
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return path


def test_the_command_line_prints_the_probabilities_of_python(documents):
    model = train(documents, "calibrated")
    arguments = ["predict", str(model), str(documents), "-k", "2"]
    lines = CliRunner().invoke(app, arguments).stdout.splitlines()
    printed = [json.loads(line)["labels"] for line in lines]
    top = labelwood.load(model).predict_topk(TEXTS * 6, 2, proba=True)
    expected = top.scores.astype(float).round(6).tolist()
    assert [[one["probability"] for one in row] for row in printed] == expected
    assert [[one["label"] for one in row] for row in printed] == top.names()
    assert all(0 < one["probability"] < 1 for row in printed for one in row)


def test_a_model_without_calibration_gets_one_line_that_says_what_to_do(
    documents, monkeypatch, capsys
):
    model = train(documents, "plain", "--threshold", "none")
    monkeypatch.setattr(sys, "argv", ["labelwood", "predict", str(model), "absent.txt", "--proba"])
    with pytest.raises(SystemExit, match="2"):
        main_module.main()
    printed = capsys.readouterr()
    assert printed.err.splitlines()[-1] == (
        f"labelwood: error: {model} gives no probabilities; train it without --threshold none"
    )
    assert printed.out == ""


@pytest.mark.parametrize("option", [("--proba",), ("--threshold", "30%")])
def test_a_model_of_too_few_samples_for_probabilities_says_so(
    tmp_path, monkeypatch, capsys, option
):
    (tmp_path / "two.csv").write_text("text,labels\na cat,cat\na dog,dog\n")
    arguments = ["train", "two.csv", "-o", "m", "--set", "text.min_df=1", "-q"]
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(app, arguments).exit_code == 0
    monkeypatch.setattr(sys, "argv", ["labelwood", "predict", "m", "two.csv", *option])
    with pytest.raises(SystemExit, match="2"):
        main_module.main()
    assert capsys.readouterr().err.splitlines()[-1] == (
        "labelwood: error: m gives no probabilities; train it on 10 samples or more, of which "
        "some are held out"
    )
    tagger = labelwood.load("m")
    with pytest.raises(DataError, match="fit it on 10 samples or more, of which some are held out"):
        tagger.predict_proba(["a cat"])


def labels_of(documents, model, *options):
    result = CliRunner().invoke(app, ["predict", str(model), str(documents), *options])
    assert result.exit_code == 0, result.output
    return [json.loads(line)["labels"] for line in result.stdout.splitlines()]


def test_by_default_it_prints_the_labels_that_python_predicts(documents):
    model = train(documents, "default")
    printed = labels_of(documents, model)
    tagger = labelwood.load(model)
    assert [sorted(one["label"] for one in row) for row in printed] == tagger.predict(TEXTS * 6)
    assert all(one["probability"] >= tagger.threshold_ for row in printed for one in row)
    assert labels_of(documents, model, "--threshold", "100%") == [[]] * 24
    best = labels_of(documents, model, "--threshold", "1", "--at-least-one")
    assert [[one["label"] for one in row] for row in best] == tagger.predict_topk(
        TEXTS * 6, 1
    ).names()
    assert all("score" in one for row in labels_of(documents, model, "--scores") for one in row)


def test_a_threshold_that_is_no_probability_gets_one_line(documents):
    result = CliRunner().invoke(app, ["predict", "absent", "absent.txt", "--threshold", "3"])
    assert result.exit_code == 2
    assert "'3' is no share; give a number between 0 and 1" in result.stderr
