"""Runs of attributed baselines.

Rewards and delays are drawn ahead in chunks of rounds, from streams of their own. So policies run
with one seed meet the same rewards and delays in the same rounds, and a run depends on its seed
alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum._checks import whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.policies import AttributedPolicy, Integers
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Bernoulli

#: Rounds per chunk of draws and per compiled call, a power of two. A part of what a seed means:
#: with another number some delays are drawn in another order.
CHUNK = 1 << 15
#: The longest ring of rounds for rewards in flight; longer delays go round it more than once.
MAX_RING = 1 << 18


def run(
    problem: Problem,
    policy: AttributedPolicy,
    horizon: int,
    *,
    seed_sequence: np.random.SeedSequence,
) -> tuple[Integers, Integers]:
    """Play `policy` for `horizon` rounds: the arm and the rounds of each block of one arm.

    >>> from latesum.attributed import QPMD
    >>> from latesum.simulation import Problem
    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> seed = np.random.SeedSequence(1)
    >>> arms, rounds = run(problem, QPMD("ucb1", n_arms=2), 10_000, seed_sequence=seed)
    >>> arms[:4].tolist(), int(rounds.sum())
    ([0, 1, 0, 1], 10000)
    """
    from latesum.attributed.kernels import play_rounds  # loads Numba

    horizon = whole_number(horizon, "horizon", at_least=1)
    policy.check(problem)
    draws = Draws(problem, seed_sequence)
    state = policy.new_state(draws.policy_rng)
    draws.next_chunk()
    # A ring that reaches as far as the first delays, each slot with a node of its own.
    size = 1 << min(int(draws.delays.max()), horizon - 1, MAX_RING - 1).bit_length()
    ring, flight = np.zeros(size, dtype=layout.SLOT), np.zeros(size, dtype=layout.REWARD)
    ring["last"] = np.arange(size)
    at = np.zeros(1, dtype=layout.RUN)[0]
    at["horizon"], at["free"] = horizon, -1
    played = np.empty(CHUNK, dtype=np.int64)
    arms, starts, last_arm = [], [], -1
    for first in range(0, horizon, CHUNK):
        if first:
            draws.next_chunk()
        rounds = min(CHUNK, horizon - first)
        at["now"], at["end"] = first, first + rounds
        used = first - int(at["unseen"]) - int(state.arms["count"].sum())
        if len(flight) - size - used < rounds:
            flight = _with_more_nodes(flight, at, max(rounds, len(flight) - size))
        drawn = draws.rewards, draws.delays
        play_rounds(at, *drawn, played, flight, ring, *state, draws.policy_rng)
        changes = np.flatnonzero(played[1:rounds] != played[: rounds - 1]) + 1
        if played[0] != last_arm:
            changes = np.insert(changes, 0, 0)
        starts.append(first + changes)
        arms.append(played[changes])
        last_arm = int(played[rounds - 1])
    bounds = np.concatenate([*starts, [horizon]])
    return np.concatenate(arms), bounds[1:] - bounds[:-1]


def _with_more_nodes(flight: NDArray[np.void], at: np.void, count: int) -> NDArray[np.void]:
    """The rewards in flight with as many unused nodes more, which come first in their list."""
    more = np.zeros(count, dtype=layout.REWARD)
    more["next"] = np.arange(1, count + 1) + len(flight)
    more["next"][-1] = at["free"]
    at["free"] = len(flight)
    return np.concatenate([flight, more])


class Draws:
    """Rewards and delays of a run, drawn ahead chunk by chunk.

    The draw of round t is the same whatever was played before.
    """

    def __init__(self, problem: Problem, seed_sequence: np.random.SeedSequence) -> None:
        self.problem = problem
        self.policy_rng = _stream(seed_sequence, 0, 0)
        arms = range(problem.n_arms)
        self._reward_rngs = [_stream(seed_sequence, 1, arm) for arm in arms]
        self._delay_rngs = [_stream(seed_sequence, 2, arm) for arm in arms]
        self._shared_rewards = all(isinstance(arm, Bernoulli) for arm in problem.arms)
        self._shared_delays = len(set(problem.delays)) == 1
        self._means = np.array(problem.means, dtype=np.float64)[:, np.newaxis]
        #: At [arm, index]; all arms share the only row of `delays` where their delays are the same.
        self.rewards: NDArray[np.float64] = np.empty((0, 0))
        self.delays: Integers = np.empty((0, 0), dtype=np.int64)

    def next_chunk(self) -> None:
        """Replace the draws by those of the next chunk of rounds."""
        if self._shared_rewards:  # one uniform number per round serves every arm
            uniform = self._reward_rngs[0].random(CHUNK)
            self.rewards = (uniform < self._means).astype(np.float64)
        else:
            arms = zip(self.problem.arms, self._reward_rngs, strict=True)
            self.rewards = np.stack([arm.draw(CHUNK, rng) for arm, rng in arms])
        delays = self.problem.delays[:1] if self._shared_delays else self.problem.delays
        pairs = zip(delays, self._delay_rngs, strict=False)
        self.delays = np.stack([delay.draw(CHUNK, rng) for delay, rng in pairs])

    def of_play(self, index: int, arm: int) -> tuple[float, int]:
        """The reward and the delay of a play of `arm` in round `index` of the chunk."""
        row = min(arm, len(self.delays) - 1)
        return float(self.rewards[arm, index]), int(self.delays[row, index])


def _stream(seed_sequence: np.random.SeedSequence, purpose: int, arm: int) -> np.random.Generator:
    """A generator of its own for each purpose and arm; `seed_sequence` itself is not changed."""
    key, size = (*seed_sequence.spawn_key, purpose, arm), seed_sequence.pool_size
    child = np.random.SeedSequence(seed_sequence.entropy, spawn_key=key, pool_size=size)
    return np.random.Generator(np.random.PCG64(child))
