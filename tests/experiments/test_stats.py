"""One run has no standard error, and nothing that is built on it says otherwise."""

import json
import math

import numpy as np
import pytest

from latesum import Problem, RoundRobin, compare
from latesum.experiments import stats
from latesum.experiments.paper import verdicts

PROBLEM = Problem([0.3, 0.6], "geometric(10)")


def test_one_value_has_no_error():
    for values in (np.array([3.0]), np.array([[1.0, 2.0]])):
        assert np.isnan(stats.standard_error(values)).all()
        assert np.isnan(stats.variance(values)).all()
    assert math.isnan(stats.mean_of(np.array([3.0])).low)
    above, below = np.array([[4.0]]), np.array([[2.0]])
    ratio, error = stats.ratio_of_means(above, below)
    assert ratio == [2.0]
    assert np.isnan(error).all()
    assert np.isnan(stats.independent_ratio_error(above, below, 200)).all()


def test_a_comparison_of_one_run_prints_a_dash_and_plots(tmp_path):
    result = compare(PROBLEM, {"turns": RoundRobin(2)}, 500, replications=1, seed=1)
    assert math.isnan(result.summary()[0].standard_error)
    assert " – " in str(result)
    assert json.loads(json.dumps(result.to_json()))["policies"][0]["standard_error"] is None
    result.plot(tmp_path / "figure.png")


def test_a_curve_of_one_run_has_no_verdict():
    row = verdicts.EndRatio("3a", "x", 10.0, 11.0, math.nan, math.nan, runs=1)
    assert row.cells == ["3a x", "10.00", "11.00", "–", "–", "–"]


def test_a_sweep_of_one_run_says_that_there_is_no_error(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.toml").write_text(
        'horizon = 500\nreplications = 1\nratio = {policy = "oracle(best_arm=0)"}\n'
        'problems = [{ arms = [0.4, 0.6], delay = "constant(3)" }]\n'
        'policies = [{ policy = "odaaf" }, { policy = "oracle(best_arm=0)" }]\n'
    )
    code, out, _ = latesum("sweep", "one.toml", "--workers", "1")
    assert code == 0
    assert " – " in out
    assert "± –" in out
    assert "nan" not in out


@pytest.mark.parametrize("count", [0, 7, 100])
def test_limits_hold_what_they_are_limits_of(count):
    share = stats.share_of(count, 100)
    assert share.low <= share.value <= share.high
    assert stats.rate_upper_limit(count, 100) >= share.value
