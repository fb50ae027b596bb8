"""Worlds that are not the paper's: the same law as a plain loop over rounds, and honest regret.

EXACTNESS. Totals of consecutive blocks are drawn by the shortcut and by a plain loop written
here; mean and variance of each and the covariance of neighbors are compared by z-tests. A z above
4.5 rejects; there are about 40 tests, so a right shortcut fails with probability below 0.03%. The
default run draws 200 samples, which see a mean that is wrong by half of its standard deviation;
the complete one draws 2,000.
"""

from __future__ import annotations

import numpy as np
import pytest

from latesum import ODAAF, Block, InvalidInput, Oracle, Problem, RoundRobin, compare, simulate
from latesum.experiments.loop import LateLoop, Reports
from latesum.policies import Policy
from latesum.simulation import Calendar, FieldProblem

CALENDAR = Calendar(step=40, factors=(1.0, 0.5, 0.2), drift_to=(0.2, 0.9), drift_over=300)
PLAN = ((0, 70), (1, 25), (1, 100), (0, 45))


@pytest.fixture(params=[200, pytest.param(2000, marks=pytest.mark.slow)])
def count(request):
    """How many samples are compared."""
    return request.param


def plain_loop(problem, plan, rng, count):
    """One round after the other, over `count` runs side by side: what arrives in each play."""
    ends = np.cumsum([rounds for _, rounds in plan])
    totals = np.zeros((count, len(plan)))
    for now, arm in enumerate(arm for arm, rounds in plan for _ in range(rounds)):
        mean = problem.means[arm]
        if problem.calendar is not None:
            way = min((now // 40 + 0.5) * 40 / 300, 1.0)
            mean = (mean + way * (CALENDAR.drift_to[arm] - mean)) * (1.0, 0.5, 0.2)[now // 40 % 3]
        paid = np.flatnonzero(rng.random(count) < mean)
        arrival = now + problem.delays[arm].draw(len(paid), rng)
        play = np.searchsorted(ends, arrival, side="right")
        seen = play < len(plan)
        totals[paid[seen], play[seen]] += 1
        if problem.background:
            playing = np.searchsorted(ends, now, side="right")
            totals[:, playing] += rng.poisson(problem.background, count)
    return totals


def samples(draw, count):
    return np.array([draw(np.random.default_rng([number, 3])) for number in range(count)])


def assert_same_law(one, other, limit=4.5):
    for column in range(one.shape[1]):
        for moment in (lambda x: x, lambda x: (x - x.mean()) ** 2):
            a, b = moment(one[:, column]), moment(other[:, column])
            z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b) + 1e-12)
            assert abs(z) < limit
    for left in range(one.shape[1] - 1):
        a = (one[:, left] - one[:, left].mean()) * (one[:, left + 1] - one[:, left + 1].mean())
        b = (other[:, left] - other[:, left].mean()) * (
            other[:, left + 1] - other[:, left + 1].mean()
        )
        z = (a.mean() - b.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b) + 1e-12)
        assert abs(z) < limit


@pytest.mark.parametrize("how", ["play", "play_rounds"])
def test_a_changing_world_is_that_of_the_loop(how, count):
    problem = FieldProblem(
        [0.6, 0.3],
        ["uniform(0, 60)", "exponential(15)"],
        calendar=CALENDAR,
        background=0.05,
    )

    def shortcut(rng):
        world = problem.start(rng=rng)
        if how == "play":
            return [world.play(arm, rounds) for arm, rounds in PLAN]
        return [world.play_rounds(arm, rounds).sum() for arm, rounds in PLAN]

    slow = plain_loop(problem, PLAN, np.random.default_rng(9), 2 * count)
    assert_same_law(samples(shortcut, count), slow)


def test_regret_is_against_the_best_of_each_moment():
    calendar = Calendar(step=100, drift_to=(0.7, 0.5), drift_over=1000)
    problem = FieldProblem([0.5, 0.7], "uniform(0, 10)", calendar=calendar)
    run = simulate(problem, Oracle(2, 1000, best_arm=1), 1000, seed=1)
    means = np.array([calendar.means_at(problem.means, step=s) for s in range(10)])
    expected = np.cumsum(np.repeat(means.max(axis=1) - means[:, 1], 100))
    at = np.array([1, 50, 500, 777, 1000])
    assert run.regret(at) == pytest.approx(expected[at - 1])
    assert run.regret() == pytest.approx(expected[-1])
    mixed = simulate(problem, RoundRobin(2, block=130), 1000, seed=1)
    arms = np.concatenate([np.full(s.rounds, s.arm) for s in mixed.plays])
    per_round = np.repeat(means, 100, axis=0)
    lost = np.cumsum(per_round.max(axis=1) - per_round[np.arange(1000), arms])
    assert mixed.regret(at) == pytest.approx(lost[at - 1])
    assert [
        simulate(problem, Oracle(2, 1000, best_arm=arm), 1000, seed=1).ended_on_best
        for arm in (0, 1)
    ] == [True, False]


