"""Rows of a log, and the table of all buckets and regions that they make up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.markets.config import NOT_KNOWN, NOTHING, MarketConfig

Floats = NDArray[np.float64]

#: How far the shares of a bucket may be from 1 in sum.
_ROUNDING = 0.01
#: The exposure before the first row is the mean of this many buckets.
FIRST_BUCKETS = 7


class RegionRow(NamedTuple):
    """One bucket of one region.

    Args:
        region: The name of the region; "" where there is one stream.
        bucket: Its number; 0 is the first that was decided, negative ones are history.
        rounds: Its visitors; None where they are not known.
        shown: The option, or the share of each option in a mixed bucket.
        total: What arrived, or None where it is not known (yet).
    """

    region: str
    bucket: int
    rounds: float | None
    shown: str | Mapping[str, float]
    total: float | None


@dataclass(frozen=True)
class Panel:
    """All buckets from the first row on, in every region.

    Args:
        first: The number of the first bucket.
        exposure: Rounds by bucket and region.
        shares: The share of each option by bucket, region and option.
        totals: Totals by bucket and region; NaN where none is known.
    """

    first: int
    exposure: Floats
    shares: Floats
    totals: Floats

    @property
    def end(self) -> int:
        """The bucket after the last."""
        return self.first + len(self.totals)

    def until(self, bucket: int) -> Panel:
        """The buckets before one."""
        length = max(0, bucket - self.first)
        return Panel(self.first, self.exposure[:length], self.shares[:length], self.totals[:length])

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether a bucket's total is known in some region, by bucket."""
        return np.asarray(np.isfinite(self.totals).any(axis=1))

    @classmethod
    def of(cls, rows: Iterable[RegionRow], config: MarketConfig, until: int) -> Panel:
        """The table of all rows before a bucket.

        A bucket without a row is taken to have had the mean rounds of its region and to have shown
        what the bucket before it showed; its total is missing.

        Args:
            rows: In any order.
            until: The bucket that is decided; its row and later ones are left out, so that one log
                serves all decisions.

        >>> config = MarketConfig(("old", "new"), 90, status_quo="old")
        >>> both = {"old": 0.3, "new": 0.7}
        >>> rows = [RegionRow("", -2, 900, "old", 31), RegionRow("", 0, 1000, both, 40)]
        >>> Panel.of(rows, config, 1).totals.ravel()
        array([31., nan, 40.])
        """
        regions = {name: index for index, name in enumerate(config.regions)}
        options = {name: index for index, name in enumerate(config.options)}
        kept: dict[tuple[int, int], RegionRow] = {}
        for row in rows:
            if row.region not in regions:
                known_name(row.region, regions, "region")
            if row.bucket >= until:
                continue
            key = (row.bucket, regions[row.region])
            if key in kept:
                where = f" of region {row.region!r}" if row.region else ""
                raise InvalidInput(f"bucket {row.bucket}{where} has two rows; leave one out.")
            kept[key] = row
        first = min((bucket for bucket, _ in kept), default=until)
        length, n_regions, n_options = until - first, len(regions), len(options)
        exposure = np.full((length, n_regions), np.nan)
        shares = np.full((length, n_regions, n_options), np.nan)
        totals = np.full((length, n_regions), np.nan)
        for (bucket, region), row in kept.items():
            at = bucket - first
            if row.rounds is not None:
                exposure[at, region] = finite_number(row.rounds, "rounds", at_least=0)
            shares[at, region] = _shares(row.shown, options)
            if row.total is not None:
                least = -math.inf if config.amounts == "money" else 0
                totals[at, region] = finite_number(row.total, "a total", at_least=least)
        _fill(exposure, shares, status_quo_shares(config))
        return cls(first, exposure, shares, totals)


def status_quo_shares(config: MarketConfig) -> Floats:
    """The shares of the options before the first row: all equal where they are not known."""
    if config.status_quo == NOTHING:
        return np.zeros(len(config.options))
    if config.status_quo == NOT_KNOWN:
        return np.full(len(config.options), 1 / len(config.options))
    return np.array([float(option == config.status_quo) for option in config.options])


def _shares(shown: str | Mapping[str, float], options: Mapping[str, int]) -> Floats:
    result = np.zeros(len(options))
    if isinstance(shown, str):
        if shown not in options:
            known_name(shown, options, "option")
        result[options[shown]] = 1.0
        return result
    for name, share in shown.items():
        known_name(name, options, "option")
        result[options[name]] = finite_number(share, f"the share of {name}", at_least=0, at_most=1)
    if abs(result.sum() - 1) > _ROUNDING:
        raise InvalidInput(
            f"the shares of a bucket must add up to 1, not {result.sum():.3g}: {dict(shown)}."
        )
    return np.asarray(result / result.sum())


def _fill(exposure: Floats, shares: Floats, before: Floats) -> None:
    """Rounds and shares of the buckets that have none."""
    for region in range(exposure.shape[1]):
        given = exposure[:, region]
        missing = np.isnan(given)
        if missing.any():
            given[missing] = given[~missing].mean() if not missing.all() else 1.0
        absent = np.flatnonzero(np.isnan(shares[:, region, 0]))
        for at in absent:
            start = before if before.sum() else np.full(len(before), 1 / len(before))
            shares[at, region] = shares[at - 1, region] if at else start
