"""FLOW with look-ahead: the version whose error bounds are proved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum._sentences import sentence
from latesum.policies.flow import Flow
from latesum.policies.flow_base import FIRST_BLOCK, MIN_BLOCK
from latesum.policies.history import Before
from latesum.policies.indices import Index


class FlowLookahead(Flow):
    """FLOW that fixes the next arm before it sees the last segment of the arm that it leaves.

    FLOW leaves an arm because of what it has just seen, and what it has just seen depends on which
    rewards are still under way: the leak is then not exactly the mean delay times the mean. Here,
    when another arm has the best index, the present arm is first played for one more segment, of
    three mean delays or of the delay's bound, whichever is more; nothing that is seen in it changes
    which arm comes next. So all rewards that leak were earned after their destination was
    fixed, and the errors of the flow balance are sums of martingale differences. Its index counts
    the noise of leaks by the delay's bound, where it is known, in place of its mean.

    Args:
        n_arms: The number of arms.
        horizon: As for `Flow`.
        mean_delay: The delay's mean or an upper estimate of it: overstating it only costs regret,
            understating it is dangerous.
        delay_bound: The delay's largest value. With it the intervals of `estimates` are proved;
            without it they rest on the delays being below three mean delays.
        index: As for `Flow`.
        caution: As for `Flow`.
        before: As for `Flow`.
        history: As for `Flow`.
        names: The names of the arms, for sentences.
        rng: The generator to draw from.

    >>> policy = FlowLookahead(2, 250_000, mean_delay=50, delay_bound=200)
    >>> policy.ask().rounds
    200
    """

    kind = "flow-lookahead"

    def __init__(
        self,
        n_arms: int,
        horizon: int | None = None,
        *,
        mean_delay: float,
        delay_bound: int | None = None,
        index: Index = "kl-ucb++",
        caution: float = 0.25,
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        if delay_bound is not None:
            self.delay_bound = whole_number(delay_bound, "the delay bound")
            if self.delay_bound < finite_number(mean_delay, "the mean delay", at_least=0):
                raise InvalidInput(
                    f"the delay bound {delay_bound} is below the mean delay {mean_delay:g}; a "
                    "bound is at least as large as the mean."
                )
        super().__init__(
            n_arms,
            horizon,
            mean_delay=mean_delay,
            index=index,
            caution=caution,
            before=before,
            history=history,
            names=names,
            rng=rng,
        )

    def _first_length(self) -> int:
        # Never shorter, however short the horizon: the error bounds need it.
        shortest = max(MIN_BLOCK, math.ceil(FIRST_BLOCK * self.mean_delay))
        return max(shortest, self.delay_bound or 0)

    def _noise(self) -> float:
        if self.delay_bound is None or self.mean_delay == 0:
            return super()._noise()
        return self.delay_bound / self.mean_delay

    def _reset(self) -> None:
        #: The arm that comes after the last segment of this one, and for how long.
        self._following: list[int] | None = None
        super()._reset()

    def _snapshot(self) -> Any:
        return [super()._snapshot(), self._following]

    def _restore(self, learned: Any) -> None:
        super()._restore(learned[0])
        self._following = learned[1]

    def _decide(self, finished: bool) -> None:
        if self._following is not None and self._following[0] not in self._dropped:
            arm, rounds = self._following
            self._following = None
            self._plan(arm, rounds)
            return
        self._following = None
        previous = self._balance.previous
        known_in_advance = self._untried() is not None  # the order of first tries is fixed
        arm = self._choose()
        rounds = self._rounds_for(arm)
        if arm == previous or known_in_advance or previous is None or previous in self._dropped:
            self._plan(arm, rounds)
        else:
            self._following = [arm, rounds]
            self._plan(previous, self._first_rounds)

    def _rounds_for(self, arm: int) -> int:
        rounds = super()._rounds_for(arm)
        if arm == self._balance.previous:
            return rounds
        # The last segment of the arm is part of its run: the run is as long as it is in FLOW.
        return max(self._first_rounds, rounds - self._first_rounds)

    def _plan_without(self, arm: int) -> None:
        if arm == self._arm or (self._following is not None and arm == self._following[0]):
            self._decide(False)

    def _reason(self) -> str:
        if self._following is not None:
            after = self.names[self._following[0]]
            return sentence(
                "and then {option}, whatever is seen until then", kind="look ahead", option=after
            )
        return super()._reason()
