"""What several commands read and show in the same way."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from latesum._checks import InvalidInput
from latesum.lab.roster import split_list
from latesum.world import Problem


def read_problem(arms: str, delay: str) -> Problem:
    """The problem written as a list of means and a delay, or one delay for each arm by ';'."""
    means = []
    for text in split_list(arms):
        try:
            means.append(float(text))
        except ValueError:
            raise InvalidInput(f"--arms takes means between 0 and 1, not {text!r}.") from None
    delays = [part.strip() for part in delay.split(";")]
    return Problem(means, delays[0] if len(delays) == 1 else delays)


@contextlib.contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; a line now and then where there is none."""
    if not sys.stderr.isatty():
        yield _plain_lines(what)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def _plain_lines(what: str) -> Callable[[int, int], None]:
    started = last = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= max(5, (now - started) / 10):
            last = now
            left = (now - started) / done * (total - done)
            print(
                f"{what}: {done} of {total}, about {left:.0f} s left", file=sys.stderr, flush=True
            )

    return show
