import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from labelwood.data.text import TextVectorizer
from labelwood.errors import DataError, ParameterError

TEXTS = [
    "The owl sleeps by day, the owl hunts by night.",
    "The cat sleeps by day and by night",
    "An OWL and a cat: night, night!",
    "",
    "Größe über alles; größe",
]
EMPTY_ROWS = "ignore:.* known feature:labelwood.errors.LabelwoodWarning"
pytestmark = pytest.mark.filterwarnings(EMPTY_ROWS)


def restored(vectorizer: TextVectorizer) -> TextVectorizer:
    """What a store does: the parameters and the fitted attributes on a new object."""
    fresh = TextVectorizer(**vectorizer.get_params())
    for name, value in vars(vectorizer).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(fresh, name, value)
    fresh._check_fitted()
    return fresh


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"min_df": 1},
        {"min_df": 1, "features": "words+pairs", "ngrams": 3, "lowercase": False},
        {"sublinear_tf": False},
        {"min_df": 0.3, "use_idf": False},
        {"max_df": 0.5},
        {"max_df": 1},
    ],
)
def test_vectors_are_those_of_scikit_learn(params):
    options = {"min_df": 2, "sublinear_tf": True, **params}
    options["max_df"] = float(options.get("max_df", 1.0))
    options["ngram_range"] = (1, options.pop("ngrams", 1))
    options.pop("features", None)
    oracle = TfidfVectorizer(**options, dtype=np.float32)
    expected = oracle.fit_transform(TEXTS)

    vectorizer = TextVectorizer(**params)
    X = vectorizer.fit_transform(TEXTS)

    assert vectorizer.vocabulary_ == oracle.get_feature_names_out().tolist()
    np.testing.assert_allclose(X.toarray(), expected.toarray(), atol=1e-6)
    np.testing.assert_array_equal(vectorizer.transform(TEXTS[::-1]).toarray(), X.toarray()[::-1])


def test_a_weight_is_right_by_hand():
    X = TextVectorizer(min_df=1).fit_transform(["owl owl cat", "cat"])

    # idf = 1 + log((1 + n) / (1 + df)); tf = 1 + log(count); then length one.
    cat, owl = 1.0, (1 + math.log(2)) * (1 + math.log(3 / 2))
    length = math.hypot(cat, owl)
    np.testing.assert_allclose(X.toarray(), [[cat / length, owl / length], [1, 0]], rtol=1e-6)


def test_the_matrix_is_a_float32_csr_array_in_order():
    X = TextVectorizer(min_df=1).fit_transform(TEXTS)

    assert type(X).__name__ == "csr_array"
    assert X.dtype == np.float32
    assert X.has_sorted_indices


def test_fit_and_fit_transform_learn_the_same():
    one, other = TextVectorizer().fit(TEXTS), TextVectorizer()
    other.fit_transform(TEXTS)

    assert one.vocabulary_ == other.vocabulary_
    np.testing.assert_array_equal(one.idf_, other.idf_)


def test_the_fitted_state_is_names_and_numbers_and_restores_exactly():
    vectorizer = TextVectorizer(min_df=1, features="words+pairs").fit(TEXTS)
    vectorizer.transform(TEXTS)

    fresh = restored(vectorizer)

    assert vectorizer.terms_.dtype == np.uint8
    assert vectorizer.idf_.dtype == np.float32
    unseen = [*TEXTS, "an owl by the unknown night"]
    np.testing.assert_array_equal(
        fresh.transform(unseen).toarray(), vectorizer.transform(unseen).toarray()
    )


def test_a_second_fit_forgets_the_first():
    vectorizer = TextVectorizer(min_df=1).fit(TEXTS)
    vectorizer.transform(TEXTS)

    vectorizer.fit(["fish swim", "fish eat"])

    assert vectorizer.transform(["fish swim owl"]).shape == (1, 3)
    assert vectorizer.get_feature_names_out().tolist() == ["eat", "fish", "swim"]


def test_texts_without_known_words_give_empty_rows_and_no_texts_no_rows():
    vectorizer = TextVectorizer().fit(TEXTS)

    assert vectorizer.transform(["zzz", ""]).nnz == 0
    assert vectorizer.transform([]).shape == (0, len(vectorizer.vocabulary_))


def test_arrays_and_tuples_of_texts_are_taken():
    expected = TextVectorizer().fit_transform(TEXTS).toarray()

    for texts in (tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, dtype=object)):
        np.testing.assert_array_equal(TextVectorizer().fit_transform(texts).toarray(), expected)


