"""Rewards in flight as counts: none is lost or made, however often the time stops, and the law is right."""

import numpy as np
import pytest

from latesum.delays import parse
from latesum.simulation import Problem
from latesum.simulation.cohorts import Cohorts
from latesum.simulation.rewards import Discrete
from latesum.simulation.world import InFlight


@pytest.mark.parametrize("delay", ["uniform(0, 20000)", "pareto(1.5, 9000)", "constant(9000)"])
def test_no_reward_is_lost_or_made_however_often_the_time_stops(delay):
    """Every play has a reward, so plays run out; and short blocks make that rounds are drawn."""
    problem = Problem([Discrete([1], [1]), Discrete([1], [1])], delay)
    world = problem.start(rng=np.random.default_rng(1))
    seen = world.play(0, 15_000)
    for rounds in [1, 2, 3] * 30 + [500, 7, 40_000, 1]:
        seen += world.play(1, rounds)
    assert seen + world.outstanding == world.rounds_played
    assert seen + world.play_rounds(0, 60_000).sum() + world.outstanding == world.rounds_played


def test_a_long_history_of_short_blocks_is_not_looked_at_again_and_again():
    cohorts = Cohorts(parse("exponential(50000)"))
    rng = np.random.default_rng(1)
    cohorts.send(100_000, 100_000, 0.5, rng)
    in_flight = 0
    for end in range(100_000, 101_000):
        _, known = cohorts.move_to(end, rng)
        in_flight += len(known)
    assert cohorts.in_flight == 0
    assert in_flight > 15_000


def test_what_arrives_in_many_short_windows_has_the_right_mean_and_spread():
    """Three windows after a long block, 400 samples: z-tests at 4.5, so 6 tests err below 0.01%."""
    delay, mean, plays = parse("uniform(0, 6000)"), 0.4, 5_000
    ends = [5_000, 5_040, 5_100, 8_000]
    samples = []
    for number in range(400):
        rng = np.random.default_rng([2, number])
        cohorts, later = Cohorts(delay), InFlight()
        cohorts.send(ends[0], plays, mean, rng)
        row = []
        for end in ends:
            count, known = cohorts.move_to(end, rng)
            later.add(known, np.ones(len(known)))
            row.append(count + later.take(end))
        samples.append(row)
    ages = [end - np.arange(1, plays + 1) for end in ends]
    for window in range(1, len(ends)):
        chance = mean * (delay.cdf(ages[window]) - delay.cdf(ages[window - 1]))
        drawn = np.array(samples)[:, window]
        variance = (chance * (1 - chance)).sum()
        assert abs(drawn.mean() - chance.sum()) < 4.5 * np.sqrt(variance / 400)
        assert abs(drawn.var() / variance - 1) < 4.5 * np.sqrt(2 / 400)


def test_later_gives_each_reward_in_its_round():
    rng = np.random.default_rng(3)
    rounds, rewards = rng.integers(1, 50_000, 2_000), rng.random(2_000)
    rounds[:6] = (1, 4_095, 4_096, 4_097, 30_000, 50_000)  # some arrive just then
    later = InFlight()
    for start in range(0, 2_000, 100):
        later.add(rounds[start : start + 100], rewards[start : start + 100])
    for end in (1, 4_095, 4_096, 4_097, 30_000, 50_000):
        due = rounds <= end
        taken, paid = later.take_each(end)
        assert sorted(taken) == sorted(rounds[due])
        assert paid.sum() == pytest.approx(rewards[due].sum())
        rounds, rewards = rounds[~due], rewards[~due]
    assert later.total == 0


def test_no_play_pays_twice_however_often_the_time_stops():
    cohorts, rng = Cohorts(parse("uniform(0, 6000)")), np.random.default_rng(4)
    cohorts.send(5_000, 5_000, 0.5, rng)
    most = 0
    for end in range(5_000, 7_000, 20):
        cohorts.move_to(end, rng)
        drawn = cohorts._taken
        assert len(np.unique(drawn)) == len(drawn)
        most = max(most, len(drawn))
    assert most > 500


@pytest.mark.parametrize("rounds", [1_500, 3_000], ids=["drawn one by one", "in cohorts"])
def test_each_round_of_a_long_delay_arrives_in_its_bucket(rounds):
    world = Problem([1.0, 0.0], "constant(9000)").start(rng=np.random.default_rng(1))
    seen = [world.play(0, rounds), world.play(1, 9_000 - rounds), world.play(1, 100)]
    assert seen == [0, 0, 100]
    assert world.play(1, rounds - 100) == rounds - 100
