"""The delay that a fit hands on is the one that it reports: in `Problem`, as JSON, in a plan.

A fitted curve is in time, and a delay in whole rounds, rounded up. So a quantile in rounds is the
reported one times the rounds per time unit, rounded up, exactly; moments are off by less than the
rounding can do.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from latesum import Problem, delays
from latesum.delays.base import Delay
from latesum.delays.lateness import Lateness

EXAMPLES = Path(delays.__file__).parent / "data"
#: Rounds per time unit.
MANY = 1000


def lomax(n):
    return (10 * (np.random.default_rng(5).random(n) ** (-1 / 1.5) - 1)).tolist()


def censored(n):
    rng = np.random.default_rng(8)
    drawn, limits = rng.gamma(2, 5, n), rng.uniform(20, 60, n)
    return {"delay": np.minimum(drawn, limits), "censored": drawn > limits}


def histogram(bins):
    edges = np.linspace(0, 60, bins + 1)
    counts, _ = np.histogram(np.random.default_rng(9).exponential(10, 5000), [*edges, np.inf])
    return {"from": edges, "to": [*edges[1:].tolist(), None], "count": counts}


def triangle(depth):
    rng = np.random.default_rng(10)
    rows = []
    for bucket in range(depth + 20):
        late = rng.exponential(depth / 6, rng.poisson(200)) + rng.random()
        rows += [
            (bucket, bucket + lag, int((late <= lag + 1).sum()))
            for lag in range(min(depth, depth + 20 - bucket))
        ]
    return dict(zip(("bucket", "as_of", "total"), np.array(rows).T, strict=True))


CASES = {
    "lomax, infinite variance": lomax(1000),
    "uniform from 80 to 100": np.random.default_rng(1).uniform(80, 100, 400).tolist(),
    "hundredths": (np.random.default_rng(3).integers(1, 3000, 700) / 100).tolist(),
    "few": [0.28, 0.56, 0.57, 1.1, 2.3],
    "very many": lomax(20_000),
    "censored": censored(1500),
    "histogram of 200 bins": histogram(200),
    "triangle of 250": triangle(250),
}


@pytest.fixture(scope="module")
def fits():
    return {name: delays.fit(source) for name, source in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_it_has_the_quantiles_and_moments_that_were_reported(fits, name):
    fitted = fits[name]
    delay = fitted.delay(MANY)
    # Between two points of the curve a quantile is known up to the twelve digits of the shares.
    straight = fitted.kind != "single" or fitted.unseen > 0
    for share, row in fitted.quantiles.items():
        exact = math.ceil(float(f"{row.value * MANY:.12g}"))
        assert abs(delay.quantile(share) - exact) <= straight, share
    assert -1e-6 < delay.mean - MANY * fitted.mean.value < 1 + 1e-6
    # Rounding up adds a part of one round, which changes the standard deviation by at most 1/2.
    assert delay.variance**0.5 == pytest.approx(MANY * fitted.variance.value**0.5, abs=0.51)
    assert delay.bound is None
    if fitted.unseen == 0:
        last = math.ceil(float(f"{fitted.largest_seen * MANY:.12g}"))
        assert delay.quantile(1.0) == pytest.approx(last, abs=1)


@pytest.mark.parametrize("name", CASES)
def test_as_json_and_in_a_problem_it_is_the_same(fits, name):
    fitted = fits[name]
    read = delays.parse(json.loads(json.dumps(fitted.to_json()))["delay"])
    delay = fitted.delay()
    assert read == delay
    assert (read.mean, read.variance, read.bound) == (delay.mean, delay.variance, delay.bound)
    levels = np.random.default_rng(13).integers(0, 200, 500)
    assert read.survival(levels).tolist() == delay.survival(levels).tolist()
    # At the same points as the curve that was reported: exact up to the digits that are kept.
    assert delay.survival(levels) == pytest.approx(fitted.curve.survival(levels * 1.0), abs=1e-11)
    assert Problem([0.5, 0.6], delay).delays[0] is delay


def test_a_plan_takes_the_reported_delay_from_a_file():
    fitted = delays.fit(EXAMPLES / "delays.csv", unit="hour")
    late = Lateness.read(str(EXAMPLES / "delays.csv"), unit="hour")
    for factor in (1.0, 2.0, 0.5):
        delay = late.in_rounds(250, factor=factor)
        assert delay == fitted.delay(250 * factor)
        for share, row in fitted.quantiles.items():
            assert delay.quantile(share) == pytest.approx(250 * factor * row.value, abs=1.5)


def test_a_time_that_is_whole_in_rounds_is_not_rounded_up():
    assert 0.28 * 25 > 7
    assert delays.fit([0.28, 0.56]).delay(25).pmf(np.arange(16)).tolist() == [
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0.5,
        0,
        0,
        0,
        0,
        0,
        0,
        0.5,
        0,
    ]


@pytest.mark.parametrize("tail", [None, 0.3, 7.5])
@pytest.mark.parametrize("whole", [True, False])
def test_moments_in_closed_form_are_the_sums(tail, whole):
    rng = np.random.default_rng(15)
    for size in (1, 2, 3, 10):
        times = np.sort(rng.integers(0, 30, size) if whole else 30 * rng.random(size))
        shares = np.sort(rng.random(size))
        if tail is None:
            shares[-1] = 1.0
        delay = delays.tabulated(times.tolist(), shares.tolist(), tail)
        summed = Delay._moments.func(delay)  # the sums over P(delay > k) of any delay
        assert (delay.mean, delay.variance) == pytest.approx(summed, rel=1e-9, abs=1e-9)


def test_moments_are_exact_however_long_the_delay_is():
    # Two whole delays: rounding up adds nothing to them.
    delay = delays.fit([10, 30]).delay(10**9)
    assert delay.mean == pytest.approx(2e10, rel=1e-12)
    assert delay.variance == pytest.approx(1e20, rel=1e-9)


def test_messages_do_not_print_thousands_of_points():
    delay = delays.fit(lomax(1000)).delay()
    combined = [delay, delay.clipped(50), delay.truncated(50), delays.mixture((1.0, delay))]
    for each in combined:
        assert len(each.text) > 10_000
        assert len(repr(each)) < 100
        assert len(repr(Problem([0.5, 0.6], each))) < 120
    assert "2001 points" in repr(delay)
