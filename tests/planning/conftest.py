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
#: All policies that are tried, in a doctest and where nothing but the core is there (tests/root/test_extras.py).
SOME = ["unmix", "quarter test", "half test", "equal split"]


@pytest.fixture(scope="session")
def small_plan():
    """A plan that is a go, with few replications of some policies."""
    return plan(**SMALL, replications=30, workers=1, policies=SOME)
