"""What every delay knows and how it is drawn.

A delay is a whole number of rounds, 0, 1, 2, ... A family gives its survival function and a way to
draw; moments, tables and conditional draws follow from the survival function, so that they are
always those of the whole-number delay that is really drawn.
"""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from latesum._checks import InvalidInput, whole_number
from latesum.delays.curves import Floats
from latesum.delays.sums import CHUNK, sum_over_rounds

Integers = NDArray[np.int64]

#: A table of an unbounded delay ends where less than this share of the delays is larger ...
_TAIL_SHARE = 1e-7
#: ... or here, whichever comes first. Larger delays are drawn directly: none is cut off.
MAX_TABLE = 4096
#: Larger than any campaign: a delay beyond it is stored as this many rounds.
FOREVER = 1 << 62


def rounded_up(values: Floats) -> Integers:
    """Continuous delays as whole rounds."""
    return np.minimum(np.ceil(values), float(FOREVER)).astype(np.int64)


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


class Table(NamedTuple):
    """The delays 0..spread as a table for inverse-transform draws, and the survival beyond it."""

    spread: int  # the largest delay in the table
    cdf: Floats  # P(delay <= k); the last entry is infinite when no delay is larger
    guide: Integers  # where to start searching: guide[g] is the first k with cdf[k] > g / size
    tail: Floats  # P(delay > spread * 2**k); empty when no delay is larger than `spread`
    long: bool  # whether a noticeable share of the delays is larger


