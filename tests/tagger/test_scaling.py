"""Measurements are standardized before a learner sees them, and everything else is left alone."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from labelwood import (
    OneVsRestSVM,
    RuleTreeClassifier,
    Tagger,
    load,
    save,
)
from labelwood.errors import DataError
from labelwood.tagger.scaling import Scaling, find_scaling


def measurements(n: int = 300) -> tuple[np.ndarray, list[list[str]]]:
    """Ages, incomes and shares, and labels that each of them decides."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.uniform(18, 80, n), rng.normal(22_000, 6_000, n), rng.uniform(0.1, 1, n)]
    )
    names = ("old", "rich", "much")
    cuts = (50, 25_000, 0.6)
    labels = [
        [one for one, value, cut in zip(names, row, cuts, strict=True) if value > cut] for row in X
    ]
    return X, [one or ["none"] for one in labels]


def test_measurements_are_standardized_as_scikit_learn_does() -> None:
    X, _ = measurements()
    scaling = find_scaling(sp.csr_array(X.astype(np.float32)))
    assert scaling is not None
    expected = StandardScaler().fit_transform(X) / np.sqrt(X.shape[1])
    found = scaling.apply(sp.csr_array(X.astype(np.float32))).toarray()
    np.testing.assert_allclose(found, expected, atol=2e-4)
    # The defaults of the learners are meant for rows of unit length.
    assert np.square(found).sum(axis=1).mean() == pytest.approx(1, abs=1e-3)


def test_sparse_columns_beside_measurements_stay_sparse() -> None:
    rng = np.random.default_rng(1)
    flags = 7 * sp.random_array((200, 30), density=0.1, rng=rng)
    X = sp.hstack([sp.csr_array(rng.normal(500, 5, (200, 1))), flags]).tocsr().astype(np.float32)
    scaling = find_scaling(sp.csr_array(X))
    assert scaling is not None
    assert scaling.n_centered == 1
    scaled = scaling.apply(sp.csr_array(X))
    assert scaled.nnz == X.nnz
    assert scaled.has_canonical_format
    entries = X[:, [3]].toarray().ravel()
    mean_square = np.square(entries[entries != 0]).mean()
    expected = entries / np.sqrt(mean_square) / np.sqrt(X.nnz / 200)
    np.testing.assert_allclose(scaled[:, [3]].toarray().ravel(), expected, rtol=1e-5)


def _unit_rows() -> np.ndarray:
    X = np.random.default_rng(2).normal(size=(50, 8))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.parametrize(
    "X",
    [
        np.eye(20),  # words
        np.random.default_rng(3).integers(0, 2, (60, 6)),  # flags that most samples have
        _unit_rows(),  # somebody's own scale
        np.zeros((10, 3)),
        np.full((10, 3), 5.0),
        np.zeros((0, 3)),
    ],
)
def test_other_features_are_left_as_they_are(X: np.ndarray) -> None:
    assert find_scaling(sp.csr_array(X.astype(np.float32))) is None


def test_words_of_texts_are_left_although_some_are_common() -> None:
    rng = np.random.default_rng(4)
    counts = rng.poisson(4 / np.arange(1, 401), (300, 400))
    counts[:, 0] += rng.integers(1, 3, 300)
    assert find_scaling(sp.csr_array(counts.astype(np.float32))) is None


