"""Boosted stumps; the contract is checked with that of all estimators."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeRegressor

from labelwood import BoostedStumps
from trees.rules.trees import table, text


def test_every_round_is_the_stump_of_a_newton_step():
    X, y = table(200, 4, seed=1)
    model = BoostedStumps(n_rounds=5, learning_rate=0.5).fit(X, y)
    margins = np.full(200, np.log(y.mean() / (1 - y.mean())))
    assert model.intercepts_[0] == pytest.approx(margins[0])
    for round_ in range(5):
        p = expit(margins)
        stump = DecisionTreeRegressor(max_depth=1, random_state=0)
        stump.fit(X, (y - p) / (p * (1 - p)), p * (1 - p))
        margins += 0.5 * stump.predict(X)
        left = X[:, model.features_[round_]] <= model.thresholds_[round_]
        assert model.features_[round_] == stump.tree_.feature[0]
        assert left.sum() == stump.tree_.n_node_samples[1]
    np.testing.assert_allclose(model.decision_function(X), margins, rtol=1e-5)


def test_sparse_text_and_words_that_are_present():
    X, y = text()
    model = BoostedStumps(n_rounds=20, presence_features="all").fit(X, y)
    assert set(model.thresholds_) == {0.0}
    assert {3, 7} <= set(model.features_[:6])
    assert model.score(X, y) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.predict(X.toarray()))


def test_it_stops_where_no_stump_helps():
    model = BoostedStumps().fit(np.ones((10, 2)), [0, 1] * 5)
    assert model.n_iter_ == 0
    assert "no stump helps in 1" in model.stop_reason_
