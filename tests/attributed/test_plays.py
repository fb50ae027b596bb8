"""Every attributed policy plays as its plain version; a new one needs one line here."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attributed import plain_policies as plain
from latesum import InvalidInput, _kl_kernels
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
WITH_DELAYS = sorted(set(POLICIES) - {"improved ucb"})
TWO_ARMS = Problem([0.5, 0.6], "uniform(0, 100)")
NO_DELAY = Problem([0.5, 0.6], "constant(0)")
PROBLEMS = {
    "none": Problem([0.4, 0.6, 0.5], "constant(0)"),
    "bounded": Problem([0.4, 0.6, 0.5], "uniform(0, 60)"),
    "own delays": Problem([0.4, 0.6, 0.5], ["uniform(0, 9)", "exponential(20)", "geometric(4)"]),
    "other rewards": Problem([Beta(2, 3), 0.6, Beta(3, 2)], "poisson(2)"),
    "heavy tail": Problem([0.4, 0.6], "pareto(1.1, 20)"),
    "equal arms": Problem([1.0, 1.0, 1.0], "uniform(0, 2)"),
    "nothing paid": Problem([0.0, 0.0], "uniform(0, 3)"),
    "seldom at once": Problem([0.5, 0.45, 0.6, 0.3, 0.55], "poisson(50)"),
    "cut off": Problem([0.5, 0.6], "exponential(50).clipped(55)"),
    "some very late": Problem(
        [0.5, 0.45, 0.6], "mixture((0.05, constant(60)), (0.95, uniform(0, 5)))"
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:SDB:UserWarning")

every_policy = pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)


def arms_of(problem, policy, horizon=HORIZON, seed=7):
    seed_sequence = np.random.SeedSequence(seed)
    return np.repeat(*run(problem, policy, horizon, seed_sequence=seed_sequence)).tolist()


def policy_rng(problem, seed):
    """The generator that a policy draws from in a run with this seed."""
    return runner.Draws(problem, np.random.SeedSequence(seed)).policy_rng


def assert_same_plays(problem, policy, version, horizon=HORIZON, seed=7):
    expected = plain.play(problem, version, horizon, np.random.SeedSequence(seed))
    assert arms_of(problem, policy, horizon, seed) == expected


def plain_version(name, problem, seed):
    """The plain version of a policy, with the draws that the policy has in a run with this seed."""
    n_arms, rng = problem.n_arms, policy_rng(problem, seed)
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


def assert_plays_plainly(name, problem, horizon=HORIZON, seed=7):
    policy = POLICIES[name](problem.n_arms, problem.delays)
    assert_same_plays(problem, policy, plain_version(name, problem, seed), horizon, seed)


@pytest.mark.parametrize("name", WITH_DELAYS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_it_plays_as_its_plain_version(name, problem):
    assert_plays_plainly(name, problem)


@given(
    name=st.sampled_from(WITH_DELAYS),
    means=st.lists(st.floats(0, 1), min_size=2, max_size=5),
    delay=st.sampled_from(["constant(1)", "uniform(0, 7)", "geometric(12)", "pareto(1.05, 400)"]),
    horizon=st.integers(1, 400),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=60, deadline=None)
def test_any_problem_is_played_as_by_the_plain_version(name, means, delay, horizon, seed):
    assert_plays_plainly(name, Problem(means, delay), horizon, seed)


@pytest.mark.parametrize(
    "delay", ["exponential(50)", "geometric(3)", "exponential(20).clipped(75)"]
)
def test_rounding_the_chances_changes_no_play(delay):
    """Where no two indices are equal: under uniform delays some are, before the first rewards."""
    problem = Problem([0.5, 0.6], delay)
    chances = [plain.unrounded_chances(problem.delay)] * 2
    for seed in range(3):
        order = policy_rng(problem, seed).permutation(2).tolist()
        assert sorted(order) == [0, 1]
        assert_same_plays(problem, DUCB(delay, 2), plain.DUCB(chances, order), HORIZON, seed)


@pytest.mark.parametrize("rounds", [1, 2, 5, 40, 1_000, 30_000])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_improved_ucb(rounds, seed):
    problem = Problem([0.3, 0.8, 0.75], "constant(0)")
    policy, version = ImprovedUCB(3, horizon=rounds), plain.ImprovedUCB(3, rounds)
    assert_same_plays(problem, policy, version, rounds, seed)


@pytest.mark.parametrize("name", ["qpmd ucb1", "delayed ucb1"])
def test_delays_far_beyond_the_ring(name, monkeypatch):
    """With a ring of 32 rounds and chunks of 16 most of this tail goes round it many times."""
    monkeypatch.setattr(runner, "CHUNK", 16)
    monkeypatch.setattr(runner, "MAX_RING", 32)
    assert_plays_plainly(name, Problem([0.5, 0.6], "pareto(1.05, 1000)"), 3_000, seed=3)


@pytest.mark.parametrize(
    "problem",
    [Problem([0.3, 0.8], "uniform(0, 100)"), Problem([0.2, Beta(6, 2), 0.5], "pareto(1.3, 30)")],
    ids=["two arms", "other rewards and a heavy tail"],
)
def test_rewards_that_cannot_change_the_choice_change_nothing_else(problem):
    """Long runs, in which UCB1 is sure of its arm for many rewards in a row."""
    assert_plays_plainly("qpmd ucb1", problem, 60_000, seed=3)


def test_without_delay_delayed_ucb1_is_ucb1():
    for seed in range(5):
        ucb1 = arms_of(NO_DELAY, QPMD("ucb1", 2), seed=seed)
        assert arms_of(NO_DELAY, DelayedUCB1(2), seed=seed) == ucb1


def test_sdb_that_may_keep_nothing_unused_is_qpmd():
    sdb = SDB("kl-ucb", 2, heuristic="thompson", max_delay=0)
    assert arms_of(NO_DELAY, sdb, seed=1) == arms_of(NO_DELAY, QPMD("kl-ucb", 2), seed=1)


@every_policy
def test_the_seed_decides_alone_here_and_in_other_processes(make):
    problem = PROBLEMS["none"]
    policy = make(3, problem.delays)
    again = pickle.loads(pickle.dumps(policy))
    assert again == policy == type(policy)(**policy.parameters)
    assert repr(again) == repr(policy)
    assert policy.name
    seed = np.random.SeedSequence(7)
    arms, same = (
        np.repeat(*run(problem, each, HORIZON, seed_sequence=seed)) for each in (policy, again)
    )
    assert arms.tolist() == same.tolist()
    assert seed.n_children_spawned == 0
    assert any(arms_of(problem, policy, seed=other) != arms.tolist() for other in range(8, 20))


@every_policy
def test_a_class_of_ones_own_whose_methods_would_never_be_called_is_refused(make):
    owner = type(make(3, PROBLEMS["bounded"].delays))
    with pytest.raises(InvalidInput, match=r"Mine cannot extend .* would never be called"):
        type("Mine", (owner,), {"choose": lambda self: 0})


def test_blocks_are_those_of_one_arm_across_chunks():
    horizon = 2 * runner.CHUNK + 5
    seed = np.random.SeedSequence(3)
    arms, rounds = run(TWO_ARMS, QPMD("ucb1", 2), horizon, seed_sequence=seed)
    assert (arms[1:] != arms[:-1]).all()
    assert rounds.min() >= 1
    assert rounds.sum() == horizon


def test_memory_grows_with_the_delay_and_not_with_the_horizon():
    def memory_of(horizon):
        tracemalloc.start()
        run(TWO_ARMS, QPMD("ucb1", 2), horizon, seed_sequence=np.random.SeedSequence(3))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    memory_of(1_000)
    assert memory_of(1_000_000) < 1.1 * memory_of(100_000)


def test_the_same_luck_for_every_policy():
    """Runs with one seed meet the same rewards and delays in the same rounds."""
    one, two = (runner.Draws(TWO_ARMS, np.random.SeedSequence(3)) for _ in range(2))
    one.policy_rng.random(100)
    one.next_chunk()
    two.next_chunk()
    assert (one.rewards == two.rewards).all()
    assert (one.delays == two.delays).all()


def test_solvers_meet_their_equations():
    last_digit = _kl_kernels.TO_THE_LAST_DIGIT
    for p in [0.0, 1e-9, 0.01, 0.5, 0.99, 1 - 1e-9, 1.0]:
        assert _kl_kernels.bernoulli_upper(p, 0.0, last_digit) == p
        assert _kl_kernels.poisson_upper(p, 0.0) == p
        for allowance in [1e-6, 0.01, 0.5, 3.0, 50.0]:
            expected = plain.largest_within(plain.kl, p, allowance)
            found = _kl_kernels.bernoulli_upper(p, allowance, last_digit)
            assert found == pytest.approx(expected, abs=1e-9)
            expected = plain.largest_within(plain.poisson_divergence, p, allowance)
            assert _kl_kernels.poisson_upper(p, allowance) == pytest.approx(expected, abs=1e-9)
    # Too close for the bisection above: kl(p, q) is (q - p)^2 / (2 p (1 - p)) there.
    found = _kl_kernels.bernoulli_upper(0.3, 1e-14, last_digit)
    assert found - 0.3 == pytest.approx(np.sqrt(2e-14 * 0.21), rel=1e-4)
