"""The contract of the regressor; its trees are compared with scikit-learn's in test_growth."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import labelwood
from labelwood import RuleTreeRegressor
from labelwood.errors import DataError
from trees.rules.trees import table


def test_it_keeps_scikit_learns_contract():
    check_estimator(RuleTreeRegressor(), on_skip=None)


def test_a_saved_model_predicts_the_same_in_a_fresh_process(tmp_path):
    X, _ = table()
    model = RuleTreeRegressor(prune="cv", random_state=0).fit(X, X[:, 0] * 3)
    labelwood.save(model, tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, labelwood, numpy as np\n"
        "model = labelwood.load(sys.argv[1])\n"
        "print(*model.predict(np.load(sys.argv[2])).tolist())\n"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "model"), str(tmp_path / "X.npy")]
    answer = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert [float(one) for one in answer.stdout.split()] == model.predict(X).tolist()


def test_large_targets_keep_their_digits():
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] > 50) * 1e-3
    shifted = RuleTreeRegressor(max_leaves=2).fit(X, y + 1e6)
    assert shifted.thresholds_[0] == 50.5


def test_targets_of_another_length_are_refused():
    X, _ = table()
    with pytest.raises(DataError, match="X has 200 rows and y has 199"):
        RuleTreeRegressor().fit(X, np.zeros(199))
    with pytest.raises(DataError, match="y to be passed"):
        RuleTreeRegressor().fit(X, None)


def test_several_targets_share_one_tree():
    X, _ = table()
    model = RuleTreeRegressor(max_leaves=4).fit(X, X[:, :2])
    assert model.predict(X).shape == (200, 2)
    assert "±" in model.export_text()
