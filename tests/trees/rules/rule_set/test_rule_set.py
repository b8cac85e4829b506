"""Rule sets: equal to their tree, simplified without a change, edited with a record."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binomtest
from sklearn.base import clone

import labelwood
from labelwood import RuleSet, RuleTreeClassifier
from labelwood.errors import DataError, LabelwoodWarning, ParameterError
from labelwood.trees.rules.rule_set.report import Share
from trees.rules.trees import table, text

WORDS = ["shr", "dividend", "loss"]
X = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
y = ["earn", "earn", "other", "other"]


def random_rows(rng, d, n=10_000):
    """Rows around the thresholds of trees on rounded values, many of them equal to one."""
    return np.round(rng.standard_normal((n, d)) * 4) / 4


@pytest.mark.parametrize("seed", range(50))
def test_rules_are_equivalent_to_the_tree_and_stay_so_when_simplified(seed):
    rng = np.random.default_rng(seed)
    features, classes = table(150, 4, n_classes=2 + seed % 3, seed=seed, levels=4)
    kinds = {}
    fresh = random_rows(rng, 4)
    if seed % 2:
        features[:, 3] = rng.integers(0, 6, 150)
        fresh[:, 3] = rng.integers(0, 8, 10_000)
        kinds["categorical_features"] = [3]
    if seed % 5 == 0:
        features[rng.random(150) < 0.2, 0] = np.nan
        fresh[rng.random(10_000) < 0.2, 0] = np.nan
        kinds["missing"] = ("value", "zero", "impute")[seed % 3]
    tree = RuleTreeClassifier(max_leaves=4 + seed % 9, min_samples_leaf=2, **kinds)
    tree.fit(features, classes)
    rules = tree.rules()
    simpler = rules.simplify()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # new categories
        expected = tree.predict(fresh)
        np.testing.assert_array_equal(rules.predict(fresh), expected)
        np.testing.assert_array_equal(simpler.rules.predict(fresh), expected)
    before, after = (
        sum(len(r.conditions) for r in one.rule_list()) for one in (rules, simpler.rules)
    )
    assert after <= before
    assert len(simpler.steps) == 4


@pytest.mark.parametrize("first", ["color <= 1 & color in {1, 3}", "color >= 2 & color not in {3}"])
def test_a_set_and_an_interval_of_one_feature_stay_together_when_simplified(first):
    colors = np.array([[0.0], [1], [2], [3], [4]])
    rules = RuleSet(f"{first} -> q\nOTHERWISE -> p", feature_names=["color"])
    rules.fit(colors, ["p", "q", "q", "p", "q"])
    simpler = rules.simplify().rules
    assert simpler.predict(colors).tolist() == rules.predict(colors).tolist()
    assert set(rules.predict(colors)) == {"p", "q"}


def test_a_label_that_an_edit_removes_is_shown_with_the_recall_it_loses():
    rules = RuleSet("a -> x\nb -> y\nOTHERWISE -> z", feature_names=["a", "b"])
    features, labels = np.array([[1, 0], [0, 1], [0, 0]]), ["x", "y", "z"]
    rules.fit(features, labels)
    shown = str(rules.drop(1).compare(rules, features, labels))
    assert "recall of x: 100.0% -> 0.0%" in shown
    assert "nan" not in shown


def test_words_are_read_off_text_as_in_the_lecture():
    features, labels = text()
    names = [f"w{i}" for i in range(40)]
    tree = RuleTreeClassifier(max_leaves=4, presence_features="all").fit(features, labels)
    rules = tree.rules(names).simplify().rules
    assert 'w3 -> "1"' in map(str, rules.rule_list())
    assert str(rules.rule_list()[-1]).startswith("OTHERWISE -> ")
    words = [{names[j] for j in features[[i]].indices} for i in range(50)]
    np.testing.assert_array_equal(rules.predict_words(words), rules.predict(features[:50]))


def test_rules_of_a_label_of_a_shared_tree_and_of_its_own():
    features, classes = table(200, 4, n_classes=3, seed=3)
    Y = [["a"] if c == 0 else ["a", "b"] if c == 1 else ["c"] for c in classes]
    for shared in (False, True):
        model = RuleTreeClassifier(max_leaves=8, shared_tree=shared).fit(features, Y)
        decided = model.predict(features).toarray()
        for place, label in enumerate("abc"):
            rules = model.rules(label=label)
            np.testing.assert_array_equal(rules.predict(features), decided[:, place])
    with pytest.raises(DataError, match="label must be one of the model's labels"):
        model.rules(label="d")


def fitted(rules="shr -> earn"):
    return RuleSet(rules, feature_names=WORDS).fit(X, y)


def test_editing_changes_only_what_is_named():
    features, labels = text(400)
    names = [f"w{i}" for i in range(40)]
    tree = RuleTreeClassifier(max_leaves=8, presence_features="all").fit(features, labels)
    rules = tree.rules(names).simplify().rules
    before, matched = rules.predict(features), rules.match(features)
    for number in range(1, len(rules.rule_list())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelwoodWarning)
            dropped = rules.drop(number)
        others = matched != number - 1
        np.testing.assert_array_equal(dropped.predict(features)[others], before[others])
    added = rules.add("w20 & -w21 -> 0", at=1)
    dense = features.toarray()
    named = (dense[:, 20] > 0) & (dense[:, 21] == 0)
    np.testing.assert_array_equal(added.predict(features)[~named], before[~named])
    assert not added.predict(features)[named].any()
    np.testing.assert_array_equal(rules.predict(features), before)  # the old one is as it was
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelwoodWarning)  # one is out of reach now
        moved = rules.move(1, 2)
    assert sorted(map(str, moved.rule_list())) == sorted(map(str, rules.rule_list()))


def test_edits_can_be_replayed_and_come_from_edited_text():
    rules = fitted().add("dividend & -loss -> earn").add("loss -> other", at=1).move(1, 3).drop(1)
    assert rules.edits_ == [
        "add 2: dividend & -loss -> earn",
        "add 1: loss -> other",
        "move 1 to 3",
        "drop 1",
    ]
    assert fitted().replay(rules.edits_).text_ == rules.text_
    assert fitted().replay("\n".join(rules.edits_)).text_ == rules.text_
    wanted = "loss -> other\nshr -> earn\nOTHERWISE -> earn\n"
    edited = fitted().edit_to(wanted)
    assert edited.to_text() == wanted
    assert edited.edits_ == ["add 1: loss -> other", "OTHERWISE -> earn"]
    assert fitted().replay(edited.edits_).to_text() == wanted


def test_only_the_rules_after_the_last_edit_are_checked():
    rules = RuleSet("shr -> earn\nOTHERWISE -> ~earn", feature_names=WORDS).fit(X, [1, 1, 0, 0])
    # In between, rules speak of two labels, of which 0 and 1 can only stand for one.
    renamed = rules.edit_to("shr -> gain\nOTHERWISE -> ~gain")
    assert rules.replay(renamed.edits_).text_ == renamed.text_
    swapped = "dividend & loss -> other\ndividend -> earn"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # in between, the first is behind the second
        fitted("dividend & -loss -> other\nshr -> other\ndividend -> earn").edit_to(
            f"{swapped}\nOTHERWISE -> other"
        )


def test_json_brings_everything_back_and_can_be_edited():
    rules = fitted().add("dividend & -loss -> earn")
    again = RuleSet.from_json(rules.to_json())
    assert again.to_json() == rules.to_json()
    assert again.edits_ == rules.edits_
    np.testing.assert_array_equal(again.decision_function(X), rules.decision_function(X))
    assert again.add("loss -> other", at=1).predict(X).tolist() == [
        "earn",
        "earn",
        "other",
        "other",
    ]
    changed = rules.to_json().replace("dividend & -loss", "dividend")
    assert rules.edit_to(changed).edits_[1:] == ["drop 2", "add 2: dividend -> earn"]
    assert rules.edit_to('{"rules": ["shr -> earn", "OTHERWISE -> other"]}').edits_[1:] == [
        "drop 2"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules", "Not JSON: "),
        ("[1]", "must be an object. Got list"),
        ('{"rules": 1}', 'must be an object with a list "rules"'),
        ('{"rules": ["a -> b"]}', "has no 'missing': from_json takes what to_json wrote"),
        (None, "must be text. Got NoneType"),
    ],
)
def test_json_that_is_no_rule_set_is_refused(text, message):
    with pytest.raises(DataError, match=message):
        RuleSet.from_json(text)


def test_json_whose_parts_do_not_fit_is_refused():
    good = fitted().to_json()
    for old, new, message in [
        ('"shr": 0', '"shr": 7', "do not fit together"),
        ('"shr": 0', '"shr": "one"', "not what to_json writes"),
        ('"shr": 0', '"shr": 0.5', "should be whole numbers"),
        ('{"earn": 1.0,', '{"earn": NaN,', "counts_ must be weights of samples"),
        ('"missing": "error"', '"missing": "maybe"', "'missing' parameter of RuleSet must be"),
        ("shr -> earn", "shr -> grain", "has a label that is no class"),
    ]:
        assert old in good
        with pytest.raises((DataError, ParameterError), match=message):
            RuleSet.from_json(good.replace(old, new))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_rules_mean_the_same_in_either_precision(dtype):
    values = np.array([[0.1], [0.2], [0.3]], dtype=dtype)
    for condition, expected in [
        ("a <= 0.2", [1, 1, 0]),
        ("a < 0.2", [1, 0, 0]),
        ("a >= 0.2", [0, 1, 1]),
        ("a > 0.2", [0, 0, 1]),
        ("a = 0.2", [0, 1, 0]),
        ("0.1 < a <= 0.3", [0, 1, 1]),
    ]:
        rules = RuleSet(f"{condition} -> y\nOTHERWISE -> n", feature_names=["a"])
        rules.fit(values, ["y", "n", "n"])
        assert (rules.predict(values) == "y").tolist() == [bool(one) for one in expected]
        words = [{"a": float(one)} for one in (0.1, 0.2, 0.3)]
        assert rules.predict_words(words).tolist() == rules.predict(values).tolist()
        assert str(rules.rule_list()[0]) == f"{condition} -> y"


def test_rules_are_equivalent_to_a_tree_whose_thresholds_lie_between_neighboring_floats():
    rng = np.random.default_rng(0)
    start = np.float32(0.1).view(np.int32)
    values = (start + rng.integers(0, 12, 400)).astype(np.int32).view(np.float32)[:, None]
    tree = RuleTreeClassifier().fit(values, rng.integers(0, 2, 400))
    rules = tree.rules()
    # Numbers of double precision around and between those of single precision.
    near = np.concatenate([values, values.astype(float) * (1 + 2e-8), values.astype(float) - 3e-9])
    for X in (near.astype(np.float32), near):
        np.testing.assert_array_equal(rules.predict(X), tree.predict(X))
        np.testing.assert_array_equal(rules.simplify().rules.predict(X), tree.predict(X))


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_simplified_rules_keep_the_training_counts(seed):
    features, labels = table(200, 4, n_classes=2 + seed % 3, seed=seed, levels=4)
    rules = (
        RuleTreeClassifier(max_leaves=4 + seed, min_samples_leaf=2).fit(features, labels).rules()
    )
    simpler = rules.simplify().rules
    assert len(simpler.rule_list()) < len(rules.rule_list())
    np.testing.assert_allclose(simpler.counts_.sum(axis=0), rules.counts_.sum(axis=0))
    counted = clone(simpler).fit(features, labels)
    np.testing.assert_allclose(simpler.counts_, counted.counts_)
    np.testing.assert_allclose(
        simpler.decision_function(features), counted.decision_function(features)
    )


def test_merged_rules_have_the_counts_of_both():
    rules = fitted("shr & loss -> earn\nshr & -loss -> earn\nOTHERWISE -> other")
    merged = rules.simplify().rules
    assert merged.text_ == "shr -> earn\nOTHERWISE -> other"
    assert merged.counts_.tolist() == [[1, 0], [1, 2]]


def test_rules_of_a_tree_know_the_columns_of_its_table():
    frame = pd.DataFrame({"age": [1.0, 2, 3, 4], "size": [0.0, 1, 0, 1]})
    rules = RuleTreeClassifier().fit(frame, [0, 0, 1, 1]).rules()
    assert rules.feature_names_in_.tolist() == ["age", "size"]
    assert rules.predict(frame).tolist() == [0, 0, 1, 1]
    with pytest.raises(DataError, match="feature names should match"):
        rules.predict(frame[["size", "age"]])
    again = RuleSet.from_json(rules.to_json())
    assert again.predict(frame).tolist() == [0, 0, 1, 1]


def test_categories_that_training_has_not_seen_are_warned_of():
    codes = np.array([[1.0], [3], [1], [3]])
    tree = RuleTreeClassifier(categorical_features=[0]).fit(codes, ["p", "q", "p", "q"])
    by_hand = RuleSet("c in {1} -> p\nOTHERWISE -> q", feature_names=["c"]).fit(codes, list("pqpq"))
    for model in (tree, tree.rules(), tree.rules().simplify().rules, by_hand):
        for new in (0, 2, 9):
            with pytest.warns(LabelwoodWarning, match=f"first: {new} in row 1, column 0"):
                model.predict(np.array([[1.0], [new]]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.predict(codes).tolist() == list("pqpq")
    with pytest.warns(LabelwoodWarning, match="Training has not seen category 2 of 'c'"):
        by_hand.add("c in {2, 3} -> q")


def test_the_change_of_precision_and_recall_is_shown_before_anything_is_saved():
    before = fitted()
    after = before.add("dividend -> earn")
    change = after.compare(before, X, y)
    assert change.errors == (1, 1)
    assert change.n_changed == 2
    (old_precision, old_recall), (new_precision, new_recall) = change.labels["earn"]
    assert (old_precision.value, old_recall.value) == (1.0, 0.5)
    assert (new_precision.value, new_recall.value) == (2 / 3, 1.0)
    assert "edit: add 2: dividend -> earn" in str(change)
    assert "recall of earn: 50.0% -> 100.0% (+50.00)" in str(change)


def test_rules_have_precision_recall_and_coverage_with_intervals():
    report = fitted("shr -> earn\ndividend -> earn").evaluate(X, y)
    second = report.rules[1]
    assert (second.precision.count, second.precision.n) == (1, 2)
    assert (second.recall.count, second.recall.n) == (1, 2)
    assert second.coverage.value == 0.5
    exact = binomtest(1, 2).proportion_ci(0.95, method="exact")
    assert second.precision.interval == pytest.approx((exact.low, exact.high))
    assert report.error.count == 1
    assert "all rules for earn" in str(report)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (5, 5), (3, 20), (199, 200)])
def test_intervals_are_those_of_clopper_and_pearson(k, n):
    exact = binomtest(k, n).proportion_ci(0.9, method="exact")
    assert Share(k, n, 0.1).interval == pytest.approx((exact.low, exact.high))
    assert str(Share(0, 0)) == "–"


def test_shortening_reports_what_it_costs():
    features, labels = text(600)
    tree = RuleTreeClassifier(max_leaves=12, presence_features="all").fit(
        features[:300], labels[:300]
    )
    rules = tree.rules().simplify().rules
    free = rules.shorten(features[300:], labels[300:])
    assert free.cost.errors[1] <= free.cost.errors[0]
    assert free.steps[0].n_conditions[1] < free.steps[0].n_conditions[0]
    cheap = rules.shorten(features[300:], labels[300:], max_cost=0.05)
    assert cheap.cost.errors[1] <= cheap.cost.errors[0] + 15
    assert cheap.steps[0].n_conditions[1] <= free.steps[0].n_conditions[1]
    assert "errors:" in str(cheap)


def test_bad_rules_are_told_with_their_place():
    with pytest.raises(DataError, match="line 2, column 5: expected a condition, got '->'"):
        fitted("shr -> earn\na & -> earn")
    with pytest.raises(DataError, match=r"Rule 1 .* has a label that is no class"):
        fitted("shr -> grain")
    with pytest.raises(DataError, match="OTHERWISE must be the last rule"):
        fitted("OTHERWISE -> other\nshr -> earn")
    with pytest.raises(DataError, match=r"drop needs the number of a rule in 1…1. Got 2"):
        fitted().drop(2)
    with pytest.raises(DataError, match=r"drop needs the number of a rule in 1…1. Got 'a'"):
        fitted().drop("a")
    with pytest.raises(DataError, match=r"move to needs the number of a rule in 1…1. Got 1.5"):
        fitted().move(1, 1.5)
    with pytest.raises(DataError, match="Edits must be text"):
        fitted().replay(None)
    with pytest.raises(DataError, match="A rule must be text"):
        fitted().add(None)
    with pytest.raises(DataError, match="Rules must be text"):
        fitted().edit_to(None)
    with pytest.raises(DataError, match="line 2, column 12: expected a condition"):
        fitted().replay("drop 1\nadd 1: a & -> earn")
    with pytest.raises(DataError, match="There is one OTHERWISE, the last line"):
        fitted().add("OTHERWISE -> earn")
    with pytest.raises(DataError, match="line 1: expected 'drop N'"):
        fitted().replay("remove 3")
    with pytest.raises(DataError, match="Expected one rule"):
        fitted().add("shr -> earn\nloss -> other")


def test_a_word_that_the_vocabulary_lacks_is_accepted_and_warned_of():
    with pytest.warns(LabelwoodWarning, match="The vocabulary has no 'payout'"):
        rules = fitted().add("payout -> earn")
    assert rules.predict(X).tolist() == fitted().predict(X).tolist()
    assert rules.predict_words([["payout"]]).tolist() == ["earn"]


def test_a_word_that_the_vocabulary_writes_otherwise_is_asked_about():
    with pytest.warns(LabelwoodWarning, match=r"has no 'Dividend' \(is 'dividend' meant\?\): a"):
        fitted().add("Dividend -> earn")


def test_contradictory_and_unreachable_rules_are_reported():
    with pytest.warns(LabelwoodWarning, match="never matches: its conditions contradict"):
        contradictory = fitted().add("loss & -loss -> earn")
    assert contradictory.problems()[0].startswith("Rule 2 (loss & -loss -> earn)")
    with pytest.warns(
        LabelwoodWarning, match=r"Rule 2 .* is never reached: rule 1 \(shr -> earn\)"
    ):
        fitted().add("shr & loss -> other")


def test_a_rule_set_survives_saving_with_its_edits(tmp_path):
    rules = fitted().add("dividend & -loss -> earn")
    labelwood.save(rules, tmp_path / "rules")
    loaded = labelwood.load(tmp_path / "rules")
    assert loaded.text_ == rules.text_
    assert loaded.edits_ == rules.edits_
    assert loaded.predict(X).tolist() == rules.predict(X).tolist()
    assert loaded.drop(1).edits_ == [*rules.edits_, "drop 1"]


def test_rules_about_one_label_fit_zeros_and_ones():
    rules = RuleSet("shr -> earn\nOTHERWISE -> ~earn", feature_names=WORDS)
    rules.fit(sp.csr_array(X), [1, 1, 0, 0])
    assert rules.predict(X).tolist() == [1, 0, 0, 0]
    assert rules.evaluate(X, ["earn", "earn", "~earn", "~earn"]).error.count == 1
