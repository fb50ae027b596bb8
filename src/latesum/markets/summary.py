"""What people read of a market: effects, a winner, late options, outliers, warnings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import finite_number
from latesum.markets.config import PATTERNS, MarketConfig
from latesum.markets.kernels import CLIP
from latesum.markets.model import Hyperparameters, Posterior, posterior_with
from latesum.markets.rows import Panel, RegionRow
from latesum.markets.rule import LateOption, late_options, may_be_late, runs_of
from latesum.markets.search import FIRST_SEARCH, posterior

Floats = NDArray[np.float64]

#: Intervals after adaptive choices are a little too narrow: the reported sd is this times the
#: model's, ...
WIDER = 1.2
#: ... or this, on one stream whose demand is not known.
WIDER_WITHOUT_ROUNDS = 1.3
#: From this walk per bucket on, one stream loses half of what an equal split loses.
NOISY_WALK = 0.04
#: Effects seem to change where letting them walk by this much a bucket makes the rows likelier by
#: this much (log).
_CHANGING, _LIKELIER = 0.01, 2.0
#: A winner is as good as the best with at least the first probability, a candidate with the second.
WINS, _CANDIDATE = 0.95, 0.05
#: Where delays may differ, none is named in this share of the run; an option that was shown in one
#: period only is waited for in this share, ...
_NONE_NAMED, _WAITED_FOR = 0.25, 0.5
#: ... and one that is late with this probability until it was shown for long enough in a row.
_LATE = 0.2
_EFFECT_DRAWS, _WINNER_DRAWS = 4000, 2000
#: The children of a market's seed that probabilities are drawn from.
_EFFECT_STREAM, _WINNER_STREAM = 3, 4


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


class Winner(NamedTuple):
    """Whether there is a winner.

    Args:
        option: Its name, or None.
        chance: How probable it is that the leading option is as good as the best, less the lift.
        candidates: The options that are as good as the best with a probability of 5% or more, and
            those in `waits_for`. The others are behind, and need not be shown again.
        waits_for: The options that were shown too little to be ruled out: in fewer than two
            periods, or not long enough in a row for one that seems late.
    """

    option: str | None
    chance: float
    candidates: tuple[str, ...]
    waits_for: tuple[str, ...]


class MarketSummary(NamedTuple):
    """All that a page shows of a market.

    Args:
        effects: Over all regions, weighted by their sizes.
        by_region: The same, for each region.
        pattern: How much more arrives than on average, by weekday (or hour, then weekday), as
            shares.
        delay: The learned mean delay in buckets.
        late_options: The options that may be the best and only late; none is no all-clear.
        walk: How far the level walks in a bucket, as a share.
        noise: The noise of a bucket besides that of counting, as a share.
        outliers: The totals that counted as 3.5 standard deviations because they were further off,
            and by how many they were above (or below) what was expected, by region and bucket.
        origins: The share of each option in a total, by region and bucket.
        noisy_demand: A sentence if the demand of one stream walks so far that options can hardly be
            compared on it.
        warnings: What else a user should know before relying on the rest.
    """

    effects: tuple[Effect, ...]
    by_region: dict[str, tuple[Effect, ...]]
    pattern: tuple[float, ...]
    delay: float
    late_options: tuple[LateOption, ...]
    walk: float
    noise: float
    outliers: dict[tuple[str, int], float]
    origins: dict[tuple[str, int], dict[str, float]]
    noisy_demand: str | None
    warnings: tuple[str, ...]


def summarize(rows: Iterable[RegionRow], bucket: int, config: MarketConfig) -> MarketSummary:
    """What is known of a market from the rows before a bucket.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.

    >>> config = MarketConfig(("old", "new"), 60, status_quo="old")
    >>> rows = [RegionRow("", day, 9000, "old" if day % 8 < 4 else "new", 300 + 60 * (day % 8 >= 5))
    ...     for day in range(-16, 24)]
    >>> found = summarize(rows, 24, config)
    >>> [effect.option for effect in found.effects], found.effects[0].effect
    (['old', 'new'], 0.0)
    >>> found.effects[1].low90 > 0
    True
    """
    return summarize_panel(Panel.of(rows, config, bucket), config)


def summarize_panel(panel: Panel, config: MarketConfig) -> MarketSummary:
    """`summarize` for the table of all rows."""
    found = posterior(panel, config)
    innovations = found.fits[0].innovations
    walk = _walk(found.hyper, config)
    return MarketSummary(
        effects_of(found, config),
        {name: effects_of(found, config, index) for index, name in enumerate(config.regions)},
        _pattern(found, config),
        found.delay,
        late_options(found, panel, config),
        walk,
        found.hyper.noise,
        {
            (config.regions[region], panel.first + int(at)): float(innovations[at, region])
            for at, region in np.argwhere(np.abs(innovations) > CLIP)
        },
        _origins(panel, found, config),
        _noisy(walk, config),
        tuple(_warnings(panel, found, config)),
    )


def diagnose(
    rows: Iterable[RegionRow], bucket: int, config: MarketConfig
) -> tuple[str | None, tuple[LateOption, ...]]:
    """What should be known before relying on a market: noisy demand, and options that may be late.

    A sentence if the demand of one stream walks so far that options can hardly be compared on it (a
    history is enough to know it, before anything was decided); and the options that may be the best
    and only late. None is no all-clear.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.

    >>> config = MarketConfig(("old", "new"), 60, status_quo="old")
    >>> level = 700 * np.exp(np.cumsum(0.12 * np.random.default_rng(4).standard_normal(40)))
    >>> wild = [RegionRow("", day, 9000, "old", round(level[day])) for day in range(-40, 0)]
    >>> diagnose(wild, 0, config)[0][:14]
    'Demand changes'
    >>> diagnose([row._replace(total=700) for row in wild], 0, config)
    (None, ())
    """
    panel = Panel.of(rows, config, bucket)
    found = posterior(panel, config)
    return _noisy(_walk(found.hyper, config), config), late_options(found, panel, config)


def _walk(hyper: Hyperparameters, config: MarketConfig) -> float:
    several = len(config.regions) > 1
    return math.hypot(hyper.region_walk, hyper.common_walk if several else 0.0)


def _noisy(walk: float, config: MarketConfig) -> str | None:
    if walk < NOISY_WALK or len(config.regions) > 1:
        return None
    remedy = "Use regions." if config.rounds_known else "Record the visitors, or use regions."
    return (
        f"Demand changes by {walk:.0%} from one bucket to the next: expect to lose half of what an "
        f"equal split loses. {remedy}"
    )


def effects_of(
    found: Posterior, config: MarketConfig, region: int | None = None
) -> tuple[Effect, ...]:
    """The options against the status quo, in a region or over all of them by size.

    Args:
        region: Its index; None for all.
    """
    mean, covariance = found.effects(region)
    covariance = covariance * widening(config) ** 2
    base = config.options.index(config.reference)
    contrast = np.eye(len(mean))
    contrast[:, base] -= 1.0
    difference = contrast @ mean
    sds = np.sqrt(np.maximum(np.diag(contrast @ covariance @ contrast.T), 0.0))
    rng = np.random.default_rng([config.seed, _EFFECT_STREAM])
    draws = mean + widening(config) * (found.draws(rng, _EFFECT_DRAWS, region) - mean)
    chances = np.bincount(np.argmax(draws, axis=1), minlength=len(mean)) / _EFFECT_DRAWS
    result = []
    for index, option in enumerate(config.options):
        low90, high90, low95, high95 = (
            math.expm1(
                difference[index] + side * NormalDist().inv_cdf((1 + level) / 2) * sds[index]
            )
            for level in (0.9, 0.95)
            for side in (-1, 1)
        )
        effect, chance = math.expm1(difference[index]), float(chances[index])
        result.append(Effect(option, effect, low90, high90, low95, high95, chance))
    return tuple(result)


def widening(config: MarketConfig) -> float:
    """By how much reported sds are wider than the model's."""
    alone = len(config.regions) == 1 and not config.rounds_known
    return WIDER_WITHOUT_ROUNDS if alone else WIDER


