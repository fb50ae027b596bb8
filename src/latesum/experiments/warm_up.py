"""Compile every kernel now: by playing a short run with each policy, as people will.

Which kernels there are, and for which types of arguments, is thus said once: by what calls them.
"""

from __future__ import annotations

import sys
import warnings

from latesum._compile import cache_folder
from latesum.experiments.loop import Reports
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.runners import InProcesses
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec, registry
from latesum.simulation import Beta, Problem
from latesum.simulation.market import Market

_ROUNDS = 2_000
_LATE = Problem([0.2, 0.6, 0.4], "uniform(0, 9)")
_OTHER_REWARDS = Problem([Beta(1, 3), Beta(3, 2), 0.4], "exponential(9)")
_AT_ONCE = Problem([0.2, 0.6, 0.4], "constant(0)")
_VERY_LATE = Problem([0.2, 0.6, 0.4], "uniform(0, 9000)")
#: What is for undelayed rewards only.
_UNDELAYED = ("improved-ucb",)
#: Among the names of policies: the model of markets.
_MARKETS = "markets"


def warm_up(workers: int = 1) -> tuple[int, int]:
    """Compile all that the policies and the worlds need, and keep it for later processes.

    Returns how many kernels were compiled and how many were there already.

    >>> sum(warm_up()) > 5
    True
    """
    if cache_folder() is None:
        workers = 1  # what another process compiles is lost with it
    compiled: set[str] = set()
    loaded: set[str] = set()
    for _, (new, found) in InProcesses(workers)(_play, _parts()):
        compiled |= new
        loaded |= found
    return len(compiled), len(loaded - compiled)


def _parts() -> list[str]:
    """What is played in one piece, by policy and by `_MARKETS`; a worker takes one at a time.

    The first ones share no kernels, so that no two workers compile the same at the same time: what
    worlds need is compiled with `round-robin`, a short piece. Then comes what takes longest.
    """
    first = ["round-robin", "qpm-d", "unmix", _MARKETS, "flow", "odaaf"]
    return first + [name for name in registry.available(None) if name not in first]


def _play(name: str) -> tuple[set[str], set[str]]:
    """Play runs with this policy; which kernels had to be compiled for it, and which were there."""
    there, _ = _used_here()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of baselines on problems that they are not made for
        _play_market() if name == _MARKETS else _play_policy(name)
    compiled, loaded = _used_here()
    return compiled - there, loaded | there


def _play_policy(name: str) -> None:
    spec = PolicySpec.parse(name)
    if name in _UNDELAYED:
        RunSpec(_AT_ONCE, spec, _ROUNDS).run(0)
        return
    made = RunSpec(_LATE, spec, _ROUNDS).run(0)
    if made.policy is not None:
        made.policy.explain()
        made.policy.estimates()
        RunSpec(_LATE, spec, _ROUNDS, reports=Reports(100, 200)).run(0)
    if name == "round-robin":
        RunSpec(_OTHER_REWARDS, spec, _ROUNDS).run(0)
        RunSpec(_VERY_LATE, spec, _ROUNDS).run(0)


def _play_market() -> None:
    for regions in (1, 2):
        MarketRunSpec(Market(regions=regions, buckets=8), "switchback").run(0)


def _used_here() -> tuple[set[str], set[str]]:
    """The kernels, with their types of arguments, that this process compiled, and those found."""
    compiled: set[str] = set()
    loaded: set[str] = set()
    for name, module in list(sys.modules.items()):
        if name.startswith("latesum.") and name.endswith("kernels"):
            for value in vars(module).values():
                if hasattr(value, "stats") and value.__module__ == name:
                    kernel = f"{name}.{value.__name__}"
                    compiled |= {f"{kernel}{types}" for types in value.stats.cache_misses}
                    loaded |= {f"{kernel}{types}" for types in value.stats.cache_hits}
    return compiled, loaded