@given(st.integers(0, 2**32 - 1))
def test_a_row_is_scaled_alike_alone_and_in_a_batch(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sp.csr_array((rng.normal(3, 2, (40, 5)) * (rng.random((40, 5)) < 0.8)).astype(np.float32))
    scaling = find_scaling(X)
    assert scaling is not None
    alone = sp.vstack([scaling.apply(X[[row]]) for row in range(40)]).toarray()
    np.testing.assert_array_equal(alone, scaling.apply(X).toarray())
    assert scaling.apply(X[:0]).shape == (0, 5)


def test_large_offsets_do_not_drown_what_differs() -> None:
    times = (1e6 + np.arange(200.0))[:, None].astype(np.float32)
    scaling = find_scaling(sp.csr_array(times))
    assert scaling is not None
    np.testing.assert_allclose(scaling.scales, np.arange(200).std(), rtol=1e-4)


def test_units_do_not_matter_to_a_tagger() -> None:
    X, labels = measurements(600)
    truth = labels[400:]
    right = {}
    for scale in ("auto", False):
        tagger = Tagger(OneVsRestSVM(C=4), scale=scale).fit(X[:400], labels[:400])
        right[scale] = tagger.score(X[400:], truth)
    assert right["auto"] > 0.9
    assert right[False] < 0.75
    other_units = X * [365.25, 0.001, 100]
    other = Tagger(OneVsRestSVM(C=4)).fit(other_units[:400], labels[:400])
    assert other.score(other_units[400:], truth) == pytest.approx(right["auto"], abs=0.01)


def test_a_stored_tagger_scales_as_before(tmp_path) -> None:
    X, labels = measurements()
    tagger = Tagger(OneVsRestSVM()).fit(X, labels)
    save(tagger, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.feature_scales_, tagger.feature_scales_)
    assert again.predict(X) == tagger.predict(X)
    ranked = tagger.estimator_.predict_topk(tagger.features(X), 2)
    np.testing.assert_array_equal(ranked.labels, again.predict_topk(X, 2).labels)


def test_samples_that_come_later_are_scaled_by_those_of_the_fit() -> None:
    X, labels = measurements()
    tagger = Tagger(OneVsRestSVM(), remember=True).fit(X, labels)
    scales = tagger.feature_scales_.copy()
    np.testing.assert_array_equal(tagger.remembered_X_.toarray(), X.astype(np.float32))
    tagger.update(2 * X[:50], labels[:50])
    np.testing.assert_array_equal(tagger.feature_scales_, scales)
    tagger.add_labels(X[:60], [["new"]] * 60)
    assert tagger.score(X, labels) > 0.7


def test_rules_ask_for_values_in_the_units_of_the_data() -> None:
    X, labels = measurements()
    table = pd.DataFrame(X, columns=["age", "income", "share"])
    tagger = Tagger(OneVsRestSVM()).fit(table, labels)
    tagger.set_rules("always old if age > 79")
    oldest = table[table.age > 79]
    assert len(oldest)
    assert all("old" in one for one in tagger.predict(oldest))


def test_learners_of_rules_keep_the_units() -> None:
    X, labels = measurements()
    tagger = Tagger(RuleTreeClassifier()).fit(X, labels)
    assert tagger.feature_scales_ is None
    forced = Tagger(RuleTreeClassifier(), scale=True).fit(X, labels)
    assert forced.feature_scales_ is not None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("feature_scales_", np.zeros(3, dtype=np.float32), "must be positive"),
        ("feature_scales_", np.ones(2, dtype=np.float32), "a finite number for each feature"),
        ("feature_scales_", None, "a finite number for each feature"),
        ("feature_offsets_", np.full(3, np.nan, dtype=np.float32), "a finite number for each"),
        ("feature_offsets_", np.ones(3), "a finite number for each feature"),
    ],
)
def test_a_stored_scaling_that_is_none_is_refused(name: str, value: object, message: str) -> None:
    X, labels = measurements()
    tagger = Tagger(OneVsRestSVM()).fit(X, labels)
    setattr(tagger, name, value)
    with pytest.raises(DataError, match=message):
        tagger._check_fitted()


def test_offsets_of_zero_are_no_centers() -> None:
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32))
    scaling = Scaling(np.zeros(2, dtype=np.float32), np.full(2, 2, dtype=np.float32))
    assert scaling.apply(X).toarray().tolist() == [[0.5, 0.0], [0.0, 1.0]]
    assert scaling.apply(X).nnz == 2


def test_moments_are_the_same_however_many_entries_are_read_at_a_time(
    monkeypatch,
) -> None:
    X, _ = measurements()
    whole = find_scaling(sp.csr_array(X.astype(np.float32)))
    monkeypatch.setattr("labelwood.tagger.scaling._ENTRIES", 7)
    found = find_scaling(sp.csr_array(X.astype(np.float32)))
    assert whole is not None
    assert found is not None
    np.testing.assert_allclose(found.scales, whole.scales, rtol=1e-6)
    np.testing.assert_allclose(found.offsets, whole.offsets, rtol=1e-6)
