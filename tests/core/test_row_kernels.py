import numpy as np
import pytest

from builders import random_csr
from labelwood.core._row_kernels import unit_rows as unit_arrays
from labelwood.core.sparse import csr_arrays, some_rows, unit_rows


@pytest.mark.parametrize("rows", [slice(0, 40), slice(7, 8), slice(30, 30)])
def test_rows_are_scaled_as_outside_of_kernels_to_the_bit(rows):
    X = random_csr(40, 300, density=0.3)
    X.data[: X.indptr[1]] = 0  # a row of stored zeros stays as it is
    wanted = unit_rows(X)[rows]
    before = X.data.copy()
    scaled = unit_arrays(some_rows(csr_arrays(X), rows))
    assert scaled.indptr.tolist() == wanted.indptr.tolist()
    assert scaled.indices.tolist() == wanted.indices.tolist()
    assert scaled.data.tobytes() == wanted.data.tobytes()
    np.testing.assert_array_equal(X.data, before)
