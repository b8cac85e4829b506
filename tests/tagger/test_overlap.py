from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import labelwood
from labelwood import Dataset, OneVsRestSVM, Tagger, TextVectorizer
from labelwood.core.sparse import make_csr
from labelwood.errors import ModelError
from labelwood.tagger import overlap
from labelwood.tagger.overlap import (
    KEPT,
    matrix_hashes,
    merged,
    overlap_remark,
    sketch,
    text_hashes,
)


def texts(first, last):
    return [f"{'cat' if i % 2 else 'dog'} number {i}" for i in range(first, last)]


def dataset(some):
    return Dataset.from_lists(some, [[one.split()[0]] for one in some])


def text_tagger(some, **params):
    vectorizer = TextVectorizer(min_df=1, **params)
    return Tagger(OneVsRestSVM(random_state=0), vectorizer, threshold=None).fit(dataset(some))


def numbers(seed, n):
    return sp.random_array((n, 8), density=0.5, rng=np.random.default_rng(seed), format="csr")


def test_hashes_are_of_the_samples_alone():
    forward, backward = (text_tagger(texts(0, 30)[::step], n_jobs=step % 3) for step in (1, -1))
    renamed = Tagger(OneVsRestSVM(random_state=0), TextVectorizer(min_df=1), threshold=None)
    renamed.fit(texts(0, 30), ["x", "y"] * 15)
    for other in (backward, renamed):
        np.testing.assert_array_equal(other.sample_hashes_, forward.sample_hashes_)
    assert forward.sample_hashes_.size == 30
    assert forward.repeated_share_ == 0


def test_rows_are_hashed_by_their_values_in_blocks_of_any_size(monkeypatch):
    X = sp.csr_array(sp.vstack([numbers(0, 50), sp.csr_array((2, 8)), numbers(0, 50)]))
    X = sp.csr_array(X.astype(np.float32))
    hashes = matrix_hashes(X)
    dense = [row.tobytes() for row in X.toarray()]
    assert np.unique(hashes).size == len(set(dense))
    np.testing.assert_array_equal(hashes[:50], hashes[52:])
    for size in (1, 7, 10**6):
        monkeypatch.setattr(overlap, "_BLOCK", size)
        np.testing.assert_array_equal(matrix_hashes(X), hashes)


def test_stored_zeros_and_the_width_of_indices_make_no_difference():
    X = sp.csr_array(np.array([[0, 1.5, 0, 2]], dtype=np.float32))
    data = np.array([0, 1.5, -0.0, 2], dtype=np.float32)
    stored = make_csr(np.array([0, 4]), np.arange(4), data, (1, 4))
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for other in (stored, wide):
        np.testing.assert_array_equal(matrix_hashes(other), matrix_hashes(X))
    assert matrix_hashes(X * 2)[0] != matrix_hashes(X)[0]


def test_features_are_compared_in_the_order_of_the_model():
    X, names = numbers(1, 40).astype(np.float32), [f"f{i}" for i in range(8)]
    data = Dataset(X, np.eye(2)[np.arange(40) % 2], feature_names=names)
    tagger = Tagger(OneVsRestSVM(random_state=0), threshold=None).fit(data)
    order = np.arange(8)[::-1]
    moved = replace(data, X=X[:, order], feature_names=[names[i] for i in order])
    assert overlap_remark(tagger, moved) == "40 of 40 samples were in the training data"
    other = replace(data, X=numbers(2, 40))
    assert overlap_remark(tagger, other) is None


@pytest.mark.parametrize(("n", "share"), [(12_000, 1.0), (12_000, 0.5), (12_000, 0.0)])
def test_of_many_samples_the_overlap_is_estimated(n, share):
    tagger = text_tagger(texts(0, 4))
    tagger.sample_hashes_, tagger.repeated_share_ = sketch(text_hashes(texts(0, n)))
    assert tagger.sample_hashes_.size == KEPT
    known = int(600 * share)
    remark = overlap_remark(tagger, dataset(texts(n - known, n + 600 - known)))
    if not known:
        assert remark is None
        return
    about, count = remark.split()[:2]
    assert about == "about"
    assert abs(int(count) - known) < 4 * np.sqrt(600 * 0.25 * n / KEPT)  # four deviations
    assert remark.endswith("of 600 samples were in the training data")


