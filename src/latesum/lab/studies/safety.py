"""How often a policy gets stuck: lock-ins on random problems, counted.

A lock-in is a run that plays arms with a gap of at least 0.02 for more than half of its last half,
and does so again when it is continued to ten times the horizon. (The first alone may be honest
exploration: with a dozen close arms there is a lot to find out.)
"""

from __future__ import annotations

import functools
from typing import NamedTuple, Unpack

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum.delays import Delay, parse
from latesum.lab.engine import RunOptions, run
from latesum.lab.setting import Setting
from latesum.lab.stats import rate_upper_limit
from latesum.policies.spec import PolicySpec
from latesum.world import Problem

HORIZON = 200_000

#: Kinds of delay with mean {e}; {twice} and the others are multiples of it, as whole numbers.
DELAY_KINDS = (
    "constant({e})",
    "uniform(0, {twice})",
    "exponential({e})",
    "poisson({e})",
    "negative_binomial({e}, {wide})",
    "mixture((0.5, constant(0)), (0.5, constant({twice})))",
    "mixture((0.05, constant({tenfold})), (0.95, uniform(0, {e})))",
    "pareto(2.5, {e})",
    "pareto(1.5, {e})",
)
MEAN_DELAYS = (10, 25, 50, 100)
_LAW = f"{__name__}:random_problem"


class Safety(NamedTuple):
    """How a policy fared over many runs, each on its own problem."""

    policy: str
    told: float
    replications: int
    suspects: int  # harmful for more than half of the last half
    lock_ins: int  # and again at ten times the horizon
    upper_limit: float  # of the rate of lock-ins, at 95%
    mean_regret: float
    worst_regret: float


def measure_safety(
    replications: int = 10_000,
    *,
    policy: str = "flow",
    told: float = 1.0,
    horizon: int = HORIZON,
    seed: int = 0,
    problems: str = _LAW,
    **how: Unpack[RunOptions],
) -> Safety:
    """Count the lock-ins of a policy over random problems, another one in every run.

    Args:
        replications: The number of runs.
        policy: The policy as text; it is told the mean delay and nothing more of the delay.
        told: A factor on the mean delay that it is told.
        horizon: The rounds of a run.
        seed: The same seed gives the same runs.
        problems: The function that draws a problem, as "package.module:function".
        how: Where and how runs are made, as `latesum.lab.engine.run` takes it.

    >>> measure_safety(4, horizon=20_000).lock_ins
    0
    """
    told = finite_number(told, "the factor on the mean delay", above=0)
    spec = PolicySpec.parse(policy)
    if spec.sees != "totals":
        raise InvalidInput(f"{policy} sees which arm paid; lock-ins are those of other policies.")
    untold = [key for key in spec.optional if key in ("delay_bound", "delay_variance")]
    spec = PolicySpec(spec.name, {**dict.fromkeys(untold), **spec.parameters})
    setting = Setting(
        problems, spec, horizon, seed=seed, measures=("regret", "suspect", "lock_in"),
        told={} if told == 1 else {"mean_delay": told}, policy_name=policy,
    )  # fmt: skip
    (runs,) = run([setting], replications, what=f"{policy}, told {told:g}", **how).runs.values()
    lock_ins = int(runs.measured["lock_in"].sum())
    final = runs.regrets[:, -1]
    return Safety(
        policy, told, len(runs), int(runs.measured["suspect"].sum()), lock_ins,
        rate_upper_limit(lock_ins, len(runs)), float(final.mean()), float(final.max()),
    )  # fmt: skip


def is_safe(safety: Safety) -> bool:
    """Whether there was at most one lock-in, or one in 10,000 runs."""
    return safety.lock_ins <= max(1, safety.replications // 10_000)


def random_problem(rng: np.random.Generator) -> Problem:
    """2 to 12 arms, means from one of three laws, one of nine kinds of delay, mean 10 to 100.

    >>> random_problem(np.random.default_rng(1)).n_arms
    7
    """
    n_arms = int(rng.integers(2, 13))
    law = rng.integers(3)
    if law == 0:
        means = rng.random(n_arms)
    elif law == 1:
        means = rng.beta(1, 3, n_arms)
    else:
        means = 0.1 * rng.random(n_arms)  # conversion rates
    kind = DELAY_KINDS[rng.integers(len(DELAY_KINDS))]
    return Problem([float(mean) for mean in means], _delay(kind, int(rng.choice(MEAN_DELAYS))))


@functools.cache
def _delay(kind: str, mean: int) -> Delay:
    return parse(kind.format(e=mean, twice=2 * mean, tenfold=10 * mean, wide=10 * mean))
