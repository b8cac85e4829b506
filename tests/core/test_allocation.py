"""Arrays that kernels allocate are those of NumPy."""

from typing import Any

import numpy as np
import pytest
from numba.core.errors import TypingError

from labelwood.core.allocation import empty, zeros
from labelwood.core.kernel import kernel


@kernel
def _allocated(n: int, like: Any) -> Any:
    table = empty((n, np.uint64(3)), np.float32)
    table[:] = 2.5
    return table, empty(np.uint32(n), like.dtype), zeros(n, np.bool_), zeros((2, n), np.int64)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_arrays_have_the_shapes_types_and_zeros_of_numpy(n: int) -> None:
    table, other, flags, counts = _allocated(n, np.ones(1, dtype=np.uint16))

    np.testing.assert_array_equal(table, np.full((n, 3), 2.5, dtype=np.float32), strict=True)
    assert (other.shape, other.dtype) == ((n,), np.uint16)
    np.testing.assert_array_equal(flags, np.zeros(n, dtype=np.bool_), strict=True)
    np.testing.assert_array_equal(counts, np.zeros((2, n), dtype=np.int64), strict=True)


def test_a_negative_size_is_refused_as_by_numpy() -> None:
    with pytest.raises(ValueError, match="negative dimensions are not allowed"):
        _allocated(-1, np.ones(1))


def test_a_size_that_is_no_integer_does_not_compile() -> None:
    @kernel
    def allocate(size: float) -> Any:
        return empty(size, np.float32)

    with pytest.raises(TypingError):
        allocate(2.0)
