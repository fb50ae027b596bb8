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
_OTHERS = [
    Problem([Beta(1, 3), Beta(3, 2), 0.4], "exponential(9)"),
    Problem([0.2, 0.6, 0.4], "uniform(0, 9000)"),
]


def warm_up(workers: int = 1) -> tuple[int, int]:
    """Compile all that the policies and the worlds need, and keep it for later processes.

    Returns how many kernels were compiled and how many were there already.

    >>> sum(warm_up()) > 5
    True
    """
    if cache_folder() is None:
        workers = 1  # what another process compiles is lost with it
    # The first ones share no kernels, so that no two workers compile the same at the same time:
    # what worlds need is compiled with `round-robin`. Then comes what takes longest.
    first = ["round-robin", "qpm-d", "unmix", "markets", "flow", "odaaf"]
    names = first + [name for name in registry.available(None) if name not in first]
    found = [each for _, each in InProcesses(workers)(_play, names)]
    compiled = {kernel for new, _ in found for kernel in new}
    return len(compiled), len({kernel for _, there in found for kernel in there} - compiled)


def _play(name: str) -> tuple[set[str], set[str]]:
    """Play runs with this policy; which kernels had to be compiled for it, and which were there."""
    before, _ = _kernels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of baselines on problems that they are not made for
        if name == "markets":
            for regions in (1, 2):
                MarketRunSpec(Market(regions=regions, buckets=8), "switchback").run(0)
        elif name == "improved-ucb":  # for undelayed rewards only
            RunSpec(Problem([0.2, 0.6], "constant(0)"), PolicySpec(name), _ROUNDS).run(0)
        else:
            spec = PolicySpec.parse(name)
            made = RunSpec(_LATE, spec, _ROUNDS).run(0)
            if made.policy is not None:
                made.policy.explain()
                made.policy.estimates()
                RunSpec(_LATE, spec, _ROUNDS, reports=Reports(100, 200)).run(0)
            for problem in _OTHERS if name == "round-robin" else ():
                RunSpec(problem, spec, _ROUNDS).run(0)
    compiled, loaded = _kernels()
    return compiled - before, loaded | before


def _kernels() -> tuple[set[str], set[str]]:
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
