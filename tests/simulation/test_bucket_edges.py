"""In which bucket a late reward arrives, to the round."""

import numpy as np
import pytest

from latesum import Problem


@pytest.mark.parametrize(
    ("delay", "arrives"),
    [
        (0, [10, 0, 0]),
        (1, [9, 1, 0]),
        (9, [1, 9, 0]),
        (10, [0, 10, 0]),
        (11, [0, 9, 1]),
        (20, [0, 0, 10]),
    ],
)
def test_each_round_arrives_in_its_bucket(delay, arrives):
    """Ten rounds that all pay: a reward of round t arrives in round t + delay."""
    world = Problem([1.0, 0.0], f"constant({delay})").start(rng=np.random.default_rng(1))
    assert [world.play(arm, 10) for arm in (0, 1, 1)] == arrives


@pytest.mark.parametrize("rounds", [1_500, 3_000], ids=["drawn one by one", "in cohorts"])
def test_each_round_of_a_long_delay_arrives_in_its_bucket(rounds):
    world = Problem([1.0, 0.0], "constant(9000)").start(rng=np.random.default_rng(1))
    seen = [world.play(0, rounds), world.play(1, 9_000 - rounds), world.play(1, 100)]
    assert seen == [0, 0, 100]
    assert world.play(1, rounds - 100) == rounds - 100
