"""Shared by the tests of the planner."""

import numpy as np
import pytest

from latesum.delays.curves import Uncertain
from latesum.experiments.stats import mean_of, quantile_of, share_of
from latesum.planning import plan
from latesum.planning.planner import read_inputs
from latesum.planning.runs import PERCENTILE, PlanRow, simulate
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


@pytest.fixture(scope="session")
def small_plan():
    """A plan that is a go, with few replications of some policies."""
    policies = ["unmix", "half test", "equal split"]
    asked = {**SMALL, "run_for": "5 weeks"}
    return plan(**asked, replications=20, workers=1, policies=policies)


def candidates(**said):
    """The policies that are tried, by label."""
    return {each.label: each for each in read_inputs(**{**SMALL, **said}).candidates()}


def simulated(*labels, runs=20, seed=1, **said):
    """How policies do, without a verdict and what that would have to simulate."""
    inputs = read_inputs(**{**SMALL, **said})
    known = {each.label: each for each in inputs.candidates()}
    chosen = [known.get(label) or inputs.candidate(label) for label in labels]
    how = {"workers": 1}
    return simulate(
        [(inputs, each) for each in chosen], runs, 0, "", wanted=0.8, seed=seed, how=how
    )


def row(label, gain, found=None, runnable=True, wanted=0.8):
    """How a policy does, by the gain of each run and whether it found the best option."""
    gain = np.asarray(gain, dtype=float)
    found = np.ones(len(gain), dtype=bool) if found is None else np.asarray(found)
    zero = Uncertain(0.0, 0.0, 0.0)
    return PlanRow(
        candidate=Candidate(label, PolicySpec("unmix", {}), runnable),
        wanted=wanted,
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
