"""Common usage, as in a data scientist's first hour: frames, pipelines, grid search, errors."""

import numpy as np
import pandas as pd
import pyarrow
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline

import labelwood
from labelwood import FastXMLClassifier, OneVsRestSVM, Tagger, TextVectorizer, metrics
from labelwood.errors import DataError, LabelwoodWarning, ModelError, ParameterError
from labelwood.metrics import scorers

TEXTS = ["a cat on a mat", "a dog in a fog", "the cat and the dog", "an owl", "owl and cat"] * 8
LABELS = [["cat"], ["dog"], ["cat", "dog"], ["owl"], ["cat", "owl"]] * 8
NAMES = ["cat", "dog", "owl"]
DUMMIES = pd.DataFrame([[int(name in row) for name in NAMES] for row in LABELS], columns=NAMES)


def new_tagger(**params):
    return Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1), **params)


@pytest.fixture(scope="module")
def tagger():
    return new_tagger(remember=True).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def frame():
    titles = [text.split()[0] for text in TEXTS]
    index = [f"row {i}" for i in range(len(TEXTS))]
    return pd.DataFrame({"title": titles, "body": TEXTS, "tags": LABELS}, index=index)


def column(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


# Texts and labels in the forms that people have them in: all give the same model.
FORMS = {
    "lists": (TEXTS, LABELS),
    "series": (pd.Series(TEXTS), pd.Series(LABELS)),
    "series of strings": (pd.Series(TEXTS, dtype="string"), pd.Series(LABELS)),
    "array of texts": (np.array(TEXTS), column(LABELS)),
    "tuples": (tuple(TEXTS), [tuple(row) for row in LABELS]),
    "sets": (TEXTS, [set(row) for row in LABELS]),
    "cells": (TEXTS, pd.Series([";".join(row) for row in LABELS])),
    "get_dummies": (TEXTS, DUMMIES),
    "get_dummies of bool": (TEXTS, DUMMIES.astype(bool)),
    "arrow": (pyarrow.array(TEXTS).to_pylist(), pyarrow.array(LABELS)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_texts_and_labels_gives_the_same_model(tagger, form):
    other = new_tagger().fit(*FORMS[form])
    assert other.classes_.tolist() == NAMES
    assert other.predict(TEXTS[:5]) == tagger.predict(TEXTS[:5]) == LABELS[:5]


def test_an_indicator_is_called_by_numbers_and_one_class_each_is_one_label():
    by_number = new_tagger().fit(TEXTS, sp.csr_array(DUMMIES.to_numpy()))
    assert by_number.predict(["an owl"]) == [["2"]]
    assert new_tagger().fit(TEXTS, DUMMIES.to_numpy()).classes_.tolist() == ["0", "1", "2"]
    one = new_tagger().fit(TEXTS[:2] * 20, pd.Series(["spam", "ham"] * 20))
    assert one.predict(["a dog"]) == [["ham"]]
    assert new_tagger().fit(TEXTS[:2] * 20, [7, 11] * 20).classes_.tolist() == ["11", "7"]


def test_missing_labels_are_no_labels():
    model = new_tagger().fit(TEXTS, pd.Series([*LABELS[:-1], None]))
    assert model.label_counts_.tolist() == [23, 16, 15]


def test_labels_that_differ_in_blanks_alone_are_warned_of():
    cells = ["cat; dog", "dog; cat", "owl"] * 12
    with pytest.warns(LabelwoodWarning, match=r"2 of 5 labels differ .* \(' cat' from 'cat', …\)"):
        model = new_tagger().fit(TEXTS[:36], [cell.split(";") for cell in cells])
    assert model.classes_.tolist() == [" cat", " dog", "cat", "dog", "owl"]


@pytest.mark.parametrize("table", ["pandas", "arrow", "polars"])
def test_a_table_is_learned_from_and_answered_in_its_own_library(frame, table):
    if table == "polars":
        data = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    else:
        data = frame if table == "pandas" else pyarrow.Table.from_pandas(frame)
    params = {"estimator": OneVsRestSVM(random_state=0), "vectorizer": TextVectorizer(min_df=1)}
    model = Tagger.from_frame(data, text=["title", "body"], labels="tags", **params)
    answer = model.predict_frame(data)
    assert type(answer) is type(data)
    tags = answer["tags"]
    assert [list(row) for row in (tags.to_pylist() if table == "arrow" else tags)] == LABELS
    long = model.predict_frame(data, long=True)
    names = long.column_names if table == "arrow" else list(long.columns)
    assert names == ["sample", "tag", "probability"]
    if table == "pandas":
        assert answer.index.equals(frame.index)
        assert long["sample"][0] == "row 0"
        assert long["probability"].between(model.threshold_, 1).all()


def test_columns_of_zeros_and_ones_are_labels(frame):
    wide = frame.join(DUMMIES.set_index(frame.index))
    model = Tagger.from_frame(wide, text="body", labels=NAMES, vectorizer=TextVectorizer(min_df=1))
    assert model.predict(["an owl"]) == [["owl"]]


@pytest.mark.parametrize("table", ["pandas", "arrow", "polars"])
def test_columns_with_usual_names_need_not_be_named(frame, table):
    if table == "polars":
        data = pytest.importorskip("polars").DataFrame(frame.to_dict("list"))
    else:
        data = frame if table == "pandas" else pyarrow.Table.from_pandas(frame)
    params = {"estimator": OneVsRestSVM(random_state=0), "vectorizer": TextVectorizer(min_df=1)}
    guessed = Tagger.from_frame(data, **params)
    named = Tagger.from_frame(data, text=["title", "body"], labels="tags", **params)
    assert guessed.text_columns_ == named.text_columns_ == ["title", "body"]
    assert guessed.predict(data) == named.predict(data) == LABELS


def test_columns_of_zeros_and_ones_need_not_be_named(frame):
    wide = frame[["body"]].join(DUMMIES.set_index(frame.index))
    params = {"estimator": OneVsRestSVM(random_state=0), "vectorizer": TextVectorizer(min_df=1)}
    model = Tagger.from_frame(wide, **params)
    assert model.label_columns_ == list(DUMMIES.columns)
    assert model.predict(["an owl"]) == [["owl"]]
    apart = wide[[DUMMIES.columns[0], "body", *DUMMIES.columns[1:]]]
    assert Tagger.from_frame(apart, **params).label_columns_ == list(DUMMIES.columns)
    apart.insert(2, "size", range(5, 5 + len(apart)))
    with pytest.raises(DataError, match="several columns of 0 and 1 are a list"):
        Tagger.from_frame(apart, **params)
    named_as_ids = wide.rename(columns={DUMMIES.columns[0]: "no"})  # of yes, no and maybe
    assert Tagger.from_frame(named_as_ids, **params).label_columns_[0] == "no"


class Relation:
    """A table that keeps the interchange protocol and can do nothing else."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, **options):
        return self._table.__dataframe__(**options)


def test_the_interchange_protocol_is_enough():
    table = Relation(pyarrow.table({"text": TEXTS, "tag": [row[0] for row in LABELS]}))
    model = Tagger.from_frame(table, text="text", labels="tag")
    assert model.classes_.tolist() == NAMES


def test_probabilities_threshold_and_k_agree(tagger):
    P = tagger.predict_proba(TEXTS[:5]).toarray()
    assert P.shape == (5, 3)
    for threshold in (0.2, tagger.threshold_, 0.9):
        expected = [[NAMES[i] for i in np.flatnonzero(row >= threshold)] for row in P]
        assert tagger.predict(TEXTS[:5], threshold=threshold) == expected
    assert tagger.predict(TEXTS[:5]) == tagger.predict(TEXTS[:5], threshold=tagger.threshold_)
    assert [len(row) for row in tagger.predict(TEXTS[:5], k=2)] == [2] * 5
    assert tagger.predict(["an owl"], threshold=1.0) == [[]]
    assert tagger.predict(["an owl"], threshold=1.0, at_least_one=True) == [["owl"]]
    plain = new_tagger(threshold=None).fit(TEXTS, LABELS)
    assert plain.threshold_ is None
    X = plain.features(TEXTS)
    decided = plain.estimator_.predict(X).toarray()
    assert plain.predict(TEXTS) == [[NAMES[i] for i in np.flatnonzero(row)] for row in decided]


def test_score_is_micro_f1(tagger):
    wrong = [["dog"], *LABELS[1:5]]
    truth = np.array([[0, 1, 0], *DUMMIES.to_numpy()[1:5]])
    expected = metrics.f1_score(truth, DUMMIES.to_numpy()[:5], "micro")
    assert tagger.score(TEXTS[:5], wrong) == pytest.approx(expected)


def test_labels_can_be_added_and_samples_too(tmp_path):
    model = new_tagger(remember=True).fit([*TEXTS, "a bee"], [*LABELS, []])
    before = model.predict(TEXTS[:5])
    model.add_labels(["a bee"] * 6, [["insect"]] * 6)
    assert model.predict(TEXTS[:5], k=5)[0].count("insect") == 1
    assert model.predict_topk(["a bee"], 1).names() == [["insect"]]
    assert model.predict(TEXTS[:5]) == before
    labelwood.save(model, tmp_path / "model")
    again = labelwood.load(tmp_path / "model").update(["a bee and a cat"] * 4, [["insect"]] * 4)
    assert again.n_samples_ == 51
    assert again.label_counts_.tolist() == [24, 16, 16, 10]


def test_weights_of_samples_and_labels_reach_the_learner():
    weights = np.where(["owl" in row for row in LABELS], 3.0, 1.0)
    params = {"vectorizer": TextVectorizer(min_df=1), "threshold": None}
    plain = Tagger(OneVsRestSVM(random_state=0), **params).fit(TEXTS, LABELS)
    for model in (
        Tagger(OneVsRestSVM(random_state=0), **params).fit(TEXTS, LABELS, sample_weight=weights),
        Tagger(OneVsRestSVM(class_weight={"owl": 3.0}, random_state=0), **params).fit(
            TEXTS, LABELS
        ),
    ):
        scores = [one.predict_topk(["an owl"], 1).scores[0, 0] for one in (model, plain)]
        assert scores[0] > scores[1]


def test_negatives_can_be_given_where_none_were_kept():
    model = new_tagger().fit([*TEXTS, "a bee"], [*LABELS, []])
    model.add_labels(["a bee"] * 6, [["insect"]] * 6, negatives=TEXTS)
    assert model.predict_topk(["a bee"], 1).names() == [["insect"]]


def test_a_tagger_is_searched_over():
    grid = {"estimator__C": [0.1, 1.0], "vectorizer__use_idf": [True, False]}
    search = GridSearchCV(new_tagger(threshold=None), grid, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ > 0.9
    assert search.predict(["an owl"]) == [["owl"]]


def test_a_pipeline_of_scikit_learn_takes_the_learner():
    pipeline = make_pipeline(TfidfVectorizer(), OneVsRestSVM(random_state=0))
    assert pipeline.fit(TEXTS, LABELS).predict(["an owl"]).toarray().tolist() == [[0, 0, 1]]
    found = cross_validate(pipeline, TEXTS, DUMMIES, cv=2, scoring=scorers.ranking((1, 3)))
    assert found["test_P@1"].mean() == 1.0
    assert found["test_micro-F1"].min() > 0.9


def test_scorers_are_the_metrics_of_the_ranking(tagger):
    Y = sp.csr_array(DUMMIES.to_numpy())
    top = tagger.predict_topk(TEXTS, 3)
    for k in (1, 3):
        truth = Y.astype(np.float32)
        assert scorers.precision(k)(tagger, TEXTS, LABELS) == metrics.precision_at_k(truth, top, k)
        assert scorers.ndcg(k)(tagger, TEXTS, LABELS) == metrics.ndcg_at_k(truth, top, k)
        p = metrics.propensity(truth)
        assert scorers.psp(k)(tagger, TEXTS, LABELS) == metrics.psp_at_k(truth, top, k, p)
    unknown = [["cat", "emu"], ["dog"]]
    assert scorers.micro_f1()(tagger, TEXTS[:2], unknown) == pytest.approx(4 / 5)
    model = OneVsRestSVM(random_state=0)
    scores = cross_val_score(
        model, tagger.features(TEXTS), DUMMIES, cv=2, scoring=scorers.precision(1)
    )
    assert scores.tolist() == [1.0, 1.0]


def test_names_of_features_and_classes_are_kept_from_tables():
    X = pd.DataFrame(DUMMIES.to_numpy() + 0.1, columns=["tail", "bark", "wings"])
    model = OneVsRestSVM(random_state=0, prune_below=0, normalize=False).fit(X, DUMMIES)
    assert model.feature_names_in_.tolist() == ["tail", "bark", "wings"]
    assert model.classes_.tolist() == NAMES
    assert model.score(X, DUMMIES) == 1.0
    assert model.coef_.shape == (3, 3)
    linear = X.to_numpy() @ model.coef_.toarray().T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X).toarray(), linear, atol=1e-5)
    by_table = Tagger(OneVsRestSVM(random_state=0)).fit(X, DUMMIES)
    assert by_table.predict(X[["wings", "tail", "bark"]]) == by_table.predict(X)


def test_the_vectorizer_gives_tables_on_request():
    vectorizer = TextVectorizer(min_df=1).set_output(transform="pandas")
    texts = pd.Series(TEXTS[:4], index=list("abcd"))
    table = vectorizer.fit_transform(texts)
    assert table.index.tolist() == list("abcd")
    assert table.columns.tolist() == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(vectorizer.transform(texts).to_numpy(), table.to_numpy())
    model = OneVsRestSVM(random_state=0).fit(table, LABELS[:4])
    assert model.feature_names_in_.tolist() == table.columns.tolist()
    assert sp.issparse(vectorizer.set_output(transform="default").transform(texts))


def test_a_model_that_cannot_be_saved_tells_so_at_fit(tmp_path):
    with pytest.warns(LabelwoodWarning, match="cannot store a TfidfVectorizer.* TextVectorizer"):
        model = Tagger(OneVsRestSVM(), TfidfVectorizer(), threshold=None).fit(TEXTS, LABELS)
    assert model.predict(["an owl"]) == [["owl"]]
    with pytest.raises(ModelError, match="TfidfVectorizer' is not an estimator of labelwood"):
        labelwood.save(model, tmp_path / "model")
    pipeline = make_pipeline(TextVectorizer(min_df=1), OneVsRestSVM()).fit(TEXTS, LABELS)
    with pytest.raises(ModelError, match=r"A Pipeline cannot be saved.*Tagger\(OneVsRestSVM"):
        labelwood.save(pipeline, tmp_path / "model")
    assert not (tmp_path / "model").exists()


# Wrong calls: each gets one line that names what was found and what to do.
WRONG = {
    "no labels": (lambda t: new_tagger().fit(TEXTS), "Labels are missing.*give texts and labels"),
    "one text": (lambda t: t.predict("a cat"), "put it in a list"),
    "a table as texts": (
        lambda t: new_tagger().fit(pd.DataFrame({"text": TEXTS}), LABELS),
        r"give one column, such as data\['text'\], or use Tagger.from_frame",
    ),
    "a table to predict": (
        lambda t: t.predict(pd.DataFrame({"text": TEXTS})),
        r"A list of texts is expected\. Got a DataFrame; pass one column",
    ),
    "labels as one text": (
        lambda t: new_tagger().fit(TEXTS, "cat"),
        "Labels must be a list with an entry for each sample. Got str",
    ),
    "fewer labels": (
        lambda t: new_tagger().fit(TEXTS, LABELS[:3]),
        "There are 40 texts and labels of 3 samples",
    ),
    "a missing text": (
        lambda t: new_tagger().fit(pd.Series([*TEXTS[:-1], np.nan]), LABELS),
        r"Text 39 must be a str\. Got float; fill missing texts with '', or drop them",
    ),
    "nested indicator": (
        lambda t: new_tagger().fit(TEXTS, DUMMIES.to_numpy().tolist()),
        "look like an indicator in nested lists.*numpy.asarray",
    ),
    "no such column": (
        lambda t: Tagger.from_frame(DUMMIES, text="text", labels="cat"),
        "There is no column 'text'; there are 'cat', 'dog', 'owl'",
    ),
    "an empty cell": (
        lambda t: Tagger.from_frame(pd.DataFrame({"a": [None], "b": ["x"]}), text="a", labels="b"),
        "Row 0 has no text in 'a'; drop such rows",
    ),
    "numbers as text": (
        lambda t: Tagger.from_frame(pd.DataFrame({"a": [1.5], "b": ["x"]}), text="a", labels="b"),
        "Row 0 of column 'a' holds 1.5 where a text is expected",
    ),
    "no table": (
        lambda t: Tagger.from_frame({"a": TEXTS}, text="a", labels="b"),
        "A table of pandas, polars or Arrow is expected. Got dict",
    ),
    "labels and lists": (
        lambda t: new_tagger().fit(TEXTS, ["cat", *LABELS[1:]]),
        "is 'cat' where other rows are lists; put it in a list",
    ),
    "a label that is no name": (
        lambda t: new_tagger().fit(TEXTS, [[2.5], *LABELS[1:]]),
        "Row 0 of the labels holds 2.5, which is no name",
    ),
    "a label without a name": (
        lambda t: new_tagger().fit(TEXTS, [["cat", "dog"], [""]] * 20),
        "Row 1 of the labels holds '', a label with an empty name; leave it out: "
        r"a sample without labels has \[\]",
    ),
    "a Dataset with a label without a name": (
        lambda t: labelwood.Dataset.from_lists(TEXTS, [["cat"], [" "]] * 20),
        "Row 1 of the labels holds ' ', a label with an empty name; leave it out",
    ),
    "a Dataset and labels": (
        lambda t: new_tagger().fit(labelwood.Dataset.from_lists(TEXTS, LABELS), LABELS),
        "A Dataset holds its labels already",
    ),
    "a threshold in percent": (
        lambda t: t.predict(TEXTS, threshold=30),
        "'threshold' parameter of Tagger must be .* Got 30",
    ),
    "a threshold without probabilities": (
        lambda t: new_tagger(threshold=None).fit(TEXTS, LABELS).predict(TEXTS, threshold=0.5),
        "A threshold is a probability, and this Tagger gives none: fit it with",
    ),
    "update without memory": (
        lambda t: new_tagger().fit(TEXTS, LABELS).update(TEXTS, LABELS),
        "has not kept the old ones: fit it with remember=True",
    ),
    "update with the memory of a part": (
        lambda t: new_tagger(remember=30).fit(TEXTS, LABELS).update(TEXTS, LABELS),
        "this Tagger has kept 30 of 40 old ones: fit it with remember=True",
    ),
    "add_labels without negatives": (
        lambda t: new_tagger().fit(TEXTS, LABELS).add_labels(["an owl"] * 3, [["bird"]] * 3),
        r"needs samples without the new label too: give negatives=\[texts\]",
    ),
    "add_labels of a learner that cannot": (
        lambda t: (
            Tagger(FastXMLClassifier(n_trees=1, random_state=0), TextVectorizer(), threshold=None)
            .fit(TEXTS, LABELS)
            .add_labels(["an owl"], [["bird"]])
        ),
        "FastXMLClassifier cannot learn labels later; OneVsRestSVM",
    ),
    "weights for a learner that takes none": (
        lambda t: Tagger(FastXMLClassifier(), TextVectorizer()).fit(
            TEXTS, LABELS, sample_weight=np.ones(40)
        ),
        "FastXMLClassifier takes no sample_weight; OneVsRestSVM does",
    ),
    "a table that has no sparse columns": (
        lambda t: TextVectorizer().set_output(transform="polars"),
        r"polars has no sparse columns.*set_output\(transform='pandas'\)",
    ),
    "weights of a label that is not there": (
        lambda t: Tagger(OneVsRestSVM(class_weight={"emu": 2.0})).fit(TEXTS, LABELS),
        "class_weight names 'emu', which is no label of the data",
    ),
    "a class in place of a learner": (
        lambda t: Tagger(OneVsRestSVM).fit(TEXTS, LABELS),
        r"must be an instance\. Got the class OneVsRestSVM; give OneVsRestSVM\(\)",
    ),
    "a learner that is none": (
        lambda t: Tagger(OneVsRestSVM(), "tfidf").fit(TEXTS, LABELS),
        "'vectorizer' parameter of Tagger must have a method fit. Got 'tfidf'",
    ),
    "a lazy table": (
        lambda t: Tagger.from_frame(pytest.importorskip("polars").DataFrame({"a": []}).lazy()),
        r"is expected\. Got LazyFrame; give the DataFrame that its collect\(\) returns",
    ),
    "the same column twice": (
        lambda t: Tagger.from_frame(pd.DataFrame({"a": TEXTS}), text="a", labels="a"),
        "Column 'a' is given both as text and as labels",
    ),
    "no samples": (lambda t: new_tagger().fit([], []), "has no samples to learn from"),
    "texts for a learner": (
        lambda t: OneVsRestSVM().fit(TEXTS, LABELS),
        "could not convert string.*give texts to a Tagger, or through a TextVectorizer",
    ),
    "probabilities of a model that has none": (
        lambda t: new_tagger(threshold=None).fit(TEXTS, LABELS).predict_topk(TEXTS, proba=True),
        "This Tagger gives no probabilities: fit it with threshold='auto'",
    ),
    "a table without usual names": (
        lambda t: Tagger.from_frame(pd.DataFrame({"a": TEXTS, "tags": LABELS})),
        r"The table has the columns 'a', 'tags', and none of them has a usual name of the text; "
        r"name it: Tagger.from_frame\(df, text=…\)",
    ),
    "a table with two columns of labels": (
        lambda t: Tagger.from_frame(
            pd.DataFrame({"text": ["a"], "tags": ["b"], "category": ["c"]})
        ),
        "The table: found the columns 'tags', 'category', each of which may hold the labels; "
        "give labels='category', or several: labels='tags,category'",
    ),
    "a misspelled parameter": (
        lambda t: Tagger(treshold=0.3),
        r"Tagger has no parameter 'treshold'; did you mean 'threshold'\?",
    ),
    "a misspelled parameter of from_frame": (
        lambda t: Tagger.from_frame(pd.DataFrame(), label_column="tags"),
        r"Tagger.from_frame has no parameter 'label_column'; did you mean 'labels'\?",
    ),
    "a parameter that is like no other": (
        lambda t: Tagger(xyzzy=1),
        "Tagger has no parameter 'xyzzy'; it has estimator, memory_limit, objective",
    ),
    "nothing to load": (
        lambda t: labelwood.load(None),
        r"The 'path' parameter of load must be the directory of a model .*\. Got None instead",
    ),
    "a table to load": (lambda t: labelwood.load(pd.DataFrame()), "Got DataFrame instead"),
    "nowhere to save": (lambda t: labelwood.save(t, ""), "parameter of save .* Got '' instead"),
    "psp without propensities": (
        lambda t: scorers.psp(1)(t.estimator_, t.features(TEXTS), DUMMIES.to_numpy()),
        r"PSP@k needs propensities: scorers.psp\(k, propensity=metrics.propensity",
    ),
}


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_gets_one_line_that_says_what_to_do(tagger, call):
    attempt, message = WRONG[call]
    with pytest.raises((DataError, ParameterError), match=message) as caught:
        attempt(tagger)
    assert "\n" not in str(caught.value)


TOGETHER = ["a cat", "a dog", "a cat and a dog", "an owl", "an owl and a cat"] * 12
IN_CELLS = ["cat", "dog", "cat, dog", "owl", "owl, cat"] * 12


def test_scorers_and_later_calls_split_cells_of_labels_as_the_fit_did():
    model = Tagger(OneVsRestSVM(random_state=0), remember=True).fit(TOGETHER, IN_CELLS)
    assert model.label_separator_ == ","
    in_lists = [one.split(", ") for one in IN_CELLS]
    for scorer in (scorers.precision(1), scorers.micro_f1(), scorers.psp(1)):
        assert scorer(model, TOGETHER, IN_CELLS) == scorer(model, TOGETHER, in_lists) > 0.9
    assert model.score(TOGETHER[2:3], IN_CELLS[2:3]) == 1  # one cell alone leaves a doubt
    assert model.update(["a dog and an owl"] * 2, ["dog, owl"] * 2).classes_.size == 3
    assert model.indicator(["owl, dog", "new"]).toarray().tolist() == [[0, 1, 1, 0], [0, 0, 0, 1]]


def test_a_separator_is_remembered_by_a_stored_model(tmp_path):
    model = Tagger(OneVsRestSVM(random_state=0)).fit(TOGETHER, IN_CELLS)
    labelwood.save(model, tmp_path / "m")
    assert labelwood.load(tmp_path / "m").label_separator_ == ","


def test_columns_of_a_table_of_labels_are_matched_by_name():
    X = np.eye(4)
    Y = pd.DataFrame([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], columns=["b", "a", "c"])
    model = OneVsRestSVM(random_state=0).fit(X, Y)
    assert model.score(X, Y[["a", "b", "c"]]) == model.score(X, Y) == 1
    with pytest.raises(DataError, match="must be those of training: 'c' is not in the data"):
        model.score(X, Y[["a", "b"]])
    top = model.predict_topk(X, 1)
    assert metrics.evaluate(Y, top, ks=(1,))["P@1"] == 1
    with pytest.raises(DataError, match="Column 0 is 'a' in label_names and 'b' in the ranking"):
        metrics.evaluate(Y[["a", "b", "c"]], top, ks=(1,))


def test_a_table_of_labels_whose_columns_are_numbered_is_scored_by_position(tagger):
    numbered = pd.DataFrame(DUMMIES.to_numpy())
    assert tagger.score(TEXTS, numbered) == tagger.score(TEXTS, DUMMIES)
    expected = scorers.precision(1)(tagger, TEXTS, DUMMIES)
    assert scorers.precision(1)(tagger, TEXTS, numbered) == expected


def test_parameters_of_a_part_that_is_not_given_name_the_remedy():
    for name in ("vectorizer__min_df", "estimator__C"):
        with pytest.raises(ParameterError, match=rf"{name} is a parameter of the .* as in Tagger"):
            Tagger().set_params(**{name: 2})
    both = Tagger().set_params(vectorizer=TextVectorizer(), vectorizer__min_df=3)
    assert both.vectorizer.min_df == 3


def test_cells_that_may_hold_several_labels_are_remarked():
    with pytest.warns(LabelwoodWarning, match="24 cells of labels hold ',', .* give lists of lab"):
        model = Tagger(OneVsRestSVM(random_state=0)).fit(
            ["a cat", "a pet dog"] * 24, ["cat", "dog, pet"] * 24
        )
    assert model.classes_.tolist() == ["cat", "dog, pet"]
    with pytest.raises(
        DataError, match=r"give lists: \[\[.*one.split\(','\)\] for one in labels\] if it"
    ):
        model.fit(["a", "b"] * 9, ["Smith, Jo", "Jones, Al"] * 9)
    # One cell is enough where each of its parts is a label of another one.
    model.fit(["a cat", "a dog", "a cat and a dog"] * 9, ["cat", "dog", "cat, dog"] * 9)
    assert model.classes_.tolist() == ["cat", "dog"]


def test_single_labels_leave_the_separator_of_later_cells_open():
    texts = ["a cat", "a dog", "an owl"] * 10
    model = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1), remember=True)
    model.fit(texts, ["cat", "dog", "owl"] * 10)
    assert model.label_separator_ is None
    model.update(texts, ["cat|dog", "dog", "owl|cat"] * 10)
    assert model.classes_.tolist() == ["cat", "dog", "owl"]


def test_labels_with_another_separator_than_in_training_are_split_with_a_warning():
    model = Tagger(OneVsRestSVM(random_state=0)).fit(
        TOGETHER, [one.replace(", ", "|") for one in IN_CELLS]
    )
    with pytest.warns(LabelwoodWarning, match=r"training had '\|'.*give lists of labels"):
        found = model.indicator(["cat;dog", "owl"])
    assert found.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
