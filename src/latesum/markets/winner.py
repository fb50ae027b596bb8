"""When a winner is named: an option that is very probably as good as the best, after all had a chance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from latesum._checks import finite_number
from latesum.markets.config import MarketConfig
from latesum.markets.model import Posterior
from latesum.markets.readings import widening
from latesum.markets.rows import Panel, RegionRow
from latesum.markets.rule import root_of
from latesum.markets.search import posterior

#: How sure a winner is.
SURE_ENOUGH = 0.95
#: An option that is good enough with less than this chance is out of the race.
_OUT = 0.05
_DRAWS = 2000
#: The child of a market's seed that these draws come from.
_STREAM = 4


class Winner(NamedTuple):
    """Whether there is a winner.

    Args:
        option: Its name, or None.
        chance: How probable it is that the leading option is as good as the best, less the lift.
        waits_for: The options that were shown in fewer than two dwells and are still in the race.
    """

    option: str | None
    chance: float
    waits_for: tuple[str, ...]


def winner(
    rows: Iterable[RegionRow], bucket: int, settings: MarketConfig, *, lift: float = 0.01
) -> Winner:
    """The option that can be kept, if there is one already.

    Args:
        rows: The log with its history, in any order.
        bucket: The bucket that comes next.
        settings: The market's.
        lift: A difference that is too small to matter, as a share.

    >>> settings = MarketConfig(("old", "new"), 60, before="old")
    >>> rows = [RegionRow("", day, 9000, "old" if day % 8 < 4 else "new", 300 + 60 * (day % 8 >= 5))
    ...     for day in range(-16, 24)]
    >>> winner(rows, 24, settings).option, winner(rows[:6], -10, settings).option
    ('new', None)
    """
    return winner_of(Panel.of(rows, settings, bucket), settings, lift=lift)


def winner_of(
    panel: Panel,
    settings: MarketConfig,
    *,
    lift: float = 0.01,
    found: Posterior | None = None,
) -> Winner:
    """`winner` for the table of all rows.

    Args:
        panel: The rows.
        settings: The market's.
        lift: A difference that is too small to matter, as a share.
        found: The posterior of the rows, where it is known already.
    """
    lift = finite_number(lift, "the lift", at_least=0, at_most=1)
    mean, covariance = (posterior(panel, settings) if found is None else found).effects()
    rng = np.random.default_rng([settings.seed, _STREAM])
    draws = mean + widening(settings) * (
        rng.standard_normal((_DRAWS, len(mean))) @ root_of(covariance).T
    )
    good = np.mean(draws >= draws.max(axis=1, keepdims=True) - np.log1p(lift), axis=0)
    leader = int(np.argmax(good))
    visits = _dwells(panel, settings)
    waits = tuple(
        option
        for place, option in enumerate(settings.options)
        if visits[place] < 2 and good[place] >= _OUT
    )
    named = good[leader] >= SURE_ENOUGH and not waits
    return Winner(settings.options[leader] if named else None, float(good[leader]), waits)


def _dwells(panel: Panel, settings: MarketConfig) -> list[int]:
    """In how many dwells each option was shown, in whichever region; a history counts as it would have been.

    A dwell that was longer than usual, because no one asked at its end, is one.
    """
    found = []
    for option in range(len(settings.options)):
        shown = np.flatnonzero(panel.shares[:, :, option].max(axis=1) > 0.5)
        runs = np.split(shown, np.flatnonzero(np.diff(shown) > 1) + 1)
        found.append(sum(max(1, len(run) // settings.dwell) for run in runs if len(run)))
    return found
