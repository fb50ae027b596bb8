"""W = E|tau - tau'|: against simulation, against the plain sum, and where sums are long or endless."""

import math

import numpy as np
import pytest

from latesum import delays
from latesum.delays import Delay, parse

TEXTS = [
    "constant(0)", "constant(7)", "uniform(0, 100)", "uniform(30, 31)", "geometric(0)", "geometric(12)",
    "poisson(0)", "poisson(8)", "exponential(0.3)", "exponential(50)", "half_normal(40, 5)",
    "truncated_normal(-5, 4)", "truncated_normal(9000, 3000)", "negative_binomial(20, 100)",
    "pareto(1.5, 20)", "pareto(3.5, 20)", "mixture((0.2, constant(60)), (0.8, uniform(0, 5)))",
    "mixture((0.01, pareto(1.5, 500)), (0.99, poisson(3)))", "empirical([0, 3, 3, 10])",
    "tabulated([2, 2, 10], [0, 0.5, 0.9], 40)", "exponential(50).clipped(75)",
    "exponential(50).truncated(75)", "pareto(1.5, 20).clipped(10000)", "uniform(10, 20).clipped(5)",
]  # fmt: skip
#: Five standard errors: a false alarm in fewer than one of 100,000 seeds, for all of them together.
ERRORS = 5


@pytest.mark.parametrize("text", TEXTS)
def test_the_spread_is_how_far_apart_two_draws_are(text):
    delay = parse(text)
    first, second = delay.draw(400_000, np.random.default_rng(3)).reshape(2, -1)
    apart = np.abs(first - second).astype(float)
    if not math.isfinite(delay.variance):  # the mean of what is drawn has no standard error either
        alive = delay.survival(np.arange(1 << 22))
        plain = 2 * float((alive * (1 - alive)).sum())
        rest = 2 * (delay.mean - float(alive.sum()))
        assert plain * (1 - 1e-6) <= delay.spread <= (plain + rest) * (1 + 1e-6)
        return
    error = apart.std() / math.sqrt(len(apart))
    assert abs(apart.mean() - delay.spread) <= ERRORS * error + 1e-9


@pytest.mark.parametrize("mean", [0.3, 8, 3000])
def test_the_sum_is_the_closed_form_of_a_family(mean):
    """Uniform, geometric, exponential (Gini's mean difference), Poisson and Pareto (by zeta)."""
    from scipy.special import ive, zeta

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


class Endless(Delay):
    """P(tau > k) = (1 + k) ^ -power: without a mean up to a power of 1."""

    def __init__(self, power: float) -> None:
        self.power = power

    text = property(lambda self: f"endless({self.power})")
    bound = None

    def survival(self, k):
        return (1 + np.maximum(np.asarray(k, dtype=float), 0)) ** -self.power

    def draw(self, count, rng):
        raise AssertionError("not drawn")


@pytest.mark.parametrize("power", [0.2, 0.9, 1.0])
def test_without_a_mean_it_is_infinite(power):
    assert Endless(power).spread == math.inf


@pytest.mark.parametrize("power", [1.02, 1.3, 2.0])
def test_a_heavy_tail_with_a_mean_has_a_finite_one(power):
    from scipy.special import zeta

    expected = 2 * (zeta(power, 1) - zeta(2 * power, 1))
    assert Endless(power).spread == pytest.approx(expected, rel=1e-3)


def test_it_is_at_most_twice_the_mean_and_does_not_move_with_the_delay():
    for text in TEXTS:
        assert parse(text).spread <= 2 * parse(text).mean + 1e-9
    assert delays.uniform(500, 600).spread == pytest.approx(delays.uniform(0, 100).spread)
