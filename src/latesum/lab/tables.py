"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table

from latesum.lab.stats import number_text

if TYPE_CHECKING:
    from latesum.lab.comparison import Comparison

#: The width of tables in files and pipes; a terminal has its own.
_WIDTH = 110


def terminal() -> Console:
    """Where commands print."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def new_table(title: str | None, columns: list[str]) -> Table:
    """A table whose first column is text and whose others are numbers."""
    table = Table(
        title=title, box=SIMPLE_HEAD, title_justify="left", title_style="bold", padding=(0, 1, 0, 0)
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def plain_text(renderable: RenderableType) -> str:
    """What would be printed, as text without colours."""
    console = Console(width=_WIDTH, no_color=True, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip("\n")


def comparison_table(comparison: Comparison) -> Table:
    """One row per policy: the regret at the horizon and what else matters."""
    about = comparison.description
    shuffled = about.get("arm_order") == "random"  # results saved by earlier versions do not say
    title = (
        f"Regret after {about['horizon']:,} rounds, {about['replications']} replications"
        f"{', arms in random order' if shuffled else ''}\n{about['problem']}"
    )
    columns = ["policy", "mean", "± s.e.", "median", "95%", "99%", "worst"]
    columns += ["ends on best", "switches"]
    table = new_table(title, columns)
    broken = about.get("broken_assumptions", [])  # results saved by earlier versions have none
    for row in comparison.summary():
        numbers = [row.mean, row.standard_error, row.median]
        numbers += [row.percentile_95, row.percentile_99, row.worst]
        mark = " *" if row.policy in about["sees_more"] else ""
        mark += " †" if any(row.policy in names for names, _ in broken) else ""
        shares = f"{row.ended_on_best:.1%}", f"{row.switches:,.1f}"
        table.add_row(row.policy + mark, *map(number_text, numbers), *shares)
    notes = ["* sees which arm paid: more than the others"] if about["sees_more"] else []
    notes += [f"† {', '.join(names)}: {sentence}" for names, sentence in broken]
    if notes:
        table.caption = "\n".join(notes)
        table.caption_justify = "left"
    return table
