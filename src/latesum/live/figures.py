"""The figures of the status page: small drawings in SVG that need nothing from outside.

Colours are CSS classes (`o0`, `o1`, ... for the options) so that they follow the page's theme.
"""

from __future__ import annotations

from html import escape

from latesum.live.status import BucketRow, Status
from latesum.live.terminal_page import interval_scale

_WIDTH = 900
_LEFT = 130
_RIGHT = 20
#: So many colours the page has; more options share them, and are told apart by their rows.
N_COLOURS = 8


def _svg(height: float, title: str, parts: list[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>" + "".join(parts) + "</svg>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", style: str = "") -> str:
    more = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _columns(rows: list[BucketRow]) -> tuple[float, list[int]]:
    """The width of a bucket's column, and which columns get a label."""
    wide = (_WIDTH - _LEFT - _RIGHT) / max(len(rows), 12)
    every = max(1, round(110 / wide))
    fits = [i for i in range(0, len(rows), every) if _LEFT + i * wide + 7 * 16 <= _WIDTH]
    return wide, fits


def _bucket_labels(rows: list[BucketRow], y: float) -> list[str]:
    wide, labelled = _columns(rows)
    return [_text(_LEFT + i * wide, y, rows[i].label[:16], style="small") for i in labelled]


def timeline_figure(status: Status) -> str:
    """Which option was shown when: a row for each option, a mark for each bucket."""
    rows, height = status.timeline, 26.0
    wide, _ = _columns(rows)
    parts = []
    for option in status.options:
        y = option.arm * height + 6
        name = option.name if len(option.name) <= 18 else option.name[:17] + "…"
        parts.append(_text(_LEFT - 10, y + 14, name, "end"))
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y + 9}" y2="{y + 9}"/>'
        )
    for index, row in enumerate(rows):
        x, y = _LEFT + index * wide, row.arm * height + 6
        what = f"{row.label}: {row.option}, {row.total_state}. {row.reason}"
        classes = f"o{row.arm % N_COLOURS} {row.state}"
        parts.append(
            f'<g><title>{escape(what)}</title><rect class="{classes}" x="{x:.1f}" y="{y}" '
            f'width="{max(wide - 1, 0.8):.1f}" height="18"/>'
        )
        if row.state == "missing":
            parts.append(_text(x + wide / 2, y + 13, "×", "middle"))
        elif row.purpose == "override" or row.decided != row.option:
            parts.append(f'<circle class="mark" cx="{x + wide / 2:.1f}" cy="{y + 9}" r="2.5"/>')
        parts.append("</g>")
    bottom = len(status.options) * height + 20
    parts += _bucket_labels(rows, bottom)
    return _svg(bottom + 8, "Which option was shown in which bucket", parts)


def totals_figure(status: Status) -> str:
    """What each bucket brought per round, as far as it is known."""
    rows = status.timeline
    rates = [rate_of(row) for row in rows]
    known = [rate for rate in rates if rate is not None]
    if not known:
        return ""
    low, high = min(*known, 0.0), max(*known, 0.0)
    height, wide = 170.0, _columns(rows)[0]

    def place(rate: float) -> float:
        return 10 + (high - rate) / ((high - low) or 1) * height

    parts = []
    for value in (low, (low + high) / 2, high):
        y = place(value)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(_LEFT - 10, y + 4, f"{value:.3g}", "end", "small"))
    for index, (row, rate) in enumerate(zip(rows, rates, strict=True)):
        x = _LEFT + index * wide
        if rate is None:
            sign = "×" if row.state == "missing" else "·"
            parts.append(_text(x + wide / 2, place(0) - 4, sign, "middle"))
            continue
        top, bottom = sorted((place(rate), place(0)))
        title = f"{row.label}: {row.option}, {rate:.4g} per round, {row.total_state}"
        title += f", revised {row.revisions} times" if row.revisions else ""
        parts.append(
            f'<g><title>{escape(title)}</title><rect class="o{row.arm % N_COLOURS} {row.state}" '
            f'x="{x:.1f}" y="{top:.1f}" width="{max(wide - 1, 0.8):.1f}" '
            f'height="{max(bottom - top, 1):.1f}"/>'
        )
        if row.revisions:
            parts.append(f'<circle class="mark" cx="{x + wide / 2:.1f}" cy="{top - 5:.1f}" r="2"/>')
        parts.append("</g>")
    parts += _bucket_labels(rows, height + 28)
    return _svg(height + 36, f"{status.unit} per round in each bucket", parts)


def rate_of(row: BucketRow) -> float | None:
    """What a bucket brought per round; None where nothing is known."""
    total = row.used_total if row.state == "known" else row.total
    return None if total is None or not row.rounds else total / row.rounds


def estimates_figure(status: Status) -> str:
    """What each option brings per round, with the interval that holds it."""
    if all(row.mean is None for row in status.options):
        return ""
    low, high = interval_scale(status.options)
    span = (high - low) or 1.0
    height = 30.0

    def place(value: float) -> float:
        return _LEFT + (value - low) / span * (_WIDTH - _LEFT - _RIGHT - 40)

    parts = []
    for row in status.options:
        y = row.arm * height + 18
        name = row.name if len(row.name) <= 18 else row.name[:17] + "…"
        parts.append(_text(_LEFT - 10, y + 4, name, "end"))
        if row.mean is None:
            parts.append(_text(_LEFT, y + 4, "nothing known yet", style="small"))
            continue
        colour = f"o{row.arm % N_COLOURS}"
        parts.append(
            f"<g><title>{escape(row.name)}: {row.mean:.4g}, between {row.low:.4g} and "
            f'{row.high:.4g}</title><line class="{colour} interval" x1="{place(row.low):.1f}" '
            f'x2="{place(row.high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="{colour}" cx="{place(row.mean):.1f}" cy="{y}" r="5"/></g>'
        )
        parts.append(_text(place(row.mean), y - 9, f"{row.mean:.4g}", "middle", "small"))
    bottom = len(status.options) * height + 24
    for index in range(5):
        value = low + span * index / 4
        parts.append(_text(place(value), bottom, f"{value:.3g}", "middle", "small"))
    return _svg(bottom + 8, f"{status.unit} per round of each option, with intervals", parts)
