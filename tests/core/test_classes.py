import numpy as np
import pytest
from sklearn.utils.validation import has_fit_parameter

from builders import public_estimators, random_csr
from labelwood import BudgetedClassifier, OneVsRestSVM, RuleTreeRegressor, Tagger
from labelwood.errors import DataError

# A Tagger passes them on to its estimator.
WEIGHTED = [
    one
    for one in public_estimators()
    if one is not Tagger and has_fit_parameter(one, "sample_weight")
]


@pytest.mark.parametrize("weight", [1e308, 1e151, 1e-151, 1e-320])
@pytest.mark.parametrize("kind", WEIGHTED, ids=lambda kind: kind.__name__)
def test_weights_whose_sums_would_overflow_are_refused(kind, weight):
    X, y = random_csr(20, 4, density=0.5), np.arange(20) % 2
    weights = np.ones(20)
    weights[7] = weight
    with pytest.raises(DataError, match=r"sample_weight must be 0 or lie in .* for sample 7"):
        kind().fit(X, y, sample_weight=weights)


def test_every_estimator_that_takes_weights_is_among_them():
    assert len(WEIGHTED) >= 7
    assert {OneVsRestSVM, BudgetedClassifier, RuleTreeRegressor} <= set(WEIGHTED)


def test_weights_of_any_usual_scale_are_taken():
    X, y = random_csr(40, 4, density=0.5), np.arange(40) % 2
    weights = np.where(np.arange(40) < 4, 0.0, 1e6)
    assert BudgetedClassifier(budget=2).fit(X, y, sample_weight=weights).predict(X).shape == (40,)
