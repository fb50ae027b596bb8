"""Random numbers inside compiled code: xoshiro256++ and the Beta draws of Thompson sampling.

NumPy's generator can be used in compiled code, but handing it over costs 14 microseconds a call,
too much for steps by hand. The state here is four whole numbers, drawn from the run's own stream.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled

_TO_UNIT = 2.0**-53


@compiled
def _rotated(value, places):  # type: ignore[no-untyped-def]
    return (value << np.uint64(places)) | (value >> np.uint64(64 - places))


@compiled
def uniform(state):  # type: ignore[no-untyped-def]
    """A number in [0, 1), by xoshiro256++ (Blackman and Vigna 2019)."""
    result = _rotated(state[0] + state[3], 23) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = _rotated(state[3], 45)
    return float(result >> np.uint64(11)) * _TO_UNIT


@compiled
def normal(state):  # type: ignore[no-untyped-def]
    """A standard normal number, by Marsaglia's polar method."""
    while True:
        x = 2.0 * uniform(state) - 1.0
        y = 2.0 * uniform(state) - 1.0
        radius = x * x + y * y
        if 0.0 < radius < 1.0:
            return x * math.sqrt(-2.0 * math.log(radius) / radius)


@compiled
def gamma(shape, state):  # type: ignore[no-untyped-def]
    """A Gamma number of a shape of at least 1, by Marsaglia and Tsang (2000)."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(state)
        root = 1.0 + c * x
        if root > 0.0:
            v = root * root * root
            u = 1.0 - uniform(state)
            if math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v


@compiled
def beta(a, b, state):  # type: ignore[no-untyped-def]
    """A Beta number for a and b of at least 1."""
    x = gamma(a, state)
    return x / (x + gamma(b, state))
