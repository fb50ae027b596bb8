"""Guarded: the first rounds of every block are played and not learned from."""

import numpy as np
import pytest

from latesum.experiments import simulate
from latesum.policies.conformance import check
from latesum.policies.guarded import Guarded
from latesum.simulation import Problem

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]
PARAMETERS = [
    {"n_arms": 3, "horizon": 5_000, "mean_delay": 10},
    {"n_arms": 2, "mean_delay": 20.3, "index": "ucb1"},
    {"n_arms": 5, "horizon": 1_000, "mean_delay": 0},
    {"n_arms": 3, "horizon": 200, "mean_delay": 100, "index": "kl-ucb"},
    {"n_arms": 3, "horizon": 5_000, "mean_delay": 10, "guard": 75},
    {"n_arms": 3, "horizon": 5_000, "mean_delay": 10, "guard": 0},
]


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("seed", SEEDS)
def test_conformance(parameters, seed):
    check(Guarded(**parameters, rng=np.random.default_rng(seed)), seed=seed)


def test_every_change_of_arm_begins_with_a_guard():
    problem = Problem([0.5, 0.55], "exponential(20)")
    plays = simulate(problem, Guarded(2, 50_000, mean_delay=20, guard=30), 50_000, seed=1).plays
    changes = [
        (play, later)
        for before, play, later in zip([None, *plays], plays, plays[1:], strict=False)
        if before is None or before.arm != play.arm
    ]
    assert len(changes) > 5
    for play, later in changes[:-1]:
        assert (play.rounds, play.purpose) == (30, "bridge")
        assert later.arm == play.arm
        assert later.purpose == "learn"


def test_the_guard_is_not_learned_from():
    one, other = (Guarded(2, 50_000, mean_delay=20, rng=np.random.default_rng(0)) for _ in range(2))
    for policy, in_guard in ((one, 0.0), (other, 20.0)):
        for mean in (0.5, 0.6):
            arm, rounds, purpose, number, _ = policy.ask()
            policy.tell(arm, rounds, in_guard, purpose, number)
            arm, rounds, purpose, number, _ = policy.ask()
            assert purpose == "learn"
            policy.tell(arm, rounds, mean * rounds, purpose, number)
    assert one.ask() == other.ask()
    assert one.explain()[:2] == other.explain()[:2]


def test_an_override_that_begins_within_the_guard_is_not_learned_from():
    policy = Guarded(2, 50_000, mean_delay=20, rng=np.random.default_rng(0))
    policy.tell(1, 500, 400.0, "override")
    assert policy._counted == [0, 0]
    policy.tell(1, 100, 60.0, "learn")
    assert policy._counted == [0, 100]


def test_regret_on_two_arms():
    """60 runs: 69 on average (1000 runs), standard error 4; five of them above."""
    problem, policy = Problem([0.5, 0.6], "exponential(50)"), Guarded(2, 250_000, mean_delay=50)
    regrets = [
        sum(
            0.1 * play.rounds
            for play in simulate(problem, policy, 250_000, seed=2, number=run).plays
            if not play.arm
        )
        for run in range(60)
    ]
    assert np.mean(regrets) < 90
