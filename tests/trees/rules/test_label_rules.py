"""A person's rules on top of any tagger."""

import copy
import json

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from builders import run_command
from labelwood import Dataset, OneVsRestSVM, Tagger, TextVectorizer
from labelwood.core.topk import TopK
from labelwood.errors import DataError, LabelwoodWarning
from labelwood.tagger.decisions import changed, ranked_by_rules
from labelwood.trees.rules.label_rules import LabelRules

LABELS = np.array(["acq", "earn", "grain"])
WORDS = np.array(["dividend", "loss", "merger", "wheat"])
X = sp.csr_array(
    np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=np.float32)
)
Y = sp.csr_array(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 1, 1]], dtype=np.float32))


def decided(text):
    verdicts = LabelRules.from_text(text).verdicts(X, Y, LABELS, WORDS)
    after = changed(Y, verdicts)
    effects = [
        verdict.effects(set(Y[[row]].indices), set(after[[row]].indices), LABELS)
        for row, verdict in enumerate(verdicts)
    ]
    return after.toarray().astype(int).tolist(), effects


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
    assert effects[1] == []  # the answer is what it was


def test_always_wins_over_only_and_reports_no_removal():
    found, effects = decided("only earn if wheat\nalways earn if merger")
    assert [row[1] for row in found] == [0, 0, 1, 1]
    assert [[one.action for one in row] for row in effects] == [[], ["removed"], [], []]


def test_never_with_wins_over_always():
    found, effects = decided("always earn if merger\nalways grain if merger\nnever earn with grain")
    assert found[2] == [1, 0, 1]
    assert [(one.label, one.action) for one in effects[2]] == [
        ("grain", "added"),
        ("earn", "removed"),
    ]


def test_of_labels_that_exclude_each_other_the_first_line_removes_one():
    found, _ = decided("never earn with acq\nnever acq with earn")
    assert found[2] == [1, 0, 0]
    found, _ = decided("never acq with earn\nnever earn with acq")
    assert found[2] == [0, 1, 0]


def test_rankings_get_added_labels_first_and_lose_removed_ones():
    top = TopK(np.array([[0, 1], [1, 0], [0, 1], [2, 1]]), np.array([[0.9, 0.4]] * 4), LABELS)
    rules = LabelRules.from_text("always grain if dividend & -loss\nnever earn with acq")
    verdicts = rules.verdicts(X, Y, LABELS, WORDS)
    after = ranked_by_rules(top, verdicts, 2, proba=False)
    assert after.names() == [["grain", "acq"], ["earn", "acq"], ["acq"], ["grain", "earn"]]
    assert after.scores[0, 0] == np.float32(0.9)
    assert ranked_by_rules(top, verdicts, 2, proba=True).scores[0, 0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes earn if shr", "line 1, column 1: expected 'always', 'never' or 'only', got"),
        ("\nalways earn with acq", r"line 2, column 13: expected 'if' \(only 'never' goes with"),
        ("  always", "line 1, column 9: expected a label, got the end of the line"),
        ('always "earn if shr', "line 1, column 8: expected a label, got '\"earn'"),
        ("never earn when acq", "line 1, column 12: expected 'if' or 'with', got 'when'"),
        ("never earn with acq & grain", "line 1, column 21: expected the end of the line"),
        ("always earn if shr &", "line 1, column 21: expected a condition, got the end"),
    ],
)
def test_a_line_that_does_not_parse_is_told_with_its_place(text, message):
    with pytest.raises(DataError, match=message):
        LabelRules.from_text(text)


def test_signs_within_quotes_belong_to_the_name():
    text = 'never "c # and f#" with "tab\\there"  # the desk\nalways earn if "# 1" & c#'
    rules = LabelRules.from_text(text)
    assert rules.rules[0].label == "c # and f#"
    assert rules.rules[0].other == "tab\there"
    assert rules.words == ("# 1", "c#")
    assert LabelRules.from_text(str(rules)) == rules


def test_rules_that_are_no_text_are_refused():
    with pytest.raises(DataError, match=r"Rules must be text, one rule a line\. Got NoneType"):
        LabelRules.from_text(None)


def test_unknown_labels_are_refused_and_unknown_words_warned_of():
    with pytest.raises(DataError, match="The model has no label 'corn'"):
        LabelRules.from_text("always corn if wheat").check(LABELS, WORDS)
    with pytest.raises(DataError, match="cannot exclude itself"):
        LabelRules.from_text("never earn with earn").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="The vocabulary has no 'shr'"):
        LabelRules.from_text("always earn if shr").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match=r"has no 'Wheat' \(is 'wheat' meant\?\): a rule"):
        LabelRules.from_text("always grain if Wheat").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="contradict each other"):
        LabelRules.from_text("always earn if wheat & -wheat").check(LABELS, WORDS)
    with pytest.warns(LabelwoodWarning, match="has no effect"):
        LabelRules.from_text("always earn if wheat\nnever earn if wheat").check(LABELS, WORDS)


TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "a fog on a mat"] * 5
SETS = [["cat"], ["dog"], ["cat", "dog"], []] * 5


@pytest.fixture(scope="module")
def fitted_tagger():
    data = Dataset.from_lists(TEXTS, [one or ["none"] for one in SETS])
    return Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(data)


@pytest.fixture
def tagger(fitted_tagger):
    return copy.copy(fitted_tagger)


NEWS = [*TEXTS[:4], "a cat in the fog", "a mat", "the dog on the mat"]


