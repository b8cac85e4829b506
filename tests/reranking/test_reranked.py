import numpy as np
import pytest
from sklearn.base import clone

import labelwood
from builders import random_csr, random_labels, separable
from labelwood import (
    LabelTreeClassifier,
    OneVsRestSVM,
    PopularityClassifier,
    RerankedClassifier,
    TailClassifier,
    load_dataset,
    metrics,
)
from labelwood.errors import DataError, ModelError, ParameterError


class Fixed:
    """A re-ranker that is no estimator: the same log-score of a label for every point."""

    def __init__(self, scores):
        self.scores = np.asarray(scores, dtype=np.float32)

    def fit(self, X, Y):
        self.shape = Y.shape

    def log_scores(self, X, labels):
        return np.where(labels < 0, -np.inf, self.scores[labels])


class Bad(Fixed):
    def log_scores(self, X, labels):
        return self.scores


def noisy():
    return random_csr(150, 40, seed=1), random_labels(150, 12, seed=1)


@pytest.mark.parametrize("weight", [0.3, 0.8])
@pytest.mark.parametrize(
    ("base", "log_q"),
    [
        (OneVsRestSVM(random_state=0), lambda s: -(np.maximum(0, 1 - s) ** 2)),
        (PopularityClassifier(), np.log),
        (TailClassifier(gamma=2), lambda s: s),
    ],
    ids=["svm", "shares", "logs"],
)
def test_the_best_candidates_are_sorted_by_the_weighted_sum(weight, base, log_q):
    X, Y = noisy()
    model = RerankedClassifier(base, alpha=weight, n_candidates=5).fit(X, Y)
    first = clone(base).fit(X, Y).predict_topk(X, 5)
    second = TailClassifier().fit(X, Y).log_scores(X, first.labels)
    scores = weight * log_q(first.scores.astype(np.float64)) + (1 - weight) * second
    order = np.lexsort((first.labels, -scores), axis=1)
    top = model.predict_topk(X, 5)
    np.testing.assert_allclose(top.scores, np.take_along_axis(scores, order, 1), atol=1e-4)
    np.testing.assert_array_equal(np.sort(top.labels), np.sort(first.labels))
    clear = np.diff(-top.scores, axis=1).min(axis=1) > 1e-4
    right = np.take_along_axis(first.labels, order, axis=1)
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(top.labels[clear], right[clear])
    np.testing.assert_allclose(
        model.decision_function(X).toarray()[np.arange(150)[:, None], top.labels], top.scores
    )


def test_equal_scores_go_to_the_smaller_label_first():
    X, Y = separable(60, 6)
    model = RerankedClassifier(reranker=Fixed([0, 0, 1, 0, 1, 0]), alpha=0).fit(X, Y)
    assert model.predict_topk(X, 6).labels.tolist() == [[2, 4, 0, 1, 3, 5]] * 60


def test_any_object_that_fits_and_scores_can_give_the_opinion():
    X, Y = separable(60, 4)
    opinion = Fixed([4, 3, 2, 1])
    model = RerankedClassifier(PopularityClassifier(), reranker=opinion, alpha=0.5).fit(X, Y)
    assert model.reranker_.shape == (60, 4)
    assert not hasattr(opinion, "shape")
    shares = Y.toarray().mean(axis=0)
    expected = np.sort(0.5 * np.log(shares) + 0.5 * np.array([4, 3, 2, 1]))[::-1]
    np.testing.assert_allclose(model.predict_topk(X, 4).scores[0], expected, rtol=1e-5)


def test_an_opinion_without_weight_does_not_count():
    X, Y = separable(60, 4)
    never = Fixed([-np.inf, 0, 0, 0])
    first = PopularityClassifier().fit(X, Y).predict_topk(X, 4)
    alone = RerankedClassifier(PopularityClassifier(), reranker=never, alpha=1).fit(X, Y)
    np.testing.assert_array_equal(alone.predict_topk(X, 4).labels, first.labels)
    both = RerankedClassifier(PopularityClassifier(), reranker=never, alpha=0.9).fit(X, Y)
    assert both.predict_topk(X, 4).labels[0, 3] == -1
    assert 0 not in both.predict_topk(X, 4).labels


@pytest.mark.parametrize(
    ("scores", "got"), [(np.full((60, 4), np.nan), "NaN"), (np.zeros((60, 3)), r"\(60, 3\)")]
)
def test_an_opinion_that_is_none_is_refused(scores, got):
    X, Y = separable(60, 4)
    model = RerankedClassifier(PopularityClassifier(), reranker=Bad(scores)).fit(X, Y)
    with pytest.raises(DataError, match=rf"log_scores of Bad .* shape \(60, 4\). Got {got}"):
        model.predict_topk(X)


def test_labels_beyond_the_candidates_are_never_returned():
    X, Y = noisy()
    model = RerankedClassifier(n_candidates=2).fit(X, Y)
    top = model.predict_topk(X, 5)
    assert top.labels.shape == (150, 5)
    assert np.all(top.labels[:, :2] >= 0)
    assert np.all(top.labels[:, 2:] == -1)
    assert np.all(np.diff(model.decision_function(X).indptr) == 2)


def test_predict_gives_what_the_estimator_predicts():
    X, Y = noisy()
    alone = OneVsRestSVM(random_state=0).fit(X, Y)
    predicted = RerankedClassifier(OneVsRestSVM(random_state=0), alpha=0.1).fit(X, Y).predict(X)
    assert predicted.nnz > 0
    np.testing.assert_array_equal(predicted.toarray(), alone.predict(X).toarray())


