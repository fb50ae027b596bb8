"""Many runs of one setting in one compiled call: what a run costs Python is paid once for all of them.

They are the runs that `RunSpec.run` makes one by one, to the last bit: the same kernels play them, with the same
draws. A run in which something needs Python, such as a reward that comes later than its table of delays, is
made by `RunSpec.run`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.experiments.plays import Plays
from latesum.experiments.run import Run
from latesum.experiments.whole_runs import COMPILED, another
from latesum.policies import Policy
from latesum.simulation import Problem

#: Plays for which there is room in one call: a run with more is made by itself.
_ROOM = 1 << 16
#: Rewards later than their table, on average per run: such a run is made a second time, by itself.
_MOST_LATE = 0.2


class Seeds(NamedTuple):
    """What the runs draw from, a row for each, as `latesum._draw_kernels` has it."""

    worlds: NDArray[np.uint64]
    policies: NDArray[np.uint64]


class Batch:
    """Runs that follow each other and were played together.

    Args:
        problem: What was played.
        horizon: The rounds of a run.
        plays: The plays of all of them.
        ends: Where those of each run end.
        alone: Whether they are all there; a run of which they are not is made anew.
        make: Makes a run by its place, from its plays if they are there.
    """

    def __init__(
        self,
        problem: Problem,
        horizon: int,
        plays: Plays,
        ends: NDArray[np.int64],
        alone: NDArray[np.bool_],
        make: Callable[[int, Plays | None], Run],
    ) -> None:
        self._problem, self._horizon, self._plays = problem, horizon, plays
        self._ends, self._alone, self._make = ends, alone, make

    def __len__(self) -> int:
        return len(self._ends)

    def __iter__(self) -> Iterator[Run]:
        return (self._run(place) for place in range(len(self)))

    def _run(self, place: int) -> Run:
        if not self._alone[place]:
            return self._make(place, None)
        start = int(self._ends[place - 1]) if place else 0
        return self._make(place, self._plays.part(start, int(self._ends[place])))

    @functools.cached_property
    def _others(self) -> list[tuple[int, Run]]:
        """The runs that were not played together, by their places."""
        return [(int(place), self._run(int(place))) for place in np.flatnonzero(~self._alone)]

    def regrets(self, checkpoints: NDArray[np.int64]) -> NDArray[np.float64]:
        """The regret of each run at the checkpoints.

        Args:
            checkpoints: Numbers of rounds.
        """
        regrets, _ = self._measured(checkpoints)
        for place, run in self._others:
            regrets[place] = run.regret(checkpoints)
        return regrets

    @property
    def switches(self) -> NDArray[np.int64]:
        """How often the arm changed in each."""
        _, switches = self._measured(np.empty(0, dtype=np.int64))
        for place, run in self._others:
            switches[place] = run.switches
        return switches

    @property
    def ended_on_best(self) -> NDArray[np.bool_]:
        """Whether no arm was better than the one that was played last, in each."""
        best = [self._problem.is_best(arm, self._horizon) for arm in range(self._problem.n_arms)]
        ended = np.empty(len(self), dtype=np.bool_)
        ended[self._alone] = np.array(best)[self._plays.arms[self._ends[self._alone] - 1]]
        for place, run in self._others:
            ended[place] = run.ended_on_best
        return ended

    def _measured(
        self, checkpoints: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        from latesum.experiments import (
            regret_kernels,
        )  # compiled at first use: importing stays fast

        regrets = np.empty((len(self), len(checkpoints)))
        switches = np.empty(len(self), dtype=np.int64)
        longest = int(np.diff(self._ends, prepend=0).max(initial=0)) + 1
        regret_kernels.measure_runs(
            self._plays.arms, self._plays.rounds, self._ends, self._problem.gaps_by_arm,
            checkpoints.astype(np.float64), np.empty(longest, dtype=np.int64), np.empty(longest),
            regrets, switches,
        )  # fmt: skip
        return regrets, switches


def can_play_together(problem: Problem, policy: Any, horizon: int) -> bool:
    """Whether runs of a policy are played together: its rule, and all that nature draws, is compiled.

    Args:
        problem: What is played.
        policy: What decides.
        horizon: The rounds of a run.
    """
    if type(policy) not in COMPILED or type(problem) is not Problem:
        return False
    tables = problem._bernoulli_tables
    if tables is None or horizon * tables.tail.max() > _MOST_LATE:
        return False
    from latesum.experiments import run_kernels  # compiled at first use

    state = policy.fresh()._for_kernel()
    return state is not None and run_kernels.runs_alone(state, policy.random)


def play_together(
    problem: Problem,
    policy: Policy,
    seeds: Seeds,
    horizon: int,
    bucket: int,
    make: Callable[[int, Plays | None], Run],
) -> Iterator[Batch]:
    """Play a run for each row of `seeds`.

    Args:
        problem: What is played.
        policy: What decides.
        seeds: What the runs draw from.
        horizon: The rounds of each.
        bucket: The rounds between two decisions.
        make: As for `Batch`.
    """
    from latesum.experiments import batch_kernels  # compiled at first use
    from latesum.simulation import kernels

    play_runs: Any = batch_kernels.play_runs
    template = policy.fresh()._for_kernel()
    state = another(template)
    ends, alone = np.zeros(len(seeds.worlds), dtype=np.int64), np.zeros(len(seeds.worlds), np.bool_)
    size = problem._carried
    under_way = kernels.UnderWay(np.zeros(size), np.empty(size, dtype=np.int64), np.empty(size))
    words = np.empty((2, seeds.worlds.shape[1]), dtype=np.uint64)
    first = 0
    while first < len(ends):
        plays = Plays(room=_ROOM)
        *columns, _ = plays.for_kernel()
        until, state_is_full = play_runs(
            template, state, *seeds, first, horizon, bucket, problem._bernoulli_tables, under_way,
            *words, *columns, ends, alone,
        )  # fmt: skip
        if state_is_full:
            template, state = policy._roomier(template), policy._roomier(state)
        elif until == first:  # one that is longer than the room: it is made by itself
            until += 1
        if until > first:
            plays.noted(int(ends[until - 1]))
            part = slice(first, until)
            yield Batch(problem, horizon, plays, ends[part], alone[part], _from(first, make))
        first = until


def _from(
    first: int, make: Callable[[int, Plays | None], Run]
) -> Callable[[int, Plays | None], Run]:
    """The same for places that are counted from `first` on."""
    return lambda place, played: make(first + place, played)
