"""Markets: totals of one stream or several regions, with weekdays, drift and late sales, in one model.

Rows in, decisions and posteriors out: pure functions of the rows, the settings and the seed, with no state
to save. A revised total, a missing one or a late one is just another row.
"""

from latesum.markets.config import NOT_KNOWN, NOTHING, MarketConfig, ToldDelay
from latesum.markets.readings import Effect, Origin, Outlier, Readings, readings
from latesum.markets.rows import RegionRow
from latesum.markets.rule import RegionChoice, decide
from latesum.markets.winner import Winner, winner

__all__ = [
    "NOTHING",
    "NOT_KNOWN",
    "Effect",
    "MarketConfig",
    "Origin",
    "Outlier",
    "Readings",
    "RegionChoice",
    "RegionRow",
    "ToldDelay",
    "Winner",
    "decide",
    "readings",
    "winner",
]
