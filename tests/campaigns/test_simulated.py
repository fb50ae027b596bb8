"""What was simulated is what is deployed: a campaign decides as `simulate` does, bucket by bucket."""

from datetime import timedelta

import pytest

from latesum import Problem, simulate
from latesum.policies import registry

BUCKET = 500
PROBLEM = Problem([0.3, 0.45, 0.6], "uniform(0, 100)")
#: The policies with the lags that are tried by default.
FEW = (("odaaf", 2), ("unmix", 0), ("unmix", 2), ("flow", 2), ("round-robin", 2))
POLICIES = ("odaaf", "odaaf-b", "odaaf-v", "unmix", "flow", "ars-ucb", "round-robin")


def parameters_of(name, horizon):
    known = {
        "horizon": horizon,
        "mean_delay": 50.0,
        "delay_bound": 100,
        "delay_variance": 850.0,
    }
    accepted = registry.accepted_parameters(name)
    return {key: value for key, value in known.items() if key in accepted}


def in_buckets(run):
    """What was simulated, bucket by bucket: the simulator may play several buckets in one go.

    Its total is then split in whole numbers; a block is what its parts add up to.
    """
    for block in run.plays:
        count = block.rounds // BUCKET
        whole, rest = divmod(int(block.total), count)
        for index in range(count):
            yield block.arm, block.purpose, whole + (index < rest)


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize(
    ("name", "lag_in_buckets"),
    [
        *FEW,
        *(
            pytest.param(name, lag, marks=pytest.mark.slow)
            for name in POLICIES
            for lag in (0, 2)
            if (name, lag) not in FEW
        ),
    ],
)
def test_a_campaign_decides_as_the_simulator_does(name, lag_in_buckets, new_campaign, clock):
    n_buckets, seed = 60, 11
    horizon = n_buckets * BUCKET
    parameters = parameters_of(name, horizon)
    policy = registry.build(name, n_arms=3, **parameters)
    run = simulate(
        PROBLEM, policy, horizon, seed=seed, bucket=BUCKET, report_lag=lag_in_buckets * BUCKET
    )
    simulated = list(in_buckets(run))
    assert len(simulated) == n_buckets

    campaign = new_campaign(policy=name, parameters=parameters, expected_rounds=BUCKET, seed=seed)
    for bucket, (arm, purpose, _) in enumerate(simulated, start=1):
        known = bucket - 1 - lag_in_buckets
        if known >= 1:
            campaign.record(known, rounds=BUCKET, total=simulated[known - 1][2])
        decision = campaign.decide()
        assert (decision.bucket, decision.arm, decision.purpose) == (bucket, arm, purpose)
        clock.now += timedelta(days=1)