def _pattern(found: Posterior, config: MarketConfig) -> tuple[float, ...]:
    start = len(config.options)
    result: list[float] = []
    for size in PATTERNS[config.pattern]:
        part = found.fits[0].mean[start : start + size]
        result += np.expm1(part - part.mean()).tolist()
        start += size
    return tuple(result)


def _origins(
    panel: Panel, found: Posterior, config: MarketConfig
) -> dict[tuple[str, int], dict[str, float]]:
    result = {}
    for index, region in enumerate(config.regions):
        mean, _ = found.effects(index)
        parts = found.mix[:, index] * np.exp(mean)
        for at in np.flatnonzero(parts.sum(axis=1) > 0):
            shares = (parts[at] / parts[at].sum()).tolist()
            result[region, panel.first + int(at)] = {
                option: share
                for option, share in zip(config.options, shares, strict=True)
                if share >= 0.005
            }
    return result


def _warnings(panel: Panel, found: Posterior, config: MarketConfig) -> Iterable[str]:
    if int(panel.known.sum()) < FIRST_SEARCH:
        yield (
            f"Fewer than {FIRST_SEARCH} totals are known, so the noise, the drift and the delay "
            "are those that are usual; a history (totals from before the start) would show them."
        )
    if not config.novelty and _seem_to_change(panel, found, config):
        yield (
            "The options' effects seem to change over time, and this policy takes them to stay: it "
            "can end on an option that is no longer the best. Tell it novelty, or finish the "
            "campaign and start a new one."
        )
    given = config.delay.mean
    if not 0.67 < found.delay / given < 1.5:
        yield (
            f"The delay is about {found.delay / given:.2g} times the one that was given; set "
            "up a new campaign with it, because the time between two changes follows the given "
            "delay."
        )
    if config.differing_delays is None and not config.delays_may_differ:
        yield (
            "All options are taken to be late in the same way: one stream without visitors cannot "
            "tell a late option from a bad one."
        )


