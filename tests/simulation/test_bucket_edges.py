"""In which bucket a late reward arrives, to the round."""

import numpy as np
import pytest

from latesum import Problem, delays
from latesum.simulation.buckets import BucketWorld


def in_python(low, high):
    """The same law, which is drawn in Python: compiled code knows no mixtures."""
    return delays.mixture((1, delays.uniform(low, high)))


@pytest.mark.parametrize("family", [delays.uniform, in_python])
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
def test_each_round_arrives_in_its_bucket(delay, arrives, family):
    """Ten rounds that all pay: a reward of round t arrives in round t + delay."""
    world = BucketWorld(
        Problem([1.0, 0.0], family(delay, delay)),
        bucket=10,
        buckets=3,
        rng=np.random.default_rng(1),
    )
    assert [world.play_buckets(arm, 1) for arm in (0, 1, 1)] == arrives
    # The same in the world that is played in rounds.
    plain = Problem([1.0, 0.0], f"constant({delay})").start(rng=np.random.default_rng(1))
    assert [plain.play(arm, 10) for arm in (0, 1, 1)] == arrives


@pytest.mark.parametrize("family", [delays.uniform, in_python])
@pytest.mark.parametrize("bucket", [1, 3, 10])
def test_what_is_due_in_the_last_round_of_a_block_arrives_in_it(bucket, family):
    """Delays of 0 to 5 rounds: every round pays, some at the very end of their block, and none is lost."""
    world = BucketWorld(
        Problem([1.0, 0.0], family(0, 5)),
        bucket=bucket,
        buckets=40,
        rng=np.random.default_rng(1),
    )
    seen = [world.play_buckets(arm, 2) for arm in (0, 0, 0, 1, 1, 1, 1)]
    assert sum(seen) == 6 * bucket
