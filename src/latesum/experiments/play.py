"""The one loop of simulation: a policy asks, the world plays, and what is reported is told.

How totals become known is an object: `AtOnce`, `InBuckets` or `Poor`. Each makes a feed, which
stands between the policy and the loop: it decides on what is known by then and for how long, and
takes in what was played.
"""

from __future__ import annotations

import copy
import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Union

import numpy as np

from latesum._checks import whole_number
from latesum.experiments.whole_runs import LateRun, late_run, play_whole
from latesum.policies import Block, Play, Policy
from latesum.policies.base import Purpose, new_play
from latesum.simulation import Reporting, World
from latesum.simulation.buckets import BucketWorld


@dataclass(frozen=True)
class AtOnce:
    """A total is known as soon as its block is over, and decisions are taken in any round."""

    bucket = 1
    lag = 0

    def feed(self, policy: Policy, rng: np.random.Generator | None) -> Feed:
        """What stands between the policy and the loop in one run."""
        return _AtOnceFeed(policy)


@dataclass(frozen=True)
class InBuckets:
    """Decisions are taken at the ends of buckets of `bucket` rounds, on totals that are known
    `lag` rounds after the end of theirs.

    A bucket of one round is none: totals are then those of blocks, and a decision is taken when a
    block is over, or when the total of an earlier one becomes known meanwhile.
    """

    bucket: int
    lag: int = 0

    def __post_init__(self) -> None:
        whole_number(self.bucket, "the bucket", at_least=1)
        whole_number(self.lag, "the report lag")

    def feed(self, policy: Policy, rng: np.random.Generator | None) -> Feed:
        """What stands between the policy and the loop in one run; `rng` is for poor reports."""
        if self.lag or isinstance(self, Poor):
            return _LateFeed(policy, self, rng)
        return _BucketFeed(policy, self.bucket)


@dataclass(frozen=True)
class Poor(InBuckets):
    """As in buckets, and reported poorly: missing, noisy, restated, several at once."""

    reporting: Reporting = field(default_factory=Reporting)


Reports = AtOnce | InBuckets | Poor
Feed = Union["_AtOnceFeed", "_LateFeed"]


