"""Runs of attributed baselines.

Rewards and delays are drawn ahead in chunks of rounds, from streams of their own. So policies run
with one seed meet the same rewards and delays in the same rounds, and a run depends on its seed
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.policies import AttributedPolicy, Integers, PolicyState
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import Bernoulli

#: Rounds per chunk of draws and per compiled call, a power of two. A part of what a seed means:
#: with another number some delays are drawn in another order.
CHUNK = 1 << 15
#: The longest ring of rounds for rewards in flight; longer delays go round it more than once.
MAX_RING = 1 << 18


@dataclass(frozen=True)
class AttributedRun:
    """What was played in one run.

    Args:
        plays: At [c, a] the plays of arm a in the first checkpoints[c] rounds.
        last_arm: The arm of the last round.
        switches: The number of rounds whose arm differs from the round before.
        starts: The first round, from 0, of each block of one arm.
        arms: The arm of each block.
    """

    plays: Integers
    last_arm: int
    switches: int
    starts: Integers
    arms: Integers


def run(
    problem: Problem,
    policy: AttributedPolicy,
    horizon: int,
    *,
    seed_sequence: np.random.SeedSequence,
    checkpoints: Integers | None = None,
) -> AttributedRun:
    """Play `policy` for `horizon` rounds.

    `checkpoints` are ascending numbers of rounds after which the plays are noted; by default only
    the horizon.

    >>> from latesum.attributed import QPMD
    >>> from latesum.simulation import Problem
    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> seed = np.random.SeedSequence(1)
    >>> played = run(problem, QPMD("ucb1", n_arms=2), 10_000, seed_sequence=seed)
    >>> int(played.plays.sum())
    10000
    """
    horizon = whole_number(horizon, "horizon", at_least=1)
    stops = _checked_checkpoints(checkpoints, horizon)
    policy.check(problem)
    draws = Draws(problem, seed_sequence)
    state = policy.new_state(draws.policy_rng)
    game = _Game(state, draws, horizon)
    plays_at = np.zeros((len(stops), problem.n_arms), dtype=np.int64)
    plays = np.zeros(problem.n_arms, dtype=np.int64)
    starts, arms, last_arm = [], [], -1
    for first in range(0, horizon, CHUNK):
        played = game.play_chunk(first)
        changes = np.flatnonzero(played[1:] != played[:-1]) + 1
        if played[0] != last_arm:
            changes = np.insert(changes, 0, 0)
        starts.append(first + changes)
        arms.append(played[changes])
        for index in np.flatnonzero((first < stops) & (stops <= first + len(played))):
            played_here = np.bincount(played[: stops[index] - first], minlength=len(plays))
            plays_at[index] = plays + played_here
        plays, last_arm = state.arms["plays"].copy(), int(played[-1])
    first_rounds = np.concatenate(starts)
    return AttributedRun(
        plays_at, last_arm, len(first_rounds) - 1, first_rounds, np.concatenate(arms)
    )


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


class _Game:
    """A run in progress: a policy's state and the rewards in flight."""

    def __init__(self, state: PolicyState, draws: Draws, horizon: int) -> None:
        from latesum.attributed.loop_kernels import play_rounds  # loads Numba

        self._play_rounds = play_rounds
        self._state, self._draws = state, draws
        self._run = np.zeros(1, dtype=layout.RUN)[0]
        self._run["horizon"] = horizon
        self._played = np.empty(CHUNK, dtype=np.int64)
        # A ring that reaches as far as the first delays, each slot with a node of its own.
        draws.next_chunk()
        size = 1 << min(int(draws.delays.max()), horizon - 1, MAX_RING - 1).bit_length()
        self._ring = np.zeros(size, dtype=layout.SLOT)
        self._ring["last"] = np.arange(size)
        self._flight = np.zeros(size, dtype=layout.REWARD)
        self._run["free"] = -1

    def play_chunk(self, first: int) -> Integers:
        """Play a chunk of rounds; their arms."""
        if first:
            self._draws.next_chunk()
        run, state = self._run, self._state
        rounds = min(CHUNK, int(run["horizon"]) - first)
        run["now"], run["end"] = first, first + rounds
        self._make_room(first, rounds)
        drawn, rng = (self._draws.rewards, self._draws.delays), self._draws.policy_rng
        self._play_rounds(run, *drawn, self._played, self._flight, self._ring, *state, rng)
        return self._played[:rounds]

    def _make_room(self, first: int, rounds: int) -> None:
        """Let there be an unused node for the reward of every round of the next call."""
        used = first - int(self._run["unseen"]) - int(self._state.arms["count"].sum())
        capacity = len(self._flight) - len(self._ring)
        if capacity - used >= rounds:
            return
        more = np.zeros(max(rounds, capacity), dtype=layout.REWARD)
        more["next"] = np.arange(1, len(more) + 1) + len(self._flight)
        more["next"][-1] = self._run["free"]
        self._run["free"] = len(self._flight)
        self._flight = np.concatenate([self._flight, more])


def _checked_checkpoints(checkpoints: Integers | None, horizon: int) -> Integers:
    stops = np.array([horizon] if checkpoints is None else checkpoints)
    if (
        stops.ndim != 1
        or not np.issubdtype(stops.dtype, np.integer)
        or (len(stops) and (stops[0] < 1 or stops[-1] > horizon or (np.diff(stops) <= 0).any()))
    ):
        raise InvalidInput(
            "checkpoints must be ascending whole numbers of rounds from 1 to the horizon "
            f"{horizon}, not {checkpoints!r}."
        )
    return stops.astype(np.int64)
