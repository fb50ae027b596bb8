"""Deciding from totals that arrive late, with no word of which choice earned them."""

from latesum import lab, policies, theory, world
from latesum._checks import InvalidInput
from latesum._extras import MissingExtra
from latesum.lab import Comparison, Run, compare, simulate
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
    Bernoulli,
    Beta,
    Constant,
    Discrete,
    Problem,
    Reward,
    Scaled,
    Uniform,
    World,
    delays,
)

__version__ = "0.1.0"

__all__ = [
    "ARSUCB",
    "CLW",
    "ODAAF",
    "ODAAFS",
    "Bernoulli",
    "Beta",
    "Comparison",
    "Constant",
    "Discrete",
    "FixedSplit",
    "Flow",
    "FlowLookahead",
    "Guarded",
    "InvalidInput",
    "MissingExtra",
    "Oracle",
    "Policy",
    "Problem",
    "Restarting",
    "Reward",
    "RoundRobin",
    "Run",
    "Scaled",
    "Stretch",
    "Uniform",
    "World",
    "compare",
    "delays",
    "lab",
    "policies",
    "simulate",
    "theory",
    "world",
]
