"""Rewards: their moments, their sums, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latesum._checks import InvalidInput
from latesum.simulation import Bernoulli, Beta, Discrete, Reward
from latesum.simulation import rewards as rewards_module

#: Rewards and their variances, by hand.
VARIANCES = {
    Bernoulli(0.3): 0.21,
    Bernoulli(0): 0.0,
    Bernoulli(1): 0.0,
    Discrete([0, 0.25, 1], [0.5, 0.3, 0.2]): 0.3 / 16 + 0.2 - 0.275**2,
    Discrete([0.7], [1.0]): 0.0,
    Beta(2, 5): 10 / (49 * 8),
    Beta(0.5, 0.5): 1 / 8,
}
REWARDS = list(VARIANCES)
#: Five standard errors: each of about a hundred checks is wrong once in 1.7 million seeds.
ERRORS = 5


@pytest.mark.parametrize("reward", REWARDS, ids=repr)
def test_moments_are_those_of_the_draws(reward) -> None:
    rng = np.random.default_rng(1)
    drawn = reward.draw(40_000, rng)
    assert drawn.shape == (40_000,)
    assert drawn.dtype == np.float64
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    error = math.sqrt(VARIANCES[reward] / len(drawn))
    assert abs(drawn.mean() - reward.mean) <= ERRORS * error + 1e-12
    squares = (drawn - reward.mean) ** 2
    assert abs(squares.mean() - VARIANCES[reward]) <= ERRORS * squares.std() / 200 + 1e-12


@pytest.mark.parametrize("reward", REWARDS, ids=repr)
@pytest.mark.parametrize("count", [1, 7, 300])
def test_sums_have_the_moments_of_sums(reward, count) -> None:
    rng = np.random.default_rng(2)
    sums = np.array([reward.draw_sum(count, rng) for _ in range(3000)])
    error = math.sqrt(count * VARIANCES[reward] / len(sums))
    assert abs(sums.mean() - count * reward.mean) <= ERRORS * error + 1e-9
    squares = (sums - count * reward.mean) ** 2
    error = squares.std() / math.sqrt(len(sums))
    assert abs(squares.mean() - count * VARIANCES[reward]) <= ERRORS * error + 1e-9


def test_sums_in_pieces_add_up(monkeypatch) -> None:
    monkeypatch.setattr(rewards_module, "_PIECE", 10)
    whole = Beta(2, 2).draw(35, np.random.default_rng(4)).sum()
    assert Beta(2, 2).draw_sum(35, np.random.default_rng(4)) == pytest.approx(whole)


def test_a_billion_rewards_are_one_draw() -> None:
    rng = np.random.default_rng(5)
    for reward in (Bernoulli(0.3), Discrete([0, 0.25, 1], [0.5, 0.3, 0.2])):
        total = reward.draw_sum(10**9, rng)
        assert abs(total - 10**9 * reward.mean) <= 6 * math.sqrt(10**9 * VARIANCES[reward]) + 1e-6


@pytest.mark.parametrize("reward", REWARDS, ids=repr)
def test_every_reward_keeps_the_protocol_and_compares_by_value(reward) -> None:
    assert isinstance(reward, Reward)
    assert eval(repr(reward)) == reward
    assert reward.draw_sum(0, np.random.default_rng(3)) == 0
    assert len(reward.draw(0, np.random.default_rng(3))) == 0


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: Bernoulli(1.2), "at least 0 and at most 1, not 1.2"),
        (lambda: Bernoulli(-0.1), "at least 0 and at most 1, not -0.1"),
        (lambda: Bernoulli(math.nan), "the mean of a Bernoulli reward must be .* not nan"),
        (lambda: Bernoulli("0.5"), "not '0.5'"),
        (lambda: Discrete([0, 1], [0.5, 0.6]), "must sum to 1, not 1.1"),
        (lambda: Discrete([0, 1], [1.5, -0.5]), "a probability of a discrete reward must be"),
        (lambda: Discrete([0, 1], [1.0]), "2 values and 1 probabilities"),
        (lambda: Discrete([], []), "at least one of each"),
        (lambda: Discrete([0, math.nan], [0.5, 0.5]), "a value of a discrete reward must be"),
        (lambda: Beta(0, 1), "a of a Beta reward must be a number above 0"),
        (lambda: Beta(1, -2), "b of a Beta reward must be a number above 0"),
        (lambda: Discrete([0, 5], [0.5, 0.5]), "at least 0 and at most 1, not 5"),
    ],
)
def test_bad_rewards_are_refused(build, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        build()