class Delay(ABC):
    """A distribution on 0, 1, 2, ... (the paper's delta; its draws are tau)."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The delay as `delays.parse` reads it."""

    @property
    @abstractmethod
    def bound(self) -> int | None:
        """The largest delay possible (the paper's d), or None when there is none."""

    @abstractmethod
    def survival(self, k: ArrayLike) -> Floats:
        """P(delay > k) for whole k; 1 for negative k."""

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        """Draw `count` delays."""

    @property
    def short_text(self) -> str:
        """The text of the delay for titles and messages, shortened where it is very long."""
        return self.text

    def __repr__(self) -> str:
        return f"delays.{self.short_text}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Delay) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self.text)

    @property
    def _identity(self) -> tuple[Any, ...]:
        """What equal delays share; another class may have the text of a family."""
        return type(self), self.text

    @property
    def mean(self) -> float:
        """The expected delay in rounds (the paper's E[tau]); infinite for the heaviest tails."""
        return self._moments[0]

    @property
    def variance(self) -> float:
        """The variance of the delay (the paper's V(tau)); infinite for heavy tails."""
        return self._moments[1]

    @functools.cached_property
    def spread(self) -> float:
        """W = E|tau - tau'|, how far apart two independent delays are on average.

        What a long visit to an arm wastes of its plays where rewards are anonymous
        (`docs/research/anonymity.md`). At most twice the mean, and 0 for a constant delay; infinite
        if the mean is.

        >>> from latesum import delays
        >>> delays.constant(50).spread, round(delays.exponential(50).spread, 1)
        (0.0, 50.0)
        """
        # The sum over k of 2 P(tau > k) P(tau <= k).
        return sum_over_rounds(self.survival, self.bound, lambda _, above: 2 * above * (1 - above))

    def pmf(self, k: ArrayLike) -> Floats:
        """P(delay = k)."""
        k = np.asarray(k)
        return self.survival(k - 1) - self.survival(k)

    def cdf(self, k: ArrayLike) -> Floats:
        """P(delay <= k)."""
        return 1.0 - self.survival(k)

    def quantile(self, share: float) -> int:
        """The smallest k with P(delay <= k) >= share."""
        return int(self.quantiles([share])[0])

    def quantiles(self, shares: ArrayLike) -> Integers:
        """The quantiles of several shares at once.

        >>> from latesum import delays
        >>> delays.uniform(1, 4).quantiles([0.25, 0.5, 1.0])
        array([1, 2, 4])
        """
        levels = np.nextafter(1.0 - np.asarray(shares, dtype=np.float64), 1.0)
        return self._first_below(levels, np.full(levels.shape, -1, dtype=np.int64))

    def clipped(self, largest: int) -> Delay:
        """The same delay with larger ones replaced by `largest`."""
        largest = whole_number(largest, "the largest delay of a clipped one")
        return Family(
            f"{{}}.clipped({largest})",
            lambda k: np.where(k >= largest, 0.0, self.survival(k)),
            lambda count, rng: np.minimum(self.draw(count, rng), largest),
            bound=largest if self.bound is None else min(largest, self.bound),
            parents=[self],
            made_by=(Delay.clipped, (self, largest)),
        )

    def truncated(self, largest: int) -> Delay:
        """The same delay with larger ones drawn again."""
        largest = whole_number(largest, "the largest delay of a truncated one")
        beyond = float(self.survival(largest))
        if beyond >= 1:
            raise InvalidInput(
                f"{self.short_text} is never as small as {largest}, so it cannot be truncated "
                "there; choose a larger number."
            )

        def survival(k: Floats) -> Floats:
            kept = (self.survival(k) - beyond) / (1 - beyond)
            return np.where(k >= largest, 0.0, np.clip(kept, 0.0, 1.0))

        def draw(count: int, rng: np.random.Generator) -> Integers:
            drawn = self.draw(count, rng)
            while (late := drawn > largest).any():
                drawn[late] = self.draw(int(late.sum()), rng)
            return drawn

        return Family(
            f"{{}}.truncated({largest})",
            survival,
            draw,
            bound=largest if self.bound is None else min(largest, self.bound),
            parents=[self],
            made_by=(Delay.truncated, (self, largest)),
        )

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        """Draw one delay for each entry of `k`, given that it is larger than that."""
        return self._first_below(self.survival(k) * (1.0 - rng.random(len(k))), k)

    @functools.cached_property
    def table(self) -> Table:
        """The table that the block simulator draws from."""
        bounded = self.bound is not None and self.bound <= MAX_TABLE
        spread = self.bound if bounded else min(max(self.quantile(1 - _TAIL_SHARE), 1), MAX_TABLE)
        assert spread is not None
        cdf = 1.0 - self.survival(np.arange(spread + 1))
        if bounded:
            cdf[-1] = np.inf
        size = len(cdf)
        guide = np.searchsorted(cdf, np.arange(size + 1) / size, side="right")
        # A uniform number of exactly 1.0 - rounding - would point past the table.
        guide = np.minimum(guide, spread).astype(np.int64)
        doublings = np.arange(0 if bounded else 62 - spread.bit_length())
        long = not bounded and spread >= MAX_TABLE
        return Table(spread, cdf, guide, self.survival(spread * 2**doublings), long)

    def _first_below(self, level: Floats, after: Integers) -> Integers:
        """The smallest j > after with P(delay > j) < level: inverse transform by bisection."""
        low = np.array(after, dtype=np.int64)  # survival(low) >= level
        high = np.maximum(low, 0) + 1
        while True:
            short = (self.survival(high) >= level) & (high < FOREVER)
            if not short.any():
                break
            low[short] = high[short]
            high[short] = np.minimum(high[short] * 2, FOREVER)
        while (high - low > 1).any():
            middle = (low + high) // 2
            below = self.survival(middle) < level
            high = np.where(below, middle, high)
            low = np.where(below, low, middle)
        return high

    @functools.cached_property
    def _moments(self) -> tuple[float, float]:
        # Beyond the bound nothing is added: whole blocks keep every digit.
        end = None if self.bound is None else -(-self.bound // CHUNK) * CHUNK
        first = sum_over_rounds(self.survival, end, lambda _, above: above)
        second = sum_over_rounds(self.survival, end, lambda k, above: (2 * k + 1) * above, power=1)
        return first, math.inf if math.isinf(second) else max(second - first**2, 0.0)


class Family(Delay):
    """A delay by its formulas; what is not given is found from the survival function.

    Of a delay that is made of others, `parents`, the text has "{}" for each of theirs, and
    `made_by` is the function, with its arguments, that makes it again.
    """

    text: str = ""
    short_text: str = ""
    bound: int | None = None
    _identity: tuple[Any, ...] = ()

    def __init__(
        self,
        text: str,
        survival: Callable[[Floats], Floats],
        draw: Callable[[int, np.random.Generator], Integers],
        *,
        bound: int | None = None,
        mean: float | None = None,
        variance: float | None = None,
        draw_beyond: Callable[[Integers, np.random.Generator], Integers] | None = None,
        parents: Sequence[Delay] = (),
        made_by: tuple[Any, ...] = (),
        short_text: str | None = None,
    ) -> None:
        self.text = text.format(*(parent.text for parent in parents))
        self.short_text = short_text or text.format(*(each.short_text for each in parents))
        self.bound, self.made_by = bound, made_by
        self._identity = (type(self), text, *(parent._identity for parent in parents))
        self._survival, self._draw, self._draw_beyond = survival, draw, draw_beyond
        if mean is not None and variance is not None:
            self._moments = mean, variance

    def survival(self, k: ArrayLike) -> Floats:
        return self._survival(np.asarray(k, dtype=np.float64))

    def draw(self, count: int, rng: np.random.Generator) -> Integers:
        return self._draw(count, rng)

    def draw_beyond(self, k: Integers, rng: np.random.Generator) -> Integers:
        if self._draw_beyond is None:
            return super().draw_beyond(k, rng)
        return self._draw_beyond(k, rng)
