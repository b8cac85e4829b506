"""Cache lines asked for before they are needed, inside kernels."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_intrinsic: Any = intrinsic  # its type has no place for the typing context


@_intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of `array[index]` before it is needed; nothing is checked.

    A walk through memory that is larger than the caches is one wait after the other; asked for some
    steps ahead, the waits are one.
    """
    if not isinstance(array, types.Array) or array.layout != "C":
        return None

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        data = context.make_array(array)(context, builder, arguments[0]).data
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        address = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
        # To be read (0), kept in all caches (3), data and no instructions (1).
        builder.call(function, [address, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, index), generate
