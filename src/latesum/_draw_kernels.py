# mypy: ignore-errors
"""NumPy's PCG64, compiled: the same numbers in the same order, drawn without a call.

A generator is here an array of six words: the state and the increment, low half first, whether half a
word is kept for later, and that half. It takes half a microsecond to hand this to compiled code, and a
`numpy.random.Generator` ten. Distributions are those that Numba has for generators: they draw from whatever
knows `next_double`.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numba.np.random.distributions import random_binomial
from numba.np.random.generator_core import next_double, next_uint32, next_uint64
from numba.np.random.random_methods import random_interval

from latesum._compile import allocation_free, compiled

WORDS = 6
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_TO_UNIT = 1.0 / (1 << 53)
# Of `numpy.random.SeedSequence`; in 64 bits, since Numba would make its 32 into them anyway.
_POOL = 4
_HALF = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(16)
_INIT_A, _MULT_A = np.uint64(0x43B0D7E5), np.uint64(0x931E8875)
_INIT_B, _MULT_B = np.uint64(0x8B51F9DD), np.uint64(0x58F38DED)
_MIX_L, _MIX_R = np.uint64(0xCA01F9DD), np.uint64(0x4973F715)


@intrinsic
def _next_word(_, words):
    """Step the state once; the next 64 random bits."""
    signature = types.uint64(words)

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        word, wide = ir.IntType(64), ir.IntType(128)
        place = builder.bitcast(array.data, wide.as_pointer())
        state = builder.load(place, align=8)
        increment = builder.gep(place, [ir.Constant(ir.IntType(32), 1)])
        state = builder.mul(state, ir.Constant(wide, _MULTIPLIER))
        state = builder.add(state, builder.load(increment, align=8))
        builder.store(state, place, align=8)
        high = builder.trunc(builder.lshr(state, ir.Constant(wide, 64)), word)
        mixed = builder.xor(high, builder.trunc(state, word))
        turn = builder.trunc(builder.lshr(state, ir.Constant(wide, 122)), word)
        back = builder.and_(builder.neg(turn), ir.Constant(word, 63))
        return builder.or_(builder.lshr(mixed, turn), builder.shl(mixed, back))

    return signature, generate


@overload(next_uint64)
def _next_uint64(bitgen):
    if isinstance(bitgen, types.Array):
        return lambda bitgen: _next_word(bitgen)
    return None


@overload(next_double)
def _next_double(bitgen):
    if isinstance(bitgen, types.Array):
        return lambda bitgen: (_next_word(bitgen) >> np.uint64(11)) * _TO_UNIT
    return None


@overload(next_uint32)
def _next_uint32(bitgen):
    if not isinstance(bitgen, types.Array):
        return None

    def half_of_a_word(bitgen):
        if bitgen[4]:
            bitgen[4] = 0
            return np.uint32(bitgen[5])
        word = _next_word(bitgen)
        bitgen[4], bitgen[5] = 1, word >> np.uint64(32)
        return np.uint32(word & _HALF)

    return half_of_a_word


@allocation_free
def uniform(words):
    """What `Generator.random()` draws."""
    return next_double(words)


@allocation_free
def binomial(words, n, p):
    """What `Generator.binomial(n, p)` draws."""
    return random_binomial(words, n, p)


@allocation_free
def permute(words, order):
    """Write into `order` what `Generator.permutation(len(order))` draws."""
    for place in range(len(order)):
        order[place] = place
    for place in range(len(order) - 1, 0, -1):
        other = np.int64(random_interval(words, place))
        order[place], order[other] = order[other], order[place]


@compiled
def _hashed(value, factor):
    value = ((value ^ factor[0]) * ((factor[0] * factor[1]) & _HALF)) & _HALF
    factor[0] = (factor[0] * factor[1]) & _HALF
    return value ^ (value >> _SHIFT)


@compiled
def _mixed(one, other):
    value = (_MIX_L * one - _MIX_R * other) & _HALF
    return value ^ (value >> _SHIFT)


@compiled
def seed_generators(entropy, changing, first, generators):
    """What `PCG64(SeedSequence(...))` begins with, for as many seeds in a row as there are rows.

    `entropy` are the seed's 32-bit words, the spawn key's among them; the word at the place `changing` is
    `first` in the first row, and one more in each further one.
    """
    pool, factor = np.empty(_POOL, dtype=np.uint64), np.empty(2, dtype=np.uint64)
    for row in range(len(generators)):
        entropy[changing] = np.uint64(first + row)
        factor[0], factor[1] = _INIT_A, _MULT_A
        for place in range(_POOL):
            pool[place] = _hashed(entropy[place], factor)
        for source in range(_POOL):
            for place in range(_POOL):
                if source != place:
                    pool[place] = _mixed(pool[place], _hashed(pool[source], factor))
        for source in range(_POOL, len(entropy)):
            for place in range(_POOL):
                pool[place] = _mixed(pool[place], _hashed(entropy[source], factor))
        factor[0], factor[1] = _INIT_B, _MULT_B
        state_high = _hashed(pool[0], factor) | (_hashed(pool[1], factor) << np.uint64(32))
        state_low = _hashed(pool[2], factor) | (_hashed(pool[3], factor) << np.uint64(32))
        step_high = _hashed(pool[0], factor) | (_hashed(pool[1], factor) << np.uint64(32))
        step_low = _hashed(pool[2], factor) | (_hashed(pool[3], factor) << np.uint64(32))
        words = generators[row]
        words[2] = (step_low << np.uint64(1)) | np.uint64(1)
        words[3] = (step_high << np.uint64(1)) | (step_low >> np.uint64(63))
        words[0] = words[2] + state_low
        words[1] = words[3] + state_high + np.uint64(words[0] < state_low)
        words[4], words[5] = 0, 0
        _next_word(words)
