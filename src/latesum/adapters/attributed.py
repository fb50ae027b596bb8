"""Policies of other libraries with attributed feedback on latesum's problems.

Such a policy is a reference: it learns which arm earned a reward, which totals do not say. With
`credit="playing"` it learns what a user of totals could tell it: the effect of anonymity.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Unpack, get_args

from latesum._checks import InvalidInput, known_name
from latesum.attributed.runner import CHUNK, Draws
from latesum.experiments.engine import RunOptions, default_checkpoints, run
from latesum.experiments.results import Results
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


@dataclass(frozen=True, eq=False)
class PlayerSpec(RunSpec):
    """Runs of a policy of another library, which `make` makes of a seed."""

    make: Callable[[int], AttributedPlayer] | None = None
    credit: Credit = "paid"

    attributed = property(lambda self: self.credit == "paid")
    broken_assumptions = property(lambda self: [])
    policy_fields = property(lambda self: (self.policy_name, {}))

    def check(self) -> None:
        """Refuse problems whose rewards have no single round of arrival."""
        known_name(self.credit, get_args(Credit), "way to credit rewards")
        if isinstance(self.problem, FieldProblem | CompositeProblem):
            kind = type(self.problem).__name__
            raise InvalidInput(f"attributed feedback needs a Problem, not a {kind}.")

    def run(self, number: int, *, until: int | None = None) -> Run:
        """One run, round by round, with the delay in between."""
        assert self.make is not None
        problem: Any = self.problem
        policy = self.make(int(self.seeds(number, POLICY).generate_state(1)[0]))
        draws = Draws(problem, self.seeds(number, WORLD))
        in_flight: list[tuple[int, int, int, float]] = []  # due, round of play, arm, reward
        plays: list[Play] = []
        for now in range(until or self.horizon):
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
                if self.credit == "paid":
                    policy.observe(earned_by, arrived)
            if self.credit == "playing":
                policy.observe(arm, total)
            last = plays[-1] if plays else None
            if last is not None and last.arm == arm:
                plays[-1] = last._replace(rounds=last.rounds + 1, total=(last.total or 0) + total)
            else:
                plays.append(Play(arm, 1, total))
        arms, rounds = [play.arm for play in plays], [play.rounds for play in plays]
        return Run(problem, arms, rounds, plays=plays, spec=self, number=number)


def compare_attributed(
    problem: Problem,
    policies: Mapping[str, Callable[[int], AttributedPlayer]],
    horizon: int,
    *,
    replications: int,
    seed: int,
    credit: Credit = "paid",
    beside: Results | None = None,
    **how: Unpack[RunOptions],
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
        how: `workers` and `progress`, as for `compare`.

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
    shared: dict[str, Any] = {"seed": seed, "checkpoints": default_checkpoints(horizon)}
    unknown = PolicySpec("oracle")  # what it is called in latesum: nothing
    specs = [
        PlayerSpec(problem, unknown, horizon, **shared, make=make, credit=credit, policy_name=name)
        for name, make in policies.items()
    ]
    if beside is not None:
        there = {**beside.specs[0].about, "replications": beside.replications}
        here = {**specs[0].about, "replications": replications}
        if differing := [part for part in here if there.get(part) != here[part]]:
            raise InvalidInput(
                f"the comparison beside has another {' and '.join(differing)}: only what is alike "
                "stands in one table."
            )
    made = run(specs, replications, **how)
    return made if beside is None else beside.joined(made)
