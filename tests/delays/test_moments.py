"""Moments and the spread W: closed forms, or sums that end whatever the tail; infinite where they diverge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ive, zeta

from latesum import delays
from latesum.delays import Delay, parse
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
    apart = 2 * (zeta(power, 1) - zeta(2 * power, 1))
    assert delay.spread == pytest.approx(apart, rel=1e-3)
    if power <= 2:
        assert delay.variance == math.inf
    else:
        second = 2 * zeta(power - 1, 1) - zeta(power, 1)
        assert delay.variance == pytest.approx(second - zeta(power, 1) ** 2, rel=1e-9)


@pytest.mark.parametrize("power", [0.1, 0.5, 1.0])
def test_without_a_mean_all_are_infinite(power):
    delay = Power(power)
    assert (delay.mean, delay.variance, delay.spread) == (math.inf, math.inf, math.inf)
    # Clipped, the mean is finite, and does not take long either.
    rounds = 10**13
    expected = (
        math.log(rounds) + np.euler_gamma if power == 1 else rounds ** (1 - power) / (1 - power)
    )
    assert delay.clipped(rounds).mean == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("largest", [10**4, 10**7, 10**9, 10**15])
@pytest.mark.parametrize("shape", [1.5, 2.5])
def test_a_heavy_tail_that_was_cut_off(shape, largest):
    parent = delays.pareto(shape, 20)
    beyond = float(parent.survival(largest))
    # E[min(tau, largest)] is in closed form for this family: two sums of Hurwitz' zeta function.
    first = 20 * (shape - 1)
    clipped = first**shape * (zeta(shape, first) - zeta(shape, first + largest))
    assert parent.clipped(largest).mean == pytest.approx(clipped, rel=1e-9)
    truncated = (clipped - largest * beyond) / (1 - beyond)
    assert parent.truncated(largest).mean == pytest.approx(truncated, rel=1e-9)
    # The second moment as an integral of the continuous tail, which rounding up moves by little.
    scale = 20 * (shape - 1)
    far = 1 + largest / scale
    powers = (far ** (2 - shape) - 1) / (2 - shape) - (far ** (1 - shape) - 1) / (1 - shape)
    second = 2 * scale**2 * powers
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
    # Equal jumps at irregular and at regular jumps, which a rule with regular jumps can miss.
    rng = np.random.default_rng(count)
    for jumps in (rng.integers(0, 10**9, count), np.linspace(3 * 10**6, 10**9, count).astype(int)):
        jumps = np.sort(jumps)

        def survival(k, jumps=jumps):
            return 1 - np.searchsorted(jumps, k, side="right") / len(jumps)

        for power, moment in ((0, jumps.mean()), (1, (jumps.astype(float) ** 2).mean())):
            term = (
                (lambda _, surviving: surviving)
                if power == 0
                else (lambda k, surviving: (2 * k + 1) * surviving)
            )
            found = sum_over_rounds(survival, int(jumps[-1]), term, power)
            assert found == pytest.approx(moment, rel=1e-9)


@pytest.mark.parametrize("end", [0, 1, 2**20 - 1, 2**20, 2**20 + 1, 2**20 + 5, 2**20 + 123_457])
def test_the_sum_ends_where_it_should(end):
    surviving = np.maximum(1 - np.arange(end) / (1 << 21), 0.0)
    found = sum_over_rounds(
        lambda k: 1 - np.asarray(k) / (1 << 21), end, lambda _, surviving: surviving
    )
    assert found == pytest.approx(float(surviving.sum()), rel=1e-13)


SPREADS = [
    "constant(7)",
    "uniform(0, 100)",
    "geometric(12)",
    "exponential(0.3)",
    "half_normal(40, 5)",
    "truncated_normal(-5, 4)",
    "negative_binomial(20, 100)",
    "pareto(1.5, 20)",
    "mixture((0.2, constant(60)), (0.8, uniform(0, 5)))",
    "mixture((0.01, pareto(1.5, 500)), (0.99, poisson(3)))",
    "tabulated([0, 0, 3, 3, 10, 10], [0, 0.25, 0.25, 0.75, 0.75, 1])",
    "tabulated([2, 2, 10], [0, 0.5, 0.9], 40)",
    "exponential(50).clipped(75)",
    "exponential(50).truncated(75)",
]
#: Five standard errors: a false alarm in fewer than one of 100,000 seeds, for all of them together.
ERRORS = 5


@pytest.mark.parametrize("text", SPREADS)
def test_the_spread_is_how_far_apart_two_draws_are(text):
    delay = parse(text)
    first, second = delay.draw(400_000, np.random.default_rng(3)).reshape(2, -1)
    apart = np.abs(first - second).astype(float)
    if not math.isfinite(delay.variance):  # the mean of what is drawn has no standard error either
        surviving = delay.survival(np.arange(1 << 22))
        plain = 2 * float((surviving * (1 - surviving)).sum())
        rest = 2 * (delay.mean - float(surviving.sum()))
        assert plain * (1 - 1e-6) <= delay.spread <= (plain + rest) * (1 + 1e-6)
        return
    error = apart.std() / math.sqrt(len(apart))
    assert abs(apart.mean() - delay.spread) <= ERRORS * error + 1e-9


@pytest.mark.parametrize("mean", [0.3, 8, 3000])
def test_the_sum_is_the_closed_form_of_a_family(mean):
    """Uniform, geometric, exponential (Gini's mean difference), Poisson and Pareto (by zeta)."""
    assert delays.geometric(mean).spread == pytest.approx(2 * mean * (1 + mean) / (1 + 2 * mean))
    stay = math.exp(-1 / mean)
    assert delays.exponential(mean).spread == pytest.approx(2 * stay / (1 - stay**2))
    bessel = 2 * mean * (ive(0, 2 * mean) + ive(1, 2 * mean))
    assert delays.poisson(mean).spread == pytest.approx(bessel)
    high = math.ceil(mean)
    assert delays.uniform(0, high).spread == pytest.approx(high * (high + 2) / 3 / (high + 1))
    for shape in (1.05, 1.5, 3.5):
        scale = mean * (shape - 1)
        sums = [scale**power * zeta(power, scale) for power in (shape, 2 * shape)]
        expected = 2 * (sums[0] - sums[1])
        assert delays.pareto(shape, mean).spread == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("text", "spread"),
    [
        ("exponential(1e9)", 1e9),
        ("uniform(0, 2000000000)", 2e9 / 3),
        ("pareto(2.5, 1e9)", 2e9 * (1 - 1.5 / 4)),
        ("mixture((0.5, constant(0)), (0.5, constant(2000000000)))", 1e9),
        ("mixture((0.5, constant(0)), (0.5, exponential(1e9)))", 1e9 * 0.75),
        ("half_normal(5e8, 1e9)", 1e9 * 2 * (2 - math.sqrt(2)) / math.sqrt(math.pi)),
        ("exponential(1e9).clipped(1000000000000)", 1e9),
        ("pareto(60, 1e6)", 1e6 * 2 * (1 - 59 / 119)),
    ],
)
def test_very_long_delays_do_not_take_long(text, spread):
    """A sum over every round would need minutes here; these are sums over some thousand blocks."""
    assert parse(text).spread == pytest.approx(spread, rel=2e-4)
