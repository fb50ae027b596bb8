"""A world that begins with a full pipeline: as if something had always been played.

The totals of the first two blocks are compared with those of a world in which it really was
played, round by round, for longer than (nearly) any delay. Each of the eight cases makes three
two-sample tests; a p-value below ERROR_RATE over the number of all tests rejects, so that a right
shortcut fails with probability below 0.5% over the choice of its seeds. The default run has 250
runs of each, which notice a pipeline that is not there; the complete one has 1,500.
"""

import numpy as np
import pytest
from scipy import stats

from latesum import Beta, Calendar, FieldProblem, InvalidInput, Problem
from latesum.delays import base
from latesum.simulation.field import problem_from

ERROR_RATE = 0.005
WEEK = Calendar(step=12, factors=(1.0, 0.2, 0.6))
#: The problem, the status quo, how long it ran in the reference, the plan, the largest table.
CASES = {
    "uniform": (Problem([0.4, 0.7], "uniform(0, 30)"), 1, 60, ((0, 20), (1, 25)), None),
    "constant": (Problem([0.4, 0.7], "constant(12)"), 0, 30, ((1, 5), (1, 20)), None),
    "far tail": (Problem([0.4, 0.7], "exponential(15)"), 1, 600, ((0, 25), (1, 40)), 4),
    "heavy tail": (Problem([0.4, 0.7], "pareto(2.5, 12)"), 1, 3000, ((0, 25), (1, 40)), 8),
    "Beta rewards": (Problem([Beta(2, 3), 0.7], "poisson(8)"), 0, 60, ((1, 10), (0, 20)), None),
    "no arm": (Problem([0.4, 0.7], "exponential(9)"), 0.9, 300, ((0, 12), (1, 20)), None),
    "a calendar": (
        FieldProblem([0.4, 0.7], "exponential(10)", calendar=WEEK),
        1,
        180,
        ((0, 12), (1, 20)),
        8,
    ),
    "no arm, a calendar": (
        FieldProblem([0.4, 0.7], "exponential(10)", calendar=WEEK),
        0.9,
        180,
        ((0, 12), (1, 20)),
        None,
    ),
}


def _totals(play, runs):
    return np.array([play(np.random.default_rng([7, number])) for number in range(runs)])


@pytest.mark.parametrize("runs", [250, pytest.param(1500, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_the_pipeline_is_that_of_a_world_in_which_it_was_really_played(name, runs, monkeypatch):
    problem, status_quo, long_enough, plan, largest = CASES[name]
    if largest is not None:
        monkeypatch.setattr(base, "MAX_TABLE", largest)
        problem = problem_from(problem.plain())
    reference, arm = problem, status_quo
    if isinstance(status_quo, float):  # a third arm
        data = problem.plain()
        reference, arm = problem_from({**data, "arms": [*data["arms"], status_quo]}), 2

    def shortcut(rng):
        world = problem.start(rng=rng, status_quo=status_quo)
        return [world.play(*block) for block in plan]

    def played(rng):
        world = reference.start(rng=rng, at=-long_enough)
        world.play_rounds(arm, long_enough)
        assert world.rounds_played == 0
        return [world.play_rounds(*block).sum() for block in plan]

    def empty(rng):
        world = problem.start(rng=rng)
        return [world.play(*block) for block in plan]

    mine, theirs = _totals(shortcut, runs), _totals(played, runs)
    limit = ERROR_RATE / (3 * len(CASES))
    for one, other in (
        (mine[:, 0], theirs[:, 0]),
        (mine[:, 1], theirs[:, 1]),
        (mine.sum(1), theirs.sum(1)),
    ):
        assert stats.ks_2samp(one, other).pvalue > limit
    # The tests would notice a pipeline that is not there.
    assert stats.ks_2samp(_totals(empty, runs)[:, 0], theirs[:, 0]).pvalue < 1e-9


def test_what_is_in_flight_is_the_mean_delay_times_the_mean():
    """Error rate 0.3% (three standard errors)."""
    problem = Problem([0.3, 0.6], "pareto(2.5, 40)")
    in_flight = np.array(
        [problem.start(rng=np.random.default_rng(i), status_quo=1).outstanding for i in range(1000)]
    )
    expected = 0.6 * problem.delay.mean
    assert abs(in_flight.mean() - expected) < 3 * in_flight.std() / np.sqrt(len(in_flight))


def test_a_calendar_is_followed_before_the_start_and_a_drift_is_not():
    calendar = Calendar(step=10, factors=(1.0, 0.0), drift_to=(0.0, 1.0), drift_over=100)
    problem = FieldProblem([1.0, 0.0], "constant(0)", calendar=calendar)
    world = problem.start(rng=np.random.default_rng(1), status_quo=0, at=-20)
    assert [world.play(0, 10), world.play(0, 10)] == [10.0, 0.0]
    assert world.rounds_played == 0


@pytest.mark.parametrize(
    ("status_quo", "says"),
    [(2, "no arm 2"), (-1, "an arm"), (True, "not True"), (1.5, "at most 1, not 1.5")],
)
def test_nonsense_is_refused(status_quo, says):
    with pytest.raises(InvalidInput, match=says):
        Problem([0.4, 0.7], "constant(3)").start(
            rng=np.random.default_rng(1), status_quo=status_quo
        )


def test_a_delay_without_a_mean_would_have_infinitely_much_in_flight(monkeypatch):
    problem = Problem([0.4, 0.7], "pareto(1.1, 5)")
    monkeypatch.setattr(type(problem.delay), "mean", np.inf)
    with pytest.raises(InvalidInput, match="no finite mean"):
        problem.start(rng=np.random.default_rng(1), status_quo=0)