def test_samples_that_repeat_one_another_are_expected_to_be_known():
    tagger = text_tagger(["a cat", "a dog", "a cat", "an owl"] * 3)
    assert tagger.repeated_share_ == 1
    assert overlap_remark(tagger, dataset(["a cat", "a dog"])) is None


def test_estimates_of_few_samples_are_no_evidence():
    tagger = text_tagger(texts(0, 4))
    hashes = text_hashes(texts(0, 12_000))
    tagger.sample_hashes_, tagger.repeated_share_ = sketch(hashes)
    below = np.flatnonzero(hashes <= tagger.sample_hashes_[-1])
    samples = np.array(texts(0, 12_000))
    assert overlap_remark(tagger, dataset(samples[below[:1]].tolist())) is None
    assert overlap_remark(tagger, dataset(samples[below[:3]].tolist())) is not None


def test_the_hashes_of_parts_are_those_of_the_whole():
    hashes = text_hashes(texts(0, 10_000))
    parts = merged(sketch(hashes[:6_000]).hashes, hashes[5_000:])
    np.testing.assert_array_equal(parts, sketch(hashes).hashes)


def test_samples_that_are_learned_later_are_known_too():
    vectorizer = TextVectorizer(min_df=1)
    tagger = Tagger(OneVsRestSVM(random_state=0), vectorizer, remember=True, threshold=None)
    tagger.fit(dataset(texts(0, 20)))
    later = dataset(texts(20, 30))
    assert overlap_remark(tagger, later) is None
    tagger.update(later, None)
    assert overlap_remark(tagger, later) == "10 of 10 samples were in the training data"
    owl = Dataset.from_lists(["owl number 3"], [["owl"]])
    tagger.add_labels(owl, None)
    assert overlap_remark(tagger, owl) == "1 of 1 sample was in the training data"


def test_a_model_without_hashes_is_loaded_and_warns_of_nothing(tmp_path):
    tagger = text_tagger(texts(0, 20))
    labelwood.save(tagger, tmp_path / "new")
    kept = labelwood.load(tmp_path / "new")
    assert overlap_remark(kept, dataset(texts(0, 5))) is not None
    del tagger.sample_hashes_, tagger.repeated_share_
    labelwood.save(tagger, tmp_path / "old")
    old = labelwood.load(tmp_path / "old")
    assert overlap_remark(old, dataset(texts(0, 20))) is None
    old.add_labels(["owl number 3"], [["owl"]], negatives=texts(0, 3))
    assert "sample_hashes_" not in vars(old)


@pytest.mark.parametrize(
    ("hashes", "share"),
    [
        (np.array([3, 2], dtype=np.uint64), 0.0),
        (np.array([2, 2], dtype=np.uint64), 0.0),
        (np.array([2, 3]), 0.0),
        (np.arange(KEPT + 1, dtype=np.uint64), 0.0),
        (np.zeros((1, 1), dtype=np.uint64), 0.0),
        (np.array([], dtype=np.uint64), 0.0),
        (np.array([2], dtype=np.uint64), 1.5),
        (np.array([2], dtype=np.uint64), None),
    ],
)
def test_what_are_no_hashes_is_refused(tmp_path, hashes, share):
    tagger = text_tagger(texts(0, 4))
    tagger.sample_hashes_, tagger.repeated_share_ = hashes, share
    labelwood.save(tagger, tmp_path / "m")
    with pytest.raises(ModelError, match=r"sample_hashes_ must be|repeated_share_ must be"):
        labelwood.load(tmp_path / "m")


def test_white_space_makes_no_difference_and_models_of_before_know_their_texts_still():
    trained = [f" {one}\r\nand  more" for one in texts(0, 20)]
    tagger = text_tagger(trained)
    remark = "10 of 10 samples were in the training data"
    plain = [f"{one} and more" for one in texts(0, 10)]
    assert overlap_remark(tagger, dataset(plain)) == remark
    assert overlap_remark(tagger, dataset(trained[:10])) == remark
    tagger.sample_hashes_, tagger.repeated_share_ = sketch(text_hashes(trained))  # as it was
    assert overlap_remark(tagger, dataset(trained[:10])) == remark
    assert overlap_remark(tagger, dataset(plain)) is None
