"""Before a campaign: will it work, how long will it take, and with which policy?"""

from latesum.planning.planner import plan
from latesum.planning.result import Plan

__all__ = ["Plan", "plan"]
