"""Runs as a whole: blocks, long delays, memory."""

import tracemalloc

import numpy as np
import plain_policies as plain
import pytest

from latesum.attributed import QPMD, DelayedUCB1, run, runner
from latesum.simulation import Beta, Problem

PROBLEM = Problem([0.5, 0.6], "uniform(0, 100)")


def seed(number=3):
    return np.random.SeedSequence(number)


def test_blocks_are_those_of_one_arm_across_chunks():
    horizon = 2 * runner.CHUNK + 5
    arms, rounds = run(PROBLEM, QPMD("ucb1", 2), horizon, seed_sequence=seed())
    assert (arms[1:] != arms[:-1]).all()
    assert rounds.min() >= 1
    assert rounds.sum() == horizon


def test_a_run_does_not_use_up_its_seed():
    seed_sequence = seed()
    first = run(PROBLEM, QPMD("thompson", 2), 5_000, seed_sequence=seed_sequence)
    second = run(PROBLEM, QPMD("thompson", 2), 5_000, seed_sequence=seed_sequence)
    assert np.repeat(*first).tolist() == np.repeat(*second).tolist()
    assert seed_sequence.n_children_spawned == 0


@pytest.mark.parametrize("policy", [QPMD("ucb1", 2), DelayedUCB1(2)], ids=["queues", "received"])
def test_delays_far_beyond_the_ring(policy, monkeypatch):
    """With a ring of 32 rounds and chunks of 16 most of this tail goes round it many times."""
    monkeypatch.setattr(runner, "CHUNK", 16)
    monkeypatch.setattr(runner, "MAX_RING", 32)
    problem = Problem([0.5, 0.6], "pareto(1.05, 1000)")
    horizon = 3_000
    version = (
        plain.QueuedPolicy(plain.IndexBase(2, plain.ucb1()), 2)
        if isinstance(policy, QPMD)
        else plain.DelayedUCB1(2)
    )
    arms, _ = plain.play(problem, version, horizon, seed())
    assert np.repeat(*run(problem, policy, horizon, seed_sequence=seed())).tolist() == arms


def test_memory_grows_with_the_delay_and_not_with_the_horizon():
    def memory_of(horizon):
        tracemalloc.start()
        run(PROBLEM, QPMD("ucb1", 2), horizon, seed_sequence=seed())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    memory_of(1_000)
    assert memory_of(1_000_000) < 1.1 * memory_of(100_000)


def test_the_same_luck_for_every_policy():
    """Runs with one seed meet the same rewards and delays in the same rounds."""
    one, two = runner.Draws(PROBLEM, seed()), runner.Draws(PROBLEM, seed())
    one.policy_rng.random(100)
    one.next_chunk()
    two.next_chunk()
    assert (one.rewards == two.rewards).all()
    assert (one.delays == two.delays).all()


@pytest.mark.parametrize(
    "problem",
    [Problem([0.3, 0.8], "uniform(0, 100)"), Problem([0.2, Beta(6, 2), 0.5], "pareto(1.3, 30)")],
    ids=["two arms", "other rewards and a heavy tail"],
)
def test_rewards_that_cannot_change_the_choice_change_nothing_else(problem):
    """Long runs, in which UCB1 is sure of its arm for many rewards in a row."""
    horizon, n_arms = 60_000, problem.n_arms
    version = plain.QueuedPolicy(plain.IndexBase(n_arms, plain.ucb1()), n_arms)
    arms, _ = plain.play(problem, version, horizon, seed())
    played = run(problem, QPMD("ucb1", n_arms), horizon, seed_sequence=seed())
    assert np.repeat(*played).tolist() == arms
