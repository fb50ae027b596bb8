"""The loop of a simulated run: a policy asks for a block, the world plays it, its total is told.

`Reports` says when totals become known. Where that is late, `LateLoop` decides on what is known by
then, and tells the policy what was played once it is final.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.policies import Block, Play, Policy
from latesum.simulation import Reporting, World


@dataclass(frozen=True)
class Reports:
    """When totals become known; by default at once, with decisions in any round.

    Args:
        bucket: Rounds of a bucket: decisions are taken, and totals reported, at its end.
            A bucket of one round is none: totals are those of blocks, and a decision is taken when
            a block is over, or when the total of an earlier one becomes known meanwhile.
        lag: The rounds after the end of a block or bucket until its total is known.
        reporting: How totals are missing, noisy, revised or reported several at once; buckets only.

    >>> Reports(), Reports(500, lag=1000)
    (Reports(bucket=1, lag=0, reporting=None), Reports(bucket=500, lag=1000, reporting=None))
    """

    bucket: int = 1
    lag: int = 0
    reporting: Reporting | None = None

    def __post_init__(self) -> None:
        whole_number(self.bucket, "the bucket", at_least=1)
        whole_number(self.lag, "the report lag")
        if self.reporting is not None and self.bucket == 1:
            raise InvalidInput("poorly reported totals come in buckets: say bucket=..., in rounds.")


class Loop:
    """A policy in a world: ask for a block, play it, tell its total.

    Totals are known when their block or bucket is over, so nothing changes within a block.
    """

    def __init__(self, world: World, policy: Policy, bucket: int = 1) -> None:
        self._world, self._policy, self._bucket = world, policy, bucket
        self.rounds_played = 0

    def play(self, until: int) -> list[Play]:
        """Play until this many rounds have been played in all; the last block may be cut short.

        It can be played on: what is not known yet is kept between calls.

        >>> from latesum import ODAAF, Problem
        >>> world = Problem([0.5, 0.6], "constant(2)").start(rng=np.random.default_rng(1))
        >>> loop = Loop(world, ODAAF(2, 1000, mean_delay=2))
        >>> [play.rounds for play in loop.play(400)], [play.rounds for play in loop.play(500)]
        ([274, 126], [100])
        """
        plays = []
        while (left := until - self.rounds_played) > 0:
            arm, rounds, purpose, number, _ = self._ask(left)
            play = Play(arm, rounds, self._world.play(arm, rounds), purpose, number)
            self.rounds_played += rounds
            self._tell(play)
            plays.append(play)
        return plays

    def _ask(self, left: int) -> Block:
        """The next block, in whole buckets or in segments that the policy asks for."""
        block = self._policy.ask()
        buckets = -(-block.rounds // self._bucket)
        if block.segment is not None:
            buckets = min(buckets, max(1, block.segment // self._bucket))
        return block._replace(rounds=min(buckets * self._bucket, left))

    def _tell(self, play: Play) -> None:
        self._policy.tell(*play)


class _Report(NamedTuple):
    """What becomes known of a play, and when."""

    play: Play  # with the total that will stand in the end; None if it is missing forever
    first: float | None  # the total before it is revised
    known_at: int
    final_at: int


class LateLoop(Loop):
    """The same where totals become known late, or are poorly reported.

    One bucket is played at a time, or a block; what is not known yet is reported to a copy of the
    policy, as pending. A total that is missing forever becomes an override in the end: it was
    played, and nothing will be learned from it. Missing and noisy reports are drawn from `rng`.
    """

    def __init__(
        self,
        world: World,
        policy: Policy,
        reports: Reports,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(world, policy, reports.bucket)
        self._lag = reports.lag
        self._reporting = reports.reporting or Reporting()
        self._rng = rng or np.random.default_rng(0)  # an exact report draws nothing
        self._waiting: list[Play] = []  # played, and in no report yet
        self._reports: deque[_Report] = deque()
        #: The copy that decided last, up to date: it decides again unless a total became known.
        self._deciding: Policy | None = None

    def _ask(self, left: int) -> Block:
        block = self._decide()
        if self._bucket > 1:
            return block._replace(rounds=min(self._bucket, left))
        rounds = block.rounds if block.segment is None else min(block.rounds, block.segment)
        # Segments of one block bring no decision: each would cut the next one.
        news = (each.known_at for each in self._reports if each.play.number != block.number)
        wait = next((at - self.rounds_played for at in news if at > self.rounds_played), None)
        if wait is not None:
            waits = block.purpose == "bridge" and rounds == 1  # for something to become known
            rounds = wait if waits else min(rounds, wait)
        return block._replace(rounds=min(rounds, left))

    def _decide(self) -> Block:
        now = self.rounds_played
        while self._reports and self._reports[0].final_at <= now:
            play = self._reports.popleft().play
            purpose = "override" if play.total is None else play.purpose
            self._policy.tell(play.arm, play.rounds, play.total, purpose, play.number)
            self._deciding = None
        if not self._reports and not self._waiting:
            return self._policy.ask()
        if self._deciding is not None:
            return self._deciding.ask()
        deciding = self._policy.copy()
        known = [
            report.play._replace(total=report.first if report.known_at <= now else None)
            for report in self._reports
        ]
        waiting = [play._replace(total=None) for play in self._waiting]
        for play in _joined(known + waiting, deciding):
            deciding.tell(*play)
        if self._reporting == Reporting():  # otherwise what is pending may change too
            self._deciding = deciding
        return deciding.ask()

    def _tell(self, play: Play) -> None:
        self._waiting.append(play)
        if self._deciding is not None:
            self._deciding.tell(*play._replace(total=None))
        if len(self._waiting) == self._reporting.together:
            known_at = self.rounds_played + self._lag
            final_at = known_at + self._reporting.final_after * self._bucket
            for each in _as_reported(self._waiting, self._reporting):
                self._reports.append(self._report(each, known_at, final_at))
            self._waiting = []

    def _report(self, play: Play, known_at: int, final_at: int) -> _Report:
        reporting, rng = self._reporting, self._rng
        if play.total is None or reporting.is_missing(rng):
            return _Report(play._replace(total=None), None, known_at, final_at)
        total = reporting.noisy(play.total, rng)
        first = reporting.first_report(total, rng) if final_at > known_at else total
        return _Report(play._replace(total=total), first, known_at, final_at)


def _joined(plays: list[Play], policy: Policy) -> list[Play]:
    """Pending segments of one block in one piece, where the policy would take them so anyway."""
    if policy.learns_from != "blocks":
        return plays
    joined: list[Play] = []
    for play in plays:
        last: Any = joined[-1] if joined else None
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