def test_an_unfitted_vectorizer_says_so():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TextVectorizer().transform(TEXTS)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        clone(TextVectorizer().fit(TEXTS)).get_feature_names_out()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", r"not one text; put it in a list: \[text\]"),
        (b"bytes", r"put it in a list"),
        (3, r"A list of texts is expected\. Got int"),
        (["a text", None], r"Text 1 must be a str\. Got NoneType"),
        (["a text", ["a", "list"]], r"Text 1 must be a str\. Got list"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(texts, message):
    with pytest.raises(DataError, match=message):
        TextVectorizer().fit(texts)
    with pytest.raises(DataError, match=message):
        TextVectorizer().fit(TEXTS).transform(texts)


@pytest.mark.parametrize(
    ("texts", "params"),
    [
        ([], {}),
        (["", "?!"], {}),
        (["one text", "another paper"], {}),
        (["same", "same"], {"max_df": 0.5}),
    ],
)
def test_texts_that_leave_no_word_are_refused_with_a_remedy(texts, params):
    with pytest.raises(DataError, match=rf"No word is left of {len(texts)} texts .*lower min_df"):
        TextVectorizer(**params).fit(texts)


def test_min_df_above_the_number_of_texts_is_refused_with_a_remedy():
    with pytest.raises(DataError, match=r"min_df=2 is more than 1 text; give min_df=1, or"):
        TextVectorizer().fit(["one text"])


@pytest.mark.parametrize(
    "params",
    [
        {"min_df": 0},
        {"min_df": 1.5},
        {"max_df": 0},
        {"max_df": 1.5},
        {"max_features": 0},
        {"ngrams": 1},
        {"features": "letters"},
        {"features": None},
        {"selection": "random"},
        {"min_chars": 0},
        {"max_chars": 21},
        {"min_length": 0},
        {"min_length": 2**62},
        {"numbers": "drop"},
        {"accents": True},
        {"use_idf": 1},
        {"char_weight": 0},
        {"fields": ["title"]},
        {"separate_fields": None},
        {"max_candidates": 1},
        {"decode_error": "ignore"},
        {"random_state": -1},
        {"n_jobs": 0},
        {"ngrams": (1, 2)},
        {"sublinear_tf": "yes"},
        {"lowercase": None},
    ],
)
def test_a_parameter_outside_its_constraint_is_refused(params):
    (name,) = params
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of TextVectorizer must be"):
        TextVectorizer(**params).fit(TEXTS)


def test_one_word_in_a_row_is_refused_with_the_feature_set_that_is_meant():
    with pytest.raises(ParameterError, match=r"for words alone give features='words'\. Got 1 inst"):
        TextVectorizer(ngrams=1).fit(TEXTS)


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("features_", "letters", "features_ must be one of"),
        ("terms_", [1, 2], "terms_ must be an array"),
        ("terms_", np.zeros(4, dtype=np.uint8), "an array of bytes"),
        ("terms_", np.full(14, 0xFF, dtype=np.uint8), "must be UTF-8"),
        ("term_ptr_", np.array([0, 3, 99]), "cut terms_ into terms"),
        ("term_ptr_", np.array([0, 3, 2, 6]), "cut terms_ into terms"),
        ("term_ptr_", np.array([0, 0, 6]), "empty term"),
        ("term_ptr_", np.array([0, 3, 6], dtype=np.int32), "cut terms_ into terms"),
        ("block_ptr_", np.array([0, 3]), "cut the terms into blocks"),
        ("block_ptr_", np.array([0, 1, 2]), "cut the terms into blocks"),
        ("idf_", np.ones(3, dtype=np.float32), r"shape \(2,\)"),
        ("idf_", np.ones(2), "array of float32"),
        ("idf_", [1.0, 1.0], "array of float32"),
        ("idf_", np.array([1, np.nan], dtype=np.float32), "finite"),
    ],
)
def test_a_strangers_fitted_state_is_refused(attribute, value, message):
    vectorizer = TextVectorizer(min_df=1).fit(["owl", "cat"])
    setattr(vectorizer, attribute, value)

    with pytest.raises(DataError, match=message):
        vectorizer._check_fitted()


def test_a_term_cut_within_a_character_is_refused():
    vectorizer = TextVectorizer(min_df=1).fit(["öö öl"])
    vectorizer.term_ptr_ = np.array([0, 1, 7])

    with pytest.raises(DataError, match="must not cut a character"):
        vectorizer._check_fitted()
