"""FLOW: an optimistic index on estimates from which the leaks between arms are balanced out.

A total holds what its own arm earned, less what arrives after the arm was left, plus what earlier
arms earned and that arrives only now. If an arm is played for longer than the delays are, the
rewards in flight when it is left are in expectation exactly E mu, the mean delay times the arm's
mean, *whatever the delay's shape*. So every total is, in expectation, a known weighted sum of the
unknown means, and a small linear system, the flow balance, gives them back
(`docs/research/flow.md` has the proof).

The weights are those of a working delay with the right mean: half of the rewards come at once, the
other half exactly 2 E rounds later. So they are sums over rounds: however a history is cut into
plays, the balance is the same. A status quo that is no arm is one more unknown, with an equation of
its own from the plays that begin while its rewards may still arrive; no arm is judged by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.policies.base import Believed, Block, Play, Policy
from latesum.policies.estimates import Units
from latesum.policies.saving import StatusQuo, check_history, check_status_quo

Index = Literal["kl-ucb++", "ucb1"]

#: Lengths of blocks in mean delays: the first of an arm and a later one, and the least number of
#: rounds. A first block below two mean delays would amplify errors.
FIRST_BLOCK = 3.0
LATER_BLOCK = 6.0
MIN_BLOCK = 8
#: Coming back to an arm, or staying with it, adds at least this share to its known rounds.
RETURN_SHARE = 0.25
STAY_SHARE = 0.1
#: Without a bound on the delay, rewards are taken to come within this number of mean delays.
REACH_IN_MEAN_DELAYS = 3.0
#: How far outside [0, 1] an estimate may lie while it corrects others: at 0 and 1 exactly, low
#: rates would be biased, and without a limit errors could grow down a chain of short blocks.
CLIP_LOW, CLIP_HIGH = -0.5, 1.5
#: When the linear system counts as solved.
MAX_SWEEPS = 60
TOLERANCE = 1e-7


class Flow(Policy):
    """Plays the arm with the best index, in growing blocks, and balances out what leaked.

    Every arm is first played for three mean delays, in random order. Then the arm with the highest
    index is played: for a tenth of its known rounds more if it is the one being played, else for
    six mean delays or a quarter of its known rounds, whichever is more. Nothing is thrown away: a
    small linear system (`FlowBalance`) takes out what late rewards moved from arm to arm.

    It expects that rewards are in [0, 1], that delays have the same law for all arms, and that the
    horizon is long against 3 `mean_delay` `n_arms`: otherwise there is no time to learn anything.

    The intervals of `estimates` contain the means at the stated rate for delays whose tail is no
    heavier than that of an exponential law of the same mean.

    Args:
        horizon: The number of rounds in all, or None if it is not known (the index is then KL-UCB,
            or UCB1). Past its horizon the policy goes on, as if the horizon were the present.
        mean_delay: The delay's mean or an upper estimate of it. Overstating it only costs regret,
            understating it is dangerous.
        lookahead: Whether the next arm is fixed before the last segment of the present one is
            seen: the variant with the proof. FLOW leaves an arm because of what it has just seen,
            which depends on the rewards that are still in flight. With look-ahead, the arm is first
            played for one more segment, and nothing in it changes which arm comes next; so the
            errors of the flow balance are sums of martingale differences. A number is the delay's
            largest value, which makes that segment long enough and the intervals proved; with
            True they rest on the delays being below three mean delays.
        index: "kl-ucb++" or "ucb1".
        caution: By what share `mean_delay` may be too small: the index takes the better one of an
            arm's estimates with the mean delay as given and with one larger by that share. With 0
            it trusts `mean_delay`, which saves a few per cent.
        status_quo: What was played before the start; its late rewards arrive in the first blocks:
            None (nothing ran: the pipeline is empty, as in the paper), one of the arms, or "other"
            (no arm, or not known: the first block then only shows the status quo, and is no
            evidence for its arm). Given None where something ran, the first arm looks better than
            it is for a long time.
        history: Segments that were played before the start, oldest first, as (arm, rounds, total
            or None); `status_quo` is then what was played before them.

    >>> policy = Flow(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=150, purpose='learn', number=1)
    >>> policy.tell(0, 150, total=51)
    >>> policy.tell(1, 150, total=83)
    >>> policy.ask()
    Block(arm=1, rounds=15, purpose='learn', number=3)

    References: `docs/research/flow.md`; Menard and Garivier (2017), A minimax and asymptotically
    optimal algorithm for stochastic bandits, ALT.
    """

    kind = "flow"
    random = True
    takes_new_options = True  # an arm that was never played comes first

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float,
        lookahead: bool | int = False,
        index: Index = "kl-ucb++",
        caution: float = 0.25,
        status_quo: StatusQuo = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.horizon = None if horizon is None else whole_number(horizon, "the horizon", at_least=1)
        self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        self.lookahead = lookahead
        self.index = known_name(index, ("kl-ucb++", "ucb1"), "index")
        self.caution = finite_number(caution, "caution", at_least=0, at_most=0.9)
        self.status_quo = check_status_quo(status_quo, n_arms)
        self.history = check_history(history, n_arms)
        bound = None
        if not isinstance(lookahead, bool):
            bound = whole_number(lookahead, "the delay bound for lookahead")
            if bound < self.mean_delay:
                raise InvalidInput(
                    f"the delay bound {bound} is below the mean delay {self.mean_delay:g}."
                )
        self._delay_bound = bound
        first = max(MIN_BLOCK, math.ceil(FIRST_BLOCK * self.mean_delay))
        if lookahead is not False:  # never shorter, however short the horizon: the proof needs it
            first = max(first, bound or 0)
        elif self.horizon is not None:
            first = min(first, max(MIN_BLOCK, self.horizon // (4 * n_arms)))
        self._first_rounds = first
        self._later_rounds = max(MIN_BLOCK, math.ceil(LATER_BLOCK * self.mean_delay))
        #: kappa: how many mean delays' worth of plays disturb a total at each boundary.
        self._noise = bound / self.mean_delay if bound and self.mean_delay else 1.0
        super().__init__(n_arms, names=names, rng=rng)

    def _reset(self) -> None:
        self._balance = FlowBalance(
            self.n_arms, self.mean_delay, self._delay_bound, self.status_quo
        )
        self._order: list[int] = self._rng.permutation(self.n_arms).tolist()
        self._arm = self._remaining = 0
        #: With look-ahead: the arm that comes after the last segment of this one, for how long.
        self._following: list[int] | None = None
        for arm, rounds, total in self.history:
            self._balance.add(arm, rounds, total)
        self._decide()

    def _learn(self, play: Play) -> None:
        arm, rounds, total, *_ = play
        self._balance.add(arm, rounds, total)
        if arm == self._arm and rounds < self._remaining:
            self._remaining -= rounds
        else:
            self._decide()

    def _next(self) -> Block:
        return Block(self._arm, self._remaining, "learn")

    def _forget(self, arm: int) -> None:
        if arm == self._arm or (self._following is not None and arm == self._following[0]):
            self._decide()

    def _decide(self) -> None:
        """Which arm comes next, and for how long."""
        following, self._following = self._following, None
        if following is not None and following[0] not in self._dropped:
            self._plan(*following)
            return
        previous = self._balance.previous
        known_in_advance = self._untried() is not None  # the order of first tries is fixed
        arm = self._choose()
        rounds = self._rounds_for(arm)
        if self.lookahead is False or arm == previous or known_in_advance:
            self._plan(arm, rounds)
        elif previous is None or previous in self._dropped:
            self._plan(arm, max(self._first_rounds, rounds - self._first_rounds))
        else:
            # The last segment of the arm is part of its run: that is as long as without it.
            self._following = [arm, max(self._first_rounds, rounds - self._first_rounds)]
            self._plan(previous, self._first_rounds)

    def _plan(self, arm: int, rounds: int) -> None:
        if self.horizon is not None and self.rounds_played < self.horizon:
            rounds = min(rounds, self.horizon - self.rounds_played)
        self._arm, self._remaining = arm, max(1, rounds)

    def _rounds_for(self, arm: int) -> int:
        known = self._balance.rounds[arm]
        if known == 0:
            return self._first_rounds
        if arm == self._balance.previous:
            return max(1, int(STAY_SHARE * known))
        return max(self._later_rounds, int(RETURN_SHARE * known))

    def _choose(self) -> int:
        """An arm that was never played, one that is overdue, or the one with the best index."""
        untried = self._untried()
        if untried is not None:
            return untried
        balance, arms = self._balance, self._in_order()
        for arm in arms:  # overdue: no total is known, though as many rounds again have passed
            if not balance.rounds[arm] and balance.rounds_played >= 2 * balance.last_played[arm]:
                return arm
        values = self._values()
        known = [arm for arm in arms if values[arm] > -math.inf]
        if known:
            return max(known, key=values.__getitem__)  # ties go by the order of the first tries
        previous = balance.previous  # nothing at all is known: go on
        return arms[0] if previous is None or previous in self._dropped else previous

    def _in_order(self) -> list[int]:
        return [arm for arm in self._order if arm not in self._dropped]

    def _untried(self) -> int | None:
        """The next arm that was never played."""
        last_played = self._balance.last_played
        return next((arm for arm in self._in_order() if not last_played[arm]), None)

    def _values(self) -> list[float]:
        """The index of every arm, minus infinity where nothing is known of it.

        An arm's total S is a sum of n' terms in [0, 1], and its expectation is `own` times the
        arm's mean plus what leaked in. With the g of KL-UCB++ for own^2 / n' plays, the expectation
        is at most n' q where n' kl(S / n', q) <= g, so the index is the estimated mean and
        (n' q - S) / own. Without leaks, own = n', it is KL-UCB++. It may be above 1.
        """
        from latesum._kl_kernels import CLOSE, bernoulli_upper, exploration

        balance = self._balance
        means = balance.means()
        if self.caution:
            means = list(map(max, means, balance.means(1.0 + self.caution)))
        clock, horizon = float(balance.rounds_played), float(self.horizon or 0)
        values = [-math.inf] * self.n_arms
        for arm, plays in enumerate(balance.noisy_plays(self._noise)):
            own = balance.own[arm]
            if own <= 0:
                continue
            count = own * own / plays
            if self.index == "ucb1":
                values[arm] = means[arm] + math.sqrt(2 * math.log(clock + 1) / count)
                continue
            g = exploration(count, self.n_arms, clock, horizon)
            share = min(max(balance.totals[arm] / plays, 0.0), 1.0)
            width = plays * (bernoulli_upper(share, g / plays, CLOSE) - share) / own
            values[arm] = min(max(means[arm], 0.0), 1.0) + width
        return values

    def _estimates(self, level: float) -> list[Believed]:
        means, (low, high) = self._balance.means(), self._balance.limits(level)
        believed: list[Believed] = [(None, 0.0, 1.0, 0)] * self.n_arms
        for arm, rounds in enumerate(self._balance.rounds):
            if rounds:
                mean = min(max(means[arm], 0.0), 1.0)
                believed[arm] = mean, min(low[arm], mean), max(high[arm], mean), rounds
        return believed

    def _findings(self, units: Units) -> list[str]:
        balance = self._balance
        status_quo = balance.mean_of_status_quo()
        if status_quo is not None and not 0 <= status_quo <= 1:
            status_quo = None  # too little of it has arrived for a mean
        means, values = balance.means(), self._values()
        counts = balance.effective_counts(self._noise)
        found = [] if status_quo is None else [units.status_quo(status_quo)]
        return found + [
            units.estimate(self.names[arm], means[arm], counts[arm], values[arm])
            for arm in range(self.n_arms)
            if counts[arm] > 0
        ]

    def _reason(self) -> str:
        known = self._balance.rounds
        if self._following is not None:
            return f"and then {self.names[self._following[0]]}, whatever is seen until then"
        if not self._balance.last_played[self._arm]:
            return "because it has not been tried yet"
        if self._untried() is not None:
            return "to finish the block that was begun"
        if not known[self._arm]:
            return f"because nothing is known {'of it ' if any(known) else ''}yet"
        unknown = any(not known[arm] for arm in self._available())
        of_which = " of those of which something is known" if unknown else ""
        return f"because it looks most promising{of_which}"


@dataclass
class FlowBalance:
    """One equation per arm, fed with what was really played.

    The equation of an arm sums over its known rounds. A pending play (`total` None) enters no
    equation and still counts as what was played before the next one. Consecutive known plays of
    one arm are one run, with no boundary between them.

    `mean_delay` is E, the delay's mean or an upper estimate; `delay_bound` is d, its largest value,
    if it is known; `status_quo` is what was played before.

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
    own: list[float] = field(init=False)  # plays of each arm that arrived in its known rounds
    #: leaks[j][i]: how many plays of another arm i arrived in known rounds of arm j.
    leaks: list[dict[int, float]] = field(init=False)
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
    #: The equation of a status quo that is no arm: weights of the arms and of itself, total.
    foreign: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_arms = self.n_arms
        self.leaks = [{} for _ in range(n_arms)]
        self.rounds, self.boundaries, self.last_played = ([0] * n_arms for _ in range(3))
        self.own, self.totals, self.slack = ([0.0] * n_arms for _ in range(3))
        self._late = 2.0 * self.mean_delay  # by how much the late half of the rewards is late
        #: After how many rounds a reward is taken to have arrived.
        self.reach = REACH_IN_MEAN_DELAYS * self.mean_delay
        if self.delay_bound is not None:
            self.reach = self.delay_bound
        if self.status_quo is None:
            return
        if self.status_quo == "other":
            ran, self.foreign = n_arms, [0.0] * (n_arms + 2)
        else:
            ran = self.previous = self.status_quo
            self.run = math.inf
        if self._late > 0:
            self.recent = [[ran, self._late]]

    def add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in a play: `arm` for `rounds` rounds, in which `total` arrived."""
        known = total is not None
        if total is not None and self.foreign and self.rounds_played < max(self.reach, self._late):
            known = False
            self.foreign[-1] += total
            for source, plays in self._arrivals(arm, rounds):
                self.foreign[source] += plays
        elif total is not None:
            self.rounds[arm] += rounds
            self.totals[arm] += total
            if arm != self.previous or not self.previous_known:
                self.boundaries[arm] += 1
            leaks = self.leaks[arm]
            for source, plays in self._arrivals(arm, rounds):
                if source == arm:
                    self.own[arm] += plays
                else:
                    leaks[source] = leaks.get(source, 0.0) + plays
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

    def _arrivals(self, arm: int, rounds: int) -> Iterator[tuple[int, float]]:
        """Half of the plays at once, and half of what was played 2 E rounds earlier."""
        late = self._late
        yield arm, rounds / 2 + max(0.0, rounds - late) / 2
        # The late half of what was played `age` rounds ago comes in late - age rounds: during
        # this play, if the age is above `youngest`.
        youngest = max(0.0, late - rounds)
        age = 0.0
        for earlier, length in reversed(self.recent):
            arriving = min(age + length, late) - max(age, youngest)
            if arriving > 0:
                yield int(earlier), arriving / 2
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

    def means(self, factor: float = 1.0) -> list[float]:
        """The estimated mean of every arm; it may lie outside [0, 1] by chance.

        With `factor`, as it would be if the mean delay were `factor` times what was given
        (below 2: own plays that arrived are at least half of all). An arm without a known round has
        the mean of all known rounds. Solves the equations by Gauss-Seidel.
        """
        rounds, totals = self.rounds, self.totals
        known = [arm for arm in range(self.n_arms) if rounds[arm] > 0]
        overall = sum(totals) / sum(rounds) if known else 0.5
        means = [overall] * self.n_arms
        equations = []
        for arm in known:
            means[arm] = totals[arm] / rounds[arm]
            own = rounds[arm] - factor * (rounds[arm] - self.own[arm])
            equations.append((arm, own, totals[arm], sorted(self.leaks[arm].items())))
        for _ in range(MAX_SWEEPS):
            solved = True
            for arm, own, total, leaks in equations:
                leaked_in = 0.0
                for other, weight in leaks:
                    mean = means[other]
                    if not CLIP_LOW <= mean <= CLIP_HIGH:
                        mean = CLIP_LOW if mean < CLIP_LOW else CLIP_HIGH
                    leaked_in += weight * mean
                mean = (total - factor * leaked_in) / own
                if solved and abs(mean - means[arm]) >= TOLERANCE:
                    solved = False
                means[arm] = mean
            if solved:
                break
        return means

    def mean_of_status_quo(self) -> float | None:
        """The mean of a status quo that is no arm; None if not enough of it has arrived.

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
        """n', how many plays each total is a sum over: N + noise E B, at least 1."""
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
        return [self.own[arm] ** 2 / plays[arm] for arm in range(self.n_arms)]

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
        for arm, rounds in enumerate(self.rounds):
            if rounds == 0:
                continue
            plays = rounds + self.reach * self.boundaries[arm]
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
        own, leaks, (least, most) = self.own[arm], sorted(self.leaks[arm].items()), between
        leaked_least = sum(plays * low[other] for other, plays in leaks)
        leaked_most = sum(plays * high[other] for other, plays in leaks)
        return (least - leaked_most) / own, (most - leaked_least) / own
