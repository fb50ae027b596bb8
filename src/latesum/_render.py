"""Rendering: tables as text and HTML, drawings for notebooks, pages from templates, JSON values.

A table is described once. `str(table)` writes it in plain text and needs no library; a terminal
prints the same with bold headings and fits it to its width, which Rich does; a notebook shows it as
HTML, in the colors of the text around it.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from latesum._extras import require

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: The width of tables in files and pipes; a terminal has its own.
WIDTH = 110
_CELL = "padding: .15em .7em; text-align: {side}; white-space: nowrap"
#: The size of a drawing, in its own units, and of the space for texts above and below it.
_WIDTH, _HEIGHT, _ABOVE, _BELOW = 320, 96, 16, 18


def counted(number: int | str, noun: str) -> str:
    """A number of things; a rounded number comes as the text that is shown.

    >>> counted(1, "day"), counted(3_000, "round"), counted("1", "day"), counted("1.5", "day")
    ('1 day', '3,000 rounds', '1 day', '1.5 days')
    """
    shown = number if isinstance(number, str) else f"{number:,}"
    return f"{shown} {noun}" + ("" if shown == "1" else "s")


def percent(value: float, digits: int = 3) -> str:
    """A share as percent, with as many digits as matter.

    >>> percent(0.02533), percent(0.5), percent(-0.1234, 2)
    ('2.53%', '50%', '-12%')
    """
    return f"{100 * value:.{digits}g}%" if abs(value) < 1 else f"{100 * value:,.0f}%"


def rate_text(value: float, range: tuple[float, float]) -> str:
    """What a visitor brings: a share as percent, an amount as it is.

    >>> rate_text(0.02533, (0.0, 1.0)), rate_text(12.345, (0.0, 40.0))
    ('2.53%', '12.35')
    """
    return percent(value) if range == (0.0, 1.0) else f"{value:,.4g}"


def signed(value: float, digits: int = 0) -> str:
    """A relative difference as percent, with its sign unless it is 0.

    >>> signed(0.116, 1), signed(-0.004), signed(0.24)
    ('+11.6%', '0%', '+24%')
    """
    shown = f"{100 * value:+.{digits}f}"
    return f"{shown}%" if float(shown) else "0%"


def terminal() -> Console:
    """Where commands print."""
    console: Console = require("rich.console", "cli").Console()
    return console if console.is_terminal else type(console)(width=WIDTH)


@dataclass
class TextTable:
    """A table of texts with a title above and a caption below.

    >>> table = new_table("Regret", ["policy", "mean"])
    >>> table.add_row("flow", "1,076.0")
    >>> print(table)
    Regret
    <BLANKLINE>
     policy     mean
     ────────────────
     flow    1,076.0
    """

    title: str | None
    columns: list[str]
    #: The headings of text: on the left, and a terminal may wrap it. The others are of numbers.
    texts: Collection[str]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    caption: str | None = None

    def add_row(self, *cells: str) -> None:
        """Add a row, with a text for each column."""
        self.rows.append(cells)

    def within(self, width: int, spare: list[str]) -> TextTable:
        """The same without as many of the `spare` columns, first ones first, as are too wide."""
        kept, left_out = list(range(len(self.columns))), []
        for heading in spare:
            if sum(self._widths[index] + 2 for index in kept) <= width:
                break
            kept = [index for index in kept if self.columns[index] != heading]
            left_out.append(heading)
        if not left_out:
            return self
        note = f"No room for: {', '.join(left_out)}."
        columns = [self.columns[index] for index in kept]
        rows = [tuple(row[index] for index in kept) for row in self.rows]
        caption = note if self.caption is None else f"{self.caption}\n{note}"
        return replace(self, columns=columns, rows=rows, caption=caption)

    @property
    def _widths(self) -> list[int]:
        grid = [tuple(self.columns), *self.rows]
        return [max(_cells(row[index]) for row in grid) for index in range(len(self.columns))]

    def __str__(self) -> str:
        widths = self._widths
        inner = sum(widths) + 2 * len(widths) - 1

        def wrapped(text: str) -> list[str]:
            lines = text.splitlines()
            return [part for line in lines for part in textwrap.wrap(line, inner + 2) or [""]]

        def line(row: Sequence[str]) -> str:
            parts = []
            for cell, column, width in zip(row, self.columns, widths, strict=True):
                space = " " * (width - _cells(cell))
                parts.append(cell + space if column in self.texts else space + cell)
            return " " + "  ".join(parts)

        lines = [] if self.title is None else [*wrapped(self.title), ""]
        lines += [line(self.columns), " " + "─" * inner]
        lines += map(line, self.rows)
        lines += [] if self.caption is None else ["", *wrapped(self.caption)]
        return "\n".join(each.rstrip() for each in lines)

    def __rich__(self) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        # As Text, so that Rich takes no bracket in a name for a style.
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.title_justify = table.caption_justify = "left"
        table.title = None if self.title is None else Text(self.title, style="bold")
        table.caption = None if self.caption is None else Text(self.caption, style="dim italic")
        for place, column in enumerate(self.columns):
            side: Any = "left" if column in self.texts else "right"
            # Rich takes the place it needs from columns that wrap: the first would be gone.
            whole = place == 0 or side == "right"
            table.add_column(Text(column), justify=side, no_wrap=whole)
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes: letters of some scripts take two."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def new_table(
    title: str | None, columns: list[str], texts: Collection[str] | None = None
) -> TextTable:
    """A table whose first column is text, or those of these headings, and others are numbers."""
    return TextTable(title, columns, columns[:1] if texts is None else texts)


def heading(text: str) -> str:
    """What the object is, as one would type it."""
    return f'<p style="margin: .3em 0"><code>{escape(text)}</code></p>'


def sentences(lines: Iterable[str]) -> str:
    """A line for each sentence."""
    return f'<p style="margin: .3em 0">{"<br>".join(map(escape, lines))}</p>'


def table(made: TextTable) -> str:
    """A table with its title above and its caption below."""
    above = "" if made.title is None else sentences(made.title.splitlines())
    below = "" if made.caption is None else sentences(made.caption.splitlines())
    sides = ["left" if column in made.texts else "right" for column in made.columns]
    head = _row("th", made.columns, sides)
    body = "".join(_row("td", row, sides) for row in made.rows)
    return (
        f'<div>{above}<table style="width: auto; border-collapse: collapse; '
        f'font-variant-numeric: tabular-nums"><thead>{head}</thead><tbody>{body}</tbody></table>'
        f"{below}</div>"
    )


def curve(
    x: Sequence[float], y: Sequence[float], *, label: str, ends: tuple[str, str], top: str
) -> str:
    """A line through points, with what stands at both ends of the horizontal axis and at its top.

    `x` ascends, `y` is not negative, and `label` says what is drawn to those who do not see it.
    """
    span, highest = (x[-1] - x[0]) or 1, max(y) or 1
    points = " ".join(
        f"{(each - x[0]) / span * _WIDTH:.1f},{(1 - height / highest) * _HEIGHT:.1f}"
        for each, height in zip(x, y, strict=True)
    )
    line = f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2"/>'
    above = f'<text x="{_WIDTH}" y="-5" text-anchor="end">{escape(top)}</text>'
    return _drawing(line + above, label, ends)


def strip(
    pieces: Iterable[tuple[float, float, int, bool]],
    n_rows: int,
    *,
    label: str,
    ends: tuple[str, str],
) -> str:
    """Which arm was played when: a row for each arm, a box for each time it was played.

    A piece is its beginning and end, between 0 and 1, its row and whether the box is filled.
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
    height = _ABOVE + _HEIGHT + _BELOW
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 {-_ABOVE} {_WIDTH} {height}" '
        f'font-size="11" fill="currentColor" style="margin-right: 2em">'
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}" stroke="currentColor" '
        f'opacity=".4"/>'
        f'{inner}<text x="0" y="{_HEIGHT + 13}">{escape(ends[0])}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 13}" text-anchor="end">{escape(ends[1])}</text></svg>'
    )


