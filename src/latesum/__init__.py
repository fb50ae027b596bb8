"""Deciding from totals that arrive late, with no word of which choice earned them.

Everything here is imported when it is first used: `import latesum` itself costs next to nothing,
and a name that needs an extra (`Campaign`) says which one where it is missing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from latesum._version import __version__ as __version__

if _TYPE_CHECKING:
    from latesum import adapters as adapters
    from latesum import attributed as attributed
    from latesum import campaigns as campaigns
    from latesum import delays as delays
    from latesum import errors as errors
    from latesum import experiments as experiments
    from latesum import policies as policies
    from latesum import simulation as simulation
    from latesum import theory as theory
    from latesum.campaigns import Campaign as Campaign
    from latesum.errors import InvalidInput as InvalidInput
    from latesum.errors import MissingExtra as MissingExtra
    from latesum.experiments import Results as Results
    from latesum.experiments import Run as Run
    from latesum.experiments import compare as compare
    from latesum.experiments import simulate as simulate
    from latesum.planning import Plan as Plan
    from latesum.planning import plan as plan
    from latesum.policies import ARSUCB as ARSUCB
    from latesum.policies import CLW as CLW
    from latesum.policies import ODAAF as ODAAF
    from latesum.policies import ODAAFB as ODAAFB
    from latesum.policies import ODAAFV as ODAAFV
    from latesum.policies import Block as Block
    from latesum.policies import FixedSplit as FixedSplit
    from latesum.policies import Flow as Flow
    from latesum.policies import NaiveODAAF as NaiveODAAF
    from latesum.policies import Oracle as Oracle
    from latesum.policies import Play as Play
    from latesum.policies import Policy as Policy
    from latesum.policies import RoundRobin as RoundRobin
    from latesum.policies import Unmix as Unmix
    from latesum.service.client import Client as Client
    from latesum.simulation import Bernoulli as Bernoulli
    from latesum.simulation import Beta as Beta
    from latesum.simulation import Calendar as Calendar
    from latesum.simulation import CompositeProblem as CompositeProblem
    from latesum.simulation import Discrete as Discrete
    from latesum.simulation import FieldProblem as FieldProblem
    from latesum.simulation import Problem as Problem
    from latesum.simulation import Reward as Reward
    from latesum.simulation import World as World

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
        "Bernoulli Beta Calendar CompositeProblem Discrete FieldProblem Problem Reward World"
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = "adapters attributed campaigns delays errors experiments policies simulation theory"

#: Public too, but importing them needs an extra: `from latesum import *` must do without them.
_WITH_EXTRAS = {"Campaign", "campaigns"}
__all__ = sorted({"__version__", *_HOME_OF, *_MODULES.split()} - _WITH_EXTRAS)


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
