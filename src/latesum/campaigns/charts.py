"""What the charts of the page show, as plain values: `static/charts.js` draws them with Chart.js.

Every value has its words too, for readers who point at it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from latesum._render import rate_text
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.methods import told_plays
from latesum.campaigns.view import BucketRow, Status
from latesum.campaigns.vocabulary import Purpose
from latesum.policies import Play

#: The colours that the page has; more options share them, and are told apart by their rows.
N_COLOURS = 8
#: The most columns of a chart: a longer run is shown in columns of several buckets.
MOST_COLUMNS = 300
#: The most cells of the grid: with many regions there are fewer columns, each of several buckets.
_MOST_CELLS = 9000
_FEWEST_COLUMNS = 60
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
#: The marks of a cell in the grid.
_STATES = {"known": "k", "pending": "p", "running": "p", "missing": "m"}
_PURPOSES: dict[Purpose, str] = {
    "learn": "to learn",
    "bridge": "as a bridge",
    "commit": "as the policy's answer",
    "override": "not by the policy",
}


def phases(campaign: Campaign) -> dict[int, int]:
    """The policy's phase in each bucket, for policies that have phases, by what is known now."""
    state, now = campaign.state(), campaign.clock()
    if state.config.is_market:
        return {}
    completeness = Completeness(state, now)
    told = told_plays(state, now)
    policy = state.config.build_policy()
    buckets = (bucket for bucket in list(state.decisions) if completeness.rounds(bucket))
    found = {}
    for each in told:
        if not isinstance(each, Play):
            policy.drop(each)
            continue
        bucket = next(buckets)
        if policy.phase is not None:
            found[bucket] = policy.phase
        policy.tell(*each)
    return found


class Window(NamedTuple):
    """A part of a timeline as a chart shows it: in columns, each of one bucket or of several.

    Args:
        columns: The buckets of each column, in order.
    """

    columns: list[list[BucketRow]]

    @property
    def labels(self) -> list[str]:
        """The name of each column."""
        return [_label(rows) for rows in self.columns]


