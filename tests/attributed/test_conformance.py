"""What every attributed policy must do: a new one needs one line here."""

import pickle

import numpy as np
import plain_policies as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum import InvalidInput
from latesum.attributed import DUCB, KLDUCB, QPMD, SDB, DelayedUCB1, ImprovedUCB, run, runner
from latesum.simulation import Beta, Problem

HORIZON = 1_000

#: Each policy, made for a number of arms and given what it must know about the delays.
POLICIES = {
    "qpmd ucb1": lambda n, delays: QPMD("ucb1", n),
    "qpmd ucb1 tight": lambda n, delays: QPMD("ucb1", n, exploration=0.5),
    "qpmd kl-ucb": lambda n, delays: QPMD("kl-ucb", n),
    "qpmd kl-ucb++": lambda n, delays: QPMD("kl-ucb++", n, horizon=HORIZON),
    "qpmd thompson": lambda n, delays: QPMD("thompson", n),
    "delayed ucb1": lambda n, delays: DelayedUCB1(n),
    "sdb thompson": lambda n, delays: SDB("ucb1", n, max_delay=60),
    "sdb greedy": lambda n, delays: SDB("kl-ucb", n, heuristic="greedy", max_delay=60),
    "sdb twice thompson": lambda n, delays: SDB("thompson", n, max_delay=60),
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
    "equal arms": Problem([1.0, 1.0, 1.0], "uniform(0, 2)"),
    "nothing paid": Problem([0.0, 0.0], "uniform(0, 3)"),
}
pytestmark = pytest.mark.filterwarnings("ignore:SDB:UserWarning")

every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)


def arms_of(problem, policy, horizon=HORIZON, seed=7):
    seed_sequence = np.random.SeedSequence(seed)
    return np.repeat(*run(problem, policy, horizon, seed_sequence=seed_sequence)).tolist()


def plain_version(name, problem, rng):
    """The plain version of a policy; `rng` is the generator that the policy draws from."""
    n_arms = problem.n_arms
    bases = {
        "ucb1": lambda: plain.IndexBase(n_arms, plain.ucb1()),
        "tight": lambda: plain.IndexBase(n_arms, plain.ucb1(0.5)),
        "kl-ucb": lambda: plain.IndexBase(n_arms, plain.kl_ucb),
        "kl-ucb++": lambda: plain.IndexBase(n_arms, plain.kl_ucb_plus_plus(HORIZON, n_arms)),
        "thompson": lambda: plain.ThompsonBase(n_arms, int(rng.integers(n_arms)), rng.beta),
    }
    if name.startswith("qpmd"):
        return plain.QueuedPolicy(bases[name.split()[-1]](), n_arms)
    if name.startswith("sdb"):
        base = {"sdb thompson": "ucb1", "sdb greedy": "kl-ucb"}.get(name, "thompson")
        rule = plain.greedy if name == "sdb greedy" else plain.thompson_heuristic(rng.beta)
        return plain.QueuedPolicy(bases[base](), n_arms, rule, 60)
    if name == "delayed ucb1":
        return plain.DelayedUCB1(n_arms)
    chances = [plain.rounded_chances(delay) for delay in problem.delays]
    order = rng.permutation(n_arms).tolist()
    return plain.DUCB(chances, order, *((0.2, True) if name == "kl-ducb" else ()))


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"improved ucb"}))
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_it_plays_as_its_plain_version(name, problem):
    policy, seed = POLICIES[name](problem.n_arms, problem.delays), np.random.SeedSequence(7)
    version = plain_version(name, problem, runner.Draws(problem, seed).policy_rng)
    expected, _ = plain.play(problem, version, HORIZON, seed)
    assert arms_of(problem, policy) == expected


@every_policy
def test_the_seed_decides_alone_here_and_in_other_processes(make):
    problem = PROBLEMS["none"]
    policy = make(3, problem.delays)
    again = pickle.loads(pickle.dumps(policy))
    assert again == policy
    assert repr(again) == repr(policy)
    arms = arms_of(problem, policy)
    assert arms_of(problem, again) == arms
    assert any(arms_of(problem, policy, seed=other) != arms for other in range(8, 20))


@every_policy
def test_it_can_be_made_again_from_its_parameters(make):
    policy = make(3, PROBLEMS["bounded"].delays)
    assert type(policy)(**policy.parameters) == policy
    assert policy.name


@every_policy
def test_a_class_of_ones_own_whose_methods_would_never_be_called_is_refused(make):
    owner = type(make(3, PROBLEMS["bounded"].delays))
    with pytest.raises(InvalidInput, match=r"Mine cannot extend .* would never be called"):
        type("Mine", (owner,), {"choose": lambda self: 0})


@given(
    name=st.sampled_from(sorted(set(POLICIES) - {"improved ucb"})),
    means=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    delay=st.sampled_from(["constant(1)", "uniform(0, 7)", "geometric(12)", "pareto(1.05, 400)"]),
    horizon=st.integers(1, 400),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:SDB:UserWarning")
def test_any_problem_is_played_as_by_the_plain_version(name, means, delay, horizon, seed):
    problem = Problem(means, delay)
    policy = POLICIES[name](problem.n_arms, problem.delays)
    seed_sequence = np.random.SeedSequence(seed)
    version = plain_version(name, problem, runner.Draws(problem, seed_sequence).policy_rng)
    expected, _ = plain.play(problem, version, horizon, seed_sequence)
    assert arms_of(problem, policy, horizon, seed) == expected
