import numpy as np
import pandas as pd
import pytest

from builders import random_csr, random_labels, separable
from labelwood import LabelTreeClassifier, OneVsRestSVM
from labelwood.core import estimator
from labelwood.core.classes import BinaryEstimator, ClassEstimator
from labelwood.core.estimator import LabelEstimator
from labelwood.errors import DataError


@pytest.mark.parametrize("kind", [OneVsRestSVM, LabelTreeClassifier])
def test_a_new_label_of_which_there_are_only_positives_is_refused(kind):
    X, Y = separable(60, 6)
    model = kind(random_state=0).fit(X, Y)
    before = model.predict_topk(X, 3).scores
    with pytest.raises(DataError, match=r"All 10 samples have the new label 7.* without it"):
        model.add_labels(X[:10], np.ones((10, 1)), [7])
    mixed = np.column_stack([np.arange(10) % 2, np.ones(10)])
    with pytest.raises(DataError, match=r"All 10 samples have the new label 8"):
        model.add_labels(X[:10], mixed, [7, 8])
    assert np.array_equal(model.predict_topk(X, 3).scores, before)


def test_probabilities_of_all_labels_are_given_up_to_some_hundreds(monkeypatch):
    X, Y = random_csr(200, 30), random_labels(200, 28, per_point=3)
    model = OneVsRestSVM(calibrate=True, random_state=0).fit(X, Y)
    probabilities = model.predict_proba(X[:5])
    assert probabilities.nnz == 5 * np.unique(Y.indices).size > 5 * 20
    assert probabilities.data.min() > 0
    monkeypatch.setattr(estimator, "_FEW_LABELS", 27)
    assert model.predict_proba(X[:5]).nnz == 5 * 20
    assert model.predict_proba(X[:5], k=3).nnz == 5 * 3


@pytest.mark.parametrize("base", [LabelEstimator, ClassEstimator, BinaryEstimator])
def test_a_base_without_its_methods_cannot_be_made(base):
    class Incomplete(base):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Incomplete()


def test_a_table_of_labels_whose_columns_are_numbered_is_matched_by_position():
    X = np.eye(3)
    model = OneVsRestSVM(random_state=0).fit(X, [["cat"], ["dog"], ["owl"]])
    assert model.score(X, pd.DataFrame(np.eye(3, dtype=int))) == 1
    with pytest.raises(DataError, match="are 2 columns, which have no names, and the model"):
        model.score(X, pd.DataFrame(np.eye(3, 2, dtype=int)))
    with pytest.raises(DataError, match="'0' is not known to the model"):  # these are names
        model.score(X, pd.DataFrame(np.eye(3, dtype=int), columns=[1, 0, 2]))
