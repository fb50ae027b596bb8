"""Deciding from totals that arrive late, with no word of which choice earned them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latesum import delays, lab, policies, theory, world
from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum._version import __version__
from latesum.lab import Comparison, Run, compare, simulate
from latesum.planning import Plan, plan
from latesum.policies import (
    ARSUCB,
    CLW,
    ODAAF,
    ODAAFS,
    FixedSplit,
    Flow,
    FlowLookahead,
    Guarded,
    Oracle,
    Policy,
    Restarting,
    RoundRobin,
    Stretch,
)
from latesum.world import (
    Background,
    Bernoulli,
    Beta,
    Calendar,
    Constant,
    Discrete,
    FieldProblem,
    Problem,
    Reporting,
    Reward,
    Scaled,
    Uniform,
    World,
)

if TYPE_CHECKING:
    from latesum.live import Campaign
    from latesum.service.client import Client


__all__ = [
    "ARSUCB",
    "CLW",
    "ODAAF",
    "ODAAFS",
    "Background",
    "Bernoulli",
    "Beta",
    "Calendar",
    "Campaign",
    "Client",
    "Comparison",
    "Constant",
    "Discrete",
    "FieldProblem",
    "FixedSplit",
    "Flow",
    "FlowLookahead",
    "Guarded",
    "InvalidInput",
    "MissingExtra",
    "Oracle",
    "Plan",
    "Policy",
    "Problem",
    "Reporting",
    "Restarting",
    "Reward",
    "RoundRobin",
    "Run",
    "Scaled",
    "Stretch",
    "Uniform",
    "World",
    "__version__",
    "compare",
    "delays",
    "lab",
    "plan",
    "policies",
    "simulate",
    "theory",
    "world",
]


def __getattr__(name: str) -> Any:
    """What needs a database or HTTP library is imported when it is first used."""
    if name == "Campaign":
        from latesum.live import Campaign

        return Campaign
    if name == "Client":
        from latesum.service.client import Client

        return Client
    raise AttributeError(f"module 'latesum' has no attribute {name!r}")
