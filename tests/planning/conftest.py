"""Shared by the tests of the planner."""

import pytest

from latesum.planning import plan

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
    """A plan that is a go, with few replications."""
    return plan(**SMALL, replications=30, workers=1)
