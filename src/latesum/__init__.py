"""Deciding from totals that arrive late, with no word of which choice earned them.

Everything here is imported when it is first used: `import latesum` itself costs next to nothing,
and a name that needs an extra (`Campaign`) says which one where it is missing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from latesum._version import __version__

if _TYPE_CHECKING:
    from latesum import (
        adapters,
        attributed,
        delays,
        errors,
        experiments,
        policies,
        simulation,
        theory,
    )
    from latesum import campaigns as campaigns
    from latesum.campaigns import Campaign as Campaign
    from latesum.errors import InvalidInput, MissingExtra
    from latesum.experiments import Results, Run, compare, simulate
    from latesum.planning import Plan, plan
    from latesum.policies import (
        ARSUCB,
        CLW,
        ODAAF,
        ODAAFB,
        ODAAFV,
        Block,
        FixedSplit,
        Flow,
        NaiveODAAF,
        Oracle,
        Play,
        Policy,
        RoundRobin,
        Unmix,
    )
    from latesum.service.client import Client
    from latesum.simulation import (
        Background,
        Bernoulli,
        Beta,
        Calendar,
        CompositeProblem,
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

#: Where each public name comes from; a module comes from itself.
_HOMES = {
    "latesum.errors": "InvalidInput MissingExtra",
    "latesum.experiments": "Results Run compare simulate",
    "latesum.campaigns": "Campaign",
    "latesum.planning": "Plan plan",
    "latesum.policies": (
        "ARSUCB Block CLW FixedSplit Flow NaiveODAAF ODAAF ODAAFB ODAAFV Oracle Play "
        "Policy RoundRobin Unmix"
    ),
    "latesum.service.client": "Client",
    "latesum.simulation": (
        "Background Bernoulli Beta Calendar CompositeProblem Constant Discrete FieldProblem "
        "Problem Reporting Reward Scaled Uniform World"
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = "adapters attributed campaigns delays errors experiments policies simulation theory"

#: Public too, but importing them needs an extra: `from latesum import *` must do without them.
_WITH_EXTRAS = ("Campaign", "campaigns")

__all__ = [
    "ARSUCB",
    "CLW",
    "ODAAF",
    "ODAAFB",
    "ODAAFV",
    "Background",
    "Bernoulli",
    "Beta",
    "Block",
    "Calendar",
    "Client",
    "CompositeProblem",
    "Constant",
    "Discrete",
    "FieldProblem",
    "FixedSplit",
    "Flow",
    "InvalidInput",
    "MissingExtra",
    "NaiveODAAF",
    "Oracle",
    "Plan",
    "Play",
    "Policy",
    "Problem",
    "Reporting",
    "Results",
    "Reward",
    "RoundRobin",
    "Run",
    "Scaled",
    "Uniform",
    "Unmix",
    "World",
    "__version__",
    "adapters",
    "attributed",
    "compare",
    "delays",
    "errors",
    "experiments",
    "plan",
    "policies",
    "simulate",
    "simulation",
    "theory",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES.split():
        return import_module(f"latesum.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'latesum' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_WITH_EXTRAS])
