"""The league: it resumes, is seeded, and counts lock-ins that are there."""

import numpy as np
import pytest

from latesum import Problem
from latesum.cli.league import as_markdown
from latesum.lab.arm_order import random_order
from latesum.lab.league import ENTRANTS, run_league
from latesum.lab.league.lock_ins import count_lock_ins
from latesum.lab.league.problems import PROBLEMS, Setting

SMALL = {
    "late": Setting(Problem([0.3, 0.6], "exponential(5)"), 20_000),
    "daily": Setting(Problem([0.3, 0.6], "uniform(0, 9)"), 20_000, bucket=500, report_lag=1000),
}
FEW = {name: ENTRANTS[name] for name in ("flow", "odaaf", "odaaf-b", "qpm-d KL-UCB++")}


def test_every_policy_meets_every_problem_that_it_can_play(tmp_path):
    rows = run_league(tmp_path, replications=4, problems=SMALL, entrants=FEW)
    played = {(row.problem, row.policy) for row in rows}
    # ODAAF-B needs a bound, and a baseline that sees single rewards has no buckets.
    assert played == {
        ("late", "flow"), ("late", "odaaf"), ("late", "qpm-d KL-UCB++"),
        ("daily", "flow"), ("daily", "odaaf"), ("daily", "odaaf-b"),
    }  # fmt: skip
    prices = {row.policy: row.price_of_anonymity for row in rows if row.problem == "late"}
    assert prices["flow"] > 1
    assert prices["odaaf"] is None
    assert "| late |" in as_markdown(rows)


def test_it_resumes_and_gives_the_same_table(tmp_path):
    first = run_league(tmp_path, replications=3, problems=SMALL, entrants=FEW)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    next(iter(times)).unlink()
    assert run_league(tmp_path, replications=3, problems=SMALL, entrants=FEW) == first
    unchanged = [path for path, time in times.items() if path.stat().st_mtime_ns == time]
    assert len(unchanged) == len(times) - 1


def test_a_run_that_stays_with_a_bad_arm_is_a_lock_in():
    setting = Setting(Problem([0.3, 0.6], "constant(3)"), 1_000)
    lost = np.array([300.0] * 12)
    bad_first = sum(random_order(2, (1, number))[0] == 0 for number in range(12))
    assert 0 < bad_first < 12
    assert count_lock_ins(setting, "oracle(best_arm=0)", lost, seed=1) == bad_first
    assert count_lock_ins(setting, "oracle(best_arm=1)", lost, seed=1) == 12 - bad_first
    assert count_lock_ins(setting, "oracle(best_arm=0)", np.zeros(12), seed=1) == 0
    assert count_lock_ins(setting, "oracle", lost, seed=1) == 0


def test_the_problems_are_those_of_the_notes_and_more():
    assert len(PROBLEMS) >= 17
    line = PROBLEMS["ten arms in a line"].problem
    assert sum(line.gaps) == pytest.approx(4.0)
