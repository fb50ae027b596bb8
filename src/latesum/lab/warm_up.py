"""Compile every kernel now: by playing a short run with each policy, as people will.

Which kernels there are, and for which types of arguments, is thus said once: by what calls them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from latesum._compile import cache_folder
from latesum.attributed import QPMD
from latesum.lab.markets.setting import MarketSetting
from latesum.lab.play import InBuckets
from latesum.lab.setting import Setting
from latesum.markets.model import DENSE_REGIONS
from latesum.policies import registry
from latesum.policies.spec import PolicySpec
from latesum.world import Beta, Problem
from latesum.world.market import Market

_ROUNDS = 2_000
_LATE = Problem([0.2, 0.6, 0.4], "uniform(0, 9)")
_OTHER_REWARDS = Problem([Beta(1, 3), Beta(3, 2), 0.4], "exponential(9)")
_AT_ONCE = Problem([0.2, 0.6, 0.4], "constant(0)")
#: What is for undelayed rewards only.
_UNDELAYED = ("improved-ucb",)


class WarmedUp(NamedTuple):
    """What warming up has done."""

    compiled: int  # kernels that were not there yet
    found: int  # kernels that were
    folder: Path | None  # where they are kept; None where nothing can be written


def warm_up() -> WarmedUp:
    """Compile all that the policies and the worlds need, and keep it for later processes.

    >>> from latesum.lab.warm_up import warm_up
    >>> made = warm_up()
    >>> made.compiled + made.found > 20
    True
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of baselines on problems that they are not made for
        for name in registry.available(None):
            spec = PolicySpec.parse(name)
            if name in _UNDELAYED:
                Setting(_AT_ONCE, spec, _ROUNDS).run(0)
                continue
            made = Setting(_LATE, spec, _ROUNDS).run(0)
            if made.policy is not None:
                made.policy.explain()
                made.policy.estimates()
                Setting(_LATE, spec, _ROUNDS, reports=InBuckets(100, 200)).run(0)
        Setting(_OTHER_REWARDS, PolicySpec.parse("round-robin"), _ROUNDS).run(0)
        for regions in (1, 2, DENSE_REGIONS + 1):
            MarketSetting(Market(regions=regions, buckets=8), "switchback").run(0)
            MarketSetting(Market(regions=regions, buckets=8), "switchback(lags='same')").run(0)
        steps = QPMD("ucb1", n_arms=2).start(rng=np.random.default_rng(1))
        steps.observe([(steps.choose(), 1.0)])
    kernels = list(_kernels())
    return WarmedUp(
        sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels),
        sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels),
        cache_folder(),
    )


def _kernels() -> Iterator[Any]:
    """The compiled functions of all kernel files that were imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith("latesum.") and name.endswith("kernels"):
            for value in vars(module).values():
                if hasattr(value, "stats") and value.__module__ == name:
                    yield value
