"""The decision: a sweep over all options, then tempered Thompson sampling, region by region.

A separate draw for each region is the point: in the same bucket regions show different options, so
that what they have in common (season, weather, news) cancels in the comparison.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name, whole_number
from latesum.markets.config import MarketConfig
from latesum.markets.model import Posterior
from latesum.markets.rows import Panel, RegionRow
from latesum.markets.search import FIRST_SEARCH, posterior

Floats = NDArray[np.float64]

#: How much of the uncertainty is drawn from.
KAPPA = 0.5
#: Draws of the chance that an option is the best.
_DRAWS = 2000
#: The children of a market's seed.
_ORDER, _CHOICES, _CHANCES = range(3)


class RegionChoice(NamedTuple):
    """What a region shows next.

    Args:
        option: Its name.
        purpose: "sweep" tries every option once; "draw" was drawn because it may be best; "dwell" goes on
            with what began before; "best" has the highest mean, after the horizon.
        until: The bucket in which it is decided again.
        chance: How probable it is that this option is the region's best; NaN where no fit was needed.
    """

    option: str
    purpose: Literal["sweep", "draw", "dwell", "best"]
    until: int
    chance: float


def decide(
    rows: Iterable[RegionRow],
    bucket: int,
    settings: MarketConfig,
    *,
    barred: Mapping[str, Collection[str]] | None = None,
    asked: Iterable[int] | None = None,
) -> dict[str, RegionChoice]:
    """What every region shows in a bucket: a pure function of the rows before it, and the settings.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that is decided, from 0 on.
        settings: The market's.
        barred: Options that must not be shown, by region; those in "*" in no region.
        asked: The earlier buckets for which a decision was asked for; None for all of them. A decision
            that was due in another bucket is taken in the next of these.

    >>> from latesum.markets import ToldDelay
    >>> settings = MarketConfig(
    ...     ("old", "new"), 60, regions=("north", "south"), delay=ToldDelay(1.0), before="old")
    >>> past = [RegionRow(region, day, 1000, "old", 30) for day in range(-14, 0) for region in ("north", "south")]
    >>> choices = decide(past, 0, settings)
    >>> sorted(choice.option for choice in choices.values()), choices["north"].purpose
    (['new', 'old'], 'sweep')
    >>> shown = [RegionRow(r, day, 1000, choices[r].option, 33 if choices[r].option == "new" else 30)
    ...     for day in range(2) for r in ("north", "south")]
    >>> decide(past + shown, 2, settings)["south"].purpose
    'draw'
    """
    bucket = whole_number(bucket, "the bucket that is decided")
    panel = Panel.of(rows, settings, bucket)
    allowed = _allowed(settings, barred or {})
    return {
        region: RegionChoice(settings.options[option], purpose, until, chance)
        for region, (option, purpose, until, chance) in zip(
            settings.regions,
            decide_panel(panel, bucket, settings, allowed, asked=asked),
            strict=True,
        )
    }


class ChosenOption(NamedTuple):
    """A `RegionChoice` by the number of its option."""

    option: int
    purpose: Literal["sweep", "draw", "dwell", "best"]
    until: int
    chance: float


def decide_panel(
    panel: Panel,
    bucket: int,
    settings: MarketConfig,
    allowed: NDArray[np.bool_] | None = None,
    *,
    chances: bool = True,
    found: Posterior | None = None,
    asked: Iterable[int] | None = None,
) -> list[ChosenOption]:
    """`decide` for the table of all rows before a bucket, without names.

    Args:
        panel: The rows before the bucket.
        bucket: The bucket that is decided.
        settings: The market's.
        allowed: What may be shown, by region and option.
        chances: Whether the chance to be best is computed; it takes longer than the decision.
        found: The posterior of the rows, where it is known already; otherwise it is computed if it is needed.
        asked: The earlier buckets for which a decision was asked for; None for all of them.
    """
    n_regions, n_options = len(settings.regions), len(settings.options)
    if allowed is None:
        allowed = np.ones((n_regions, n_options), dtype=bool)
    number, begun = _present_dwell(bucket, settings.dwell, asked)
    until = begun + settings.dwell
    decided: list[ChosenOption | None] = [None] * n_regions
    if begun < bucket and panel.end == bucket and panel.first < bucket:
        for region in range(n_regions):
            shown = int(np.argmax(panel.shares[-1, region]))
            if allowed[region, shown]:
                decided[region] = ChosenOption(shown, "dwell", until, math.nan)
    left = [region for region in range(n_regions) if decided[region] is None]
    sweeping = left and number < settings.sweep and bucket < settings.horizon
    if sweeping and number < sweep_of(panel, settings):
        options = swept(panel, settings, number)
        for region in left:
            may = np.flatnonzero(allowed[region])
            option = options[region]
            option = option if allowed[region, option] else int(may[number % len(may)])
            decided[region] = ChosenOption(option, "sweep", until, math.nan)
    elif left:
        found = posterior(panel, settings) if found is None else found
        for region in left:
            decided[region] = _drawn(found, region, bucket, until, settings, allowed, chances)
    return [each for each in decided if each is not None]


def _present_dwell(bucket: int, dwell: int, asked: Iterable[int] | None) -> tuple[int, int]:
    """The number of the dwell that a bucket is in, and the bucket in which it began.

    A dwell begins with the first question after the one before it is over.
    """
    if asked is None:
        number = bucket // dwell
        return number, number * dwell
    begun = list[int]()
    for each in [*sorted(each for each in asked if each < bucket), bucket]:
        if not begun or each >= begun[-1] + dwell:
            begun.append(each)
    return len(begun) - 1, begun[-1]


def unknown_options(panel: Panel, settings: MarketConfig) -> list[int]:
    """The options that the sweep shows: not those that a history has shown for two weeks or more in all regions.

    Where the sweep would not be shorter without them, it shows all: in several regions at the same time, which is
    what makes options comparable.

    Args:
        panel: The rows.
        settings: The market's.
    """
    everything = list(range(len(settings.options)))
    past = panel.until(0)
    shown = past.shares[past.known].sum(axis=0).min(axis=0)
    enough = FIRST_SEARCH * 24 if settings.pattern == "hour" else FIRST_SEARCH
    unknown = [option for option in everything if shown[option] < enough]
    regions = len(settings.regions)
    shorter = math.ceil(len(unknown) / regions) < math.ceil(len(everything) / regions)
    return unknown if unknown and shorter else everything


def sweep_of(panel: Panel, settings: MarketConfig) -> int:
    """How many dwells the first sweep has, given what the history has shown.

    Args:
        panel: The rows.
        settings: The market's.
    """
    regions, tried = len(settings.regions), len(unknown_options(panel, settings))
    left_out = math.ceil(len(settings.options) / regions) - math.ceil(tried / regions)
    return settings.sweep - left_out


def swept(panel: Panel, settings: MarketConfig, number: int) -> list[int]:
    """What every region shows in a dwell of the sweep.

    Region k in order of size shows option perm[(k + j R) mod K] in dwell j, so that all options are shown
    after ceil(K / R) dwells.

    Args:
        panel: The rows, for the regions' sizes.
        settings: The market's.
        number: Which dwell.
    """
    regions, tried = len(settings.regions), unknown_options(panel, settings)
    order = np.random.default_rng([settings.seed, _ORDER]).permutation(len(settings.options))
    order = order[np.isin(order, tried)]
    past = panel.until(0).exposure
    sizes = past.mean(axis=0) if len(past) else np.ones(regions)
    places = np.empty(regions, dtype=np.int64)
    places[np.argsort(-sizes, kind="stable")] = np.arange(regions)
    return [int(order[(place + number * regions) % len(order)]) for place in places]


def _drawn(
    found: Posterior, region: int, bucket: int, until: int, settings: MarketConfig,
    allowed: NDArray[np.bool_], chances: bool,
) -> ChosenOption:  # fmt: skip
    mean, covariance = found.effects(region)
    root = root_of(covariance)
    left = max(0, settings.horizon - bucket)
    kappa = KAPPA * min(1.0, math.sqrt(left / (settings.horizon / 2)))
    name = zlib.crc32(settings.regions[region].encode())  # that the order of regions means nothing
    rng = np.random.default_rng([settings.seed, _CHOICES, bucket, name])
    value = mean + kappa * (root @ rng.standard_normal(len(mean)))
    may = allowed[region]
    option = int(np.argmax(np.where(may, value, -np.inf)))
    chance = math.nan
    if chances:
        rng = np.random.default_rng([settings.seed, _CHANCES, bucket, name])
        draws = mean + rng.standard_normal((_DRAWS, len(mean))) @ root.T
        chance = float(np.mean(np.argmax(np.where(may, draws, -np.inf), axis=1) == option))
    return ChosenOption(option, "draw" if left else "best", until, chance)


def root_of(covariance: Floats) -> Floats:
    """A matrix whose product with its transpose is the covariance, which may be singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return root


def _allowed(settings: MarketConfig, barred: Mapping[str, Collection[str]]) -> NDArray[np.bool_]:
    result = np.ones((len(settings.regions), len(settings.options)), dtype=bool)
    for region, options in barred.items():
        rows: slice | int = slice(None)
        if region != "*":
            rows = settings.regions.index(known_name(region, settings.regions, "region"))
        for option in options:
            result[rows, settings.options.index(known_name(option, settings.options, "option"))] = (
                False
            )
    for place, region in enumerate(settings.regions):
        if not result[place].any():
            where = f"region {region!r}" if region else "the market"
            raise InvalidInput(f"all options of {where} are barred; leave at least one.")
    return result
