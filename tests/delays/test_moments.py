"""Moments of any delay: closed forms, or sums that end, whatever the tail; infinite where they diverge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import zeta

from latesum import delays
from latesum.delays import Delay
from latesum.delays.sums import sum_over_rounds


class Power(Delay):
    """P(tau > k) = (1 + k) ^ -power, with nothing written out but the survival function."""

    def __init__(self, power: float) -> None:
        self.power = power

    text = property(lambda self: f"power({self.power})")
    bound = None

    def survival(self, k):
        return (1 + np.maximum(np.asarray(k, dtype=float), 0)) ** -self.power

    def draw(self, count, rng):
        raise AssertionError("not drawn")


@pytest.mark.parametrize("power", [1.02, 1.2, 1.5, 2.0, 2.02, 2.5, 3.5, 6.0])
def test_a_heavy_tail_of_ones_own_has_the_moments_of_zeta(power):
    delay = Power(power)
    assert delay.mean == pytest.approx(zeta(power, 1), rel=1e-11)
    if power <= 2:
        assert delay.variance == math.inf
    else:
        second = 2 * zeta(power - 1, 1) - zeta(power, 1)
        assert delay.variance == pytest.approx(second - zeta(power, 1) ** 2, rel=1e-9)


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0])
def test_without_a_mean_both_are_infinite(power):
    assert (Power(power).mean, Power(power).variance) == (math.inf, math.inf)
    # What is under way after a number of rounds stays finite, and does not take long either.
    rounds = 10**13
    expected = (
        math.log(rounds) + np.euler_gamma if power == 1 else rounds ** (1 - power) / (1 - power)
    )
    assert Power(power).expected_outstanding(rounds) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("largest", [10**4, 10**7, 10**9, 10**15])
@pytest.mark.parametrize("shape", [1.5, 2.5])
def test_a_heavy_tail_that_was_cut_off(shape, largest):
    parent = delays.pareto(shape, 20)
    beyond = float(parent.survival(largest))
    # E[min(tau, largest)] is in closed form for this family: two sums of Hurwitz' zeta function.
    first = 20 * (shape - 1)
    clipped = first**shape * (zeta(shape, first) - zeta(shape, first + largest))
    assert parent.expected_outstanding(largest) == pytest.approx(clipped, rel=1e-9)
    assert parent.clipped(largest).mean == pytest.approx(clipped, rel=1e-9)
    truncated = (clipped - largest * beyond) / (1 - beyond)
    assert parent.truncated(largest).mean == pytest.approx(truncated, rel=1e-9)
    # The second moment as an integral of the continuous tail, which rounding up moves by little.
    scale = 20 * (shape - 1)
    far = 1 + largest / scale
    second = (
        2
        * scale**2
        * ((far ** (2 - shape) - 1) / (2 - shape) - (far ** (1 - shape) - 1) / (1 - shape))
    )
    variance = second - (scale * (1 - far ** (1 - shape)) / (shape - 1)) ** 2
    assert parent.clipped(largest).variance == pytest.approx(
        variance, rel=0.1 if largest < 10**5 else 0.02
    )


def test_long_light_tails_are_summed_too():
    assert delays.half_normal(1e9, 1).mean == pytest.approx(1e9 + 1.3656, abs=1e-3)
    long = delays.half_normal(5e8, 1e9)
    assert long.mean == pytest.approx(5e8 + 1e9 * math.sqrt(2 / math.pi) + 0.5, rel=1e-11)
    assert long.variance == pytest.approx(1e18 * (1 - 2 / math.pi), rel=1e-9)


@pytest.mark.parametrize("count", [1, 4, 40, 3000])
def test_jumps_far_out_are_found(count):
    # Equal jumps at irregular and at regular places, which a rule with regular places can miss.
    rng = np.random.default_rng(count)
    for places in (rng.integers(0, 10**9, count), np.linspace(3 * 10**6, 10**9, count).astype(int)):
        delay = delays.empirical(places.tolist())
        for power, moment in ((0, places.mean()), (1, (places.astype(float) ** 2).mean())):
            term = (
                (lambda _, alive: alive) if power == 0 else (lambda k, alive: (2 * k + 1) * alive)
            )
            found = sum_over_rounds(delay.survival, delay.bound, term, power)
            assert found == pytest.approx(moment, rel=1e-9)


@pytest.mark.parametrize("end", [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 2**20 + 5, 2**20 + 123_457])
def test_the_sum_ends_where_it_should(end):
    alive = np.maximum(1 - np.arange(end) / (1 << 21), 0.0)
    found = sum_over_rounds(lambda k: 1 - np.asarray(k) / (1 << 21), end, lambda _, alive: alive)
    assert found == pytest.approx(float(alive.sum()), rel=1e-13)