def window_of(timeline: list[BucketRow], last: int | None = None) -> Window:
    """The last buckets of a timeline, or all, in at most `MOST_COLUMNS` columns.

    Args:
        timeline: All buckets.
        last: How many of the last ones; all without.
    """
    rows = timeline if last is None else timeline[-last:]
    size = max(1, -(-len(rows) // MOST_COLUMNS))
    return Window([rows[start : start + size] for start in range(0, len(rows), size)])


def timeline_chart(
    status: Status, phase_of: dict[int, int], window: Window | None = None
) -> dict[str, Any]:
    """Which option was shown when, why, and what is known of it; and where phases begin."""
    window = window_of(status.timeline) if window is None else window
    bars, beginnings, last = [], [], None
    for index, rows in enumerate(window.columns):
        phase = phase_of.get(rows[0].bucket)
        if phase is not None and phase != last:
            beginnings.append({"at": index, "name": f"phase {phase}"})
            last = phase
        row = _typical(rows)
        if len(rows) == 1:
            words = [
                f"{row.option}, {purpose_of(row)}",
                f"total {row.total_state}",
                row.reason,
            ]
        else:
            words = _shares(rows)
        bars.append(
            {
                "arm": row.arm,
                "state": row.state,
                "bridge": row.purpose == "bridge",
                "ordered": any(_ordered(each) for each in rows),
                "words": words,
            }
        )
    return {
        "kind": "timeline",
        "options": [option.name for option in status.options],
        "colours": N_COLOURS,
        "labels": window.labels,
        "bars": bars,
        "phases": beginnings,
    }


def totals_chart(status: Status, window: Window | None = None) -> dict[str, Any] | None:
    """What each bucket brought per round, as far as it is known; None before anything is."""
    window = window_of(status.timeline) if window is None else window
    shares = status.range == (0.0, 1.0)
    bars = []
    for rows in window.columns:
        row, rate = _typical(rows), _rate(rows)
        shown = "" if rate is None else f"{100 * rate:.3g}%" if shares else f"{rate:.4g}"
        brought = "not known yet" if rate is None else f"{shown} {status.unit} per visitor"
        words = [row.option, brought] if len(rows) == 1 else [brought, *_shares(rows)]
        if len(rows) == 1:
            words.append(f"total {row.total_state}")
        revised = max(each.revisions for each in rows)
        if revised and len(rows) == 1:
            words.append(f"revised {revised} time{'s' if revised > 1 else ''}")
        bars.append(
            {
                "arm": row.arm,
                "rate": rate,
                "state": row.state,
                "revised": revised > 0,
                "words": words,
            }
        )
    rates = [rate for row in status.timeline if (rate := rate_of(row)) is not None]
    if not rates:
        return None
    return {
        "kind": "totals",
        "colours": N_COLOURS,
        "labels": window.labels,
        "bars": bars,
        # Of the whole run, so that the axis is the same whatever part of it is shown.
        "low": min(0.0, *rates),
        "high": max(0.0, *rates),
        "percent": shares,
    }


def _typical(rows: list[BucketRow]) -> BucketRow:
    """The bucket that stands for a column: the newest of the option that was shown most."""
    if len(rows) == 1:
        return rows[0]
    counts = Counter(row.arm for row in rows)
    most = max(counts, key=lambda arm: counts[arm])
    return next(row for row in reversed(rows) if row.arm == most)


def _rate(rows: list[BucketRow]) -> float | None:
    if len(rows) == 1:
        return rate_of(rows[0])
    known = [(rate, row.rounds or 0) for row in rows if (rate := rate_of(row)) is not None]
    rounds = sum(each for _, each in known)
    return sum(rate * each for rate, each in known) / rounds if rounds else None


def _label(rows: list[BucketRow]) -> str:
    first, last = (f"{row.label} {row.region}".rstrip() for row in (rows[0], rows[-1]))
    return first if len(rows) == 1 else f"{first} to {last}"


def _shares(rows: list[BucketRow]) -> list[str]:
    counts = Counter(row.option for row in rows)
    return [f"{option}: {count} of {len(rows)}" for option, count in counts.most_common(4)]


def rate_of(row: BucketRow) -> float | None:
    """What a bucket brought per round; None where nothing is known."""
    total = row.used_total if row.state == "known" else row.total
    return None if total is None or not row.rounds else total / row.rounds


def estimates_chart(status: Status) -> dict[str, Any] | None:
    """What each option brings per round, with the interval that holds it; None while unknown."""
    known = [row for row in status.options if row.mean is not None]
    if not known:
        return None
    return {
        "kind": "estimates",
        "unit": f"{status.unit} per visitor",
        "percent": status.range == (0.0, 1.0),
        "colours": N_COLOURS,
        "options": [
            {
                "name": row.name,
                "arm": row.arm,
                "mean": row.mean,
                "low": row.low,
                "high": row.high,
                "words": [
                    rate_text(row.mean or 0.0, status.range),
                    f"between {rate_text(row.low, status.range)} and {rate_text(row.high, status.range)}",
                ],
            }
            for row in known
        ],
    }


def _ordered(row: BucketRow) -> bool:
    return row.source in ("pinned", "paused") or row.decided != row.option


def purpose_of(row: BucketRow) -> str:
    """Why an option was shown, in some words."""
    if row.source in ("pinned", "paused"):
        return "pinned by an operator" if row.source == "pinned" else "paused by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]


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
        "kind": "pattern",
        "labels": list(labels),
        "colours": N_COLOURS,
        "values": [_figure(value) for value in values],
    }


def effects_chart(status: Status) -> dict[str, Any] | None:
    """The uplift of each option on the status quo, with its interval; None while unknown."""
    if all(row.mean is None for row in status.options):
        return None
    options = []
    for row in status.options:
        uplift, low, high = row.uplift or 0.0, row.uplift_low or 0.0, row.uplift_high or 0.0
        words = [f"{uplift:+.1%}", f"between {low:+.1%} and {high:+.1%}"]
        if row.is_status_quo:
            words = ["what the others are measured against"]
        options.append(
            {
                "name": row.name,
                "arm": row.arm,
                "mean": uplift,
                "low": low,
                "high": high,
                "words": words,
            }
        )
    return {
        "kind": "estimates",
        "unit": f"{status.unit} against {status.status_quo}",
        "percent": True,
        "colours": N_COLOURS,
        "options": options,
    }
