"""The figures of a plan's report, as SVG made here: a report needs no other library or file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from latesum.lab.stats import Uncertain
from latesum.planning.answers import Forecast
from latesum.planning.words import as_time

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")
_WIDTH, _HEIGHT = 640, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 124, 14, 40


def share_over_time(answers: Sequence[Forecast], recommended: Forecast, hours: float) -> str:
    """The share of runs that are on a good option, over `hours`, for every policy."""
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    parts = [f'<rect x="{_LEFT}" y="{_TOP}" width="{width}" height="{height}" class="frame"/>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = _TOP + height * (1 - share)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="end">{share:.0%}</text>'
        )
    for part in (0, 0.25, 0.5, 0.75, 1):
        x = _LEFT + width * part
        label = "0" if part == 0 else as_time(hours * part)
        parts.append(f'<text x="{x:.1f}" y="{_TOP + height + 18}" class="middle">{label}</text>')
    labels = []
    for index, answer in enumerate(answers):
        points = len(answer.on_good)
        path = " ".join(
            f"{_LEFT + width * i / max(points - 1, 1):.1f},{_TOP + height * (1 - share):.1f}"
            for i, share in enumerate(answer.on_good)
        )
        colour, dash = _COLOURS[index % len(_COLOURS)], _DASHES[index % len(_DASHES)]
        bold = 3 if answer is recommended else 1.5
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{bold}" '
            f'stroke-dasharray="{dash}"/>'
        )
        labels.append((_TOP + height * (1 - answer.on_good[-1]), colour, answer.candidate.label))
    last = -20.0
    for wanted, colour, label in sorted(labels):
        y = max(wanted, last + 15)
        last = y
        parts.append(
            f'<text x="{_LEFT + width + 6}" y="{y + 4:.1f}" fill="{colour}">{escape(label)}</text>'
        )
    parts.append(f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 4}" class="middle">time</text>')
    return _svg("Share of runs on the best option, or one within the lift, over time", parts)


def bars(title: str, rows: Sequence[tuple[str, Uncertain, bool]], threshold: float) -> str:
    """Shares with their limits beside a threshold; each row is a label, a share and whether it counts."""
    left, right, row_height = 190, 40, 24
    width = _WIDTH - left - right
    height = row_height * len(rows)
    parts = []
    for number, (label, share, strong) in enumerate(rows):
        y = 6 + number * row_height
        middle = y + row_height / 2 - 2
        opacity = 1 if strong else 0.45
        parts.append(
            f'<text x="{left - 8}" y="{middle + 4:.1f}" class="end">{escape(label)}</text>'
            f'<rect x="{left}" y="{y}" width="{width * share.value:.1f}" height="{row_height - 6}" '
            f'fill="#0072B2" fill-opacity="{opacity}"/>'
            f'<line x1="{left + width * share.low:.1f}" x2="{left + width * share.high:.1f}" '
            f'y1="{middle:.1f}" y2="{middle:.1f}" stroke="#222" stroke-width="2"/>'
            f'<text x="{left + width + 4}" y="{middle + 4:.1f}">{share.value:.0%}</text>'
        )
    x = left + width * threshold
    parts.append(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{height + 4}" stroke="#D55E00" '
        f'stroke-width="1.5" stroke-dasharray="5 3"/>'
        f'<text x="{x:.1f}" y="{height + 18}" class="middle" fill="#D55E00">wanted: {threshold:.0%}</text>'
    )
    return _svg(title, parts, height + 24)


def _svg(title: str, parts: list[str], height: float = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
