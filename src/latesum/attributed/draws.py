"""Rewards and delays, drawn ahead in blocks of rounds, from streams of their own."""

from __future__ import annotations

import numpy as np

from latesum.attributed.layout_kernels import DrawnBlock
from latesum.attributed.memory import Floats, Integers
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Bernoulli

#: Rounds per block of draws, and the most that one compiled call plays. A part of what a seed
#: means: with another number some delays are drawn in another order.
BLOCK = 1 << 14


class Draws:
    """The rewards and delays of a run, drawn ahead block by block.

    The draw of round t is the same whatever was played before: policies run with one seed meet
    the same luck.
    """

    def __init__(self, problem: Problem, seed_sequence: np.random.SeedSequence) -> None:
        self.problem = problem
        self.means: Floats = np.array(problem.means, dtype=np.float64)
        #: All Bernoulli: one uniform number per round serves every arm. One delay for all: so
        #: does one delay per round. A stride of 0 says so to the compiled loop.
        self.shared_rewards = all(isinstance(arm, Bernoulli) for arm in problem.arms)
        self.shared_delays = len(set(problem.delays)) == 1
        self.reward_stride = 0 if self.shared_rewards else BLOCK
        self.delay_stride = 0 if self.shared_delays else BLOCK
        self.policy_rng = _stream(seed_sequence, 0, 0)
        n_rewards = 1 if self.shared_rewards else problem.n_arms
        n_delays = 1 if self.shared_delays else problem.n_arms
        self._reward_rngs = [_stream(seed_sequence, 1, arm) for arm in range(n_rewards)]
        self._delay_rngs = [_stream(seed_sequence, 2, arm) for arm in range(n_delays)]
        self.rewards: Floats = np.empty(BLOCK if self.shared_rewards else 0)
        self.delays: Integers = np.empty(0, dtype=np.int64)

    def next_block(self) -> None:
        """Replace the draws by those of the next block of rounds."""
        if self.shared_rewards:
            self._reward_rngs[0].random(out=self.rewards)
        else:
            pairs = zip(self.problem.arms, self._reward_rngs, strict=True)
            self.rewards = np.concatenate([arm.draw(BLOCK, rng) for arm, rng in pairs])
        pairs_of_delays = zip(self.problem.delays, self._delay_rngs, strict=False)
        drawn = [delay.draw(BLOCK, rng) for delay, rng in pairs_of_delays]
        self.delays = drawn[0] if len(drawn) == 1 else np.concatenate(drawn)

    @property
    def block(self) -> DrawnBlock:
        """The draws as the compiled loop takes them."""
        return DrawnBlock(
            self.rewards, self.reward_stride, self.means, self.delays, self.delay_stride
        )

    def of_play(self, place: int, arm: int) -> tuple[float, int]:
        """The reward and the delay of a play of `arm` in round `place` of the block."""
        delay = int(self.delays[arm * self.delay_stride + place])
        if self.shared_rewards:
            return float(self.rewards[place] < self.means[arm]), delay
        return float(self.rewards[arm * self.reward_stride + place]), delay


def _stream(seed_sequence: np.random.SeedSequence, purpose: int, arm: int) -> np.random.Generator:
    """A generator of its own for each purpose and arm; `seed_sequence` itself is not changed."""
    child = np.random.SeedSequence(
        seed_sequence.entropy,
        spawn_key=(*seed_sequence.spawn_key, purpose, arm),
        pool_size=seed_sequence.pool_size,
    )
    return np.random.Generator(np.random.PCG64(child))
