"""Reported intervals miss no more often than stated, where that is proved."""

import numpy as np
import pytest

from latesum import Flow
from latesum._checks import InvalidInput
from latesum.experiments.studies import coverage
from latesum.experiments.summaries import read_summary
from latesum.simulation import Problem


@pytest.mark.parametrize(
    ("arms", "delay"),
    [
        pytest.param(arms, delay, marks=() if (place + turn) % 2 else pytest.mark.slow)
        for place, arms in enumerate(["2a", "10lin", "near one"])
        for turn, delay in enumerate(coverage.BOUNDED)
    ],
)
def test_lookahead_misses_no_more_often_than_stated(arms, delay):
    """30 runs of at least 8 intervals each; the rates found with 500 runs are below 0.005."""
    case = ("flow, look-ahead", arms, delay)
    at_95, at_9975 = coverage.measure_coverage([case], replications=30, seed=4)
    assert at_95.missed <= at_95.stated
    assert at_9975.missed <= 0.01
    assert at_95.looked_at >= 240


@pytest.mark.slow
@pytest.mark.parametrize("delay", coverage.BOUNDED)
@pytest.mark.parametrize("arms", coverage.ARMS)
def test_on_every_problem_of_the_table(arms, delay):
    case = ("flow, look-ahead", arms, delay)
    for row in coverage.measure_coverage([case], replications=400, seed=4):
        assert row.missed <= row.stated


def test_intervals_are_not_so_wide_that_they_say_nothing():
    problem = Problem([0.5, 0.6], "uniform(0, 100)")
    policy = Flow(2, 250_000, mean_delay=50, lookahead=100)
    world = problem.start(rng=np.random.default_rng(2))
    while world.rounds_played < 250_000:
        arm, rounds, purpose, number, _ = policy.ask()
        policy.tell(arm, rounds, world.play(arm, rounds), purpose, number)
    worse, better = policy.estimates(0.95)
    assert better.high - better.low < 0.01
    assert worse.high < 0.6
    assert worse.high - worse.low < 4 * 2 * 0.5 / worse.plays**0.5


def test_the_command_resumes(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = {name: coverage.POLICIES[name] for name in ("flow, look-ahead", "unmix, law known")}
    cases = [case for case in coverage.CASES if case[0] in few]
    monkeypatch.setattr(coverage, "POLICIES", few)
    monkeypatch.setattr(coverage, "CASES", cases)
    arguments = ("coverage", "--replications", "2", "--arms", "2a", "--workers", "1")
    code, out, said = latesum(*arguments)
    assert code == 0
    cases = sum(len(delays) for delays in coverage.POLICIES.values())
    assert out.count("2a") == cases
    assert f"{2 * cases} runs; about" in said
    code, again, said = latesum(*arguments)
    assert (code, again) == (0, out)
    assert f"All {2 * cases} runs are there already" in said
    rows = read_summary(tmp_path / "coverage-results" / "coverage.csv")
    assert len(rows) == 2 * cases
    assert {row["looked_at"] for row in rows} == {"16"}  # two runs, two arms, four times


def test_the_command_looks_at_the_policies_that_are_named(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    only = ("--arms", "2a", "--policy", "unmix, law known", "--workers", "1")
    code, out, _ = latesum("coverage", "--replications", "1", *only)
    assert code == 0
    assert out.count("2a") == len(coverage.DELAYS)
    code, _, said = latesum("coverage", "--policy", "unmixed")
    assert code == 2
    assert "unmixed" in said


def test_nonsense_is_refused():
    with pytest.raises(InvalidInput):
        coverage.measure_coverage([("flow", "2b", "uniform")])
