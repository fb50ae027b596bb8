"""When a running campaign will be decided: its rest is simulated many times from what is known now.

Every continuation draws what is true of the options from what is known of them, goes on from what
was played so far, and decides as the campaign does. It is decided in the first bucket after which
the campaign would name a winner.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from latesum.experiments.loop import Loop
from latesum.markets import MarketConfig, RegionRow, summarize
from latesum.markets.config import PATTERNS
from latesum.markets.kernels import arrival_mix
from latesum.markets.model import carried_over, posterior_with, shape_of, smeared
from latesum.markets.rows import FIRST_BUCKETS, Panel, status_quo_shares
from latesum.markets.rule import decide_panel
from latesum.markets.search import posterior
from latesum.markets.summary import winner_of
from latesum.policies import Play, Policy
from latesum.policies.estimates import named_winner
from latesum.simulation import Problem

#: Continuations; enough to tell a week from a month.
REPLICATIONS = 40
#: A campaign that is not decided after this many more buckets is not decided soon.
MAX_BUCKETS = 180
#: Of more regions the rest is not simulated: a fit takes longer the more there are.
MAX_REGIONS = 30
_LEVEL = 0.95
#: The visitors and sales to come are like those of the last buckets.
_USUAL = 28

Floats = NDArray[np.float64]


class Forecast(NamedTuple):
    """When a campaign is decided, in simulated continuations of it.

    Args:
        buckets: In how many more buckets it is decided: the 10th, 50th and 90th percentile; None
            where it is not decided soon.
        decided: The share of continuations in which a winner is named at all.
        gain: What the option that is kept earns more than an equal split, as a share, on average.
        replications: How many continuations there were.
    """

    buckets: tuple[int | None, int | None, int | None]
    decided: float
    gain: float
    replications: int


def forecast(
    method: Policy | MarketConfig,
    rows: Sequence[Any],
    *,
    rounds: int = 0,
    lag: int = 0,
    barred: Mapping[str, Collection[str]] | None = None,
    asked: Sequence[int] | None = None,
    seed: int = 1,
    replications: int = REPLICATIONS,
    max_buckets: int = MAX_BUCKETS,
) -> Forecast:
    """Simulate the rest of a campaign; the same arguments give the same forecast.

    Args:
        method: A fresh policy, or the configuration of a market model.
        rows: What it knows. For a policy: plays (arm, rounds, total, purpose, number), and the
            number of an option alone where it was removed. For a market: (region, bucket, rounds,
            shown, total), of all buckets until now.
        rounds: For a policy: the rounds of a bucket to come.
        lag: How many buckets after its end a total is known.
        barred: For a market: the options that may not be shown, by region.
        asked: For a market: the buckets that were asked for.
        seed: What continuations are drawn from.
        replications: How many continuations there are.
        max_buckets: How long each of them is.

    >>> from latesum.policies import Flow
    >>> rows = [(arm, 1000, total) for arm, total in ((0, 50.0), (1, 82.0)) * 3]
    >>> found = forecast(Flow(2, 90_000, mean_delay=10), rows, rounds=1000, replications=8)
    >>> found.decided > 0.5, found.gain > 0
    (True, True)
    """
    go_on: Callable[[np.random.Generator], tuple[int | None, float]]
    if isinstance(method, MarketConfig):
        whole = [RegionRow(*row) for row in rows]
        go_on = _MarketRest(method, whole, barred or {}, asked, max_buckets).go_on
    else:
        go_on = _PolicyRest(method, rows, rounds, max_buckets).go_on
    seeds = np.random.SeedSequence(seed).spawn(replications)
    found = [go_on(np.random.default_rng(each)) for each in seeds]
    decided = sorted(bucket + lag for bucket, _ in found if bucket is not None)
    low, middle, high = (
        decided[place] if (place := int(share * (replications - 1))) < len(decided) else None
        for share in (0.1, 0.5, 0.9)
    )
    gain = float(np.mean([gain for _, gain in found]))
    return Forecast((low, middle, high), len(decided) / replications, gain, replications)


class _PolicyRest:
    """The rest of a campaign that a policy decides."""

    def __init__(self, policy: Policy, rows: Sequence[Any], rounds: int, buckets: int) -> None:
        self._rounds, self._buckets = rounds, buckets
        self._plays = [Play(*row) for row in rows if not isinstance(row, int)]
        self._removed = {row for row in rows if isinstance(row, int)}
        self._policy = policy.replay(rows)
        self._estimates = self._policy.estimates(_LEVEL)
        given, mean = getattr(policy, "delay", None), getattr(policy, "mean_delay", None)
        self._delay = given or (f"exponential({mean:g})" if mean else "constant(0)")

    def go_on(self, rng: np.random.Generator) -> tuple[int | None, float]:
        """In which bucket one continuation is decided, and the gain of what is kept."""
        means = self._drawn_means(rng)
        world = Problem(means, self._delay).start(rng=rng)
        policy, visits, last, look = self._policy.copy(), [0] * len(means), -1, 1
        for play in self._plays:
            world.play(play.arm, play.rounds)
            visits[play.arm] += play.arm != last
            last = play.arm
        loop = Loop(world, policy, self._rounds)
        for bucket in range(1, self._buckets + 1):
            for play in loop.play(bucket * self._rounds):
                visits[play.arm] += play.arm != last
                last = play.arm
            if bucket < look:
                continue
            # To within a twentieth: limits of Unmix with an unknown delay cost much.
            look = bucket + max(1, bucket // 20)
            commits = policy.ask().purpose == "commit"
            winner = named_winner(
                policy.estimates(_LEVEL), visits, commits=commits, removed=self._removed
            )
            if winner is not None:
                return bucket, means[winner] / float(np.mean(means)) - 1
        return None, means[last] / float(np.mean(means)) - 1

    def _drawn_means(self, rng: np.random.Generator) -> list[float]:
        half = float(ndtri((1 + _LEVEL) / 2))
        drawn = [
            rng.normal(
                (each.low + each.high) / 2 if each.mean is None else each.mean,
                max((each.high - each.low) / (2 * half), 0.0),
            )
            for each in self._estimates
        ]
        return [float(mean) for mean in np.clip(drawn, 1e-6, 1 - 1e-6)]


class _MarketRest:
    """The rest of a campaign that the market model decides.

    The sizes of what moves, and the delay, stay as they were learned last: to learn them again each
    week would take a hundred times as long.
    """

    def __init__(
        self,
        config: MarketConfig,
        rows: Sequence[RegionRow],
        barred: Mapping[str, Collection[str]],
        asked: Sequence[int] | None,
        buckets: int,
    ) -> None:
        self._config, self._buckets = config, buckets
        self._asked = None if asked is None else list(asked)
        end = 1 + max(row.bucket for row in rows)
        self._panel = Panel.of(rows, config, end)
        self._known = posterior(self._panel, config)
        self._pattern = np.log1p(summarize(rows, end, config).pattern)
        self._allowed = np.array(
            [
                [option not in barred.get(region, ()) for option in config.options]
                for region in config.regions
            ]
        )
        shown = zip(config.options, self._allowed.T, strict=True)
        self._gone = [option for option, regions in shown if not regions.any()]

    def go_on(self, rng: np.random.Generator) -> tuple[int | None, float]:
        """In which bucket one continuation is decided, and the gain of what is kept."""
        config, start = self._config, self._panel.end
        whole, effects = self._longer(), self._drawn_effects(rng)
        demand = self._demand(effects, rng)
        noise = rng.standard_normal(demand.shape)
        worth = np.exp(effects).mean(axis=0)
        asked = None if self._asked is None else list(self._asked)
        bucket, leader = start, 0
        while bucket < start + self._buckets:
            past = whole.until(bucket)
            found = posterior_with(past, config, self._known.hyper, self._known.explanations)
            leader = int(np.argmax(found.effects()[0]))
            named = winner_of(past, config, barred=self._gone, found=found).option
            if bucket > start and named is not None:
                kept = worth[config.options.index(named)]
                return bucket - start, float(kept / worth.mean() - 1)
            chosen = decide_panel(
                past, bucket, config, self._allowed, chances=False, found=found, asked=asked
            )
            if asked is not None:
                asked.append(bucket)
            until = min(chosen[0].until, start + self._buckets)
            for region, choice in enumerate(chosen):
                new = whole.shares[bucket - whole.first : until - whole.first, region]
                new[:] = np.eye(len(config.options))[config.options.index(choice.option)]
            self._sell(whole, until, demand, noise, effects)
            bucket = until
        return None, float(worth[leader] / worth.mean() - 1)

    def _longer(self) -> Panel:
        """The rows with as many empty ones after them as are simulated, with the usual visitors."""
        panel, buckets = self._panel, self._buckets
        usual = panel.exposure[-_USUAL:].mean(axis=0)
        regions, options = panel.shares.shape[1:]
        return Panel(
            panel.first,
            np.concatenate([panel.exposure, np.tile(usual, (buckets, 1))]),
            np.concatenate([panel.shares, np.zeros((buckets, regions, options))]),
            np.concatenate([panel.totals, np.full((buckets, regions), np.nan)]),
        )

    def _drawn_effects(self, rng: np.random.Generator) -> Floats:
        """Effects (log) by region and option: those of all regions drawn, with what is special."""
        mean, _ = self._known.effects()
        common = self._known.draws(rng, 1)[0]
        places = range(len(self._config.regions))
        return np.array([common + self._known.effects(place)[0] - mean for place in places])

    def _mix(self, panel: Panel) -> Floats:
        """The exposure behind the arrivals of each bucket, by region and option."""
        config = self._config
        early = panel.exposure[:FIRST_BUCKETS].mean(axis=0)
        before = status_quo_shares(config) * early[:, None]
        delays, shape = np.full(len(config.options), self._known.delay), shape_of(config.delay.law)
        dated = config.dated == "decision"
        mix: Floats
        mix, _ = arrival_mix(delays, shape, dated, panel.exposure, panel.shares, before)
        return mix

    def _demand(self, effects: Floats, rng: np.random.Generator) -> Floats:
        """Sales per visitor in each simulated bucket and region: walks, shocks, weekdays."""
        panel, hyper, several = self._panel, self._known.hyper, len(effects) > 1
        past = np.array([self._season(bucket) for bucket in range(panel.first, panel.end)])
        expected = (self._mix(panel) * np.exp(effects)).sum(axis=2) * np.exp(past)[:, None]
        seen = np.where(np.isfinite(panel.totals), expected, 0.0)[-_USUAL:].sum(axis=0)
        sold = np.nansum(panel.totals[-_USUAL:], axis=0)
        level = np.log(np.maximum(sold, 0.5) / np.maximum(seen, 1e-9))
        moves = hyper.region_walk * rng.standard_normal((self._buckets, len(level)))
        shocks = np.zeros(self._buckets)
        if several:
            moves += hyper.common_walk * rng.standard_normal((self._buckets, 1))
            shocks = hyper.shocks * rng.standard_normal(self._buckets)
        to_come = range(panel.end, panel.end + self._buckets)
        season = np.array([self._season(bucket) for bucket in to_come])
        return np.asarray(np.exp(level + moves.cumsum(axis=0) + (shocks + season)[:, None]))

    def _season(self, bucket: int) -> float:
        """The pattern (log) of a bucket: its weekday, or its hour and weekday."""
        at, first, found = bucket + self._config.phase, 0, 0.0
        for place, size in enumerate(PATTERNS[self._config.pattern]):
            found += self._pattern[first + (at // 24 if place else at) % size]
            first += size
        return found

    def _sell(
        self, whole: Panel, until: int, demand: Floats, noise: Floats, effects: Floats
    ) -> None:
        """Set the totals of simulated buckets before one, as they are known at its start."""
        hyper, first = self._known.hyper, self._panel.end - whole.first
        end = until - whole.first
        arrived = (self._mix(whole.until(until))[first:] * np.exp(effects)).sum(axis=2)
        mean = demand[: end - first] * arrived
        own = smeared(hyper.noise, carried_over(self._config))
        spread = np.sqrt(hyper.dispersion * mean + (own * mean) ** 2)
        sold = np.round(mean + spread * noise[: end - first])
        whole.totals[first:end] = np.maximum(sold, 0.0)
