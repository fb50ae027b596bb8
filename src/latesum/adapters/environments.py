"""A problem as a Gymnasium environment: one step per round, or one step per block.

What arrives is the reward of a step, whichever plays earned it: an agent that takes it for what
its last action was worth makes the mistake that this field is about. `info["regret"]` is the regret
so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, whole_number
from latesum._extras import require
from latesum.simulation import Problem, World

if TYPE_CHECKING:
    import gymnasium
else:
    gymnasium = require("gymnasium", "gymnasium")

__all__ = ["BlockEnv", "RoundEnv"]

Floats = NDArray[np.float64]
#: What a step gives: observation, reward, terminated, truncated, info.
StepResult = tuple[Floats, float, bool, bool, dict[str, Any]]


class _ProblemEnv(gymnasium.Env[Floats, Any]):
    """What both environments share: a world that is reset, played, and ends at the horizon."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own attribute

    def __init__(self, problem: Problem, horizon: int) -> None:
        self.problem = problem
        self.horizon = whole_number(horizon, "the horizon", at_least=1)
        self._world: World | None = None
        bounds = [delay.bound for delay in problem.delays]
        longest = self.horizon if None in bounds else max(bound or 0 for bound in bounds) + 1
        #: The most that can arrive in one round: all that is in flight, each reward at most 1.
        self._most = float(min(longest, self.horizon))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Floats, dict[str, Any]]:
        """Start an episode with nothing in flight; `options` are refused.

        The same seed gives the same rewards and delays for the same actions.
        """
        super().reset(seed=seed)
        if options:
            raise InvalidInput(f"this environment has no options, and was given {options!r}.")
        child = np.random.default_rng(int(self.np_random.integers(1 << 63)))
        self._world, self._regret = self.problem.start(rng=child), 0.0
        assert self.observation_space.shape is not None
        return np.zeros(self.observation_space.shape), {"regret": 0.0, "rounds": 0}

    def _play(self, arm: int, rounds: int) -> tuple[float, int, bool, dict[str, Any]]:
        """What arrived, in how many rounds, whether that was the end, and what is known."""
        world = self._world
        if world is None or world.rounds_played >= self.horizon:
            when = "before the first step" if world is None else f"after {self.horizon} rounds"
            raise InvalidInput(f"call reset() {when}.")
        start = world.rounds_played
        rounds = min(rounds, self.horizon - start)
        total = world.play(arm, rounds)
        lost = self.problem.lost_by(arm, np.array([start, start + rounds]))
        self._regret += float(lost[1] - lost[0])
        info = {"regret": self._regret, "rounds": world.rounds_played}
        return total, rounds, world.rounds_played >= self.horizon, info


class RoundEnv(_ProblemEnv):
    """One step is one round: the action is an arm, the observation and the reward are what arrives.

    An episode is truncated after `horizon` rounds.

    >>> from latesum import Problem
    >>> env = RoundEnv(Problem([0.5, 0.6], "constant(2)"), horizon=1_000)
    >>> _, _ = env.reset(seed=1)
    >>> env.step(0)[:2]                         # nothing can have arrived yet
    (array([0.]), 0.0)
    """

    def __init__(self, problem: Problem, horizon: int) -> None:
        super().__init__(problem, horizon)
        self.action_space = gymnasium.spaces.Discrete(problem.n_arms)
        self.observation_space = gymnasium.spaces.Box(0.0, self._most, (1,), np.float64)

    def step(self, action: int) -> StepResult:
        """Play an arm for one round."""
        total, _, over, info = self._play(int(action), 1)
        return np.array([total]), total, False, over, info


class BlockEnv(_ProblemEnv):
    """One step is a block: the action is an arm and one of the `lengths`, the reward is the total.

    An observation is the total, the rounds and the arm of the last block. The last block of an
    episode ends with it, however long it was meant to be.

    >>> from latesum import Problem
    >>> env = BlockEnv(Problem([0.5, 0.6], "uniform(0, 9)"), horizon=1_000, lengths=(10, 100))
    >>> _, _ = env.reset(seed=1)
    >>> observation, total, _, _, info = env.step([1, 1])
    >>> info["rounds"], bool(observation[0] == total)
    (100, True)
    """

    def __init__(
        self, problem: Problem, horizon: int, lengths: Sequence[int] = (1, 10, 100, 1_000)
    ) -> None:
        super().__init__(problem, horizon)
        self.lengths = tuple(whole_number(each, "a length", at_least=1) for each in lengths)
        if not self.lengths:
            raise InvalidInput("give at least one length of a block, such as (10, 100).")
        longest = min(max(self.lengths), self.horizon)
        most = min(longest * self._most, self.horizon)
        high = np.array([most, longest, problem.n_arms - 1], dtype=np.float64)
        self.action_space = gymnasium.spaces.MultiDiscrete([problem.n_arms, len(self.lengths)])
        self.observation_space = gymnasium.spaces.Box(np.zeros(3), high, (3,), np.float64)

    def step(self, action: Any) -> StepResult:
        """Play an arm; the action is the arm and the index of the rounds in `lengths`."""
        arm, length = (int(each) for each in action)
        total, rounds, over, info = self._play(arm, self.lengths[length])
        return np.array([total, rounds, arm], dtype=np.float64), total, False, over, info
