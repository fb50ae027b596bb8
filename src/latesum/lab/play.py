"""The one loop of simulation: a policy asks, the world plays, and what is reported is told.

How totals become known is an object: `AtOnce`, `InBuckets` or `Poor`. Each makes a feed, which
stands between the policy and the loop: it decides on what is known by then, says how long the
stretch lasts, and takes in what was played.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from latesum._checks import whole_number
from latesum.policies import Play, Policy, Stretch
from latesum.world import Reporting


class PlayableWorld(Protocol):
    """What the loop needs of a world."""

    def play(self, arm: int, rounds: int) -> float:
        """Play `arm` for `rounds` rounds and return the total that arrives during them."""


class Feed(Protocol):
    """What stands between a policy and the loop."""

    def ask(self) -> Stretch:
        """What the policy decides on what it knows by now."""

    def rounds(self, stretch: Stretch, left: int) -> int:
        """How long to play before the next decision, with `left` rounds to go."""

    def take(self, play: Play) -> None:
        """This was played."""


@dataclass(frozen=True)
class AtOnce:
    """A total is known as soon as its stretch is over, and decisions are taken in any round."""

    bucket = 1
    lag = 0

    def feed(self, policy: Policy, rng: np.random.Generator | None) -> Feed:
        """The feed of one run."""
        return _AtOnceFeed(policy)


@dataclass(frozen=True)
class InBuckets:
    """Decisions are taken at the ends of buckets of `bucket` rounds, on totals that are known
    `lag` rounds after the end of theirs."""

    bucket: int
    lag: int = 0

    def __post_init__(self) -> None:
        whole_number(self.bucket, "the bucket", at_least=1)
        whole_number(self.lag, "the report lag")

    def feed(self, policy: Policy, rng: np.random.Generator | None) -> Feed:
        """The feed of one run."""
        return _LaggedFeed(policy, self) if self.lag else _BucketFeed(policy, self.bucket)


@dataclass(frozen=True)
class Poor(InBuckets):
    """As in buckets, and reported poorly: missing, noisy, restated, several at once."""

    reporting: Reporting = field(default_factory=Reporting)

    def feed(self, policy: Policy, rng: np.random.Generator | None) -> Feed:
        """The feed of one run; `rng` draws what happens to the reports."""
        assert rng is not None
        return _PoorFeed(policy, self, rng)


Reports = AtOnce | InBuckets | Poor


class Game:
    """A policy in a world. It can be played on: what is not known yet is kept between calls."""

    def __init__(
        self,
        world: PlayableWorld,
        policy: Policy,
        reports: Reports = AtOnce(),  # noqa: B008 - frozen
        *,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._world = world
        self._feed = reports.feed(policy, rng)
        self.rounds_played = 0

    def play(self, until: int) -> Iterator[Play]:
        """Play until this many rounds have been played in all; the last stretch may be cut short.

        >>> from latesum import ODAAF, Problem
        >>> world = Problem([0.5, 0.6], "constant(2)").start(rng=np.random.default_rng(1))
        >>> game = Game(world, ODAAF(2, 1000, mean_delay=2))
        >>> [play.rounds for play in game.play(400)], [play.rounds for play in game.play(500)]
        ([274, 126], [100])
        """
        world, feed = self._world, self._feed
        while (left := until - self.rounds_played) > 0:
            stretch = feed.ask()
            rounds = feed.rounds(stretch, left)
            arm = stretch[0]
            play = Play(arm, rounds, world.play(arm, rounds), stretch[2], stretch[3])
            feed.take(play)
            self.rounds_played += rounds
            yield play


class _AtOnceFeed:
    def __init__(self, policy: Policy) -> None:
        self.ask = policy.ask
        self._tell = policy.tell

    def rounds(self, stretch: Stretch, left: int) -> int:
        part = stretch[4]
        return min(stretch[1], left) if part is None else min(stretch[1], left, part)

    def take(self, play: Play) -> None:
        self._tell(*play)


class _BucketFeed(_AtOnceFeed):
    """Totals are known at the ends of buckets, so nothing can change within a stretch."""

    def __init__(self, policy: Policy, bucket: int) -> None:
        super().__init__(policy)
        self._bucket = bucket

    def rounds(self, stretch: Stretch, left: int) -> int:
        buckets = -(-stretch[1] // self._bucket)
        if stretch[4] is not None:
            buckets = min(buckets, max(1, stretch[4] // self._bucket))
        return min(buckets * self._bucket, left)


class _LaggedFeed:
    """One bucket at a time; what is not known yet is told to a copy, as pending."""

    def __init__(self, policy: Policy, reports: InBuckets) -> None:
        self._policy = policy
        self._reports = reports
        self._now = 0
        self._unreported: deque[tuple[int, Play]] = deque()  # when it becomes known, and what
        #: The same without totals. What makes one stretch anyway is told in one piece.
        self._pending: deque[Play] = deque()
        self._joins = policy.learns_from == "stretches"

    def ask(self) -> Stretch:
        while self._unreported and self._unreported[0][0] <= self._now:
            self._tell(self._unreported.popleft()[1])
        if not self._pending:
            return self._policy.ask()
        deciding = self._policy.copy()
        for play in self._pending:
            deciding.tell(*play)
        return deciding.ask()

    def rounds(self, stretch: Stretch, left: int) -> int:
        return min(self._reports.bucket, left)

    def take(self, play: Play) -> None:
        self._now += play.rounds
        self._unreported.append((self._now + self._reports.lag, play))
        pending = play._replace(total=None)
        last = self._pending[-1] if self._pending else None
        if self._joins and last is not None and last._replace(rounds=play.rounds) == pending:
            self._pending[-1] = last._replace(rounds=last.rounds + play.rounds)
        else:
            self._pending.append(pending)

    def _tell(self, play: Play) -> None:
        self._policy.tell(*play)
        first = self._pending.popleft()
        if first.rounds > play.rounds:
            self._pending.appendleft(first._replace(rounds=first.rounds - play.rounds))


class _Report(NamedTuple):
    """What becomes known of a play, and when."""

    play: Play  # with the total that will stand in the end; None if it is missing forever
    first: float | None  # the total before it is restated
    known_at: int
    final_at: int


class _PoorFeed:
    """A total that is missing forever is told as an override: it was played, and nothing will be
    learned from it. Until then it is pending, as all totals are at first."""

    def __init__(self, policy: Policy, reports: Poor, rng: np.random.Generator) -> None:
        self._policy = policy
        self._reports = reports
        self._rng = rng
        self._now = 0
        self._waiting: list[Play] = []  # played, and in no report yet
        self._made: deque[_Report] = deque()

    def ask(self) -> Stretch:
        while self._made and self._made[0].final_at <= self._now:
            play = self._made.popleft().play
            purpose = "override" if play.total is None else play.purpose
            self._policy.tell(*play._replace(purpose=purpose))
        if not self._made and not self._waiting:
            return self._policy.ask()
        deciding = self._policy.copy()
        for report in self._made:
            total = report.first if report.known_at <= self._now else None
            deciding.tell(*report.play._replace(total=total))
        for play in self._waiting:
            deciding.tell(*play._replace(total=None))
        return deciding.ask()

    def rounds(self, stretch: Stretch, left: int) -> int:
        return min(self._reports.bucket, left)

    def take(self, play: Play) -> None:
        self._now += play.rounds
        self._waiting.append(play)
        reports = self._reports
        if len(self._waiting) == reports.reporting.together:
            known_at = self._now + reports.lag
            final_at = known_at + reports.reporting.final_after * reports.bucket
            for each in _as_reported(self._waiting, reports.reporting):
                self._made.append(self._report(each, known_at, final_at))
            self._waiting = []

    def _report(self, play: Play, known_at: int, final_at: int) -> _Report:
        reporting, rng = self._reports.reporting, self._rng
        if play.total is None or reporting.is_missing(rng):
            return _Report(play._replace(total=None), None, known_at, final_at)
        total = reporting.noisy(play.total, rng)
        first = reporting.first_report(total, rng) if final_at > known_at else total
        return _Report(play._replace(total=total), first, known_at, final_at)


def _as_reported(plays: list[Play], reporting: Reporting) -> list[Play]:
    if not reporting.summed or len(plays) == 1:
        return plays
    if len({(play.arm, play.purpose) for play in plays}) > 1:  # one sum of several options
        return [play._replace(total=None) for play in plays]
    total = sum(play.total or 0.0 for play in plays)
    return [plays[0]._replace(rounds=sum(play.rounds for play in plays), total=total)]
