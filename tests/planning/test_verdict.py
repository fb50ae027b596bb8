"""Which policy a plan takes, and when it is a go: to the sign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from latesum.experiments.stats import Uncertain
from latesum.planning.answers import Forecast, Simulation, Thresholds
from latesum.planning.beliefs import read_beliefs
from latesum.planning.candidates import EQUAL_SPLIT, Candidate
from latesum.planning.verdict import judge, next_best, recommend
from latesum.policies.spec import PolicySpec

WANTED = Thresholds(ended_well=0.8)


def number(value):
    return Uncertain(value, value - 0.01, value + 0.01)


def forecast(label, ended_well, gain, worst_gain=1.0):
    zero = number(0.0)
    return Forecast(
        Candidate(label, PolicySpec.parse("unmix"), ""), zero, zero, number(gain), number(worst_gain),
        number(ended_well), zero, zero, zero, (), 100,
    )  # fmt: skip


def test_the_greatest_gain_of_those_that_pass():
    answers = [
        forecast("a", 0.85, 10.0),
        forecast("b", 0.9, 30.0),
        forecast("c", 0.99, 20.0),
        forecast("fails", 0.7, 99.0),
        forecast(EQUAL_SPLIT, 0.99, 500.0),
    ]
    best, why = recommend(answers, WANTED)
    assert best.candidate.label == "b"
    assert "among the 3 that meet both thresholds" in why
    assert "of the next, c" in why
    assert next_best(answers, best).candidate.label == "fails"
    assert recommend([answers[0], answers[3]], WANTED)[1].startswith("it is the only one")


def test_of_those_that_fail_the_surest():
    answers = [forecast("a", 0.7, 10.0), forecast("b", 0.6, 30.0), forecast(EQUAL_SPLIT, 0.9, 0.0)]
    best, why = recommend(answers, WANTED)
    assert best.candidate.label == "a"
    assert why.startswith("none meets both thresholds")


@pytest.mark.parametrize(
    ("ended_well", "worst_gain", "passes"),
    [(0.8, 0.1, True), (0.799, 0.1, False), (0.9, 0.0, False), (0.9, -0.1, False)],
)
def test_the_thresholds_themselves(ended_well, worst_gain, passes):
    assert forecast("a", ended_well, 1.0, worst_gain).passes(WANTED) is passes


def test_a_close_go_says_so():
    simulation = Simulation(WANTED, 1, {})
    for surely, ended_well, worst_gain in (
        (True, 0.9, 1.0),
        (False, 0.805, 1.0),
        (False, 0.9, 0.005),
    ):
        found = judge(None, forecast("a", ended_well, 1.0, worst_gain), simulation, 10)
        assert found.answer == "go"
        assert ("It is close" not in found.reason) is surely
    assert replace(found, answer="x").answer == "x"


def test_what_gains_nothing_says_so():
    """At exactly nothing it is no go, and that is the reason; what would change it is simulated."""
    beliefs = read_beliefs(
        options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours", run_for="2 weeks"
    )
    found = judge(beliefs, forecast("a", 0.9, 1.0, 0.0), Simulation(WANTED, 1, {}), 4)
    assert found.answer != "go"
    assert "a does not gain over an equal split" in found.reason
