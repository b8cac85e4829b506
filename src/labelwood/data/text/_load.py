"""Eight bytes at once, inside kernels.

Most words, and nearly all character n-grams, are at most eight bytes: read as one number
they are hashed and compared without a loop, whose unpredictable end would cost more than
the rest. Numba has no unaligned load, so this is one.
"""

import sys
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from labelwood.core.kernel import kernel
from labelwood.core.prefetch import prefetch

__all__ = ["PADDING", "Int", "load", "prefetch", "tag_of"]

Int: TypeAlias = Any
"""A whole number in a kernel, where Python's and NumPy's kinds are the same."""

PADDING = 8
"""How many bytes must be readable after the last byte of a slice."""

_intrinsic: Any = intrinsic  # its type has no place for the typing context
_LITTLE_ENDIAN = sys.byteorder == "little"


@_intrinsic  # type: ignore[untyped-decorator]
def _load(typing: Any, array: Any, offset: Any) -> Any:
    """The eight bytes of a uint8 array from `offset` on, as a number; nothing is checked."""
    fits = isinstance(array, types.Array) and array.dtype == types.uint8 and array.layout == "C"
    if not fits or not isinstance(offset, types.Integer):
        return None

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(address, align=1)

    return types.uint64(array, offset), generate


@kernel
def load(text: NDArray[np.uint8], p: Int, n: Int) -> np.uint64:
    """The bytes `text[p:p + n]`, 1 ≤ n ≤ 8, as a number that no other n bytes have."""
    unused = np.uint64(64 - 8 * n)
    if _LITTLE_ENDIAN:
        return _load(text, p) << unused
    return _load(text, p) >> unused


_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


@kernel
def tag_of(text: NDArray[np.uint8], p: Int, stop: Int) -> np.uint64:
    """32 bits of a hash of `text[p:stop]`: multiply and shift (constants: Vigna; Wang & Grassl)."""
    n = stop - p
    h = np.uint64(n) * _SECOND
    while n > 8:
        h = (h ^ load(text, p, 8)) * _FIRST
        h ^= h >> _HALF
        p += 8
        n -= 8
    h = (h ^ load(text, p, n)) * _FIRST
    h ^= h >> _HALF
    return (h * _SECOND) >> _HALF
