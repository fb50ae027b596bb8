"""ODAAFS: phases, eliminations, and the answer at the end."""

import math

import numpy as np
import pytest

from latesum._checks import InvalidInput
from latesum.experiments import simulate
from latesum.policies.conformance import check
from latesum.policies.odaaf_s import ODAAFS
from latesum.simulation import Problem

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]
PARAMETERS = [
    {"n_arms": 3, "horizon": 5_000, "mean_delay": 10},
    {"n_arms": 2, "horizon": 100_000, "mean_delay": 20.3},
    {"n_arms": 5, "horizon": 1_000, "mean_delay": 0, "caution": 0},
    {"n_arms": 3, "horizon": 200, "mean_delay": 100},
]

#: Arms, horizon and the mean regret to hold with exponential(50) delays, told a mean delay of 50.
TARGETS = {
    "2a": ([0.5, 0.6], 250_000, 224),
    "2hard": ([0.5, 0.52], 1_000_000, 492),
    "10one": ([0.6] + [0.5] * 9, 250_000, 1954),
    "10lin": (np.linspace(0.1, 0.9, 10).tolist(), 250_000, 1343),
    "conv5": ([0.012] + [0.01] * 4, 1_000_000, 574),
}


def regrets(name, runs):
    means, horizon, _ = TARGETS[name]
    problem, policy = Problem(means, "exponential(50)"), ODAAFS(len(means), horizon, 50)
    gaps = problem.gaps
    return np.array(
        [
            sum(
                gaps[arm] * rounds
                for arm, rounds, *_ in simulate(problem, policy, horizon, seed=5, number=run).plays
            )
            for run in range(runs)
        ]
    )


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_conformance(parameters, seed):
    check(ODAAFS(**parameters, rng=np.random.default_rng(seed)), seed=seed)


@pytest.mark.parametrize("name", TARGETS)
def test_regret_is_near_its_target(name):
    """40 runs; five standard errors above a tenth more than the target."""
    found = regrets(name, 40)
    assert found.mean() < 1.1 * TARGETS[name][2] + 5 * found.std() / math.sqrt(len(found))


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_regret_within_a_tenth_of_its_target(name):
    assert regrets(name, 600).mean() < 1.1 * TARGETS[name][2]


def test_phases_elimination_and_commitment():
    policy = ODAAFS(3, 100_000, mean_delay=10, names=["A", "B", "C"], rng=np.random.default_rng(0))
    means = {0: 0.8, 1: 0.5, 2: 0.75}
    played, under_way = [], 0.0
    while policy.ask().purpose != "commit":
        arm, rounds, purpose, *_ = policy.ask()
        assert purpose == "learn"
        policy.tell(arm, rounds, rounds * means[arm] - 10 * means[arm] + under_way)
        under_way = 10 * means[arm]
        played.append((arm, rounds))
    assert sorted(played[:3]) == [(0, 30), (1, 30), (2, 30)]
    assert {rounds for _, rounds in played[3:6]} == {60}
    assert policy.ask().arm == 0
    sentences = policy.explain()
    assert sentences[0].startswith("B was dropped in phase 5 after 810 rounds: its upper limit")
    assert "is below A's lower limit" in sentences[0]
    assert sentences[1].startswith("C was dropped in phase")
    assert sentences[-1] == f"Next: A for {policy.ask().rounds:,} rounds, because it is the answer."
    assert [row.active for row in policy.estimates()] == [True, False, False]


def test_nothing_is_dropped_in_the_first_phase():
    policy = ODAAFS(3, 100_000, mean_delay=10)
    for total in (27.0, 3.0, 1.0):
        arm, rounds, *_ = policy.ask()
        policy.tell(arm, rounds, total)
    assert all(row.active for row in policy.estimates())


def test_an_interrupted_block_is_made_up_to_a_useful_length():
    policy = ODAAFS(2, 100_000, mean_delay=10, rng=np.random.default_rng(0))
    arm, rounds, *_ = policy.ask()
    policy.tell(arm, rounds - 1, 10.0)
    policy.tell(1 - arm, 100, 50.0, "override")
    assert policy.ask()[:3] == (arm, rounds, "learn")


def test_the_horizon_must_be_given():
    with pytest.raises(InvalidInput):
        ODAAFS(2, None, mean_delay=10)
