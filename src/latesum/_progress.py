"""How far a long computation is: a bar in a notebook, a line that renews itself on a terminal.

In a notebook the bar is one HTML element whose display is renewed; it needs no widgets.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any

from latesum._durations import rough_text

#: Called from time to time with what is done, of all there is to do, and what it is.
Progress = Callable[[int, int, str], None]
#: As it is asked for: a function, or whether there is a bar.
ProgressChoice = Progress | bool | None

#: Seconds between two drawings: more often is not seen, and would fill the notebook's file.
_EVERY = 0.2


def progress_bar(now: Callable[[], float] = time.monotonic) -> Progress:
    """A bar for `progress=`: in a notebook an element of the page, otherwise a line of standard error.

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
    drawn, doing = clock.moment, None

    def show(done: int, total: int, what: str) -> None:
        nonlocal drawn, doing
        left = clock(done, total, what)
        if what == doing and done < total and clock.moment - drawn < _EVERY:
            return
        drawn, doing = clock.moment, what
        draw(done, total, what, left)

    return show


class TimeLeft:
    """How long the rest takes, if it goes on as it went since the beginning.

    What is begun with nothing done begins then; otherwise it began when something else was last heard of, or
    with the clock.

    Args:
        now: The clock, in seconds.

    >>> from itertools import count
    >>> clock = TimeLeft(count(0, 10).__next__)     # every look at it takes ten seconds
    >>> clock(0, 4, "runs"), clock(1, 4, "runs"), clock.since
    (None, 30.0, 10)
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.moment = self._started = now()
        self._doing: str | None = None

    @property
    def since(self) -> float:
        """For how long it has been going on."""
        return self.moment - self._started

    def __call__(self, done: int, total: int, what: str) -> float | None:
        """About how many seconds are left; None where nothing is done yet.

        Args:
            done: What is done.
            total: What there is to do.
            what: What it is.
        """
        before, self.moment = self.moment, self._now()
        if what != self._doing:
            self._started, self._doing = self.moment if done == 0 else before, what
        return self.since / done * (total - done) if done else None


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
        said = HTML(
            f'<progress value="{done}" max="{total}" style="width: 20em"></progress> '
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
        cells = round(30 * done / total) if total else 30
        line = f"{what} [{'█' * cells}{' ' * (30 - cells)}] {_share(done, total)}{_rest(left)}"
        end = "\n" if done >= total else ""
        print(f"\r\x1b[K{line}", end=end, file=sys.stderr, flush=True)

    return draw


def _share(done: int, total: int) -> str:
    return f"{done / total:.0%}" if total else "100%"


def _rest(left: float | None) -> str:
    return "" if not left else f", about {rough_text(left)} left"
