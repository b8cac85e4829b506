"""Blocks and fields: what becomes a feature, how it weighs, and what it is called."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2_contingency
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from labelwood import load, save
from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, ParameterError

TEXTS = [
    "The net income rose in 1987, the income!",
    "Net income fell; nothing is certain in 2024 :(",
    "A sinking feeling: the inn in Århus is sinking 👍👍",
    "she sells sea shells, net of the sea",
]
OPTIONS = {"min_df": 1, "sublinear_tf": True, "dtype": np.float32}


def oracle(*vectorizers):
    """The blocks by scikit-learn, side by side and of length one."""
    return normalize(sparse.hstack([one.fit_transform(TEXTS) for one in vectorizers])).toarray()


@pytest.mark.parametrize(
    ("features", "blocks"),
    [
        ("words+pairs", [{"ngram_range": (1, 2)}]),
        ("chars", [{"analyzer": "char_wb", "ngram_range": (2, 4)}]),
        ("words+chars", [{}, {"analyzer": "char_wb", "ngram_range": (2, 4)}]),
        (
            "words+pairs+chars",
            [{"ngram_range": (1, 2)}, {"analyzer": "char_wb", "ngram_range": (2, 4)}],
        ),
    ],
)
def test_blocks_are_those_of_scikit_learn(features, blocks):
    vectorizers = [TfidfVectorizer(**OPTIONS, **block) for block in blocks]

    ours = TextVectorizer(features=features, min_df=1)
    X = ours.fit_transform(TEXTS)

    np.testing.assert_allclose(X.toarray(), oracle(*vectorizers), atol=1e-6)
    names = [name for one in vectorizers for name in one.get_feature_names_out()]
    assert ours.vocabulary_ == names


def test_the_weight_of_characters_is_that_of_their_block():
    X = TextVectorizer(features="words+chars", min_df=1, char_weight=3).fit_transform(TEXTS)
    n_words = TextVectorizer(min_df=1).fit(TEXTS).idf_.size

    squares = X.toarray() ** 2
    np.testing.assert_allclose(squares[:, :n_words].sum(axis=1), 0.1, rtol=1e-5)
    np.testing.assert_allclose(squares[:, n_words:].sum(axis=1), 0.9, rtol=1e-5)


def test_accents_are_folded_as_scikit_learn_does_it():
    words = TfidfVectorizer(**OPTIONS, strip_accents="unicode").fit(TEXTS)

    assert TextVectorizer(min_df=1, accents="fold").fit(TEXTS).vocabulary_ == list(
        words.get_feature_names_out()
    )


def test_numbers_are_folded_and_symbols_kept_when_asked():
    vectorizer = TextVectorizer(min_df=1, numbers="fold", symbols=True).fit(TEXTS)

    assert "0000" in vectorizer.vocabulary_
    assert {"!", ",", "👍", ":", "("} <= set(vectorizer.vocabulary_)
    assert "1987" not in vectorizer.vocabulary_


def test_min_df_can_be_a_share():
    assert TextVectorizer(min_df=0.75).fit(TEXTS).vocabulary_ == ["in", "net", "the"]


def test_max_features_keeps_those_in_most_texts():
    assert TextVectorizer(max_features=2).fit(TEXTS).vocabulary_ == ["in", "net"]


@pytest.mark.filterwarnings("ignore:.* known feature")
def test_max_features_by_association_keeps_what_goes_with_a_label():
    labels = [["money"], ["money"], ["place"], ["place"]]
    vectorizer = TextVectorizer(max_features=1, selection="chi2").fit(TEXTS, labels)

    assert vectorizer.vocabulary_ == ["income"]
    with pytest.raises(ParameterError, match=r"selection='chi2' needs the labels: fit\(texts, y\)"):
        TextVectorizer(max_features=1, selection="chi2").fit(TEXTS)
    with pytest.raises(DataError, match="There are 3 texts and 4 rows of labels"):
        TextVectorizer(max_features=1, selection="chi2").fit(TEXTS[:3], labels)


def test_association_is_the_largest_chi_squared_statistic_of_any_label():
    rng = np.random.default_rng(0)
    presence = rng.random((40, 6)) < 0.4
    labels = rng.random((40, 3)) < 0.3
    texts = [" ".join(f"w{i}" for i in np.flatnonzero(row)) or "none" for row in presence]
    scores = []
    for term in presence.T:
        # Labels that never occur with a term do not count.
        tables = [np.histogram2d(term, label, bins=2)[0] for label in labels.T]
        statistics = [
            chi2_contingency(table, correction=False)[0] for table in tables if table[1, 1] > 0
        ]
        scores.append(max(statistics))
    Y = [[f"l{i}" for i in np.flatnonzero(row)] for row in labels]
    for n in (1, 2, 3, 4):
        kept = sorted(f"w{i}" for i in np.argsort(scores)[-n:])
        vectorizer = TextVectorizer(max_features=n, selection="chi2", min_df=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert vectorizer.fit(texts, Y).vocabulary_ == kept


def test_fields_are_weighted_and_share_their_vocabulary():
    documents = [{"title": "owl owl", "body": "the cat"}, {"title": "cat", "body": "the owl"}]
    vectorizer = TextVectorizer(min_df=1, use_idf=False, fields={"title": 2.0, "body": 1})
    X = vectorizer.fit_transform(documents)

    assert vectorizer.vocabulary_ == ["cat", "owl", "the"]
    half = np.sqrt(0.5)
    expected = np.array([[half, 2, half], [2, half, half]])
    np.testing.assert_allclose(X.toarray(), normalize(expected), rtol=1e-5)
    np.testing.assert_array_equal(vectorizer.transform(documents).toarray(), X.toarray())


def test_a_word_in_two_fields_is_in_one_document():
    documents = [{"title": "owl", "body": "owl"}, {"title": "cat", "body": "cat owl"}]
    vectorizer = TextVectorizer(min_df=2, fields={"title": 1, "body": 1}).fit(documents)

    assert vectorizer.vocabulary_ == ["owl"]


def test_separate_fields_have_vocabularies_of_their_own(tmp_path):
    documents = [{"title": "owl owl", "body": "the cat"}, {"title": "cat", "body": "the owl"}]
    fields = {"title": 3.0, "body": 4.0}
    vectorizer = TextVectorizer(
        features="words+chars", min_df=1, fields=fields, separate_fields=True
    )
    X = vectorizer.fit_transform(documents)

    names = vectorizer.get_feature_names_out().tolist()
    assert names[:2] == ["title word: cat", "title word: owl"]
    assert "body chars: th-" in names
    title = [i for i, name in enumerate(names) if name.startswith("title")]
    np.testing.assert_allclose((X.toarray()[:, title] ** 2).sum(axis=1), 9 / 25, rtol=1e-5)
    save(vectorizer, tmp_path / "model")
    again = load(tmp_path / "model").transform(documents)
    np.testing.assert_array_equal(again.toarray(), X.toarray())


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["plain"], r"Text 0 must be a mapping with the fields title, body\. Got str"),
        ([{"title": "x"}], r"Text 0 has no field 'body'"),
        ([{"title": "x", "body": 3}], r"Text 0 must be a str\. Got int"),
    ],
)
def test_documents_without_the_fields_are_refused(documents, message):
    with pytest.raises(DataError, match=message):
        TextVectorizer(fields={"title": 1, "body": 1}).fit(documents)


@pytest.mark.parametrize("fields", [{}, {"title": 0}, {"title": "x"}, {1: 1}, {"t": float("inf")}])
def test_fields_need_names_and_positive_weights(fields):
    with pytest.raises(ParameterError, match="The 'fields' parameter of TextVectorizer must"):
        TextVectorizer(fields=fields).fit(TEXTS)


def test_features_say_what_they_are():
    vectorizer = TextVectorizer(features="words+pairs+chars", min_df=1).fit(TEXTS)
    names = vectorizer.describe_features()

    assert {"word: income", "pair: net income", "chars: -ing", "chars: sin-", "chars: -in-"} <= set(
        names
    )
    assert "chars: in" in names
    assert len(set(names)) == len(names) == vectorizer.idf_.size
    assert vectorizer.get_feature_names_out().tolist() == names
    assert vectorizer.describe_features([0]) == names[:1]


def test_features_are_located_in_the_text():
    vectorizer = TextVectorizer(
        features="words+pairs+chars", min_df=1, accents="fold", symbols=True
    ).fit(TEXTS)
    text = "İn ÅRHUS:\tNET  Income 👍sinking"
    names = vectorizer.describe_features()
    found = [(names[i], text[a:b]) for i, a, b in vectorizer.locate(text)]

    assert ("word: arhus", "ÅRHUS") in found
    assert ("pair: net income", "NET  Income") in found
    assert ("word: 👍", "👍") in found
    assert ("chars: -ing", "ing") in found
    assert ("chars: ar-", "ÅR") in found
    columns = np.bincount([i for i, _, _ in vectorizer.locate(text)], minlength=len(names))
    row = vectorizer.transform([text]).toarray()[0]
    np.testing.assert_array_equal(columns > 0, row > 0)


def test_locating_needs_a_text_and_a_field_where_they_are_separate():
    documents = [{"title": "owl", "body": "cat"}, {"title": "owl", "body": "cat"}]
    vectorizer = TextVectorizer(fields={"title": 1, "body": 1}, separate_fields=True)
    vectorizer.fit(documents)

    assert vectorizer.locate("owl cat", field="title") == [(0, 0, 3)]
    assert vectorizer.locate("owl cat", field="body") == [(1, 4, 7)]
    assert vectorizer.locate("", field="body") == []
    with pytest.raises(DataError, match="field=None is none of them"):
        vectorizer.locate("owl")
    with pytest.raises(DataError, match=r"A text must be a str\. Got bytes"):
        vectorizer.locate(b"owl", field="title")


def test_more_characters_at_least_than_at_most_are_refused():
    with pytest.raises(ParameterError, match="min_chars=6 is above max_chars=4"):
        TextVectorizer(features="chars", min_chars=6).fit(TEXTS)