@pytest.mark.parametrize("n_classes", [2, 5])
def test_one_class_a_point_is_the_best_candidate(n_classes):
    X, _ = noisy()
    y = np.arange(150) % n_classes
    model = RerankedClassifier(n_candidates=2, alpha=0.5).fit(X, [f"class {c}" for c in y])
    best = model.predict_topk(X, 1)
    assert model.predict(X).tolist() == [name for (name,) in best.names()]
    scores = model.decision_function(X)
    assert scores.shape == ((150,) if n_classes == 2 else (150, 5))
    if n_classes == 5:
        assert np.all((scores == np.finfo(np.float32).min).sum(axis=1) == 3)


def test_scores_of_zero_are_scores():
    X, _ = noisy()
    model = RerankedClassifier(reranker=Fixed([-1, 0, -1]), alpha=0).fit(X, np.arange(150) % 3)
    assert model.decision_function(X).tolist() == [[-1, 0, -1]] * 150
    assert model.predict(X).tolist() == [1] * 150


def test_the_parts_are_reached_by_nested_parameters():
    model = RerankedClassifier(OneVsRestSVM(), reranker=TailClassifier())
    model.set_params(estimator__C=0.25, reranker__gamma=5)
    copy = clone(model)
    assert copy.estimator.C == 0.25
    assert copy.get_params()["reranker__gamma"] == 5
    X, Y = separable(40, 3)
    copy.fit(X, Y)
    assert copy.estimator_.C == 0.25
    assert not hasattr(copy.estimator, "intercept_")


def test_threads_do_not_change_a_single_byte():
    X, Y = random_csr(700, 60, seed=3), random_labels(700, 30, seed=3)
    answers = set()
    for n_jobs in (1, 2):
        base = OneVsRestSVM(random_state=0, n_jobs=n_jobs)
        tail = TailClassifier(n_jobs=n_jobs)
        top = RerankedClassifier(base, reranker=tail, n_candidates=30).fit(X, Y).predict_topk(X)
        answers.add((top.labels.tobytes(), top.scores.tobytes()))
    assert len(answers) == 1


def test_a_reranked_model_can_be_reranked_saved_and_loaded(tmp_path):
    X, Y = noisy()
    inner = RerankedClassifier(OneVsRestSVM(random_state=0), n_candidates=6)
    outer = RerankedClassifier(inner, reranker=TailClassifier(gamma=1), n_candidates=4)
    top = outer.fit(X, Y).predict_topk(X, 4)
    first = clone(inner).fit(X, Y).predict_topk(X, 4)
    second = TailClassifier(gamma=1).fit(X, Y).log_scores(X, first.labels)
    expected = -np.sort(-(0.8 * first.scores + 0.2 * second), axis=1)
    np.testing.assert_allclose(top.scores, expected, rtol=1e-4)
    labelwood.save(outer, tmp_path / "model")
    loaded = labelwood.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_topk(X, 4).scores, top.scores)
    assert loaded.model_size == outer.model_size > 0


def test_an_opinion_of_ones_own_cannot_be_saved(tmp_path):
    X, Y = separable(30, 3)
    model = RerankedClassifier(PopularityClassifier(), reranker=Fixed([1, 2, 3])).fit(X, Y)
    with pytest.raises(ModelError, match="is a Fixed, which cannot be saved"):
        labelwood.save(model, tmp_path / "model")


@pytest.mark.parametrize("part", ["estimator_", "reranker_"])
def test_parts_that_do_not_belong_together_are_refused(part):
    X, Y = separable(40, 4)
    model = RerankedClassifier().fit(X, Y)
    setattr(model, part, clone(getattr(model, part)).fit(X, Y[:, :3]))
    with pytest.raises(DataError, match="must know the same features and labels"):
        model._check_fitted()
    model.reranker_ = None
    with pytest.raises(DataError, match="an object with the methods fit and log_scores"):
        model._check_fitted()


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": OneVsRestSVM},
        {"estimator": "svm"},
        {"reranker": TailClassifier},
        {"reranker": OneVsRestSVM()},
        {"alpha": 1.1},
        {"alpha": np.nan},
        {"n_candidates": 0},
    ],
)
def test_parameters_are_checked_by_name(options):
    X, Y = separable(20, 2)
    name = next(iter(options))
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of RerankedClassifier must"):
        RerankedClassifier(**options).fit(X, Y)


@pytest.mark.shared
def test_rare_labels_of_bibtex_are_found_sooner(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = RerankedClassifier(OneVsRestSVM(random_state=0, n_jobs=2)).fit(train.X, train.Y)
    chances = metrics.propensity(train.Y)
    after, before = model.predict_topk(test.X, 5), model.estimator_.predict_topk(test.X, 5)
    for k in (1, 3, 5):
        gain, base = (metrics.psp_at_k(test.Y, top, k, chances) for top in (after, before))
        assert gain > base


@pytest.mark.shared
def test_tail_classifiers_bring_rare_labels_of_a_label_tree_forward(shared_data):
    folder = shared_data / "bibtex"
    train, test = (load_dataset(folder / f"{part}.txt.xz") for part in ("train", "test"))
    model = RerankedClassifier(LabelTreeClassifier(random_state=0)).fit(train.X, train.Y)
    chances = metrics.propensity(train.Y)
    for k in (1, 3, 5):
        before, after = (
            metrics.psp_at_k(test.Y, one.predict_topk(test.X, 5), k, propensity=chances)
            for one in (model.estimator_, model)
        )
        assert after > before + 0.003
