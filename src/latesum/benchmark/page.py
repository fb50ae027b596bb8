"""The report of an entry as one HTML page: where it stands beside latesum's own policies."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

Card = Mapping[str, Any]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: 0.2rem 0.8rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
tr.own { font-weight: 600; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e6e6e6; } }
"""


def page(found: Card, others: Sequence[Card]) -> str:
    """The page of an entry beside other cards.

    >>> "<title>mine" in page({"entry": "mine", "track": "mean", "suites": {}, "failures": []}, [])
    True
    """
    beside = [each for each in others if each["track"] == found["track"]]
    parts = [f"<h1>{_text(found['entry'])}, track {_text(found['track'])}</h1>", _lead(found)]
    cards = [found, *beside]
    if "score" in found["suites"].get("core-1", {}):
        parts += [_scores(cards), _ecdf(cards), _cells(found)]
    if "random-1" in found["suites"]:
        parts.append(_random(cards))
    if found["failures"]:
        failures = "".join(f"<li>{_text(each)}</li>" for each in found["failures"][:50])
        parts.append(
            f"<h2>Failures</h2><p>Charged with round robin's regret.</p><ul>{failures}</ul>"
        )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_text(found["entry"])} '
        f"in the latesum benchmark</title><style>{_STYLE}</style>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _lead(found: Card) -> str:
    seeds = "development seeds: not comparable" if found.get("development") else "test seeds"
    return f"<p>Suites: {_text(', '.join(found['suites']))}; {seeds}.</p>"


def table(columns: Sequence[str], rows: Sequence[tuple[bool, Sequence[str]]]) -> str:
    """A table; rows with True are the entry's own."""
    head = "".join(f"<th>{_text(each)}</th>" for each in columns)
    body = ""
    for own, cells in rows:
        inside = "".join(f"<td>{_text(cell)}</td>" for cell in cells)
        body += f"<tr{' class=own' if own else ''}>{inside}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _scores(cards: Sequence[Card]) -> str:
    rows = []
    for each in sorted(cards, key=lambda card: card["suites"]["core-1"]["score"]["value"]):
        part = each["suites"]["core-1"]
        ratio = [math.exp(part["score"][key]) for key in ("value", "low", "high")]
        safe = each["suites"].get("random-1", {}).get("safe")
        rows.append(
            (
                each is cards[0],
                [
                    each["entry"],
                    f"{ratio[0]:.2f}",
                    f"{ratio[1]:.2f} to {ratio[2]:.2f}",
                    f"{part['stuck']['seen']} of {part['stuck']['runs']:,}",
                    "" if safe is None else "yes" if safe else "no",
                    each["index"],
                ],
            )
        )
    columns = ["policy", "ratio", "95% interval", "stuck runs", "safe", "index"]
    return (
        "<h2>core-1</h2><p>Ratio: geometric mean over cells of regret divided by the regret with "
        "attributed feedback. Safe: at most 1 stuck run in 300 on random-1 (95% limit).</p>"
        + table(columns, rows)
    )


def _ecdf(cards: Sequence[Card]) -> str:
    """The share of cells with a ratio of at most r, as a picture."""
    width, height, left, bottom = 640, 300, 50, 40
    lowest, highest = math.log(0.5), math.log(200)

    def point(ratio: float, share: float) -> str:
        across = (min(max(ratio, lowest), highest) - lowest) / (highest - lowest)
        x, y = left + across * (width - left - 10), 10 + (1 - share) * (height - bottom - 10)
        return f"{x:.1f},{y:.1f}"

    lines = []
    for each in reversed(cards):
        ratios = sorted(row["log_ratio"] for row in each["cells"] if row["log_ratio"] is not None)
        if ratios:
            steps = [point(lowest, 0)]
            for rank, ratio in enumerate(ratios):
                steps += [point(ratio, rank / len(ratios)), point(ratio, (rank + 1) / len(ratios))]
            own = each is cards[0]
            color, thick = ("#0072B2", 2.5) if own else ("#9aa0a6", 1)
            lines.append(
                f'<polyline fill="none" stroke="{color}" stroke-width="{thick}" '
                f'points="{" ".join(steps)}"><title>{_text(each["entry"])}</title></polyline>'
            )
    ticks = "".join(
        f'<text x="{point(math.log(each), 0).split(",")[0]}" y="{height - 22}" '
        f'text-anchor="middle" fill="currentColor" font-size="12">{each:g}</text>'
        for each in (0.5, 1, 2, 5, 10, 20, 50, 100, 200)
    ) + "".join(
        f'<text x="{left - 8}" y="{14 + (1 - share) * (height - bottom - 10):.0f}" '
        f'text-anchor="end" fill="currentColor" font-size="12">{share:.0%}</text>'
        for share in (0, 0.5, 1)
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="Share of cells by ratio">'
        f"{ticks}{''.join(lines)}"
        f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle" fill="currentColor" '
        f'font-size="12">regret divided by the regret with attributed feedback</text></svg>'
        "<p>Share of the cells with at most this ratio: the entry in blue, latesum's policies of "
        "the same track in gray.</p>"
    )


def _cells(found: Card) -> str:
    rows = [
        (
            False,
            [
                row["problem"],
                f"{row['horizon']:,}",
                f"{row['mean']:,.1f} ± {row['standard_error']:,.1f}",
                f"{row['percentile_99']:,.0f}",
                "" if row["log_ratio"] is None else f"{math.exp(row['log_ratio']):.2f}",
                str(row["stuck"]),
            ],
        )
        for row in found["cells"]
    ]
    columns = ["problem", "horizon", "regret", "99th percentile", "ratio", "stuck runs"]
    return "<h2>Cells</h2>" + table(columns, rows)


def _random(cards: Sequence[Card]) -> str:
    rows = []
    for each in cards:
        part = each["suites"].get("random-1")
        if part is None:
            continue
        wrong = part["robustness"]
        rows.append(
            (
                each is cards[0],
                [
                    each["entry"],
                    f"{math.exp(part['ratio']):.2f}",
                    f"{part['stuck']['seen']} of {part['stuck']['runs']:,} "
                    f"(at most {part['stuck']['high']:.2%})",
                    "" if part["coverage"] is None else f"{part['coverage']:.1%}",
                    ", ".join(
                        f"x{factor}: {math.exp(of['ratio']):.2f}, {of['stuck']['seen']} stuck"
                        for factor, of in wrong.items()
                    ),
                    f"{each['microseconds_per_decision']:,.0f} µs",
                ],
            )
        )
    columns = ["policy", "ratio", "stuck runs", "coverage of 95%", "mean wrong by", "CPU/decision"]
    return "<h2>random-1</h2>" + table(columns, rows)
