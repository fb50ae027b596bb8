"""Which policy a plan takes, and when it is a go: to the sign."""

from __future__ import annotations

import pytest

from latesum.experiments.stats import Uncertain
from latesum.planning.candidates import EQUAL_SPLIT, Candidate
from latesum.planning.inputs import read_inputs
from latesum.planning.racing import Forecast, Simulator, Thresholds, recommend
from latesum.planning.sensitivity import next_best
from latesum.planning.verdict import judge

WANTED = Thresholds(finds_best=0.8)


def number(value):
    return Uncertain(value, value - 0.01, value + 0.01)


def forecast(label, finds_best, gain, gain_low=1.0):
    zero = number(0.0)
    return Forecast(
        Candidate.of(label, "unmix", {}, ""), zero, zero, number(gain), number(gain_low),
        number(finds_best), zero, zero, zero, zero, (), 100,
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
    ("finds_best", "gain_low", "passes"),
    [(0.8, 0.1, True), (0.799, 0.1, False), (0.9, 0.0, False), (0.9, -0.1, False)],
)
def test_the_thresholds_themselves(finds_best, gain_low, passes):
    assert forecast("a", finds_best, 1.0, gain_low).passes(WANTED) is passes


def test_a_close_go_says_so():
    simulator = Simulator(WANTED, 1, {})
    for surely, finds_best, gain_low in (
        (True, 0.9, 1.0),
        (False, 0.805, 1.0),
        (False, 0.9, 0.005),
    ):
        found = judge(None, forecast("a", finds_best, 1.0, gain_low), simulator, 10)
        assert found.answer == "go"
        assert found.sure is surely
        assert ("It is not sure" not in found.reason) is surely


def test_what_gains_nothing_says_so():
    """At exactly nothing it is no go, and that is the reason; what would change it is simulated."""
    inputs = read_inputs(
        options=2, rate=0.1, lift="50%", traffic="1000 per day", late="4 hours", run_for="2 weeks"
    )
    found = judge(inputs, forecast("a", 0.9, 1.0, 0.0), Simulator(WANTED, 1, {}), 4)
    assert found.answer != "go"
    assert "a does not gain over an equal split" in found.reason
