"""A run in a market: what plays in which law of markets, with which seed.

The engine of `latesum.experiments` makes, keeps and resumes these runs as it does all others.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, whole_number
from latesum._plugins import read_call
from latesum.experiments.markets.players import Player, SwitchbackPlayer, player
from latesum.experiments.run import MEASURES, measures_of, register_measure
from latesum.experiments.spec import POLICY, USUAL_MEASURES, WORLD, Spec
from latesum.simulation.market import Market, MarketWorld

Floats = NDArray[np.float64]

#: What is kept of a run in a market.
MARKET_MEASURES = (*USUAL_MEASURES, "lost", "lost_by_split", "within", "intervals", "named")
#: The two-sided normal quantiles of 90% and 95%.
_QUANTILES = (1.6448536269514722, 1.959963984540054)


@dataclass(frozen=True, eq=False)
class MarketRunSpec(Spec):
    """A policy in a law of markets, from which every run draws one.

    The policy is text: "switchback", "half-time-test", "geo-test", or a policy of one stream.

    >>> spec = MarketRunSpec(Market(buckets=28), "half-time-test")
    >>> run = spec.run(0)
    >>> 0 < run.lost < 1
    True
    """

    market: Market
    policy: str
    _: KW_ONLY
    seed: int = 1
    measures: tuple[str, ...] = MARKET_MEASURES

    def __post_init__(self) -> None:
        if not isinstance(self.policy, str):
            raise InvalidInput(
                'in a market a policy is built for each run: give it as text, such as "flow" '
                'or "switchback".'
            )
        whole_number(self.seed, "the seed")
        measures_of(self.measures)
        settled = {
            "problem_name": self.problem_name or str(self.market),
            "policy_name": self.policy_name or self.policy,
            "checkpoints": tuple(range(1, self.market.buckets + 1)),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> dict[str, Any]:
        law = self.market.plain()
        data: dict[str, Any] = {"market": law, "policy": self.policy, "seed": self.seed}
        if self.measures != MARKET_MEASURES:
            data["measures"] = list(self.measures)
        return data

    @property
    def fields(self) -> dict[str, Any]:
        return {**self.market.plain(), "horizon": self.market.buckets, "seed": self.seed}

    @property
    def policy_fields(self) -> tuple[str, Mapping[str, Any]]:
        return read_call(self.policy, "policy")

    @property
    def about(self) -> dict[str, Any]:
        return {
            "problem": repr(self.market),
            "horizon": self.market.buckets,
            "unit": "buckets",
            "seed": self.seed,
        }

    def check(self) -> None:
        player(self.policy, self._start(0), 0)

    def run(self, number: int) -> MarketRun:
        """One run: it depends on this specification and its number, and on nothing else."""
        world = self._start(number)
        seed = int(self.seeds(number, POLICY).generate_state(1)[0])
        playing = player(self.policy, world, seed)
        for bucket in range(world.law.buckets):
            world.play(bucket, playing.decide(bucket))
        return MarketRun(world, playing)

    def _start(self, number: int) -> MarketWorld:
        return self.market.start(self.seeds(number, WORLD))


class MarketRun:
    """What happened in one run in a market, which is over, with what decided in it."""

    def __init__(self, world: MarketWorld, playing: Player) -> None:
        self.world, self.playing = world, playing
        self.horizon = world.law.buckets
        self.checkpoints = np.arange(1, self.horizon + 1)
        regions = np.arange(world.law.regions)
        self._shown = world.shown(self.horizon)[-self.horizon :]
        self._means = np.array([world.means(bucket) for bucket in range(self.horizon)])
        self.best = int(np.argmax(self._means.sum(axis=(0, 1))))
        top = np.full(len(regions), self.best)
        if world.law.differences:
            top = self._means.sum(axis=0).argmax(axis=1)  # the best of every region
        could = self._means[:, regions, top].sum(axis=1)
        sold = np.take_along_axis(self._means, self._shown[:, :, None], axis=2).sum(axis=(1, 2))
        #: The mean sales that were lost after each bucket, from none, and all of them.
        self._missed = np.append(0.0, np.cumsum(could - sold))
        #: Their share in the sales of the best option, and what it is by an equal split.
        self.lost = float(1 - sold.sum() / could.sum())
        self.lost_by_split = float(1 - self._means.mean(axis=2).sum() / could.sum())

    @functools.cached_property
    def answer(self) -> int:
        """The option that the policy would keep."""
        return self.playing.answer()

    @property
    def ended_on_best(self) -> bool:
        """Whether the policy would keep the best option."""
        return self.answer == self.best

    def regret(self, at: Any = None) -> Any:
        """The mean sales that were lost after some buckets."""
        return self._missed[self.horizon if at is None else np.asarray(at)]

    def falls_short(self, option: int) -> float:
        """By how much an option is worse than the best, as a share."""
        sold = self._means.sum(axis=(0, 1))
        return float(1 - sold[option] / sold.max())

    @property
    def switches(self) -> float:
        """How often a region changed its option, on average."""
        return float((np.diff(self._shown, axis=0) != 0).sum() / self.world.law.regions)


MEASURES.add("lost", lambda run: run.lost)
MEASURES.add("lost_by_split", lambda run: run.lost_by_split)
# By how much the option that it ends on is worse than the best.
MEASURES.add("within", lambda run: run.falls_short(run.answer))


@register_measure("intervals")
def intervals(run: MarketRun) -> Floats:
    """Shares of the effects in their 90% interval, in the 95% one, and with a wrong sign there."""
    found = run.playing.effects()
    if found is None:
        return np.full(3, np.nan)
    mean, sd = found[0][1:], found[1][1:]
    truth = run.world.effects[1:]
    off = np.abs(mean - truth)
    wrong = (np.abs(mean) > _QUANTILES[1] * sd) & (np.sign(mean) != np.sign(truth))
    return np.array(
        [np.mean(off <= _QUANTILES[0] * sd), np.mean(off <= _QUANTILES[1] * sd), np.mean(wrong)]
    )


@register_measure("named")
def named(run: MarketRun) -> Floats:
    """When a winner was named, and by how much it is worse than the best; NaN without."""
    winner = run.playing.winner if isinstance(run.playing, SwitchbackPlayer) else None
    if winner is None:
        return np.array([np.nan, np.nan])
    return np.array([winner[1], run.falls_short(winner[0])])
