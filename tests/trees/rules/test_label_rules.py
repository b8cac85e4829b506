"""A person's rules on top of any tagger."""

import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import Dataset, OneVsRestSVM, Tagger, TextVectorizer
from labelwood.core.topk import TopK
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.trees.rules.label_rules import LabelRules

LABELS = np.array(["acq", "earn", "grain"])
WORDS = np.array(["dividend", "loss", "merger", "wheat"])
X = sp.csr_array(
    np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=np.float32)
)
Y = sp.csr_array(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))


def decided(text):
    result, effects = LabelRules.from_text(text).decide(Y, X, LABELS, WORDS)
    return result.toarray().astype(int).tolist(), effects


def test_always_adds_and_never_changes_what_it_does_not_name():
    found, effects = decided("always earn if dividend & -loss")
    assert found == [[0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]]
    assert [len(one) for one in effects] == [1, 0, 0, 0]
    assert effects[0][0].action == "added"
    assert effects[0][0].rule == "always earn if dividend & -loss"


def test_never_with_another_label_removes_the_first():
    found, effects = decided("never earn with acq")
    assert found == [[0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 1]]
    assert effects[2][0].label == "earn"


def test_never_if_and_only_if():
    assert decided("never earn if wheat")[0] == [[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    found, effects = decided("only earn if dividend\nonly earn if merger")
    assert found == [[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert effects[3][0].rule == "only earn if dividend; only earn if merger"


def test_never_wins_over_always():
    found, effects = decided("always grain if loss\nnever grain if dividend")
    assert found[1] == [0, 1, 0]
    assert [one.action for one in effects[1]] == ["removed"]


def test_rankings_get_added_labels_first_and_lose_removed_ones():
    top = TopK(np.array([[0, 1], [1, 0], [0, 1], [2, 1]]), np.array([[0.9, 0.4]] * 4))
    rules = LabelRules.from_text("always grain if dividend & -loss\nnever earn with acq")
    after, _ = rules.rank(top, 2, X, LABELS, WORDS)
    assert after.names() == [["grain", "acq"], ["earn", "acq"], ["acq"], ["grain", "earn"]]
    assert after.scores[0, 0] == np.float32(0.9)
    sure, _ = rules.rank(top, 2, X, LABELS, WORDS, proba=True)
    assert sure.scores[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes earn if shr", "line 1, column 1: expected 'always LABEL if"),
        ("\nalways earn with acq", "line 2, column 1: expected"),
        ("always earn if shr &", "line 1, column 21: expected a condition, got the end"),
    ],
)
def test_a_line_that_does_not_parse_is_told_with_its_place(text, message):
    with pytest.raises(DataError, match=message):
        LabelRules.from_text(text)


def test_unknown_labels_are_refused_and_unknown_words_warned_of():
    with pytest.raises(DataError, match="The model has no label 'corn'"):
        LabelRules.from_text("always corn if wheat").check(LABELS, WORDS)
    with pytest.raises(DataError, match="cannot exclude itself"):
        LabelRules.from_text("never earn with earn").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="The vocabulary has no 'shr'"):
        LabelRules.from_text("always earn if shr").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="contradict each other"):
        LabelRules.from_text("always earn if wheat & -wheat").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="has no effect"):
        LabelRules.from_text("always earn if wheat\nnever earn if wheat").check(LABELS, WORDS)


TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "a fog on a mat"] * 5
SETS = [["cat"], ["dog"], ["cat", "dog"], []] * 5


@pytest.fixture
def tagger():
    data = Dataset.from_lists(TEXTS, [one or ["none"] for one in SETS])
    return Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(data)


def test_a_tagger_applies_keeps_and_accounts_for_its_rules(tagger, tmp_path):
    assert len(tagger.rules) == 0
    assert tagger.predict(["a cat on a mat"]) == [["cat"]]
    tagger.set_rules("always dog if mat")
    assert tagger.predict(["a cat on a mat"]) == [["cat", "dog"]]
    assert tagger.predict_topk(["a cat on a mat"], k=1).names() == [["dog"]]
    effect = tagger.rule_effects(["a cat on a mat"])[0][0]
    assert (effect.label, effect.action, effect.rule) == ("dog", "added", "always dog if mat")
    tagger.set_rules("never dog with cat")
    labelwood.save(tagger, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert str(loaded.rules) == "never dog with cat"
    assert loaded.rules_history_ == ["always dog if mat", "never dog with cat"]
    assert loaded.predict(TEXTS[:3]) == tagger.predict(TEXTS[:3])
    assert tagger.predict(["the cat and the dog"]) == [["cat"]]


def test_evaluation_is_after_the_rules(tagger):
    data = Dataset.from_lists(TEXTS, [one or ["none"] for one in SETS])
    before = tagger.evaluate(data)["P@1"]
    tagger.set_rules("always cat if dog & -cat")
    assert tagger.evaluate(data)["P@1"] < before


def run(*arguments, cwd):
    command = [sys.executable, "-m", "labelwood", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_command_line_mimics_edits_and_reports(tagger, tmp_path):
    labelwood.save(tagger, tmp_path / "model")
    lines = [
        json.dumps({"text": text, "labels": one or ["none"]})
        for text, one in zip(TEXTS, SETS, strict=True)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    shown = run("rules", "model", "--label", "cat", "--data", "data.jsonl", "-q", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "cat -> cat" in shown.stdout
    assert "fidelity: 100.0%" in shown.stdout
    alone = run("rules", "model", "--label", "cat", "-q", cwd=tmp_path)
    assert "pseudo-documents" in alone.stdout, alone.stderr
    (tmp_path / "rules.txt").write_text("always dog if fog\n")
    tried = run(
        "rules", "edit", "model", "rules.txt", "--data", "data.jsonl", "--dry-run", cwd=tmp_path
    )
    assert "dog: precision 100.0% -> 66.7%, recall 100.0% -> 100.0%" in tried.stdout, tried.stderr
    saved = run("rules", "edit", "model", "rules.txt", "-q", cwd=tmp_path)
    assert "1 rules saved as version 1" in saved.stdout, saved.stderr
    assert "always dog if fog" in run("info", "model", cwd=tmp_path).stdout
    listed = run("rules", "model", "-q", cwd=tmp_path)
    assert listed.stdout.strip() == "always dog if fog"
    predicted = run("predict", "model", "data.jsonl", "-q", cwd=tmp_path).stdout.splitlines()
    assert json.loads(predicted[3])["rules"][0]["rule"] == "always dog if fog"
    (tmp_path / "rules.txt").write_text("always dog when fog\n")
    failed = run("rules", "edit", "model", "rules.txt", "-q", cwd=tmp_path)
    assert failed.returncode == 2
    assert "rules.txt: line 1, column 1: expected" in failed.stderr
