"""What is believed of the options, in the words of those who decide: uplift, chance to be best, worth."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from latesum.campaigns.status import OptionRow, Status

if TYPE_CHECKING:
    from latesum.campaigns.market_view import MarketView

#: The worth of a decision is told for this many days.
WORTH_DAYS = 30
_POINTS = 2001
_LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}


class OptionOutlook(NamedTuple):
    """An option beside the status quo.

    `uplift` is the relative difference of the means, with its interval; None for the status quo itself
    and where one of them is not known, or is not above 0. `chance` is the chance to be best.
    """

    row: OptionRow
    chance: float | None
    uplift: float | None
    low: float | None
    high: float | None
    is_status_quo: bool


class Worth(NamedTuple):
    """What it is worth to show the leading option in place of the status quo, in `days` days."""

    option: str
    value: float
    low: float
    high: float
    days: int


class Outlook(NamedTuple):
    """All options beside the status quo; `assumed`: it is not known, so the first option stands for it."""

    options: list[OptionOutlook]
    status_quo: str
    assumed: bool
    worth: Worth | None


def make_outlook(status: Status) -> Outlook:
    """What a status means for a decision, by a normal approximation of what is believed.

    Args:
        status: The campaign's status.
    """
    names = [row.name for row in status.options]
    known = status.status_quo in names
    base = status.options[names.index(status.status_quo) if known else 0]
    if status.market is not None:
        return _market_outlook(status, status.market, base, assumed=not known)
    chances = _chances(status.options, status.level)
    options = [
        OptionOutlook(row, chance, *_uplift(row, base, status.level), row is base)
        for row, chance in zip(status.options, chances, strict=True)
    ]
    return Outlook(options, base.name, not known, _worth(status, base))


def _market_outlook(
    status: Status, market: MarketView, base: OptionRow, *, assumed: bool
) -> Outlook:
    """What the model of `switchback` says: its own effects, intervals and chances."""
    options = []
    for row in status.options:
        effect = market.effect(row.name)
        known = row.mean is not None and row is not base
        low, high = market.interval(effect, status.level)
        chance = None if row.mean is None else effect.chance
        if known:
            options.append(OptionOutlook(row, chance, effect.effect, low, high, False))
        else:
            options.append(OptionOutlook(row, chance, None, None, None, row is base))
    return Outlook(options, base.name, assumed, _market_worth(status, options, base))


def _market_worth(status: Status, options: list[OptionOutlook], base: OptionRow) -> Worth | None:
    """As `_worth`, of all regions with the visitors that they really have."""
    length = _LENGTHS.get(status.every)
    racing = [each for each in options if each.uplift is not None and each.row.place != "removed"]
    if length is None or base.mean is None or not racing:
        return None
    best = max(racing, key=lambda each: each.uplift or 0.0)
    if best.uplift is None or best.low is None or best.high is None or best.uplift <= 0:
        return None
    rounds: dict[int, int] = {}
    for row in status.timeline:
        if row.rounds:
            rounds[row.bucket] = rounds.get(row.bucket, 0) + row.rounds
    usual = sum(rounds.values()) / len(rounds) if rounds else (
        status.expected_rounds * max(len(status.regions), 1)
    )  # fmt: skip
    whole = base.mean * usual * (timedelta(days=WORTH_DAYS) / length)
    return Worth(
        best.row.name, best.uplift * whole, best.low * whole, best.high * whole, WORTH_DAYS
    )


def _deviation(row: OptionRow, level: float) -> float:
    return float((row.high - row.low) / (2 * ndtri((1 + level) / 2)))


def _chances(rows: list[OptionRow], level: float) -> list[float | None]:
    """The chance of each option to have the largest mean; None unless something is known of all."""
    racing = [row for row in rows if row.place != "removed"]
    if any(row.mean is None for row in racing):
        return [None] * len(rows)
    means = np.array([row.mean for row in racing], dtype=float)
    widths = np.array([max(_deviation(row, level), 1e-12) for row in racing])
    low, high = float(np.min(means - 8 * widths)), float(np.max(means + 8 * widths))
    # Each option's own grid is where its density is; a common one would miss narrow ones.
    found = {}
    for index, row in enumerate(racing):
        grid = np.linspace(-8, 8, _POINTS)
        points = np.clip(means[index] + widths[index] * grid, low, high)
        others = np.delete(np.arange(len(racing)), index)
        below = np.prod(ndtr((points[:, None] - means[others]) / widths[others]), axis=1)
        density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
        found[row.arm] = float(np.trapezoid(below * density, grid))
    total = sum(found.values())
    return [found[row.arm] / total if row.arm in found else 0.0 for row in rows]


def _uplift(
    row: OptionRow, base: OptionRow, level: float
) -> tuple[float | None, float | None, float | None]:
    if row is base or row.mean is None or base.mean is None or base.mean <= 0:
        return None, None, None
    ratio = row.mean / base.mean
    spread = math.hypot(_deviation(row, level), ratio * _deviation(base, level)) / base.mean
    half = float(ndtri((1 + level) / 2)) * spread
    return ratio - 1, ratio - 1 - half, ratio - 1 + half


def _worth(status: Status, base: OptionRow) -> Worth | None:
    length = _LENGTHS.get(status.every)
    rows = [row for row in status.options if row.mean is not None and row.place != "removed"]
    if length is None or base.mean is None or not rows:
        return None
    best = max(rows, key=lambda row: row.mean or 0.0)
    if best is base or best.mean is None:
        return None
    rounds = status.expected_rounds * (timedelta(days=WORTH_DAYS) / length)
    spread = math.hypot(_deviation(best, status.level), _deviation(base, status.level))
    half = float(ndtri((1 + status.level) / 2)) * spread * rounds
    value = (best.mean - base.mean) * rounds
    return Worth(best.name, value, value - half, value + half, WORTH_DAYS)


def percent(value: float, digits: int = 3) -> str:
    """A share as percent, with as many digits as matter.

    >>> percent(0.02533), percent(0.5), percent(-0.1234, 2)
    ('2.53%', '50%', '-12%')
    """
    return f"{100 * value:.{digits}g}%" if abs(value) < 1 else f"{100 * value:,.0f}%"


def rate_text(value: float, range: tuple[float, float]) -> str:
    """What a visitor brings: a share as percent, an amount as it is.

    >>> rate_text(0.02533, (0.0, 1.0)), rate_text(12.345, (0.0, 40.0))
    ('2.53%', '12.35')
    """
    return percent(value) if range == (0.0, 1.0) else f"{value:,.4g}"


def signed(value: float, digits: int = 0) -> str:
    """A relative difference as percent, with its sign unless it is 0.

    >>> signed(0.116, 1), signed(-0.004), signed(0.24)
    ('+11.6%', '0%', '+24%')
    """
    shown = f"{100 * value:+.{digits}f}"
    return f"{shown}%" if float(shown) else "0%"
