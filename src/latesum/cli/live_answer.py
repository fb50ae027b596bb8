"""The answer of a plan while it gets surer: a table on a terminal that is replaced, lines where there is none."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from latesum._progress import progress_lines
from latesum.cli.options import say

if TYPE_CHECKING:
    from latesum._progress import Progress
    from latesum.planning.racing import InterimResult, OnInterim


@contextlib.contextmanager
def live_answer() -> Iterator[tuple[Progress, OnInterim]]:
    """What shows how far a plan is, and what shows its present answer; both are gone when it is done."""
    if not sys.stderr.isatty():
        yield progress_lines(), lambda answer: say(_first_up(str(answer)))
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.text import Text

    from latesum.planning.report import policies_table

    doing, shown = Text("stage 1", style="dim"), Text()
    with Live(Group(shown, doing), console=Console(stderr=True), transient=True) as live:

        def progress(done: int, total: int, what: str) -> None:
            doing.plain = f"{what}: {done / total:.0%} of {total:,} more runs" if total else what

        def on_interim(answer: InterimResult) -> None:
            said = Text(_first_up(str(answer)), style="bold")  # may be wider than the table
            table = policies_table(
                None, answer.forecasts, answer.recommended, answer.thresholds, short=True
            )
            live.update(Group(said, table, doing), refresh=True)

        yield progress, on_interim


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
