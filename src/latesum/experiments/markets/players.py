"""Players in a market: the model's rule, tests with a regression, policies of one stream."""

from __future__ import annotations

import functools
import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name
from latesum._plugins import read_call
from latesum.delays.parsing import parse
from latesum.markets.config import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig
from latesum.markets.model import Posterior
from latesum.markets.rows import Panel
from latesum.markets.rule import decide_panel
from latesum.markets.search import posterior
from latesum.markets.summary import widening, winner_of
from latesum.policies import PolicySpec
from latesum.simulation.market import MarketWorld

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: In a test the options rotate once a week.
WEEK = 7


class SwitchbackPlayer:
    """The rule of `latesum.markets`.

    Args:
        given: The mean delay that is given, as a multiple of the truth.
        shape: The law of the delay that is given, of which the shape counts.
        status_quo: What is given as it: the "truth", "not known", "nothing" or "wrong" (the last
            option).
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
        status_quo: str = "truth",
        winner: bool = False,
        **config: Any,
    ) -> None:
        self._world, law = world, world.law
        options = tuple(f"{option}" for option in range(law.options))
        truth = {"option": "0", "nothing": NOTHING, "other": NOT_KNOWN}[law.status_quo]
        answers = {"truth": truth, "not known": NOT_KNOWN, "nothing": NOTHING, "wrong": options[-1]}
        self.config = MarketConfig(
            options,
            law.buckets,
            regions=tuple(f"r{region}" for region in range(law.regions)),
            delay=DelayPrior(given * law.delay, certainty, None if shape is None else parse(shape)),
            status_quo=answers[known_name(status_quo, answers, "status quo")],
            pattern="weekday" if law.week == 7 else "workday",
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
        if law.status_quo != "nothing":
            ran = 0 if law.status_quo == "option" else "other"
            known["status_quo"] = ran  # type: ignore[assignment]
        policy = spec.given(known).build()
        rng = np.random.default_rng([seed, 7])
        takes = law.history and "history" in spec.accepted
        given = {"history": self._history()} if takes else {}
        self._policy = policy.fresh(rng=rng if policy.random else None, **given)
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


def regression(outcome: Floats, design: Floats, clusters: Integers) -> tuple[Floats, Floats]:
    """Ordinary least squares: estimates, and standard errors clustered as statsmodels does.

    >>> design = np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]])
    >>> estimates, _ = regression(np.array([1.0, 2, 3, 5]), design, np.array([0, 0, 1, 1]))
    >>> estimates.round(3)
    array([0.8, 1.3])
    """
    bread = np.linalg.pinv(design.T @ design)
    estimates = bread @ (design.T @ outcome)
    residual = outcome - design @ estimates
    names, positions = np.unique(clusters, return_inverse=True)
    scores = np.zeros((len(names), design.shape[1]))
    np.add.at(scores, positions, design * residual[:, None])
    rows, rank, groups = len(outcome), int(np.linalg.matrix_rank(design)), len(names)
    factor = groups / max(groups - 1, 1) * (rows - 1) / max(rows - rank, 1)
    covariance = factor * bread @ (scores.T @ scores) @ bread
    return estimates, np.sqrt(np.maximum(np.diag(covariance), 0.0))


class SwitchbackTest:
    """Options rotate weekly in a Latin square over the regions; then a regression names the best.

    log(total / rounds) on options, regions and days (one stream: weekdays, and a quadratic trend if
    every option has two weeks), without the first days after each switch, errors clustered by
    region and week.
    """

    def __init__(self, world: MarketWorld, share: float) -> None:
        law = world.law
        self._world = world
        self._tested = max(WEEK * 2, round(share * law.buckets))
        self._answer: int | None = None
        self._first = 0  # the history is left out
        self._by_day = law.regions > 1
        # Otherwise a trend cannot be separated from the options.
        self._trend = law.regions == 1 and self._tested >= 2 * WEEK * law.options

    def decide(self, bucket: int) -> list[int]:
        """What every region shows."""
        law = self._world.law
        if bucket < self._tested:
            return [self._tried(region, bucket) % law.options for region in range(law.regions)]
        return [self.answer()] * law.regions

    def _tried(self, region: int, bucket: int) -> int:
        return region + bucket // WEEK

    def answer(self) -> int:
        """The option that it ends on."""
        if self._answer is None:
            self._answer = int(np.argmax(self.effects()[0]))
        return self._answer

    def effects(self) -> tuple[Floats, Floats]:
        """The options against the first (log), and their standard errors."""
        world, law, end = self._world, self._world.law, self._tested
        kept = end - self._first
        totals, rounds = world.totals(end)[-kept:], world.rounds(end)[-kept:]
        shown, start = world.shown(end)[-kept:], -self._first
        changes = np.flatnonzero(np.any(np.diff(shown, axis=0) != 0, axis=1)) + 1
        usable = np.isfinite(totals)
        for place in [start, *changes.tolist()]:
            usable[place : place + math.ceil(law.delay)] = False
        at, where = np.nonzero(usable)
        outcome = np.log((totals[usable] + 0.5) / rounds[usable])
        columns = [shown[usable] == option for option in range(1, law.options)]
        columns += [where == region for region in range(law.regions)]
        if self._by_day:
            columns += [at == bucket for bucket in np.unique(at)[1:]]
        else:
            weekday = (at - start + world.phase) % law.week
            columns += [weekday == day for day in range(1, law.week)]
        if self._trend:
            columns += [at / end, (at / end) ** 2]
        design = np.column_stack(columns).astype(float)
        found = regression(outcome, design, where * 1000 + at // WEEK)
        estimates, errors = (np.append(0.0, each[: law.options - 1]) for each in found)
        return estimates, errors


class GeoTest(SwitchbackTest):
    """Difference in differences: each region keeps one option for half the time.

    With fewer regions than options, each option has one block, against the weekdays of the history.
    """

    def __init__(self, world: MarketWorld, share: float) -> None:
        super().__init__(world, share)
        self._first, self._trend = world.first, False
        self._by_day = world.law.regions >= world.law.options

    def _tried(self, region: int, bucket: int) -> int:
        block = -(-self._tested // self._world.law.options)
        return region if self._by_day else region + bucket // block


#: What plays in a market: `decide` is what every region shows in a bucket, `answer` the option that
#: it would keep after the end, `effects` the options against the first (log) with their standard
#: errors, if it has any.
Player = SwitchbackPlayer | SwitchbackTest | BlockPlayer
#: Tests, by their names.
_TESTS: dict[str, tuple[type[SwitchbackTest], float]] = {
    "half-time-test": (SwitchbackTest, 0.5),
    "geo-test": (GeoTest, 0.5),
    "equal-split": (SwitchbackTest, 1.0),
}
#: What plays in markets only; all other names are policies of one stream.
OWN = ("switchback", *_TESTS)


def player(text: str, world: MarketWorld, seed: int) -> Player:
    """What a text names, in a market: a name of `OWN` or of a policy, with parameters in brackets.

    >>> from latesum.simulation.market import Market
    >>> world = Market(buckets=30).start(np.random.SeedSequence(1))
    >>> [player("equal-split", world, 1).decide(day) for day in (0, 7, 14)]
    [[0], [1], [2]]
    """
    name, parameters = read_call(text, "policy")
    if name == "switchback":
        return SwitchbackPlayer(world, seed, **parameters)
    if name in _TESTS:
        test, share = _TESTS[name]
        return test(world, **{"share": share, **parameters})
    return BlockPlayer(world, PolicySpec.parse(text), seed)
