from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.sparse as sp

import labelwood
from builders import separable
from labelwood import Dataset, OneVsRestSVM, Tagger, Taxonomy, TextVectorizer, synthetic
from labelwood.auto import choose_learner
from labelwood.core.labels import lists_to_indicator
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError
from labelwood.metrics import propensity

TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "an owl", "owl and cat"] * 3
LABELS = [["cat"], ["dog"], ["cat", "dog"], ["owl"], ["cat", "owl"]] * 3
NAMES = ["cat", "dog", "owl"]


@pytest.fixture(scope="module")
def tagger():
    data = Dataset.from_lists(TEXTS, LABELS)
    return Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(data)


def feature_tagger(**names):
    X, Y = separable(60, 3)
    return Tagger(OneVsRestSVM(random_state=0)).fit(Dataset(X, Y, **names)), X, Y


def test_it_goes_from_texts_to_names(tagger):
    assert tagger.predict(["one cat, one dog"]) == [["cat", "dog"]]
    assert tagger.predict_topk(["an owl"], k=1).names() == [["owl"]]


def test_it_survives_saving_with_vectoriser_and_names(tagger, tmp_path):
    labelwood.save(tagger, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    ours, theirs = (one.predict_topk(["a cat in the fog"], k=3) for one in (tagger, loaded))
    assert ours.names() == theirs.names()
    np.testing.assert_array_equal(ours.scores, theirs.scores)


def test_probabilities_are_passed_on_and_survive_saving(tagger, tmp_path):
    estimator = OneVsRestSVM(calibrate=True, random_state=0)
    sure = Tagger(estimator, TextVectorizer(min_df=1)).fit(Dataset.from_lists(TEXTS, LABELS))
    top = sure.predict_topk(TEXTS, 2, proba=True)
    X = sure.features(TEXTS)
    np.testing.assert_array_equal(top.scores, sure.estimator_.predict_topk(X, 2, proba=True).scores)
    assert top.names() == sure.predict_topk(TEXTS, 2).names()
    labelwood.save(sure, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model").predict_topk(TEXTS, 2, proba=True)
    np.testing.assert_array_equal(loaded.scores, top.scores)
    plain = Tagger(OneVsRestSVM(), TextVectorizer(min_df=1), threshold=None).fit(TEXTS, LABELS)
    assert not plain.has_probabilities
    with pytest.raises(DataError, match="gives no probabilities: fit it with threshold='auto'"):
        plain.predict_topk(TEXTS, 2, proba=True)


def test_the_same_data_have_the_same_hash_and_other_data_another(tagger):
    again = Tagger(OneVsRestSVM(), TextVectorizer(min_df=1))
    assert again.fit(Dataset.from_lists(TEXTS, LABELS)).data_hash_ == tagger.data_hash_
    other = Dataset.from_lists([*TEXTS[:-1], "owl and dog"], LABELS)
    assert again.fit(other).data_hash_ != tagger.data_hash_


def test_labels_are_matched_by_name_and_unseen_ones_are_missed(tagger):
    test = Dataset.from_lists(["a cat", "an emu on a mat"], [["cat"], ["emu"]])
    with pytest.warns(LabelwoodWarning, match=r"1 of 2 labels was never seen .*'emu'"):
        evaluation = tagger.evaluate(test, ks=(1,))
    assert evaluation["P@1"] == 0.5
    assert evaluation["R@1"] == 0.5


def test_data_that_share_no_label_with_the_model_are_refused(tagger):
    with pytest.raises(DataError, match=r"knows none of the labels of the data \('emu', …\)"):
        tagger.evaluate(Dataset.from_lists(["an emu on a mat"], [["emu"]]))


def test_numbered_labels_are_the_models_when_there_are_as_many():
    tagger, X, Y = feature_tagger(label_names=["cat", "dog", "owl"])
    named = tagger.evaluate(Dataset(X, Y, label_names=["cat", "dog", "owl"]))
    assert tagger.evaluate(Dataset(X, Y))["P@1"] == named["P@1"]


def test_data_without_any_label_are_not_learned_from():
    with pytest.raises(DataError, match=r"No sample of docs.csv has a label"):
        Tagger(OneVsRestSVM()).fit(Dataset.from_lists(["a", "b"], [[], []], description="docs.csv"))


def test_propensities_come_from_the_training_counts(tagger):
    test = Dataset.from_lists(TEXTS, LABELS)
    own = tagger.evaluate(test, ks=(1,))
    given = tagger.evaluate(test, ks=(1,), propensity=propensity(test.Y))
    assert own["PSP@1"] == given["PSP@1"]
    assert own.sensitivity == given.sensitivity
    assert [one.name for one in own.sensitivity] == ["PSP@1", "PSnDCG@1"]


def test_labels_unused_in_the_test_set_need_no_match(tagger):
    test = Dataset.from_lists(["a cat"], [["cat"]])
    wider = Dataset(
        None,
        sp.csr_array(sp.hstack([test.Y, sp.csr_array((1, 1))])),
        label_names=["cat", "never"],
        texts=test.texts,
    )
    assert tagger.evaluate(wider, ks=(1,))["P@1"] == 1.0


def test_a_taxonomy_brings_the_hierarchical_metrics_and_is_stored(tmp_path):
    taxonomy = Taxonomy.from_edges([("pet", "cat"), ("pet", "dog")])
    closed = [[*labels, "pet"] if {"cat", "dog"} & set(labels) else labels for labels in LABELS]
    data = replace(Dataset.from_lists(TEXTS, closed), taxonomy=taxonomy)
    labelwood.save(Tagger(OneVsRestSVM(), TextVectorizer(min_df=1)).fit(data), tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.taxonomy_ == taxonomy
    assert loaded.evaluate(replace(data, taxonomy=None))["hierarchical F1"] == 1.0


def test_features_are_matched_by_name():
    names = [f"word {i}" for i in range(6)]
    tagger, X, Y = feature_tagger(feature_names=names)
    order = [5, 0, 3, 1, 2, 4]
    shuffled = Dataset(
        sp.csr_array(sp.hstack([X[:, order], X[:, [0]]])),
        Y,
        feature_names=[*(names[i] for i in order), "unknown word"],
    )
    expected = tagger.predict_topk(Dataset(X, Y), 3)
    with pytest.warns(LabelwoodWarning, match="0 of 6 features .* 1 of 7 in the data is unknown"):
        found = tagger.predict_topk(shuffled, 3)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-6)


def test_data_that_share_no_feature_with_the_model_are_refused():
    tagger, X, Y = feature_tagger(feature_names=[f"word {i}" for i in range(6)])
    strange = Dataset(X, Y, feature_names=[f"other {i}" for i in range(6)])
    with pytest.raises(DataError, match=r"knows 0 of the 6 features of the data \(not 'other 0'"):
        tagger.predict(strange)


def test_a_width_that_disagrees_is_refused():
    tagger, X, Y = feature_tagger()
    with pytest.raises(DataError, match=r"test.txt has 2 features; the model was trained on 6"):
        tagger.predict(Dataset(X[:, :2], Y, description="test.txt"))


def test_texts_and_features_are_not_confused(tagger):
    by_features, X, Y = feature_tagger()
    with pytest.raises(DataError, match="trained on features and the data are texts"):
        by_features.predict_topk(["some text"])
    with pytest.raises(DataError, match="trained on texts and the data are features"):
        tagger.predict(Dataset(X, Y))


def test_an_unfitted_tagger_says_so():
    with pytest.raises(ValueError, match="not fitted yet"):
        Tagger(OneVsRestSVM()).predict(["text"])


def test_without_an_estimator_it_takes_what_suits(tmp_path):
    data = Dataset.from_lists(TEXTS, LABELS)
    tagger = Tagger(vectorizer=TextVectorizer(min_df=1)).fit(data)
    assert type(tagger.estimator_) is OneVsRestSVM
    assert tagger.choice_.learner == "OneVsRestSVM"
    labelwood.save(tagger, tmp_path / "model")
    assert labelwood.load(tmp_path / "model").predict(["an owl"]) == [["owl"]]


def test_a_given_estimator_is_no_choice(tagger):
    assert tagger.choice_ is None


@pytest.mark.parametrize(("threshold", "calibrate"), [("auto", True), (None, False)])
def test_the_choice_expects_the_costs_of_calibration_where_there_will_be_one(
    monkeypatch, threshold, calibrate
):
    asked = []

    def recorded(*args, **options):
        asked.extend(options["candidates"])
        return choose_learner(*args, **options)

    monkeypatch.setattr("labelwood.tagger.base.choose_learner", recorded)
    Tagger(threshold=threshold).fit(TEXTS, LABELS)
    assert [one.calibrate for one in asked] == [calibrate] * 3


def test_a_choice_between_two_keeps_their_parameters_through_saving_and_refitting(tmp_path):
    data = Dataset.from_lists(TEXTS, LABELS)
    pair = (
        OneVsRestSVM(C=0.25, calibrate=True, random_state=3),
        labelwood.LabelTreeClassifier(C=0.25, calibrate=True, random_state=3),
    )
    tagger = Tagger(pair, TextVectorizer(min_df=1)).fit(data)
    labelwood.save(tagger, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    assert loaded.choice_ == tagger.choice_
    refitted = loaded.fit(data)
    assert (refitted.estimator_.C, refitted.estimator_.calibrate) == (0.25, True)
    ours, theirs = (one.predict_topk(TEXTS, 2, proba=True) for one in (tagger, refitted))
    np.testing.assert_array_equal(ours.scores, theirs.scores)


@pytest.mark.parametrize(
    "given", ["fast", (OneVsRestSVM(),), (OneVsRestSVM(), OneVsRestSVM()), ()], ids=repr
)
def test_estimators_between_which_it_cannot_choose_are_refused(given):
    with pytest.raises(ParameterError, match=r"must be 'auto', an estimator, or a tuple of one"):
        Tagger(given, TextVectorizer(min_df=1)).fit(Dataset.from_lists(TEXTS, LABELS))


class Table(dict):
    """Iterates over the names of its columns, as a data frame does."""

    shape = (15, 1)


@pytest.mark.parametrize("data", [Table(text=TEXTS), {"text": "a cat"}, np.array([["a", "b"]])])
def test_a_table_is_not_taken_for_a_list_of_texts(tagger, data):
    with pytest.raises(DataError, match=r"A list of texts is expected. Got a .*\['text'\]"):
        tagger.predict_topk(data)
    with pytest.raises(DataError, match=r"A list of texts is expected. Got a .*\['text'\]"):
        Dataset.from_lists(data, LABELS)


def test_a_table_without_known_columns_is_refused_with_the_call_that_helps(tagger):
    with pytest.raises(DataError, match=r"Got a Table; pass one column: predict\(data\['body'\]\)"):
        tagger.predict_frame(pyarrow.table({"body": TEXTS}))


def test_one_text_is_not_taken_for_a_list_of_texts(tagger):
    with pytest.raises(DataError, match="put it in a list"):
        tagger.predict_topk("a cat")
    with pytest.raises(DataError, match=r"A list of texts is expected\. Got int"):
        tagger.predict_topk(7)
    with pytest.raises(DataError, match=r"Text 1 must be a str\. Got NoneType"):
        tagger.predict_topk(["a cat", None])


def test_arrays_of_texts_are_lists_of_texts(tagger):
    for texts in (np.array(TEXTS), np.array(TEXTS, dtype=object), tuple(TEXTS)):
        assert tagger.predict_topk(texts, 1).names() == tagger.predict_topk(TEXTS, 1).names()


@pytest.mark.parametrize("rules", ["", "never cat if owl"])
@pytest.mark.parametrize("threshold", ["auto", None])
def test_an_empty_batch_has_an_empty_answer(rules, threshold):
    tagger = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1), threshold=threshold)
    tagger.fit(TEXTS, LABELS).set_rules(rules)
    assert tagger.predict([]) == []
    assert tagger.predict([], k=1) == []
    assert tagger.predict([], at_least_one=True) == []
    assert tagger.predict_topk([], 5).labels.shape == (0, 3)
    assert tagger.predict_tags([], k=2).names() == []
    if threshold is not None:
        assert tagger.predict_proba([]).shape == (0, 3)


def test_far_more_labels_than_are_used_are_not_learned_from():
    X = sp.csr_array(np.eye(4, dtype=np.float32))
    codes = sp.csr_array((np.ones(4), (range(4), [7, 45_000_000, 9, 10])), shape=(4, 98_000_000))
    for learn in (Tagger().fit, OneVsRestSVM().fit):
        with pytest.raises(DataError, match=r"Y has 98,000,000 labels, .* 4 times in all; are the"):
            learn(X, codes)


def test_what_is_no_data_set_is_not_learned_from():
    with pytest.raises(DataError, match=r"Labels are missing\. Got list alone; give texts and lab"):
        Tagger(OneVsRestSVM()).fit(TEXTS)


def test_a_text_of_unknown_words_is_flagged_and_gets_the_frequencies_of_training():
    data = Dataset.from_lists(TEXTS, LABELS)
    model = OneVsRestSVM(calibrate=True, random_state=0)
    tagger = Tagger(model, TextVectorizer(min_df=1)).fit(data)
    texts = ["an owl", "xyzzy plugh", ""]
    with pytest.warns(LabelwoodWarning, match="2 of 3 texts have no known feature"):
        top = tagger.predict_topk(texts, 3, proba=True)
    assert tagger.without_evidence(texts).tolist() == [False, True, True]
    base_rates = [("cat", 9 / 15), ("dog", 6 / 15), ("owl", 6 / 15)]
    for row in (1, 2):
        assert top.names()[row] == [name for name, _ in base_rates]
        np.testing.assert_allclose(top.scores[row], [rate for _, rate in base_rates], rtol=1e-6)
    assert top.names()[0][0] == "owl"


def test_missing_features_are_counted():
    names = [f"word {i}" for i in range(6)]
    tagger, X, Y = feature_tagger(feature_names=names)
    part = Dataset(X[:, :4], Y, feature_names=names[:4])
    with pytest.warns(LabelwoodWarning, match=r"2 of 6 features of the model .*'word 4'.* as 0"):
        tagger.predict(part)


def test_data_of_which_most_features_are_unknown_are_refused():
    names = [f"word {i}" for i in range(6)]
    tagger, X, Y = feature_tagger(feature_names=names)
    strange = Dataset(X, Y, feature_names=["word 1", "word 2", "a", "b", "c", "d"])
    with pytest.raises(DataError, match=r"knows 2 of the 6 features .*'a'.* fewer than 50%"):
        tagger.predict(strange)


@pytest.mark.parametrize("by_learner", [True, False])
def test_the_truth_is_closed_as_the_labels_of_training_were(tmp_path, by_learner):
    taxonomy = Taxonomy.from_edges([("pet", "cat"), ("pet", "dog"), ("bird", "owl")])
    names = list(taxonomy.names)
    Y = lists_to_indicator(LABELS, names)
    learner = labelwood.HierarchicalRLSClassifier(taxonomy=taxonomy, close_labels=True)
    train = Dataset(
        None,
        Y if by_learner else taxonomy.close(Y),
        label_names=names,
        texts=TEXTS,
        taxonomy=taxonomy,
    )
    estimator = learner if by_learner else OneVsRestSVM(random_state=0)
    tagger = Tagger(estimator, TextVectorizer(min_df=1)).fit(train)
    labelwood.save(tagger, tmp_path / "model")
    closed = replace(train, Y=taxonomy.close(Y))
    expected = tagger.evaluate(closed, ks=(1,), n_bootstrap=0)
    for model in (tagger, labelwood.load(tmp_path / "model")):
        with pytest.warns(LabelwoodWarning, match="15 of 15 samples lack ancestors of their"):
            found = model.evaluate(replace(train, Y=Y), ks=(1,), n_bootstrap=0)
        assert found["P@1"] == expected["P@1"] > 0.9


def test_the_truth_is_left_as_it_is_where_training_was_on_open_label_sets():
    taxonomy = Taxonomy.from_edges([("pet", "cat"), ("pet", "dog")])
    data = replace(Dataset.from_lists(TEXTS, [[*row, "pet"][:1] for row in LABELS]))
    data = replace(data, taxonomy=taxonomy)
    tagger = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(data)
    assert not tagger.closed_labels_


@pytest.mark.parametrize("name", ["text_columns_", "label_columns_"])
@pytest.mark.parametrize("value", [5, "body", [1]])
def test_columns_of_a_stored_model_that_are_no_names_are_refused(tmp_path, name, value):
    model = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(TEXTS, LABELS)
    setattr(model, name, value)
    labelwood.save(model, tmp_path / "model")
    with pytest.raises(ModelError, match=f"{name} must be a list of column names or None"):
        labelwood.load(tmp_path / "model")


def test_one_label_on_all_samples_is_warned_of_once():
    model = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1))
    with pytest.warns(LabelwoodWarning) as caught:
        model.fit(TEXTS, [["pet"]] * len(TEXTS))
    assert [str(one.message) for one in caught] == [
        "All samples have the label 'pet' and no other, so the model predicts it for everything; "
        "give samples without it, or with other labels."
    ]


