"""Buckets of thousands of rounds with long delays have the law of the plain loop over rounds.

Of each case the totals of three consecutive buckets are compared with those of a plain loop that
shares no code with the package: every round has its reward and its delay. Each of the five cases
makes six tests; a p-value below ERROR_RATE over the number of all tests rejects, so a right
sampler fails this file with probability below 0.5% over the choice of its seeds.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from latesum import Calendar, FieldProblem, Problem

ERROR_RATE = 0.005
RUNS = 300
MEAN_DELAY, BUCKET = 8_000, 4_000
#: The rounds of the status quo in the plain loop: longer than nearly all delays, in whole cycles.
LONG_ENOUGH = 72_000
STEP, FACTORS = 2_000, (1.0, 0.2, 0.6)
ARMS = (0, 1, 0)


@dataclass(frozen=True)
class Case:
    """Arms with exponential delays, what was played before, and whether a calendar is followed."""

    means: tuple[float, float]
    status_quo: int | None = None
    calendar: bool = False

    @property
    def problem(self) -> Problem:
        delay = f"exponential({MEAN_DELAY})"
        if not self.calendar:
            return Problem(self.means, delay)
        return FieldProblem(self.means, delay, calendar=Calendar(STEP, FACTORS))


CASES = {
    "few rewards": Case((0.024, 0.05)),
    "few rewards, a calendar": Case((0.024, 0.05), calendar=True),
    "few rewards, a status quo and a calendar": Case((0.024, 0.05), 1, calendar=True),
    "many rewards": Case((0.6, 0.9)),
    "many rewards, a status quo": Case((0.6, 0.9), 1),
}
LEVEL = ERROR_RATE / (6 * len(CASES))


def by_world(case, seed):
    """The totals of the buckets of each run, each bucket in one draw."""
    problem, totals = case.problem, []
    for number in range(RUNS):
        rng = np.random.default_rng([seed, number])
        world = problem.start(rng=rng, status_quo=case.status_quo)
        totals.append([world.play(arm, BUCKET) for arm in ARMS])
    return np.array(totals)


def by_plain_loop(case, seed):
    """The same, every round by itself."""
    first = 0 if case.status_quo is None else -LONG_ENOUGH
    rounds = np.arange(first, len(ARMS) * BUCKET)
    means = np.full(len(rounds), case.means[case.status_quo or 0])
    for bucket, arm in enumerate(ARMS):
        means[rounds // BUCKET == bucket] = case.means[arm]
    if case.calendar:
        means *= np.array(FACTORS)[rounds // STEP % len(FACTORS)]
    totals = []
    for number in range(RUNS):
        rng = np.random.default_rng([seed, number])
        earned = rounds[rng.random(len(rounds)) < means]
        arrivals = earned + np.ceil(rng.exponential(MEAN_DELAY, len(earned)))
        totals.append(np.histogram(arrivals, BUCKET * np.arange(len(ARMS) + 1) - 0.5)[0])
    return np.array(totals)


def least_p_value(one, other):
    """Of tests of each total, their sum, and how the first goes with each of the others."""
    pairs = [(one[:, bucket], other[:, bucket]) for bucket in range(len(ARMS))]
    pairs.append((one.sum(axis=1), other.sum(axis=1)))
    for later in (1, 2):
        centered = [sample - sample.mean(axis=0) for sample in (one, other)]
        products = [sample[:, 0] * sample[:, later] for sample in centered]
        pairs.append((products[0], products[1]))
    return min(stats.ks_2samp(*pair, method="asymp").pvalue for pair in pairs)


@pytest.mark.parametrize("name", CASES)
def test_buckets_have_the_law_of_the_plain_loop(name):
    case = CASES[name]
    assert least_p_value(by_world(case, 1), by_plain_loop(case, 2)) > LEVEL
