"""The flow balance: what leaked where, and the means that explain the totals.

A total holds what its own arm earned, less what arrives after the arm was left, plus what earlier
arms earned and that arrives only now. If an arm is played for longer than the delays are, the
rewards in flight when it is left are in expectation exactly E mu, the mean delay times the arm's
mean, *whatever the delay's shape*. So every total is, in expectation, a known weighted sum of the
unknown means, and a small linear system gives them back. `docs/research/flow.md` has the proof.

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
from dataclasses import dataclass, field

from latesum.policies.history import StatusQuo

#: Without a bound on the delay, rewards are taken to come within this number of mean delays.
REACH_IN_MEAN_DELAYS = 3.0
#: How far outside [0, 1] an estimate may lie while it corrects others: at 0 and 1 exactly, low
#: rates would be biased, and without a limit errors could grow down a chain of short blocks.
CLIP_LOW, CLIP_HIGH = -0.5, 1.5
#: For how long an arm ran that ran for ever before the start; a number that JSON holds.
MAX_RUN = 1e18
MAX_SWEEPS = 60
TOLERANCE = 1e-7


@dataclass
class FlowBalance:
    """One equation per arm, fed with what was really played.

    The equation of an arm sums over its known rounds. A pending play (`total` None) enters no
    equation and still counts as what was played before the next one. Consecutive known plays of
    one arm are one run, with no boundary between them.

    `mean_delay` is E, the delay's mean or an upper estimate; `delay_bound` is d, its largest value,
    if it is known; `status_quo` is what ran before the first play (see `latesum.policies.history`).

    >>> balance = FlowBalance(2, mean_delay=50)
    >>> balance.add(0, 1000, 475.0)     # 1000 rounds at 0.5, of which 50 are still in flight
    >>> balance.add(1, 1000, 595.0)     # those 50 arrive here, and 50 rounds at 0.6 do not
    >>> [round(mean, 6) for mean in balance.means()]
    [0.5, 0.6]
    """

    n_arms: int
    mean_delay: float
    delay_bound: float | None = None
    status_quo: StatusQuo = None
    #: weights[j][i]: how many plays of arm i have arrived in known rounds of arm j.
    weights: list[list[float]] = field(init=False)
    rounds: list[int] = field(init=False)  # N, the known rounds of each arm
    totals: list[float] = field(init=False)  # S, the totals of these
    boundaries: list[int] = field(init=False)  # B, in how many runs they came
    slack: list[float] = field(init=False)  # by how much tails may bias the totals, see `_tail`
    last_played: list[int] = field(init=False)  # after how many rounds in all; 0: never
    rounds_played: int = 0
    previous: int | None = None  # the arm played last ...
    previous_known: bool = False  # ... whether its total is known ...
    run: float = 0.0  # ... and for how long it has been played
    #: What was played in the last 2 E rounds, oldest first: [arm, rounds].
    recent: list[list[float]] = field(default_factory=list)
    #: The equation of what ran before, if it is no arm: weights of the arms and of itself, total.
    foreign: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_arms = self.n_arms
        self.weights = [[0.0] * n_arms for _ in range(n_arms)]
        self.rounds, self.boundaries, self.last_played = ([0] * n_arms for _ in range(3))
        self.totals, self.slack = [0.0] * n_arms, [0.0] * n_arms
        if self.status_quo is None:
            return
        if self._late > 0:
            self.recent = [
                [n_arms if self.status_quo == "other" else int(self.status_quo), self._late]
            ]
        if self.status_quo == "other":
            self.foreign = [0.0] * (n_arms + 2)
        else:
            self.previous, self.run = int(self.status_quo), MAX_RUN

    @property
    def reach(self) -> float:
        """After how many rounds a reward is taken to have arrived."""
        if self.delay_bound is not None:
            return self.delay_bound
        return REACH_IN_MEAN_DELAYS * self.mean_delay

    @property
    def _late(self) -> float:
        """By how much the late half of the rewards is late."""
        return 2.0 * self.mean_delay

    def add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in a play: `arm` for `rounds` rounds, in which `total` arrived."""
        known = total is not None
        if total is not None and self.foreign and self.rounds_played < max(self.reach, self._late):
            known = False
            self.foreign[-1] += total
            self._add_arrivals(self.foreign, arm, rounds)
        elif total is not None:
            self.rounds[arm] += rounds
            self.totals[arm] += total
            if arm != self.previous or not self.previous_known:
                self.boundaries[arm] += 1
            self._add_arrivals(self.weights[arm], arm, rounds)
        if arm != self.previous:
            if self.previous is not None:
                tail = self._tail(self.run)
                self.slack[self.previous] += tail
                self.slack[arm] += tail
            self.run = 0.0
        self._remember(arm, rounds)
        self.run += rounds
        self.rounds_played += rounds
        self.previous, self.previous_known = arm, known
        self.last_played[arm] = self.rounds_played

    def _add_arrivals(self, row: list[float], arm: int, rounds: int) -> None:
        """Half of the plays at once, and half of what was played 2 E rounds earlier."""
        late = self._late
        row[arm] += rounds / 2 + max(0.0, rounds - late) / 2
        # The late half of what was played `age` rounds ago comes in late - age rounds: during
        # this play, if the age is above `youngest`.
        youngest = max(0.0, late - rounds)
        age = 0.0
        for earlier, length in reversed(self.recent):
            arriving = min(age + length, late) - max(age, youngest)
            if arriving > 0:
                row[int(earlier)] += arriving / 2
            age += length

    def _remember(self, arm: int, rounds: int) -> None:
        late, recent = self._late, self.recent
        if rounds >= late:
            self.recent = [[arm, late]] if late > 0 else []
            return
        if recent and recent[-1][0] == arm:
            recent[-1][1] += rounds
        else:
            recent.append([arm, rounds])
        excess = 0.0
        for _, length in recent:
            excess += length
        excess -= late
        while excess > 0:
            if recent[0][1] > excess:
                recent[0][1] -= excess
                break
            excess -= recent.pop(0)[1]

    def means(self, stretched: float = 1.0) -> list[float]:
        """The estimated mean of every arm; it may lie outside [0, 1] by chance.

        With `stretched`, as it would be if the mean delay were `stretched` times what was given
        (below 2: own plays that arrived are at least half of all). An arm without a known round has
        the mean of all known rounds. Solves weights @ means = totals by Gauss-Seidel.
        """
        rounds, totals = self.rounds, self.totals
        known = [arm for arm in range(self.n_arms) if rounds[arm] > 0]
        overall = sum(totals) / sum(rounds) if known else 0.5
        means = [overall] * self.n_arms
        equations = []
        for arm in known:
            means[arm] = totals[arm] / rounds[arm]
            weights = self.weights[arm]
            leaks = [(i, weights[i]) for i in range(self.n_arms) if weights[i] and i != arm]
            own = rounds[arm] - stretched * (rounds[arm] - weights[arm])
            equations.append((arm, own, totals[arm], leaks))
        for _ in range(MAX_SWEEPS):
            change = 0.0
            for arm, own, total, leaks in equations:
                leaked_in = 0.0
                for other, weight in leaks:
                    mean = means[other]
                    if not CLIP_LOW <= mean <= CLIP_HIGH:
                        mean = CLIP_LOW if mean < CLIP_LOW else CLIP_HIGH
                    leaked_in += weight * mean
                mean = (total - stretched * leaked_in) / own
                change = max(change, abs(mean - means[arm]))
                means[arm] = mean
            if change < TOLERANCE:
                break
        return means

    def mean_of_status_quo(self) -> float | None:
        """The mean of what ran before, if it was no arm; None if not enough of it has arrived.

        >>> balance = FlowBalance(1, mean_delay=50, status_quo="other")
        >>> balance.add(0, 150, 70.0)   # 100 of 150 rounds arrived at 0.5, and 50 from before
        >>> balance.add(0, 1000, 500.0)
        >>> balance.mean_of_status_quo()
        0.4
        """
        if not self.foreign or self.foreign[self.n_arms] < 1:
            return None
        *weights, arrived, total = self.foreign
        leaked = sum(weight * mean for weight, mean in zip(weights, self.means(), strict=True))
        return (total - leaked) / arrived

    def noisy_plays(self, noise: float = 1.0) -> list[float]:
        """n', how many plays each total is a sum over: N + noise E B, at least 1.

        >>> balance = FlowBalance(2, mean_delay=50)
        >>> balance.add(0, 1000, 475.0)
        >>> balance.noisy_plays()
        [1050.0, 1.0]
        """
        spread = noise * self.mean_delay
        return [
            max(known + spread * runs, 1.0)
            for known, runs in zip(self.rounds, self.boundaries, strict=True)
        ]

    def effective_counts(self, noise: float = 1.0) -> list[float]:
        """How many plays with attributed rewards each estimate is worth: own^2 / n'.

        `own` is what of an arm's own plays arrived in its known rounds. 0 without known rounds.

        >>> balance = FlowBalance(2, mean_delay=50)
        >>> balance.add(0, 1000, 475.0)
        >>> [round(count, 1) for count in balance.effective_counts()]
        [859.5, 0.0]
        """
        plays = self.noisy_plays(noise)
        return [self.weights[arm][arm] ** 2 / plays[arm] for arm in range(self.n_arms)]

    def _tail(self, run: float) -> float:
        """How many rewards may come later than a run was long: E[(tau - run)+] at most.

        With a bound d that is E (1 - run / d), else E exp(-run / E): delays are taken to have no
        heavier tail than an exponential law of the same mean.
        """
        if self.mean_delay == 0:
            return 0.0
        if self.delay_bound is not None:
            return self.mean_delay * max(0.0, 1 - run / max(self.delay_bound, self.mean_delay))
        return self.mean_delay * math.exp(-run / self.mean_delay)

    def limits(self, level: float) -> tuple[list[float], list[float]]:
        """For every arm an interval that contains its mean with probability `level`.

        An arm's total is a sum of at most n' = N + d B terms in [0, 1] (d: `reach`), so
        n' kl(S / n', expected total / n') is small, and the expected total is own mu plus what
        leaked in, up to the tails of the delay. What leaked in is bounded by the other arms' limits
        at a higher level, so the interval does not pretend to know them; a tenth of the risk goes
        there.
        """
        risk, n_arms = 1 - level, self.n_arms
        others = self._expected_totals(math.log(2 * max(n_arms - 1, 1) / (0.1 * risk)))
        low, high = [0.0] * n_arms, [1.0] * n_arms
        for _ in range(MAX_SWEEPS):
            change = 0.0
            for arm, between in others.items():
                new_low, new_high = self._solved_for(arm, between, low, high)
                new_low, new_high = max(new_low, low[arm]), min(new_high, high[arm])
                if new_low > new_high:  # the totals contradict each other: keep what was
                    continue
                change = max(change, new_low - low[arm], high[arm] - new_high)
                low[arm], high[arm] = new_low, new_high
            if change < TOLERANCE:
                break
        own_low, own_high = [0.0] * n_arms, [1.0] * n_arms
        for arm, between in self._expected_totals(math.log(2 / (0.9 * risk))).items():
            own_low[arm], own_high[arm] = self._solved_for(arm, between, low, high)
        return own_low, own_high

    def _expected_totals(self, allowance: float) -> dict[int, tuple[float, float]]:
        """Between what the expected total of each known arm lies, given what it was."""
        from latesum._kl_kernels import CLOSE, bernoulli_lower, bernoulli_upper

        found = {}
        for arm in range(self.n_arms):
            if self.rounds[arm] == 0:
                continue
            plays = self.rounds[arm] + self.reach * self.boundaries[arm]
            slack = self.slack[arm] + (self._tail(self.run) if arm == self.previous else 0.0)
            share = min(max(self.totals[arm] / plays, 0.0), 1.0)
            found[arm] = (
                plays * bernoulli_lower(share, allowance / plays, CLOSE) - slack,
                plays * bernoulli_upper(share, allowance / plays, CLOSE) + slack,
            )
        return found

    def _solved_for(
        self, arm: int, between: tuple[float, float], low: list[float], high: list[float]
    ) -> tuple[float, float]:
        """The limits of an arm's mean, with the others anywhere within theirs."""
        weights, (least, most) = self.weights[arm], between
        others = [other for other in range(self.n_arms) if other != arm]
        leaked_least = sum(weights[other] * low[other] for other in others)
        leaked_most = sum(weights[other] * high[other] for other in others)
        return (least - leaked_most) / weights[arm], (most - leaked_least) / weights[arm]
