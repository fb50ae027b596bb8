"""Shared by the tests of the planner."""

import numpy as np
import pytest

from latesum.experiments.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning import plan
from latesum.planning.runs import PERCENTILE, PlanRow
from latesum.planning.stream import Candidate
from latesum.policies import PolicySpec

SMALL = {
    "options": 2,
    "rate": 0.1,
    "lift": "40%",
    "traffic": "1000 per day",
    "late": "8 hours",
    "run_for": "8 weeks",
}
#: All policies that are tried, in a doctest and where nothing but the core is there.
SOME = ["unmix", "quarter test", "half test", "equal split"]


@pytest.fixture(scope="session")
def small_plan():
    """A plan that is a go, with few replications of some policies."""
    return plan(**SMALL, replications=30, workers=1, policies=SOME)


def row(label, gain, found=None, runnable=True):
    """How a policy does, by the gain of each run and whether it found the best option."""
    gain = np.asarray(gain, dtype=float)
    found = np.ones(len(gain), dtype=bool) if found is None else np.asarray(found)
    zero = Uncertain(0.0, 0.0, 0.0)
    return PlanRow(
        candidate=Candidate(label, PolicySpec("unmix", {}), "", {}, runnable=runnable),
        reward=zero,
        regret=zero,
        gain=mean_of(gain),
        gain_low=quantile_of(gain, PERCENTILE),
        finds_best=share_of(int(found.sum()), len(found)),
        decided_after=zero,
        decided_late=zero,
        winner=zero,
        switches=zero,
        on_good=(),
        gains=gain,
    )
