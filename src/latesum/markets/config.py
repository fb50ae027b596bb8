"""What a market is told at its start: options, regions, how late totals are, and what ran before."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import Literal

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.delays import Delay

#: What ran before the first row, where it is none of the options: no rewards were under way, ...
NOTHING = "(nothing)"
#: ... or something ran, or may have run, and it is not known which option it was.
NOT_KNOWN = "(not known)"

#: How sure one is of the delay: the sd of its logarithm.
SURE = {"known": 0.1, "guess": 0.7}
#: The parts of the repeating pattern: a week of days, of working days; hours of the day and days of the week; none.
PATTERNS = {"weekday": (7,), "workday": (5,), "hour": (24, 7), "none": ()}
MOST_OPTIONS = 50
MOST_REGIONS = 200


@dataclass(frozen=True)
class ToldDelay:
    """How late sales are, as far as it was told.

    Args:
        mean: The mean delay in buckets.
        sure: "known" holds it within about 10%, "guess" within a factor of about two; both are
            corrected by the data.
        law: The shape of the delay, of which only the shape counts; None is exponential.

    >>> ToldDelay(2.0).spread
    0.7
    """

    mean: float
    sure: Literal["known", "guess"] = "guess"
    law: Delay | None = None

    def __post_init__(self) -> None:
        mean = finite_number(self.mean, "the mean delay in buckets", at_least=0)
        object.__setattr__(self, "mean", max(mean, 1e-3))
        known_name(self.sure, SURE, "way to be sure of a delay")

    @property
    def spread(self) -> float:
        """The sd of the logarithm of the mean delay."""
        return SURE[self.sure]

    @classmethod
    def of(cls, law: Delay, rounds_per_bucket: float) -> ToldDelay:
        """A delay that is known as a law, such as a fitted one.

        Args:
            law: The delay in rounds.
            rounds_per_bucket: How many rounds a bucket has.

        >>> from latesum import delays
        >>> round(ToldDelay.of(delays.geometric(7_500), 5_000).mean, 2)
        1.5
        """
        per_bucket = finite_number(rounds_per_bucket, "the rounds per bucket", above=0)
        return cls(law.mean / per_bucket, "known", law)


@dataclass(frozen=True)
class MarketConfig:
    """All that decisions depend on besides the rows.

    Args:
        options: The names of what can be shown, two or more.
        horizon: How many buckets it is decided for; bucket 0 is the first of them.
        regions: The names of the regions; one stream has one region without a name.
        delay: How late sales are.
        before: What ran before the first row: an option, `NOTHING`, or `NOT_KNOWN`.
        status_quo: What effects are measured against; None is the option before, otherwise the first.
        pattern: The repeating pattern: "weekday" for daily buckets, "workday" for those of five days, "hour" for hourly ones (hours of the
            day and days of the week), or "none".
        phase: Where in the pattern bucket 0 lies: its weekday from Monday = 0, or its hour in the week.
        holidays: The buckets that are unlike the others, negative ones in the history; they count less.
        novelty: How far an option's effect may walk in a bucket (0.01: by 1%); 0 for effects that stay.
        dated: Whether a sale is in the total of the bucket in which it arrived, or of the one in
            which its visitor came ("decision"; such totals grow for a while).
        amounts: "counts" of sales, or "money", whose dispersion is learned.
        lags: Whether all options' sales are late in the same way ("same"), each in its own ("own"), or
            what the rows say ("auto"; on one stream without visitors they cannot say it).
        rounds_known: Whether the rows' rounds are visitors; without them demand is a part of the noise.
        report_lag: After how many buckets totals become known.
        stay: For how many buckets a choice stays, at least; None follows the delay as it was told.
        seed: What the draws come from.

    >>> settings = MarketConfig(("old", "new"), 90, regions=("north", "south"), before="old")
    >>> settings.reference
    'old'
    """

    options: tuple[str, ...]
    horizon: int
    regions: tuple[str, ...] = ("",)
    delay: ToldDelay = field(default_factory=lambda: ToldDelay(1.0))
    before: str = NOT_KNOWN
    status_quo: str | None = None
    pattern: Literal["weekday", "workday", "hour", "none"] = "weekday"
    phase: int = 0
    holidays: tuple[int, ...] = ()
    novelty: float = 0.0
    dated: Literal["arrival", "decision"] = "arrival"
    amounts: Literal["counts", "money"] = "counts"
    lags: Literal["same", "own", "auto"] = "auto"
    rounds_known: bool = True
    report_lag: int = 0
    stay: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "options", _names(self.options, "option", 2, MOST_OPTIONS))
        put(self, "regions", _names(self.regions, "region", 1, MOST_REGIONS))
        put(self, "horizon", whole_number(self.horizon, "the horizon in buckets", at_least=1))
        put(self, "holidays", tuple(sorted({int(bucket) for bucket in self.holidays})))
        for name in ("report_lag", "seed", "phase"):
            whole_number(getattr(self, name), f"`{name}`")
        finite_number(self.novelty, "the walk of effects (novelty)", at_least=0, at_most=0.5)
        known_name(self.pattern, PATTERNS, "pattern")
        known_name(self.dated, ("arrival", "decision"), "way to date totals")
        known_name(self.amounts, ("counts", "money"), "kind of totals")
        known_name(self.lags, ("same", "own", "auto"), "way to treat the options' lags")
        known_name(self.before, (*self.options, NOTHING, NOT_KNOWN), "answer to what ran before")
        if self.status_quo is not None:
            known_name(self.status_quo, self.options, "option")
        if self.stay is not None:
            whole_number(self.stay, "the buckets that a choice stays", at_least=1)
        if not isinstance(self.delay, ToldDelay):
            raise InvalidInput(f"the delay must be a ToldDelay, not {self.delay!r}.")

    @property
    def reference(self) -> str:
        """The option that effects are measured against."""
        if self.status_quo is not None:
            return self.status_quo
        return self.before if self.before in self.options else self.options[0]

    @functools.cached_property
    def dwell(self) -> int:
        """For how many buckets a choice stays, at least: two, and the mean delay as it was told.

        Twice the mean delay where the horizon has room for it: five sweeps over all options.

        >>> MarketConfig(("a", "b", "c"), 90, delay=ToldDelay(2.0)).dwell
        4
        """
        if self.stay is not None:
            return self.stay
        # A delay of 2.001 buckets, such as of a fitted law, needs no bucket more than 2.
        mean = round(self.delay.mean, 1)
        room = self.horizon // (5 * len(self.options))
        return max(2, math.ceil(mean), min(math.ceil(2 * mean), room))

    @functools.cached_property
    def sweep(self) -> int:
        """How many dwells the first sweep has, in which every option is shown in some region.

        Where totals are reported late it is longer, so that something of each dwell is known at its end.

        >>> MarketConfig(("a", "b", "c"), 90, regions=("north", "south")).sweep
        2
        """
        needed = math.ceil(len(self.options) / len(self.regions))
        late = self.report_lag / self.dwell
        return needed + math.floor(late)


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
