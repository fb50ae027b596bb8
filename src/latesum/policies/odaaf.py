"""ODAAF, Algorithm 1 of the paper, in all its variants: one algorithm, four schedules."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from latesum._checks import finite_number, known_name, whole_number
from latesum._sentences import sentence
from latesum.policies.base import MOST_ROUNDS, Block, Play, Policy, for_kernel, from_kernel
from latesum.policies.schedules import (
    KnownBound,
    KnownMean,
    KnownVariance,
    Naive,
    Schedule,
    phase_rounds,
)

Order = Literal["fixed", "leader first"]


class ODAAF(Policy):
    """Phases of ever longer blocks; arms that fall behind by more than a tolerance are dropped.

    Phase m plays every surviving arm in one block, up to n_m rounds in all (step 1), drops the
    arms whose mean total per round is more than the tolerance D_m below the best (step 2), halves
    the tolerance (step 3) and, where the schedule needs it, plays a bridge whose total is
    discarded (step 4). `ODAAF(...)` knows the mean delay; `ODAAF.bounded` (`ODAAFB`),
    `ODAAF.variance` (`ODAAFV`) and `ODAAF.naive` (`NaiveODAAF`) use other knowledge. Every such
    parameter may be an upper bound.

    Args:
        n_arms: The number of arms.
        horizon: The number of rounds in all, T.
        mean_delay: The delay's mean.
        first_tolerance: D_1, 1/2 in the paper's text and 1 in its figures.
        bridge: Whether there is a bridge after each phase; by default where the schedule needs it.
        order: The order of the arms in a phase: "fixed", or "leader first" (from the second phase
            on, which the paper's figures need).
        names: The names of the arms, for sentences.

    >>> policy = ODAAF(2, 250_000, mean_delay=50)
    >>> policy.ask()
    Block(arm=0, rounds=1350, purpose='learn', number=1)
    >>> policy.tell(0, 1350, total=690)
    >>> policy.ask()
    Block(arm=1, rounds=1350, purpose='learn', number=2)

    References: Pike-Burke, Agrawal, Szepesvari, Grunewalder (2018), Bandits with Delayed,
    Aggregated Anonymous Feedback, ICML.
    """

    kind = "odaaf"
    #: The variants that use other knowledge of the delay.
    bounded: ClassVar[type[ODAAFB]]
    variance: ClassVar[type[ODAAFV]]
    naive: ClassVar[type[NaiveODAAF]]

    schedule: Schedule
    horizon: int
    first_tolerance: float
    bridge: bool | None
    order: str

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownMean(mean_delay))

    def _set_up(self, schedule: Schedule) -> None:
        """Check the arguments that all variants have, and begin."""
        self.schedule = schedule
        self.horizon = whole_number(self.horizon, "the horizon", at_least=1)
        self.first_tolerance = finite_number(
            self.first_tolerance, "the first tolerance", above=0, at_most=1
        )
        self.order = known_name(self.order, ("fixed", "leader first"), "order of arms")
        self.bridge = schedule.needs_bridge if self.bridge is None else bool(self.bridge)
        self.phase_rounds = phase_rounds(schedule, self.horizon, self.first_tolerance)
        self._warn_where_the_lemma_fails()
        super().__init__(self.n_arms, names=self.names)

    @property
    def phase_rounds(self) -> list[int]:
        """n_m of every phase; runs that begin after a change follow it."""
        return self._phase_rounds

    @phase_rounds.setter
    def phase_rounds(self, rounds: list[int]) -> None:
        self._phase_rounds = rounds
        # Once per policy and not per run: runs of a few blocks would notice it.
        self._phase_ends = np.array([min(each, MOST_ROUNDS) for each in rounds], dtype=np.int64)

    def _warn_where_the_lemma_fails(self) -> None:
        if not isinstance(self.schedule, KnownBound):
            return
        before = 0
        for phase, rounds in enumerate(self.phase_rounds, start=1):
            if rounds - before < self.schedule.delay_bound and 2 * rounds <= self.horizon:
                warnings.warn(
                    f"phase {phase} of ODAAF-B is {rounds - before} rounds, shorter than the delay "
                    f"bound {self.schedule.delay_bound}; its error bounds are not proved there.",
                    stacklevel=4,
                )
                return
            before = rounds

    def _reset(self) -> None:
        counters = np.array([0, self.n_arms, 0, 0])
        nothing = np.zeros((3, self.n_arms), dtype=np.int64)
        self._set_state(counters, np.arange(self.n_arms), nothing, np.zeros(self.n_arms), [])

    def _snapshot(self) -> Any:
        state = self._state
        phases_done, survivors, bridge_left, eliminated = state.counters.tolist()
        return [
            phases_done,
            state.in_order[:survivors].tolist(),
            state.rounds.tolist(),
            state.sums.tolist(),
            state.pending.tolist(),
            state.blocks.tolist(),
            bridge_left,
            [_elimination(row) for row in state.eliminations[:eliminated].tolist()],
        ]

    def _restore(self, learned: Any) -> None:
        phases_done, survivors, rounds, sums, pending, blocks, bridge_left, gone = learned
        in_order = np.zeros(self.n_arms, dtype=np.int64)
        in_order[: len(survivors)] = survivors
        counters = np.array([phases_done, len(survivors), bridge_left, len(gone)])
        counts = np.array([rounds, pending, blocks])
        self._set_state(counters, in_order, counts, np.array(sums), gone)

    def _set_state(
        self, counters: Any, in_order: Any, counts: Any, sums: Any, gone: list[list[Any]]
    ) -> None:
        rounds, pending, blocks = counts
        eliminations = np.zeros((self.n_arms, 6))
        if gone:
            eliminations[: len(gone)] = gone
        self._state = _kernels().OdaafState(
            horizon=min(self.horizon, MOST_ROUNDS), first_tolerance=self.first_tolerance,
            has_bridge=bool(self.bridge), leader_first=self.order == "leader first",
            phase_rounds=self._phase_ends, counters=counters, in_order=in_order, rounds=rounds,
            sums=sums, pending=pending, blocks=blocks, eliminations=eliminations,
        )  # fmt: skip

    def _learn(self, play: Play) -> None:
        _kernels().learn(self._state, self.rounds_told, *for_kernel(play))

    def _next(self) -> Block:
        return from_kernel(_kernels().next_block(self._state, self.rounds_told))

    def _mean(self, arm: int) -> float:
        return float(_kernels().mean_of(self._state, arm))

    def _forget(self, arm: int) -> None:
        state = self._state
        left = [other for other in self._survivors() if other != arm]
        if not left:  # the answer itself was taken away: the best of the others is next
            left = [max(self._available(), key=self._mean)]
        state.in_order[: len(left)] = left
        state.counters[_kernels().SURVIVORS] = len(left)
        _kernels().finish_phases(state)

    def _survivors(self) -> list[int]:
        """The surviving arms, as this phase plays them."""
        state = self._state
        in_order: list[int] = state.in_order[: state.counters[_kernels().SURVIVORS]].tolist()
        return in_order

    @property
    def _phases_done(self) -> int:
        return int(self._state.counters[_kernels().PHASES_DONE])

    def _active(self) -> list[int]:
        return self._survivors()

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        rounds = int(self._state.rounds[arm])
        if rounds == 0:
            return None, 0.0, 1.0, 0
        sides = 1 if self.schedule.two_sided else 2
        log_term = math.log(sides * self.schedule.failures / (1 - level))
        width = self.schedule.half_width(int(self._state.blocks[arm]), rounds, log_term)
        mean = self._mean(arm)
        return mean, mean - width, mean + width, rounds

    def _reason(self) -> str:
        state = self._state
        if self.ask().purpose != "bridge" or state.counters[_kernels().BRIDGE_LEFT]:
            return super()._reason()
        known = "" if state.rounds.any() else ", of which nothing is known yet"
        return f"while the totals of this phase are awaited{known}"

    @property
    def phase(self) -> int | None:
        """The phase that is being played; None once the answer stands."""
        undecided = len(self._survivors()) > 1 and self._phases_done < len(self.phase_rounds)
        return self._phases_done + 1 if undecided else None

    def _findings(self) -> list[str]:
        sentences: list[str] = [
            sentence(
                "{option} was dropped after phase {phase}: its mean {mean:mean} is more than "
                "{tolerance:points} below {leader}'s {best:mean}.",
                kind="dropped",
                option=self.names[arm],
                phase=phase,
                mean=mean,
                tolerance=tolerance,
                leader=self.names[leader],
                best=best,
            )
            for phase, tolerance, arm, mean, leader, best in self._snapshot()[-1]
        ]
        if self.phase is not None:
            tolerance = self.first_tolerance / 2**self._phases_done
            names = ", ".join(self.names[arm] for arm in sorted(self._survivors()))
            needed = self.phase_rounds[self._phases_done]
            sentences.append(
                sentence(
                    "Phase {phase} plays {options} until each has {rounds:rounds} and then drops those more "
                    "than {tolerance:points} below the best.",
                    kind="phase",
                    phase=self.phase,
                    options=names,
                    rounds=needed,
                    tolerance=tolerance,
                )
            )
        return sentences


class ODAAFB(ODAAF):
    """ODAAF-B: the mean delay and a bound on the delay are known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        mean_delay: As for `ODAAF`.
        delay_bound: The delay's largest value.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> ODAAFB(2, 250_000, mean_delay=50, delay_bound=100).ask().rounds
    1076
    """

    kind = "odaaf-b"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        delay_bound: int,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownBound(mean_delay, delay_bound))


class ODAAFV(ODAAF):
    """ODAAF-V: the delay's mean and variance are known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        mean_delay: As for `ODAAF`.
        delay_variance: The delay's variance.
        tightened: Whether to use V / E in place of V, a remark of the paper.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> ODAAFV(2, 250_000, mean_delay=50, delay_variance=2500).ask().rounds
    44421
    """

    kind = "odaaf-v"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        mean_delay: float,
        delay_variance: float,
        *,
        tightened: bool = False,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(KnownVariance(mean_delay, delay_variance, tightened))


class NaiveODAAF(ODAAF):
    """The naive approach of the paper's last appendix: only a bound on the delay is known.

    Args:
        n_arms: The number of arms.
        horizon: As for `ODAAF`.
        delay_bound: The delay's largest value, in place of its mean.
        first_tolerance: As for `ODAAF`.
        bridge: As for `ODAAF`.
        order: As for `ODAAF`.
        names: The names of the arms, for sentences.

    >>> NaiveODAAF(2, 250_000, delay_bound=100).ask().rounds
    638
    """

    kind = "naive"

    def __init__(
        self,
        n_arms: int,
        horizon: int,
        delay_bound: int,
        *,
        first_tolerance: float = 0.5,
        bridge: bool | None = None,
        order: Order = "fixed",
        names: Sequence[str] | None = None,
    ) -> None:
        self._set_up(Naive(delay_bound))


ODAAF.bounded, ODAAF.variance, ODAAF.naive = ODAAFB, ODAAFV, NaiveODAAF


def _elimination(row: list[float]) -> list[Any]:
    """What is kept of an arm that was dropped: three of its numbers are whole."""
    phase, tolerance, arm, mean, leader, best = row
    return [int(phase), tolerance, int(arm), mean, int(leader), best]


@functools.cache
def _kernels() -> Any:
    from latesum.policies import odaaf_kernels  # compiled at first use: importing stays fast

    return odaaf_kernels
