"""What happened in one simulated run, and its regret."""

from __future__ import annotations

import itertools
from typing import Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum.policies import Play
from latesum.world import FieldProblem, Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rewards = Literal["generated", "received"]


class PlayedStretch(NamedTuple):
    """One stretch of a run: it began after `start` rounds."""

    start: int
    rounds: int
    arm: int
    purpose: str
    total: float | None


class Run:
    """The stretches that were played, and the regret after any number of rounds."""

    def __init__(self, problem: Problem, plays: list[Play]) -> None:
        self.problem = problem
        self._plays = plays
        self._ends = np.cumsum([0] + [play[1] for play in plays])
        gaps = problem.gaps
        if problem.changes:
            lost = [self._lost(index, np.array([play[1]]))[0] for index, play in enumerate(plays)]
        else:
            lost = [gaps[play[0]] * play[1] for play in plays]
        self._regret_at_ends = np.cumsum([0.0, *lost])

    @property
    def horizon(self) -> int:
        """The rounds played."""
        return int(self._ends[-1])

    @property
    def stretches(self) -> list[PlayedStretch]:
        """What was played, in order."""
        return [
            PlayedStretch(int(start), play.rounds, play.arm, play.purpose, play.total)
            for start, play in zip(self._ends[:-1], self._plays, strict=True)
        ]

    @property
    def last_arm(self) -> int:
        """The arm that was played at the end."""
        return self._plays[-1][0]

    @property
    def switches(self) -> int:
        """How often the arm changed."""
        arms = [play[0] for play in self._plays]
        return sum(one != other for one, other in itertools.pairwise(arms))

    @overload
    def regret(self, at: int | None = None, *, rewards: Rewards = "generated") -> float: ...
    @overload
    def regret(self, at: Integers, *, rewards: Rewards = "generated") -> Floats: ...
    def regret(
        self, at: int | Integers | None = None, *, rewards: Rewards = "generated"
    ) -> float | Floats:
        """The regret after `at` rounds, or after each of an array of them; the whole run without.

        Of "generated" rewards it is the paper's Reg_T = T mu* - sum of mu of the arms played. Of
        "received" ones (Vernade et al., 2017) only what has arrived by then counts, for both.
        """
        rounds = np.asarray(self.horizon if at is None else at)
        if rounds.size and (rounds.min() < 0 or rounds.max() > self.horizon):
            raise InvalidInput(
                f"the run has {self.horizon} rounds; ask for its regret within them."
            )
        if rewards == "generated" and self.problem.changes:
            result = np.vectorize(self._changing_regret, otypes=[float])(rounds)
        elif rewards == "generated":
            result = np.interp(rounds, self._ends, self._regret_at_ends)
        elif rewards == "received":
            if self.problem.changes:
                raise InvalidInput("regret of received rewards is for means that do not change.")
            result = np.vectorize(self._received_regret, otypes=[float])(rounds)
        else:
            raise InvalidInput(f"rewards are 'generated' or 'received', not {rewards!r}.")
        return result if isinstance(at, np.ndarray) else float(result)

    def _lost(self, index: int, rounds: Integers) -> Floats:
        """What is lost in the first `rounds` rounds of a play, where means change over time."""
        assert isinstance(self.problem, FieldProblem)
        start = self._ends[index]
        arm = self._plays[index].arm
        both = self.problem.lost_by(arm, np.append(start + rounds, start))
        lost: Floats = both[:-1] - both[-1]
        return lost

    def _changing_regret(self, rounds: int) -> float:
        index = min(int(np.searchsorted(self._ends, rounds, side="right")), len(self._plays)) - 1
        inside = self._lost(index, np.array([rounds - self._ends[index]]))[0]
        return float(self._regret_at_ends[index] + inside)

    def _received_regret(self, rounds: int) -> float:
        problem, best = self.problem, self.problem.best
        lost = problem.means[best] * _arrived(problem, best, int(rounds))
        for start, play in zip(self._ends, self._plays, strict=False):
            if start >= rounds:
                break
            since_start = int(rounds - start)
            since_end = max(since_start - play.rounds, 0)
            arrived = _arrived(problem, play.arm, since_start) - _arrived(
                problem, play.arm, since_end
            )
            lost -= problem.means[play.arm] * arrived
        return lost

    def __repr__(self) -> str:
        return (
            f"Run({self.horizon:,} rounds, {len(self._plays):,} stretches, "
            f"regret {self.regret():,.1f})"
        )


def _arrived(problem: Problem, arm: int, rounds: int) -> float:
    """How many of `rounds` plays in a row have arrived at their end, on average."""
    return rounds - problem.delays[arm].expected_outstanding(rounds)
