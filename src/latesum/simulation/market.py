"""A market: regions of different size, weekdays, drift, shocks, holidays and late sales.

Season and drift act when a visitor comes, and the sale arrives later. Every run draws all of
it; policies that meet the same run meet the same market.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum._plugins import Registry
from latesum._render import changed_fields
from latesum.delays.parsing import parse

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Functions that give the demand of a market in place of a drawn one, by a generator, buckets and
#: regions.
DEMANDS = Registry("demand", "latesum.demands")
_DELAYS = ("exponential", "gamma", "lognormal", "two-part")
#: The market has been open for this many mean delays before its history.
_OPEN_BEFORE = 8
#: After this many buckets of being shown, half of an option's novelty is left.
_NOVELTY_HALVES = 5.0
#: By which factor a total is off until it is restated, on average.
_FIRST_SHARE = 0.95
#: The smallest values of whole numbers, and the bounds of other numbers, where they are not 0.
_LEAST = {"options": 2, "regions": 1, "buckets": 1}
_BOUNDS: dict[str, dict[str, float]] = {
    **{key: {"above": 0} for key in ("sales", "visitors", "delay", "best_later", "worst_later")},
    **{key: {"at_least": 0, "at_most": 0.99} for key in ("background", "spill", "missing")},
    **{key: {"above": -1} for key in ("holiday", "novelty")},
    "spread": {"at_least": 1},
}


class Demand(NamedTuple):
    """What a function of `DEMANDS` gives: the demand by bucket and region, and the holidays.

    Args:
        values: Positive numbers, of which only the proportions count.
        holidays: One truth value per bucket.
    """

    values: Floats
    holidays: NDArray[np.bool_]


@dataclass(frozen=True)
class Market:
    """A distribution of markets, from which every run draws one.

    Sizes are shares: 0.01 is 1%.

    Args:
        options: How many options there are; the first is the status quo.
        regions: How many regions.
        buckets: How many buckets are decided.
        history: For how many buckets before them totals are known.
        sales: The mean sales per bucket, all regions together.
        visitors: The mean visitors per bucket, all regions together.
        effects: The sd of the options' effects; with `one_better`, what the better one has more.
        one_better: Whether all options are the same but one that is drawn; it may be the first.
        status_quo_best: With `one_better`, whether the better one is always the first.
        delay: The mean delay in buckets.
        shape: The delay distribution: "exponential", "gamma" (shape 2), "lognormal" (sigma 1)
            or "two-part" (70% of mean a fifth, 30% of mean 2.87 times as long); or the text of a
            delay, of which only the shape counts.
        best_later: The best option's delay is this times that of the others.
        worst_later: The same of the worst option.
        spread: How many times as large the largest region is as the smallest.
        weekday: How far the rate differs by weekday, at most.
        region_weekday: How far a region's weekdays differ from the common ones, at most.
        traffic: The same of the visitors.
        traffic_noise: The sd of the visitors' noise.
        week: The days of a week: 7, or 5 where there are working days only; a bucket is a day.
        walk: The sd of the common level's walk per bucket.
        region_walk: That of a region's.
        shocks: The sd of shocks that all regions share.
        noise: The sd of a region's own noise.
        holiday: What a holiday of five buckets adds to the level, in the middle third; 0 for none.
        background: The share of the status quo's sales that no option changes.
        overdispersion: The variance of sales over that of a Poisson law, less 1.
        order_spread: With money, the sd of an order over its mean, which is 1; 0 counts sales.
        differences: The sd of what is special in an effect to a region.
        novelty: What new options sell more while they are new; half of it after five buckets.
        spill: How much of a region's effect follows what the other regions show.
        status_quo: What ran until the start: the first "option", "nothing", or something "other"
            that is no option (and 20% worse).
        demand: "package.module:function" that draws the demand of every bucket and region, in place
            of levels, weekdays, walks, shocks and noise.
        rounds: What is known of the visitors: them ("visitors"), or that all buckets are alike
            ("constant").
        dated: Whether a total has what arrived in its bucket ("arrival"), or what its visitors
            bought ("decision").
        report_lag: After how many further buckets a total is known.
        restated: For how many buckets after that it is off, by 5% on average (and 3% of noise).
        missing: The chance that it never comes.

    >>> world = Market(regions=2, buckets=30).start(np.random.SeedSequence(1))
    >>> world.play(0, [0, 1]); world.totals(1).shape
    (29, 2)
    """

    options: int = 3
    regions: int = 1
    buckets: int = 90
    history: int = 28
    sales: float = 600.0
    visitors: float = 20_000.0
    effects: float = 0.1
    one_better: bool = False
    status_quo_best: bool = False
    delay: float = 2.0
    shape: str = "exponential"
    best_later: float = 1.0
    worst_later: float = 1.0
    spread: float = 10.0
    weekday: float = 0.3
    region_weekday: float = 0.0
    traffic: float = 0.15
    traffic_noise: float = 0.1
    week: int = 7
    walk: float = 0.01
    region_walk: float = 0.007
    shocks: float = 0.03
    noise: float = 0.04
    holiday: float = 0.0
    background: float = 0.0
    overdispersion: float = 0.0
    order_spread: float = 0.0
    differences: float = 0.0
    novelty: float = 0.0
    spill: float = 0.0
    status_quo: Literal["option", "nothing", "other"] = "option"
    demand: str | None = None
    rounds: Literal["visitors", "constant"] = "visitors"
    dated: Literal["arrival", "decision"] = "arrival"
    report_lag: int = 0
    restated: int = 0
    missing: float = 0.0

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            name, value = f"`{each.name}`", getattr(self, each.name)
            if isinstance(each.default, bool):
                if not isinstance(value, bool):
                    raise InvalidInput(f"{name} is true or false, not {value!r}.")
            elif isinstance(each.default, int):
                whole_number(value, name, at_least=_LEAST.get(each.name, 0))
            elif isinstance(each.default, float):
                finite_number(value, name, **_BOUNDS.get(each.name, {"at_least": 0}))
        if self.demand is not None and not isinstance(self.demand, str):
            raise InvalidInput(f"`demand` is the name of a function, not {self.demand!r}.")
        if self.week not in (5, 7):
            raise InvalidInput(f"a week has 7 days, or 5 working days, not {self.week!r}.")
        if self.shape not in _DELAYS and parse(self.shape).mean <= 0:
            raise InvalidInput(f"`shape` is a law of delays, not {self.shape!r}.")
        known_name(self.status_quo, ("option", "nothing", "other"), "status quo")
        known_name(self.rounds, ("visitors", "constant"), "knowledge of rounds")
        known_name(self.dated, ("arrival", "decision"), "way to date totals")
        if self.status_quo != "option" and self.history:
            raise InvalidInput("a history shows the status quo: without it, history must be 0.")

    def start(self, seeds: np.random.SeedSequence) -> MarketWorld:
        """One market, drawn from this distribution."""
        return MarketWorld(self, seeds)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.plain().items())
        return f"Market({said})"

    def plain(self) -> dict[str, Any]:
        """As JSON values, without defaults."""
        return changed_fields(self)


def market_of(fields: Mapping[str, Any]) -> Market:
    """A distribution of markets from its fields by name, as a file or a command gives them.

    >>> market_of({"regions": 4, "buckets": 60})
    Market(regions=4, buckets=60)
    """
    known = [each.name for each in dataclasses.fields(Market)]
    for name in fields:
        known_name(name, known, "field of a market")
    try:
        return Market(**fields)
    except TypeError as error:
        raise InvalidInput(f"this is no market: {error}.") from None


class MarketWorld:
    """One market while it is played, drawn from a law with these seeds."""

    def __init__(self, law: Market, seeds: np.random.SeedSequence) -> None:
        self.law = law
        children = [
            np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, 0, stream))
            for stream in range(3)
        ]
        drawing, self._sales, reporting = (np.random.default_rng(child) for child in children)
        #: The number of the first bucket whose total is known.
        self.first = -law.history
        self._open = math.ceil(_OPEN_BEFORE * law.delay * max(1.0, law.best_later, law.worst_later))
        self._start = self._open + law.history  # the index of bucket 0
        self._length = self._start + law.buckets
        self._draw(drawing)
        shape = (self._length, law.regions)
        self._never = reporting.random(shape) < law.missing
        self._first_report = _FIRST_SHARE * np.exp(0.03 * reporting.standard_normal(shape))
        self._arrived = np.zeros(shape)
        self._by_decision = np.zeros((self._length, *shape)) if law.dated == "decision" else None
        self._shown = np.zeros(shape, dtype=np.int64)
        self._exposed = np.zeros((law.regions, law.options))
        self._played = 0
        for index in range(self._start):
            if law.status_quo != "nothing":
                factor = 0.8 if law.status_quo == "other" else 1.0
                self._sell(index, np.zeros(law.regions, dtype=np.int64), factor)

    # What policies see.

    def rounds(self, until: int) -> Floats:
        """The reported visitors of all buckets before one, by bucket and region."""
        reported: Floats = self._reported[self._open : self._start + until]
        return reported

    def shown(self, until: int) -> Integers:
        """What was shown in all buckets before one, by bucket and region."""
        shown: Integers = self._shown[self._open : self._start + until]
        return shown

    def totals(self, until: int) -> Floats:
        """The totals of earlier buckets as known at the start of one; NaN where they are not."""
        law, end = self.law, self._start + until
        if self._by_decision is None:
            found = self._arrived[self._open : end].copy()
        else:
            known_until = max(0, end - law.report_lag)
            found = self._by_decision[self._open : end, :known_until].sum(axis=1)
        age = np.arange(len(found), 0, -1)
        late = age <= law.report_lag
        found[late] = np.nan  # nothing of these buckets is in a report yet
        if law.restated:
            recent = (age <= law.report_lag + law.restated) & ~late
            found[recent] *= self._first_report[self._open : end][recent]
        found[self._never[self._open : end]] = np.nan
        return found

    def play(self, bucket: int, options: Any) -> None:
        """Show an option in every region for one bucket, the next one."""
        if bucket != self._played:
            raise InvalidInput(f"the next bucket is {self._played}, not {bucket}.")
        self._sell(self._start + bucket, np.asarray(options, dtype=np.int64), 1.0)
        self._played += 1

    # What is true.

    def means(self, bucket: int) -> Floats:
        """The mean sales of every option if it is shown in a bucket, by region and option.

        Novelty and spill-over are left out.
        """
        index = self._start + bucket
        share = self.law.background
        effect = np.exp(self._effects)
        result: Floats = self._base[index][:, None] * ((1 - share) * effect + share)
        return result

    @property
    def effects(self) -> Floats:
        """The logarithm of every option's sales over those of the first, all regions together."""
        share = self.law.background
        weight = self._base[self._start :].sum(axis=0)
        sold = weight @ ((1 - share) * np.exp(self._effects) + share)
        result: Floats = np.log(sold / sold[0])
        return result

    def _draw(self, rng: np.random.Generator) -> None:
        law = self.law
        n, regions, options = self._length, law.regions, law.options
        first = law.buckets // 2
        #: The buckets that are unlike the others.
        self.holidays = tuple(range(first, first + 5)) if law.holiday else ()
        #: Where in the week bucket 0 lies.
        self.phase = int(rng.integers(law.week))
        day = (np.arange(n) - self._start + self.phase) % law.week
        if law.one_better:
            effects = np.zeros(options)
            drawn = rng.integers(options)
            effects[0 if law.status_quo_best else drawn] = math.log1p(law.effects)
        else:
            effects = law.effects * rng.standard_normal(options)
        self._effects = effects + law.differences * rng.standard_normal((regions, options))
        sizes = np.geomspace(1, law.spread, regions)
        sizes = rng.permutation(sizes / sizes.sum())
        weekday = law.weekday * rng.uniform(-1, 1, 7)
        special = law.region_weekday * rng.uniform(-1, 1, (7, regions))
        traffic = law.traffic * rng.uniform(-1, 1, 7)
        level = (weekday[:, None] + special)[day]
        common = np.cumsum(law.walk * rng.standard_normal(n))
        shock = law.shocks * rng.standard_normal(n)
        level = level + (common + shock)[:, None]
        level = level + np.cumsum(law.region_walk * rng.standard_normal((n, regions)), axis=0)
        level = level + law.noise * rng.standard_normal((n, regions))
        visits = (
            law.visitors
            * sizes
            * np.exp(traffic[day][:, None] + law.traffic_noise * rng.standard_normal((n, regions)))
        )
        if law.holiday:
            indices = self._start + np.array(self.holidays)
            level[indices] += math.log1p(law.holiday)
        rate = law.sales / law.visitors
        self._base = visits * rate * np.exp(level)
        if law.demand is not None:
            given: Demand = DEMANDS.find(law.demand)(rng, n, regions)
            self._base = law.sales * given.values / given.values.sum(axis=1).mean()
            indices = np.flatnonzero(given.holidays)
            self.holidays = tuple((indices[indices >= self._open] - self._start).tolist())
            visits = self._base / rate
        if law.rounds == "constant":
            visits = np.tile(visits[: self._start or None].mean(axis=0), (n, 1))
        self._reported = np.maximum(1.0, np.round(visits))
        self._delays = np.full(options, law.delay)
        self._delays[int(np.argmax(self.effects))] *= law.best_later
        self._delays[int(np.argmin(self.effects))] *= law.worst_later

    def _sell(self, index: int, options: Integers, factor: float) -> None:
        """Draw the sales of a bucket, and when they arrive."""
        law, rng = self.law, self._sales
        regions = np.arange(law.regions)
        self._shown[index] = options
        effect = self._effects[regions, options]
        if law.novelty:
            faded = 0.5 ** (self._exposed[regions, options] / _NOVELTY_HALVES)
            effect = effect + np.where(options > 0, math.log1p(law.novelty) * faded, 0.0)
            self._exposed[regions, options] += 1
        sold = np.exp(effect)
        if law.spill and law.regions > 1:
            others = (sold.sum() - sold) / (law.regions - 1)
            sold = (1 - law.spill) * sold + law.spill * others
        mean = factor * self._base[index] * ((1 - law.background) * sold + law.background)
        if law.overdispersion:
            mean = rng.gamma(mean / law.overdispersion, law.overdispersion)
        counts = rng.poisson(mean)
        where = np.repeat(regions, counts)
        wait = self._waits(np.repeat(self._delays[options], counts))
        arrival = index + np.floor(rng.random(len(where)) + wait).astype(np.int64)
        inside = arrival < self._length
        at = arrival[inside] * law.regions + where[inside]
        worth = None
        if law.order_spread:
            sigma = math.sqrt(math.log1p(law.order_spread**2))
            worth = rng.lognormal(-(sigma**2) / 2, sigma, len(where))[inside]
        found = np.bincount(at, worth, minlength=self._length * law.regions)
        found = found.reshape(self._length, law.regions)
        self._arrived += found
        if self._by_decision is not None:
            self._by_decision[index] = found

    def _waits(self, means: Floats) -> Floats:
        rng, shape = self._sales, self.law.shape
        if shape == "exponential":
            drawn = rng.standard_exponential(len(means))
        elif shape == "gamma":
            drawn = rng.standard_gamma(2.0, len(means)) / 2.0
        elif shape == "lognormal":
            drawn = rng.lognormal(-0.5, 1.0, len(means))
        elif shape not in _DELAYS:
            law = parse(shape)
            drawn = law.draw(len(means), rng) / law.mean
        else:
            drawn = rng.standard_exponential(len(means))
            drawn *= np.where(rng.random(len(means)) < 0.7, 0.2, 2.8667)
        return drawn * means
