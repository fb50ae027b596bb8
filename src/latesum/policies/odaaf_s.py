"""ODAAF-S: phases and elimination as in ODAAF, with the flow balance in place of the bridge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from latesum._checks import finite_number, whole_number
from latesum._sentences import sentence
from latesum.policies.flow_base import FlowPolicy
from latesum.policies.history import Before
from latesum.policies.indices import lower_limit, upper_limit


class ODAAFS(FlowPolicy):
    """Plays all surviving arms in phases and drops those that are surely worse than the best.

    The first phase plays every arm for three mean delays, a later one for six or for a quarter of
    the arm's known rounds, whichever is more. From the second phase on, at the end of every
    block, an arm goes when its upper limit is below the lower limit of the arm with the best
    estimate. There is no bridge: the flow balance takes out what late rewards moved from arm to
    arm. When one arm is left, it is the answer.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all.
        mean_delay: The delay's mean or an upper estimate of it: overstating it only costs regret,
            understating it is dangerous, as an arm that was dropped never comes back.
        caution: By what share `mean_delay` may be wrong: limits are those of the worst case of the
            mean delay as told, larger by that share and smaller by that share. With 0 they trust
            `mean_delay`. Even with 0.25 the best arm was dropped in 1 of 3000 runs on random
            problems.
        before: As for `Flow`.
        history: As for `Flow`; an arm with a history is not in the first phase.
        names: The names of the arms, for sentences.
        rng: The generator to draw from.

    >>> policy = ODAAFS(2, 250_000, mean_delay=50, names=["blue", "red"])
    >>> policy.ask().rounds
    150

    References: `docs/theory.md`; Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with
    Delayed, Aggregated Anonymous Feedback, ICML.
    """

    kind = "odaaf-s"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        *,
        caution: float = 0.25,
        before: Before = None,
        history: Iterable[Sequence[Any]] = (),
        names: Sequence[str] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.caution = finite_number(caution, "caution", at_least=0, at_most=0.9)
        horizon = whole_number(horizon, "the horizon", at_least=1)
        super().__init__(
            n_arms, horizon, mean_delay, before=before, history=history, names=names, rng=rng
        )

    def _start(self) -> None:
        self._survivors = list(self._order)
        self._eliminations: list[list[Any]] = []
        #: The survivors that this phase has not finished yet; the first one is for arms of which
        #: nothing is known.
        self._due = [arm for arm in self._order if not self._balance.rounds[arm]]
        self._phase = 1 if self._due else 2
        self._due = self._due or list(self._order)
        self._plan(self._due[0], self._phase_rounds(self._due[0]))

    def _snapshot(self) -> Any:
        phases = [self._survivors, self._phase, self._due, self._eliminations]
        return [super()._snapshot(), phases]  # lists that are never changed in place

    def _restore(self, learned: Any) -> None:
        super()._restore(learned[0])
        self._survivors, self._phase, self._due, self._eliminations = learned[1]

    def _decide(self, finished: bool) -> None:
        if finished:
            self._due = self._due[1:]
        if self._phase > 1:
            self._eliminate()
        past_horizon = self.horizon is not None and self.rounds_told >= self.horizon
        if past_horizon and len(self._survivors) > 1:
            self._survivors = [self._leader(self._balance.means())]
        if len(self._survivors) == 1:
            self._commit()
            return
        if not self._due:
            self._phase += 1
            self._due = list(self._survivors)
        if not finished and self._due[0] == self._arm:
            # Something else came between: what is left, but never a block of no use.
            self._plan(self._arm, max(self._left, self._first_rounds))
        else:
            self._plan(self._due[0], self._phase_rounds(self._due[0]))

    def _phase_rounds(self, arm: int) -> int:
        if self._phase == 1:
            return self._first_rounds
        return max(self._later_rounds, int(self._balance.rounds[arm]) // 4)

    def _commit(self) -> None:
        assert self.horizon is not None
        until_then = self.horizon - self.rounds_told % self.horizon
        self._plan(self._survivors[0], until_then, "commit")

    def _leader(self, means: Any) -> int:
        known = self._balance.rounds
        return max(self._survivors, key=lambda arm: means[arm] if known[arm] else -math.inf)

    def _eliminate(self) -> None:
        balance = self._balance
        means = balance.means()
        leader = self._leader(means)
        if len(self._survivors) == 1 or not balance.rounds[leader]:
            return
        # Both ways, unlike in an index: what was dropped never comes back to be seen again.
        solutions = [means, balance.means(1 + self.caution), balance.means(1 - self.caution)]
        highest, lowest = np.max(solutions, axis=0), np.min(solutions, axis=0)
        counts = balance.effective_counts()
        for arm in self._survivors:
            if arm == leader or not balance.rounds[arm]:
                continue
            assert self.horizon is not None
            scarcest = min(counts[arm], counts[leader])
            allowance = max(0.0, math.log(self.horizon / scarcest))
            high = upper_limit(highest[arm], allowance / counts[arm])
            low = lower_limit(lowest[leader], allowance / counts[leader])
            if high < low:
                dropped = [self._phase, self.rounds_told, arm, high, leader, low]
                self._eliminations = [*self._eliminations, dropped]
                self._remove(arm)

    def _remove(self, arm: int) -> None:
        self._survivors = [other for other in self._survivors if other != arm]
        self._due = [other for other in self._due if other != arm]

    def _plan_without(self, arm: int) -> None:
        self._remove(arm)
        if not self._survivors:  # the answer itself was taken away: the best of the others is next
            self._survivors = self._available()
            self._survivors = [self._leader(self._balance.means())]
        if arm == self._arm or len(self._survivors) == 1:
            self._decide(False)

    def _active(self) -> list[int]:
        return self._survivors

    @property
    def phase(self) -> int | None:
        """The phase that is being played; None once one arm is left."""
        return self._phase if len(self._survivors) > 1 else None

    def _findings(self) -> list[str]:
        sentences = super()._findings() + [
            sentence(
                "{option} was dropped in phase {phase} after {rounds:rounds}: its upper limit {high:mean} is "
                "below {leader}'s lower limit {low:mean}.",
                kind="dropped, by limits",
                option=self.names[arm],
                phase=phase,
                rounds=rounds,
                high=high,
                leader=self.names[leader],
                low=low,
            )
            for phase, rounds, arm, high, leader, low in self._eliminations
        ]
        if len(self._survivors) > 1:
            names = ", ".join(self.names[arm] for arm in sorted(self._survivors))
            sentences.append(
                sentence(
                    "Phase {phase} plays {options}.", kind="phase", phase=self._phase, options=names
                )
            )
        return sentences

    def _reason(self) -> str:
        # It never stays because an option looks best: it goes on with the phase.
        return self._reason_for(self._arm, self._purpose)
