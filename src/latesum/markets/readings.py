"""What people read of a market: effects with intervals, chances, patterns, outliers, warnings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.markets.config import PATTERNS, MarketConfig
from latesum.markets.filter_kernels import CLIP
from latesum.markets.model import Hyper, Posterior, fit
from latesum.markets.rows import Panel, RegionRow
from latesum.markets.rule import root_of
from latesum.markets.search import FIRST_SEARCH, learned

Floats = NDArray[np.float64]

#: Intervals after adaptive choices are a little too narrow: the reported sd is this times the model's, ...
WIDER = 1.1
#: ... or this, on one stream whose demand is not known.
WIDER_WITHOUT_ROUNDS = 1.3
#: From this walk per bucket on, one stream loses half of what an equal split loses.
NOISY_WALK = 0.04
#: From this sd of the logarithm of an option's own lag on, its lag counts as not known, ...
_UNKNOWN_LAG = 0.3
#: ... and from this difference on, it matters.
_DIFFERENT_LAG = 0.15
#: Effects seem to change where letting them walk by this much a bucket makes the rows likelier by this much (log).
_CHANGING, _LIKELIER = 0.01, 2.0
_DRAWS = 4000
#: The child of a market's seed that chances are drawn from.
_STREAM = 3


class Effect(NamedTuple):
    """An option against the status quo, as a share: 0.05 is 5% more.

    Args:
        option: Its name.
        effect: The estimate.
        low90: The lower end of the 90% interval.
        high90: Its upper end.
        low95: The lower end of the 95% interval.
        high95: Its upper end.
        chance: How probable it is that it is the best of all options.
    """

    option: str
    effect: float
    low90: float
    high90: float
    low95: float
    high95: float
    chance: float


class Outlier(NamedTuple):
    """A total that counted as one of 3.5 standard deviations, because it was further off.

    Args:
        region: Its region.
        bucket: Its bucket.
        deviations: By how many standard deviations it was above (or below) what was expected.
    """

    region: str
    bucket: int
    deviations: float


class Origin(NamedTuple):
    """What of a bucket's total came from which option.

    Args:
        region: Its region.
        bucket: Its bucket.
        shares: The share of each option, in sum 1.
    """

    region: str
    bucket: int
    shares: dict[str, float]


class Readings(NamedTuple):
    """All that a page shows of a market.

    Args:
        effects: Over all regions, weighted by their sizes.
        by_region: The same, for each region.
        pattern: How much more arrives than on average, by weekday (or hour, then weekday), as shares.
        delay: The learned mean delay in buckets.
        told_delay: The told one.
        own_delays: The mean delay of each option, where each has its own.
        walk: How far the level walks in a bucket, as a share.
        noise: The noise of a bucket besides that of counting, as a share.
        outliers: The totals that were clipped.
        origins: Where every total came from.
        warnings: What a user should know before relying on the rest.
    """

    effects: tuple[Effect, ...]
    by_region: dict[str, tuple[Effect, ...]]
    pattern: tuple[float, ...]
    delay: float
    told_delay: float
    own_delays: dict[str, float] | None
    walk: float
    noise: float
    outliers: tuple[Outlier, ...]
    origins: tuple[Origin, ...]
    warnings: tuple[str, ...]


def readings(rows: Iterable[RegionRow], bucket: int, settings: MarketConfig) -> Readings:
    """What is known of a market from the rows before a bucket.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.
        settings: The market's.

    >>> settings = MarketConfig(("old", "new"), 60, before="old")
    >>> rows = [RegionRow("", day, 9000, "old" if day % 8 < 4 else "new", 300 + 60 * (day % 8 >= 5))
    ...     for day in range(-16, 24)]
    >>> found = readings(rows, 24, settings)
    >>> [effect.option for effect in found.effects], found.effects[0].effect, found.effects[1].low90 > 0
    (['old', 'new'], 0.0, True)
    """
    return readings_of(Panel.of(rows, settings, bucket), settings)


def readings_of(panel: Panel, settings: MarketConfig) -> Readings:
    """`readings` for the table of all rows.

    Args:
        panel: The rows.
        settings: The market's.
    """
    found = fit(panel, settings, learned(panel, settings))
    layout, hyper = found.layout, found.hyper
    overall = effects_of(found, settings)
    own_delays = None
    if layout.own:
        gamma = found.mean[layout.options : 2 * layout.options]
        own_delays = dict(
            zip(settings.options, (hyper.delay * np.exp(gamma)).tolist(), strict=True)
        )
    walk = _walk(hyper, settings)
    return Readings(
        overall,
        {name: effects_of(found, settings, place) for place, name in enumerate(settings.regions)},
        _pattern(found, settings), hyper.delay, settings.delay.mean, own_delays, walk, hyper.noise,
        tuple(
            Outlier(settings.regions[region], panel.first + int(at), float(found.surprise[at, region]))
            for at, region in np.argwhere(np.abs(found.surprise) > CLIP)
        ),
        _origins(panel, found, settings),
        tuple(_warnings(panel, found, settings, walk)),
    )  # fmt: skip


def noisy_demand(rows: Iterable[RegionRow], bucket: int, settings: MarketConfig) -> str | None:
    """A sentence if the demand of one stream walks so far that options can hardly be compared on it.

    A history is enough to know it, before anything was decided.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.
        settings: The market's.

    >>> settings = MarketConfig(("old", "new"), 60, before="old")
    >>> level = 700 * np.exp(np.cumsum(0.12 * np.random.default_rng(4).standard_normal(40)))
    >>> wild = [RegionRow("", day, 9000, "old", round(level[day])) for day in range(-40, 0)]
    >>> noisy_demand(wild, 0, settings)[:14], noisy_demand([row._replace(total=700) for row in wild], 0, settings)
    ('Demand changes', None)
    """
    hyper = learned(Panel.of(rows, settings, bucket), settings)
    return _noisy(_walk(hyper, settings), settings)


def _walk(hyper: Hyper, settings: MarketConfig) -> float:
    several = len(settings.regions) > 1
    return math.hypot(hyper.region_walk, hyper.common_walk if several else 0.0)


def _noisy(walk: float, settings: MarketConfig) -> str | None:
    if walk < NOISY_WALK or len(settings.regions) > 1:
        return None
    remedy = "Use regions." if settings.rounds_known else "Record the visitors, or use regions."
    return (f"Demand changes by {walk:.0%} from one bucket to the next: expect to lose half of what an "
   f"equal split loses. {remedy}")  # fmt: skip


def effects_of(
    found: Posterior, settings: MarketConfig, region: int | None = None
) -> tuple[Effect, ...]:
    """The options against the status quo, in a region or over all of them by size.

    Args:
        found: The posterior.
        settings: The market's.
        region: Its place; None for all.
    """
    mean, covariance = found.effects(region)
    covariance = covariance * widening(settings) ** 2
    base = settings.options.index(settings.reference)
    contrast = np.eye(len(mean))
    contrast[:, base] -= 1.0
    difference = contrast @ mean
    sds = np.sqrt(np.maximum(np.diag(contrast @ covariance @ contrast.T), 0.0))
    rng = np.random.default_rng([settings.seed, _STREAM])
    draws = mean + rng.standard_normal((_DRAWS, len(mean))) @ root_of(covariance).T
    chances = np.bincount(np.argmax(draws, axis=1), minlength=len(mean)) / _DRAWS
    result = []
    for place, option in enumerate(settings.options):
        low90, high90, low95, high95 = (
            math.expm1(
                difference[place] + side * NormalDist().inv_cdf((1 + level) / 2) * sds[place]
            )
            for level in (0.9, 0.95)
            for side in (-1, 1)
        )
        effect, chance = math.expm1(difference[place]), float(chances[place])
        result.append(Effect(option, effect, low90, high90, low95, high95, chance))
    return tuple(result)


def widening(settings: MarketConfig) -> float:
    """By how much reported sds are wider than the model's.

    Args:
        settings: The market's.
    """
    alone = len(settings.regions) == 1 and not settings.rounds_known
    return WIDER_WITHOUT_ROUNDS if alone else WIDER


def _pattern(found: Posterior, settings: MarketConfig) -> tuple[float, ...]:
    start = found.layout.first_pattern
    result: list[float] = []
    for size in PATTERNS[settings.pattern]:
        part = found.mean[start : start + size]
        result += np.expm1(part - part.mean()).tolist()
        start += size
    return tuple(result)


def _origins(panel: Panel, found: Posterior, settings: MarketConfig) -> tuple[Origin, ...]:
    result = []
    for place, region in enumerate(settings.regions):
        mean, _ = found.effects(place)
        parts = found.mix[:, place] * np.exp(mean)
        for at in np.flatnonzero(parts.sum(axis=1) > 0):
            shares = (parts[at] / parts[at].sum()).tolist()
            shown = {
                option: share
                for option, share in zip(settings.options, shares, strict=True)
                if share >= 0.005
            }
            result.append(Origin(region, panel.first + int(at), shown))
    return tuple(result)


def _warnings(panel: Panel, found: Posterior, settings: MarketConfig, walk: float) -> Iterable[str]:
    if int(panel.known.sum()) < FIRST_SEARCH:
        yield (f"Fewer than {FIRST_SEARCH} totals are known, so the noise, the drift and the delay are those "
   "that are usual; a history (totals from before the start) would show them.")  # fmt: skip
    if (noisy := _noisy(walk, settings)) is not None:
        yield noisy
    if not settings.novelty and _seem_to_change(panel, found, settings):
        yield (
            "The options' effects seem to change over time, and this policy takes them to stay: it can end on "
            "an option that is no longer the best. Tell it novelty, or finish "
            "the campaign and start a new one."
        )
    told = settings.delay.mean
    if not 0.67 < found.hyper.delay / told < 1.5:
        yield (f"The delay is about {found.hyper.delay / told:.2g} times the one that was given; set up a new "
   "campaign with it, because the time between two changes follows the given delay.")  # fmt: skip
    layout = found.layout
    if not layout.own:
        if settings.lags == "auto":
            yield (
                "All options are taken to be late in the same way: one stream without visitors cannot tell a "
                "late option from a bad one."
            )
        return
    gamma = slice(layout.options, 2 * layout.options)
    lags = found.mean[gamma]
    unsure = np.sqrt(np.diag(found.covariance)[gamma])
    if lags.max() - lags.min() > _DIFFERENT_LAG or unsure.max() > _UNKNOWN_LAG:
        slow = settings.options[int(np.argmax(lags))]
        yield (
            f"The options' sales may be late by different times ({slow} the latest): totals cannot tell a "
            "late option from a bad one, so an option that looks bad may only be late."
        )


def _seem_to_change(panel: Panel, found: Posterior, settings: MarketConfig) -> bool:
    """Whether effects that walk explain the rows clearly better than effects that stay."""
    walking = fit(panel, replace(settings, novelty=_CHANGING), found.hyper)
    return walking.likelihood - found.likelihood > _LIKELIER
