"""Reported intervals miss no more often than stated, where that is proved."""

import numpy as np
import pytest

import interval_coverage as coverage
from latesum import Flow
from latesum.experiments.store import read_summary
from latesum.simulation import Problem


@pytest.mark.parametrize(
    ("arms", "delay"),
    [
        pytest.param(arms, delay, marks=() if place == turn else pytest.mark.slow)
        for place, arms in enumerate(["2a", "10lin", "near one"])
        for turn, delay in enumerate(coverage.BOUNDED)
    ],
)
def test_lookahead_misses_no_more_often_than_stated(arms, delay):
    """30 runs of at least 8 intervals each; the rates found with 500 runs are below 0.005."""
    case = ("flow, look-ahead", arms, delay)
    at_95, at_9975 = coverage.measure_coverage([case], replications=30, seed=4)
    assert at_95.holds
    assert at_9975.missed <= 0.01
    assert at_95.looked_at >= 240


@pytest.mark.slow
@pytest.mark.parametrize("delay", coverage.BOUNDED)
@pytest.mark.parametrize("arms", coverage.ARMS)
def test_on_every_problem_of_the_table(arms, delay):
    case = ("flow, look-ahead", arms, delay)
    for row in coverage.measure_coverage([case], replications=400, seed=4):
        assert row.holds


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


def _command(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["interval_coverage", *arguments, "--workers", "1"])
    return coverage.main()


def test_the_command_resumes_and_looks_at_what_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    asked = ("--replications", "2", "--arms", "2a", "--policy", "flow, look-ahead")
    assert _command(monkeypatch, *asked)
    out, said = capsys.readouterr()
    cases = len(coverage.BOUNDED)
    assert out.count("2a") == 2 * cases
    assert f"{2 * cases} runs." in said
    assert _command(monkeypatch, *asked)
    again, said = capsys.readouterr()
    assert again == out
    assert f"All {2 * cases} runs are there already" in said
    rows = read_summary(tmp_path / "coverage-results" / "coverage.csv")
    assert len(rows) == 2 * cases
    assert {row["looked_at"] for row in rows} == {"16"}  # two runs, two arms, four times


def test_nonsense_is_refused(monkeypatch, capsys):
    with pytest.raises(SystemExit):
        _command(monkeypatch, "--policy", "unmixed")
    assert "unmixed" in capsys.readouterr().err
