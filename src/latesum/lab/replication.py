"""One replication of one policy: what every comparison and sweep is made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.lab.run import Run
from latesum.lab.simulation import AnyPolicy, play_once, refuse_live_data, seed_sequence
from latesum.world import Problem, Reward

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Replication(NamedTuple):
    """What is kept of one run."""

    regrets: Floats  # at the checkpoints
    ended_on_best: bool
    switches: int


def replicate(
    problem: Problem,
    policy: AnyPolicy,
    horizon: int,
    *,
    seed: tuple[int, int],
    checkpoints: Integers,
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
) -> Replication:
    """Run `policy` once; `seed` is the experiment's seed and the replication's number.

    >>> from latesum.policies import Oracle
    >>> problem = Problem([0.5, 0.6], "uniform(0, 100)")
    >>> policy = Oracle(2, 100, best_arm=1)
    >>> replicate(problem, policy, 100, seed=(1, 0), checkpoints=np.array([50, 100]))
    Replication(regrets=array([0., 0.]), ended_on_best=True, switches=0)
    """
    if isinstance(policy, AttributedPolicy):
        refuse_live_data(problem, policy, bucket, report_lag, before)
        seen = run_attributed(
            problem, policy, horizon, seed_sequence=seed_sequence(seed, 0), checkpoints=checkpoints
        )
        return Replication(
            seen.plays @ np.array(problem.gaps), problem.gaps[seen.last_arm] == 0, seen.switches
        )
    plays = play_once(problem, policy, horizon, seed, bucket, report_lag, before, history)
    run = Run(problem, plays)
    ended_on_best = problem.is_best(run.last_arm, horizon)
    return Replication(run.regret(checkpoints), ended_on_best, run.switches)
