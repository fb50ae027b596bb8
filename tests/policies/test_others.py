"""Fixed policies and rivals."""

import pytest

from latesum import InvalidInput, Problem, compare, simulate
from latesum.policies import ARSUCB, CLW, FixedSplit, Oracle, RoundRobin


def test_a_fixed_split_gives_each_arm_its_share_and_then_the_best():
    policy = FixedSplit(3, 1000, shares=[0.2, 0.3, 0.5])
    for arm, rounds, total in ((0, 200, 50), (1, 300, 200), (2, 500, 100)):
        assert policy.ask()[:3] == (arm, rounds, "learn")
        policy.tell(arm, rounds, total)
    assert policy.ask()[:3] == (1, 1000, "commit")


def test_a_round_robin_takes_turns_also_without_a_dropped_arm():
    policy = RoundRobin(3, block=10)
    policy.drop(1)
    asked = []
    for _ in range(4):
        asked.append(policy.ask().arm)
        policy.tell(*policy.ask()[:2], 5.0)
    assert asked == [0, 2, 0, 2]


def test_the_oracle_has_no_regret():
    problem = Problem([0.2, 0.7, 0.4], "poisson(3)")
    run = simulate(problem, Oracle(3, 500, best_arm=1), 500, seed=3)
    assert run.regret() == 0
    with pytest.raises(InvalidInput, match="there is no arm 3"):
        Oracle(3, 500, best_arm=3)


def test_ars_ucb_grows_its_blocks_and_finds_the_best_arm():
    problem = Problem([0.5, 0.6], "exponential(50)")
    result = compare(problem, {"ars": ARSUCB(2)}, 250_000, replications=20, seed=4)
    # 509 +- 11 with 50 runs in our notes; the mean of 20 runs has a standard error of about 18.
    assert 430 < result.summary()[0].mean < 590
    assert result.summary()[0].ended_on_best == 1


def test_clw_settles_for_2d_minus_1_rounds_and_measures_d():
    policy = CLW(2, 10_000, delay_bound=9)
    bridge = policy.ask()
    assert bridge.purpose == "bridge"
    assert bridge.rounds >= 2 * 10 - 1 - 10
    policy.tell(*bridge[:2], 0.0, "bridge")
    assert policy.ask()[:3] == (bridge.arm, 10, "learn")


def test_clw_prefers_the_arm_that_pays():
    problem = Problem([0.1, 0.9], "uniform(0, 4)")
    result = compare(
        problem, {"clw": CLW(2, 30_000, delay_bound=4)}, 30_000, replications=8, seed=5
    )
    # Without learning the regret would be 12,000.
    assert result.summary()[0].worst < 8_000