def _row(tag: str, cells: Sequence[str], sides: Sequence[str]) -> str:
    made = (
        f'<{tag} style="{_CELL.format(side=side)}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def render(template: str, **values: Any) -> str:
    """The page that a template, such as "service/templates/list.html", makes of these values.

    A value that is `markupsafe.Markup` is not escaped; one that is missing is an error.
    """
    page: str = _environment().get_template(template).render(**values)
    return page


@cache
def _environment() -> Any:
    # Only when a page is made: no other command should wait for it.
    jinja2 = require("jinja2", "experiments")

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def read(file: str) -> str:
    """A text file that belongs to latesum, by its path within the package."""
    return (resources.files("latesum") / file).read_text(encoding="utf-8")


def plain(value: Any) -> Any:
    """A value as JSON has it: records as objects, times as texts, and null for endless numbers.

    >>> plain({"low": float("-inf"), "means": (0.5, float("nan"))})
    {'low': None, 'means': [0.5, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: plain(each) for name, each in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return value


def changed_fields(record: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults, as JSON values.

    >>> from latesum import Calendar
    >>> changed_fields(Calendar(40, (1.0, 0.5)))
    {'step': 40, 'factors': [1.0, 0.5]}
    """
    values = ((each, getattr(record, each.name)) for each in fields(record))
    return {
        each.name: list(value) if isinstance(value, tuple) else value
        for each, value in values
        if value != each.default
    }
