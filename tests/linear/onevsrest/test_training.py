"""Training by working sets: rows are found by the postings of strong features, or by a scan."""

import numpy as np
import pytest

from builders import random_csr, random_labels
from labelwood import OneVsRestSVM
from labelwood.linear.onevsrest import block_training, working_sets


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.filterwarnings("ignore:.*have no sample")
def test_rows_found_by_postings_are_those_of_a_scan_to_the_bit(monkeypatch, negative):
    Y = random_labels(1500, 600, per_point=1.5, seed=1)
    noise = random_csr(1500, 400, density=0.01, seed=2)
    X = np.hstack([Y.toarray(), noise.toarray()]).astype(np.float32)
    if negative:
        X[:, ::3] *= -1
    find, found = block_training.kernels.find_by_postings, []

    def counted(*args):
        found.append(find(*args))
        return found[-1]

    monkeypatch.setattr(block_training.kernels, "find_by_postings", counted)
    quick = OneVsRestSVM(n_negatives=20, random_state=0).fit(X, Y)
    assert max(found) >= 0  # so postings were read
    monkeypatch.setattr(working_sets, "_SHORT_ROW", 0)
    slow = OneVsRestSVM(n_negatives=20, random_state=0).fit(X, Y)
    for name in ("postings_weights_", "intercept_", "n_working_", "n_rounds_", "objective_"):
        np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))
