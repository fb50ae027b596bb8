"""How much may come in: so many requests a second for each token, and for each stranger."""

from __future__ import annotations

import time
from collections import OrderedDict

_MOST_REMEMBERED = 10_000


class RateLimit:
    """A bucket of tickets for each key: it fills at a rate, and every request takes one.

    >>> limit = RateLimit(1.0, at_once=2)
    >>> [limit.wait("shop", now=0.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    >>> limit.wait("shop", now=1.0)
    0.0
    """

    def __init__(self, per_second: float, at_once: float | None = None) -> None:
        self.per_second = per_second
        self.at_once = max(1.0, per_second * 2 if at_once is None else at_once)
        self._tickets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, now: float | None = None) -> float:
        """Take a ticket: 0 if there is one, else the seconds until there will be."""
        now = time.monotonic() if now is None else now
        tickets, since = self._tickets.get(key, (self.at_once, now))
        tickets = min(self.at_once, tickets + (now - since) * self.per_second)
        if tickets < 1:
            self._tickets[key] = (tickets, now)
            return (1 - tickets) / self.per_second
        self._tickets[key] = (tickets - 1, now)
        if len(self._tickets) > _MOST_REMEMBERED:
            self._tickets.popitem(last=False)  # the one that came first; a flood forgets itself
        return 0.0
