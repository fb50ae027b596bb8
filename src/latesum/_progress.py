"""Progress of a long computation: a bar in a notebook or on a terminal, lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

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
    """A bar for `progress=`: a line of standard error on a terminal or in a notebook.

    `progress=True` is the same.

    Args:
        now: The clock, in seconds.
        log: Where standard error is neither, write lines there, with an estimate of the rest.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> more = {"replications": 4, "seed": 1, "progress": progress_bar()}
    >>> compare(problem, {"flow": "flow"}, 500, **more).policies
    ['flow']
    """
    as_bar = sys.stderr.isatty() or "ipykernel" in sys.modules
    clock, width = TimeLeft(now), 0
    drawn = clock.time

    def show(done: int, total: int, what: str) -> None:
        nonlocal drawn, width
        is_new = what != clock.doing
        left, since = clock(done, total, what), clock.time - drawn
        if as_bar:
            due = is_new or done >= total or since >= _EVERY
        else:
            every = max(_LINES_EVERY, (clock.time - clock.started) / 10)
            due = log and ((is_new and not total) or (left is not None and since >= every))
        if not due:
            return
        drawn = clock.time if total else drawn
        share = f"{done / total:.0%}" if total else "..."
        said = f"{share}, about {rough_text(left)} left" if left else share
        if as_bar:
            cells = round(30 * done / total) if total else 0
            line = f"{what} [{'█' * cells:30}] {said}" if total else f"{what} {said}"
            end = "\n" if total and done >= total else ""
            # Blanks over what is left of a longer line: not every notebook knows an escape for it.
            print(f"\r{line:{width}}", end=end, file=sys.stderr, flush=True)
            width = len(line)
        else:
            print(f"{what}: {said}" if total else f"{what} ...", file=sys.stderr, flush=True)

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
        self.doing: str | None = None
        self._reports = self._done_at_start = 0

    def __call__(self, done: int, total: int, what: str) -> float | None:
        """About how many seconds are left; None where that cannot be said yet."""
        self.time = self._now()
        if what != self.doing:
            self.started, self.doing = self.time, what
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
