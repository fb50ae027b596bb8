"""The decision: a sweep over all options, then tempered Thompson sampling, region by region.

A separate draw for each region is the point: in the same bucket regions show different options, so
that what they have in common (season, weather, news) cancels in the comparison.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name, whole_number
from latesum.markets.config import MarketConfig
from latesum.markets.model import Posterior, root_of
from latesum.markets.rows import Panel, RegionRow
from latesum.markets.search import FIRST_SEARCH, posterior

Floats = NDArray[np.float64]

#: How much of the uncertainty is drawn from.
KAPPA = 0.5
#: An option has to be shown for this many of its delays in a row before it is known to be late.
_DELAYS_NEEDED = 4.0
#: What an option that may be late and better would gain counts by this: it is shown for all of that
#: time only if it goes on looking late, and no longer than until it is refuted otherwise.
_ENDS_EARLY = 1.5
#: People hear of an option from this probability on that it is late and the best.
LATE_AND_BEST = 0.05
#: Draws of the probability that an option is the best.
_DRAWS = 2000
#: The children of a market's seed.
_ORDER, _CHOICES, _CHANCES = range(3)


class LateOption(NamedTuple):
    """An option that may be the best, and only late.

    Args:
        option: Its name.
        times: How many times as late as the others it seems.
        buckets: For how many more buckets in a row it has to be shown before lateness can be told
            from a lower rate.
        chance: How probable it is that it is the best.
    """

    option: str
    times: float
    buckets: int
    chance: float


class RegionChoice(NamedTuple):
    """What a region shows next.

    Args:
        option: Its name.
        purpose: "sweep" tries every option once; "draw" was drawn because it may be best; "late"
            may be the best and only late, which is worth finding out; "continue" goes on with what
            began before; "best" has the highest mean, after the horizon.
        until: The bucket in which it is decided again.
        chance: How probable it is that this option is the region's best; NaN where no fit was
            needed.
        late: Where its purpose is that, how late it may be.
    """

    option: str
    purpose: Literal["sweep", "draw", "late", "continue", "best"]
    until: int
    chance: float = math.nan
    late: LateOption | None = None


def decide(
    rows: Iterable[RegionRow],
    bucket: int,
    config: MarketConfig,
    *,
    barred: Mapping[str, Collection[str]] | None = None,
    asked: Iterable[int] | None = None,
) -> dict[str, RegionChoice]:
    """What every region shows in a bucket: a pure function of the rows before it, and the config.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that is decided, from 0 on.
        barred: Options that must not be shown, by region; those in "*" in no region.
        asked: The earlier buckets for which a decision was asked for; None for all of them. A
            decision that was due in another bucket is taken in the next of these.

    >>> from latesum.markets import DelayPrior
    >>> config = MarketConfig(
    ...     ("old", "new"), 60, regions=("north", "south"), delay=DelayPrior(1.0), status_quo="old")
    >>> past = [RegionRow(region, day, 1000, "old", 30)
    ...     for day in range(-14, 0) for region in config.regions]
    >>> choices = decide(past, 0, config)
    >>> sorted(choice.option for choice in choices.values()), choices["north"].purpose
    (['new', 'old'], 'sweep')
    >>> totals = {"new": 33, "old": 30}
    >>> shown = [RegionRow(r, day, 1000, choices[r].option, totals[choices[r].option])
    ...     for day in range(2) for r in config.regions]
    >>> decide(past + shown, 2, config)["south"].purpose
    'draw'
    """
    bucket = whole_number(bucket, "the bucket that is decided")
    panel = Panel.of(rows, config, bucket)
    allowed = _allowed(config, barred or {})
    choices = decide_panel(panel, bucket, config, allowed, asked=asked)
    return dict(zip(config.regions, choices, strict=True))


def decide_panel(
    panel: Panel,
    bucket: int,
    config: MarketConfig,
    allowed: NDArray[np.bool_] | None = None,
    *,
    chances: bool = True,
    found: Posterior | None = None,
    asked: Iterable[int] | None = None,
) -> list[RegionChoice]:
    """`decide` for the table of all rows before a bucket.

    Args:
        allowed: What may be shown, by region and option.
        chances: Whether the chance to be best is computed; it takes longer than the decision.
        found: The posterior of the rows, where it is known; otherwise it is computed if it is
            needed.
        asked: The earlier buckets for which a decision was asked for; None for all of them.
    """
    options, regions = config.options, range(len(config.regions))
    if allowed is None:
        allowed = np.ones((len(regions), len(options)), dtype=bool)
    number, begun = _present_period(bucket, config.period_length, asked)
    until = begun + config.period_length
    decided: dict[int, RegionChoice] = {}
    if begun < bucket and panel.end == bucket and panel.first < bucket:
        for region in regions:
            shown = int(np.argmax(panel.shares[-1, region]))
            if allowed[region, shown]:
                decided[region] = RegionChoice(options[shown], "continue", until)
    open_regions = [region for region in regions if region not in decided]
    sweeping = open_regions and number < config.sweep and bucket < config.horizon
    if sweeping and number < sweep_of(panel, config):
        order = swept(panel, config, number)
        for region in open_regions:
            may = np.flatnonzero(allowed[region])
            option = order[region]
            option = option if allowed[region, option] else int(may[number % len(may)])
            decided[region] = RegionChoice(options[option], "sweep", until)
    elif open_regions:
        found = posterior(panel, config) if found is None else found
        # One region finds out for all: where an option may be shown, the largest.
        finds_out = np.argmax(np.where(allowed, _sizes(panel)[:, None], -np.inf), axis=0)
        for region in open_regions:
            may, here = allowed[region], finds_out == region
            choice = _choose(found, panel, region, bucket, config, may, here, chances)
            decided[region] = choice._replace(until=until)
    return [decided[region] for region in regions]


def _present_period(bucket: int, period: int, asked: Iterable[int] | None) -> tuple[int, int]:
    """The number of the period that a bucket is in, and the bucket in which it began.

    A period begins with the first question after the one before it is over.
    """
    if asked is None:
        number = bucket // period
        return number, number * period
    begun = list[int]()
    for each in [*sorted(each for each in asked if each < bucket), bucket]:
        if not begun or each >= begun[-1] + period:
            begun.append(each)
    return len(begun) - 1, begun[-1]


def unknown_options(panel: Panel, config: MarketConfig) -> list[int]:
    """The options that the sweep shows: not those that a history has shown for two weeks or more.

    Where the sweep would not be shorter without them, it shows all: in several regions at the same
    time, which is what makes options comparable.

    """
    everything = list(range(len(config.options)))
    past = panel.until(0)
    shown = past.shares[past.known].sum(axis=0).min(axis=0)
    enough = FIRST_SEARCH * 24 if config.pattern == "hour" else FIRST_SEARCH
    unknown = [option for option in everything if shown[option] < enough]
    regions = len(config.regions)
    shorter = math.ceil(len(unknown) / regions) < math.ceil(len(everything) / regions)
    return unknown if unknown and shorter else everything


def sweep_of(panel: Panel, config: MarketConfig) -> int:
    """How many periods the first sweep has, given what the history has shown."""
    regions, tried = len(config.regions), len(unknown_options(panel, config))
    left_out = math.ceil(len(config.options) / regions) - math.ceil(tried / regions)
    return config.sweep - left_out


def swept(panel: Panel, config: MarketConfig, number: int) -> list[int]:
    """What every region shows in a period of the sweep.

    Region k in order of size shows option perm[(k + j R) mod K] in period j, so that all options
    are shown after ceil(K / R) periods.
    """
    regions, tried = len(config.regions), unknown_options(panel, config)
    order = np.random.default_rng([config.seed, _ORDER]).permutation(len(config.options))
    order = order[np.isin(order, tried)]
    ranks = np.empty(regions, dtype=np.int64)
    ranks[np.argsort(-_sizes(panel), kind="stable")] = np.arange(regions)
    return [int(order[(rank + number * regions) % len(order)]) for rank in ranks]


def _sizes(panel: Panel) -> Floats:
    """The visitors of each region in a bucket of the history; all equal without one."""
    past = panel.until(0).exposure
    sizes: Floats = past.mean(axis=0) if len(past) else np.ones(past.shape[1])
    return sizes


def _choose(
    found: Posterior,
    panel: Panel,
    region: int,
    bucket: int,
    config: MarketConfig,
    may: NDArray[np.bool_],
    finds_out: NDArray[np.bool_],
    chances: bool,
) -> RegionChoice:
    """The best option of a draw; or one that may be late, where finding out is worth it.

    `finds_out` are the options for which this region finds out.
    """
    mean, covariance = found.effects(region)
    remaining = max(0, config.horizon - bucket)
    fading = min(1.0, math.sqrt(remaining / (config.horizon / 2)))
    name = zlib.crc32(config.regions[region].encode())  # that the order of regions means nothing
    rng = np.random.default_rng([config.seed, _CHOICES, bucket, name])
    value = mean + fading * KAPPA * (root_of(covariance) @ rng.standard_normal(len(mean)))
    option = int(np.argmax(np.where(may, value, -np.inf)))
    purpose: Literal["draw", "late", "best"] = "draw" if remaining else "best"
    late, most = None, 0.0
    if len(panel.shares) and remaining > config.period_length:
        for tried, seen, gain, loss in _not_leading(found, config, may, region):
            missing = seen.buckets - max(runs_of(panel, tried))
            gains = _ENDS_EARLY * len(config.regions) * gain * (remaining - missing)
            worth = gains - loss * missing
            if finds_out[tried] and missing > 0 and worth > most:
                left = seen.buckets - _visit(panel, region, tried)
                option, purpose, late, most = tried, "late", seen._replace(buckets=left), worth
    chance = math.nan
    if chances:
        rng = np.random.default_rng([config.seed, _CHANCES, bucket, name])
        draws = np.where(may, found.draws(rng, _DRAWS, region), -np.inf)
        chance = float(np.mean(np.argmax(draws, axis=1) == option))
    return RegionChoice(config.options[option], purpose, 0, chance, late)


def _not_leading(
    found: Posterior, config: MarketConfig, may: NDArray[np.bool_], region: int | None = None
) -> Iterator[tuple[int, LateOption, float, float]]:
    """The options that do not lead, as ones that may be late: what each may gain, and its loss.

    Both are expected, per bucket (log), against the leader: the gain if the option is late and
    better. In a region, or in all regions together.
    """
    means, covariances = found.components(region)
    leader = int(np.argmax(np.where(may, found.weights @ means, -np.inf)))
    for option in np.flatnonzero(may).tolist():
        if option == leader:
            continue
        seen, weights = may_be_late(found, option, config)
        contrast = np.eye(len(may))[option] - np.eye(len(may))[leader]
        ahead = means @ contrast
        sds = np.sqrt(np.maximum(contrast @ covariances @ contrast, 1e-12))
        better = np.array([NormalDist().cdf(each) for each in ahead / sds])
        gains = ahead * better + sds * np.exp(-0.5 * (ahead / sds) ** 2) / math.sqrt(2 * math.pi)
        loss = float(found.weights @ (gains - ahead))
        yield option, seen._replace(chance=float(weights @ better)), float(weights @ gains), loss


def may_be_late(found: Posterior, option: int, config: MarketConfig) -> tuple[LateOption, Floats]:
    """An option as one that may be late, and the weights of the explanations by which it is.

    Its `chance` is here that it is late, the best or not, and its `buckets` are all that it has to
    be shown for in a row.
    """
    ratios = np.array([each.ratios[option] for each in found.explanations])
    delays = ratios * [each.delay for each in found.explanations]
    weights = np.where(ratios > 1, found.weights, 0.0)
    chance = float(weights.sum())
    if not chance:
        return LateOption(config.options[option], 1.0, 0, 0.0), weights
    buckets = math.ceil(_DELAYS_NEEDED * float(weights @ delays) / chance)
    times = float(weights @ ratios) / chance
    return LateOption(config.options[option], times, buckets, chance), weights


def runs_of(panel: Panel, option: int) -> list[int]:
    """For how many buckets in a row an option was shown in some region, and 0 if it never was.

    >>> shares = np.eye(2)[[0, 1, 1, 0]][:, None]
    >>> runs_of(Panel(0, np.ones((4, 1)), shares, np.ones((4, 1))), 0)
    [1, 1]
    """
    shown = np.flatnonzero(panel.shares[:, :, option].max(axis=1) > 0.5)
    runs = np.split(shown, np.flatnonzero(np.diff(shown) > 1) + 1)
    return [len(run) for run in runs]


def _visit(panel: Panel, region: int, option: int) -> int:
    """For how many buckets in a row a region has shown an option by now."""
    other = np.flatnonzero(panel.shares[:, region].argmax(axis=1) != option)
    return len(panel.shares) - (int(other[-1]) + 1 if len(other) else 0)


def late_options(found: Posterior, panel: Panel, config: MarketConfig) -> tuple[LateOption, ...]:
    """The options that do not lead, and may be the best and only late.

    None is no all-clear: where the best option is late and overlooked, it is not always found.
    """
    may, late = np.ones(len(config.options), dtype=bool), []
    for option, seen, _, _ in _not_leading(found, config, may) if len(panel.shares) else ():
        visit = max(_visit(panel, region, option) for region in range(len(config.regions)))
        if seen.chance > LATE_AND_BEST and seen.buckets > visit:
            late.append(seen._replace(buckets=seen.buckets - visit))
    return tuple(late)


def _allowed(config: MarketConfig, barred: Mapping[str, Collection[str]]) -> NDArray[np.bool_]:
    result = np.ones((len(config.regions), len(config.options)), dtype=bool)
    for region, options in barred.items():
        rows: slice | int = slice(None)
        if region != "*":
            rows = config.regions.index(known_name(region, config.regions, "region"))
        for option in options:
            result[rows, config.options.index(known_name(option, config.options, "option"))] = False
    for index, region in enumerate(config.regions):
        if not result[index].any():
            where = f"region {region!r}" if region else "the market"
            raise InvalidInput(f"all options of {where} are barred; leave at least one.")
    return result
