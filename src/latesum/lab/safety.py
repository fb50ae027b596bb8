"""How often a policy gets stuck: lock-ins on random problems, counted.

A lock-in is a run that plays arms with a gap of at least 0.02 for more than half of its last half,
and does so again when it is continued to ten times the horizon. (The first alone may be honest
exploration: with a dozen close arms there is a lot to find out.)

    python -m latesum.lab.safety --runs 10000 --workers 2
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from latesum._checks import finite_number, known_name, whole_number
from latesum.delays import Delay, parse
from latesum.lab.parallel import in_chunks
from latesum.policies import Policy
from latesum.policies.flow import Flow
from latesum.policies.flow_lookahead import FlowLookahead
from latesum.policies.guarded import Guarded
from latesum.policies.odaaf_s import ODAAFS
from latesum.world import Problem, World

HORIZON = 200_000
#: Arms that are worse than the best by less do no harm worth counting.
HARMFUL_GAP = 0.02
LONGER = 10

POLICIES: dict[str, Callable[..., Policy]] = {
    "flow": Flow,
    "flow-lookahead": FlowLookahead,
    "odaaf-s": ODAAFS,
    "guarded": Guarded,
}

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


class SafetyRun(NamedTuple):
    """One run on a random problem."""

    suspect: bool  # harmful for more than half of the last half
    locked_in: bool  # and again at ten times the horizon
    regret: float


class Safety(NamedTuple):
    """How a policy fared over many runs, each on its own problem."""

    policy: str
    told: float
    runs: int
    suspects: int
    lock_ins: int
    upper_limit: float  # of the rate of lock-ins, at 95%
    mean_regret: float
    worst_regret: float


def measure_safety(
    runs: int = 10_000,
    *,
    policy: str = "flow",
    told: float = 1.0,
    horizon: int = HORIZON,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Safety:
    """Count the lock-ins of `policy` over `runs` random problems.

    The policy is told the true mean delay times `told`.

    >>> measure_safety(4, horizon=20_000).lock_ins
    0
    """
    runs = whole_number(runs, "the number of runs", at_least=1)
    known_name(policy, POLICIES, "policy")
    told = finite_number(told, "the factor on the mean delay", above=0)
    job = functools.partial(_one_run, policy=policy, told=told, horizon=horizon, seed=seed)
    results = in_chunks(job, range(runs), workers=workers, progress=progress)
    lock_ins = sum(result.locked_in for result in results)
    regrets = [result.regret for result in results]
    return Safety(
        policy,
        told,
        runs,
        sum(result.suspect for result in results),
        lock_ins,
        rate_upper_limit(lock_ins, runs),
        float(np.mean(regrets)),
        float(np.max(regrets)),
    )


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


def _one_run(index: int, *, policy: str, told: float, horizon: int, seed: int) -> SafetyRun:
    draws, nature, coins = (
        np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, part)))
        for part in range(3)
    )
    problem = random_problem(draws)
    mean_delay = told * problem.delay.mean
    player = POLICIES[policy](problem.n_arms, horizon, mean_delay=mean_delay, rng=coins)
    world = problem.start(rng=nature)
    gaps = problem.gaps
    regret = _play_on(world, player, horizon // 2, gaps)[1]
    harmful, more = _play_on(world, player, horizon, gaps)
    suspect = harmful > (horizon - horizon // 2) / 2
    locked_in = False
    if suspect:
        _play_on(world, player, LONGER * horizon // 2, gaps)
        harmful, _ = _play_on(world, player, LONGER * horizon, gaps)
        locked_in = harmful > LONGER * horizon / 4
    return SafetyRun(suspect, locked_in, regret + more)


def _play_on(world: World, policy: Policy, until: int, gaps: Sequence[float]) -> tuple[int, float]:
    """Play on; returns the rounds with a harmful arm since then, and the regret since then."""
    harmful, regret = 0, 0.0
    while world.rounds_played < until:
        arm, rounds, purpose, number, part = policy.ask()
        rounds = min(rounds, part or rounds, until - world.rounds_played)
        policy.tell(arm, rounds, world.play(arm, rounds), purpose, number)
        regret += gaps[arm] * rounds
        if gaps[arm] >= HARMFUL_GAP:
            harmful += rounds
    return harmful, regret


def rate_upper_limit(count: int, runs: int, level: float = 0.95) -> float:
    """The exact (Clopper-Pearson) one-sided upper limit of a rate of which `count` were seen.

    >>> round(rate_upper_limit(0, 10_000), 6)
    0.0003
    """
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, level))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: a line for each factor on the mean delay; 1 if a policy is not safe."""
    parser = argparse.ArgumentParser(prog="python -m latesum.lab.safety", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--policy", choices=POLICIES, default="flow")
    parser.add_argument("--told", type=float, nargs="+", default=[1.0, 0.8])
    parser.add_argument("--horizon", type=int, default=HORIZON)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args(arguments)
    print("policy          told    runs  suspects  lock-ins  95% limit  mean regret  worst regret")
    most = 0
    for told in given.told:
        safety = measure_safety(
            given.runs,
            policy=given.policy,
            told=told,
            horizon=given.horizon,
            seed=given.seed,
            workers=given.workers,
            progress=show_progress if sys.stderr.isatty() else None,
        )
        most = max(most, safety.lock_ins)
        print(
            f"{safety.policy:14}  {safety.told:4g}  {safety.runs:6,}  {safety.suspects:8,}  "
            f"{safety.lock_ins:8,}  {safety.upper_limit:9.2e}  {safety.mean_regret:11,.1f}  "
            f"{safety.worst_regret:12,.1f}",
            flush=True,
        )
    return int(most > max(1, given.runs // 10_000))


def show_progress(done: int, of: int) -> None:
    """One line that counts up."""
    print(f"\r{done:,} of {of:,} runs", end="\n" if done == of else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
