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

from latesum._render import rate_text, signed
from latesum.campaigns.view import BucketRow, Status

#: The colors that the page has; more options share them, and are told apart by their rows.
N_COLORS = 8
#: A longer run is shown in columns of several buckets, and with many regions there are fewer.
MAX_COLUMNS = 300
_MAX_CELLS = 9000
_MIN_COLUMNS = 60
#: Pixels: below a plot for its axis, and of a chart of totals and of weekdays.
_AXIS, _TOTALS, _PATTERN = 24, 200, 130
_MAX_NAME = 17
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS = tuple(f"{hour}:00" for hour in range(24))
_AWAITED = "not all of it is known yet"
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
            arm, option, state, bridge, ordered, outlier = cell
            said = [f"{_span(columns, run)}: {option}", f"total {state}"]
            said += ["a bridge: shown, not judged"] * bridge
            said += ["ordered by a person, or shown otherwise than decided"] * ordered
            said += ["far from what was expected, counted for less"] * outlier
            x, width = run[0] / len(columns), len(run) / len(columns)
            ends = (top + 0.6 * (height - 6) if bridge else top, top + height - 6)
            about = ", ".join([name, *said] if status.regions else said)
            shapes.append(_bar(x, width, ends, f"o{arm % N_COLORS} {state}", about))
            if ordered:
                shapes.append(_text("▼", x + width / 2, top + 9, "mark"))
            if outlier:
                shapes.append(_dot(x + width / 2, top + height / 2 - 3, 3, "mark"))
    bottom = height * len(rows)
    about = "which option was shown in each " + (
        "bucket and region" if status.regions else "bucket"
    )
    return _chart(
        "timeline",
        f"{about}. The table below has the last ones.",
        bottom,
        _names(rows, height),
        [*shapes, *_bucket_axis(columns, bottom)],
    )


def _cell(
    status: Status, name: str, column: list[BucketRow]
) -> tuple[int, str, str, bool, bool, bool] | None:
    """What a column of a row shows: arm, option, state of the total, bridge, ordered, outlier."""
    found = [row for row in column if not status.regions or row.region == name]
    typical = _typical(found) if found else None
    if typical is None or not (status.regions or typical.option == name):
        return None
    state = typical.state if typical.state in ("known", "missing") else "awaited"
    ordered = any(row.ordered for row in found)
    outlier = any(row.outlier is not None for row in found)
    return typical.arm, typical.option, state, typical.purpose == "bridge", ordered, outlier


def totals_chart(status: Status, columns: Columns) -> Markup | None:
    """What came in, in layers by option: None before anything is known.

    A market model says from which option it came, and what came late from the option before is
    counted for that one. Otherwise it is what a visitor brought, under the option that was shown.
    """
    series = totals_by_option(status, columns)
    if not any(any(each) for each in series):
        return None
    rates = status.model is None
    unit = f"{status.unit} per visitor" if rates else status.unit
    tops = [sum(max(each[place], 0.0) for each in series) for place in range(len(columns))]
    bottoms = [sum(min(each[place], 0.0) for each in series) for place in range(len(columns))]
    # Of the whole run, so that the axis is the same whatever part of it is shown.
    whole = [_rate([row]) for row in status.timeline] if rates else []
    ticks = _ticks(min(0.0, *bottoms), max(*tops, *whole, 0.0))
    shapes, names = _levels(ticks, _TOTALS, rates and status.range == (0.0, 1.0))

    def y(value: float) -> float:
        return _TOTALS * (1 - _share(value, ticks))

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
            shown = rate_text(value, status.range) if rates else f"{value:,.4g}"
            said = [f"{_span(columns, [place])}, {option.name}: {shown} {unit}"]
            said += [_AWAITED] * (state != "known") + ["revised"] * revised
            start = up if value > 0 else down
            up, down = (up + value, down) if value > 0 else (up, down + value)
            kind = f"o{option.arm % N_COLORS} {pale}"
            shapes.append(_bar(x, width, (y(start), y(start + value)), kind, ", ".join(said)))
        if revised:
            shapes.append(_dot(x + width / 2, y(up) - 6, 3, "mark"))
        if state == "missing":
            shapes.append(_text("×", x + width / 2, y(0.0) - 2, "mark"))
    about = f"{unit} in each bucket{' over all regions' * bool(status.regions)}, by option"
    return _chart(
        "totals",
        f"{about}. The table below has the last ones.",
        _TOTALS,
        names,
        [*shapes, *_bucket_axis(columns, _TOTALS)],
    )


def totals_by_option(status: Status, columns: Columns) -> list[list[float]]:
    """What each option brought in each column, in total or (without a model) per visitor."""
    series = [[0.0] * len(columns) for _ in status.options]
    arms = {option.name: option.arm for option in status.options}
    for place, column in enumerate(columns):
        if status.model is None:
            series[_typical(column).arm][place] = _rate(column)
            continue
        for row in column:
            if row.state == "known" and row.used_total is not None:
                for name, share in (row.origins or {row.option: 1.0}).items():
                    series[arms[name]][place] += row.used_total * share
    return series


