"""The loop of a simulated run: a policy asks for a block, the world plays it, its total is told.

`Reports` says when totals become known. Where that is late, `LateLoop` decides on what is known by
then, and tells the policy what was played once it is final.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies import Block, Play, Policy
from latesum.simulation import World


@dataclass(frozen=True)
class Reports:
    """When totals become known; by default at once, with decisions in any round.

    Args:
        bucket: Rounds of a bucket: decisions are taken, and totals reported, at its end.
            A bucket of one round is none: totals are those of blocks, and a decision is taken when
            a block is over, or when the total of an earlier one becomes known meanwhile.
        lag: The rounds after the end of a block or bucket until its total is known.
        missing: The chance that the total of a bucket never comes.
        final_after: The number of buckets after which a total is restated.
        first_share: The factor by which the report is off until then.

    >>> Reports(500, lag=1000, missing=0.02).late
    True
    """

    bucket: int = 1
    lag: int = 0
    missing: float = 0.0
    final_after: int = 0
    first_share: float = 1.0

    def __post_init__(self) -> None:
        whole_number(self.bucket, "the bucket", at_least=1)
        whole_number(self.lag, "the report lag")
        finite_number(self.missing, "the chance of a missing total", at_least=0, at_most=1)
        whole_number(self.final_after, "the buckets until a total is final")
        finite_number(self.first_share, "the share in a first report", above=0)
        if (self.missing or self.final_after) and self.bucket == 1:
            raise InvalidInput(
                "totals that are missing or restated come in buckets: say bucket=..., in rounds."
            )

    @property
    def late(self) -> bool:
        """Whether totals are not all known, and final, when their block or bucket is over."""
        return bool(self.lag or self.missing or self.final_after)


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
    played, and nothing will be learned from it. Missing reports are drawn from `rng`.
    """

    def __init__(
        self,
        world: World,
        policy: Policy,
        reports: Reports,
        rng: np.random.Generator | None = None,
    ) -> None:
        super().__init__(world, policy, reports.bucket)
        self._how = reports
        self._rng = rng or np.random.default_rng(0)  # where none is missing nothing is drawn
        self._unknown: deque[_Report] = deque()  # on its way
        self._pending: deque[Play] = deque()  # what that is about, blocks in one piece
        self._revisable: deque[_Report] = deque()  # known, and not final
        #: The copy that decided last: it decides again unless a total became known.
        self._deciding: Policy | None = None

    def _ask(self, left: int) -> Block:
        block = self._decide()
        if self._bucket > 1:
            return block._replace(rounds=min(self._bucket, left))
        rounds = block.rounds if block.segment is None else min(block.rounds, block.segment)
        # Segments of one block bring no decision: each would cut the next one.
        news = (each.known_at for each in self._unknown if each.play.number != block.number)
        wait = next((at - self.rounds_played for at in news), None)
        if wait is not None:
            waits = block.purpose == "bridge" and rounds == 1  # for something to become known
            rounds = wait if waits else min(rounds, wait)
        return block._replace(rounds=min(rounds, left))

    def _decide(self) -> Block:
        self._take_in()
        if not self._revisable and not self._pending:
            return self._policy.ask()
        if self._deciding is not None:
            self._deciding.tell(*self._last._replace(total=None))
            return self._deciding.ask()
        deciding = self._policy.copy()
        told: deque[Play] = deque()
        for play, first, *_ in self._revisable:
            self._append(told, play._replace(total=first))
        for play in self._pending:
            self._append(told, play)
        for play in told:
            deciding.tell(*play)
        if not (self._how.missing or self._how.final_after):  # or what is pending may change too
            self._deciding = deciding
        return deciding.ask()

    def _take_in(self) -> None:
        """What became known by now, and of that what is final."""
        now = self.rounds_played
        while self._unknown and self._unknown[0].known_at <= now:
            report = self._unknown.popleft()
            self._revisable.append(report)
            block = self._pending.popleft()
            if rest := block.rounds - report.play.rounds:
                self._pending.appendleft(block._replace(rounds=rest))
        while self._revisable and self._revisable[0].final_at <= now:
            play = self._revisable.popleft().play
            purpose = "override" if play.total is None else play.purpose
            self._policy.tell(play.arm, play.rounds, play.total, purpose, play.number)
            self._deciding = None

    def _tell(self, play: Play) -> None:
        self._last = play
        known_at = self.rounds_played + self._how.lag
        final_at = known_at + self._how.final_after * self._bucket
        first = play.total
        if first is None or (self._how.missing and self._rng.random() < self._how.missing):
            play, first = play._replace(total=None), None
        elif final_at > known_at:
            first *= self._how.first_share
        self._unknown.append(_Report(play, first, known_at, final_at))
        self._append(self._pending, play._replace(total=None))

    def _append(self, plays: deque[Play], play: Play) -> None:
        """Add a play; pending segments of one block in one piece, where they are learned so."""
        last = plays[-1] if plays and self._policy.learns_from == "blocks" else None
        if play.total is None and last is not None and last._replace(rounds=play.rounds) == play:
            plays[-1] = play._replace(rounds=last.rounds + play.rounds)
        else:
            plays.append(play)
