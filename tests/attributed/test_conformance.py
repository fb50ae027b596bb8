"""What every attributed policy must do: a new one needs one line here."""

import pickle

import numpy as np
import plain_policies as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum.attributed import DUCB, KLDUCB, QPMD, SBD, DelayedUCB1, ImprovedUCB, run
from latesum.attributed import layout_kernels as layout
from latesum.attributed.draws import Draws
from latesum.simulation import Beta, Problem

HORIZON = 1_000

#: Each policy, made for a number of arms and told what it must know about the delays.
POLICIES = {
    "qpmd ucb1": lambda n, delays: QPMD("ucb1", n),
    "qpmd ucb1 tight": lambda n, delays: QPMD("ucb1", n, exploration=0.5),
    "qpmd kl-ucb": lambda n, delays: QPMD("kl-ucb", n),
    "qpmd kl-ucb++": lambda n, delays: QPMD("kl-ucb++", n, horizon=HORIZON),
    "qpmd thompson": lambda n, delays: QPMD("thompson", n),
    "delayed ucb1": lambda n, delays: DelayedUCB1(n),
    "sbd thompson": lambda n, delays: SBD("ucb1", n, max_delay=60),
    "sbd greedy": lambda n, delays: SBD("kl-ucb", n, heuristic="greedy", max_delay=60),
    "sbd twice thompson": lambda n, delays: SBD("thompson", n, max_delay=60),
    "ducb": lambda n, delays: DUCB(delays, n),
    "kl-ducb": lambda n, delays: KLDUCB(delays, n, epsilon=0.2),
    "improved ucb": lambda n, delays: ImprovedUCB(n, horizon=HORIZON),
}
PROBLEMS = {
    "none": Problem([0.4, 0.6, 0.5], "constant(0)"),
    "bounded": Problem([0.4, 0.6, 0.5], "uniform(0, 60)"),
    "own delays": Problem([0.4, 0.6, 0.5], ["uniform(0, 9)", "exponential(20)", "geometric(4)"]),
    "other rewards": Problem([Beta(2, 3), 0.6, Beta(3, 2)], "poisson(2)"),
    "heavy tail": Problem([0.4, 0.6], "pareto(1.1, 20)"),
}
pytestmark = pytest.mark.filterwarnings("ignore:SBD:UserWarning")

every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def made_for(make, problem):
    policy = make(problem.n_arms, problem.delays)
    if isinstance(policy, ImprovedUCB) and problem is not PROBLEMS["none"]:
        pytest.skip("for undelayed rewards only")
    return policy


def arms_of(problem, policy, horizon=HORIZON, seed=7, **options):
    seed_sequence = np.random.SeedSequence(seed)
    played = run(problem, policy, horizon, seed_sequence=seed_sequence, record=True, **options)
    return np.repeat(played.arms, np.diff([*played.starts, horizon])).tolist()


def by_hand(problem, policy, horizon=HORIZON, seed=7):
    seed_sequence = np.random.SeedSequence(seed)
    steps = policy.start(rng=Draws(problem, seed_sequence).policy_rng)
    return steps, *plain.play(problem, steps, horizon, seed_sequence)


@every_policy
@every_problem
def test_step_by_step_and_compiled_runs_are_identical_and_every_arrival_is_used_once(make, problem):
    """So no reward is used before its arrival: by hand, the policy has not been given it yet."""
    policy = made_for(make, problem)
    steps, arms, arrived = by_hand(problem, policy)
    assert arms_of(problem, policy) == arms
    memory = steps._memory
    used = memory.arms[layout.COUNT].sum() + memory.whole[layout.QUEUED_NOW]
    assert used == arrived


@every_policy
@every_problem
def test_the_seed_decides_alone(make, problem):
    policy = made_for(make, problem)
    arms = arms_of(problem, policy)
    assert arms_of(problem, policy) == arms
    assert any(arms_of(problem, policy, seed=other) != arms for other in range(8, 20))


@every_policy
@pytest.mark.parametrize(
    "problem", [PROBLEMS["none"], PROBLEMS["heavy tail"]], ids=["none", "tail"]
)
def test_the_length_of_a_compiled_call_does_not_matter(make, problem):
    policy = made_for(make, problem)
    arms = arms_of(problem, policy)
    for chunk in (1, 37, 999):
        assert arms_of(problem, policy, chunk=chunk) == arms


@every_policy
def test_every_arm_is_tried_in_time(make):
    """Within a longest delay (and the arm's own play) per arm, each has been played."""
    problem = PROBLEMS["bounded"]
    policy = made_for(make, problem)
    # Thompson sampling draws its arms: in time, but not by a fixed round.
    horizon = HORIZON if "thompson" in policy.name.lower() else 3 * 61
    for seed in range(5):
        assert set(arms_of(problem, policy, horizon, seed)) == {0, 1, 2}


@every_policy
def test_it_learns(make):
    """The better of two very different arms gets most plays."""
    problem = Problem([0.1, 0.9], "constant(0)")
    policy = make(2, problem.delays)
    played = run(problem, policy, HORIZON, seed_sequence=np.random.SeedSequence(1))
    assert played.plays[0, 1] > 0.9 * HORIZON


@every_policy
def test_it_travels_to_other_processes(make):
    problem = PROBLEMS["none"]
    policy = make(3, problem.delays)
    again = pickle.loads(pickle.dumps(policy))
    assert repr(again) == repr(policy)
    assert arms_of(problem, again) == arms_of(problem, policy)


@every_policy
def test_it_says_what_it_sees_and_what_it_is(make):
    policy = make(3, PROBLEMS["bounded"].delays)
    assert policy.sees == "labels"
    assert policy.n_arms == 3
    assert policy.name
    assert type(policy).__name__ in repr(policy)
    assert "delay" in type(policy).__doc__


@given(
    policy=st.sampled_from(sorted(set(POLICIES) - {"improved ucb"})),
    means=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    delay=st.sampled_from(["constant(1)", "uniform(0, 7)", "geometric(12)", "pareto(1.05, 400)"]),
    horizon=st.integers(1, 400),
    chunk=st.integers(1, 400),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:SBD:UserWarning")
def test_any_problem_by_hand_and_compiled(policy, means, delay, horizon, chunk, seed):
    problem = Problem(means, delay)
    chosen = POLICIES[policy](problem.n_arms, problem.delays)
    _, arms, _ = by_hand(problem, chosen, horizon, seed)
    assert arms_of(problem, chosen, horizon, seed, chunk=chunk) == arms
