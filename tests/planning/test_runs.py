"""Which policy is recommended, and with which runs."""

from __future__ import annotations

import numpy as np
import pytest

from latesum.planning import plan
from latesum.planning.runs import recommend

from .conftest import SMALL, row

WANTED = 0.8


def test_which_policy_is_taken():
    found = [np.arange(100) < 85, np.arange(100) < 90, np.arange(100) < 99, np.arange(100) < 70]
    gains = [np.full(100, gain) for gain in (10.0, 30.0, 20.0, 99.0, 500.0)]
    rows = [row(label, gain, each) for label, gain, each in zip("abcd", gains, found, strict=False)]
    rows.append(row("equal split", gains[4], runnable=False))
    best, why = recommend(rows, WANTED)
    assert best.label == "b"
    assert "among the 3 that meet both thresholds" in why
    assert "of the next, c" in why
    assert recommend([rows[0], rows[3]], WANTED)[1].startswith("it is the only one")
    best, why = recommend([rows[3], row("e", gains[0], found[3][::-1] & found[3])], WANTED)
    assert best.label == "d"
    assert why.startswith("none meets both thresholds")


@pytest.mark.parametrize(
    ("found", "bad_runs", "passes"),
    [(80, 4, True), (79, 0, False), (100, 5, False), (100, 4, True)],
)
def test_the_thresholds_themselves(found, bad_runs, passes):
    gain = np.where(np.arange(100) < bad_runs, 0.0, 1.0)
    assert row("a", gain, np.arange(100) < found).passes(WANTED) is passes


def test_a_plan_is_the_same_on_any_number_of_workers_and_a_slow_policy_has_fewer_runs():
    policies = ["switchback", "half test", "equal split"]
    asked = {**SMALL, "policies": policies, "replications": 60, "sensitivity": False}
    found = [plan(**asked, workers=workers) for workers in (1, 2)]
    assert found[0].to_json() == found[1].to_json()
    runs = {each.label: each.replications for each in found[0].rows}
    assert runs == {"switchback": 24, "half test": 60, "equal split": 60}
    for label, count in runs.items():
        line = next(line for line in str(found[0]).splitlines() if line.startswith(f" {label}"))
        assert f" {count}" in line


def test_the_same_policy_by_two_names_has_all_runs_twice():
    asked = {**SMALL, "replications": 220, "workers": 1, "sensitivity": False}
    half = plan(**{**asked, "replications": 20}, policies=["half test"]).recommended.candidate
    given = ", ".join(
        f"{name}={value}" for name, value in half.spec.parameters.items() if name != "n_arms"
    )
    found = plan(**asked, policies=["half test", f"fixed-split({given})"])
    assert [each.replications for each in found.rows] == [220, 220]
    assert found.rows[0].gain == found.rows[1].gain
