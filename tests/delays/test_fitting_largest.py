"""Fits with a known largest delay: what the data show, and limits for what they do not.

The unseen share may be anywhere between the end of the data and the largest delay. So the limits
must hold every way to place it, and must not be wider than the worst way and the sampling error.
"""

from __future__ import annotations

import datetime

import numpy as np
import pytest

from latesum import InvalidInput, delays
from latesum.delays.curves import Curve
from latesum.delays.lateness import Lateness


def followed_for_a_year():
    """432 delays of which 114 end within 52 weeks; the others are longer: a common study."""
    ended = np.random.default_rng(4).integers(1, 53, 114)
    return {"delay": [*ended.tolist(), *[52] * 318], "censored": [False] * 114 + [True] * 318}


def half_seen():
    rng = np.random.default_rng(6)
    drawn = rng.exponential(10, 600)
    return {"delay": np.minimum(drawn, 18.0), "censored": drawn > 18.0}


def open_histogram():
    return {"from": [0, 2, 4, 8], "to": [2, 4, 8, None], "count": [420, 280, 170, 130]}


def short_triangle():
    rng = np.random.default_rng(7)
    rows = []
    for bucket in range(40):
        late = rng.exponential(4.0, rng.poisson(300)) + rng.random()
        rows += [(bucket, bucket + lag, int((late <= lag + 1).sum())) for lag in range(7)]
    return dict(zip(("bucket", "as_of", "total"), np.array(rows).T, strict=True))


KINDS = {"single": half_seen, "histogram": open_histogram, "triangle": short_triangle}


def test_the_fields_that_need_no_assumption_do_not_know_the_largest():
    source = followed_for_a_year()
    fitted = delays.fit(source, largest=520)
    ended = np.array(source["delay"][:114])
    assert fitted.observed_until == 52
    assert fitted.unseen == pytest.approx(318 / 432)
    # All are lost at the very end, so the mean of what was seen is that of the rows.
    assert fitted.restricted_mean == pytest.approx((ended.sum() + 318 * 52) / 432)
    assert fitted.bound == 520
    saved = fitted.to_json()
    assert (saved["observed_until"], saved["unseen"]) == (52, fitted.unseen)


def test_the_limits_allow_the_unseen_share_anywhere():
    fitted = delays.fit(followed_for_a_year(), largest=520)
    for row in fitted.quantiles.values():  # of 74% the data show only that they come later
        assert (row.low, row.high) == (52, 520)
    soonest, latest = fitted.restricted_mean, fitted.restricted_mean + fitted.unseen * 468
    assert 0.95 * soonest < fitted.mean.low < soonest
    assert latest < fitted.mean.high < 1.1 * latest
    times, low, high = fitted.band
    beyond = (times > 52) & (times < 520)
    assert (low[beyond] == 0).all()
    assert (high[beyond] > fitted.unseen).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [1.5, 10])
def test_every_placement_is_within_the_limits_and_the_worst_are_near_them(kind, factor):
    source = KINDS[kind]()
    plain = delays.fit(source)
    until = plain.observed_until
    fitted = delays.fit(source, largest=factor * until)
    assert (fitted.restricted_mean, fitted.observed_until, fitted.unseen) == (
        plain.restricted_mean, plain.observed_until, plain.unseen,
    )  # fmt: skip
    assert fitted.unseen > 0.05
    seen = fitted.curve
    rng = np.random.default_rng(16)
    means, variances = [], []
    for number in range(400):
        # All in one place, or in two, from the end of the data up to the largest delay.
        early, late = np.sort(rng.uniform(until, factor * until, 2))
        share = rng.random()
        if number % 4 < 2:
            early, late = until, factor * until
        if number % 4 == 0:
            share = number / 396
        rest = [share * seen.unseen, share * seen.unseen, 0.0]
        placed = Curve(
            np.append(seen.times, [early, early, late, late]),
            np.append(seen.surviving, [seen.unseen, *rest]),
        )
        means.append(placed.mean)
        variances.append(placed.variance)
        assert fitted.mean.low <= placed.mean <= fitted.mean.high
        assert fitted.variance.low <= placed.variance <= fitted.variance.high
        for q, row in fitted.quantiles.items():
            assert row.low - 1e-9 <= placed.quantile(q) <= row.high + 1e-9
    # The worst placements themselves, exactly; the limits are beyond by the sampling error only.
    assert seen.earliest().mean == pytest.approx(min(means))
    assert seen.latest().mean == pytest.approx(max(means))
    assert seen.earliest().variance == pytest.approx(min(variances))
    assert seen.widest().variance == pytest.approx(max(variances), rel=1e-3)
    assert seen.widest().variance >= max(variances) * (1 - 1e-12)
    assert fitted.mean.low > 0.8 * min(means)
    # Of a triangle that ends early it is not known either how much is unseen.
    assert fitted.mean.high < (1.6 if kind == "triangle" else 1.25) * max(means)
    assert fitted.variance.low > 0.6 * min(variances)
    assert fitted.variance.high < 1.6 * max(variances)
    if fitted.unseen > 0.08:
        assert fitted.quantiles[0.95].high == pytest.approx(factor * until)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_largest_delay_all_is_as_with_the_tail(kind):
    fitted = delays.fit(KINDS[kind]())
    assert fitted.curve.tail is not None
    for each in (fitted.curve.earliest(), fitted.curve.latest(), fitted.curve.widest()):
        assert each is fitted.curve


