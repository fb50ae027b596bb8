"""The report of an entry as one HTML page: where it stands beside latesum's own policies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from latesum._render import new_table, sentences
from latesum._render import table as rendered

Card = Mapping[str, Any]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { body { background: #14171a; color: #e6e6e6; } }
"""
#: The picture's size, the space for texts, and the ratios at its edges.
_WIDTH, _HEIGHT, _LEFT, _BELOW = 640, 300, 50, 40
_RATIOS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200)


def page(found: Card, others: Sequence[Card]) -> str:
    """The page of an entry beside other cards.

    >>> "<title>mine" in page({"entry": "mine", "track": "mean", "suites": {}, "failures": []}, [])
    True
    """
    same = [each for each in others if each["attributed"] or each["track"] == found["track"]]
    cards = [found, *same]
    seeds = "development seeds: not comparable" if found.get("development") else "test seeds"
    parts = [
        f"<h1>{escape(found['entry'])}, track {escape(found['track'])}</h1>",
        sentences([f"Suites: {', '.join(found['suites'])}; {seeds}."]),
    ]
    if "score" in found["suites"].get("core-1", {}):
        parts += [_core(cards), _ecdf(cards), _cells(found)]
    if "random-1" in found["suites"]:
        parts.append(_random(cards))
    if found["failures"]:
        charged = "Charged with round robin's regret:"
        parts += ["<h2>Failures</h2>", sentences([charged, *found["failures"][:50]])]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(found["entry"])} '
        f"in the latesum benchmark</title><style>{_STYLE}</style>"
        f"<body>{''.join(parts)}</body></html>"
    )


def _table(title: str, columns: list[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    made = new_table(None, columns)
    for row in rows:
        made.add_row(*row)
    return f"<h2>{title}</h2>{sentences([note]) if note else ''}{rendered(made)}"


def _core(cards: Sequence[Card]) -> str:
    rows = []
    for each in sorted(cards, key=lambda card: card["suites"]["core-1"]["score"]["value"]):
        part, safe = each["suites"]["core-1"], each["suites"].get("random-1", {}).get("safe")
        ratio, low, high = (math.exp(part["score"][key]) for key in ("value", "low", "high"))
        stuck = f"{part['stuck']['seen']} of {part['stuck']['runs']:,}"
        is_safe = {None: "", True: "yes", False: "no"}[safe]
        if each["attributed"]:  # not looked at
            stuck = is_safe = ""
        limits = f"{low:.2f} to {high:.2f}"
        rows.append([_name(each, cards), f"{ratio:.2f}", limits, stuck, is_safe, each["index"]])
    note = (
        "Ratio: geometric mean over cells of regret divided by the regret with attributed "
        "feedback. Safe: at most 1 stuck run in 300 on random-1 (95% limit). * attributed "
        "feedback: not comparable, a lower reference."
    )
    columns = ["policy", "ratio", "95% interval", "stuck runs", "safe", "index"]
    return _table("core-1", columns, rows, note)


def _name(card: Card, cards: Sequence[Card]) -> str:
    name = f"{card['entry']} *" if card["attributed"] else card["entry"]
    return f"► {name}" if card is cards[0] else name


def _ecdf(cards: Sequence[Card]) -> str:
    """The share of cells with a ratio of at most r, as a picture."""

    def point(log_ratio: float, share: float) -> tuple[float, float]:
        lowest, highest = math.log(_RATIOS[0]), math.log(_RATIOS[-1])
        across = (min(max(log_ratio, lowest), highest) - lowest) / (highest - lowest)
        x = _LEFT + across * (_WIDTH - _LEFT - 10)
        return x, 10 + (1 - share) * (_HEIGHT - _BELOW - 10)

    def text(x: float, y: float, said: str, anchor: str = "middle") -> str:
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        return f'<text {place} fill="currentColor" font-size="12">{said}</text>'

    drawn = [text(point(math.log(r), 0)[0], _HEIGHT - 22, f"{r:g}") for r in _RATIOS]
    drawn += [text(_LEFT - 8, point(0, s)[1] + 4, f"{s:.0%}", "end") for s in (0, 0.5, 1)]
    drawn.append(text(_WIDTH / 2, _HEIGHT - 4, "regret / regret with attributed feedback"))
    for each in reversed(cards):
        ratios = sorted(row["log_ratio"] for row in each["cells"] if row["log_ratio"] is not None)
        steps = [point(r, (n + up) / len(ratios)) for n, r in enumerate(ratios) for up in (0, 1)]
        color, thick = ("#0072B2", 2.5) if each is cards[0] else ("#9aa0a6", 1)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in steps)
        drawn.append(
            f'<polyline fill="none" stroke="{color}" stroke-width="{thick}" points="{line}">'
            f"<title>{escape(each['entry'])}</title></polyline>"
        )
    label = "Share of the cells with at most this ratio: the entry in blue, others in gray."
    view = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}"'
    return f"<svg {view}>{''.join(drawn)}</svg>{sentences([label])}"


def _cells(found: Card) -> str:
    rows = [
        [
            row["problem"],
            f"{row['horizon']:,}",
            f"{row['mean']:,.1f} ± {row['standard_error']:,.1f}",
            f"{row['percentile_99']:,.0f}",
            "" if row["log_ratio"] is None else f"{math.exp(row['log_ratio']):.2f}",
            str(row["stuck"]),
        ]
        for row in found["cells"]
    ]
    columns = ["problem", "horizon", "regret", "99th percentile", "ratio", "stuck runs"]
    return _table("Cells", columns, rows)


def _random(cards: Sequence[Card]) -> str:
    rows = []
    for each in cards:
        if each["attributed"] or (part := each["suites"].get("random-1")) is None:
            continue
        stuck, wrong = part["stuck"], part["robustness"].items()
        factors = [
            f"x{by}: {math.exp(of['ratio']):.2f}, {of['stuck']['seen']} stuck" for by, of in wrong
        ]
        rows.append(
            [
                _name(each, cards),
                f"{math.exp(part['ratio']):.2f}",
                f"{stuck['seen']} of {stuck['runs']:,} (at most {stuck['high']:.2%})",
                "" if part["coverage"] is None else f"{part['coverage']:.1%}",
                "; ".join(factors),
                f"{each['microseconds_per_decision']:,.0f} µs",
            ]
        )
    columns = ["policy", "ratio", "stuck runs", "coverage of 95%", "mean wrong by", "CPU/decision"]
    return _table("random-1", columns, rows)
