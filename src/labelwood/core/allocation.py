"""New arrays inside kernels, which compile faster than `np.empty` and `np.zeros`.

Numba compiles a function for every `np.empty` of another type, again for kernels with other
arithmetic, and three for `np.zeros`: 27 of the 65 functions that a first `OneVsRestSVM` compiled.
`empty` and `zeros` are instructions within the kernel. Both take a size, or a tuple of sizes, and a
NumPy type; arrays are C-contiguous.
"""

from typing import Any

from numba import types
from numba.core import cgutils, imputils
from numba.extending import intrinsic
from numba.np import arrayobj

# Numba's own functions have no types.
_cgutils: Any = cgutils
_imputils: Any = imputils
_arrayobj: Any = arrayobj
_types: Any = types


def _signature(shape: Any, dtype: Any) -> Any:
    """The types of an allocation, or None where the sizes are no integers."""
    is_tuple = isinstance(shape, types.BaseTuple)
    sizes = tuple(shape) if is_tuple else (shape,)
    if not all(isinstance(size, types.Integer) for size in sizes):
        return None
    plain = _types.UniTuple(types.intp, len(sizes)) if is_tuple else types.intp
    return _types.Array(dtype.dtype, len(sizes), "C")(plain, dtype)


def _allocate(context: Any, builder: Any, signature: Any, shape: Any) -> Any:
    is_tuple = isinstance(signature.args[0], types.BaseTuple)
    sizes = _cgutils.unpack_tuple(builder, shape) if is_tuple else (shape,)
    for size in sizes:
        with _cgutils.if_unlikely(builder, _cgutils.is_neg_int(builder, size)):
            message = "negative dimensions are not allowed"
            context.call_conv.return_user_exc(builder, ValueError, (message,))
    return _arrayobj._empty_nd_impl(context, builder, signature.return_type, sizes)


def _new_reference(context: Any, builder: Any, signature: Any, array: Any) -> Any:
    value = array._getvalue()
    return _imputils.impl_ret_new_ref(context, builder, signature.return_type, value)


def _empty(typing: Any, shape: Any, dtype: Any) -> Any:
    """An array whose numbers are undefined."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = _allocate(context, builder, signature, arguments[0])
        return _new_reference(context, builder, signature, array)

    signature = _signature(shape, dtype)
    return signature and (signature, generate)


def _zeros(typing: Any, shape: Any, dtype: Any) -> Any:
    """An array of zeros."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = _allocate(context, builder, signature, arguments[0])
        n_bytes = builder.mul(array.itemsize, array.nitems)
        _cgutils.memset(builder, array.data, n_bytes, 0)
        return _new_reference(context, builder, signature, array)

    signature = _signature(shape, dtype)
    return signature and (signature, generate)


# Kernels call these without the typing context, which is more than type checkers know.
empty: Any = intrinsic(_empty)
zeros: Any = intrinsic(_zeros)
