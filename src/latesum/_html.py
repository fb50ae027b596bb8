"""What a notebook shows of an object: its text, tables and small drawings, as HTML.

Colours are those of the text around, so that light and dark notebooks can be read alike. No library is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from latesum._terminal import TextTable

_CELL = "padding: .15em .7em; text-align: {side}; white-space: nowrap"
#: The size of a drawing, in its own units, and of the space for texts above and below it.
_WIDTH, _HEIGHT, _ABOVE, _BELOW = 320, 96, 16, 18


def heading(text: str) -> str:
    """What the object is, as one would type it.

    >>> heading("Flow(2)")
    '<p style="margin: .3em 0"><code>Flow(2)</code></p>'
    """
    return f'<p style="margin: .3em 0"><code>{escape(text)}</code></p>'


def sentences(lines: Iterable[str]) -> str:
    """A line for each sentence.

    >>> sentences(["A leads.", "B < A."])
    '<p style="margin: .3em 0">A leads.<br>B &lt; A.</p>'
    """
    return f'<p style="margin: .3em 0">{"<br>".join(map(escape, lines))}</p>'


def table(made: TextTable) -> str:
    """A table with its title above and its caption below.

    >>> from latesum._terminal import new_table
    >>> print(table(new_table("Regret", ["policy", "mean"]))[:60])
    <div><p style="margin: .3em 0">Regret</p><table style="width
    """
    above = "" if made.title is None else sentences(made.title.splitlines())
    below = "" if made.caption is None else sentences(made.caption.splitlines())
    sides = [column.justify for column in made.columns]
    head = _row("th", [column.heading for column in made.columns], sides)
    body = "".join(_row("td", row, sides) for row in made.rows)
    return (
        f'<div>{above}<table style="width: auto; border-collapse: collapse; '
        f'font-variant-numeric: tabular-nums"><thead>{head}</thead><tbody>{body}</tbody></table>'
        f"{below}</div>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A table of two columns: what, and how much.

    >>> "<td" in facts([("mean", "50")])
    True
    """
    body = "".join(_row("td", pair, ("left", "left")) for pair in pairs)
    return f'<table style="width: auto; border-collapse: collapse"><tbody>{body}</tbody></table>'


def curve(
    x: Sequence[float], y: Sequence[float], *, label: str, ends: tuple[str, str], top: str
) -> str:
    """A line through points, with what stands at both ends of the horizontal axis and at its top.

    Args:
        x: Ascending.
        y: Not negative.
        label: What is drawn, for those who do not see it.
        ends: The texts at the left and at the right end.
        top: The text at the height of the largest `y`.

    >>> curve([0, 1], [0, 2], label="regret", ends=("0", "1"), top="2").startswith("<svg")
    True
    """
    span, highest = (x[-1] - x[0]) or 1, max(y) or 1
    points = " ".join(
        f"{(each - x[0]) / span * _WIDTH:.1f},{(1 - height / highest) * _HEIGHT:.1f}"
        for each, height in zip(x, y, strict=True)
    )
    return _drawing(
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2"/>'
        f'<text x="{_WIDTH}" y="-5" text-anchor="end">{escape(top)}</text>',
        label, ends,
    )  # fmt: skip


def strip(
    pieces: Iterable[tuple[float, float, int, bool]],
    n_rows: int,
    *,
    label: str,
    ends: tuple[str, str],
) -> str:
    """Which arm was played when: a row for each arm, a box for each time it was played.

    Args:
        pieces: Beginning, end, row and whether the box is filled, the first two between 0 and 1.
        n_rows: The number of arms.
        label: What is drawn, for those who do not see it.
        ends: The texts at the left and at the right end.

    >>> strip([(0, 1, 0, True)], 2, label="arms", ends=("0", "9")).count("<rect")
    1
    """
    height = _HEIGHT / max(n_rows, 1)
    boxes = "".join(
        f'<rect x="{start * _WIDTH:.2f}" y="{row * height + 1:.1f}" height="{height - 2:.1f}" '
        f'width="{max((end - start) * _WIDTH, 0.5):.2f}" fill="#0072B2" '
        f'opacity="{1 if filled else 0.45}"/>'
        for start, end, row, filled in pieces
    )
    return _drawing(boxes, label, ends)


def _drawing(inner: str, label: str, ends: tuple[str, str]) -> str:
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}" '
        f'height="{_ABOVE + _HEIGHT + _BELOW}" viewBox="0 {-_ABOVE} {_WIDTH} {_ABOVE + _HEIGHT + _BELOW}" '
        f'font-size="11" fill="currentColor" style="margin-right: 2em">'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}" stroke="currentColor" opacity=".4"/>'
        f'{inner}<text x="0" y="{_HEIGHT + 13}">{escape(ends[0])}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 13}" text-anchor="end">{escape(ends[1])}</text></svg>'
    )


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    made = (
        f'<{tag} style="{_CELL.format(side=side)}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"
