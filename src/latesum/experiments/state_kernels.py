# mypy: ignore-errors
"""The state of a policy as compiled code has it, a named tuple of arrays, written over another."""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def copy_state(_, target, source):
    """Write all arrays of a named tuple, and of those in it, into those of another of the same type."""
    if target != source:
        raise TypeError("states of one policy have one type")
    signature = types.void(target, source)

    def generate(context, builder, signature, arguments):
        _copy_arrays(context, builder, signature.args[0], *arguments)
        return context.get_dummy_value()

    return signature, generate


def _copy_arrays(context, builder, kind, target, source):
    if isinstance(kind, types.Array):
        into, of = (context.make_array(kind)(context, builder, each) for each in (target, source))
        cgutils.raw_memmove(builder, into.data, of.data, of.nitems, of.itemsize)
    elif isinstance(kind, types.BaseTuple):
        for place, each in enumerate(kind.types):
            parts = (builder.extract_value(value, place) for value in (target, source))
            _copy_arrays(context, builder, each, *parts)
