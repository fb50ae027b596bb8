"""Markets: totals of one stream or several regions, with weekdays, drift and late sales.

Rows in, decisions and posteriors out: pure functions of the rows, the config and the seed, with no
state to save. A revised total, a missing one or a late one is just another row.
"""

from latesum.markets.config import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig
from latesum.markets.rows import RegionRow
from latesum.markets.rule import LateOption, RegionChoice, decide
from latesum.markets.summary import Effect, MarketSummary, Winner, summarize, winner

__all__ = [
    "NOTHING",
    "NOT_KNOWN",
    "DelayPrior",
    "Effect",
    "LateOption",
    "MarketConfig",
    "MarketSummary",
    "RegionChoice",
    "RegionRow",
    "Winner",
    "decide",
    "summarize",
    "winner",
]
