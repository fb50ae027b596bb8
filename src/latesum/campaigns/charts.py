"""What the charts of the page show, as plain values that `static/charts.js` draws."""

from __future__ import annotations

from collections import Counter
from typing import Any

from latesum._render import rate_text, signed
from latesum.campaigns.view import BucketRow, Status
from latesum.policies.base import Purpose

#: The colours that the page has; more options share them, and are told apart by their rows.
N_COLOURS = 8
#: A longer run is shown in columns of several buckets, and with many regions there are fewer.
MAX_COLUMNS = 300
_MAX_CELLS = 9000
_MIN_COLUMNS = 60
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = tuple(f"{hour}:00" for hour in range(24))
#: The marks of a cell in the timeline.
_STATES = {"known": "k", "pending": "p", "running": "p", "missing": "m"}
_PURPOSES: dict[Purpose, str] = {
    "learn": "to learn",
    "bridge": "as a bridge",
    "commit": "as the policy's answer",
    "override": "not by the policy",
}
Columns = list[list[BucketRow]]


def columns_of(status: Status, last: int | None = None) -> Columns:
    """The rows of the last buckets, or of all, in as many columns as the regions leave room for.

    Args:
        status: What is shown.
        last: How many of the last buckets; all without.
    """
    buckets: dict[int, list[BucketRow]] = {}
    for row in status.timeline:
        buckets.setdefault(row.bucket, []).append(row)
    numbers = sorted(buckets)[-(last or 0) :]
    most = min(MAX_COLUMNS, max(_MIN_COLUMNS, _MAX_CELLS // max(len(status.regions), 1)))
    size = max(1, -(-len(numbers) // most))
    return [
        [row for number in numbers[start : start + size] for row in buckets[number]]
        for start in range(0, len(numbers), size)
    ]


def timeline_chart(status: Status, columns: Columns) -> dict[str, Any]:
    """Which option was shown when: a row per region, or per option where there are no regions.

    A cell is a text: the number of the option; k, p or m for a total that is known, awaited or
    missing; b for a bridge; o where an operator ordered it, and x where the total is an outlier.
    """
    names = [option.name for option in status.options]
    rows = list(status.regions) or names
    cells: list[list[str]] = [[] for _ in rows]
    for column in columns:
        for place, name in enumerate(rows):
            found = [row for row in column if not status.regions or row.region == name]
            typical = _typical(found) if found else None
            shown = typical is not None and (bool(status.regions) or typical.option == name)
            cells[place].append(_cell(typical, found) if typical is not None and shown else "")
    return {**_drawing("timeline", columns), "options": names, "rows": rows, "cells": cells}


def _cell(typical: BucketRow, rows: list[BucketRow]) -> str:
    marks = {
        "b": typical.purpose == "bridge",
        "o": any(row.ordered for row in rows),
        "x": any(row.outlier is not None for row in rows),
    }
    return f"{typical.arm}{_STATES[typical.state]}" + "".join(
        mark for mark, is_so in marks.items() if is_so
    )


def totals_chart(status: Status, columns: Columns) -> dict[str, Any] | None:
    """What came in, a series per option: None before anything is known.

    A market model says from which option it came, and what came late from the option before is
    counted for that one. Otherwise it is what a visitor brought, under the option that was shown.
    """
    rates = status.model is None
    series = [[0.0] * len(columns) for _ in status.options]
    arms = {option.name: option.arm for option in status.options}
    for place, column in enumerate(columns):
        if rates:
            rate = _rate(column)
            series[_typical(column).arm][place] = 0.0 if rate is None else _figure(rate)
        for row in column:
            if not rates and row.state == "known" and row.used_total is not None:
                for name, share in (row.origins or {row.option: 1.0}).items():
                    series[arms[name]][place] += row.used_total * share
    if not any(any(each) for each in series):
        return None
    return {
        **_drawing("totals", columns),
        "options": list(arms),
        "series": [[_figure(value) for value in each] for each in series],
        "states": [_typical(column).state for column in columns],
        "revised": [any(row.revisions for row in column) for column in columns],
        "unit": f"{status.unit} per visitor" if rates else status.unit,
        "percent": rates and status.range == (0.0, 1.0),
        # Of the whole run, so that the axis is the same whatever part of it is shown.
        "high": max((_rate([row]) or 0.0 for row in status.timeline), default=0) if rates else 0,
    }


def options_chart(status: Status) -> dict[str, Any] | None:
    """Each option's mean with its interval, of a market model its uplift; None while unknown."""
    known = [row for row in status.options if row.mean is not None]
    options = []
    for row in known:
        mean, low, high = row.mean or 0.0, row.low, row.high
        words = [rate_text(each, status.range) for each in (mean, low, high)]
        if status.model is not None:
            mean, low, high = row.uplift or 0.0, row.uplift_low or 0.0, row.uplift_high or 0.0
            words = [signed(each, 1) for each in (mean, low, high)]
        said = [words[0], f"between {words[1]} and {words[2]}"]
        if status.model is not None and row.is_status_quo:
            said = ["what the others are compared with"]
        options.append(
            {
                "name": row.name,
                "arm": row.arm,
                "mean": mean,
                "low": low,
                "high": high,
                "words": said,
            }
        )
    against = f" against {status.status_quo}" if status.model is not None else " per visitor"
    drawing = {"kind": "options", "colours": N_COLOURS, "unit": status.unit + against}
    percent = status.model is not None or status.range == (0.0, 1.0)
    return {**drawing, "percent": percent, "options": options} if known else None


def pattern_charts(status: Status) -> list[dict[str, Any]]:
    """How much more or less arrives by weekday, and by hour where buckets are hours."""
    values = [] if status.model is None else [_figure(value) for value in status.model.pattern]
    charts = []
    for labels in (_HOURS, _WEEKDAYS) if len(values) > len(_WEEKDAYS) else (_WEEKDAYS,):
        part, values = values[: len(labels)], values[len(labels) :]
        if part:
            drawing = {"kind": "pattern", "labels": list(labels), "colours": N_COLOURS}
            charts.append({**drawing, "values": part})
    return charts


def purpose_of(row: BucketRow) -> str:
    """Why an option was shown, in some words."""
    if row.source in ("pinned", "paused"):
        return f"{row.source} by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]


def _drawing(kind: str, columns: Columns) -> dict[str, Any]:
    labels = []
    for column in columns:
        first, last = column[0].label, column[-1].label
        labels.append(first if first == last else f"{first} to {last}")
    return {"kind": kind, "colours": N_COLOURS, "labels": labels}


def _typical(rows: list[BucketRow]) -> BucketRow:
    """The row that stands for several: the newest of the option that was shown most."""
    most = Counter(row.arm for row in rows).most_common(1)[0][0]
    return next(row for row in reversed(rows) if row.arm == most)


def _rate(rows: list[BucketRow]) -> float | None:
    """What a visitor brought; None where nothing is known."""
    total, rounds = 0.0, 0
    for row in rows:
        found = row.used_total if row.state == "known" else row.total
        if found is not None and row.rounds:
            total, rounds = total + found, rounds + row.rounds
    return total / rounds if rounds else None


def _figure(value: float) -> float:
    return float(f"{value:.4g}")
