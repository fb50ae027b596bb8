"""When a campaign with `switchback` will be decided: its market goes on many times, as its model knows it now.

Each simulated continuation draws all states of the model from what is known of them, lets levels and shocks
move as they did so far, and decides as the campaign does. The sizes of what moves, and the delay, stay as they
were learned last: to learn them again each week would take a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import market_rows
from latesum.campaigns.state import CampaignState
from latesum.campaigns.view import Status
from latesum.markets import MarketConfig, RegionRow
from latesum.markets.arrival_kernels import arrival_mix
from latesum.markets.arrivals import shape_of
from latesum.markets.config import PATTERNS
from latesum.markets.model import Posterior, posterior_with, root_of
from latesum.markets.rows import FIRST_BUCKETS, Panel, status_quo_shares
from latesum.markets.rule import decide_panel
from latesum.markets.search import posterior
from latesum.markets.summary import winner_of

Floats = NDArray[np.float64]

#: Of more regions the rest is not simulated: a fit takes longer the more there are.
MOST_REGIONS = 30
#: A campaign that is not decided after this many more buckets is said not to be decided soon.
MOST_BUCKETS = 180
#: The visitors to come are those of the last buckets.
_USUAL = 28
_MOST_REPLICATIONS, _FEWEST_REPLICATIONS = 40, 10


class MarketQuestion(NamedTuple):
    """What is needed to simulate the rest of a campaign with `switchback`, as JSON values.

    Args:
        config: The campaign's.
        rows: What the model is told.
        first: The campaign's number of the model's bucket 0.
        following: The next bucket, in the model's count.
        lag: Buckets between the end of one and the time when its total is known.
        dropped: The options that may not be shown, by region.
        rounds_known: Whether the rounds of buckets are reported.
        asked: The buckets that were asked for, in the model's count: a dwell begins with one of them.
    """

    config: dict[str, Any]
    rows: list[list[Any]]
    first: int
    following: int
    lag: int
    dropped: dict[str, list[int]]
    rounds_known: bool
    asked: list[int]


def market_question_of(state: CampaignState, status: Status) -> MarketQuestion | None:
    """What is to be simulated; None if the campaign is over, decided or paused, or nothing is known.

    Args:
        state: What the log adds up to.
        status: The campaign's status.
    """
    over = status.state not in ("running", "pinned") or status.winner is not None
    if over or not any(row.state == "known" for row in status.timeline):
        return None
    found = market_rows(state, status.now)
    plain = [
        [row.region, row.bucket, row.rounds,
         row.shown if isinstance(row.shown, str) else dict(row.shown), row.total]
        for row in found.rows
    ]  # fmt: skip
    newest = max(row.bucket for row in status.timeline if row.state == "known")
    last = state.last or 0
    return MarketQuestion(
        state.config.to_json(), plain, found.first, last + 1 - found.first,
        max(0, last - newest - 1),
        {region: sorted(part.removed) for region, part in state.parts.items()},
        found.config.rounds_known, found.asked,
    )  # fmt: skip


def market_forecast(question: MarketQuestion) -> dict[str, Any]:
    """In how many more buckets the campaign is decided, in each simulated continuation; as `forecast` has it.

    Args:
        question: The campaign.
    """
    campaign = CampaignConfig.from_json(question.config)
    config = campaign.build_market(question.first, rounds_known=question.rounds_known)
    panel = Panel.of([RegionRow(*row) for row in question.rows], config, question.following)
    known = posterior(panel, config)
    allowed = np.ones((len(config.regions), len(config.options)), dtype=bool)
    for place, region in enumerate(config.regions):
        allowed[place, question.dropped.get(region, [])] = False
    replications = max(
        _FEWEST_REPLICATIONS, min(_MOST_REPLICATIONS, 4 * _MOST_REPLICATIONS // len(config.regions))
    )  # fmt: skip
    seeds = np.random.SeedSequence(config.seed).spawn(replications)
    found = [
        _continue(panel, config, known, allowed, question.asked, np.random.default_rng(seed))
        for seed in seeds
    ]
    decided = sorted(each + question.lag for each in found if each is not None)
    places = [int(share * (replications - 1)) for share in (0.1, 0.5, 0.9)]
    return {
        "buckets": [decided[place] if place < len(decided) else None for place in places],
        "decided": len(decided) / replications,
        "replications": replications,
    }


def _continue(
    panel: Panel,
    config: MarketConfig,
    known: Posterior,
    allowed: NDArray[np.bool_],
    asked: Sequence[int],
    rng: np.random.Generator,
) -> int | None:
    """The buckets until a winner is named in one simulated continuation; None if there is none soon."""
    start = panel.end
    whole = _longer(panel)
    world = _World(known, config, start, rng)
    bucket, asked = start, list(asked)
    while bucket < start + MOST_BUCKETS:
        past = whole.until(bucket)
        found = posterior_with(past, config, known.hyper, known.explanations)
        if bucket > start and winner_of(past, config, found=found).option is not None:
            return bucket - start
        chosen = decide_panel(
            past, bucket, config, allowed, chances=False, found=found, asked=asked
        )
        asked.append(bucket)
        until = min(chosen[0].until, start + MOST_BUCKETS)
        for region, choice in enumerate(chosen):
            whole.shares[bucket - panel.first : until - panel.first, region] = 0.0
            shown = config.options.index(choice.option)
            whole.shares[bucket - panel.first : until - panel.first, region, shown] = 1.0
        world.sell(whole, until)
        bucket = until
    return None


def _longer(panel: Panel) -> Panel:
    """The rows with as many empty ones after them as are simulated, with the usual visitors."""
    usual = panel.exposure[-_USUAL:].mean(axis=0)
    regions, options = panel.shares.shape[1:]
    return Panel(
        panel.first,
        np.concatenate([panel.exposure, np.tile(usual, (MOST_BUCKETS, 1))]),
        np.concatenate([panel.shares, np.zeros((MOST_BUCKETS, regions, options))]),
        np.concatenate([panel.totals, np.full((MOST_BUCKETS, regions), np.nan)]),
    )


class _World:
    """A market drawn from what is known of one, which goes on from there."""

    def __init__(
        self, known: Posterior, config: MarketConfig, start: int, rng: np.random.Generator
    ) -> None:
        self._config, self._rng, self._hyper = config, rng, known.hyper
        fit, options, regions = known.fits[0], len(config.options), len(config.regions)
        common = fit.mean + root_of(fit.covariance) @ rng.standard_normal(len(fit.mean))
        own = np.array(
            [
                mean + slopes @ common + root_of(covariance) @ rng.standard_normal(len(mean))
                for mean, slopes, covariance in zip(
                    fit.own_mean, fit.slopes, fit.own_covariance, strict=True
                )
            ]
        )
        self._start = start
        self._rates, self._noise = list[Floats](), list[Floats]()
        patterns = sum(PATTERNS[config.pattern])
        both = np.tile(common[: options + patterns], (regions, 1))
        if regions > 1:
            both = both + own[:, :-1]
        self._effects, self._patterns = both[:, :options], both[:, options:]
        self._levels = own[:, -1]
        self._common, self._shock = map(float, common[-2:] if regions > 1 else (0.0, 0.0))

    def sell(self, whole: Panel, until: int) -> None:
        """Set what arrived in all simulated buckets before one, as it is known at its beginning.

        Where totals are dated by decision, those of the last buckets are not full, and grow.
        """
        config, hyper, end = self._config, self._hyper, until - whole.first
        early = whole.exposure[:FIRST_BUCKETS].mean(axis=0)
        mix, _ = arrival_mix(
            hyper.delay, shape_of(config.delay.law), config.dated == "decision",
            whole.exposure[:end], whole.shares[:end], status_quo_shares(config) * early[:, None],
        )  # fmt: skip
        while self._start + len(self._rates) < until:
            self._pass_bucket()
        first = self._start - whole.first
        mean = np.array(self._rates) * (mix[first:end] * np.exp(self._effects)).sum(axis=2)
        spread = np.sqrt(hyper.dispersion * mean + (hyper.noise * mean) ** 2)
        whole.totals[first:end] = np.maximum(np.round(mean + spread * np.array(self._noise)), 0.0)

    def _pass_bucket(self) -> None:
        """Let levels and shocks move on by a bucket."""
        hyper, rng = self._hyper, self._rng
        self._levels = self._levels + hyper.region_walk * rng.standard_normal(len(self._levels))
        if len(self._levels) > 1:
            fading = float(np.exp(-1 / hyper.delay))  # the lag smears a shock
            self._common += hyper.common_walk * rng.standard_normal()
            self._shock = fading * self._shock + (
                np.sqrt(1 - fading**2) * hyper.shocks * rng.standard_normal()
            )
        pattern = self._pattern(self._start + len(self._rates))
        self._rates.append(np.exp(self._levels + self._common + self._shock + pattern))
        self._noise.append(rng.standard_normal(len(self._levels)))

    def _pattern(self, bucket: int) -> Floats:
        at, start = bucket + self._config.phase, 0
        sizes = PATTERNS[self._config.pattern]
        found = np.zeros(len(self._levels))
        for place, size in enumerate(sizes):
            turn = at // 24 if place else at  # hours, then weekdays
            found = found + self._patterns[:, start + turn % size]
            start += size
        return found
