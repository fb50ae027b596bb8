"""Players in a market: the model's rule, the analysts' tests, policies of one stream."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name
from latesum._plugins import read_call
from latesum.delays.parsing import parse
from latesum.experiments.markets.analysts import GeoTest, SwitchbackTest
from latesum.markets.config import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig
from latesum.markets.model import Posterior
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel
from latesum.markets.search import posterior
from latesum.markets.summary import widening, winner_of
from latesum.policies import PolicySpec
from latesum.simulation.market import MarketWorld

Floats = NDArray[np.float64]


class Player(Protocol):
    """What decides in a market, bucket by bucket."""

    def decide(self, bucket: int) -> list[int]:
        """What every region shows in a bucket."""

    def answer(self) -> int:
        """The option that it would keep after the end."""

    def effects(self) -> tuple[Floats, Floats] | None:
        """The options against the first (log) and their standard errors, if it has an opinion."""


class SwitchbackPlayer:
    """The rule of `latesum.markets`.

    Args:
        world: The market.
        seed: What its draws come from.
        given: The mean delay that is given, as a multiple of the truth.
        certainty: How certain it is.
        shape: The law of the delay that is given, of which the shape counts.
        before: What is given as the status quo: the "truth", "not known", "nothing" or "wrong" (the
            last option).
        winner: Whether it looks for a winner at the end of every period.
        config: Further fields of the config, such as differing_delays=0.
    """

    def __init__(
        self,
        world: MarketWorld,
        seed: int,
        *,
        given: float = 1.0,
        certainty: Literal["known", "guess"] = "guess",
        shape: str | None = None,
        before: str = "truth",
        winner: bool = False,
        **config: Any,
    ) -> None:
        self._world, law = world, world.law
        options = tuple(f"{option}" for option in range(law.options))
        truth = {"status quo": "0", "nothing": NOTHING, "other": NOT_KNOWN}[law.before]
        answers = {"truth": truth, "not known": NOT_KNOWN, "nothing": NOTHING, "wrong": options[-1]}
        self.config = MarketConfig(
            options,
            law.buckets,
            regions=tuple(f"r{region}" for region in range(law.regions)),
            delay=DelayPrior(given * law.delay, certainty, None if shape is None else parse(shape)),
            status_quo=answers[known_name(before, answers, "status quo")],
            pattern="hour" if law.hours else "weekday" if law.week == 7 else "workday",
            phase=world.phase,
            holidays=world.holidays,
            dated=law.dated,
            amounts="money" if law.order_spread else "counts",
            report_lag=law.report_lag,
            rounds_known=law.rounds != "constant",
            seed=seed,
            **config,
        )
        self._looks = winner
        #: The option that was named first, and the bucket.
        self.winner: tuple[int, int] | None = None

    def panel(self, bucket: int) -> Panel:
        """The rows before a bucket as they are known at its start."""
        world = self._world
        shares = np.eye(world.law.options)[world.shown(bucket)]
        return Panel(world.first, world.rounds(bucket), shares, world.totals(bucket))

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        config = self.config
        if bucket % config.period_length and bucket:
            return [int(option) for option in self._world.shown(bucket)[-1]]
        panel = self.panel(bucket)
        found = None
        if bucket >= config.sweep * config.period_length:
            found = posterior(panel, config)
            if self._looks and self.winner is None:
                named = winner_of(panel, config, found=found).option
                self.winner = None if named is None else (int(named), bucket)
        chosen = decide_panel(panel, bucket, config, chances=False, found=found)
        return [int(each.option) for each in chosen]

    @functools.cached_property
    def _last(self) -> Posterior:
        return posterior(self.panel(self._world.law.buckets), self.config)

    def answer(self) -> int:
        """The option with the highest mean, all regions together."""
        return int(np.argmax(self._last.effects()[0]))

    def effects(self) -> tuple[Floats, Floats]:
        """The options against the first (log), and their standard errors."""
        mean, covariance = self._last.effects()
        contrast = np.eye(len(mean))
        contrast[:, 0] -= 1
        variance = np.diag(contrast @ covariance @ contrast.T)
        return contrast @ mean, widening(self.config) * np.sqrt(np.maximum(variance, 0.0))


class BlockPlayer:
    """A policy that sees one stream: all regions show the same, and it is told their sums."""

    def __init__(self, world: MarketWorld, spec: PolicySpec, seed: int) -> None:
        self._world, law = world, world.law
        if spec.sees != "totals":
            raise InvalidInput(
                f"{spec.name} has attributed feedback, and a market does not show that."
            )
        if law.report_lag or law.restated or law.missing or law.dated == "decision":
            raise InvalidInput(
                "policies of one stream play in markets whose totals are known at once."
            )
        self._size = float(world.rounds(max(law.buckets, 1)).sum(axis=1).mean())
        known = {
            "n_arms": law.options,
            "horizon": round(law.buckets * self._size),
            "mean_delay": law.delay * self._size,
            "delay_variance": (law.delay * self._size) ** 2,
        }
        if law.before != "nothing":
            ran = 0 if law.before == "status quo" else "other"
            known["status_quo"] = ran  # type: ignore[assignment]
        policy = spec.given(known).build()
        rng = np.random.default_rng([seed, 7])
        takes = law.history and "history" in spec.accepted
        told = {"history": self._history()} if takes else {}
        self._policy = policy.fresh(rng=rng if policy.random else None, **told)
        self._left = 0

    def _history(self) -> list[tuple[int, int, float]]:
        totals, rounds = self._world.totals(0).sum(axis=1), self._world.rounds(0).sum(axis=1)
        return [(0, int(n), float(total)) for n, total in zip(rounds, totals, strict=True)]

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        if bucket:
            self._tell(bucket)
        if self._left <= 0:
            asked = self._policy.ask()
            self._arm, self._purpose, self._number = asked.arm, asked.purpose, asked.number
            rounds = asked.rounds if asked.segment is None else min(asked.rounds, asked.segment)
            self._left = max(1, math.ceil(rounds / self._size))
        self._left -= 1
        return [self._arm] * self._world.law.regions

    def _tell(self, bucket: int) -> None:
        rounds = int(self._world.rounds(bucket)[-1].sum())
        total = float(self._world.totals(bucket)[-1].sum())
        self._policy.tell(self._arm, rounds, min(total, rounds), self._purpose, self._number)

    def answer(self) -> int:
        """The option that looks best to it."""
        self._tell(self._world.law.buckets)
        rows = [row for row in self._policy.estimates() if row.mean is not None]
        rows = [row for row in rows if row.active] or rows
        return max(rows, key=lambda row: row.mean or 0.0).arm if rows else 0

    def effects(self) -> None:
        """It has limits of means, and no intervals of effects."""
        return


class Always:
    """One option, for comparisons."""

    def __init__(self, world: MarketWorld, option: int = 0) -> None:
        self._world, self._option = world, option

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        return [self._option] * self._world.law.regions

    def answer(self) -> int:
        """The option."""
        return self._option

    def effects(self) -> None:
        """It has no opinion."""
        return


class EqualSplit(Always):
    """Every option for as long as the others, a week at a time, for all of the time."""

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        law = self._world.law
        return [(region + bucket // 7) % law.options for region in range(law.regions)]


#: What plays in markets only; all other names are policies of one stream.
OWN = ("switchback", "half-time-test", "geo-test", "equal-split", "always")


def player(text: str, world: MarketWorld, seed: int) -> Player:
    """What a text names, in a market: a name of `OWN` or of a policy, with parameters in brackets.

    >>> from latesum.simulation.market import Market
    >>> world = Market(buckets=30).start(np.random.SeedSequence(1))
    >>> player("always(option=2)", world, 1).decide(0)
    [2]
    """
    name, parameters = read_call(text, "policy")
    if name not in OWN:
        return BlockPlayer(world, PolicySpec.parse(text), seed)
    if name == "switchback":
        return SwitchbackPlayer(world, seed, **parameters)
    made: dict[str, Any] = {
        "half-time-test": SwitchbackTest,
        "geo-test": GeoTest,
        "equal-split": EqualSplit,
        "always": Always,
    }
    playing: Player = made[name](world, **parameters)
    return playing
