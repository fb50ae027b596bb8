"""When a running campaign will be decided, by simulating its rest."""

import numpy as np
import pytest

from latesum.markets import DelayPrior, MarketConfig, RegionRow
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel
from latesum.planning.forecast import forecast
from latesum.policies import Flow
from latesum.simulation import Problem

SIZES = {"north": 6000, "south": 3000}


def played(means, days):
    """A policy of some days, and what it was told of them."""
    policy = Flow(2, 450_000, mean_delay=2500)
    world = Problem(means, "exponential(2500)").start(rng=np.random.default_rng(1), status_quo=0)
    rows = []
    for _ in range(days):
        block = policy.ask()
        rows.append((block.arm, 5000, world.play(block.arm, 5000), block.purpose, block.number))
        policy.tell(*rows[-1])
    return policy.fresh(), rows


def market(lift, days, regions=tuple(SIZES)):
    """A market of some days; half of the sales come a day late."""
    rng = np.random.default_rng(1)
    config = MarketConfig(
        ("old", "new"), 90, regions=regions, delay=DelayPrior(1.0, "known"), status_quo="old"
    )
    sizes = [SIZES.get(region, 6000) for region in regions]
    rows = [
        RegionRow(region, -back, size, "old", float(rng.poisson(0.1 * size)))
        for back in range(21, 0, -1)
        for region, size in zip(regions, sizes, strict=True)
    ]
    sold = {}
    for day in range(days):
        chosen = decide_panel(Panel.of(rows, config, day), day, config, None, chances=False)
        for region, size, choice in zip(regions, sizes, chosen, strict=True):
            sold[region, day] = 0.1 * size * (1 + lift * config.options.index(choice.option))
            mean = (sold[region, day] + sold.get((region, day - 1), 0.1 * size)) / 2
            option = choice.option
            rows.append(RegionRow(region, day, size, option, float(rng.poisson(mean))))
    return config, rows


FEW = {"replications": 10, "max_buckets": 40}


def test_options_that_are_close_are_decided_later_than_clear_ones():
    close = forecast(*played([0.200, 0.205], 20), rounds=5000, **FEW)
    assert close == forecast(*played([0.200, 0.205], 20), rounds=5000, **FEW)
    clear = forecast(*played([0.2, 0.3], 20), rounds=5000, **FEW)
    assert clear.decided >= close.decided
    assert clear.buckets[1] <= (close.buckets[1] or 1e9)
    assert close.gain < clear.gain < 0.3  # 0.3 is 20% above the mean of both
    with_lag = forecast(*played([0.2, 0.3], 20), rounds=5000, lag=3, **FEW)
    assert with_lag.buckets[1] == clear.buckets[1] + 3


@pytest.mark.parametrize("regions", [("",), tuple(SIZES)])
def test_the_rest_of_a_market_is_simulated(regions):
    config, rows = market(0.08, 4, regions)
    found = forecast(config, [list(row) for row in rows], **FEW)
    low, middle, _ = found.buckets
    assert 1 <= low <= middle <= 40
    assert found.decided >= 0.5
    same = forecast(*market(0.0, 4, regions), **FEW)
    assert same.decided <= found.decided
    assert same.gain < found.gain
    config, rows = market(0.03, 4, regions)
    barred = forecast(config, rows, barred={each: ["new"] for each in regions}, **FEW)
    assert barred != forecast(config, rows, **FEW)  # nothing more is learned of it


def test_a_decision_comes_when_the_dwell_is_over_that_was_asked_for():
    config, rows = market(0.08, 4)
    for begun, odd in ((2, 0), (3, 1)):  # dwells are of two days
        found = forecast(config, rows, asked=[0, begun], **FEW)
        assert {each % 2 for each in found.buckets if each is not None} == {odd}
