"""Before a campaign: will it work, how long will it take, and with which policy?"""

from latesum.plan.planner import plan
from latesum.plan.result import Plan

__all__ = ["Plan", "plan"]
