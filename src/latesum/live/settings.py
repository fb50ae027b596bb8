"""What a campaign is set up with: said once, checked at the door, and never changed."""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name, whole_number
from latesum.live.buckets import Buckets
from latesum.live.durations import duration_text, parse_duration
from latesum.policies import Policy, registry

TimeBasis = Literal["arrival", "decision"]
#: The age of a value and the share of the final total that is in by then, in order of age.
Curve = tuple[tuple[timedelta, float], ...]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SQUARED = re.compile(r"\(\s*(.+?)\s*\)\s*(?:\^|\*\*)\s*2")
#: Parameters of policies that may be given in time, and how they become rounds.
_IN_TIME = ("horizon", "mean_delay", "delay_bound")


@dataclass(frozen=True)
class Settings:
    """A campaign's name, options, policy and buckets, and how its totals are to be read."""

    name: str
    options: tuple[str, ...]
    policy: str
    parameters: dict[str, Any]
    buckets: Buckets
    expected_rounds: int
    time_basis: TimeBasis
    seed: int
    #: The least and the most that one round can bring; totals are scaled by it.
    low: float = 0.0
    high: float = 1.0
    unit: str = "successes"
    usable_after: timedelta = timedelta(0)
    lateness: timedelta | None = None
    fills_up: Curve | None = None
    #: Instead of a declared curve: fit one, with totals taken for full at this age.
    full_after: timedelta | None = None
    align: str | int | None = None

    @property
    def n_options(self) -> int:
        """The number of options."""
        return len(self.options)

    def option(self, name: object) -> int:
        """The number of the option of this name."""
        return self.options.index(known_name(name, self.options, "option"))

    def scaled(self, total: float, rounds: int) -> float:
        """A total as policies see it: every round brings between 0 and 1."""
        return (total - rounds * self.low) / (self.high - self.low)

    def per_round(self, mean: float) -> float:
        """A policy's mean in the campaign's own unit."""
        return self.low + mean * (self.high - self.low)

    def build_policy(self) -> Policy:
        """The policy, knowing nothing; `simulate(..., seed=...)` draws from the same generator."""
        accepted = registry.accepted_parameters(self.policy)
        extra: dict[str, Any] = {}
        if "names" in accepted:
            extra["names"] = list(self.options)
        if "rng" in accepted:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(0, 1))
            extra["rng"] = np.random.Generator(np.random.PCG64(sequence))
        return registry.build(self.policy, n_arms=self.n_options, **self.parameters, **extra)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        curve = self.fills_up
        return {
            "name": self.name,
            "options": list(self.options),
            "policy": self.policy,
            "parameters": self.parameters,
            "buckets": self.buckets.to_json(),
            "expected_rounds": self.expected_rounds,
            "time_basis": self.time_basis,
            "seed": self.seed,
            "range": [self.low, self.high],
            "unit": self.unit,
            "usable_after": self.usable_after.total_seconds(),
            "lateness": None if self.lateness is None else self.lateness.total_seconds(),
            "fills_up": curve and [[age.total_seconds(), share] for age, share in curve],
            "full_after": None if self.full_after is None else self.full_after.total_seconds(),
            "align": self.align,
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Settings:
        """The opposite of `to_json`."""
        low, high = saved["range"]
        curve = saved["fills_up"]
        return cls(
            saved["name"], tuple(saved["options"]), saved["policy"], dict(saved["parameters"]),
            Buckets.from_json(saved["buckets"]), saved["expected_rounds"], saved["time_basis"],
            saved["seed"], low, high, saved["unit"], timedelta(seconds=saved["usable_after"]),
            _seconds(saved["lateness"]),
            curve and tuple((timedelta(seconds=age), share) for age, share in curve),
            _seconds(saved["full_after"]), saved["align"],
        )  # fmt: skip


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=value)


