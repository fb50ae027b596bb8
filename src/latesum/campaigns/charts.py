"""The charts of a campaign's page, drawn as SVG: no script, in the page's colors, fit for print.

A chart is two drawings side by side: names or values on the left, of a fixed width, and the plot,
whose positions across are percentages, so that it is as wide as the page. What a mouse rests on
says what it is; the tables of the page have the same figures.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import groupby

from markupsafe import Markup

from latesum._render import rate_text
from latesum.campaigns.view import BucketRow, Status

#: The colors that the page has; more options share them, and are told apart by their rows.
N_COLORS = 8
#: A longer run is shown in columns of several buckets, and with many regions there are fewer.
MAX_COLUMNS = 300
_MAX_CELLS = 9000
_MIN_COLUMNS = 60
#: Pixels: below a plot for its axis, of a chart of totals, and of a row of a chart of options.
_AXIS, _TOTALS, _OPTION = 24, 200, 34
_MAX_NAME = 17
#: What a bar of the timeline says of itself, and is drawn by.
_BRIDGE = "a bridge: shown, not judged"
_ORDERED = "ordered by a person, or shown otherwise than decided"
_OUTLIER = "far from what was expected, counted for less"
_LINE = Markup('<line x1="{}" y1="{}" x2="{}" y2="{}"></line>')
_BAR = Markup(
    '<rect class="{}" x="{:.4g}%" y="{:.4g}" width="{:.4g}%" height="{:.4g}">'
    "<title>{}</title></rect>"
)
_DOT = Markup('<circle class="{}" cx="{:.4g}%" cy="{:.4g}" r="{:g}">{}</circle>')
_TEXT = Markup('<text class="{}" x="{:.4g}%" y="{:.4g}">{}</text>')
_CHART = Markup(
    '<div class="chart" id="{0}-chart" role="img" aria-label="Chart: {1}">'
    '<svg class="names" height="{height}">{2}</svg>'
    '<svg class="plot" height="{height}">{3}</svg></div>'
)
Columns = list[list[BucketRow]]


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


def timeline_chart(status: Status, columns: Columns) -> Markup:
    """Which option was shown when: a row per region, or per option where there are no regions.

    Columns that look alike are one bar. A bridge is a low one: shown, and not learned from.
    """
    rows = list(status.regions) or [option.name for option in status.options]
    height = 18 if len(rows) > 30 else 30
    shapes = []
    for place, name in enumerate(rows):
        top = place * height + 3
        cells = [_cell(status, name, column) for column in columns]
        for cell, group in groupby(range(len(columns)), cells.__getitem__):
            run = list(group)
            if cell is None:
                continue
            kind, said = cell
            x, width = run[0] / len(columns), len(run) / len(columns)
            ends = (top + 0.6 * (height - 6) if _BRIDGE in said else top, top + height - 6)
            about = f"{_span(columns, run)}: {', '.join(said)}"
            shapes.append(
                _bar(x, width, ends, kind, f"{name}, {about}" if status.regions else about)
            )
            if _ORDERED in said:
                shapes.append(_text("▼", x + width / 2, top + 9, "mark"))
            if _OUTLIER in said:
                shapes.append(_dot(x + width / 2, top + height / 2 - 3, 3, "mark"))
    bottom = height * len(rows)
    about = "which option was shown in each bucket" + " and region" * bool(status.regions)
    return _chart(
        "timeline",
        f"{about}. The table below has the last ones.",
        bottom,
        _names(rows, height),
        [*shapes, *_bucket_axis(columns, bottom)],
    )


def _cell(status: Status, name: str, column: list[BucketRow]) -> tuple[str, tuple[str, ...]] | None:
    """How a column of a row looks, and what it says of itself; None where it is empty."""
    found = [row for row in column if not status.regions or row.region == name]
    typical = _typical(found) if found else None
    if typical is None or not (status.regions or typical.option == name):
        return None
    state = typical.state if typical.state in ("known", "missing") else "awaited"
    said = [typical.option, f"total {state}"]
    said += [_BRIDGE] * (typical.purpose == "bridge")
    said += [_ORDERED] * any(row.ordered for row in found)
    said += [_OUTLIER] * any(row.outlier is not None for row in found)
    return f"o{typical.arm % N_COLORS} {state}", tuple(said)


def totals_chart(status: Status, columns: Columns) -> Markup | None:
    """What came in, in layers by option: None before anything is known.

    A market model says from which option it came, and what came late from the option before is
    counted for that one. Otherwise it is in the color of the option that was shown.
    """
    series = totals_by_option(status, columns)
    if not any(any(each) for each in series):
        return None
    tops = [sum(max(value, 0.0) for value in each) for each in zip(*series, strict=True)]
    bottoms = [sum(min(value, 0.0) for value in each) for each in zip(*series, strict=True)]
    ticks = _ticks(min(bottoms), max(tops))

    def y(value: float) -> float:
        return _TOTALS * (1 - _share(value, ticks))

    shapes = [_LINE.format("0", f"{y(each):g}", "100%", f"{y(each):g}") for each in ticks]
    width = 1 / len(columns)
    for place, column in enumerate(columns):
        state, x = _typical(column).state, place * width
        revised = any(row.revisions for row in column)
        pale = "known" if state in ("known", "missing") else "awaited"
        up = down = 0.0
        for option, values in zip(status.options, series, strict=True):
            value = values[place]
            if not value:
                continue
            said = [f"{_span(columns, [place])}, {option.name}: {value:,.4g} {status.unit}"]
            said += ["not all of it is known yet"] * (state != "known") + ["revised"] * revised
            start = up if value > 0 else down
            up, down = (up + value, down) if value > 0 else (up, down + value)
            kind = f"o{option.arm % N_COLORS} {pale}"
            shapes.append(_bar(x, width, (y(start), y(start + value)), kind, ", ".join(said)))
        if revised:
            shapes.append(_dot(x + width / 2, y(up) - 6, 3, "mark"))
        if state == "missing":
            shapes.append(_text("×", x + width / 2, y(0.0) - 2, "mark"))
    about = f"{status.unit} in each bucket{' over all regions' * bool(status.regions)}, by option"
    return _chart(
        "totals",
        f"{about}. The table below has the last ones.",
        _TOTALS,
        [_text(f"{each:,.6g}", 1, y(each) + 4, "end") for each in ticks],
        [*shapes, *_bucket_axis(columns, _TOTALS)],
    )


def totals_by_option(status: Status, columns: Columns) -> list[list[float]]:
    """What each option brought in each column."""
    series = [[0.0] * len(columns) for _ in status.options]
    arms = {option.name: option.arm for option in status.options}
    for place, column in enumerate(columns):
        for row in column:
            total = row.used_total if row.state == "known" else row.total
            for name, share in (row.origins or {row.option: 1.0}).items():
                series[arms[name]][place] += (total or 0.0) * share
    return series


def options_chart(status: Status) -> Markup | None:
    """Each option's mean with its interval; None while nothing is known."""
    known = [row for row in status.options if row.mean is not None]
    if not known:
        return None
    ticks = _ticks(min(row.low for row in known), max(row.high for row in known))
    bottom = _OPTION * len(known)
    shapes = list[Markup]()
    for place, each in enumerate(ticks):  # in a narrow window every second one has its value
        at, share = _share(each, ticks), status.range == (0.0, 1.0)
        x, value = f"{100 * at:.4g}%", f"{100 * each:.6g}%" if share else f"{each:,.6g}"
        shapes.append(_LINE.format(x, "0", x, bottom))
        shapes.append(_text(value, at, bottom + 16, _anchor(at) + " wide" * (place % 2)))
    for place, row in enumerate(known):
        limits = row.mean or 0.0, row.low, row.high
        mean, low, high = (rate_text(each, status.range) for each in limits)
        said = f"{row.name}: {mean}, between {low} and {high}"
        middle, color = _OPTION * (place + 0.5), f"o{row.arm % N_COLORS}"
        at, start, end = (_share(each, ticks) for each in limits)
        ends = (middle - 4, middle + 4)
        shapes.append(_bar(start, end - start, ends, f"{color} interval", said))
        shapes.append(_dot(at, middle, 6, f"{color} mean", said))
    unit = f"{status.unit} per visitor"
    shapes.append(_text(unit, 0.5, bottom + 2 * _AXIS - 10, "middle"))
    return _chart(
        "estimates",
        f"what each option brings, {unit}, with its interval. The table above has these figures.",
        bottom + _AXIS,
        _names([row.name for row in known], _OPTION),
        shapes,
    )


