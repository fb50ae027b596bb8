"""An unknown horizon: a policy restarted with ever longer ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._sentences import sentence
from latesum.policies.base import Block, Play, Policy
from latesum.policies.schedules import phase_rounds
from latesum.policies.spec import PolicySpec

#: No campaign lasts longer; numbers beyond it would not fit the machine's integers.
_LONGEST = 10**15


class Restarting(Policy):
    """`factory(horizon)` for the first horizon, then anew for the next one, and so on.

    Args:
        factory: Gives a policy for any horizon, the same but for that.
        horizons: The horizons. By default each is the square of the last, beginning with the first
            in which a phase fits (Auer and Ortner, 2010).

    >>> from latesum.policies.odaaf import ODAAF
    >>> policy = Restarting(lambda horizon: ODAAF(2, horizon, mean_delay=5))
    >>> policy.first_horizons(3)
    [624, 389376, 151613669376]
    """

    kind = "restarting"

    def __init__(
        self, factory: Callable[[int], Policy], horizons: Sequence[int] | None = None
    ) -> None:
        self._factory = factory
        if horizons is not None and len(horizons) == 0:
            raise InvalidInput("give at least one horizon, or none for squares of the last.")
        self._given = (
            None
            if horizons is None
            else [whole_number(horizon, "a horizon", at_least=1) for horizon in horizons]
        )
        self._first = self._given[0] if self._given else _first_useful_horizon(factory)
        self._template = factory(self._first)
        if getattr(self._template, "horizon", None) is None:
            raise InvalidInput(f"a {self._template.kind!r} policy has no horizon to restart with.")
        other = factory(self._first + 1).parameters
        if other != {**self._template.parameters, "horizon": self._first + 1}:
            raise InvalidInput("the policies that the factory gives may differ in horizon only.")
        self.random = self._template.random
        self.learns_from = self._template.learns_from
        super().__init__(self._template.n_arms, names=self._template.names)

    @property
    def parameters(self) -> dict[str, Any]:
        """The policy that is restarted, as plain JSON values, and the horizons."""
        inner = {"policy": self._template.kind, "parameters": self._template.parameters}
        return {"inner": inner, "horizons": self._given}

    def __repr__(self) -> str:
        """What one would type."""
        factory = f"lambda horizon: {self._template._typed(horizon='horizon')}"
        return f"Restarting({factory}{'' if self._given is None else f', {self._given}'})"

    @classmethod
    def _rebuild(cls, kind: str, parameters: dict[str, Any]) -> Self:
        if kind != cls.kind:
            raise InvalidInput(f"this is the state of a {kind!r} policy, not of {cls.kind!r}.")
        inner = parameters["inner"]
        spec = PolicySpec(inner["policy"], inner["parameters"])
        written = {**spec.unwritten, **spec.parameters}
        return cls(
            lambda horizon: PolicySpec(inner["policy"], {**written, "horizon": horizon}).build(),
            parameters["horizons"],
        )

    def first_horizons(self, count: int) -> list[int]:
        """The first `count` horizons; the last one that was given is repeated.

        Args:
            count: How many.
        """
        if self._given is not None:
            return (self._given + self._given[-1:] * count)[:count]
        squares = [self._first]
        while len(squares) < count:
            squares.append(min(squares[-1] ** 2, _LONGEST))
        return squares

    def _reset(self) -> None:
        self._starts = 0
        self._inner = self._template.fresh(rng=self._rng)

    def _snapshot(self) -> Any:
        return [self._starts, self._inner.to_state()]

    def _restore(self, learned: Any) -> None:
        self._starts = learned[0]
        self._inner = type(self._template).from_state(learned[1])

    def _learn(self, play: Play) -> None:
        self._inner.tell(*play)
        if self._inner.rounds_told >= self.first_horizons(self._starts + 1)[-1]:
            self._starts += 1
            self._inner = self._factory(self.first_horizons(self._starts + 1)[-1])
            if self._rng is not None:
                seed = int(self._rng.integers(1 << 62))
                self._inner = self._inner.fresh(rng=np.random.default_rng(seed))
            for arm in self._dropped:
                self._inner.drop(arm)

    def _forget(self, arm: int) -> None:
        self._inner.drop(arm)

    def _next(self) -> Block:
        asked = self._inner.ask()
        left = self.first_horizons(self._starts + 1)[-1] - self._inner.rounds_told
        return asked._replace(rounds=min(asked.rounds, left))

    def _active(self) -> list[int]:
        return [row.arm for row in self._inner.estimates() if row.active]

    def _estimate(self, arm: int, level: float) -> tuple[float | None, float, float, int]:
        row = self._inner.estimates(level)[arm]
        return row.mean, row.low, row.high, row.plays

    @property
    def phase(self) -> int | None:
        """The phase of the present start."""
        return self._inner.phase

    def _findings(self) -> list[str]:
        horizon = self.first_horizons(self._starts + 1)[-1]
        start = sentence(
            "Start {start}, planned for {horizon:block}.", kind="start",
            start=self._starts + 1, horizon=horizon,
        )  # fmt: skip
        return [start, *self._inner._findings()]

    def _reason(self) -> str:
        return self._inner.reason()


def _first_useful_horizon(factory: Callable[[int], Policy]) -> int:
    """The smallest horizon T in which the first phase fits: K n_1 <= T."""
    probe = factory(1)
    if not (hasattr(probe, "schedule") and hasattr(probe, "first_tolerance")):
        raise InvalidInput(f"a {probe.kind!r} policy has no phases: give the horizons to use.")

    def fits(horizon: int) -> bool:
        phases = phase_rounds(probe.schedule, horizon, probe.first_tolerance)
        return bool(phases) and probe.n_arms * phases[0] <= horizon

    high = 1
    while not fits(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
