"""Rates that change with the calendar: a daily or weekly pattern, and drift."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, whole_number

Floats = NDArray[np.float64]

#: A working week and a quieter week-end, with an average of 1: the pattern to try when the real one
#: is not known.
USUAL_WEEK = (1.1, 1.1, 1.1, 1.1, 1.1, 0.75, 0.75)


@dataclass(frozen=True)
class Calendar:
    """How the mean rewards of all arms change over time; constant within steps.

    Args:
        step: The number of rounds in which nothing changes: an hour or a day.
        factors: What multiplies every mean, one factor per step, in a cycle.
        drift_to: A mean for each arm. The means go in a straight line from those of the problem to
            these, and stay there.
        drift_over: The number of rounds that this takes.

    >>> Calendar(step=100, factors=(1.0, 0.5)).means_at([0.2, 0.4], step=3)
    (0.1, 0.2)
    """

    step: int
    factors: tuple[float, ...] = (1.0,)
    drift_to: tuple[float, ...] | None = None
    drift_over: int | None = None

    def __post_init__(self) -> None:
        whole_number(self.step, "the step of a calendar", at_least=1)
        if len(self.factors) == 0:
            raise InvalidInput("a calendar needs at least one factor.")
        for factor in self.factors:
            finite_number(factor, "a factor of a calendar", at_least=0)
        object.__setattr__(self, "factors", tuple(float(factor) for factor in self.factors))
        if (self.drift_to is None) != (self.drift_over is None):
            raise InvalidInput("a drift needs both drift_to and drift_over.")
        if self.drift_to is not None:
            means = tuple(finite_number(m, "a mean to drift to", at_least=0) for m in self.drift_to)
            object.__setattr__(self, "drift_to", means)
            whole_number(self.drift_over, "the rounds of a drift", at_least=1)

    @classmethod
    def weekly(
        cls,
        rounds_per_day: int,
        *,
        weekdays: Sequence[float] = USUAL_WEEK,
        hours: Sequence[float] | None = None,
    ) -> Calendar:
        """A factor for each day of the week, Monday first, and for each hour of the day if given.

        >>> Calendar.weekly(2400).step, len(Calendar.weekly(2400, hours=[1.0] * 24).factors)
        (2400, 168)
        """
        rounds = whole_number(rounds_per_day, "the rounds per day", at_least=1)
        if len(weekdays) != 7:
            raise InvalidInput(f"a week has 7 days, not {len(weekdays)}.")
        if hours is None:
            return cls(rounds, tuple(weekdays))
        if len(hours) != 24 or rounds % 24:
            raise InvalidInput("a day has 24 hours, and its rounds must be a multiple of 24.")
        return cls(rounds // 24, tuple(day * hour for day in weekdays for hour in hours))

    def permuted(self, order: Sequence[int]) -> Calendar:
        """The calendar of the same arms in another order: arm `j` is now arm `order[j]` of this.

        >>> Calendar(100, drift_to=(0.1, 0.2, 0.3), drift_over=900).permuted([2, 0, 1]).drift_to
        (0.3, 0.1, 0.2)
        """
        if self.drift_to is None:
            return self
        return replace(self, drift_to=tuple(self.drift_to[arm] for arm in order))

    @property
    def drifts(self) -> bool:
        """Whether the means change other than together."""
        return self.drift_to is not None

    def means_at(self, means: Sequence[float], *, step: int) -> tuple[float, ...]:
        """The mean of each arm in a step, the first being 0."""
        return tuple(float(mean) for mean in self.table(tuple(means), step, step + 1)[0])

    def table(self, means: tuple[float, ...], first: int, last: int) -> Floats:
        """The mean of each arm (columns) in the steps `first` to `last` - 1 (rows)."""
        numbers = np.arange(first, last)
        base = np.array(means)
        table = np.broadcast_to(base, (len(numbers), len(base)))
        if self.drift_to is not None and self.drift_over is not None:
            way = np.clip((numbers + 0.5) * self.step / self.drift_over, 0.0, 1.0)[:, None]
            table = table + way * (np.array(self.drift_to) - base)
        cycle = np.array(self.factors)[numbers % len(self.factors)]
        result: Floats = table * cycle[:, None]
        return result

    @functools.lru_cache(maxsize=32)  # noqa: B019 - frozen, and there are few calendars
    def cumulative_gaps(self, means: tuple[float, ...], steps: int) -> Floats:
        """Row s: what each arm, played all the time, has lost to the best arm of each step
        after s steps.
        """
        table = self.table(means, 0, steps)
        gaps = (table.max(axis=1, keepdims=True) - table) * self.step
        result: Floats = np.concatenate([np.zeros((1, len(means))), np.cumsum(gaps, axis=0)])
        return result

    @property
    def text(self) -> str:
        """The calendar in a few words."""
        parts = []
        if len(self.factors) > 1:
            low, high = min(self.factors), max(self.factors)
            parts.append(
                f"rates vary by {low:g} to {high:g} in cycles of {len(self.factors)} steps"
            )
        if self.drift_to is not None:
            parts.append(f"means drift to {list(self.drift_to)} over {self.drift_over:,} rounds")
        return f"steps of {self.step:,} rounds: " + (" and ".join(parts) or "no change")
