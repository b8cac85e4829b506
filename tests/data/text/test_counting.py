"""Segments, threads, and the bound on candidates."""

import numpy as np
import pytest

from labelwood.data.text import TextVectorizer, counting, documents
from labelwood.errors import LabelwoodWarning

RNG = np.random.default_rng(0)
WORDS = np.array([f"w{i}" for i in range(400)] + ["Größe", "naïve", "日本語", "😀", "don't"])
TEXTS = [" ".join(RNG.choice(WORDS, RNG.integers(1, 30))) for _ in range(300)]
SETS = ("words", "words+pairs", "words+chars", "words+pairs+chars", "chars")


def state(vectorizer, X):
    arrays = (vectorizer.terms_, vectorizer.term_ptr_, vectorizer.block_ptr_, vectorizer.idf_)
    return [array.tobytes() for array in (*arrays, X.indptr, X.indices, X.data)]


@pytest.mark.parametrize("features", SETS)
def test_threads_and_segments_change_nothing(features, monkeypatch):
    once = TextVectorizer(features=features, symbols=True)
    expected = state(once, once.fit_transform(TEXTS))
    rows = once.transform(TEXTS)

    for size in (1, 50, 1000):
        monkeypatch.setattr(documents.segments, "__defaults__", (size,))
        for n_jobs in (1, 3):
            again = TextVectorizer(features=features, symbols=True, n_jobs=n_jobs)
            assert state(again, again.fit_transform(TEXTS)) == expected
            np.testing.assert_array_equal(again.transform(TEXTS).toarray(), rows.toarray())


@pytest.mark.parametrize("features", SETS)
def test_fit_transform_is_fit_and_transform(features):
    vectorizer = TextVectorizer(features=features, min_df=1)
    X = vectorizer.fit_transform(TEXTS)

    np.testing.assert_array_equal(vectorizer.transform(TEXTS).toarray(), X.toarray())
    np.testing.assert_allclose(np.sqrt((X**2).sum(axis=1)), 1, rtol=1e-5)
    assert X.has_sorted_indices
    assert X.has_canonical_format


def test_counts_of_any_size_are_kept():
    texts = ["aa", "aa " * 300 + "bb", "aa " * 70_000 + "bb bb"]
    X = TextVectorizer(min_df=1, sublinear_tf=False, use_idf=False).fit_transform(texts).toarray()

    np.testing.assert_allclose(X[:, 0] / np.maximum(X[:, 1], 1e-9) * [1e-9, 1, 1], [1, 300, 35_000])


def test_one_text_at_a_time_gives_the_same_rows():
    vectorizer = TextVectorizer(features="words+pairs+chars")
    X = vectorizer.fit_transform(TEXTS)

    for i in range(0, 300, 37):
        row = vectorizer.transform([TEXTS[i]])
        row.check_format(full_check=True)
        assert row.shape == (1, X.shape[1])
        np.testing.assert_array_equal(row.toarray(), X[[i]].toarray())


def test_texts_may_come_from_a_generator_that_is_read_once():
    X = TextVectorizer().fit_transform(text for text in TEXTS)

    np.testing.assert_array_equal(X.toarray(), TextVectorizer().fit_transform(TEXTS).toarray())


def test_too_many_candidates_are_cut_with_a_warning_the_same_for_all_threads(monkeypatch):
    monkeypatch.setattr(documents.segments, "__defaults__", (500,))
    common = [f"common{i}" for i in range(5)]
    texts = [" ".join([*common, *(f"rare{i}x{j}" for j in range(8))]) for i in range(200)]
    states = []
    for n_jobs in (1, 2):
        vectorizer = TextVectorizer(max_candidates=200, n_jobs=n_jobs)
        with pytest.warns(LabelwoodWarning, match=r"more than max_candidates=200 .* forgotten"):
            X = vectorizer.fit_transform(texts)
        states.append(state(vectorizer, X))
    assert states[0] == states[1]
    assert vectorizer.vocabulary_ == common
    np.testing.assert_array_equal(vectorizer.idf_, np.ones(5, np.float32))
    np.testing.assert_array_equal(np.diff(X.indptr), 5)


def test_candidates_in_all_texts_are_kept_although_there_are_too_many(monkeypatch):
    monkeypatch.setattr(documents.segments, "__defaults__", (1,))
    texts = [f"a1 a2 a3 a4 a5 b{i} c{i}" for i in range(40)]
    with pytest.warns(LabelwoodWarning, match="features in up to"):
        vectorizer = TextVectorizer(max_candidates=8).fit(texts)
    assert {"a1", "a2", "a3", "a4", "a5"} <= set(vectorizer.vocabulary_)


class _OtherLibrary:
    """A C library that has no call to trim its heap."""

    def __init__(self, name):
        assert name is None


@pytest.mark.parametrize("library", [counting.ctypes.CDLL, _OtherLibrary])
def test_a_heap_that_is_trimmed_or_cannot_be_changes_nothing(library, monkeypatch):
    once = TextVectorizer(features="words+chars", n_jobs=2)
    expected = state(once, once.fit_transform(TEXTS))

    monkeypatch.setattr(counting, "_LARGE_BYTES", 0)
    monkeypatch.setattr(counting.ctypes, "CDLL", library)
    again = TextVectorizer(features="words+chars", n_jobs=2)
    assert state(again, again.fit_transform(TEXTS)) == expected
