"""Before a campaign: will it work, how long will it take, and with which policy?"""

from latesum.planning.planner import plan
from latesum.planning.present import PresentAnswer
from latesum.planning.regions import (
    RegionForecast,
    RegionPlan,
    fitted_market,
    past_rows,
    plan_regions,
    read_history,
)
from latesum.planning.result import Plan

__all__ = [
    "Plan",
    "PresentAnswer",
    "RegionForecast",
    "RegionPlan",
    "fitted_market",
    "past_rows",
    "plan",
    "plan_regions",
    "read_history",
]
