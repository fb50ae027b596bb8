"""Tables as text, and the terminal that commands print to.

A table is described once. `str(table)` writes it in plain text and needs no library; a terminal
prints the same with bold headings and fits it to its width, which Rich does.
"""

from __future__ import annotations

import textwrap
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from latesum._extras import require

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

#: The width of tables in files and pipes; a terminal has its own.
WIDTH = 110


def terminal() -> Console:
    """Where commands print."""
    console: Console = require("rich.console", "cli").Console()
    return console if console.is_terminal else type(console)(width=WIDTH)


@dataclass
class TextColumn:
    """A column: its heading, on which side its cells stand, and whether a terminal may wrap them."""

    heading: str
    justify: Literal["left", "right"] = "right"
    no_wrap: bool = True


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
    columns: list[TextColumn]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    caption: str | None = None

    def add_row(self, *cells: str) -> None:
        """Add a row, with a text for each column."""
        self.rows.append(cells)

    def within(self, width: int, spare: list[str]) -> TextTable:
        """The same without as many columns as make it too wide, which the caption then names.

        Args:
            width: The places that there are.
            spare: The headings of columns that it can do without, the first of them first.

        >>> table = new_table(None, ["policy", "mean", "switches"])
        >>> table.add_row("flow", "1,076.0", "31")
        >>> print(table.within(20, ["switches"]))
         policy     mean
         ────────────────
         flow    1,076.0
        <BLANKLINE>
        No room for:
        switches.
        """
        kept, left_out = list(range(len(self.columns))), []
        for heading in spare:
            if self._inner([self._widths[place] for place in kept]) + 1 <= width:
                break
            kept = [place for place in kept if self.columns[place].heading != heading]
            left_out.append(heading)
        if not left_out:
            return self
        note = f"No room for: {', '.join(left_out)}."
        return TextTable(
            self.title, [self.columns[place] for place in kept],
            [tuple(row[place] for place in kept) for row in self.rows],
            note if self.caption is None else f"{self.caption}\n{note}",
        )  # fmt: skip

    @property
    def _widths(self) -> list[int]:
        grid = [tuple(column.heading for column in self.columns), *self.rows]
        return [max(_cells(row[place]) for row in grid) for place in range(len(self.columns))]

    @staticmethod
    def _inner(widths: list[int]) -> int:
        """The length of a line without the space before it."""
        return sum(widths) + 2 * len(widths) - 1

    def __str__(self) -> str:
        headings = tuple(column.heading for column in self.columns)
        widths = self._widths
        inner = self._inner(widths)
        lines = [] if self.title is None else [*_wrapped(self.title, inner + 2), ""]
        lines += [self._line(headings, widths), " " + "─" * inner]
        lines += [self._line(row, widths) for row in self.rows]
        if self.caption is not None:
            lines += ["", *_wrapped(self.caption, inner + 2)]
        return "\n".join(line.rstrip() for line in lines)

    def _line(self, row: tuple[str, ...], widths: list[int]) -> str:
        parts = []
        for cell, column, width in zip(row, self.columns, widths, strict=True):
            space = " " * (width - _cells(cell))
            parts.append(cell + space if column.justify == "left" else space + cell)
        return " " + "  ".join(parts)

    def __rich__(self) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        # As Text, so that Rich takes no bracket in a name for a style.
        table = Table(
            title=None if self.title is None else Text(self.title, style="bold"),
            caption=None if self.caption is None else Text(self.caption, style="dim italic"),
            box=SIMPLE_HEAD,
            title_justify="left",
            caption_justify="left",
            padding=(0, 1, 0, 0),
        )
        for column in self.columns:
            table.add_column(Text(column.heading), justify=column.justify, no_wrap=column.no_wrap)
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return table


def new_table(title: str | None, columns: list[str]) -> TextTable:
    """A table whose first column is text and whose others are numbers."""
    first, *others = columns
    return TextTable(title, [TextColumn(first, "left"), *map(TextColumn, others)])


def _cells(text: str) -> int:
    """How many places a text takes on a terminal: wide characters take two, accents none."""
    return sum(
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        for sign in text
    )


def _wrapped(text: str, width: int) -> list[str]:
    return [piece for line in text.splitlines() for piece in textwrap.wrap(line, width) or [""]]
