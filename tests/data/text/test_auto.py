"""The trial that chooses the feature set."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from labelwood.core.sparse import as_csr, csr_arrays
from labelwood.data.text import TextVectorizer
from labelwood.data.text._trial_kernels import score_labels, train_labels
from labelwood.data.text.auto import _passes
from labelwood.errors import DataError, ParameterError


def spaced(rng, n=400):
    """Texts whose label is told by one of its words."""
    labels = rng.integers(0, 4, n)
    fill = [" ".join(rng.choice([f"word{i}" for i in range(200)], 12)) for _ in range(n)]
    return [f"{text} topic{label}" for text, label in zip(fill, labels, strict=True)], labels


def unspaced(rng, n=400):
    """Texts without spaces whose label is told by two characters in the middle of them."""
    labels = rng.integers(0, 4, n)
    letters = [chr(0x4E00 + i) for i in range(300)]
    signs = ["山川", "日月", "水火", "金木"]
    texts = []
    for label in labels:
        fill = rng.choice(letters, 16).tolist()
        texts.append("".join([*fill[:8], signs[label], *fill[8:]]))
    return texts, labels


def fitted(texts, labels, **options):
    Y = [[str(label)] for label in labels]
    return TextVectorizer(features="auto", random_state=0, **options).fit(texts, Y)


def test_words_are_kept_where_they_say_it_all():
    vectorizer = fitted(*spaced(np.random.default_rng(0)))

    assert vectorizer.features_ == "words"
    assert [trial["features"] for trial in vectorizer.trials_ if trial["taken"]] == ["words"]
    assert "<- taken" in vectorizer.trial_table()


def test_characters_are_found_for_a_language_without_spaces():
    texts, labels = unspaced(np.random.default_rng(0))
    vectorizer = fitted(texts, labels)

    assert "chars" in vectorizer.features_
    assert "山川" in vectorizer.vocabulary_


def test_the_choice_depends_on_the_seed_alone():
    texts, labels = spaced(np.random.default_rng(1))
    one, other = fitted(texts, labels), fitted(texts, labels, n_jobs=2)

    assert one.trials_ == other.trials_


def test_few_texts_are_not_tried_on():
    vectorizer = fitted(["owl", "owl cat", "cat"], [0, 1, 1], min_df=1)

    assert vectorizer.features_ == "words"
    assert vectorizer.trials_ == []
    assert vectorizer.trial_table() == ""


def test_auto_needs_labels_and_texts_that_can_be_read_twice():
    texts, labels = spaced(np.random.default_rng(0), 20)
    Y = [[str(label)] for label in labels]
    with pytest.raises(ParameterError, match=r"features='auto' needs the labels: fit\(texts, y\)"):
        TextVectorizer(features="auto").fit(texts)
    with pytest.raises(DataError, match="reads the texts twice; put them in a list"):
        TextVectorizer(features="auto").fit(iter(texts), Y)
    with pytest.raises(DataError, match="There are 20 texts and 19 rows of labels"):
        TextVectorizer(features="auto").fit(texts, Y[:-1])


@pytest.mark.parametrize(
    ("texts", "passes"),
    [(["owl"] * 300, 12), (["owl"] * 4_000, 6), (["owl"] * 9_000, 4), (["owl " * 10_000] * 60, 4)],
)
def test_the_fewer_and_shorter_the_texts_the_more_often_they_are_passed_over(texts, passes):
    assert _passes(texts) == passes
    assert _passes([{"title": text, "body": ""} for text in texts]) == passes


def test_a_column_of_a_table_is_as_good_as_a_list():
    pandas = pytest.importorskip("pandas")
    texts, labels = spaced(np.random.default_rng(0), 250)
    column = pandas.Series(texts, index=range(7, 257))

    assert fitted(column, labels).trials_ == fitted(texts, labels).trials_


@pytest.mark.parametrize(
    ("options", "odd"), [({}, None), ({}, 3), ({"fields": {"a": 1}}, {"a": None})]
)
def test_what_is_no_text_is_refused_by_its_number(options, odd):
    texts, labels = spaced(np.random.default_rng(0), 20)
    texts = [{"a": text} for text in texts] if options else texts
    with pytest.raises(DataError, match="Text 4 must be a str"):
        fitted([*texts[:4], odd, *texts[5:]], labels, **options)


def test_the_learner_of_the_trial_is_an_l2_svm():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60, 5)).astype(np.float32)
    signs = np.where(dense @ rng.normal(size=(5, 3)) + 0.3 > 0, 1, -1).astype(np.float32)
    X = csr_arrays(as_csr(dense))
    alpha, W = np.zeros((60, 3), np.float32), np.zeros((6, 3), np.float32)

    train_labels(X, np.arange(60), signs, 0.7, 300, alpha, W)

    for k in range(3):
        # LIBLINEAR regularizes the bias too, as a feature of value one.
        svm = LinearSVC(C=0.7, tol=1e-8, max_iter=100_000, random_state=0)
        svm.fit(dense, signs[:, k])
        np.testing.assert_allclose(W[:5, k], svm.coef_[0], atol=2e-3)
        np.testing.assert_allclose(W[5, k], svm.intercept_[0], atol=2e-3)
    np.testing.assert_allclose(score_labels(X, np.arange(60), W), dense @ W[:5] + W[5], atol=1e-4)
