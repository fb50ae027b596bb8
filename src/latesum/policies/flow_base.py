"""What the flow policies share: a flow balance, a plan of one stretch, and honest intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number, whole_number
from latesum.policies.base import Play, Policy, Purpose, Stretch
from latesum.policies.flow_balance import Floats, FlowBalance
from latesum.policies.history import Before, check_before, check_history

#: Lengths of stretches: the first of an arm and a later one in mean delays,
#: and the least number of rounds. A first stretch below two mean delays would amplify errors.
FIRST_STRETCH = 3.0
LATER_STRETCH = 6.0
SHORTEST_STRETCH = 8
#: Coming back to an arm, or staying with it, adds at least this share to its known rounds.
RETURN_SHARE = 0.25
STAY_SHARE = 0.1


class FlowPolicy(Policy):
    """A policy that plans one stretch at a time and learns by the flow balance.

    A subclass fills in `_decide`, which sets the plan by `_plan`. All totals enter the balance,
    whatever their purpose.
    """

    random = True
    #: The delay's largest value, where it is known.
    delay_bound: int | None = None
    _purpose: Purpose

    def __init__(
        self,
        n_arms: int,
        horizon: int | None,
        mean_delay: float,
        *,
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        n_arms = whole_number(n_arms, "the number of arms", at_least=2)
        self.mean_delay = finite_number(mean_delay, "the mean delay", at_least=0)
        #: The rounds that the policy plans for; None if that is not known.
        self.horizon = None if horizon is None else whole_number(horizon, "the horizon", at_least=1)
        self.n_arms = n_arms
        #: What ran before the history's first part, or before the start if there is no history.
        self.before = check_before(before, n_arms)
        self.history = check_history(history, n_arms)
        self._first_rounds = self._first_length()
        self._later_rounds = max(SHORTEST_STRETCH, math.ceil(LATER_STRETCH * self.mean_delay))
        super().__init__(n_arms, names=names, rng=rng)

    def _first_length(self) -> int:
        """How long an arm is played for the first time."""
        rounds = max(SHORTEST_STRETCH, math.ceil(FIRST_STRETCH * self.mean_delay))
        if self.horizon is None:
            return rounds
        return min(rounds, max(SHORTEST_STRETCH, self.horizon // (4 * self.n_arms)))

    def _reset(self) -> None:
        assert self._rng is not None
        self._balance = FlowBalance(self.n_arms, self.mean_delay, self.delay_bound, self.before)
        self._order = [int(arm) for arm in self._rng.permutation(self.n_arms)]
        #: The level of the last report and what was reported: it is the same for all arms.
        self._reported: tuple[float, Floats, Floats, Floats] | None = None
        for arm, rounds, total in self.history:
            self._add(arm, rounds, total)
        self._start()

    def _start(self) -> None:
        """Plan the first stretch."""
        self._decide(False)

    def _add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in what was played, now or before the start."""
        self._balance.add(arm, rounds, total)

    def _snapshot(self) -> Any:
        plan = [self._arm, self._left, self._purpose]
        return [self._order, plan, self._balance.to_json()]

    def _restore(self, learned: Any) -> None:
        self._order, plan, balance = learned
        self._arm, self._left, self._purpose = plan
        self._balance = FlowBalance(self.n_arms, self.mean_delay, self.delay_bound, self.before)
        self._balance.load(balance)
        self._reported = None

    def _learn(self, play: Play) -> None:
        arm, rounds, total, *_ = play
        self._add(arm, rounds, total)
        self._reported = None
        if arm == self._arm and rounds < self._left:
            self._left -= rounds
        else:
            self._decide(arm == self._arm)

    def _next(self) -> Stretch:
        return Stretch(self._arm, self._left, self._purpose)

    @abstractmethod
    def _decide(self, finished: bool) -> None:
        """Plan the next stretch; the planned one is `finished`, or something else was played."""

    def _plan(self, arm: int, rounds: int) -> None:
        """Plan a stretch, cut at the horizon."""
        if self.horizon is not None and self.rounds_told < self.horizon:
            rounds = min(rounds, self.horizon - self.rounds_told)
        self._arm, self._left, self._purpose = arm, max(1, rounds), "learn"

    def _forget(self, arm: int) -> None:
        if arm == self._arm:
            self._decide(False)

    def _untried(self) -> int | None:
        """The next arm that was never played."""
        for arm in self._order:
            if not self._balance.last_played[arm] and arm not in self._dropped:
                return arm
        return None

    def _overdue(self, known: np.ndarray[Any, Any]) -> int | None:
        """An arm none of whose totals is known, though as many rounds again have passed since."""
        for arm in self._order:
            waiting = known[arm] == 0 and arm not in self._dropped
            if waiting and self._balance.rounds_played >= 2 * self._balance.last_played[arm]:
                return arm
        return None

    def _stay_put(self) -> int:
        """The arm to go on with while nothing at all is known."""
        previous = self._balance.previous
        if previous is not None and previous not in self._dropped:
            return previous
        return next(arm for arm in self._order if arm not in self._dropped)

    def _rounds_for(self, arm: int) -> int:
        """How long to play `arm` next."""
        known = int(self._balance.rounds[arm])
        if arm == self._balance.previous:
            return max(1, int(STAY_SHARE * known)) if known else self._first_rounds
        if known == 0:
            return self._first_rounds
        return max(self._later_rounds, int(RETURN_SHARE * known))

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        rounds = int(self._balance.rounds[arm])
        if rounds == 0:
            return None, 0.0, 1.0, 0
        if self._reported is None or self._reported[0] != level:
            self._reported = (level, self._balance.means(), *self._balance.limits(level))
        _, means, low, high = self._reported
        mean = min(max(float(means[arm]), 0.0), 1.0)
        return mean, min(float(low[arm]), mean), max(float(high[arm]), mean), rounds

    def _known_rounds(self, arm: int) -> int:
        return int(self._balance.rounds[arm])

    def _findings(self) -> list[str]:
        mean = self._balance.mean_before()
        return [] if mean is None else [f"What ran before had a mean of about {mean:.3f}."]
