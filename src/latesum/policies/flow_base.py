"""What the flow policies share: a flow balance, a plan of one block, and honest intervals."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number, whole_number
from latesum.policies.base import MOST_ROUNDS, Block, Play, Policy, Purpose, say_before
from latesum.policies.flow_balance import Floats, FlowBalance
from latesum.policies.history import Before, check_before, check_history

#: Lengths of blocks: the first of an arm and a later one in mean delays,
#: and the least number of rounds. A first block below two mean delays would amplify errors.
FIRST_BLOCK = 3.0
LATER_BLOCK = 6.0
MIN_BLOCK = 8


class FlowPolicy(Policy):
    """A policy that plans one block at a time and learns by the flow balance.

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
        self._later_rounds = max(MIN_BLOCK, math.ceil(LATER_BLOCK * self.mean_delay))
        super().__init__(n_arms, names=names, rng=rng)

    def _first_length(self) -> int:
        """How long an arm is played for the first time."""
        rounds = max(MIN_BLOCK, math.ceil(FIRST_BLOCK * self.mean_delay))
        if self.horizon is None:
            return rounds
        return min(rounds, max(MIN_BLOCK, self.horizon // (4 * self.n_arms)))

    def _reset(self) -> None:
        assert self._rng is not None
        balance = FlowBalance(self.n_arms, self.mean_delay, self.delay_bound, self.before)
        order: list[int] = self._rng.permutation(self.n_arms).tolist()
        self._set_state(balance, order, 0, 0)
        self._purpose = "learn"
        for arm, rounds, total in self.history:
            self._add(arm, rounds, total)
        self._start()

    def _set_state(self, balance: FlowBalance, order: Sequence[int], arm: int, left: int) -> None:
        self._balance = balance
        #: The level of the last report and what was reported: it is the same for all arms.
        self._reported: tuple[float, Floats, Floats, Floats] | None = None
        self._state = kernels().FlowState(
            **self._rule(), horizon=min(self.horizon or 0, MOST_ROUNDS),
            first_rounds=self._first_rounds, later_rounds=self._later_rounds,
            balance=balance.state, order=np.array(order), available=self._available_arms(),
            plan=np.array([arm, left]), widths=np.zeros((self.n_arms, 5)),
            room=np.empty((kernels().ROOM, self.n_arms)),
        )  # fmt: skip

    def _rule(self) -> dict[str, Any]:
        """How an index is made, for policies that choose by one."""
        return {"index_kind": 0, "caution": 0.0, "noise": 1.0}

    @property
    def _arm(self) -> int:
        """The arm that is planned."""
        return int(self._state.plan[0])

    @property
    def _left(self) -> int:
        """The rounds that are left of its block."""
        return int(self._state.plan[1])

    @property
    def _order(self) -> list[int]:
        """The order of the first tries."""
        order: list[int] = self._state.order.tolist()
        return order

    def _start(self) -> None:
        """Plan the first block."""
        self._decide(False)

    def _add(self, arm: int, rounds: int, total: float | None) -> None:
        """Take in what was played, now or before the start."""
        self._balance.add(arm, rounds, total)
        self._follow_balance()

    def _follow_balance(self) -> None:
        """The arrays of the balance are others where it needed more room."""
        if self._state.balance is not self._balance.state:
            self._state = self._state._replace(balance=self._balance.state)

    def _snapshot(self) -> Any:
        plan = [*self._state.plan.tolist(), self._purpose]
        return [self._order, plan, self._balance.to_json()]

    def _restore(self, learned: Any) -> None:
        order, (arm, left, self._purpose), saved = learned
        balance = FlowBalance(self.n_arms, self.mean_delay, self.delay_bound, self.before, saved)
        self._set_state(balance, order, arm, left)

    def _learn(self, play: Play) -> None:
        arm, rounds, total, *_ = play
        self._add(arm, rounds, total)
        self._reported = None
        planned = self._arm
        if not kernels().goes_on(self._state, arm, rounds):
            self._decide(arm == planned)

    def _next(self) -> Block:
        arm, left = self._state.plan.tolist()
        return Block(arm, left, self._purpose)

    @abstractmethod
    def _decide(self, finished: bool) -> None:
        """Plan the next block; the planned one is `finished`, or something else was played."""

    def _plan(self, arm: int, rounds: int, purpose: Purpose = "learn") -> None:
        """Plan a block, cut at the horizon."""
        kernels().plan(self._state, self.rounds_told, arm, rounds)
        self._purpose = purpose

    def _forget(self, arm: int) -> None:
        self._state.available[arm] = False
        self._plan_without(arm)

    def _plan_without(self, arm: int) -> None:
        """An option was taken away: plan something else, if it was planned."""
        if arm == self._arm:
            self._decide(False)

    def _untried(self) -> int | None:
        """The next arm that was never played."""
        arm = kernels().untried(self._state)
        return None if arm < 0 else int(arm)

    def _rounds_for(self, arm: int) -> int:
        """How long to play `arm` next."""
        return int(kernels().rounds_for(self._state, arm))

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
        return [] if mean is None else [say_before(mean)]


@functools.cache
def kernels() -> Any:
    """The compiled rule."""
    from latesum.policies import choice_kernels  # compiled at first use: importing stays fast

    return choice_kernels
