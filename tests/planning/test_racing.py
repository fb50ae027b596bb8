"""Replications go where the verdict depends on them, and the recommendation does not suffer from it."""

from __future__ import annotations

import numpy as np
import pytest

from latesum.planning import plan
from latesum.planning.candidates import chosen_candidates
from latesum.planning.inputs import read_inputs
from latesum.planning.racing import (
    ELIMINATION_Z,
    Outcomes,
    Simulator,
    Thresholds,
    is_dominated,
    race,
)

from .conftest import SMALL

WANTED = Thresholds()


def outcome(gain, found=None):
    gain = np.asarray(gain, dtype=float)
    ended = np.ones(len(gain), dtype=bool) if found is None else np.asarray(found)
    return Outcomes(gain, ended)


def normal(rng, count):
    return rng.normal(1000, 200, (2, count))


def with_rare_disasters(rng, count):
    return np.where(rng.random((2, count)) < 0.03, -500, rng.normal(1000, 50, (2, count)))


def in_step(rng, count):
    """Runs of one number draw from the same seed."""
    return rng.normal(1000, 200, count) + rng.normal(0, 30, (2, count))


@pytest.mark.parametrize("law", [normal, with_rare_disasters, in_step])
@pytest.mark.parametrize("count", [100, 400])
def test_two_that_are_equally_good_are_not_separated(law, count):
    """Each of 1,000 pairs is separated with probability 1/2,900 by the law of t; more than 4 then have one below 0.0001."""
    rng = np.random.default_rng(1)
    wrong = sum(
        is_dominated(outcome(one), outcome(other), WANTED)
        for one, other in (law(rng, count) for _ in range(1000))
    )
    assert wrong <= 4


@pytest.mark.parametrize("apart", [0.6, 1.0])
def test_one_that_is_clearly_worse_is_stopped(apart):
    """Worse by 0.6 sd of a run: at 100 pairs that is 4.2 standard errors of the difference on average."""
    rng = np.random.default_rng(2)
    stopped = sum(
        is_dominated(outcome(worse - 200 * apart), outcome(better), WANTED)
        for better, worse in (normal(rng, 100) for _ in range(200))
    )
    assert stopped > (140 if apart < 1 else 198)


def test_of_those_that_fail_the_one_that_ends_right_less_often_is_stopped():
    rng = np.random.default_rng(3)
    gain = rng.normal(100, 10, 200)
    rarely, often = rng.random(200) < 0.3, rng.random(200) < 0.7
    assert is_dominated(outcome(gain, rarely), outcome(gain, often), WANTED)
    assert not is_dominated(outcome(gain, often), outcome(gain, often[::-1]), WANTED)
    # One that may yet pass where the leader fails is not behind, however small its gain.
    assert not is_dominated(outcome(gain - 50), outcome(gain, often), WANTED)
    # One that fails for certain is, where the leader passes.
    assert is_dominated(outcome(gain + 50, rarely), outcome(gain), WANTED)


class Prepared(Simulator):
    """Gives gains that are made up in place of simulated ones, by the label of the candidate."""

    def make(self, trials, wanted, what):
        gains = self.options["gains"]
        for trial, count in zip(trials, wanted, strict=True):
            lost = gains["split"] - gains[trial.candidate.label][:count]
            _, _, winner, right, settled, good = trial.specs[0].measures
            trial.rows = [{
                "regret": lost[:, None], "switches": np.zeros(count, dtype=int),
                winner: np.ones(count, dtype=bool), right: np.ones(count, dtype=bool),
                settled: np.ones(count), good: np.ones((count, 3), dtype=bool),
            }]  # fmt: skip
        return [trial.forecast(self.thresholds.percentile) for trial in trials]


@pytest.mark.parametrize("falls", [False, True])
def test_what_was_stopped_is_looked_at_again_if_it_turns_out_to_be_the_best(falls):
    """The leader gains most in its first hundred runs, and later far less."""
    inputs = read_inputs(**SMALL)
    candidates = chosen_candidates(inputs, ["half test", "quarter test", "equal split"])
    rng = np.random.default_rng(4)
    split = inputs.horizon * inputs.lift / inputs.options
    gains = {
        "split": split, "equal split": np.zeros(1000), "half test": rng.normal(300, 20, 1000),
        "quarter test": np.where((np.arange(1000) >= 100) & falls, 200, 350) + rng.normal(0, 20, 1000),
    }  # fmt: skip
    looks = []
    found = race(
        inputs, candidates, 1000, Prepared(WANTED, 1, {"gains": gains}),
        lambda said: looks.append((said.stage, [each.replications for each in said.forecasts])),
    )  # fmt: skip
    runs = {each.candidate.label: each.replications for each in found}
    assert looks[0] == ("stage 1", [12, 12, 12])
    assert runs["equal split"] == 100  # the verdict never depends on it
    assert runs["quarter test"] == 1000 or falls
    assert runs["half test"] == (1000 if falls else 100)
    best = max(found, key=lambda each: each.gain.value)
    assert best.candidate.label == ("half test" if falls else "quarter test")
    assert best.replications == 1000


def test_a_plan_races_and_is_the_same_on_any_number_of_workers():
    said = {1: [], 2: []}
    found = [
        plan(
            **SMALL, policies=["half test", "quarter test", "odaaf", "equal split"], replications=300,
            workers=workers, sensitivity=False, on_interim=said[workers].append,
        )
        for workers in said
    ]  # fmt: skip
    assert found[0].to_json() == found[1].to_json()
    assert [each.to_json() for each in said[1]] == [each.to_json() for each in said[2]]
    runs = {each.candidate.label: each.replications for each in found[0].forecasts}
    assert found[0].recommended.replications == 300
    assert runs["odaaf"] == runs["equal split"] == 100
    stages = [each.stage for each in said[1]]
    assert stages[0] == "stage 1"
    assert stages[-1] == "stage 3"
    assert set(stages[1:-1]) == {"stage 2"}
    first, last = said[1][0], said[1][-1]
    assert not first.sure  # twelve runs cannot be
    assert last.go == (found[0].verdict.answer == "go")
    widths = [each.finds_best.high - each.finds_best.low for each in (first.recommended, last.recommended)]  # fmt: skip
    assert widths[1] < widths[0]
    for label, count in runs.items():
        row = next(line for line in str(found[0]).splitlines() if line.startswith(f" {label}"))
        assert f" {count}" in row


def test_the_same_policy_by_two_names_has_all_runs_twice():
    asked = {**SMALL, "replications": 220, "workers": 1, "sensitivity": False}
    half = plan(**{**asked, "replications": 20}, policies=["half test"]).recommended.candidate
    same = f"fixed-split(horizon={half.spec.parameters['horizon']})"
    found = plan(**asked, policies=["half test", same])
    assert [each.replications for each in found.forecasts] == [220, 220]
    assert found.forecasts[0].gain == found.forecasts[1].gain


def test_how_clear_is_clear():
    """The documented rate: 18 tests by the law of t with 99 degrees of freedom."""
    from scipy.stats import t

    assert 18 * t.sf(ELIMINATION_Z, 99) < 0.01
