"""Going through many rows for a client that may leave before the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
#: Raises an exception of the caller's own if no one waits for the result any more.
CheckWanted = Callable[[], None]
#: Rows between two such checks: a few milliseconds of work.
BATCH = 100


def always_wanted() -> None:
    """The check of a caller that never leaves."""


def in_batches(rows: Iterable[T], check_wanted: CheckWanted) -> Iterator[T]:
    """The rows, with a check before every batch of them.

    >>> list(in_batches("abc", always_wanted))
    ['a', 'b', 'c']
    """
    for place, row in enumerate(rows):
        if place % BATCH == 0:
            check_wanted()
        yield row
