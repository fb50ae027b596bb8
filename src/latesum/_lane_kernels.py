# mypy: ignore-errors
"""Four neighbouring numbers of an array at once, in compiled code.

LLVM makes loops over many numbers do this by itself, but not those over a dozen, which are most of
what a small fit does. Each of the four is what the same operations give for it alone, to the last digit.

    lanes(array, (c, place)) - factor * lanes(array, (s, place))

Arrays are contiguous and hold float64. Places are not checked: rows are as long as `padded` says.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

#: How many numbers there are in one.
LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)


class LanesType(types.Type):
    """The type of four numbers."""

    def __init__(self):
        super().__init__(name="Lanes")


_lanes = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def padded(places: int) -> int:
    """The length of a row that has room for a number of places, in whole fours.

    >>> padded(15)
    16
    """
    return -(-places // LANES) * LANES


def _pointer(context, builder, kind, array, index_kind, index):
    places = (
        cgutils.unpack_tuple(builder, index) if isinstance(index_kind, types.BaseTuple) else [index]
    )
    made = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, made, places, wraparound=False)


@intrinsic
def number(_, array, index):
    """The number at a place that is known not to count from the end: Numba would look at each."""

    def generate(context, builder, signature, arguments):
        kind, index_kind = signature.args
        pointer = _pointer(context, builder, kind, arguments[0], index_kind, arguments[1])
        return builder.load(pointer, align=8)

    return types.float64(array, index), generate


@intrinsic
def lanes(_, array, index):
    """The four numbers from a place of an array on."""

    def generate(context, builder, signature, arguments):
        kind, index_kind = signature.args
        pointer = _pointer(context, builder, kind, arguments[0], index_kind, arguments[1])
        return builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()), align=8)

    return _lanes(array, index), generate


@intrinsic
def keep(_, array, index, values):
    """Write four numbers into an array, from a place on."""

    def generate(context, builder, signature, arguments):
        kind, index_kind, _ = signature.args
        pointer = _pointer(context, builder, kind, arguments[0], index_kind, arguments[1])
        builder.store(arguments[2], builder.bitcast(pointer, _VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, index, values), generate


@intrinsic
def equal_lanes(_, number):
    """Four times the same number."""

    def generate(context, builder, signature, arguments):
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(empty, arguments[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, empty, zeros)

    return _lanes(types.float64), generate


@intrinsic
def not_negative(_, values):
    """Zero in place of what is less."""

    def generate(context, builder, signature, arguments):
        zeros = ir.Constant(_VECTOR, [0.0] * LANES)
        above = builder.fcmp_ordered(">", arguments[0], zeros)
        return builder.select(above, arguments[0], zeros)

    return _lanes(values), generate


@intrinsic
def are_zero(_, values):
    """Whether all four are zero."""

    def generate(context, builder, signature, arguments):
        zeros = ir.Constant(_VECTOR, [0.0] * LANES)
        equal = builder.bitcast(builder.fcmp_ordered("==", arguments[0], zeros), ir.IntType(LANES))
        return builder.icmp_unsigned("==", equal, ir.Constant(ir.IntType(LANES), -1))

    return types.boolean(values), generate


def _operation(name):
    @intrinsic
    def operate(_, one, other):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments)

        return _lanes(_lanes, _lanes), generate

    return operate


_plus, _minus, _times, _over = (_operation(name) for name in ("fadd", "fsub", "fmul", "fdiv"))


@overload(operator.add)
def _add(one, other):
    if isinstance(one, LanesType) and isinstance(other, LanesType):
        return lambda one, other: _plus(one, other)
    return None


@overload(operator.sub)
def _subtract(one, other):
    if isinstance(one, LanesType) and isinstance(other, LanesType):
        return lambda one, other: _minus(one, other)
    return None


@overload(operator.mul)
def _multiply(one, other):
    if isinstance(one, types.Float) and isinstance(other, LanesType):
        return lambda one, other: _times(equal_lanes(one), other)
    if isinstance(one, LanesType) and isinstance(other, LanesType):
        return lambda one, other: _times(one, other)
    return None


@overload(operator.truediv)
def _divide(one, other):
    if isinstance(one, LanesType) and isinstance(other, types.Float):
        return lambda one, other: _over(one, equal_lanes(other))
    return None
