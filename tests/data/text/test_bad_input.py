"""Texts that nobody hopes for."""

import numpy as np
import pytest

from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, LabelwoodWarning

SETS = ("words", "words+pairs+chars")


@pytest.mark.parametrize("features", SETS)
def test_empty_and_unknown_texts_are_rows_of_zeros_that_are_counted_once(features):
    texts = ["owl cat", "", "owl", "\u200b \u0301"]
    vectorizer = TextVectorizer(features=features, min_df=2)
    with pytest.warns(LabelwoodWarning) as caught:
        X = vectorizer.fit_transform(texts)
    assert [str(one.message) for one in caught] == [
        "2 of 4 texts have no known feature (the first is row 2 of the data); their rows are zero."
    ]
    np.testing.assert_array_equal(np.diff(X.indptr) == 0, [False, True, False, True])
    with pytest.warns(LabelwoodWarning, match=r"1 of 1 text has .* \(row 1 of the data\); its"):
        assert vectorizer.transform(["zzz"]).nnz == 0


@pytest.mark.parametrize("features", SETS)
def test_ten_megabytes_in_one_line_are_one_text(features):
    long = "abc defg " * 1_100_000 + "x" * 200_000
    vectorizer = TextVectorizer(features=features, min_df=1)
    X = vectorizer.fit_transform([long, "abc"])

    assert len(long) > 10_000_000
    assert {"abc", "defg", "x" * 200_000} <= set(vectorizer.vocabulary_)
    assert np.isfinite(X.data).all()


def test_half_of_a_surrogate_pair_separates_words():
    vectorizer = TextVectorizer(min_df=1).fit(["owl\ud83dcat", "\udc00fish\ude00\ud83d"])

    assert vectorizer.vocabulary_ == ["cat", "fish", "owl"]
    assert TextVectorizer(features="chars", min_df=1).fit(["a\ud83db"]).vocabulary_ == [
        " a",
        " a ",
        " b",
        " b ",
        "a ",
        "b ",
    ]
    assert [vectorizer.vocabulary_[i] for i in vectorizer.transform(["\udc00owl"]).indices] == [
        "owl"
    ]


def test_bytes_in_another_encoding_are_refused_with_text_and_line():
    texts = ["über alles".encode(), "die eine\ndie größe".encode("latin-1")]
    with pytest.raises(DataError, match=r"Text 1, line 2: byte 0xf6 .* is not UTF-8; decode"):
        TextVectorizer().fit(texts)

    vectorizer = TextVectorizer(min_df=1, decode_error="replace").fit(texts)
    assert vectorizer.vocabulary_ == ["alles", "die", "eine", "gr", "über"]


@pytest.mark.parametrize("features", SETS)
def test_texts_that_are_all_the_same_have_equal_rows(features):
    X = TextVectorizer(features=features).fit_transform(["an owl and a cat"] * 5)

    assert X.nnz > 0
    np.testing.assert_array_equal(X.toarray(), np.tile(X[[0]].toarray(), (5, 1)))


def test_a_failed_fit_leaves_the_vectorizer_as_it_was():
    vectorizer = TextVectorizer(min_df=1).fit(["owl"])
    with pytest.raises(DataError, match="Text 1 must be a str"):
        vectorizer.fit(["cat", 3])
    with pytest.raises(DataError, match="Text 1 must be a str"):
        vectorizer.fit_transform(["cat", 3])

    assert vectorizer.vocabulary_ == ["owl"]
    assert vectorizer.transform(["owl"]).nnz == 1


def test_a_count_of_texts_may_be_a_number_of_numpy():
    texts = ["the owl", "the cat", "the fish"]

    assert TextVectorizer(min_df=np.int64(2)).fit(texts).vocabulary_ == ["the"]
    with pytest.raises(DataError, match=r"min_df=5 is more than 3 texts; give min_df=1"):
        TextVectorizer(min_df=np.int32(5)).fit(texts)


def test_targets_that_are_not_needed_may_be_numbers():
    vectorizer = TextVectorizer(min_df=1).fit(["owl", "cat"], [0.5, 1.25])

    assert vectorizer.vocabulary_ == ["cat", "owl"]


@pytest.mark.parametrize(
    ("params", "texts"),
    [
        ({"features": "words+chars", "char_weight": 1e308}, ["owl", "cat"]),
        ({"fields": {"a": 1e308, "b": 1e308}}, [{"a": "owl", "b": "cat"}]),
        ({"fields": {"a": 1e39, "b": 1e38}}, [{"a": "owl", "b": "cat"}]),
        ({"fields": {"a": 1e-60, "b": np.float32(1e-30)}}, [{"a": "owl", "b": "cat"}]),
    ],
)
def test_weights_of_any_size_give_rows_of_length_one(params, texts):
    X = TextVectorizer(min_df=1, **params).fit_transform(texts)

    np.testing.assert_allclose(np.square(X.toarray()).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("columns", [[-1], [2]])
def test_columns_that_do_not_exist_have_no_description(columns):
    vectorizer = TextVectorizer(min_df=1).fit(["owl cat"])
    with pytest.raises(DataError, match=r"columns must be numbers in 0…1"):
        vectorizer.describe_features(columns)
