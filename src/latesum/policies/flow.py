"""FLOW: an optimistic index on estimates from which the leaks between arms are balanced out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.policies.base import Block, Play, Policy
from latesum.policies.estimates import Units, say_estimate, say_status_quo
from latesum.policies.flow_balance import FlowBalance
from latesum.policies.history import StatusQuo, check_history, check_status_quo

Index = Literal["kl-ucb++", "kl-ucb", "ucb1"]

#: Lengths of blocks in mean delays: the first of an arm and a later one, and the least number of
#: rounds. A first block below two mean delays would amplify errors.
FIRST_BLOCK = 3.0
LATER_BLOCK = 6.0
MIN_BLOCK = 8
#: Coming back to an arm, or staying with it, adds at least this share to its known rounds.
RETURN_SHARE = 0.25
STAY_SHARE = 0.1


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
        index: "kl-ucb++", "kl-ucb" or "ucb1".
        caution: By what share `mean_delay` may be too small: the index takes the better one of an
            arm's estimates with the mean delay as given and with one larger by that share. With 0
            it trusts `mean_delay`, which saves a few per cent.
        status_quo: What ran before the start, since its late rewards arrive in the first blocks:
            None (nothing ran: the pipeline is empty, as in the paper), one of the arms, or "other"
            (no arm, or not known: the first block then only tells what ran before, and is no
            evidence for its arm). Given None where something ran, the first arm looks better than
            it is for a long time.
        history: Segments that were played before the start, oldest first, as (arm, rounds, total
            or None); `status_quo` is then what ran before the first of them.

    >>> policy = Flow(2, 250_000, mean_delay=50, rng=np.random.default_rng(1))
    >>> policy.ask()
    Block(arm=0, rounds=150, purpose='learn', number=1)
    >>> policy.tell(0, 150, total=51)
    >>> policy.ask()
    Block(arm=1, rounds=150, purpose='learn', number=2)
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
        #: The rounds that the policy plans for; None if that is not known.
        self.horizon = None if horizon is None else whole_number(horizon, "the horizon", at_least=1)
        self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        self.lookahead = lookahead
        self.index = known_name(index, ("kl-ucb++", "kl-ucb", "ucb1"), "index")
        self.caution = finite_number(caution, "caution", at_least=0, at_most=0.9)
        self.status_quo = check_status_quo(status_quo, n_arms)
        self.history = check_history(history, n_arms)
        bound = None
        if not isinstance(lookahead, bool):
            bound = whole_number(lookahead, "the delay bound for lookahead")
            if bound < self.mean_delay:
                raise InvalidInput(
                    f"the delay bound {bound} is below the mean delay {self.mean_delay:g}; a "
                    "bound is at least as large as the mean."
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

    # Which arm comes next, and for how long.

    def _decide(self) -> None:
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
        """Plan a block, cut at the horizon."""
        if self.horizon is not None and self.rounds_played < self.horizon:
            rounds = min(rounds, self.horizon - self.rounds_played)
        self._arm, self._remaining = arm, max(1, rounds)

    def _rounds_for(self, arm: int) -> int:
        known = self._balance.rounds[arm]
        if arm == self._balance.previous:
            return max(1, int(STAY_SHARE * known)) if known else self._first_rounds
        if known == 0:
            return self._first_rounds
        return max(self._later_rounds, int(RETURN_SHARE * known))

    def _choose(self) -> int:
        """An arm that was never played, one that is overdue, or the one with the best index."""
        arm = self._untried()
        if arm is None:
            arm = self._overdue()
        if arm is not None:
            return arm
        values = self._values()
        known = [arm for arm in self._in_order() if values[arm] > -math.inf]
        if known:
            return max(known, key=values.__getitem__)  # ties go by the order of the first tries
        previous = self._balance.previous  # nothing at all is known: go on
        if previous is None or previous in self._dropped:
            return self._in_order()[0]
        return previous

    def _in_order(self) -> list[int]:
        return [arm for arm in self._order if arm not in self._dropped]

    def _untried(self) -> int | None:
        """The next arm that was never played."""
        last_played = self._balance.last_played
        return next((arm for arm in self._in_order() if not last_played[arm]), None)

    def _overdue(self) -> int | None:
        """An arm none of whose totals is known, though as many rounds again have passed since."""
        balance = self._balance
        for arm in self._in_order():
            if not balance.rounds[arm] and balance.rounds_played >= 2 * balance.last_played[arm]:
                return arm
        return None

    # How promising an arm is.

    def _values(self) -> list[float]:
        """The index of every arm, minus infinity where nothing is known of it.

        An arm's total S is a sum of n' terms in [0, 1], and its expectation is `own` times the
        arm's mean plus what leaked in. With the g of KL-UCB++ for own^2 / n' plays, the expectation
        is at most n' q where n' kl(S / n', q) <= g, so the index is the estimated mean and
        (n' q - S) / own. Without leaks, own = n', it is KL-UCB++. It may be above 1.
        """
        from latesum._kl_kernels import CLOSE, bernoulli_upper, exploration

        balance = self._balance
        means = self._optimistic_means()
        clock, horizon = float(balance.rounds_played), float(self.horizon or 0)
        if self.index == "kl-ucb":
            horizon = 0.0
        values = [-math.inf] * self.n_arms
        for arm, plays in enumerate(balance.noisy_plays(self._noise)):
            own = balance.weights[arm][arm]
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

    def _optimistic_means(self) -> list[float]:
        """The estimates, or those by a larger mean delay where these are better."""
        means = self._balance.means()
        if self.caution == 0:
            return means
        return list(map(max, means, self._balance.means(1.0 + self.caution)))

    # What it says.

    def _estimates(self, level: float) -> list[tuple[float | None, float, float, int]]:
        means = self._balance.means()
        low, high = self._balance.limits(level)
        found: list[tuple[float | None, float, float, int]] = []
        for arm, rounds in enumerate(self._balance.rounds):
            mean = min(max(means[arm], 0.0), 1.0)
            limits = min(low[arm], mean), max(high[arm], mean)
            found.append((mean, *limits, rounds) if rounds else (None, 0.0, 1.0, 0))
        return found

    def _known_rounds(self, arm: int) -> int:
        return self._balance.rounds[arm]

    def _findings(self, units: Units) -> list[str]:
        balance = self._balance
        status_quo = balance.mean_of_status_quo()
        means, values = balance.means(), self._values()
        counts = balance.effective_counts(self._noise)
        found = [] if status_quo is None else [say_status_quo(status_quo, units)]
        return found + [
            say_estimate(self.names[arm], means[arm], counts[arm], values[arm], units)
            for arm in range(self.n_arms)
            if counts[arm] > 0
        ]

    def reason(self) -> str:
        if self._following is not None:
            return f"and then {self.names[self._following[0]]}, whatever is seen until then"
        if not self._balance.last_played[self._arm]:
            return "because it has not been tried yet"
        if self._untried() is not None:
            return "to finish the block that was begun"
        if self._nothing_known():
            return "because nothing is known yet"
        if not self._known_rounds(self._arm):
            return "because nothing is known of it yet"
        unknown = [arm for arm in self._available() if not self._known_rounds(arm)]
        of_which = " of those of which something is known" if unknown else ""
        return f"because it looks most promising{of_which}"
