"""The status of a campaign in HTML: a part of the service's page, and a file of its own.

What its charts show are plain values, which `static/charts.js` draws.
"""

from __future__ import annotations

from collections import Counter
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from latesum import _extras, _render
from latesum._render import counted, rate_text, signed
from latesum.campaigns.buckets import span_text
from latesum.campaigns.knowledge import OptionView
from latesum.campaigns.terminal_page import gain_sentence
from latesum.campaigns.view import BucketRow, Status
from latesum.policies.base import Purpose

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Buckets in the table; the charts have all.
_LAST_BUCKETS = 40
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


def chart_library() -> Traversable:
    """The file of Chart.js. The package chartkick brings it; nothing else of it is used."""
    _extras.require("chartkick", "campaigns")
    return resources.files("chartkick") / "django" / "static" / "chartkick" / "Chart.bundle.js"


def chart_library_version() -> str:
    """What changes when the library does."""
    return metadata.version("chartkick")


def status_html(status: Status) -> str:
    """The whole page as one file, with its style and the scripts that draw its charts."""
    from markupsafe import Markup

    return _render.render(
        "campaigns/templates/file.html",
        status=status,
        style=Markup(_render.read("campaigns/static/page.css")),
        content=Markup(status_section(status)),
        library=Markup(chart_library().read_text(encoding="utf-8")),
        script=Markup(_render.read("campaigns/static/charts.js")),
    )


def status_section(
    status: Status,
    *,
    last: int | None = None,
    decision: tuple[str, str] | None = None,
    name: str | None = None,
    undecided: str | None = None,
) -> str:
    """The part of a page that says all about a campaign, without a head and scripts.

    Args:
        status: What is shown.
        last: How many of the last buckets the charts show; all without.
        decision: When it will be decided: a `figure`, and the `words` for it.
        name: The campaign's name on a page that can show other parts of the timeline.
        undecided: The present bucket, where it can be asked for on the page and no one has.
    """
    columns = columns_of(status, last)
    rows = sorted(status.timeline, key=lambda row: -row.bucket)
    states = {status.state, *(each.state for each in status.regions.values())}
    shorter: list[int | None] = [each for each in (30, 90, 365) if each < status.n_buckets]
    return _render.render(
        "campaigns/templates/status.html",
        status=status,
        n_colours=N_COLOURS,
        lag=_lag(status),
        revised=sum(row.revisions > 0 for row in status.timeline),
        gain=None if status.gain is None else gain_sentence(status),
        timeline=timeline_chart(status, columns),
        totals=totals_chart(status, columns) if columns else None,
        estimates=options_chart(status),
        patterns=pattern_charts(status),
        rows=rows[:_LAST_BUCKETS],
        outliers=[row for row in rows if row.outlier is not None][:8],
        offered=[_offered(row, status) for row in status.options],
        states=sorted(each.replace(" ", "-") for each in states),
        rate_text=rate_text,
        signed=signed,
        decision=decision,
        span_text=span_text,
        purpose_of=_purpose_of,
        spans=[*shorter, None] if name is not None and shorter else [],
        span=last,
        name=name,
        undecided=undecided,
    )


def _offered(row: OptionView, status: Status) -> list[Any]:
    """An option for a dialog: its name, whether it was removed everywhere, and in which regions."""
    removed = [region for region, each in status.regions.items() if row.name in each.removed]
    return [row.name, row.status == "removed", removed]


def _lag(status: Status) -> str:
    """How far what is known is behind what is shown; of regions, in the slowest."""
    waiting = Counter[str]()
    ended = set[str]()
    for row in reversed(status.timeline):
        if row.state in ("known", "missing"):
            ended.add(row.region)
        elif row.state == "pending" and row.region not in ended:
            waiting[row.region] += 1
    unit = "bucket" if status.every == "number" else status.every
    return counted(max(waiting.values(), default=0), unit)


def _purpose_of(row: BucketRow) -> str:
    """Why an option was shown, in some words."""
    if row.source in ("pinned", "paused"):
        return f"{row.source} by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]


# Charts.


def columns_of(status: Status, last: int | None = None) -> Columns:
    """The rows of the last buckets, or of all, in as many columns as the regions leave room for."""
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

    def cell(name: str, column: list[BucketRow]) -> str:
        found = [row for row in column if not status.regions or row.region == name]
        typical = _typical(found) if found else None
        if typical is None or not (status.regions or typical.option == name):
            return ""
        marks = "b" * (typical.purpose == "bridge") + "o" * any(row.ordered for row in found)
        marks += "x" * any(row.outlier is not None for row in found)
        return f"{typical.arm}{_STATES[typical.state]}{marks}"

    cells = [[cell(name, column) for column in columns] for name in rows]
    return {**_drawing("timeline", columns), "options": names, "rows": rows, "cells": cells}


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
            series[_typical(column).arm][place] = _rate(column)
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
        "high": max((_rate([row]) for row in status.timeline), default=0) if rates else 0,
    }


def options_chart(status: Status) -> dict[str, Any] | None:
    """Each option's mean with its interval, of a market model its uplift; None while unknown."""
    options = []
    for row in status.options:
        if row.mean is None:
            continue
        mean, low, high = row.mean, row.low, row.high
        words = [rate_text(each, status.range) for each in (mean, low, high)]
        if status.model is not None:
            mean, low, high = row.uplift or 0.0, row.uplift_low or 0.0, row.uplift_high or 0.0
            words = [signed(each, 1) for each in (mean, low, high)]
        said = [words[0], f"between {words[1]} and {words[2]}"]
        if status.model is not None and row.is_status_quo:
            said = ["what the others are compared with"]
        limits = {"mean": mean, "low": low, "high": high}
        options.append({"name": row.name, "arm": row.arm, **limits, "words": said})
    against = f" against {status.status_quo}" if status.model is not None else " per visitor"
    drawing = {"kind": "options", "colours": N_COLOURS, "unit": status.unit + against}
    percent = status.model is not None or status.range == (0.0, 1.0)
    return {**drawing, "percent": percent, "options": options} if options else None


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


def _drawing(kind: str, columns: Columns) -> dict[str, Any]:
    ends = [(column[0].label, column[-1].label) for column in columns]
    labels = [first if first == last else f"{first} to {last}" for first, last in ends]
    return {"kind": kind, "colours": N_COLOURS, "labels": labels}


def _typical(rows: list[BucketRow]) -> BucketRow:
    """The row that stands for several: the newest of the option that was shown most."""
    most = Counter(row.arm for row in rows).most_common(1)[0][0]
    return next(row for row in reversed(rows) if row.arm == most)


def _rate(rows: list[BucketRow]) -> float:
    """What a visitor brought; 0 where nothing is known."""
    total, rounds = 0.0, 0
    for row in rows:
        found = row.used_total if row.state == "known" else row.total
        if found is not None and row.rounds:
            total, rounds = total + found, rounds + row.rounds
    return total / rounds if rounds else 0.0


def _figure(value: float) -> float:
    return float(f"{value:.4g}")
