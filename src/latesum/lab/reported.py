"""Deciding on totals that are reported poorly: missing, noisy, restated, several at once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from latesum.policies import Play, Policy
from latesum.world import Reporting, World


@dataclass
class _Report:
    """What becomes known of a play, and when."""

    play: Play  # with the total that will stand in the end; None if it is missing for good
    first: float | None  # the total before it is restated
    known_at: int
    final_at: int


def play_reported(
    world: World,
    policy: Policy,
    horizon: int,
    *,
    bucket: int,
    report_lag: int,
    reporting: Reporting,
    rng: np.random.Generator,
) -> list[Play]:
    """The plays of one run; `policy` decides at the ends of buckets on what is known by then.

    A total that is missing for good is told like a play that somebody ordered: it was played, and
    nothing will ever be learned from it. Until then it is pending, as all totals are at first.
    """
    plays: list[Play] = []
    waiting: list[Play] = []  # played, and in no report yet
    reports: deque[_Report] = deque()
    while world.rounds_played < horizon:
        now = world.rounds_played
        while reports and reports[0].final_at <= now:
            _tell_final(policy, reports.popleft().play)
        deciding = policy.copy() if reports or waiting else policy
        for report in reports:
            total = report.first if report.known_at <= now else None
            play = report.play
            deciding.tell(play.arm, play.rounds, total, play.purpose, play.number)
        for play in waiting:
            deciding.tell(play.arm, play.rounds, None, play.purpose, play.number)
        arm, _, purpose, number, _ = deciding.ask()
        rounds = min(bucket, horizon - now)
        plays.append(Play(arm, rounds, world.play(arm, rounds), purpose, number))
        waiting.append(plays[-1])
        if len(waiting) == reporting.together or world.rounds_played == horizon:
            known_at = world.rounds_played + report_lag
            final_at = known_at + reporting.final_after * bucket
            for play in _as_reported(waiting, reporting):
                reports.append(_report(play, known_at, final_at, reporting, rng))
            waiting = []
    return plays


def _as_reported(plays: list[Play], reporting: Reporting) -> list[Play]:
    if not reporting.summed or len(plays) == 1:
        return plays
    if len({(play.arm, play.purpose) for play in plays}) > 1:  # one sum of several options
        return [play._replace(total=None) for play in plays]
    total = sum(play.total or 0.0 for play in plays)
    return [plays[0]._replace(rounds=sum(play.rounds for play in plays), total=total)]


def _report(
    play: Play, known_at: int, final_at: int, reporting: Reporting, rng: np.random.Generator
) -> _Report:
    if play.total is None or reporting.is_missing(rng):
        return _Report(play._replace(total=None), None, known_at, final_at)
    total = reporting.noisy(play.total, rng)
    first = reporting.first_report(total, rng) if final_at > known_at else total
    return _Report(play._replace(total=total), first, known_at, final_at)


def _tell_final(policy: Policy, play: Play) -> None:
    purpose = "override" if play.total is None else play.purpose
    policy.tell(play.arm, play.rounds, play.total, purpose, play.number)
