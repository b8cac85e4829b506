import numpy as np
import pytest

from labelwood.errors import ParameterError
from labelwood.experiments.plan import fixed_horizon


def test_a_one_sided_test_needs_fewer_samples_and_errs_to_one_side():
    both = fixed_horizon(0.05, 0.01, 0.05, random_state=0)
    one = fixed_horizon(0.05, 0.01, 0.05, random_state=0, two_sided=False)
    assert (both.n_samples, one.n_samples) == (21_836, 17_796)
    # Watched, both are a Gaussian random walk that meets a boundary: 24.8 % for the two-sided test
    # at 20 looks (Armitage, McPherson and Rowe 1969).
    steps = np.random.default_rng(1).standard_normal((20_000, 20))
    walk = steps.cumsum(axis=1) / np.sqrt(np.arange(1, 21))
    assert both.false_alarms == pytest.approx((abs(walk) > 1.96).any(axis=1).mean(), abs=0.02)
    assert one.false_alarms == pytest.approx((walk > 1.645).any(axis=1).mean(), abs=0.02)
    assert both.false_alarms == pytest.approx(0.248, abs=0.02)


def test_two_sided_is_true_or_false():
    with pytest.raises(ParameterError, match=r"'two_sided' parameter of fixed_horizon must be"):
        fixed_horizon(0.05, 0.01, 0.05, two_sided="both")