def _seem_to_change(panel: Panel, found: Posterior, config: MarketConfig) -> bool:
    """Whether effects that walk explain the rows clearly better than effects that stay."""
    walking = posterior_with(panel, replace(config, novelty=_CHANGING), found.hyper)
    return walking.log_likelihood - found.log_likelihood > _LIKELIER


def winner(
    rows: Iterable[RegionRow],
    bucket: int,
    config: MarketConfig,
    *,
    lift: float = 0.01,
    barred: Collection[str] = (),
) -> Winner:
    """The option that can be kept, if there is one already.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.
        lift: A difference that is too small to matter, as a share.
        barred: Options that are shown nowhere any more: none of them wins or is waited for.

    >>> config = MarketConfig(("old", "new"), 60, status_quo="old")
    >>> rows = [RegionRow("", day, 9000, "old" if day % 8 < 4 else "new", 300 + 60 * (day % 8 >= 5))
    ...     for day in range(-16, 24)]
    >>> winner(rows, 24, config).option, winner(rows[:6], -10, config).option
    ('new', None)
    """
    return winner_of(Panel.of(rows, config, bucket), config, lift=lift, barred=barred)


def winner_of(
    panel: Panel,
    config: MarketConfig,
    *,
    lift: float = 0.01,
    barred: Collection[str] = (),
    found: Posterior | None = None,
) -> Winner:
    """`winner` for the table of all rows, whose posterior may be known already."""
    lift = finite_number(lift, "the lift", at_least=0, at_most=1)
    found = posterior(panel, config) if found is None else found
    mean, _ = found.effects()
    rng = np.random.default_rng([config.seed, _WINNER_STREAM])
    draws = mean + widening(config) * (found.draws(rng, _WINNER_DRAWS) - mean)
    draws[:, [option in barred for option in config.options]] = -np.inf
    good = np.mean(draws >= draws.max(axis=1, keepdims=True) - np.log1p(lift), axis=0)
    leader = int(np.argmax(good))
    differing, begun = config.delays_may_differ > 0, panel.end / config.horizon
    candidates, waits = [], []
    for index, option in enumerate(config.options):
        if option in barred:
            continue
        runs = runs_of(panel, index)
        # A period that was longer than usual, because no one asked at its end, is one.
        periods = sum(max(1, run // config.period_length) for run in runs if run)
        early = differing and begun < _WAITED_FOR and option != config.status_quo
        late, _ = may_be_late(found, index, config)
        seems_late = index != leader and late.chance > _LATE and late.buckets > max(runs)
        likely = good[index] >= _CANDIDATE
        waited_for = seems_late or (periods < 2 and (early or likely))
        if waited_for:
            waits.append(option)
        if likely or waited_for or index == leader:
            candidates.append(option)
    named = good[leader] >= WINS and not waits and not (differing and begun < _NONE_NAMED)
    best = config.options[leader] if named else None
    return Winner(best, float(good[leader]), tuple(candidates), tuple(waits))
