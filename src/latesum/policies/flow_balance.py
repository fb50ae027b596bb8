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

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum.policies.history import Before

Floats = NDArray[np.float64]

#: Without a bound on the delay, rewards are taken to come within this number of mean delays.
REACH_IN_MEAN_DELAYS = 3.0


class FlowBalance:
    """One equation per arm, fed with what was really played.

    The equation of an arm sums over its known rounds. A pending play (`total` None) enters no
    equation and still counts as what was played before the next one. Consecutive known plays of
    one arm are one run, with no boundary between them.

    `mean_delay` is E, the delay's mean or an upper estimate; `delay_bound` is d, its largest value,
    if it is known; `before` is what ran before the first play (see `latesum.policies.history`).

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
    ) -> None:
        self.n_arms = n_arms
        self.mean_delay = mean_delay
        #: After how many rounds a reward is taken to have arrived.
        self.reach = REACH_IN_MEAN_DELAYS * mean_delay if delay_bound is None else delay_bound
        self._late = 2 * mean_delay  # how much later the late half of the rewards comes
        #: weights[j, i]: how many plays of arm i have arrived in known rounds of arm j.
        self.weights: Floats = np.zeros((n_arms, n_arms))
        #: The known rounds (N), their totals (S) and in how many runs they came (B), per arm.
        self.rounds: Floats = np.zeros(n_arms)
        self.totals: Floats = np.zeros(n_arms)
        self.boundaries: Floats = np.zeros(n_arms)
        #: After how many rounds in all an arm was last played; 0 if it never was.
        self.last_played = [0] * n_arms
        self.rounds_played = 0
        #: The arm played last, and whether its total is known.
        self.previous: int | None = before if isinstance(before, int) else None
        self._previous_known = False
        #: What was played in the last 2 E rounds, oldest first: (arm, rounds).
        self._recent: list[tuple[int, float]] = []
        #: For how long something that is no arm, here `n_arms`, may still arrive ...
        self._foreign_rounds = max(self.reach, self._late) if before == "other" else 0.0
        #: ... and its equation: the weights of all arms and of itself, and the total.
        self._foreign: list[float] = [0.0] * (n_arms + 2) if before == "other" else []
        if before is not None and self._late > 0:
            self._recent = [(n_arms if before == "other" else int(before), self._late)]

    def add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in a play: `arm` for `rounds` rounds, in which `total` arrived."""
        known = total is not None
        if total is not None and self.rounds_played < self._foreign_rounds:
            known = False
            self._foreign = self._foreign.copy()
            self._foreign[-1] += total
            self._add_arrivals(self._foreign, arm, rounds)
        elif total is not None:
            self.rounds[arm] += rounds
            self.totals[arm] += total
            if arm != self.previous or not self._previous_known:
                self.boundaries[arm] += 1
            self._add_arrivals(self.weights[arm], arm, rounds)
        self._remember(arm, rounds)
        self.previous, self._previous_known = arm, known
        self.rounds_played += rounds
        self.last_played[arm] = self.rounds_played

    def _add_arrivals(self, row: Floats | list[float], arm: int, rounds: int) -> None:
        """Half of the plays at once, and half of what was played 2 E rounds earlier."""
        late = self._late
        row[arm] += rounds / 2 + max(0.0, rounds - late) / 2
        # The late half of what was played `age` rounds ago comes in late - age rounds: during
        # this play, if the age is above `youngest`.
        youngest = max(0.0, late - rounds)
        age = 0.0
        for earlier, length in reversed(self._recent):
            arriving = min(age + length, late) - max(age, youngest)
            if arriving > 0:
                row[earlier] += arriving / 2
            age += length

    def _remember(self, arm: int, rounds: int) -> None:
        if rounds >= self._late:
            self._recent = [(arm, self._late)] if self._late > 0 else []
            return
        recent = self._recent
        if recent and recent[-1][0] == arm:
            recent = [*recent[:-1], (arm, recent[-1][1] + rounds)]
        else:
            recent = [*recent, (arm, float(rounds))]
        excess = sum(length for _, length in recent) - self._late
        while excess > 0:
            oldest, length = recent[0]
            if length > excess:
                recent[0] = (oldest, length - excess)
                break
            recent.pop(0)
            excess -= length
        self._recent = recent

    def means(self, stretched: float = 1.0) -> Floats:
        """The estimated mean of every arm; it may lie outside [0, 1] by chance.

        With `stretched`, as it would be if the mean delay were `stretched` times what was told (below
        2: own plays that arrived are at least half of all). An arm without a known round has the
        mean of all known rounds.
        """
        from latesum.policies import flow_kernels

        means: Floats = flow_kernels.solve_balance(
            self.weights, self.rounds, self.totals, stretched
        )
        return means

    def mean_before(self) -> float | None:
        """The mean of what ran before, if it was no arm; None if not enough of it has arrived.

        >>> balance = FlowBalance(1, mean_delay=50, before="other")
        >>> balance.add(0, 150, 70.0)   # 100 of 150 rounds arrived at 0.5, and 50 from before
        >>> balance.add(0, 1000, 500.0)
        >>> balance.mean_before()
        0.4
        """
        if not self._foreign or self._foreign[self.n_arms] < 1:
            return None
        *weights, arrived, total = self._foreign
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
        return np.maximum(self.rounds + noise * self.mean_delay * self.boundaries, 1.0)

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
        return [
            self.weights.tolist(),
            self.rounds.tolist(),
            self.totals.tolist(),
            self.boundaries.tolist(),
            self.last_played.copy(),
            self.rounds_played,
            self.previous,
            self._previous_known,
            self._recent,  # never changed in place
            self._foreign,
        ]

    def load(self, saved: list[Any]) -> None:
        """The opposite of `to_json`."""
        weights, rounds, totals, boundaries, last_played, *others = saved
        self.weights = np.array(weights)
        self.rounds, self.totals = np.array(rounds), np.array(totals)
        self.boundaries = np.array(boundaries)
        self.last_played = list(last_played)
        self.rounds_played, self.previous, self._previous_known, recent, self._foreign = others
        self._recent = [(arm, length) for arm, length in recent]
