"""Replications go where the verdict depends on them, and the recommendation does not suffer from it."""

from __future__ import annotations

import numpy as np
import pytest

from latesum.planning import plan
from latesum.planning.planner import _chosen, read_inputs
from latesum.planning.racing import ELIMINATION_Z, Simulator, is_dominated, race, recommend

from .conftest import SMALL, row

WANTED = 0.8


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
    """Each of 1,000 pairs is separated with probability 1/2,900; more than 4 with one below 0.0001."""
    rng = np.random.default_rng(1)
    pairs = (law(rng, count) for _ in range(1000))
    assert sum(is_dominated(row("a", one), row("b", other), WANTED) for one, other in pairs) <= 4


@pytest.mark.parametrize("apart", [0.6, 1.0])
def test_one_that_is_clearly_worse_is_stopped(apart):
    """Worse by 0.6 sd of a run: at 100 pairs that is 4.2 standard errors of the difference."""
    rng = np.random.default_rng(2)
    stopped = sum(
        is_dominated(row("a", worse - 200 * apart), row("b", better), WANTED)
        for better, worse in (normal(rng, 100) for _ in range(200))
    )
    assert stopped > (140 if apart < 1 else 198)


def test_of_those_that_fail_the_one_that_ends_right_less_often_is_stopped():
    rng = np.random.default_rng(3)
    gain = rng.normal(100, 10, 200)
    rarely, often = rng.random(200) < 0.3, rng.random(200) < 0.7
    assert is_dominated(row("a", gain, rarely), row("b", gain, often), WANTED)
    assert not is_dominated(row("a", gain, often), row("b", gain, often[::-1]), WANTED)
    # One that may yet pass where the leader fails is not behind, however small its gain.
    assert not is_dominated(row("a", gain - 50), row("b", gain, often), WANTED)
    # One that fails for certain is, where the leader passes.
    assert is_dominated(row("a", gain + 50, rarely), row("b", gain), WANTED)


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


class Prepared(Simulator):
    """Gives gains that are made up in place of simulated ones, by the label of the candidate."""

    def make(self, trials, runs, what):
        gains = self.options["gains"]
        for trial, count in zip(trials, runs, strict=True):
            lost = gains["split"] - gains[trial.candidate.label][:count]
            kept = [lost, np.full(count, gains["split"]), *np.ones((4, count))]
            trial.rows = [{trial.specs[0].measures[0]: np.column_stack(kept)}]
        return [trial.result() for trial in trials]


@pytest.mark.parametrize("falls", [False, True])
def test_what_was_stopped_is_looked_at_again_if_it_turns_out_to_be_the_best(falls):
    """The leader gains most in its first hundred runs, and later far less."""
    inputs = read_inputs(**SMALL)
    candidates = _chosen(inputs, ["half test", "quarter test", "equal split"])
    rng = np.random.default_rng(4)
    late = (np.arange(1000) >= 100) & falls
    gains = {
        "split": inputs.horizon * inputs.lift / inputs.options,
        "equal split": np.zeros(1000),
        "half test": rng.normal(300, 20, 1000),
        "quarter test": np.where(late, 200, 350) + rng.normal(0, 20, 1000),
    }
    looks = []
    found = race(
        inputs,
        candidates,
        1000,
        Prepared(WANTED, 1, {"gains": gains}),
        lambda said: looks.append((said.stage, [each.replications for each in said.rows])),
    )
    runs = {each.label: each.replications for each in found}
    assert looks[0] == ("stage 1", [12, 12, 12])
    assert runs["equal split"] == 100  # the verdict never depends on it
    assert runs["quarter test"] == 1000 or falls
    assert runs["half test"] == (1000 if falls else 100)
    best = max(found, key=lambda each: each.gain.value)
    assert best.label == ("half test" if falls else "quarter test")
    assert best.replications == 1000


def test_a_plan_races_and_is_the_same_on_any_number_of_workers():
    said = {1: [], 2: []}
    policies = ["half test", "quarter test", "odaaf", "equal split"]
    asked = {**SMALL, "policies": policies, "replications": 300, "sensitivity": False}
    found = [plan(**asked, workers=n, on_interim=said[n].append) for n in said]
    assert found[0].to_json() == found[1].to_json()
    assert [each.to_json() for each in said[1]] == [each.to_json() for each in said[2]]
    runs = {each.label: each.replications for each in found[0].rows}
    assert found[0].recommended.replications == 300
    assert runs["odaaf"] == runs["equal split"] == 100
    stages = [each.stage for each in said[1]]
    assert stages[0] == "stage 1"
    assert stages[-1] == "stage 3"
    assert set(stages[1:-1]) == {"stage 2"}
    first, last = said[1][0], said[1][-1]
    assert not first.sure  # twelve runs cannot be
    assert last.go == (found[0].verdict.answer == "go")
    early, late = first.recommended.finds_best, last.recommended.finds_best
    assert late.high - late.low < early.high - early.low
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


def test_how_clear_is_clear():
    """The documented rate: 18 tests by the law of t with 99 degrees of freedom."""
    from scipy.stats import t

    assert 18 * t.sf(ELIMINATION_Z, 99) < 0.01