def test_the_table_says_what_is_broken():
    problem = FieldProblem(
        [0.5, 0.7], ["uniform(0, 10)", "uniform(0, 30)"], calendar=Calendar.weekly(100)
    )
    roster = {"ODAAF": ODAAF(2, 2000, mean_delay=15), "turns": RoundRobin(2)}
    text = str(compare(problem, roster, 2000, replications=2, seed=1))
    assert "† ODAAF: assumes that all options have the same delays" in text
    assert "† ODAAF: assumes that means stay as they are" in text
    assert "turns †" not in text
    plain = compare(Problem([0.5, 0.7], "uniform(0, 10)"), roster, 2000, replications=2, seed=1)
    assert "†" not in str(plain)


class Recorder(Policy):
    """Keeps what the deciding copy of it knew at each decision."""

    kind = "recorder"
    seen: list

    def _reset(self):
        self.known = []

    def _learn(self, play):
        self.known = [*self.known, play]

    def _next(self):
        Recorder.seen.append(list(self.known))
        return Block(0, 5, "learn")

    def _estimate(self, arm, level):
        return None, 0.0, 1.0, 0


def decisions(reports):
    """Six buckets of ten rounds: the totals as they were, and what was known at the last decision."""
    world = Problem([0.5, 0.6], "constant(0)").start(rng=np.random.default_rng(1))
    Recorder.seen = []
    plays = LateLoop(world, Recorder(2), reports, np.random.default_rng(2)).play(60)
    return [play.total for play in plays], Recorder.seen[-1]


def test_restated_totals_are_final_in_the_end():
    totals, seen = decisions(Reports(10, final_after=2, first_share=0.5))
    # After 5 buckets the first 3 are final, and 2 are known by half.
    known = sum(totals[:3]) + sum(totals[3:5]) / 2
    assert sum(play.total for play in seen) == pytest.approx(known)


def test_missing_totals_are_never_learned_from():
    _, seen = decisions(Reports(10, missing=1.0))
    assert all(play.total is None and play.purpose == "override" for play in seen)


def test_buckets_at_once_decide_as_buckets_one_by_one():
    """Without a lag nothing changes within a block: the same switches at the same buckets."""
    problem = Problem([0.4, 0.6], "uniform(0, 20)")
    policy = ODAAF(2, 20_000, mean_delay=10)
    plays = simulate(problem, policy, 20_000, seed=3, bucket=100).plays
    alone = policy.fresh()
    for play in plays:
        for part in range(0, play.rounds, 100):
            assert alone.ask().arm == play.arm
            share = play.total if part == 0 else 0.0
            alone.tell(play.arm, min(100, play.rounds - part), share, play.purpose, play.number)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Calendar(step=0), "at least 1"),
        (lambda: Calendar(step=10, drift_to=(0.1, 0.2)), "both"),
        (lambda: Calendar.weekly(100, weekdays=[1, 1]), "7 days"),
        (
            lambda: FieldProblem([0.5, 0.9], "constant(1)", calendar=Calendar(10, (1.5,))),
            "exceeds 1",
        ),
        (lambda: Reports(0), "the bucket"),
        (lambda: Reports(lag=-1), "the report lag"),
        (lambda: Reports(10, missing=2), "at most 1"),
        (lambda: Reports(missing=0.1), "bucket"),
    ],
)
def test_nonsense_is_refused(build, says):
    with pytest.raises(InvalidInput, match=says):
        build()


def test_permuted_arms_keep_their_drift_and_all_else():
    calendar = Calendar(50, (1.0, 0.5), drift_to=(0.9, 0.1, 0.4), drift_over=1_000)
    problem = FieldProblem(
        [0.2, 0.5, 0.3],
        ["constant(1)", "poisson(30)", "uniform(0, 9)"],
        calendar=calendar,
        background=0.3,
    )
    order = [1, 2, 0]
    permuted = problem.permuted(order)
    assert permuted.means == tuple(problem.means[arm] for arm in order)
    assert permuted.best == order.index(problem.best)
    for rounds in (0, 400, 5_000):
        gaps = problem.gaps_at(rounds)
        assert permuted.gaps_at(rounds) == tuple(gaps[arm] for arm in order)
    at = np.array([10, 700, 2_000])
    listed, here = (each.start(rng=np.random.default_rng(1)) for each in (problem, permuted))
    for arm in (0, 1, 2, 1):
        assert (permuted.lost_by(arm, at) == problem.lost_by(order[arm], at)).all()
        assert here.play(arm, 500) == listed.play(order[arm], 500)
