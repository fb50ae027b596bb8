"""Lock-ins: runs that stay with a bad arm, and still do when they are played on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from latesum.lab.arm_order import in_random_order
from latesum.lab.league.problems import Setting
from latesum.lab.safety import HARMFUL_GAP, LONGER
from latesum.lab.simulation import play_once
from latesum.policies import Policy


def count_lock_ins(setting: Setting, policy: str, regrets: NDArray[np.float64], seed: int) -> int:
    """How many runs play harmful arms for most of their last half, and again ten times as long.

    Only runs with enough regret for that are played again, to ten times the horizon; the arms are
    in the order that they had in the run.
    """
    gaps = np.array(setting.problem.gaps)
    if gaps.max() < HARMFUL_GAP:
        return 0
    least = HARMFUL_GAP * setting.horizon / 4
    count = 0
    for number in np.flatnonzero(regrets >= least).tolist():
        horizons = (setting.horizon, LONGER * setting.horizon)
        count += all(_harmful(setting, policy, horizon, (seed, number)) for horizon in horizons)
    return count


def _harmful(setting: Setting, text: str, horizon: int, seed: tuple[int, int]) -> bool:
    """Whether harmful arms are played for more than half of the last half."""
    problem, policy = in_random_order(setting.problem, text, setting.horizon, seed)
    assert isinstance(policy, Policy), "lock-ins are counted of policies that see totals"
    plays = play_once(problem, policy, horizon, seed, setting.bucket, setting.report_lag)
    half = horizon // 2
    played = harmful = 0
    for arm, rounds, *_ in plays:
        late = max(0, played + rounds - max(played, half))
        played += rounds
        if problem.gaps[arm] >= HARMFUL_GAP:
            harmful += late
    return harmful > (horizon - half) / 2
