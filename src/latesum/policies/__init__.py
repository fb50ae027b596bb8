"""What decides from totals: one file per policy, and the protocol of all."""

from latesum.policies.base import Block, Play, Policy
from latesum.policies.baselines import ARSUCB, CLW, FixedSplit, Oracle, RoundRobin
from latesum.policies.conformance import check
from latesum.policies.estimates import Estimate
from latesum.policies.flow import Flow
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.registry import PolicySpec, available, build, from_state, register
from latesum.policies.unmix import Unmix

__all__ = [
    "ARSUCB",
    "CLW",
    "ODAAF",
    "ODAAFB",
    "ODAAFV",
    "Block",
    "Estimate",
    "FixedSplit",
    "Flow",
    "NaiveODAAF",
    "Oracle",
    "Play",
    "Policy",
    "PolicySpec",
    "RoundRobin",
    "Unmix",
    "available",
    "build",
    "check",
    "from_state",
    "register",
]
