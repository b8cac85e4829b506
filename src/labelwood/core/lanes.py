"""Sixteen float32 numbers at once, inside kernels.

A kernel that does the same arithmetic for sixteen labels keeps their numbers in one
vector: `Lanes` is LLVM's `<16 x float>`, which the compiler maps to whatever vector
registers the processor has. Plain loops over sixteen numbers are not vectorized
reliably (accumulators go through memory); this is, and it is what makes blocks of
labels cheap.

Inside a kernel: `load(array, offset)`, `store(array, offset, lanes)`, `splat(number)`,
`+`, `-`, `*`, `/`, `larger`, `smaller`, `choose(a, b, x, y)` (x where a > b, else y),
`any_above(a, b)`, `load_packed(array, offset, mask)` (the next numbers of the array in the lanes
whose bits are set, zero in the others) and `count_bits(number)`. Arrays are one-dimensional
float32; offsets count numbers, and are checked only under NUMBA_BOUNDSCHECK=1, as Numba does for
indices. Multiplications and additions may be fused, and are never reordered: a large number that
stands for infinity does not swallow small ones.
"""

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import config
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, models, register_model

WIDTH = 16
"""How many numbers stand side by side."""

_VECTOR = ir.VectorType(ir.FloatType(), WIDTH)
_MASK = ir.VectorType(ir.IntType(1), WIDTH)
_FUSED = ("contract",)
# Numba's own functions have no types.
_infer_global: Any = infer_global
_lower_builtin: Any = lower_builtin


class Lanes(types.Type):
    """The Numba type of sixteen float32 numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = Lanes()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)  # type: ignore[no-untyped-call]


def _address(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    plain = context.make_array(kind)(context, builder, array)
    if getattr(config, "BOUNDSCHECK", None):
        width = ir.Constant(plain.nitems.type, WIDTH)
        _check_bounds(context, builder, plain.nitems, offset, width)
    return builder.bitcast(builder.gep(plain.data, [offset]), _VECTOR.as_pointer())


def _check_bounds(context: Any, builder: Any, size: Any, offset: Any, count: Any) -> None:
    """Raise IndexError unless offset + count ≤ size; Numba's check cannot see raw addresses."""
    too_short = builder.icmp_unsigned("<", size, count)
    beyond = builder.icmp_unsigned(">", offset, builder.sub(size, count))
    with builder.if_then(builder.or_(too_short, beyond), likely=False):
        message = "lanes are out of bounds"
        context.call_conv.return_user_exc(builder, IndexError, (message,))


def _is_plain(array: Any) -> bool:
    """Whether it is a one-dimensional, contiguous float32 array; nothing else fits."""
    return (
        isinstance(array, types.Array)
        and array.ndim == 1
        and array.layout == "C"
        and array.dtype == types.float32
    )


def _load(typing: Any, array: Any, offset: Any) -> Any:
    """The numbers array[offset : offset + 16]."""
    if not _is_plain(array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        return builder.load(address, align=4)

    return _LANES(array, types.uint64), generate


def _load_packed(typing: Any, array: Any, offset: Any, mask: Any) -> Any:
    """The numbers from array[offset] on in the lanes that the uint16 `mask` has, zeros elsewhere.

    One instruction where the processor has AVX-512; no number is read for the other lanes.
    """
    if not _is_plain(array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, offset, mask = arguments
        plain = context.make_array(signature.args[0])(context, builder, array)
        if getattr(config, "BOUNDSCHECK", None):
            count = builder.zext(builder.ctpop(mask), plain.nitems.type)
            _check_bounds(context, builder, plain.nitems, offset, count)
        address = builder.gep(plain.data, [offset])
        bits = builder.bitcast(mask, _MASK)
        kind = ir.FunctionType(_VECTOR, [address.type, _MASK, _VECTOR])
        name = f"llvm.masked.expandload.v{WIDTH}f32"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [address, bits, ir.Constant(_VECTOR, None)])

    return _LANES(array, types.uint64, types.uint16), generate


def _count_bits(typing: Any, number: Any) -> Any:
    """How many bits of a number are 1."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _store(typing: Any, array: Any, offset: Any, lanes: Any) -> Any:
    """Write to array[offset : offset + 16]."""
    if not _is_plain(array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, offset, lanes = arguments
        address = _address(context, builder, signature.args[0], array, offset)
        builder.store(lanes, address, align=4)
        return context.get_dummy_value()

    return types.void(array, types.uint64, _LANES), generate


def _splat(typing: Any, number: Any) -> Any:
    """The same number sixteen times."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(empty, arguments[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(first, empty, zeros)

    return _LANES(types.float32), generate


def _pairwise(build: Callable[[Any, Any, Any], Any]) -> Any:
    """An intrinsic of two vectors that gives a third."""

    def operation(typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return build(builder, *arguments)

        return _LANES(_LANES, _LANES), generate

    return intrinsic(operation)


def _as_operator(symbol: Any, build: Callable[[Any, Any, Any], Any]) -> None:
    """Make `symbol` between two vectors an instruction; an `overload` would compile a function."""

    class Typed(ConcreteTemplate):
        cases = [_LANES(_LANES, _LANES)]  # noqa: RUF012 - as its base declares it

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return build(builder, *arguments)

    _infer_global(symbol)(Typed)
    _lower_builtin(symbol, Lanes, Lanes)(generate)


def _add(builder: Any, a: Any, b: Any) -> Any:
    return builder.fadd(a, b, flags=_FUSED)


_as_operator(operator.add, _add)
_as_operator(operator.iadd, _add)
_as_operator(operator.sub, lambda builder, a, b: builder.fsub(a, b, flags=_FUSED))
_as_operator(operator.truediv, lambda builder, a, b: builder.fdiv(a, b, flags=_FUSED))
_as_operator(operator.mul, lambda builder, a, b: builder.fmul(a, b, flags=_FUSED))

larger = _pairwise(lambda builder, a, b: builder.select(builder.fcmp_ordered(">", a, b), a, b))
smaller = _pairwise(lambda builder, a, b: builder.select(builder.fcmp_ordered("<", a, b), a, b))


def _choose(typing: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """X in the lanes where a > b, y in the others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, x, y = arguments
        return builder.select(builder.fcmp_ordered(">", a, b), x, y)

    return _LANES(_LANES, _LANES, _LANES, _LANES), generate


def _any_above(typing: Any, a: Any, b: Any) -> Any:
    """Whether a > b in some lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = builder.bitcast(builder.fcmp_ordered(">", *arguments), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(WIDTH), 0))

    return types.boolean(_LANES, _LANES), generate


# Kernels call these without the typing context, which is more than type checkers know.
load: Any = intrinsic(_load)
load_packed: Any = intrinsic(_load_packed)
count_bits: Any = intrinsic(_count_bits)
store: Any = intrinsic(_store)
splat: Any = intrinsic(_splat)
choose: Any = intrinsic(_choose)
any_above: Any = intrinsic(_any_above)
