"""How late rewards come, as people say it: the mean, shares, a distribution, a file or a fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from latesum import _durations, delays
from latesum._checks import InvalidInput
from latesum.delays import Delay
from latesum.delays.composite import from_curve
from latesum.delays.curves import Curve, exponential_pieces
from latesum.delays.fitting import FittedDelay
from latesum.delays.fitting.result import MAX_UNSEEN

_INSIDE = re.compile(
    rf"(?P<number>{_durations.NUMBER})\s*(?P<unit>{_durations.UNIT})\b", re.IGNORECASE
)
_UP_TO = re.compile(r"\s*(?:up to|at most|within)\s+(?P<time>.+)", re.IGNORECASE)
_ABOUT = re.compile(r"\s*about\s+(?P<time>.+)", re.IGNORECASE)
_WITHIN = re.compile(
    rf"\s*(?P<share>half|all|{_durations.NUMBER}\s*%)\s+within\s+"
    rf"(?P<time>{_durations.NUMBER}\s*(?:{_durations.UNIT})|an? (?:{_durations.UNIT}))\s*",
    re.IGNORECASE,
)


def unit_hours(unit: str) -> float:
    """The hours in a unit of time, however it is written.

    >>> unit_hours("days"), unit_hours("h")
    (24.0, 1.0)
    """
    return _durations.SECONDS[_durations.unit_of(unit)] / 3600


def read_duration(text: Any, what: str) -> float:
    """A duration such as "2 hours", "90 days" or "day", in hours.

    >>> read_duration("12 weeks", "the run")
    2016.0
    """
    hours = _durations.parse_duration(text, what).total_seconds() / 3600
    if hours <= 0:
        raise InvalidInput(f"{what} must be longer than nothing, not {text!r}.")
    return hours


class Lateness:
    """How late rewards come, in time; `in_rounds` turns it into a delay in rounds.

    >>> late = Lateness.read("half within 2 hours, 95% within 3 days")
    >>> round(late.in_rounds(rounds_per_hour=100).mean / 100, 1)
    16.7
    >>> Lateness.read("exponential(2 days)").in_rounds(rounds_per_hour=10)
    delays.exponential(480)
    >>> Lateness.read("up to 10 days").in_rounds(rounds_per_hour=1).bound
    240
    """

    def __init__(
        self,
        said: str,
        assumption: str,
        source: Curve | str,
        *,
        mean_only: bool = False,
    ) -> None:
        self.said = said
        #: What was assumed to turn the words into a distribution; empty if nothing.
        self.assumption = assumption
        #: Whether nothing but the mean was given.
        self.mean_only = mean_only
        self._source = source

    @classmethod
    def read(cls, said: Any, *, unit: str | None = None) -> Lateness:
        """From words, a file or a fit."""
        if isinstance(said, Lateness):
            return said
        if isinstance(said, Path) or (
            isinstance(said, str) and said.lower().endswith((".csv", ".xlsx", ".parquet", ".pq"))
        ):
            said = delays.fit(said, unit=unit)
        if isinstance(said, FittedDelay):
            return cls._from_fit(said, unit)
        if not isinstance(said, str):
            raise InvalidInput(f'say how late rewards come such as "2 days", not {said!r}.')
        if (match := _UP_TO.fullmatch(said)) and _durations.DURATION.fullmatch(match["time"]):
            return cls._from_quantiles([(1.0, read_duration(match["time"], "the delay"))], said)
        if "within" in said.lower():
            return cls._from_quantiles(_read_within(said), said)
        match = _ABOUT.fullmatch(said)
        if _durations.DURATION.fullmatch(span := match["time"] if match else said):
            hours = read_duration(span, "the mean delay")
            assumption = (
                "only the mean delay was given, so rewards that are still to come arrive at a "
                "constant rate (a constant hazard: the delay is exponential)"
            )
            law = f"exponential({hours} hours)"
            return cls(f"{said} on average", assumption, law, mean_only=True)
        if "(" in said and not _INSIDE.search(said):
            raise InvalidInput(
                f'say in which unit the delay {said!r} is, such as "exponential(50 hours)".'
            )
        late = cls(said, "", said)
        try:
            late.in_rounds(60.0)  # what cannot be read is refused now
        except InvalidInput:
            raise InvalidInput(
                f"{said!r} does not say how late rewards come; write their mean, such as "
                '"2 days", shares, such as "half within 2 hours, 95% within 3 days", a '
                'distribution with units, such as "uniform(1 hour, 3 days)", or the name of a '
                ".csv file."
            ) from None
        return late

    @classmethod
    def _from_fit(cls, fitted: FittedDelay, unit: str | None) -> Lateness:
        try:
            hours = unit_hours(unit or fitted.unit)
        except InvalidInput:
            raise InvalidInput(
                "say the time unit of the fitted delays (delay_unit), such as hour or day."
            ) from None
        assumption = " ".join(fitted.warnings).removesuffix(".")
        return cls(f"fitted to {fitted.basis}", assumption, fitted.curve.scaled(hours))

    @classmethod
    def _from_quantiles(cls, pairs: list[tuple[float, float]], said: str) -> Lateness:
        shares = np.array([0.0] + [share for share, _ in pairs])
        times = np.array([0.0] + [time for _, time in pairs])
        if (np.diff(shares) <= 0).any() or (np.diff(times) <= 0).any() or shares[-1] > 1:
            raise InvalidInput(
                f"quantiles must increase, in share and in time, up to 100%: not {said!r}."
            )
        if 1 - shares[-1] > MAX_UNSEEN:
            raise InvalidInput(
                f"only {shares[-1]:.0%} of the delays are accounted for in {said!r}: nothing "
                f"supports a tail. Say by when at least {1 - MAX_UNSEEN:.0%} have arrived."
            )
        alive = 1 - shares
        knots, levels = exponential_pieces(times, alive)
        hazard = "rewards that are still to come arrive at a constant rate (a constant hazard)"
        if alive[-1] <= 0:
            last = f"up to {as_time(times[-1])} they are spread evenly"
            if len(pairs) == 1:
                return cls(said, last, Curve(times, alive, bounded=True))
            assumption = f"between the times that were given {hazard}; in the last interval, {last}"
            return cls(said, assumption, Curve(knots, levels, bounded=True))
        tail = float((times[-1] - times[-2]) / np.log(alive[-2] / alive[-1]))
        assumption = (
            f"between the times that were given, and after the last one, {hazard}; the last "
            f"{alive[-1]:.0%} come {as_time(tail)} after it on average"
        )
        return cls(said, assumption, Curve(knots, levels, tail))

    def in_rounds(self, rounds_per_hour: float, *, factor: float = 1.0) -> Delay:
        """The delay in rounds, `factor` times as long."""
        scale = rounds_per_hour * factor
        if isinstance(self._source, Curve):
            return from_curve(self._source, scale)
        written = _INSIDE.sub(lambda match: _rounds(match, scale), self._source)
        return delays.parse(written)


def _rounds(match: re.Match[str], scale: float) -> str:
    rounds = _durations.number_of(match["number"]) * unit_hours(match["unit"]) * scale
    return str(max(round(rounds), 1 if rounds > 0 else 0)) if rounds >= 10 else f"{rounds:.6g}"


def _read_within(said: str) -> list[tuple[float, float]]:
    pairs = []
    for part in re.split(r",(?!\d{3})|;|\band\b", said):
        if not part.strip():
            continue
        match = _WITHIN.fullmatch(part)
        if match is None:
            raise InvalidInput(
                f'cannot read {part.strip()!r}; write "half within 2 hours, 95% within 3 days".'
            )
        word = match["share"].lower()
        share = {"half": 0.5, "all": 1.0}.get(word)
        if share is None:
            share = _durations.number_of(word.rstrip("% ")) / 100
        time = re.sub(r"^an?\s+", "1 ", match["time"].strip(), flags=re.IGNORECASE)
        pairs.append((share, read_duration(time, "a time")))
    return pairs


def as_time(hours: float) -> str:
    """A duration for people: long ones in whole weeks, or in days.

    >>> as_time(2016), as_time(60 * 24), as_time(30)
    ('12 weeks', '60 days', '30 hours')
    """
    if hours >= 21 * 24 and abs(hours / 168 - round(hours / 168)) > 0.01:
        return f"{hours / 24:.0f} days"
    return _durations.rough_text(hours * 3600)