class Game:
    """A policy in a world. It can be played on: what is not known yet is kept between calls."""

    def __init__(
        self,
        world: World | BucketWorld,
        policy: Policy,
        reports: Reports = AtOnce(),  # noqa: B008 - frozen
        *,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._world = world
        self._policy = policy
        self._reports = reports
        self._feed = reports.feed(policy, rng)
        self._rest: Callable[[], None] | None = None  # what the policy must be told
        self._late: LateRun | None = None  # what plays on until the policy is asked for
        self.rounds_played = 0

    @property
    def policy(self) -> Policy:
        """The policy, told all that it is told by now."""
        if self._rest is not None:
            self._rest()
            self._rest = self._late = None
        return self._policy

    def plays(self, until: int) -> Sequence[Play]:
        """What `play` gives, in one piece: played by compiled code where nothing needs Python.

        Args:
            until: As for `play`.
        """
        plays = self.last_plays(until)
        _ = self.policy
        return plays

    def last_plays(self, until: int) -> Sequence[Play]:
        """The same where the policy is not looked at: it is told the last when `policy` is asked for.

        Args:
            until: As for `play`.
        """
        if self._late is not None and until > self.rounds_played:
            return self._play_late_on(self._late, until)
        policy, left = self.policy, until - self.rounds_played
        plays: Sequence[Play] | None = None
        if left > 0 and isinstance(self._feed, _LateFeed):
            plays = self._late_plays(self._feed, until)
        elif left > 0:
            plays = play_whole(policy, self._world, self._reports.bucket, left, self._feed.ask)
            if plays is not None:
                self._rest = functools.partial(_tell_last, policy, plays)
        if plays is None:
            return list(self.play(until))
        self.rounds_played = until
        return plays

    def _late_plays(self, feed: _LateFeed, until: int) -> Sequence[Play] | None:
        """The same where totals are known late; None where that needs Python."""
        reports = self._reports
        if self.rounds_played or isinstance(reports, Poor):
            return None
        run = late_run(self._policy, self._world)
        if run is None:
            return None
        run.play(until, reports.bucket, reports.lag)
        self._late, self._rest = run, lambda: feed.go_on(self.rounds_played, *run.settle())
        return run.plays

    def _play_late_on(self, run: LateRun, until: int) -> Sequence[Play]:
        """Compiled code goes on from where it came to."""
        before = len(run.plays)
        run.plays = copy.deepcopy(run.plays)  # those of before were handed out
        run.play(until, self._reports.bucket, self._reports.lag)
        self.rounds_played = until
        return run.plays[before:]

    def play(self, until: int) -> Iterator[Play]:
        """Play until this many rounds have been played in all; the last block may be cut short.

        >>> from latesum import ODAAF, Problem
        >>> world = Problem([0.5, 0.6], "constant(2)").start(rng=np.random.default_rng(1))
        >>> game = Game(world, ODAAF(2, 1000, mean_delay=2))
        >>> [play.rounds for play in game.play(400)], [play.rounds for play in game.play(500)]
        ([274, 126], [100])
        """
        _ = self.policy
        world_play, ask, tell = self._world.play, self._feed.ask, self._feed.tell
        while (left := until - self.rounds_played) > 0:
            arm, rounds, purpose, number = ask(left)
            total = world_play(arm, rounds)
            tell(arm, rounds, total, purpose, number)
            self.rounds_played += rounds
            yield new_play(Play, (arm, rounds, total, purpose, number))


def _tell_last(policy: Policy, plays: Sequence[Play]) -> None:
    policy.tell(*plays[-1])


#: Arm, rounds, purpose and number of what is played next.
_Next = tuple[int, int, Purpose, int]


class _AtOnceFeed:
    def __init__(self, policy: Policy) -> None:
        self._ask = policy.ask
        self.tell = policy.tell

    def ask(self, left: int) -> _Next:
        arm, rounds, purpose, number, part = self._ask()
        if part is not None:
            rounds = min(rounds, part)
        return arm, rounds if rounds < left else left, purpose, number


class _BucketFeed(_AtOnceFeed):
    """Totals are known at the ends of buckets, so nothing can change within a block."""

    def __init__(self, policy: Policy, bucket: int) -> None:
        super().__init__(policy)
        self._bucket = bucket

    def ask(self, left: int) -> _Next:
        arm, rounds, purpose, number, part = self._ask()
        buckets = -(-rounds // self._bucket)
        if part is not None:
            buckets = min(buckets, max(1, part // self._bucket))
        return arm, min(buckets * self._bucket, left), purpose, number


class _Report(NamedTuple):
    """What becomes known of a play, and when."""

    play: Play  # with the total that will stand in the end; None if it is missing forever
    first: float | None  # the total before it is restated
    known_at: int
    final_at: int


class _LateFeed:
    """One bucket at a time, or a block; what is not known yet is told to a copy, as pending.

    A total that is missing forever is told as an override in the end: it was played, and nothing
    will be learned from it.
    """

    def __init__(self, policy: Policy, reports: InBuckets, rng: np.random.Generator | None) -> None:
        self._policy = policy
        self._bucket, self._lag = reports.bucket, reports.lag
        self._reporting = reports.reporting if isinstance(reports, Poor) else Reporting()
        self._rng = rng or np.random.default_rng(0)  # an exact report draws nothing
        self._now = 0
        self._waiting: list[Play] = []  # played, and in no report yet
        self._reports: deque[_Report] = deque()
        #: The copy that decided last, told all since: it decides again unless a total became known.
        self._ahead: Policy | None = None

    def ask(self, left: int) -> _Next:
        arm, rounds, purpose, number, part = self._decide()
        if self._bucket > 1:
            return arm, min(self._bucket, left), purpose, number
        if part is not None:
            rounds = min(rounds, part)
        # Parts of one block bring no decision: each would cut the next one.
        news = (each.known_at for each in self._reports if each.play.number != number)
        wait = next((at - self._now for at in news if at > self._now), None)
        if wait is not None:
            waits = purpose == "bridge" and rounds == 1  # for something to become known
            rounds = wait if waits else min(rounds, wait)
        return arm, min(rounds, left), purpose, number

    def _decide(self) -> Block:
        now = self._now
        while self._reports and self._reports[0].final_at <= now:
            play = self._reports.popleft().play
            purpose = "override" if play.total is None else play.purpose
            self._policy.tell(play.arm, play.rounds, play.total, purpose, play.number)
            self._ahead = None
        if not self._reports and not self._waiting:
            return self._policy.ask()
        if self._ahead is not None:
            return self._ahead.ask()
        deciding = self._policy.copy()
        known = [
            report.play._replace(total=report.first if report.known_at <= now else None)
            for report in self._reports
        ]
        for play in _joined(
            known + [play._replace(total=None) for play in self._waiting], deciding
        ):
            deciding.tell(*play)
        if self._reporting == Reporting():  # otherwise what is pending may change too
            self._ahead = deciding
        return deciding.ask()

    def tell(
        self, arm: int, rounds: int, total: float | None, purpose: Purpose, number: int | None
    ) -> None:
        self._now += rounds
        self._waiting.append(Play(arm, rounds, total, purpose, number))
        if self._ahead is not None:
            self._ahead.tell(arm, rounds, None, purpose, number)
        if len(self._waiting) == self._reporting.together:
            known_at = self._now + self._lag
            final_at = known_at + self._reporting.final_after * self._bucket
            for each in _as_reported(self._waiting, self._reporting):
                self._reports.append(self._report(each, known_at, final_at))
            self._waiting = []

    def go_on(self, now: int, unknown: list[Play], ahead: Policy | None) -> None:
        """Go on from where compiled code came to: after `now` rounds, with what is not known yet."""
        self._now, self._ahead = now, ahead
        ends = now - sum(play.rounds for play in unknown)
        for play in unknown:
            ends += play.rounds
            self._reports.append(_Report(play, play.total, ends + self._lag, ends + self._lag))

    def _report(self, play: Play, known_at: int, final_at: int) -> _Report:
        reporting, rng = self._reporting, self._rng
        if play.total is None or reporting.is_missing(rng):
            return _Report(play._replace(total=None), None, known_at, final_at)
        total = reporting.noisy(play.total, rng)
        first = reporting.first_report(total, rng) if final_at > known_at else total
        return _Report(play._replace(total=total), first, known_at, final_at)


def _joined(plays: list[Play], policy: Policy) -> list[Play]:
    """Pending parts of one block in one piece, where the policy would take them so anyway."""
    if policy.learns_from != "blocks":
        return plays
    joined: list[Play] = []
    for play in plays:
        last = joined[-1] if joined else None
        if play.total is None and last is not None and last._replace(rounds=play.rounds) == play:
            joined[-1] = play._replace(rounds=last.rounds + play.rounds)
        else:
            joined.append(play)
    return joined


def _as_reported(plays: list[Play], reporting: Reporting) -> list[Play]:
    if not reporting.summed or len(plays) == 1:
        return plays
    if len({(play.arm, play.purpose) for play in plays}) > 1:  # one sum of several options
        return [play._replace(total=None) for play in plays]
    total = sum(play.total or 0.0 for play in plays)
    return [plays[0]._replace(rounds=sum(play.rounds for play in plays), total=total)]