def test_a_word_for_a_missing_value_in_a_list_of_labels_is_warned_of():
    with pytest.warns(LabelwoodWarning, match="In the labels 'NaN' is a label of its own in 1 ce"):
        Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1)).fit(
            [*TEXTS, "an owl"], [*(row[0] for row in LABELS), "NaN"]
        )


def test_a_model_that_was_saved_before_thresholds_decides_as_it_did(tmp_path):
    model = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1), threshold=None)
    model.fit(TEXTS, LABELS)
    for name in ("threshold_", "comparison_", "text_columns_", "remembered_X_", "remembered_Y_"):
        delattr(model, name)
    labelwood.save(model, tmp_path / "model")
    old = labelwood.load(tmp_path / "model")
    decided = old.estimator_.predict(old.features(TEXTS))
    names = [[NAMES[i] for i in np.flatnonzero(row)] for row in decided.toarray()]
    assert old.predict(TEXTS) == names
    with pytest.raises(DataError, match="add_labels needs samples without the new label too"):
        old.add_labels(["an owl"], [["bird"]])
    old.add_labels(["an owl"] * 3, [["bird"]] * 3, negatives=TEXTS[:3])
    assert old.classes_.tolist() == [*NAMES, "bird"]


def test_labels_of_a_sample_come_best_first() -> None:
    texts = ["wolf in the fog"] * 12 + ["ant in the fog", "wolf and ant"] * 4
    labels = [["wolf"]] * 12 + [["ant"], ["ant", "wolf"]] * 4
    tagger = Tagger(OneVsRestSVM()).fit(texts, labels)
    ranked = tagger.predict_topk(["wolf in the fog"], 2, proba=True).names()[0]
    assert ranked == ["wolf", "ant"]  # the columns are in the other order
    assert tagger.predict(["wolf in the fog"], k=2)[0] == ranked
    assert tagger.predict(["wolf in the fog"], threshold=0.01)[0] == ranked
    assert tagger.predict_frame(["wolf in the fog"], k=2)["tags"][0] == ranked


def test_samples_and_labels_of_one_index_in_another_order_are_refused() -> None:
    texts = pd.Series(["a cat", "a dog", "an owl"] * 5)
    labels = pd.Series(["cat", "dog", "owl"] * 5)
    with pytest.raises(DataError, match=r"same index in another order.*y\.loc\[X\.index\]"):
        Tagger(OneVsRestSVM()).fit(texts, labels.sort_values())
    other = labels.set_axis([f"row {i}" for i in range(15)])
    assert Tagger(OneVsRestSVM()).fit(texts, other).label_names_.tolist() == ["cat", "dog", "owl"]


def test_held_out_figures_tell_that_samples_without_labels_are_left_out(caplog) -> None:
    made = synthetic(600, 300, 20)
    Y = made.train.Y.copy()
    empty = sp.csr_array((60, Y.shape[1]), dtype=Y.dtype)
    data = Dataset(made.train.X[:400], sp.csr_array(sp.vstack([Y[:340], empty])))
    with caplog.at_level("INFO", logger="labelwood.auto"):
        Tagger().fit(data)
    assert "60 of 400 have none, which an evaluation counts as misses" in caplog.text
