"""Progress of a long computation: a bar in a notebook or on a terminal, lines in a log.

In a notebook the bar is one HTML element whose display is renewed; it needs no widgets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

from latesum._durations import rough_text

#: Called from time to time with what is done, of all there is to do, and what it is. All is 0
#: where nobody knows how much there is to do, as while kernels compile.
Progress = Callable[[int, int, str], None]
#: As it is asked for: a function, or whether there is a bar.
ProgressChoice = Progress | bool | None

#: What is reported while kernels compile.
COMPILING = "compiling kernels"
#: Seconds between two drawings: more often is not seen, and would fill the notebook's file.
_EVERY = 0.2
#: Reports that something is done before an estimate is shown: one alone may be of a slow start.
_MIN_REPORTS = 2


def progress_bar(now: Callable[[], float] = time.monotonic) -> Progress:
    """A bar for `progress=`: an element of a notebook, otherwise a line of standard error.

    `progress=True` is the same. A line is drawn only if standard error is a terminal.

    Args:
        now: The clock, in seconds.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> more = {"replications": 4, "seed": 1, "progress": progress_bar()}
    >>> compare(problem, {"flow": "flow"}, 500, **more).policies
    ['flow']
    """
    draw = _in_notebook() or _on_terminal()
    clock = TimeLeft(now)
    drawn, doing = clock.time, None

    def show(done: int, total: int, what: str) -> None:
        nonlocal drawn, doing
        left = clock(done, total, what)
        if what == doing and done < total and clock.time - drawn < _EVERY:
            return
        drawn, doing = clock.time, what
        draw(done, total, what, left)

    return show


def progress_lines(now: Callable[[], float] = time.monotonic) -> Progress:
    """Lines of a log on standard error: at most one in five seconds, with an estimate of the rest.

    Args:
        now: The clock, in seconds.

    >>> from itertools import count
    >>> show = progress_lines(count(0, 10).__next__)
    >>> show(1, 4, "runs"), show(2, 4, "runs")
    (None, None)
    """
    clock = TimeLeft(now)
    said, doing = clock.time, None

    def show(done: int, total: int, what: str) -> None:
        nonlocal said, doing
        left = clock(done, total, what)
        if not total and what != doing:
            print(f"{what} ...", file=sys.stderr, flush=True)
        elif left is not None and clock.time - said >= max(5, clock.since / 10):
            said = clock.time
            print(f"{what}: {_share(done, total)}{_rest(left)}", file=sys.stderr, flush=True)
        doing = what

    return show


def command_progress() -> Progress:
    """What commands show: a bar where someone looks on, otherwise lines of a log."""
    return progress_bar() if sys.stderr.isatty() else progress_lines()


class TimeLeft:
    """Estimate of the remaining time: the rest goes on as it went since the first report.

    The clock starts anew with every other thing that is done. There is no estimate before two
    reports that something is done.

    Args:
        now: The clock, in seconds.

    >>> from itertools import count
    >>> clock = TimeLeft(count(0, 10).__next__)     # every look at it takes ten seconds
    >>> clock(0, 4, "runs"), clock(1, 4, "runs"), clock(2, 4, "runs"), clock.since
    (None, None, 20.0, 20)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.time = self._started = now()
        self._doing: str | None = None
        self._reports = self._done_at_start = 0

    @property
    def since(self) -> float:
        """For how long it has been going on."""
        return self.time - self._started

    def __call__(self, done: int, total: int, what: str) -> float | None:
        """About how many seconds are left; None where that cannot be said yet."""
        self.time = self._now()
        if what != self._doing:
            self._started, self._doing = self.time, what
            self._reports, self._done_at_start = 0, done
        self._reports += done > 0
        since_start = done - self._done_at_start
        if self._reports < _MIN_REPORTS or since_start <= 0:
            return None
        return self.since / since_start * (total - done)


def chosen_progress(progress: ProgressChoice) -> Progress | None:
    """The function that was asked for; True asks for a bar.

    >>> chosen_progress(False) is None
    True
    """
    if progress is True:
        return progress_bar()
    return progress or None


_Draw = Callable[[int, int, str, "float | None"], None]


def _in_notebook() -> _Draw | None:
    """What draws a bar in the notebook that this process belongs to, or None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    handle: Any = None

    def draw(done: int, total: int, what: str, left: float | None) -> None:
        nonlocal handle
        share = f'value="{done}" max="{total}" ' if total else ""
        said = HTML(
            f'<progress {share}style="width: 20em"></progress> '
            f"{escape(what)}: {_share(done, total)}{_rest(left)}"
        )
        if handle is None:
            handle = display(said, display_id=True)
        else:
            handle.update(said)

    return draw


def _on_terminal() -> _Draw:
    def draw(done: int, total: int, what: str, left: float | None) -> None:
        if not sys.stderr.isatty():
            return
        cells = round(30 * done / total) if total else 0
        bar = f"[{'█' * cells}{' ' * (30 - cells)}] " if total else ""
        end = "\n" if total and done >= total else ""
        line = f"{what} {bar}{_share(done, total)}{_rest(left)}"
        print(f"\r\x1b[K{line}", end=end, file=sys.stderr, flush=True)

    return draw


def _share(done: int, total: int) -> str:
    return f"{done / total:.0%}" if total else "..."


def _rest(left: float | None) -> str:
    return "" if not left else f", about {rough_text(left)} left"
