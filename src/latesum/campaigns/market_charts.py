"""What the charts of a campaign with `switchback` show, as plain values for `static/charts.js`."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from latesum.campaigns.charts import MOST_COLUMNS, N_COLOURS
from latesum.campaigns.status import BucketRow, Status

#: The most cells of the grid: with many regions there are fewer columns, each of several buckets.
_MOST_CELLS = 9000
_FEWEST_COLUMNS = 60
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: The marks of a cell in the grid.
_STATES = {"known": "k", "pending": "p", "running": "p", "missing": "m"}


class ChartColumns(NamedTuple):
    """The buckets that a chart shows, in columns of one or of several, and what each is called."""

    buckets: list[list[int]]
    labels: list[str]


def columns_of(status: Status, last: int | None = None) -> ChartColumns:
    """The last buckets of a campaign, or all, in as many columns as its regions leave room for.

    Args:
        status: What is shown.
        last: How many of the last buckets; all without.
    """
    names = {row.bucket: row.label for row in status.timeline}
    numbers = sorted(names)
    numbers = numbers if last is None else numbers[-last:]
    regions = max(len(status.regions), 1)
    most = min(MOST_COLUMNS, max(_FEWEST_COLUMNS, _MOST_CELLS // regions))
    size = max(1, -(-len(numbers) // most))
    columns = [numbers[start : start + size] for start in range(0, len(numbers), size)]
    labels = [
        names[each[0]] if len(each) == 1 else f"{names[each[0]]} to {names[each[-1]]}"
        for each in columns
    ]
    return ChartColumns(columns, labels)


def grid_chart(status: Status, columns: ChartColumns) -> dict[str, Any]:
    """Which option ran in which region on which day: a row per region.

    A cell is a text: the number of the option, then k, p or m for a total that is known, awaited or missing, o where a
    person ordered it and x where the total counted as an outlier.
    """
    rows = {(row.region, row.bucket): row for row in status.timeline}
    far_off = _outliers(status)
    cells = {
        region: [_cell(region, each, rows, far_off) for each in columns.buckets]
        for region in status.regions or [""]
    }
    return {
        "kind": "grid",
        "options": [option.name for option in status.options],
        "colours": N_COLOURS,
        "labels": columns.labels,
        "regions": list(cells),
        "cells": list(cells.values()),
    }


def _outliers(status: Status) -> set[tuple[str, int]]:
    if status.market is None:
        return set()
    first = status.market.found.first
    return {(each.region, each.bucket + first) for each in status.market.readings.outliers}


def _cell(
    region: str,
    buckets: list[int],
    rows: dict[tuple[str, int], BucketRow],
    far_off: set[tuple[str, int]],
) -> str:
    found = [rows[region, each] for each in buckets if (region, each) in rows]
    if not found:
        return ""
    most = Counter(row.arm for row in found).most_common(1)[0][0]
    typical = next(row for row in reversed(found) if row.arm == most)
    ordered = any(row.source in ("pinned", "paused") or row.decided != row.option for row in found)
    outlier = any((region, row.bucket) in far_off for row in found)
    return f"{most}{_STATES[typical.state]}{'o' * ordered}{'x' * outlier}"


def origins_chart(status: Status, columns: ChartColumns) -> dict[str, Any] | None:
    """What came in, over all regions, by the option that it came from; None before anything is known.

    What comes late from the option before is counted for that option: this is what the model unmixes.
    """
    market = status.market
    if market is None:
        return None
    totals = {
        (row.region, row.bucket): row.used_total
        for row in status.timeline
        if row.state == "known" and row.used_total is not None
    }
    arms = {option.name: option.arm for option in status.options}
    amounts: dict[int, list[float]] = {}
    for origin in market.readings.origins:
        bucket = origin.bucket + market.found.first
        total = totals.get((origin.region, bucket))
        if total is not None:
            of_bucket = amounts.setdefault(bucket, [0.0] * len(arms))
            for name, share in origin.shares.items():
                of_bucket[arms[name]] += total * share
    if not amounts:
        return None
    none = [0.0] * len(arms)
    series = [
        [
            _figure(sum(amounts.get(each, none)[arm] for each in column))
            for column in columns.buckets
        ]
        for arm in range(len(arms))
    ]
    return {
        "kind": "origins",
        "options": list(arms),
        "colours": N_COLOURS,
        "labels": columns.labels,
        "unit": status.unit,
        "series": series,
    }


def _figure(value: float) -> float:
    return float(f"{value:.4g}")


def pattern_charts(status: Status) -> list[dict[str, Any]]:
    """How much more or less arrives by weekday, and by hour where buckets are hours."""
    market = status.market
    if market is None or not market.readings.pattern:
        return []
    values = list(market.readings.pattern)
    if len(values) == len(_WEEKDAYS):
        return [_pattern(_WEEKDAYS, values)]
    hours = tuple(f"{hour}:00" for hour in range(24))
    return [_pattern(hours, values[:24]), _pattern(_WEEKDAYS, values[24:])]


def _pattern(labels: tuple[str, ...], values: list[float]) -> dict[str, Any]:
    return {
        "kind": "pattern", "labels": list(labels), "colours": N_COLOURS,
        "values": [_figure(value) for value in values],
    }  # fmt: skip


def effects_chart(status: Status) -> dict[str, Any] | None:
    """By how much each option is better than the status quo, with its interval; None while unknown."""
    market = status.market
    if market is None or all(row.mean is None for row in status.options):
        return None
    options = []
    for row in status.options:
        effect = market.effect(row.name)
        low, high = market.interval(effect, status.level)
        words = [f"{effect.effect:+.1%}", f"between {low:+.1%} and {high:+.1%}"]
        if row.name == market.reference:
            words = ["what the others are measured against"]
        options.append(
            {"name": row.name, "arm": row.arm, "mean": effect.effect, "low": low, "high": high, "words": words}
        )  # fmt: skip
    return {
        "kind": "estimates",
        "unit": f"{status.unit} against {market.reference}",
        "percent": True,
        "colours": N_COLOURS,
        "options": options,
    }
