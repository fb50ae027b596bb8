"""Policies of other libraries on latesum's problems: each reward is told to them when it arrives.

They are baselines: such a policy is told which arm a reward belongs to, which totals do not say. With
`credit="playing"` it is told what a user of totals could tell it, and one sees what anonymity does to it.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, Protocol, get_args

import numpy as np

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._progress import ProgressChoice, chosen_progress
from latesum.attributed.runner import CHUNK, Draws
from latesum.experiments.comparison import Comparison, default_checkpoints
from latesum.experiments.results import Runs
from latesum.experiments.run import Run
from latesum.experiments.spec import POLICY, WORLD
from latesum.policies import Play
from latesum.simulation import FieldProblem, Problem

#: Whom a reward that arrives is credited to: "paid", the arm that earned it; "playing", the arm
#: that is being played, as if it were that of this round.
Credit = Literal["paid", "playing"]


class LabelledPolicy(Protocol):
    """What plays: two methods. An object of any library that has them needs no adapter."""

    def choose(self) -> int:
        """The arm to play in this round."""
        ...

    def observe(self, arm: int, reward: float) -> None:
        """Take in a reward.

        Args:
            arm: The arm that it is credited to.
            reward: What arrived.
        """
        ...


class RiverPolicy:
    """A policy of river (`river.bandit`).

    Args:
        policy: The policy, such as `river.bandit.UCB(delta=1)`, knowing nothing.
        n_arms: The number of arms.

    >>> from river import bandit
    >>> RiverPolicy(bandit.UCB(delta=1), n_arms=2).choose() in (0, 1)
    True
    """

    def __init__(self, policy: Any, n_arms: int) -> None:
        _must_have(policy, ("pull", "update"), "a policy of river")
        self.policy = policy
        self._arms = list(range(whole_number(n_arms, "n_arms", at_least=2)))

    def choose(self) -> int:
        """The arm to play in this round."""
        return int(self.policy.pull(self._arms))

    def observe(self, arm: int, reward: float) -> None:
        """Take in a reward.

        Args:
            arm: The arm that it is credited to.
            reward: What arrived.
        """
        self.policy.update(arm, reward)


class MABWiserPolicy:
    """A bandit of MABWiser without contexts (`mabwiser.mab.MAB`).

    It must be fitted before it predicts: until a reward of every arm has arrived, the arms take turns.

    Args:
        mab: The bandit, whose arms are 0, 1, ...; it has not been fitted.

    >>> from mabwiser.mab import MAB, LearningPolicy
    >>> policy = MABWiserPolicy(MAB([0, 1], LearningPolicy.UCB1(alpha=1.0)))
    >>> policy.choose(), policy.choose()
    (0, 1)
    """

    def __init__(self, mab: Any) -> None:
        _must_have(mab, ("arms", "fit", "partial_fit", "predict"), "a bandit of MABWiser")
        if list(mab.arms) != list(range(len(mab.arms))):
            raise InvalidInput(f"the arms of the bandit must be 0, 1, ..., not {mab.arms!r}.")
        self.mab = mab
        self._turn = itertools.cycle(mab.arms)
        self._first: list[tuple[int, float]] | None = []

    def choose(self) -> int:
        """The arm to play in this round."""
        return int(self.mab.predict() if self._first is None else next(self._turn))

    def observe(self, arm: int, reward: float) -> None:
        """Take in a reward.

        Args:
            arm: The arm that it is credited to.
            reward: What arrived.
        """
        if self._first is None:
            self.mab.partial_fit([arm], [reward])
            return
        self._first.append((arm, reward))
        if len({each for each, _ in self._first}) == len(self.mab.arms):
            arms, rewards = zip(*self._first, strict=True)
            self.mab.fit(list(arms), list(rewards))
            self._first = None


class SMPyBanditsPolicy:
    """A policy of SMPyBandits (`SMPyBandits.Policies`): any object with `startGame`, `choice` and `getReward`.

    SMPyBandits draws from the generators that NumPy and Python share with the whole process. Here each policy
    has a state of its own for both, which is put in their place while the policy is at work.

    Args:
        make: A function that makes the policy, such as `lambda: SMPyBandits.Policies.UCB(2)`: some draw already
            then. The game is started here.
        seed: The same seed gives the same choices, as `numpy.random.seed` and `random.seed` would.

    >>> class InTurn:
    ...     def startGame(self):
    ...         self.t = 0
    ...     def choice(self):
    ...         return self.t % 2
    ...     def getReward(self, arm, reward):
    ...         self.t += 1
    >>> play_labelled(Problem([0.2, 0.8], "constant(0)"), SMPyBanditsPolicy(InTurn, 1), 10, seed=1).switches
    9
    """

    def __init__(self, make: Callable[[], Any], seed: int) -> None:
        if not callable(make):
            raise InvalidInput(
                f"give a function that makes the policy, such as lambda: UCB(2), not {make!r}."
            )
        seed = whole_number(seed, "the seed", at_least=0)
        if seed >= 1 << 32:
            raise InvalidInput(f"NumPy's shared generator takes seeds below 2**32, not {seed}.")
        self._numpy = np.random.RandomState(seed).get_state()
        self._python = random.Random(seed).getstate()
        with self._own_generators():
            self.policy = make()
            _must_have(self.policy, ("startGame", "choice", "getReward"), "a policy of SMPyBandits")
            self.policy.startGame()

    def choose(self) -> int:
        """The arm to play in this round."""
        with self._own_generators():
            return int(self.policy.choice())

    def observe(self, arm: int, reward: float) -> None:
        """Take in a reward.

        Args:
            arm: The arm that it is credited to.
            reward: What arrived.
        """
        with self._own_generators():
            self.policy.getReward(arm, reward)

    @contextlib.contextmanager
    def _own_generators(self) -> Iterator[None]:
        """The shared generators go on from where this policy left them, and are put back afterwards."""
        others = np.random.get_state(), random.getstate()
        np.random.set_state(self._numpy)
        random.setstate(self._python)
        try:
            yield
        finally:
            self._numpy, self._python = np.random.get_state(), random.getstate()
            np.random.set_state(others[0])
            random.setstate(others[1])


def play_labelled(
    problem: Problem,
    policy: LabelledPolicy,
    horizon: int,
    *,
    seed: int,
    number: int = 0,
    credit: Credit = "paid",
) -> Run:
    """Play a policy of another library, round by round, with the delay in between.

    Rewards and delays of a round are those that latesum's own baselines meet with the same seed and
    number, whatever was played before.

    Args:
        problem: What is played.
        policy: What decides, knowing nothing; it is used up.
        horizon: The number of rounds.
        seed: The same seed gives the same draws.
        number: Which run of that seed.
        credit: "paid": a reward is credited to the arm that earned it, when it arrives. "playing":
            the total that arrives in a round is credited to the arm of that round.

    >>> from river import bandit
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> run = play_labelled(problem, RiverPolicy(bandit.UCB(delta=1), 2), 2_000, seed=1)
    >>> run.last_arm
    1
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    known_name(credit, get_args(Credit), "way to credit rewards")
    if isinstance(problem, FieldProblem):
        raise InvalidInput(
            "a policy that is told each reward runs on a Problem, not a FieldProblem."
        )
    draws = Draws(problem, np.random.SeedSequence(seed, spawn_key=(number, WORLD)))
    under_way: list[tuple[int, int, int, float]] = []  # due, minus the round, arm, reward
    plays: list[Play] = []
    for now in range(horizon):
        place = now % CHUNK
        if place == 0:
            draws.next_chunk()
        arm = policy.choose()
        if not 0 <= arm < problem.n_arms:
            raise InvalidInput(f"the policy chose arm {arm}; the last is {problem.n_arms - 1}.")
        reward, delay = draws.of_play(place, arm)
        heapq.heappush(under_way, (now + delay, -now, arm, reward))
        total = 0.0
        while under_way and under_way[0][0] <= now:
            _, _, earned_by, arrived = heapq.heappop(under_way)
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
    return Run(problem, plays)


