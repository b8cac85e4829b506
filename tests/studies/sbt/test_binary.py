import lzma

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from labelwood.core.sparse import as_csr
from labelwood.studies._study import Options
from labelwood.studies.sbt._binary import (
    FILES,
    Split,
    best_by_trial,
    best_of,
    error,
    figures,
    n_features,
    read_splits,
)
from labelwood.trees.budgeted.estimator import BudgetedTreeClassifier
from studies.sbt.binary import linear_points, write_points, write_set


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def split_of(n=200, seed=0):
    X, y = linear_points(n, 5, seed)
    X = as_csr(X)
    half = n // 2
    return Split(X[:half], y[:half], X[half:], y[half:])


def test_random_splits_share_all_points_out_and_differ(tmp_path):
    ((X, y),) = write_set(tmp_path, "pcmac")
    splits = read_splits("pcmac", Options(data=tmp_path, seed=1))
    assert len(splits) == 3
    for split in splits:
        assert (split.X.shape[0], split.X_test.shape[0]) == (96, 24)
        found = np.vstack([split.X.toarray(), split.X_test.toarray()])
        classes = np.append(split.y, split.y_test)
        order, expected = np.argsort(found[:, 0]), np.argsort(unit(X)[:, 0])
        np.testing.assert_allclose(found[order], unit(X)[expected], rtol=1e-5)
        assert classes[order].tolist() == y[expected].tolist()
    assert not np.array_equal(splits[0].X.toarray(), splits[1].X.toarray())


def test_a_set_that_comes_with_a_test_file_keeps_it(tmp_path):
    (_, y), (X_test, y_test) = write_set(tmp_path, "a9a")
    # Fewer columns, and the other class first: neither may shift anything.
    X_test, y_test = X_test[np.argsort(y_test)][:, :25], np.sort(y_test)
    assert y[0] == 1
    assert y_test[0] == -1
    write_points(tmp_path / FILES["a9a"][1], X_test, y_test)
    (split,) = read_splits("a9a", Options(data=tmp_path))
    assert split.X.shape == (120, 30)
    assert split.X_test.shape == (120, 30)
    np.testing.assert_allclose(split.X_test.toarray()[:, :25], unit(X_test), rtol=1e-5)
    assert split.y_test.tolist() == y_test.tolist()
    assert sorted(split.y) == sorted(y)


def test_news_are_of_topics_of_one_class_alone(tmp_path):
    folder = tmp_path / "rcv1-15k-hier"
    folder.mkdir()
    (folder / "labels.txt").write_text("C11\nCCAT\nECAT\nGCAT\nMCAT\n")
    lines = ["0,1 0:1", "1,2 1:2", "1,3 2:3", "2 0:3 1:4", "3,4 1:1", "0 2:1", "4 2:2"]
    for file in FILES["rcv1"][:2]:
        text = "\n".join([f"{len(lines)} 3 5", *lines]) + "\n"
        (tmp_path / file).write_bytes(lzma.compress(text.encode()))
    (split,) = read_splits("rcv1", Options(data=tmp_path))
    expected = [[1, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(split.X_test.toarray(), expected, rtol=1e-6)
    assert split.y_test.tolist() == [1, 1, 1, -1, -1]
    assert sorted(split.y) == sorted(split.y_test)


def test_measurements_are_standardised_by_the_training_points(tmp_path):
    ((X, y),) = write_set(tmp_path, "madelon", n=50)
    X[:, 3] *= 1000
    write_points(tmp_path / FILES["madelon"][0], X, y)
    split = read_splits("madelon", Options(data=tmp_path, seed=5))[0]
    order = np.random.default_rng(5).permutation(50)
    test, train = X[order[:10]], X[order[10:]]
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    np.testing.assert_allclose(split.X.toarray(), unit((train - mean) / deviation), atol=1e-5)
    np.testing.assert_allclose(split.X_test.toarray(), unit((test - mean) / deviation), atol=1e-5)


def test_the_quick_version_takes_few_points_and_one_split(tmp_path):
    write_set(tmp_path, "pcmac", n=400)
    (split,) = read_splits("pcmac", Options(data=tmp_path, quick=True))
    assert split.X.shape[0] + split.X_test.shape[0] == 300


class Constant(ClassifierMixin, BaseEstimator):
    """Says the same of every point."""

    def __init__(self, value=1):
        self.value = value

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.value)


def test_the_error_is_the_per_cent_of_test_points_that_are_wrong():
    split = split_of()
    assert error(Constant(1).fit(split.X, split.y), split) == 100 * np.mean(split.y_test == -1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_candidate_that_does_best_in_cross_validation_is_chosen_for_each_split(jobs):
    one, other = split_of(), split_of()._replace(y=np.repeat([-1, 1], [90, 10]))
    models = best_of([Constant(1), Constant(-1), LinearSVC()], [one, other], Options(jobs=jobs))
    assert isinstance(models[0], LinearSVC)
    assert models[1].value == -1


def test_the_first_of_equal_candidates_is_chosen_and_stays_as_it_was():
    candidates = [Constant(-1), Constant(1), Constant(1)]
    split = split_of()._replace(y=np.repeat([-1, 1], [10, 90]))
    (model,) = best_of(candidates, [split], Options())
    assert model.value == 1
    assert not any(hasattr(one, "classes_") for one in candidates)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_tree_that_does_best_on_halves_is_chosen_for_each_split(jobs):
    splits = [split_of(seed=0), split_of(seed=1)]
    trees = [BudgetedTreeClassifier(k, C=C, random_state=0) for k, C in ((1, 1e-6), (3, 1), (5, 1))]
    models = best_by_trial(trees, splits, Options(jobs=jobs))
    for model, split in zip(models, splits, strict=True):
        errors = [clone(tree).fit(split.X, split.y).trial_errors_[0] for tree in trees]
        assert model.budget == trees[int(np.argmin(errors))].budget
        assert model.trial_errors_[0] == min(errors) < errors[0]


def test_figures_are_means_over_the_splits():
    splits = [split_of(seed=0), split_of(seed=1)]
    models = [LinearSVC().fit(split.X, split.y) for split in splits]
    models[1].coef_[0, 2:] = 0
    found = figures(models, splits)
    errors = [error(*pair) for pair in zip(models, splits, strict=True)]
    assert found["error"] == pytest.approx(np.mean(errors))
    assert found["±"] == pytest.approx(np.std(errors, ddof=1))
    assert found["features"] == (5 + 2) / 2
    assert found["leaves"] is None


def test_features_are_those_of_non_zero_weight():
    split = split_of()
    model = LogisticRegression().fit(split.X, split.y)
    model.coef_[0, [1, 4]] = 0
    assert n_features(model) == 3
