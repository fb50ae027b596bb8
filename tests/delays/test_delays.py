"""Delays: their moments and laws, conditional draws, tables, text, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latesum import delays
from latesum._checks import InvalidInput
from latesum.delays import parse

TEXTS = [
    "constant(0)",
    "constant(7)",
    "uniform(0, 100)",
    "uniform(30, 31)",
    "geometric(0)",
    "geometric(12)",
    "poisson(0)",
    "poisson(8)",
    "exponential(0.3)",
    "exponential(50)",
    "half_normal(40, 5)",
    "half_normal(0, 3)",
    "truncated_normal(0, 10)",
    "truncated_normal(-5, 4)",
    "truncated_normal(100, 10)",
    "truncated_normal(-20000, 4000)",
    "truncated_normal(-30000, 1000)",
    "truncated_normal(9000, 3000)",
    "negative_binomial(20, 100)",
    "pareto(1.5, 20)",
    "pareto(3.5, 20)",
    "mixture((0.2, constant(60)), (0.8, uniform(0, 5)))",
    "mixture((0.01, pareto(1.5, 500)), (0.99, poisson(3)))",
    "tabulated([0, 0, 10, 10], [0, 0.25, 0.25, 1])",
    "tabulated([2, 2, 10, 50], [0, 0.3, 0.6, 0.9], 20)",
    "exponential(50).clipped(75)",
    "exponential(50).truncated(75)",
    "pareto(1.5, 20).clipped(10000)",
    "pareto(1.5, 20).truncated(200)",
    "uniform(10, 20).clipped(15).truncated(12)",
    "uniform(10, 20).clipped(5)",
]


@pytest.fixture(params=TEXTS)
def delay(request) -> delays.Delay:
    return parse(request.param)


def test_text_law_and_draws_belong_together(delay) -> None:
    delays.check(delay)
    assert hash(parse(delay.text)) == hash(delay)
    assert repr(delay) == f"delays.{delay.text}"
    assert delay.pmf(np.arange(30_000)).min() >= -1e-15
    assert delay.bound is None or delay.pmf(delay.bound) > 0


def test_moments_are_those_of_the_whole_number_delay(delay) -> None:
    """Summed from the survival function far out, and not from a continuous parent."""
    if math.isinf(delay.variance):
        assert "pareto" in delay.text
        return
    k = np.arange(1_000_000 if "pareto" in delay.text else 50_000)
    surviving = delay.survival(k)
    mean = surviving.sum()
    variance = ((2 * k + 1) * surviving).sum() - mean**2
    rough = 1e-2 if "pareto(3.5" in delay.text else 1e-9  # what is left of the tail's sum
    assert delay.mean == pytest.approx(mean, rel=rough)
    assert delay.variance == pytest.approx(variance, rel=rough, abs=1e-8)


@pytest.mark.parametrize("share", [0.001, 0.25, 0.5, 0.9, 0.999])
def test_quantiles_are_the_smallest_that_will_do(delay, share) -> None:
    k = delay.quantile(share)
    assert delay.cdf(k) >= share - 1e-12
    assert k == 0 or delay.cdf(k - 1) < share


def test_each_entry_is_drawn_beyond_its_own() -> None:
    for text in ("pareto(1.5, 20)", "exponential(9)", "poisson(8)", "uniform(0, 90)"):
        k = np.repeat([0, 2, 9], 200)
        assert np.all(parse(text).draw_beyond(k, np.random.default_rng(5)) > k)


def test_the_table_holds_the_law_and_the_tail_the_rest(delay) -> None:
    table = delay.table
    assert table.spread <= 4096
    inner = np.arange(table.spread)
    np.testing.assert_allclose(table.cdf[:-1], delay.cdf(inner), atol=1e-15)
    if len(table.tail) == 0:
        assert delay.bound == table.spread
        assert table.cdf[-1] == math.inf
    else:
        assert table.tail[0] == delay.survival(table.spread)
        assert table.tail[1] == delay.survival(2 * table.spread)
        assert table.spread == 4096 or table.tail[0] <= 1e-7
    size = len(table.cdf)
    for g in range(0, size, max(size // 50, 1)):
        first = int(np.argmax(table.cdf > g / size)) if table.cdf[-1] > g / size else table.spread
        assert table.guide[g] == first


def test_clipping_and_truncating() -> None:
    parent = delays.exponential(50)
    clipped, truncated = parent.clipped(75), parent.truncated(75)
    assert clipped.bound == truncated.bound == 75
    assert clipped.pmf(75) == pytest.approx(parent.survival(74))
    assert clipped.pmf(10) == pytest.approx(parent.pmf(10))
    assert truncated.pmf(10) == pytest.approx(parent.pmf(10) / parent.cdf(75))
    assert truncated.mean < clipped.mean < parent.mean
    assert delays.uniform(0, 10).clipped(20).mean == 5
    assert delays.uniform(0, 10).truncated(20).bound == 10


def test_continuous_delays_are_rounded_up() -> None:
    assert delays.exponential(50).pmf(0) == 0
    assert delays.exponential(50).pmf(1) == pytest.approx(1 - math.exp(-1 / 50))
    assert delays.half_normal(40, 5).cdf(40) == 0
    assert delays.half_normal(40.5, 1e-9).mean == pytest.approx(41)
    assert delays.exponential(50).mean == pytest.approx(50.5, abs=0.01)


positive = st.floats(0.01, 1e5)


@given(mean=positive, more=positive, shape=st.floats(1.01, 10), weight=st.floats(0, 1))
def test_text_keeps_every_digit(mean, more, shape, weight) -> None:
    for delay in (
        delays.geometric(mean),
        delays.poisson(mean),
        delays.exponential(mean),
        delays.negative_binomial(mean, mean + more),
        delays.half_normal(mean, more),
        delays.truncated_normal(mean, more),
        delays.pareto(shape, mean),
        delays.mixture((weight, delays.poisson(mean)), (1 - weight, delays.constant(3))),
    ):
        again = parse(delay.text)
        assert again == delay
        k = np.array([0, 3, int(mean)])
        np.testing.assert_array_equal(again.survival(k), delay.survival(k))


def test_different_delays_are_not_equal() -> None:
    assert delays.poisson(50.00000001) != delays.poisson(50)
    assert delays.poisson(50) != delays.geometric(50)
    assert delays.poisson(50) != "poisson(50)"


def test_large_bounded_delays_know_their_moments_without_a_sum(monkeypatch) -> None:
    for large, mean in ((delays.uniform(0, 10**9), 5e8), (delays.constant(10**9), 1e9)):
        monkeypatch.setattr(type(large), "survival", None)  # what a sum would be made of
        assert large.mean == pytest.approx(mean)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("unifrom(0, 100)", "there is no delay 'unifrom'; did you mean 'uniform'"),
        ("exponental(50)", "did you mean 'exponential'"),
        ("exponential(50).cliped(75)", "did you mean 'clipped'"),
        ("uniform(0, 100", "cannot read the delay"),
        ("uniform", "cannot read the delay"),
        ("", "cannot read the delay"),
        ("50", "is not a delay; write"),
        ("__import__('os')", "there is no delay '__import__'"),
        ("poisson(5).__class__(3)", "there is no change of a delay"),
        (
            "uniform(0)",
            "cannot read the delay 'uniform\\(0\\)': missing a required argument: 'high'\\.",
        ),
        ("uniform(0, 1, 2)", "cannot read the delay"),
        ("uniform(0, top=9)", "cannot read the delay"),
        ("uniform(5, 2)", "whole number of at least 5, not 2"),
        ("uniform(-1, 2)", "whole number of at least 0, not -1"),
        ("uniform(0, 2.5)", "whole number of at least 0, not 2.5"),
        ("constant(-1)", "a constant delay must be a whole number"),
        ("constant(0.5)", "a constant delay must be a whole number"),
        ("poisson(-1)", "the mean of a Poisson delay must be a number of at least 0"),
        ("poisson('5')", "not '5'"),
        ("geometric(-2)", "the mean of a geometric delay"),
        ("exponential(0)", "above 0, not 0"),
        ("half_normal(-1, 2)", "the location of a half-normal delay"),
        ("half_normal(1, 0)", "the sd of a half-normal delay"),
        ("truncated_normal(-100, 1)", "at least -30 sd"),
        ("negative_binomial(50, 50)", "use poisson\\(50\\)"),
        ("pareto(1, 20)", "the shape of a Pareto delay must be a number above 1"),
        ("mixture()", "at least one"),
        ("mixture((0.5, poisson(5)), (0.6, poisson(6)))", "must sum to 1, not 1.1"),
        ("mixture((1.5, poisson(5)), (-0.5, poisson(6)))", "a probability of a mixture"),
        ("mixture((0.5, poisson(5), 3), (0.5, poisson(5)))", "mixture"),
        ("mixture((1, 5))", "a delay is written as text"),
        ("mixture(poisson(5))", "mixture"),
        ("poisson(5).clipped(2.5)", "whole number of at least 0, not 2.5"),
        ("uniform(10, 20).truncated(5)", "is never as small as 5"),
        ("-" * 5000 + "1", "cannot read the delay"),
        ("(" * 5000, "cannot read the delay"),
    ],
)
def test_bad_text_is_refused(text, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    "build",
    [
        lambda: delays.poisson(math.nan),
        lambda: delays.exponential(math.inf),
        lambda: delays.negative_binomial(5, math.nan),
        lambda: delays.constant(math.nan),
        lambda: delays.constant(True),
        lambda: delays.mixture((math.nan, "poisson(5)"), (0.5, "poisson(5)")),
        lambda: parse(5),
        lambda: parse(None),
    ],
)
def test_what_is_not_a_number_is_refused(build) -> None:
    with pytest.raises(InvalidInput):
        build()
