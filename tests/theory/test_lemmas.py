"""The lemmas hold: estimates miss by more than D_m / 2 no more often than they say, both sides.

ODAAF itself is run by ask and tell, and after each of its phases every surviving arm's estimate is
held against the arm's mean. Horizons are those where the stated probability is 1% to 10%, so that
1,500 runs can tell a schedule that is too short: one of n_m / 16 rounds is caught, and where the
arms are far apart on both sides. Whether the right one holds is seen in 700 runs, 200 of heavy
tails; the complete version has five thousand of both. Each count is tested against the stated
probability by an exact one-sided binomial test at ERROR_RATE over the number of all such tests: if
the lemmas hold, this file fails with probability below 0.5% over the choice of its seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from latesum import theory
from latesum.policies.odaaf import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.simulation import Problem

ERROR_RATE = 0.005
SIDES = ("above", "below")

#: Far apart, so that what spills over from the one arm shows in the other, and close together,
#: so that both arms live to see the second phase.
FAR, CLOSE = (0.9, 0.1), (0.6, 0.4)


@dataclass(frozen=True)
class Case:
    variant: str
    means: tuple[float, float]
    delay: str
    horizon: int
    phase: int  # the last phase that fits; the one whose probability is from 1% to 10%

    @property
    def problem(self) -> Problem:
        return Problem(list(self.means), self.delay)

    @property
    def policy(self) -> ODAAF:
        delay = self.problem.delay
        arguments = {"n_arms": 2, "horizon": self.horizon}
        if self.variant == "naive":
            return NaiveODAAF(**arguments, delay_bound=delay.bound)
        arguments["mean_delay"] = delay.mean
        if self.variant == "odaaf-b":
            return ODAAFB(**arguments, delay_bound=delay.bound)
        if self.variant.startswith("odaaf-v"):
            tightened = self.variant.endswith("tightened")
            return ODAAFV(**arguments, delay_variance=delay.variance, tightened=tightened)
        return ODAAF(**arguments)


CASES = [
    Case("odaaf", FAR, "uniform(0, 20)", 1000, 1),
    Case("odaaf", FAR, "pareto(1.5, 9)", 1000, 1),
    Case("odaaf", CLOSE, "exponential(9)", 4000, 2),
    Case("odaaf-b", FAR, "uniform(0, 20)", 1000, 1),
    Case("odaaf-b", CLOSE, "uniform(0, 20)", 4000, 2),
    Case("odaaf-v", FAR, "poisson(5)", 1000, 1),
    Case("odaaf-v", CLOSE, "poisson(5)", 4000, 2),
    Case("odaaf-v tightened", FAR, "poisson(9)", 1000, 1),
    Case("odaaf-v tightened", CLOSE, "geometric(4)", 4000, 2),
    Case("naive", FAR, "uniform(0, 20)", 500, 1),
    Case("naive", CLOSE, "uniform(0, 20)", 2000, 2),
]
LEVEL = ERROR_RATE / (len(CASES) * 2 * (len(SIDES) + 1))  # cases, arms, sides and both sides


def misses(case: Case, runs: int, *, divisor: int = 1, seed: int = 0) -> tuple[Counter, int]:
    """How often each arm's estimate misses on each side after the case's phase; and runs there."""
    problem, template = case.problem, case.policy
    template.phase_rounds = [math.ceil(rounds / divisor) for rounds in template.phase_rounds]
    needed = template.phase_rounds[case.phase - 1]
    tolerance = 0.5**case.phase
    rng = np.random.default_rng(seed)
    missed: Counter = Counter()
    reached = 0
    for _ in range(runs):
        world, policy = problem.start(rng=rng), template.fresh()
        learned = {0: [0, 0.0], 1: [0, 0.0]}
        while (block := policy.ask()).purpose != "commit" and world.rounds_played < case.horizon:
            total = world.play(block.arm, block.rounds)
            policy.tell(block.arm, block.rounds, total, block.purpose, block.number)
            if block.purpose != "learn":
                continue
            account = learned[block.arm]
            account[0] += block.rounds
            account[1] += total
            if account[0] == needed:
                reached += 1
                error = account[1] / needed - case.means[block.arm]
                missed[block.arm, "above"] += error > tolerance / 2
                missed[block.arm, "below"] += error < -tolerance / 2
    return missed, reached


def stated(case: Case) -> float:
    return theory.failure_probability(case.policy.schedule, 0.5**case.phase, case.horizon, sides=1)


def too_many(case: Case, missed: Counter, runs: int) -> set[str]:
    """The sides on which some arm's estimate misses more often than the lemma allows."""
    return {
        side
        for side in SIDES
        for arm in (0, 1)
        if stats.binom.sf(missed[arm, side] - 1, runs, stated(case)) < LEVEL
    }


def case_name(case: Case) -> str:
    return f"{case.variant}, {case.delay}, phase {case.phase}"


def in_short(runs: int, *, few: int) -> list:
    """Each case with `runs` runs in short, and with 5,000 in the complete version.

    Runs with heavy tails take eight times as long as others: of these there are `few`, or none.
    """
    short = {case: few if case.delay.startswith("pareto") else runs for case in CASES}
    return [
        pytest.param(case, count, marks=marks, id=f"{case_name(case)}-{count}")
        for case in CASES
        for count, marks in ((short[case], ()), (5000, pytest.mark.slow))
        if count
    ]


@pytest.mark.parametrize(("case", "runs"), in_short(700, few=200))
def test_estimates_miss_no_more_often_than_stated(case, runs) -> None:
    lemma = theory.failure_probability(case.policy.schedule, 0.5**case.phase, case.horizon)
    assert 0.01 <= lemma <= 0.10
    assert 500 <= case.horizon <= 5000
    missed, reached = misses(case, runs)
    assert reached == 2 * runs  # in every run both arms come to the end of the phase
    assert not too_many(case, missed, runs)
    both_sides = max(missed[arm, "above"] + missed[arm, "below"] for arm in (0, 1))
    assert both_sides <= stats.binom.isf(LEVEL, runs, 2 * stated(case))


@pytest.mark.parametrize(("case", "runs"), in_short(1500, few=0))
def test_a_schedule_a_sixteenth_as_long_is_caught(case, runs) -> None:
    missed, _ = misses(case, runs, divisor=16)
    caught = too_many(case, missed, runs)
    # Arms that are close together spill too little into each other to show on both sides.
    assert caught == set(SIDES) if case.means == FAR else caught
