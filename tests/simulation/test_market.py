"""Markets: exact seeds, means that agree with what is sold, sales that arrive when they should."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from latesum.errors import InvalidInput
from latesum.simulation.market import Market

QUIET = Market(
    buckets=40,
    weekday=0,
    traffic=0,
    traffic_noise=0,
    walk=0,
    region_walk=0,
    shocks=0,
    noise=0,
    sales=50_000,
    visitors=1_000_000,
)


def played(law, options=None, seed=1):
    world = law.start(np.random.SeedSequence(seed))
    for bucket in range(law.buckets):
        chosen = [0] * law.regions if options is None else options(bucket)
        world.play(bucket, chosen)
    return world


def test_the_same_seed_gives_the_same_market():
    law = Market(regions=3, buckets=20)
    one, two = played(law), played(law)
    assert np.array_equal(one.totals(20), two.totals(20))
    assert not np.array_equal(one.totals(20), played(law, seed=2).totals(20))


def test_what_is_true_of_a_market_does_not_depend_on_what_is_shown():
    law = Market(regions=2, buckets=20)
    one, two = played(law), played(law, lambda bucket: [bucket % 3, 1])
    assert np.array_equal(one.means(7), two.means(7))
    assert np.array_equal(one.rounds(20), two.rounds(20))


def test_totals_have_the_means_that_are_said():
    """With an option for all of the time, totals of 68 buckets of 50,000 are within 5 standard errors."""
    world = played(QUIET)
    totals = world.totals(40)
    mean = world.means(3)[0, 0]
    assert totals.mean() == pytest.approx(mean, abs=5 * np.sqrt(mean / len(totals)))


@pytest.mark.parametrize(
    "shape", ["exponential", "gamma", "lognormal", "two-part", "uniform(0, 9000)"]
)
def test_sales_are_late_by_the_mean_delay(shape):
    """Nothing ran before, so that what is missing in all is the mean delay of sales (and half a bucket)."""
    law = replace(QUIET, shape=shape, status_quo="nothing", history=0, delay=3.0)
    world = played(law)
    mean = world.means(0)[0, 0]
    missing = (mean * 40 - world.totals(40).sum()) / mean
    assert missing == pytest.approx(3.0, rel=0.06)


def test_dated_by_decision_totals_grow_until_they_are_complete():
    law = replace(QUIET, dated="decision", delay=3.0)
    world = law.start(np.random.SeedSequence(3))
    seen = []
    for bucket in range(40):
        world.play(bucket, [0])
        seen.append(world.totals(bucket + 1))
    fifth = [totals[28 + 5, 0] for totals in seen[5:]]
    assert all(later >= earlier for earlier, later in itertools.pairwise(fifth))
    assert fifth[0] < 0.3 * fifth[-1]
    assert fifth[-1] == pytest.approx(world.means(5)[0, 0], rel=0.03)


def test_poor_reports():
    law = Market(regions=4, buckets=60, report_lag=2, restated=7, missing=0.1)
    world = played(law)
    totals = world.totals(60)
    assert np.isnan(totals[-2:]).all()
    assert 0.04 < np.isnan(totals[:-2]).mean() < 0.17
    exact = played(replace(law, report_lag=0, restated=0, missing=0.0)).totals(60)
    known = np.isfinite(totals)
    ratio = (totals / exact)[-9:-2][known[-9:-2]]
    assert ratio.mean() == pytest.approx(0.95, abs=0.03)
    old = known.copy()
    old[-9:] = False
    assert np.array_equal(totals[old], exact[old])


def test_the_best_option_is_the_late_one():
    law = replace(QUIET, best_later=2.0, status_quo="nothing", history=0, effects=0.2)
    for seed in range(3):
        world = law.start(np.random.SeedSequence(seed))
        best = int(np.argmax(world.effects))
        missing = {}
        for option in range(3):
            again = played(law, lambda bucket, option=option: [option], seed=seed)
            mean = again.means(0)[0, option]
            missing[option] = (mean * 40 - again.totals(40).sum()) / mean
        assert max(missing, key=missing.get) == best


def test_a_background_makes_effects_smaller():
    law = Market(background=0.5, effects=0.3)
    world, plain = (
        each.start(np.random.SeedSequence(4)) for each in (law, replace(law, background=0.0))
    )
    assert np.abs(world.effects).max() < 0.7 * np.abs(plain.effects).max()


def test_spill_over_and_novelty_change_sales_and_not_what_is_true():
    base = replace(QUIET, regions=2, effects=0.3, spread=1.0)
    for change in ({"spill": 0.5}, {"novelty": 0.5}):
        changed = played(replace(base, **change), lambda bucket: [0, 1])
        plain = played(base, lambda bucket: [0, 1])
        assert np.array_equal(changed.effects, plain.effects)
        ratio = changed.totals(40)[28:40].sum(axis=0) / plain.totals(40)[28:40].sum(axis=0)
        assert np.abs(np.log(ratio)).max() > 0.05


def test_money_has_the_same_mean_and_a_larger_variance():
    law = replace(QUIET, sales=200.0, buckets=300)
    counts, money = played(law).totals(300), played(replace(law, order_spread=2.0)).totals(300)
    assert money.mean() == pytest.approx(counts.mean(), rel=0.03)
    assert 3.5 < money.var() / counts.var() < 6.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"options": 1}, "`options`"),
        ({"shape": "cauchy"}, "cauchy"),
        ({"status_quo": "nothing"}, "history must be 0"),
        ({"week": 6}, "7 days, or 5"),
        ({"missing": 1.5}, "missing"),
        ({"spread": 0.5}, "spread"),
    ],
)
def test_markets_refuse(change, words):
    with pytest.raises(InvalidInput, match=words):
        Market(**change)


def test_buckets_are_played_in_order():
    world = Market(buckets=5).start(np.random.SeedSequence(1))
    with pytest.raises(InvalidInput, match="the next bucket is 0"):
        world.play(1, [0])