@pytest.mark.parametrize(
    "rules",
    [
        "always dog if mat\nnever dog with cat",
        "always cat if fog\nnever cat with dog",
        "never cat with dog\nnever dog with none",
        "only cat if mat\nalways cat if dog\nnever none if -cat",
    ],
)
@pytest.mark.parametrize("decides", ["threshold", "estimator"])
def test_the_precedence_is_the_same_in_every_kind_of_answer(tagger, rules, decides):
    if decides == "estimator":
        tagger.threshold_ = None
    tagger.set_rules(rules)
    names, proba = tagger.label_names_, tagger.predict_proba(NEWS).toarray()
    sets = tagger.predict(NEWS)
    tags = tagger.predict_tags(NEWS).names()
    assert [sorted(row) for row in tags] == [sorted(row) for row in sets]
    assert tagger.predict_frame(NEWS)["tags"].tolist() == sets
    long = tagger.predict_frame(NEWS, long=True)
    assert len(long) == sum(map(len, sets))
    removed = [set(names) - set(row) for row in tagger.predict_topk(NEWS, k=3).names()]
    for i, row in enumerate(sets):
        assert not removed[i] & set(row)
        assert {names[j] for j in np.flatnonzero(proba[i])} & removed[i] == set()
    for k in (1, 2, 3):
        ranked = tagger.predict_topk(NEWS, k).names()
        assert ranked == [row[:k] for row in tagger.predict_topk(NEWS, 3).names()]
        assert [sorted(r) for r in tagger.predict(NEWS, k=k)] == [sorted(r) for r in ranked]
    for at in (0.05, 0.6):
        by_threshold = tagger.predict(NEWS, threshold=at, at_least_one=True)
        same = tagger.predict_tags(NEWS, threshold=at, at_least_one=True).names()
        assert [sorted(row) for row in same] == [sorted(row) for row in by_threshold]


def test_effects_are_those_on_the_answer_that_was_asked_for(tagger):
    tagger.set_rules("never cat if mat\nalways dog if mat")
    text = ["a cat on a mat"]
    assert [(e.label, e.action) for e in tagger.rule_effects(text, k=1)[0]] == [
        ("dog", "added"),
        ("cat", "removed"),
    ]
    # With all labels in the answer, dog would have been there without a rule.
    assert [(e.label, e.action) for e in tagger.rule_effects(text, k=3)[0]] == [("cat", "removed")]
    assert tagger.rule_effects(text, threshold=1.0)[0][0].label == "dog"


def test_a_tagger_applies_keeps_and_accounts_for_its_rules(tagger, tmp_path):
    assert len(tagger.rules) == 0
    assert tagger.predict(["a cat on a mat"]) == [["cat"]]
    tagger.set_rules("always dog if mat")
    assert tagger.predict(["a cat on a mat"]) == [["dog", "cat"]]
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


def run(*arguments):
    return run_command(*arguments).stdout


@pytest.fixture
def model(tagger, tmp_path):
    labelwood.save(tagger, tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def documents(tmp_path):
    lines = [
        json.dumps({"text": text, "labels": one or ["none"]})
        for text, one in zip(TEXTS, SETS, strict=True)
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(lines))
    return tmp_path / "data.jsonl"


def test_the_command_line_mimics_a_model(model, documents):
    shown = run("rules", model, "--label", "cat", "--data", documents, "-q")
    assert "cat -> cat" in shown
    assert "fidelity: 100.0%" in shown
    assert "pseudo-documents" in run("rules", model, "--label", "cat", "-q")


def test_the_command_line_edits_lists_and_accounts_for_rules(model, documents, tmp_path):
    file = tmp_path / "rules.txt"
    file.write_text("always dog if fog\n")
    tried = run("rules", "edit", model, file, "--data", documents, "--dry-run")
    assert "dog: precision 100.0% -> 66.7%, recall 100.0% -> 100.0%" in tried
    assert "1 rule saved as version 1" in run("rules", "edit", model, file, "-q")
    assert "always dog if fog" in run("info", model)
    assert run("rules", model, "-q").strip() == "always dog if fog"
    predicted = run("predict", model, documents, "-q").splitlines()
    assert json.loads(predicted[3])["rules"][0]["rule"] == "always dog if fog"
    # With all three labels asked for, the rule has added nothing.
    assert "rules" not in json.loads(run("predict", model, documents, "-k3", "-q").splitlines()[3])
    file.write_text("never none if cat\n")
    without = run("rules", "edit", model, file, "--data", documents, "--dry-run")
    assert "dog: precision 66.7% -> 100.0%" in without  # its rule is no longer there
    file.write_text("always dog when fog\n")
    with pytest.raises(DataError, match=r"rules.txt: line 1, column 12: expected 'if', got 'when'"):
        run("rules", "edit", model, file, "-q")
    file.write_text(" \n")
    with pytest.raises(DataError, match=r"rules.txt is empty; .* to remove all rules .*: # none"):
        run("rules", "edit", model, file, "-q")
    with pytest.raises(DataError, match="is a directory; name a file in it"):
        run("rules", "edit", model, tmp_path, "-q")
    file.write_text("# none\n")
    assert "0 rules saved as version 2" in run("rules", "edit", model, file, "-q")


def test_a_label_that_the_model_lacks_is_refused_with_those_it_has(model):
    with pytest.raises(DataError, match=r"no label 'emu'; it has cat, dog, none$"):
        run("rules", model, "--label", "emu")
