"""Before a campaign: will it work, how long will it take, and with which policy?"""

from latesum.planning.forecast import Forecast, forecast
from latesum.planning.planner import PlanWords, plan
from latesum.planning.report import Plan

__all__ = ["Forecast", "Plan", "PlanWords", "forecast", "plan"]
