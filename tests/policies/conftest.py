"""What tests of policies share."""

import warnings

import pytest

from latesum.policies import registry

KNOWN = {
    "n_arms": 3,
    "horizon": 6_000,
    "mean_delay": 8.0,
    "delay_variance": 20.0,
    "delay_bound": 20,
    "best_arm": 1,
}


@pytest.fixture
def built():
    """Builds a policy by its name, given what it can use of a small problem."""

    def build(name, **more):
        accepted = registry.accepted_parameters(name)
        given = {key: value for key, value in (KNOWN | more).items() if key in accepted}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a phase may be shorter than the delay bound
            return registry.build(name, **given)

    return build
