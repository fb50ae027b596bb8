"""Before a campaign: will it work, how long will it take, and with which policy?"""

from latesum.planning.inputs import PlanWords
from latesum.planning.planner import plan
from latesum.planning.racing import InterimResult, Thresholds
from latesum.planning.regions import (
    fitted_market,
    given_delay,
    past_rows,
    plan_regions,
    read_history,
)
from latesum.planning.report import Plan

__all__ = [
    "InterimResult",
    "Plan",
    "PlanWords",
    "Thresholds",
    "fitted_market",
    "given_delay",
    "past_rows",
    "plan",
    "plan_regions",
    "read_history",
]