def options_chart(status: Status) -> Markup | None:
    """Each option's mean with its interval, of a market model its uplift; None while unknown."""
    known = [row for row in status.options if row.mean is not None]
    if not known:
        return None
    by_model = status.model is not None
    limits = [
        (row.uplift or 0.0, row.uplift_low or 0.0, row.uplift_high or 0.0)
        if by_model
        else (row.mean or 0.0, row.low, row.high)
        for row in known
    ]
    ticks = _ticks(min(low for _, low, _ in limits), max(high for _, _, high in limits))
    percent = by_model or status.range == (0.0, 1.0)
    bottom = 34 * len(known)
    shapes = [*_grid(ticks, bottom, percent)]
    for place, (row, (mean, low, high)) in enumerate(zip(known, limits, strict=True)):
        words = [
            signed(each, 1) if by_model else rate_text(each, status.range)
            for each in (mean, low, high)
        ]
        said = f"{row.name}: {words[0]}, between {words[1]} and {words[2]}"
        if by_model and row.is_status_quo:
            said = f"{row.name}: what the others are compared with"
        middle, color = 34 * place + 17, f"o{row.arm % N_COLORS}"
        start, at, end = (_share(each, ticks) for each in (low, mean, high))
        ends = (middle - 4, middle + 4)
        shapes.append(_bar(start, end - start, ends, f"{color} interval", said))
        shapes.append(_dot(at, middle, 6, f"{color} mean", said))
    unit = f"{status.unit} {f'against {status.status_quo}' if by_model else 'per visitor'}"
    shapes.append(_text(unit, 0.5, bottom + 2 * _AXIS - 10, "middle"))
    about = f"what each option brings, {unit}, with its interval"
    return _chart(
        "estimates",
        f"{about}. The table above has the same figures.",
        bottom + _AXIS,
        _names([row.name for row in known], 34),
        shapes,
    )


def pattern_charts(status: Status) -> list[Markup]:
    """How much more or less arrives by weekday, and by hour where buckets are hours."""
    values = [] if status.model is None else list(status.model.pattern)
    charts = []
    for labels in (_HOURS, _WEEKDAYS) if len(values) > len(_WEEKDAYS) else (_WEEKDAYS,):
        part, values = values[: len(labels)], values[len(labels) :]
        if not part:
            continue
        ticks = _ticks(min(0.0, *part), max(0.0, *part), 4)
        shapes, names = _levels(ticks, _PATTERN, True)
        said = [f"{label} {signed(value)}" for label, value in zip(labels, part, strict=True)]
        for place, value in enumerate(part):
            base, top = (_PATTERN * (1 - _share(each, ticks)) for each in (0.0, value))
            x, width = (place + 0.06) / len(part), 0.88 / len(part)
            shapes.append(_bar(x, width, (base, top), "neutral", said[place]))
            if len(part) <= len(_WEEKDAYS) or place % 6 == 0:
                shapes.append(_text(labels[place], x + width / 2, _PATTERN + 16, "middle"))
        about = f"by how much more or less arrives: {', '.join(said)}."
        charts.append(_chart(f"pattern-{len(part)}", about, _PATTERN, names, shapes))
    return charts


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


def _span(columns: Columns, run: list[int]) -> str:
    """The labels of some columns that follow each other."""
    first, last = columns[run[0]][0].label, columns[run[-1]][-1].label
    return first if first == last else f"{first} to {last}"


# Drawing. Positions across and widths are shares of the plot, all others are pixels.


def _ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round values from below `low` to above `high`.

    >>> _ticks(0.0, 0.047, 5)
    [0.0, 0.01, 0.02, 0.03, 0.04, 0.05]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(each * power for each in (1, 2, 5, 10) if each * power * most >= span)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [float(f"{number * step:.10g}") for number in range(first, max(last, first + 1) + 1)]


def _share(value: float, ticks: list[float]) -> float:
    """Where a value stands between the first tick and the last."""
    return (value - ticks[0]) / (ticks[-1] - ticks[0])


def _levels(ticks: list[float], height: float, percent: bool) -> tuple[list[Markup], list[Markup]]:
    """Lines across a plot, and the values that stand on its left."""
    places = [height * (1 - _share(each, ticks)) for each in ticks]
    texts = [_tick_text(each, percent) for each in ticks]
    return [_LINE.format("0", f"{y:g}", "100%", f"{y:g}") for y in places], [
        _text(text, 1, y + 4, "end") for text, y in zip(texts, places, strict=True)
    ]


def _grid(ticks: list[float], height: float, percent: bool) -> Iterable[Markup]:
    """Lines down a plot, with their values below; in a narrow window every second one."""
    for place, each in enumerate(ticks):
        at = _share(each, ticks)
        x = f"{100 * at:.4g}%"
        yield _LINE.format(x, "0", x, f"{height:g}")
        yield _text(_tick_text(each, percent), at, height + 16, _anchor(at) + " wide" * (place % 2))


def _bucket_axis(columns: Columns, height: float) -> Iterable[Markup]:
    """Some of the buckets below a plot; in a narrow window fewer."""
    labels = [column[0].label for column in columns]
    last = len(labels) - 1
    for part in range(5) if last >= 4 else [0, 4][: last + 1]:
        label = labels[place := round(last * part / 4)]
        wide = part in (1, 3) or (part == 2 and len(label) > 10)
        at = (place + 0.5) / len(labels)
        yield _text(label, at, height + 16, _anchor(at) + " wide" * wide)


def _anchor(at: float) -> str:
    return "start" if at < 0.06 else "end" if at > 0.94 else "middle"


def _tick_text(value: float, percent: bool) -> str:
    return f"{100 * value:.6g}%" if percent else f"{value:,.6g}"


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
