"""Policies of other libraries with attributed feedback on latesum's problems.

Such a policy is a reference: it learns which arm earned a reward, which totals do not say. With
`credit="playing"` it learns what a user of totals could tell it: the effect of anonymity.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._progress import ProgressChoice, chosen_progress
from latesum.attributed.runner import CHUNK, Draws
from latesum.experiments.comparison import default_checkpoints
from latesum.experiments.results import Results, Rows
from latesum.experiments.run import Run
from latesum.experiments.spec import POLICY, WORLD, RunSpec
from latesum.policies import Play, PolicySpec
from latesum.simulation import CompositeProblem, FieldProblem, Problem

#: Whom a reward that arrives is credited to: "paid", the arm that earned it; "playing", the arm
#: that is played when it arrives.
Credit = Literal["paid", "playing"]


class AttributedPlayer(Protocol):
    """A policy with attributed feedback: any object with these two methods."""

    def choose(self) -> int:
        """The arm to play in this round."""
        ...

    def observe(self, arm: int, reward: float) -> None:
        """Learn from a reward that is credited to this arm."""
        ...


@dataclass(frozen=True)
class PlayedElsewhere:
    """What results say about runs of a policy of another library."""

    problem: Problem
    policy_name: str
    horizon: int
    seed: int
    attributed: bool
    broken_assumptions: tuple[str, ...] = ()

    @property
    def problem_name(self) -> str:
        """The problem as text."""
        return str(self.problem)

    @property
    def checkpoint_rounds(self) -> NDArray[np.int64]:
        """When regret is kept."""
        return np.array(default_checkpoints(self.horizon), dtype=np.int64)

    @property
    def fields(self) -> dict[str, Any]:
        """What all runs of a grid may differ in."""
        return RunSpec(self.problem, PolicySpec("oracle"), self.horizon, seed=self.seed).fields

    @property
    def policy_fields(self) -> tuple[str, dict[str, Any]]:
        """Its name; its parameters are not known."""
        return self.policy_name, {}

    @property
    def about(self) -> dict[str, Any]:
        """What is the same for all policies of a comparison."""
        return RunSpec(self.problem, PolicySpec("oracle"), self.horizon, seed=self.seed).about


def compare_attributed(
    problem: Problem,
    policies: Mapping[str, Callable[[int], AttributedPlayer]],
    horizon: int,
    *,
    replications: int,
    seed: int,
    credit: Credit = "paid",
    beside: Results | None = None,
    progress: ProgressChoice = None,
) -> Results:
    """Play policies of other libraries; the result is as `compare` makes it.

    Rewards and delays of a round are those that latesum's own attributed baselines meet with the
    same seed and number of the run.

    Args:
        policies: By name, a function that takes a seed and makes a new policy.
        replications: How often each policy is run.
        credit: "paid": a reward is credited to the arm that earned it, when it arrives. "playing":
            the total that arrives in a round is credited to the arm of that round.
        beside: A comparison on the same problem with the same horizon and seed; its policies come
            first in the result.
        progress: True for a bar, or a function as for `compare`.

    >>> class Greedy:
    ...     def __init__(self, seed):
    ...         self.counts, self.totals = [1, 1], [1.0, 1.0]
    ...     def choose(self):
    ...         means = [total / n for total, n in zip(self.totals, self.counts)]
    ...         return means.index(max(means))
    ...     def observe(self, arm, reward):
    ...         self.counts[arm] += 1
    ...         self.totals[arm] += reward
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> made = compare_attributed(problem, {"greedy": Greedy}, 1_000, replications=3, seed=1)
    >>> made.policies
    ['greedy']
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    replications = whole_number(replications, "the number of replications", at_least=1)
    known_name(credit, get_args(Credit), "way to credit rewards")
    if isinstance(problem, FieldProblem | CompositeProblem):
        raise InvalidInput(f"attributed feedback needs a Problem, not a {type(problem).__name__}.")
    attributed = credit == "paid"
    specs = [PlayedElsewhere(problem, name, horizon, seed, attributed) for name in policies]
    if beside is not None:
        there = dict(beside.specs[0].about) | {"replications": beside.replications}
        for part, ours in (specs[0].about | {"replications": replications}).items():
            if there.get(part) != ours:
                raise InvalidInput(
                    f"the comparison beside has {part} {there.get(part)!r}, and here it is "
                    f"{ours!r}: only what is alike stands in one table."
                )
        if taken := sorted(set(beside.policies) & set(policies)):
            raise InvalidInput(
                f"{', '.join(taken)} is there already; give each policy its own name."
            )
    rows: list[Rows] = []
    checkpoints = np.array(default_checkpoints(horizon), dtype=np.int64)
    show, done = chosen_progress(progress), 0
    for make in policies.values():
        played = []
        for number in range(replications):
            own = np.random.SeedSequence(seed, spawn_key=(number, POLICY)).generate_state(1)
            draws = Draws(problem, np.random.SeedSequence(seed, spawn_key=(number, WORLD)))
            played.append(_play(problem, make(int(own[0])), horizon, draws, credit))
            done += 1
            if show:
                show(done, replications * len(policies), "runs of other libraries")
        measured = {
            "regret": np.array([run.regret(checkpoints) for run in played]),
            "ended_on_best": np.array([problem.is_best(run.last_arm, horizon) for run in played]),
            "switches": np.array([run.switches for run in played]),
        }
        rows.append(measured)
    made = Results(specs, rows)
    return made if beside is None else beside.joined(made)


def _play(
    problem: Problem, policy: AttributedPlayer, horizon: int, draws: Draws, credit: Credit
) -> Run:
    """One run, round by round, with the delay in between."""
    in_flight: list[tuple[int, int, int, float]] = []  # due, round of play, arm, reward
    plays: list[Play] = []
    for now in range(horizon):
        if now % CHUNK == 0:
            draws.next_chunk()
        arm = policy.choose()
        if not 0 <= arm < problem.n_arms:
            raise InvalidInput(f"the policy chose arm {arm}; the last is {problem.n_arms - 1}.")
        reward, delay = draws.of_play(now % CHUNK, arm)
        heapq.heappush(in_flight, (now + delay, now, arm, reward))
        total = 0.0
        while in_flight and in_flight[0][0] <= now:
            _, _, earned_by, arrived = heapq.heappop(in_flight)
            total += arrived
            if credit == "paid":
                policy.observe(earned_by, arrived)
        if credit == "playing":
            policy.observe(arm, total)
        if plays and plays[-1].arm == arm:
            last = plays[-1]
            plays[-1] = last._replace(rounds=last.rounds + 1, total=(last.total or 0.0) + total)
        else:
            plays.append(Play(arm, 1, total))
    return Run(problem, [play.arm for play in plays], [play.rounds for play in plays], plays=plays)