def _typical(rows: list[BucketRow]) -> BucketRow:
    """The row that stands for several: the newest of the option that was shown most."""
    most = Counter(row.arm for row in rows).most_common(1)[0][0]
    return next(row for row in reversed(rows) if row.arm == most)


def _span(columns: Columns, run: list[int]) -> str:
    """The labels of some columns that follow each other."""
    first, last = columns[run[0]][0].label, columns[run[-1]][-1].label
    return first if first == last else f"{first} to {last}"


# Drawing. Positions across and widths are shares of the plot, all others are pixels.


def _ticks(low: float, high: float) -> list[float]:
    """Round values from below `low` to above `high`, in at most six steps.

    >>> _ticks(0.0, 0.047)
    [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 6))
    step = next(each * power for each in (1, 2, 5, 10) if each * power * 6 >= span)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, max(last, first + 1) + 1)]


def _share(value: float, ticks: list[float]) -> float:
    """Where a value stands between the first tick and the last."""
    return (value - ticks[0]) / (ticks[-1] - ticks[0])


def _bucket_axis(columns: Columns, height: float) -> Iterable[Markup]:
    """Some of the buckets below a plot; in a narrow window fewer."""
    labels = [column[0].label for column in columns]
    last, long = len(labels) - 1, any(len(each) > 10 for each in labels)
    parts = [0, 2, 4] if long else [0, 1, 2, 3, 4]
    for part in parts if last >= 4 else [0, 4][: last + 1]:
        place, wide = round(last * part / 4), part in (1, 3) or (part == 2 and long)
        at = (place + 0.5) / len(labels)
        yield _text(labels[place], at, height + 16, _anchor(at) + " wide" * wide)


def _anchor(at: float) -> str:
    return "start" if at < 0.06 else "end" if at > 0.94 else "middle"


def _names(names: Iterable[str], height: float) -> list[Markup]:
    """What stands on the left of a plot with a row for each name."""
    short = (each if len(each) <= _MAX_NAME else f"{each[: _MAX_NAME - 1]}…" for each in names)
    return [_text(each, 1, (row + 0.6) * height, "end") for row, each in enumerate(short)]


def _bar(x: float, width: float, ends: tuple[float, float], kind: str, about: str) -> Markup:
    """A bar between two heights, in the color of an option; `about` is what it says of itself."""
    top, bottom = sorted(ends)
    return _BAR.format(f"bar {kind}", 100 * x, top, 100 * width, max(bottom - top, 1), about)


def _dot(x: float, y: float, radius: float, kind: str, about: str = "") -> Markup:
    said = Markup("<title>{}</title>").format(about) if about else ""
    return _DOT.format(kind, 100 * x, y, radius, said)


def _text(text: str, x: float, y: float, kind: str) -> Markup:
    return _TEXT.format(kind, 100 * x, y, text)


def _chart(
    name: str, about: str, height: float, left: Iterable[Markup], shapes: Iterable[Markup]
) -> Markup:
    """A chart: what stands on the left, and the plot with its axis."""
    parts = Markup().join(left), Markup().join(shapes)
    return _CHART.format(name, about, *parts, height=f"{height + _AXIS:g}")
