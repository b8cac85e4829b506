import numpy as np
import pytest

from builders import random_csr
from labelwood import BudgetedClassifier
from labelwood.errors import DataError


@pytest.mark.parametrize("weight", [1e308, 1e151, 1e-151, 1e-320])
def test_weights_whose_sums_would_overflow_are_refused(weight):
    X, y = random_csr(20, 4, density=0.5), np.arange(20) % 2
    weights = np.ones(20)
    weights[7] = weight
    with pytest.raises(DataError, match=r"sample_weight must be 0 or lie in .* for sample 7"):
        BudgetedClassifier(budget=2).fit(X, y, sample_weight=weights)


def test_weights_of_any_usual_scale_are_taken():
    X, y = random_csr(40, 4, density=0.5), np.arange(40) % 2
    weights = np.where(np.arange(40) < 4, 0.0, 1e6)
    assert BudgetedClassifier(budget=2).fit(X, y, sample_weight=weights).predict(X).shape == (40,)
