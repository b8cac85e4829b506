import numpy as np
import pytest
from scipy.stats import binom

from labelwood.trees.rules.rule_set.report import Share


@pytest.mark.parametrize("n", [10, 100])
def test_the_interval_of_a_share_holds_the_true_one_as_often_as_it_states(n):
    ends = np.array([Share(k, n).interval for k in range(n + 1)])
    covered = []
    for true in np.linspace(0.001, 0.999, 199):
        holds = (ends[:, 0] <= true) & (true <= ends[:, 1])
        covered.append(binom.pmf(np.arange(n + 1), n, true)[holds].sum())
    assert min(covered) >= 0.95
    assert np.mean(covered) < 0.985  # and no wider than exactness asks for


def test_a_share_of_nothing_has_no_value():
    assert str(Share(0, 0)) == "–"