def compare_labelled(
    problem: Problem,
    policies: Mapping[str, Callable[[int], LabelledPolicy]],
    horizon: int,
    *,
    replications: int,
    seed: int,
    credit: Credit = "paid",
    beside: Comparison | None = None,
    progress: ProgressChoice = None,
) -> Comparison:
    """Play policies of other libraries many times; the result is a `Comparison` as `compare` makes it.

    Args:
        problem: What is played.
        policies: By name, a function that takes a seed and gives a policy that knows nothing.
        horizon: The number of rounds.
        replications: How often each policy is run.
        seed: The same seed gives the same draws.
        credit: As for `play_labelled`.
        beside: A comparison on the same problem with the same horizon and seed; its policies come
            first in the result.
        progress: True for a bar, or a function as for `compare`.

    >>> from river import bandit
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> others = {"river UCB": lambda seed: RiverPolicy(bandit.UCB(delta=1, seed=seed), 2)}
    >>> made = compare_labelled(problem, others, 1_000, replications=3, seed=1)
    >>> made.summary()[0].ended_on_best
    1.0
    """
    replications = whole_number(replications, "the number of replications", at_least=1)
    about: dict[str, Any] = {
        "problem": repr(problem), "horizon": horizon, "replications": replications, "seed": seed,
        "bucket": 1, "report_lag": 0, "before": None, "history": 0, "arm_order": "as given",
        "sees_more": [], "broken_assumptions": [],
    }  # fmt: skip
    runs: dict[str, Runs] = {}
    if beside is not None:
        for part in (
            "problem",
            "horizon",
            "replications",
            "seed",
            "bucket",
            "report_lag",
            "arm_order",
        ):
            if beside.description[part] != about[part]:
                raise InvalidInput(
                    f"the comparison beside has {part} {beside.description[part]!r}, and here it is "
                    f"{about[part]!r}: only what is alike stands in one table."
                )
        about, runs = {**beside.description}, dict(beside.runs)
    if taken := sorted(set(runs) & set(policies)):
        raise InvalidInput(f"{', '.join(taken)} is there already; give each policy its own name.")
    checkpoints = np.array(default_checkpoints(horizon), dtype=np.int64)
    show, done = chosen_progress(progress), 0
    for name, make in policies.items():
        made = []
        for number in range(replications):
            own = np.random.SeedSequence(seed, spawn_key=(number, POLICY)).generate_state(1)
            policy = make(int(own[0]))
            made.append(
                play_labelled(problem, policy, horizon, seed=seed, number=number, credit=credit)
            )
            done += 1
            if show:
                show(done, replications * len(policies), "runs of other libraries")
        measured = {
            "regret": np.array([run.regret(checkpoints) for run in made]),
            "ended_on_best": np.array([problem.is_best(run.last_arm, horizon) for run in made]),
            "switches": np.array([run.switches for run in made]),
        }
        runs[name] = Runs(checkpoints, measured)
    if credit == "paid":
        about["sees_more"] = [*about["sees_more"], *policies]
    return Comparison(runs, about)


def _must_have(thing: Any, names: tuple[str, ...], what: str) -> None:
    missing = [name for name in names if not hasattr(thing, name)]
    if missing:
        raise InvalidInput(
            f"{thing!r} is not {what}: it has no {', '.join(missing)}. Any object with choose() and "
            "observe(arm, reward) can be played as it is."
        )