@pytest.mark.parametrize("kind", KINDS)
def test_the_delay_that_is_handed_on_ends_at_the_largest(kind):
    fitted = delays.fit(KINDS[kind](), largest=40, unit="hour")
    assert fitted.bound == 40
    delay = fitted.delay(100)
    assert delay.bound == 4000
    assert delay.mean == pytest.approx(100 * fitted.mean.value, abs=1)
    assert delay.quantile(0.99) == pytest.approx(100 * fitted.quantiles[0.99].value, abs=1)
    assert Lateness.read(fitted).in_rounds(100) == delay


def test_a_largest_delay_beyond_complete_data_is_kept_as_the_bound():
    fitted = delays.fit([1, 2, 3, 3], largest=10)
    assert (fitted.bound, fitted.delay(5).bound) == (10, 50)
    assert delays.parse(fitted.delay(5).text).bound == 50
    assert fitted.delay(5).quantile(1.0) == 15
    assert (fitted.observed_until, fitted.unseen) == (3, 0)
    assert fitted.mean.value == fitted.restricted_mean == 2.25
    drawn = fitted.delay(5).draw_beyond(np.full(1000, 10), np.random.default_rng(1))
    assert set(drawn.tolist()) == {15}


def test_the_largest_may_be_where_the_data_end():
    source = followed_for_a_year()
    fitted = delays.fit(source, largest=52)
    assert fitted.mean.value == pytest.approx(fitted.restricted_mean)
    assert fitted.unseen == pytest.approx(318 / 432)
    assert fitted.delay().bound == 52
    triangle = delays.fit(short_triangle(), largest=6)
    assert triangle.delay().bound == 6
    assert triangle.mean.value == pytest.approx(triangle.restricted_mean)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_triangle_that_still_grows_is_not_complete(steps):
    grown = [60, 90, 108][: steps + 1]
    rows = [(b, b + lag, grown[lag] + b) for b in range(6) for lag in range(steps + 1)]
    day = datetime.date(2026, 1, 1)
    dated = [[day + datetime.timedelta(days=d) for d in each[:2]] for each in rows]
    source = {
        "bucket": [each[0] for each in dated],
        "as_of": [each[1] for each in dated],
        "total": [each[2] for each in rows],
    }
    fitted = delays.fit(source, largest=20)
    assert fitted.unseen > 0.05
    assert fitted.quantiles[0.99].high == pytest.approx(20)
    assert "anywhere up to 20" in fitted.warnings[0]


@pytest.mark.parametrize(
    ("source", "options", "says"),
    [
        ([1, 2, 3], {"largest": 2}, "is below 3, which the data show"),
        ([1, 2, 3], {"largest": 0}, "the largest delay"),
        ([1, 2, 3], {"largest": float("nan")}, "the largest delay"),
        ([1, 2, 3], {"largest": "ten"}, "the largest delay"),
    ],
)
def test_a_largest_delay_that_cannot_be_is_refused(source, options, says):
    with pytest.raises(InvalidInput, match=says):
        delays.fit(source, **options)
