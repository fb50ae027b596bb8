"""The flow balance: what leaked where, and the means that explain the totals.

A total holds what its own arm earned, less what arrives after the arm was left, plus what earlier
arms earned and that arrives only now. If an arm is played for longer than the delays are, the
rewards under way when it is left are in expectation exactly E mu, the mean delay times the arm's
mean, *whatever the delay's shape*. So every total is, in expectation, a known weighted sum of the
unknown means, and a small linear system gives them back. `docs/theory.md` has the derivation.

The weights here are those of a working delay with the right mean: half of the rewards come at
once, the other half exactly 2 E rounds later. For runs of at least 2 E rounds this says E mu at
each boundary, as it must; for shorter ones it leaks in and out what is half of what was played,
which keeps the system solvable. And it makes the weights a sum over rounds: however a history is
cut into plays, the balance is the same.

What ran before the first play leaks into it too. If it was one of the arms, it is the first play's
predecessor like any other. If it was something else, its mean is one more unknown: plays that begin
while its rewards may still arrive form an equation of their own, for that unknown, and no arm
is judged by them.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum.policies.history import Before

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Without a bound on the delay, rewards are taken to come within this number of mean delays.
REACH_IN_MEAN_DELAYS = 3.0
#: The number of recent plays that are remembered at first; the room grows with need.
_ROOM = 8


class FlowBalance:
    """One equation per arm, fed with what was really played.

    The equation of an arm sums over its known rounds. A pending play (`total` None) enters no
    equation and still counts as what was played before the next one. Consecutive known plays of
    one arm are one run, with no boundary between them.

    `mean_delay` is E, the delay's mean or an upper estimate; `delay_bound` is d, its largest value,
    if it is known; `before` is what ran before the first play (see `latesum.policies.history`); `saved` is
    what `to_json` gave.

    >>> balance = FlowBalance(2, mean_delay=50)
    >>> balance.add(0, 1000, 475.0)     # 1000 rounds at 0.5, of which 50 are still under way
    >>> balance.add(1, 1000, 595.0)     # those 50 arrive here, and 50 rounds at 0.6 do not
    >>> balance.means().round(6).tolist()
    [0.5, 0.6]
    """

    def __init__(
        self,
        n_arms: int,
        mean_delay: float,
        delay_bound: float | None = None,
        before: Before = None,
        saved: list[Any] | None = None,
    ) -> None:
        self.state: Any
        self.n_arms = n_arms
        self.mean_delay = mean_delay
        #: After how many rounds a reward is taken to have arrived.
        self.reach = REACH_IN_MEAN_DELAYS * mean_delay if delay_bound is None else delay_bound
        late = 2 * mean_delay
        self._foreign_rounds = float(max(self.reach, late)) if before == "other" else 0.0
        if saved is not None:
            self.load(saved)
            return
        nothing = [0.0] * n_arms
        recent = []
        if before is not None and late > 0:
            recent = [(n_arms if before == "other" else int(before), late)]
        previous = before if isinstance(before, int) else None
        foreign = [0.0] * (n_arms + 2) if before == "other" else []
        weights = np.zeros((n_arms, n_arms))
        self.load(
            [weights, nothing, nothing, nothing, [0] * n_arms, 0, previous, False, recent, foreign]
        )

    @property
    def weights(self) -> Floats:
        """weights[j, i]: how many plays of arm i have arrived in known rounds of arm j."""
        weights: Floats = self.state.weights
        return weights

    @property
    def rounds(self) -> Floats:
        """The known rounds of each arm (N)."""
        rounds: Floats = self.state.rounds
        return rounds

    @property
    def totals(self) -> Floats:
        """The totals of these (S)."""
        totals: Floats = self.state.totals
        return totals

    @property
    def boundaries(self) -> Floats:
        """In how many runs they came (B)."""
        boundaries: Floats = self.state.boundaries
        return boundaries

    @property
    def last_played(self) -> Integers:
        """After how many rounds in all each arm was last played; 0 if it never was."""
        last_played: Integers = self.state.last_played
        return last_played

    @property
    def rounds_played(self) -> int:
        """The rounds of all plays."""
        return int(self.state.counters[_kernels().ROUNDS_PLAYED])

    @property
    def previous(self) -> int | None:
        """The arm played last."""
        previous = int(self.state.counters[_kernels().PREVIOUS])
        return None if previous < 0 else previous

    def add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in a play: `arm` for `rounds` rounds, in which `total` arrived."""
        self.make_room()
        known = total is not None
        _kernels().add(self.state, arm, rounds, total if total is not None else 0.0, known)

    def make_room(self) -> None:
        """Let at least one more play be taken in."""
        if _kernels().has_room(self.state):
            return
        self.state = roomier(self.state)
        self.make_room()

    def means(self, stretched: float = 1.0) -> Floats:
        """The estimated mean of every arm; it may lie outside [0, 1] by chance.

        With `stretched`, as it would be if the mean delay were `stretched` times what was told (below
        2: own plays that arrived are at least half of all). An arm without a known round has the
        mean of all known rounds.
        """
        from latesum.policies import flow_kernels

        means: Floats = flow_kernels.solve_balance(self.state, float(stretched))
        return means

    def mean_before(self) -> float | None:
        """The mean of what ran before, if it was no arm; None if not enough of it has arrived.

        >>> balance = FlowBalance(1, mean_delay=50, before="other")
        >>> balance.add(0, 150, 70.0)   # 100 of 150 rounds arrived at 0.5, and 50 from before
        >>> balance.add(0, 1000, 500.0)
        >>> balance.mean_before()
        0.4
        """
        foreign = self.state.foreign
        if not len(foreign) or foreign[self.n_arms] < 1:
            return None
        *weights, arrived, total = foreign.tolist()
        return float((total - np.dot(weights, self.means())) / arrived)

    def effective_counts(self, noise: float = 1.0) -> Floats:
        """How many plays with attributed rewards each estimate is worth: own^2 / (N + noise E B).

        `own` is what of an arm's own plays arrived in its known rounds. 0 without known rounds.

        >>> balance = FlowBalance(2, mean_delay=50)
        >>> balance.add(0, 1000, 475.0)
        >>> balance.effective_counts().round(1).tolist()
        [859.5, 0.0]
        """
        own = self.weights.diagonal()
        return own * own / self.disturbing_plays(noise)

    def disturbing_plays(self, noise: float = 1.0) -> Floats:
        """How many plays each total is a sum over: N + noise E B, at least 1.

        >>> balance = FlowBalance(2, mean_delay=50)
        >>> balance.add(0, 1000, 475.0)
        >>> balance.disturbing_plays().tolist()
        [1050.0, 1.0]
        """
        plays: Floats = _kernels().disturbing_plays(self.state, noise)
        return plays

    def limits(self, level: float) -> tuple[Floats, Floats]:
        """For every arm an interval that holds its mean with probability `level`.

        The thinned interval: an arm's total is a sum of at most n' = N + d B terms in [0, 1], so
        n' kl(S / n', expected total / n') is small, and the expected total is own mu plus what
        leaked in. What leaked in is bounded by the other arms' limits at a higher level, so the
        interval does not pretend to know them; a tenth of the risk goes there.
        """
        from latesum.policies import flow_kernels

        risk = 1 - level
        allowance = math.log(2 / (0.9 * risk))
        others_allowance = math.log(2 * max(self.n_arms - 1, 1) / (0.1 * risk))
        plays = self.rounds + self.reach * self.boundaries
        low, high = flow_kernels.balance_limits(
            self.weights, self.rounds, plays, self.totals, allowance, others_allowance
        )
        return low, high

    def to_json(self) -> list[Any]:
        """All of it, as JSON values."""
        state = self.state
        rounds_played, previous, previous_known, recent, _ = state.counters.tolist()
        arms, lengths = state.recent_arms[:recent].tolist(), state.recent_rounds[:recent].tolist()
        return [
            state.weights.tolist(),
            state.rounds.tolist(),
            state.totals.tolist(),
            state.boundaries.tolist(),
            state.last_played.tolist(),
            rounds_played,
            None if previous < 0 else previous,
            bool(previous_known),
            list(zip(arms, lengths, strict=True)),
            state.foreign.tolist(),
        ]

    def load(self, saved: list[Any]) -> None:
        """The opposite of `to_json`."""
        weights, rounds, totals, boundaries, last_played, rounds_played, *others = saved
        previous, previous_known, recent, foreign = others
        room = max(_ROOM, 2 * len(recent))
        arms, lengths = np.zeros(room, dtype=np.int64), np.zeros(room)
        for place, entry in enumerate(recent):
            arms[place], lengths[place] = entry
        last = -1 if previous is None else previous
        found = np.array(weights)
        own = found.diagonal().copy()
        room_for_leaks = _ROOM
        if self.n_arms > _ROOM:
            room_for_leaks = max(_ROOM, int(np.count_nonzero(found, axis=1).max()))
        leaks = np.zeros((self.n_arms, room_for_leaks), dtype=np.int64)
        leak_weights = np.zeros(leaks.shape)
        leak_counts = np.zeros(self.n_arms, dtype=np.int64)
        most = 0
        if rounds_played:
            most = _kernels().find_leaks(found, leaks, leak_weights, leak_counts)
        self.state = _kernels().BalanceState(
            mean_delay=float(self.mean_delay),
            late=2.0 * self.mean_delay,
            foreign_rounds=self._foreign_rounds,
            foreign=np.array(foreign, dtype=np.float64),
            weights=found,
            own=own,
            leaks=leaks,
            leak_weights=leak_weights,
            leak_counts=leak_counts,
            rounds=np.array(rounds),
            totals=np.array(totals),
            boundaries=np.array(boundaries),
            last_played=np.array(last_played),
            counters=np.array([rounds_played, last, int(previous_known), len(recent), most]),
            recent_arms=arms,
            recent_rounds=lengths,
        )


def roomier(state: Any) -> Any:
    """The same equations with twice the room for recent plays and for leaks."""
    return state._replace(
        recent_arms=_wider(state.recent_arms), recent_rounds=_wider(state.recent_rounds),
        leaks=_wider(state.leaks), leak_weights=_wider(state.leak_weights),
    )  # fmt: skip


def _wider(rows: NDArray[Any]) -> NDArray[Any]:
    """The same with twice the room at the end of each row."""
    return np.concatenate([rows, np.zeros_like(rows)], axis=-1)


@functools.cache
def _kernels() -> Any:
    from latesum.policies import balance_kernels  # compiled at first use: importing stays fast

    return balance_kernels
