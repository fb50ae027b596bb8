"""Whole runs at compiled speed.

Rewards and delays are drawn ahead in blocks of rounds, from streams of their own, so that a run
depends on its seed only: not on how many rounds a compiled call plays, nor on the policy.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.attributed import layout_kernels as layout
from latesum.attributed.draws import BLOCK, Draws
from latesum.attributed.memory import Integers, Memory
from latesum.attributed.playable import memory_of
from latesum.attributed.policy import AttributedPolicy
from latesum.simulation.problem import Problem

#: Rewards with a delay this long wait in a heap instead of the ring. More than a block, so that
#: none of them arrives in the compiled call that sends it off.
LONGEST_RING = 1 << 16
#: What a place of a list of rewards says beside the next place.
_REST_BITS = (1 << layout.FOLLOWING) - 1
#: Rounds between two calls of `progress`.
_PROGRESS_EVERY = 1 << 18


@dataclass(frozen=True)
class AttributedRun:
    """What was played in one run.

    Args:
        plays: At [c, a] the plays of arm a in the first checkpoints[c] rounds.
        last_arm: The arm of the last round.
        switches: The number of rounds whose arm differs from the round before.
        starts: The first round, from 0, of each block of one arm, where recorded.
        arms: The arm of each block, where recorded.
    """

    plays: Integers
    last_arm: int
    switches: int
    starts: Integers | None = None
    arms: Integers | None = None


def run(
    problem: Problem,
    policy: AttributedPolicy,
    horizon: int,
    *,
    seed_sequence: np.random.SeedSequence,
    checkpoints: Integers | None = None,
    progress: Callable[[int], object] | None = None,
    record: bool = False,
    chunk: int = BLOCK,
) -> AttributedRun:
    """Play `policy` for `horizon` rounds.

    Args:
        problem: What is played.
        policy: What decides.
        horizon: The number of rounds.
        seed_sequence: Where the random numbers come from.
        checkpoints: Ascending numbers of rounds after which the plays are noted; by default only
            the horizon.
        progress: Called from time to time with the number of rounds done.
        record: Whether the blocks are recorded too.
        chunk: The largest number of rounds per compiled call. An interrupt is noticed between two
            calls; results do not depend on it.

    >>> from latesum.attributed import QPMD
    >>> from latesum.simulation import Problem
    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> seed = np.random.SeedSequence(1)
    >>> played = run(problem, QPMD("ucb1", n_arms=2), 10_000, seed_sequence=seed)
    >>> int(played.plays.sum())
    10000
    """
    horizon = whole_number(horizon, "horizon", at_least=1)
    chunk = min(whole_number(chunk, "chunk", at_least=1), BLOCK)
    stops = _checked_checkpoints(checkpoints, horizon)
    policy.check(problem)
    draws = Draws(problem, seed_sequence)
    memory = memory_of(policy, draws.policy_rng, problem)
    state = _RunState(memory, draws, horizon, stops, record)
    reported = 0
    while state.rounds_done < horizon:
        state.advance(chunk)
        if progress is not None and (
            state.rounds_done - reported >= _PROGRESS_EVERY or state.rounds_done == horizon
        ):
            reported = state.rounds_done
            progress(reported)
    return state.result()


class _Far(NamedTuple):
    """A reward that is under way for so long that it is kept out of the ring."""

    due: int
    minus_round: int  # of those due in one round, the latest play comes first
    arm: int
    reward: float


class _RunState:
    """The state of a run between two compiled calls."""

    def __init__(
        self, memory: Memory, draws: Draws, horizon: int, stops: Integers, record: bool
    ) -> None:
        from latesum.attributed import loop_kernels  # Numba is loaded here, not at import

        self._kernel = loop_kernels.run_rounds
        self._memory = memory
        self._draws = draws
        self._horizon = horizon
        self.rounds_done = 0
        self._world: Integers = np.zeros(layout.WORLD_SIZE, dtype=np.int64)
        self._world[layout.PREVIOUS_ARM] = -1
        self._travelling = _nothing_under_way(1)
        self._far: list[_Far] = []
        self._far_in_block = 0
        buffer = BLOCK if record else 0
        plays: Integers = np.zeros((len(stops), memory.tallies.shape[1]), dtype=np.int64)
        start, arm = np.empty(buffer, dtype=np.int64), np.empty(buffer, dtype=np.int64)
        self._notes = layout.Notes(stops, plays, start, arm)
        self._blocks: list[tuple[Integers, Integers]] | None = [] if record else None

    def advance(self, chunk: int) -> None:
        """Play at most `chunk` rounds, to the end of the block of draws at the latest."""
        first = self.rounds_done
        place = first % BLOCK
        if place == 0:
            self._draws.next_block()
            self._fit_ring()
        rounds = min(chunk, BLOCK - place, self._horizon - first)
        due = self._due_before(first + rounds)
        # Every reward that may arrive in these rounds finds a place in the queues.
        self._memory.make_room(int(self._world[layout.UNDER_WAY]) + rounds + len(due))
        room = min(self._far_in_block, rounds)
        far = layout.Labelled(
            np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64), np.empty(room)
        )
        world = self._world
        self._kernel(
            first, rounds, self._horizon, place, world,
            *self._draws.block, *self._travelling, *_labelled(due), *far,
            *self._notes, *self._memory.state,
        )  # fmt: skip
        self._send_far(int(world[layout.NEW_FAR]), far)
        if self._blocks is not None:
            new = int(world[layout.NEW_BLOCKS])
            self._blocks.append((self._notes.start[:new].copy(), self._notes.arm[:new].copy()))
        self.rounds_done = first + rounds

    def result(self) -> AttributedRun:
        """What was played."""
        starts = arms = None
        if self._blocks is not None:
            starts = np.concatenate([part[0] for part in self._blocks])
            arms = np.concatenate([part[1] for part in self._blocks])
        return AttributedRun(
            plays=self._notes.plays,
            last_arm=int(self._world[layout.PREVIOUS_ARM]),
            switches=int(self._world[layout.SWITCHES]),
            starts=starts,
            arms=arms,
        )

    def _fit_ring(self) -> None:
        """Let the ring reach as far as the delays of this block, or as far as it may."""
        longest = int(self._draws.delays.max())
        self._far_in_block = 0
        if longest >= LONGEST_RING:
            self._far_in_block = int(np.count_nonzero(self._draws.delays >= LONGEST_RING))
        longest = min(longest, LONGEST_RING - 1, self._horizon - 1)
        size = 1 << longest.bit_length()
        old = self._travelling.ring
        if size <= len(old):
            return
        rounds = self.rounds_done + np.arange(len(old))
        places = (rounds - len(old)) & (size - 1)  # of the last plays, in the larger ring
        before = rounds & (len(old) - 1)
        moved = np.empty(len(old) + 1, dtype=np.int32)
        moved[before], moved[-1] = places, -1  # what ends a list still does
        ring, sums, entries, reward = self._travelling
        self._travelling = _nothing_under_way(size)
        self._travelling.ring[rounds & (size - 1)] = moved[ring[before]]
        self._travelling.sums[rounds & (size - 1)] = sums[before]
        following, rest = entries[before] >> layout.FOLLOWING, entries[before] & _REST_BITS
        self._travelling.entries[places] = (
            moved[following].astype(np.int64) << layout.FOLLOWING | rest
        )
        self._travelling.reward[places] = reward[before]

    def _due_before(self, end: int) -> list[_Far]:
        due = []
        while self._far and self._far[0].due < end:
            due.append(heapq.heappop(self._far))
        return due

    def _send_far(self, count: int, far: layout.Labelled) -> None:
        for place in range(count):
            played, arm = int(far.round[place]), int(far.arm[place])
            _, delay = self._draws.of_play(played % BLOCK, arm)
            heapq.heappush(self._far, _Far(played + delay, -played, arm, float(far.reward[place])))


def _nothing_under_way(size: int) -> layout.Travelling:
    """A ring of this many rounds."""
    sums, entries = np.zeros((2, size), dtype=np.int64)
    entries[:] = -1 << layout.FOLLOWING
    return layout.Travelling(np.full(size, -1, dtype=np.int32), sums, entries, np.zeros(size))


def _labelled(due: list[_Far]) -> layout.Labelled:
    return layout.Labelled(
        np.array([entry.due for entry in due], dtype=np.int64),
        np.array([entry.arm for entry in due], dtype=np.int32),
        np.array([entry.reward for entry in due], dtype=np.float64),
    )


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