def make_settings(
    name: str,
    options: Sequence[str],
    policy: str,
    parameters: Mapping[str, Any],
    *,
    every: str,
    expected_rounds: int,
    time_basis: str | None,
    zone: str = "UTC",
    start: str | date | None = None,
    range: tuple[float, float] = (0.0, 1.0),
    unit: str = "successes",
    usable_after: str | timedelta = timedelta(0),
    lateness: str | timedelta | None = None,
    fills_up: Mapping[str, float] | str | None = None,
    align: str | int | None = None,
    seed: int | None = None,
) -> Settings:
    """Check everything that a campaign is set up with; `Campaign.create` says what it means."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidInput(
            f"a campaign's name is up to 64 letters, digits, dots, dashes and underscores, "
            f"not {name!r}."
        )
    if time_basis not in ("arrival", "decision"):
        raise InvalidInput(
            "say by which time your totals are dated, time_basis='arrival' or 'decision'. By "
            "arrival: a sale counts on the day it came in, which is what latesum needs. By decision "
            "(many ad platforms' default): it counts on the day of the click, and yesterday's "
            "total keeps growing."
        )
    buckets = Buckets.create(every, zone, start)
    expected = whole_number(expected_rounds, "the expected rounds of a bucket", at_least=1)
    if expected > 10**12:
        raise InvalidInput("a bucket has at most 1,000,000,000,000 rounds.")
    low, high = _range(range)
    curve, full_after = _fills_up(fills_up, buckets)
    settings = Settings(
        name=name,
        options=_options(options),
        policy=registry.checked_name(policy),
        parameters={
            key: _in_rounds(key, value, buckets, expected) for key, value in parameters.items()
        },
        buckets=buckets,
        expected_rounds=expected,
        time_basis=time_basis,  # type: ignore[arg-type]
        seed=secrets.randbits(32) if seed is None else whole_number(seed, "the seed"),
        low=low,
        high=high,
        unit=str(unit),
        usable_after=parse_duration(usable_after, "usable_after"),
        lateness=None if lateness is None else parse_duration(lateness, "lateness"),
        fills_up=curve,
        full_after=full_after,
        align=_align(align, buckets),
    )
    settings.build_policy()  # a policy that cannot be built is refused now, not at the first bucket
    return settings


def _options(options: Sequence[str]) -> tuple[str, ...]:
    if isinstance(options, str):
        raise InvalidInput(f"the options are a list of names, not the text {options!r}.")
    names = tuple(str(option).strip() for option in options)
    if len(names) < 2 or len({name.casefold() for name in names}) < len(names) or "" in names:
        raise InvalidInput(f"give at least two options with different names, not {list(names)}.")
    return names


def _range(given: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise InvalidInput(
            f"the range is the least and the most that a round can bring, such as (0, 250), "
            f"not {given!r}."
        ) from None
    low = finite_number(low, "the least that a round can bring", at_least=-1e12)
    return low, finite_number(high, "the most that a round can bring", above=low, at_most=1e12)


def _align(align: str | int | None, buckets: Buckets) -> str | int | None:
    if align is None or (align == "week" and buckets.timed):
        return align
    if isinstance(align, str):
        raise InvalidInput(
            f"align is 'week' (for hours, days and weeks) or a number of buckets, not {align!r}."
        )
    return whole_number(align, "align", at_least=2)


def _in_rounds(key: str, value: Any, buckets: Buckets, expected: int) -> Any:
    """A parameter given in time, or in buckets, as rounds."""
    if not isinstance(value, str):
        return value
    squared = _SQUARED.fullmatch(value) if key == "delay_variance" else None
    if key not in _IN_TIME and squared is None:
        return value
    text = value if squared is None else squared[1]
    in_buckets = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*buckets?\s*", text)
    if in_buckets is not None:
        rounds = float(in_buckets[1]) * expected
    elif buckets.length is None:
        raise InvalidInput(
            f"{key} cannot be given in time, because the buckets are numbered; give rounds, or "
            "buckets such as '2 buckets'."
        )
    else:
        rounds = parse_duration(text, key) / buckets.length * expected
    if squared is not None:
        return rounds**2
    return rounds if key == "mean_delay" else math.ceil(rounds)


def _fills_up(
    given: Mapping[str, float] | str | None, buckets: Buckets
) -> tuple[Curve | None, timedelta | None]:
    if given is None:
        return None, None
    if isinstance(given, str):
        if not buckets.timed:
            raise InvalidInput("a curve can be fitted for hours, days and weeks only.")
        full = parse_duration(given.removeprefix("fit").strip(), "fills_up")
        return None, full
    curve = sorted(
        (
            parse_duration(age, "an age in fills_up"),
            finite_number(share, f"the share at {age}", above=0, at_most=1),
        )
        for age, share in given.items()
    )
    shares = [share for _, share in curve]
    if not curve or shares != sorted(shares) or shares[-1] != 1:
        raise InvalidInput(
            "fills_up gives shares that grow with age and end at 1, such as "
            "{'1 day': 0.6, '3 days': 0.9, '7 days': 1}, not "
            + str({duration_text(age): share for age, share in curve})
            + "."
        )
    return tuple(curve), None
