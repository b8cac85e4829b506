import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from builders import random_csr, random_labels
from labelwood import OneVsRestSVM, PowersetTreeClassifier
from labelwood.core.convergence import convergence_report


def test_a_fit_that_met_its_tolerance_says_so_without_a_warning():
    assert convergence_report(0, "node", "raise max_iter") == "tolerance met for every node"


@pytest.mark.parametrize(
    ("n", "what", "shown"),
    [
        (1, "label", "iteration limit for 1 label; raise max_iter"),
        (3, "label", "iteration limit for 3 labels; raise max_iter"),
        (2, "block of classifiers", "iteration limit for 2 blocks of classifiers; raise max_iter"),
    ],
)
def test_a_limit_is_counted_and_warned_of(n, what, shown):
    with pytest.warns(ConvergenceWarning, match=f"^{shown}$"):
        assert convergence_report(n, what, "raise max_iter") == shown


@pytest.mark.parametrize("kind", [OneVsRestSVM, PowersetTreeClassifier])
def test_the_warning_points_at_the_line_of_the_user(kind):
    X, Y = random_csr(80, 20, seed=1), random_labels(80, 4, seed=1)
    model = kind(random_state=0, max_iter=1, tol=1e-9, C=100.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    found = [one for one in caught if one.category is ConvergenceWarning]
    assert [Path(one.filename).name for one in found] == [Path(__file__).name]
    assert np.size(model.n_iter_) >= 1
