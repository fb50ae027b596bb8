"""What a market is set up with: options, regions, the delay of sales, and the status quo."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Literal

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.delays import Delay

#: The status quo where nothing was shown before the first row and no rewards were in flight, ...
NOTHING = "(nothing)"
#: ... or where something ran, or may have run, and it is not known which option it was.
NOT_KNOWN = "(not known)"

#: The sd of the logarithm of the mean delay.
CERTAINTY = {"known": 0.1, "guess": 0.7}
#: The parts of the repeating pattern: a week of days, of working days; hours of the day and days of
#: the week; none.
PATTERNS = {"weekday": (7,), "workday": (5,), "hour": (24, 7), "none": ()}
MAX_OPTIONS = 50
MAX_REGIONS = 200
#: The prior probability that one option's sales are later (or earlier) than the others'.
DIFFERING_DELAYS = 0.4


@dataclass(frozen=True)
class DelayPrior:
    """How late sales are, as far as it is known beforehand.

    Args:
        mean: The mean delay in buckets.
        certainty: "known" holds it within about 10%, "guess" within a factor of about two; both are
            corrected by the data.
        law: The shape of the delay, of which only the shape counts; None is exponential.

    >>> DelayPrior(2.0).log_sd
    0.7
    """

    mean: float
    certainty: Literal["known", "guess"] = "guess"
    law: Delay | None = None

    def __post_init__(self) -> None:
        mean = finite_number(self.mean, "the mean delay in buckets", at_least=0)
        object.__setattr__(self, "mean", max(mean, 1e-3))
        known_name(self.certainty, CERTAINTY, "certainty of a delay")

    @property
    def log_sd(self) -> float:
        """The sd of the logarithm of the mean delay."""
        return CERTAINTY[self.certainty]


@dataclass(frozen=True)
class MarketConfig:
    """All that decisions depend on besides the rows.

    Args:
        options: The names of what can be shown, two or more.
        horizon: How many buckets it is decided for; bucket 0 is the first of them.
        regions: The names of the regions; one stream has one region without a name.
        delay: How late sales are.
        status_quo: What was shown before the first row: an option, `NOTHING`, or `NOT_KNOWN`.
        pattern: The repeating pattern: "weekday" for daily buckets, "workday" for those of five
            days, "hour" for hourly ones (hours of the day and days of the week), or "none".
        phase: Where in the pattern bucket 0 lies: its weekday from Monday = 0, or its hour in the
            week.
        holidays: The buckets that are unlike the others, negative ones in the history; they count
            less.
        novelty: How far an option's effect may walk in a bucket (0.01: by 1%); 0 for effects that
            stay.
        dated: Whether a sale is in the total of the bucket in which it arrived, or of the one in
            which its visitor came ("decision"; such totals grow for a while).
        amounts: "counts" of sales, or "money", whose dispersion is learned.
        differing_delays: The prior probability that the sales of one option are later or earlier
            than those of the others; 0 where all are surely equal. None is 0.4; on one stream
            without visitors it is 0, because there totals cannot show it.
        rounds_known: Whether the rows' rounds are visitors; without them demand is a part of the
            noise.
        report_lag: After how many buckets totals become known.
        period: For how many buckets a choice stays, at least; None follows the given delay.
        seed: What the draws come from.

    >>> config = MarketConfig(("old", "new"), 90, regions=("north", "south"), status_quo="old")
    >>> config.reference
    'old'
    """

    options: tuple[str, ...]
    horizon: int
    regions: tuple[str, ...] = ("",)
    delay: DelayPrior = field(default_factory=lambda: DelayPrior(1.0))
    status_quo: str = NOT_KNOWN
    pattern: Literal["weekday", "workday", "hour", "none"] = "weekday"
    phase: int = 0
    holidays: tuple[int, ...] = ()
    novelty: float = 0.0
    dated: Literal["arrival", "decision"] = "arrival"
    amounts: Literal["counts", "money"] = "counts"
    differing_delays: float | None = None
    rounds_known: bool = True
    report_lag: int = 0
    period: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "options", _names(self.options, "option", 2, MAX_OPTIONS))
        put(self, "regions", _names(self.regions, "region", 1, MAX_REGIONS))
        put(self, "horizon", whole_number(self.horizon, "the horizon in buckets", at_least=1))
        put(self, "holidays", tuple(sorted({int(bucket) for bucket in self.holidays})))
        for name in ("report_lag", "seed", "phase"):
            whole_number(getattr(self, name), f"`{name}`")
        finite_number(self.novelty, "the walk of effects (novelty)", at_least=0, at_most=0.5)
        known_name(self.pattern, PATTERNS, "pattern")
        known_name(self.dated, ("arrival", "decision"), "way to date totals")
        known_name(self.amounts, ("counts", "money"), "kind of totals")
        known_name(self.status_quo, (*self.options, NOTHING, NOT_KNOWN), "status quo")
        if self.differing_delays is not None:
            words = "the probability that delays differ"
            finite_number(self.differing_delays, words, at_least=0, at_most=0.9)
        if self.period is not None:
            whole_number(self.period, "the buckets that a choice stays", at_least=1)
        if not isinstance(self.delay, DelayPrior):
            raise InvalidInput(f"the delay must be a DelayPrior, not {self.delay!r}.")

    @property
    def reference(self) -> str:
        """The option that effects are measured against: the status quo, or the first option."""
        return self.status_quo if self.status_quo in self.options else self.options[0]

    @property
    def delays_may_differ(self) -> float:
        """The prior probability that one option's delay differs."""
        if self.differing_delays is not None:
            return self.differing_delays
        return DIFFERING_DELAYS if self.rounds_known or len(self.regions) > 1 else 0.0

    @functools.cached_property
    def period_length(self) -> int:
        """For how many buckets a choice stays, at least: two, and the mean delay as it was given.

        Twice the mean delay where the horizon has room for it: five sweeps over all options.

        >>> MarketConfig(("a", "b", "c"), 90, delay=DelayPrior(2.0)).period_length
        4
        """
        if self.period is not None:
            return self.period
        # A delay of 2.001 buckets, such as of a fitted law, needs no bucket more than 2.
        mean = round(self.delay.mean, 1)
        room = self.horizon // (5 * len(self.options))
        return max(2, math.ceil(mean), min(math.ceil(2 * mean), room))

    @functools.cached_property
    def sweep(self) -> int:
        """How many periods the first sweep has, in which every option is shown in some region.

        Where totals are reported late it is longer, so that something of each period is known at
        its end.

        >>> MarketConfig(("a", "b", "c"), 90, regions=("north", "south")).sweep
        2
        """
        needed = math.ceil(len(self.options) / len(self.regions))
        return needed + math.floor(self.report_lag / self.period_length)


def _names(given: object, kind: str, least: int, most: int) -> tuple[str, ...]:
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise InvalidInput(f"the {kind}s must be a sequence of names, not {given!r}.")
    names = tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInput(f"the names of {kind}s must be text.")
    if not least <= len(names) <= most:
        raise InvalidInput(f"there must be {least} to {most} {kind}s, not {len(names)}.")
    if len(set(names)) < len(names):
        raise InvalidInput(f"two {kind}s have the same name.")
    if kind == "option" and (NOTHING in names or NOT_KNOWN in names):
        raise InvalidInput(f"an option must not be called {NOTHING!r} or {NOT_KNOWN!r}.")
    return names
