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
#: Seconds between two drawings of a bar, and at least between two lines of a log.
_EVERY, _LINES_EVERY = 0.2, 5.0
#: Reports that something is done before an estimate is shown: one alone may be of a slow start.
_MIN_REPORTS = 2


def progress_bar(now: Callable[[], float] = time.monotonic, *, log: bool = False) -> Progress:
    """A bar for `progress=`: an element of a notebook, otherwise a line of standard error.

    `progress=True` is the same. The bar is drawn only if standard error is a terminal.

    Args:
        now: The clock, in seconds.
        log: Where it is none, write lines there, with an estimate of the rest.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> more = {"replications": 4, "seed": 1, "progress": progress_bar()}
    >>> compare(problem, {"flow": "flow"}, 500, **more).policies
    ['flow']
    """
    draw = _in_notebook() or (_on_terminal if sys.stderr.isatty() else _in_log)
    as_log, silent = draw is _in_log, draw is _in_log and not log
    clock = TimeLeft(now)
    drawn, doing = clock.time, None

    def show(done: int, total: int, what: str) -> None:
        nonlocal drawn, doing
        left, since = clock(done, total, what), clock.time - drawn
        if as_log:
            every = max(_LINES_EVERY, (clock.time - clock.started) / 10)
            due = (what != doing and not total) or (left is not None and since >= every)
        else:
            due = what != doing or done >= total or since >= _EVERY
        doing = what
        if due and not silent:
            drawn = clock.time if total else drawn
            share = f"{done / total:.0%}" if total else "..."
            rest = f", about {rough_text(left)} left" if left else ""
            draw(done, total, what, share + rest)

    return show


class TimeLeft:
    """Estimate of the remaining time: the rest goes on as it went since the first report.

    The clock starts again with every other thing that is done. There is no estimate before two
    reports that something is done.

    Args:
        now: The clock, in seconds.

    >>> from itertools import count
    >>> clock = TimeLeft(count(0, 10).__next__)     # every look at it takes ten seconds
    >>> clock(0, 4, "runs"), clock(1, 4, "runs"), clock(2, 4, "runs")
    (None, None, 20.0)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.time = self.started = now()
        self._doing: str | None = None
        self._reports = self._done_at_start = 0

    def __call__(self, done: int, total: int, what: str) -> float | None:
        """About how many seconds are left; None where that cannot be said yet."""
        self.time = self._now()
        if what != self._doing:
            self.started, self._doing = self.time, what
            self._reports, self._done_at_start = 0, done
        self._reports += done > 0
        since_start = done - self._done_at_start
        if self._reports < _MIN_REPORTS or since_start <= 0:
            return None
        return (self.time - self.started) / since_start * (total - done)


def chosen_progress(progress: ProgressChoice) -> Progress | None:
    """The function that was asked for; True asks for a bar.

    >>> chosen_progress(False) is None
    True
    """
    return progress_bar() if progress is True else progress or None


def _in_notebook() -> Callable[[int, int, str, str], None] | None:
    """What draws a bar in the notebook that this process belongs to, or None."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    handle: Any = None

    def draw(done: int, total: int, what: str, said: str) -> None:
        nonlocal handle
        share = f'value="{done}" max="{total}" ' if total else ""
        bar = f'<progress {share}style="width: 20em"></progress>'
        shown = HTML(f"{bar} {escape(what)}: {said}")
        if handle is None:
            handle = display(shown, display_id=True)
        else:
            handle.update(shown)

    return draw


def _on_terminal(done: int, total: int, what: str, said: str) -> None:
    cells = round(30 * done / total) if total else 0
    bar = f"[{'█' * cells}{' ' * (30 - cells)}] " if total else ""
    end = "\n" if total and done >= total else ""
    print(f"\r\x1b[K{what} {bar}{said}", end=end, file=sys.stderr, flush=True)


def _in_log(done: int, total: int, what: str, said: str) -> None:
    print(f"{what}: {said}" if total else f"{what} ...", file=sys.stderr, flush=True)
