"""Which policy is recommended, the verdict, and what would have to change: from given runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from latesum.planning import Plan
from latesum.planning.planner import judge, read_inputs, scenarios
from latesum.planning.runs import recommend

from .conftest import SMALL, row

FAILS = row("half test", np.ones(100), np.arange(100) < 50)


def found_in(runs, count=100):
    return np.arange(count) < runs


def test_which_policy_is_taken():
    runs, gains = (85, 90, 99, 70), (10.0, 30.0, 20.0, 99.0)
    rows = [
        row(label, np.full(100, gain), found_in(found))
        for label, gain, found in zip("abcd", gains, runs, strict=True)
    ]
    rows.append(row("equal split", np.full(100, 500.0), runnable=False))
    best, why = recommend(rows)
    assert best.label == "b"
    assert "among the 3 that meet both thresholds" in why
    assert "of the next, c" in why
    assert recommend([rows[0], rows[3]])[1].startswith("it is the only one")
    best, why = recommend([rows[3], row("e", np.full(100, 10.0), found_in(60))])
    assert best.label == "d"
    assert why.startswith("none meets both thresholds")


@pytest.mark.parametrize(
    ("found", "bad_runs", "wanted", "passes"),
    [
        (80, 4, 0.8, True),
        (79, 0, 0.8, False),
        (100, 5, 0.8, False),
        (100, 4, 0.8, True),
        (80, 4, 0.81, False),
    ],
)
def test_the_thresholds_themselves(found, bad_runs, wanted, passes):
    gain = np.where(found_in(bad_runs), 0.0, 1.0)
    assert row("a", gain, found_in(found), wanted=wanted).passes is passes


def plan_of(recommended, inputs=None, simulate=None):
    judged = judge(inputs, recommended, simulate, 40)
    return Plan(inputs, (recommended,), recommended, "it is the only one", *judged, {}, 1)


@pytest.mark.parametrize(
    ("runs", "found", "bad_runs", "sure"),
    [(200, 200, 0, True), (200, 162, 0, False), (200, 200, 8, False), (20, 20, 0, False)],
)
def test_a_verdict_says_how_sure_it_is(runs, found, bad_runs, sure):
    """Twenty runs say little of a 5th percentile, however good they are."""
    gain = np.where(found_in(bad_runs, runs), -1.0, 1.0)
    plan = plan_of(row("a", gain, found_in(found, runs)))
    assert plan.verdict == "go"
    assert plan.headline == ("go" if sure else "go, not sure")
    assert (f"{runs} runs do not settle it" not in plan.explanation) is sure


def go_if(condition):
    """Runs as if every policy were a go where a condition holds of the inputs."""

    def simulate(pairs, runs, stream, what):
        return [
            row(candidate.label, np.ones(runs), np.full(runs, condition(inputs)))
            for inputs, candidate in pairs
        ]

    return simulate


INPUTS = read_inputs(**{**SMALL, "options": 3, "lift": "10%"})


@pytest.mark.parametrize(
    ("condition", "verdict", "changes"),
    [
        (lambda each: each.run_hours >= 2 * INPUTS.run_hours, "conditional go", ["horizon"]),
        (lambda each: each.options == 2, "conditional go", ["options"]),
        (lambda each: each.run_hours > 2 * INPUTS.run_hours, "no-go", ["horizon"]),
        (lambda each: each.horizon >= 6 * INPUTS.horizon, "no-go", ["horizon", "traffic"]),
        (lambda each: each.lift >= 4 * INPUTS.lift, "no-go", ["lift"]),
        (lambda each: False, "no-go", []),
    ],
)
def test_fewer_options_or_twice_the_time_are_a_conditional_go(condition, verdict, changes):
    plan = plan_of(FAILS, INPUTS, go_if(condition))
    assert plan.verdict == verdict
    assert [change.what for change in plan.changes] == changes
    texts = {
        "horizon": "a run up to 32 times as long",
        "options": "fewer options",
        "traffic": "up to 32 times the traffic",
        "lift": "a lift up to 32 times as large",
    }
    for what, text in texts.items():
        helps = verdict == "conditional go" or what in changes
        assert (text.split(" up to")[0] in plan.not_enough) is not helps
    assert plan.not_enough.startswith("Not enough by itself: ") is (verdict == "no-go")


def test_what_would_have_to_change_is_the_range_around_the_smallest_step():
    enough = 6 * INPUTS.horizon
    plan = plan_of(FAILS, INPUTS, go_if(lambda each: each.horizon >= enough or each.lift > 0.05))
    said = {change.what: change for change in plan.changes}
    assert {what: (each.low, each.factor, each.high) for what, each in said.items()} == {
        "horizon": (4, 6, 8),
        "traffic": (4, 6, 8),
        "lift": (4, 6, 8),
    }
    assert said["horizon"].sentence == "run for about 32 to 64 weeks in place of 8 weeks"
    assert said["traffic"].sentence.endswith("4 to 8 times the traffic (4,000 to 8,000 a day)")
    assert said["lift"].sentence == "look for a lift of about 40 to 80% in place of 10%"
    assert said["lift"].row.label == "unmix"
    negative = read_inputs(
        **{**SMALL, "rate": None, "mean": 0.0, "low": -1.0, "high": 9.0, "lift": "+0.1"}
    )
    assert math.isnan(negative.lift_share)
    plan = plan_of(FAILS, negative, go_if(lambda each: each.lift > 0.25))
    assert [change.sentence for change in plan.changes] == [
        "look for a lift of about 0.2 to 0.4 in place of 0.1"
    ]


def test_what_might_be_true_instead():
    assert list(scenarios(INPUTS)) == [
        "as given",
        "delays twice as long",
        "delays half as long",
        "lift half as large",
        "nothing is better",
        "all new options are worse",
        "best option 1.5 times as late",
        "best option 2 times as late",
        "best option 3 times as late",
        "week-ends a third lower",
    ]
    sure = scenarios(read_inputs(**SMALL, equal_delays=True))
    assert not any("times as late" in truth for truth in sure)
