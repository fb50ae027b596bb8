"""The league: it resumes, is seeded, and counts lock-ins that are there."""

import math

import pytest

from latesum import InvalidInput, Problem
from latesum.experiments.spec import ORDER, RunSpec, arm_order
from latesum.experiments.studies.league import (
    ENTRANTS,
    Entrant,
    _setting,
    as_markdown,
    as_values,
    run_league,
)
from latesum.experiments.studies.league_problems import PROBLEMS, LeagueProblem
from latesum.experiments.summaries import read_summary, write_summary
from latesum.policies.spec import PolicySpec
from latesum.simulation.market import Market

SMALL = {
    "late": LeagueProblem(Problem([0.3, 0.6], "exponential(5)"), 20_000),
    "daily": LeagueProblem(
        Problem([0.3, 0.6], "uniform(0, 9)"), 20_000, bucket=500, report_lag=1000
    ),
}
FEW = {name: ENTRANTS[name] for name in ("flow", "odaaf", "odaaf-b", "qpm-d KL-UCB++")}


def test_every_policy_meets_every_problem_that_it_can_play(tmp_path):
    rows = run_league(tmp_path, replications=4, problems=SMALL, entrants=FEW)
    played = {(row.summary.problem, row.summary.policy) for row in rows}
    # ODAAF-B needs a bound, and a baseline that sees single rewards has no buckets.
    assert played == {
        ("late", "flow"), ("late", "odaaf"), ("late", "qpm-d KL-UCB++"),
        ("daily", "flow"), ("daily", "odaaf"), ("daily", "odaaf-b"),
    }  # fmt: skip
    prices = {
        row.summary.policy: row.price_of_anonymity for row in rows if row.summary.problem == "late"
    }
    assert prices["flow"] > 1
    assert prices["odaaf"] is None
    assert "| late |" in as_markdown(rows)
    values = read_summary(write_summary(tmp_path / "league.csv", map(as_values, rows)))
    assert [float(row["mean"]) for row in values] == pytest.approx(
        [row.summary.mean for row in rows], rel=1e-5
    )


@pytest.mark.parametrize(
    "text", ["no-such-policy", "flow(no_such_parameter=3)", "no_such_module:Mine"]
)
def test_a_misspelt_entrant_is_refused_before_any_run(tmp_path, text):
    entrants = {**FEW, "mine": Entrant(text, 4)}
    with pytest.raises(InvalidInput, match="'mine' can play none of the problems"):
        run_league(tmp_path, replications=4, problems=SMALL, entrants=entrants)
    assert list(tmp_path.iterdir()) == []


def test_it_resumes_and_gives_the_same_table(tmp_path):
    made = []
    for _ in range(2):
        rows = run_league(
            tmp_path, replications=3, problems=SMALL, entrants=FEW,
            announce=lambda todo: made.append(todo.runs_left),
        )  # fmt: skip
        made.append(rows)
        next((tmp_path / "parts").rglob("*.parquet")).unlink()
    assert made[0] == 3 * 6
    assert made[2] == 3
    assert made[1] == made[3]


def test_one_replication_has_no_standard_error(tmp_path):
    rows = run_league(tmp_path, replications=1, problems=SMALL, entrants=FEW)
    assert all(math.isnan(row.summary.standard_error) for row in rows)
    assert "± –" in as_markdown(rows)


def test_a_run_that_stays_with_a_bad_arm_is_a_lock_in(tmp_path):
    small = {"small": LeagueProblem(Problem([0.3, 0.6], "constant(3)"), 1_000)}
    first = RunSpec(small["small"].problem, PolicySpec("oracle"), 1_000)
    bad_first = sum(arm_order(2, first.seeds(number, ORDER))[0] == 0 for number in range(12))
    assert 0 < bad_first < 12
    texts = ("oracle(best_arm=0)", "oracle(best_arm=1)", "oracle")
    entrants = {text: Entrant(text, 12) for text in texts}
    rows = run_league(tmp_path, problems=small, entrants=entrants)
    assert [row.lock_ins for row in rows] == [bad_first, 12 - bad_first, 0]


def test_policies_are_told_what_the_problem_says(tmp_path):
    told = LeagueProblem(Problem([0.3, 0.6], "constant(20)"), 5_000, told=0.5)
    other = LeagueProblem(Problem([0.3, 0.6], "constant(20)"), 5_000, before=0.9)
    settings = {
        (name, text): _setting(name, played, text, text, 1)
        for name, played in (("told", told), ("other", other))
        for text in ("flow", "odaaf")
    }
    met = {key: each.met_by(0)[1] for key, each in settings.items()}
    assert met["told", "flow"].mean_delay == met["told", "odaaf"].mean_delay == 10
    assert met["other", "flow"].mean_delay == 20
    assert (met["told", "flow"].before, met["other", "flow"].before) == (None, "other")
    with pytest.raises(InvalidInput):  # it begins with nothing in flight
        _setting("other", other, "qpm-d", "qpm-d", 1)
    # What ran before arrives in the first rounds, whatever the policy was told of it.
    first = {key: settings[key].run(0).plays[0] for key in settings if key[1] != "qpm-d"}
    assert first["other", "odaaf"].total - first["told", "odaaf"].total >= 10
    assert first["other", "flow"].total >= 10


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_can_be_played_by_flow_and_has_a_best_arm(name):
    played = PROBLEMS[name]
    setting = _setting(name, played, "flow", "flow", 1)
    setting.check()
    assert setting.horizon == played.horizon
    if not isinstance(played.problem, Market):
        assert max(played.problem.gaps) > 0
        assert played.horizon % played.bucket == 0


def test_in_a_market_policies_of_one_stream_and_the_tests_stand_in_one_table(tmp_path):
    few = {"shops": LeagueProblem(Market(regions=2, buckets=28), 28)}
    names = ("flow", "odaaf", "switchback", "half-time test", "qpm-d UCB1")
    entrants = {name: ENTRANTS[name] for name in names}
    rows = run_league(tmp_path, replications=2, problems=few, entrants=entrants)
    # One that has attributed feedback cannot play, and the tests play in markets only.
    assert [row.summary.policy for row in rows] == ["flow", "odaaf", "switchback", "half-time test"]
    assert all(row.summary.mean > 0 for row in rows)
    with pytest.raises(InvalidInput):
        _setting("x", PROBLEMS["two close arms"], "geo test", "geo-test", 1)


def test_the_problems_are_those_of_the_notes_and_more():
    assert len(PROBLEMS) == 24
    line = PROBLEMS["ten arms in a line"].problem
    assert sum(line.gaps) == pytest.approx(4.0)
