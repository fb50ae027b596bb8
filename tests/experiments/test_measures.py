"""Measures of a run, each against a plain count."""

import math

import numpy as np
import pytest

from latesum import Flow, InvalidInput, Problem, simulate
from latesum.experiments import RunSpec
from latesum.experiments.engine import run
from latesum.experiments.loop import Reports
from latesum.experiments.run import Run, measures_of
from latesum.policies import PolicySpec

PROBLEM = Problem([0.2, 0.5, 0.6], "uniform(0, 9)")


class _Answer:
    """A policy that says at the end which arm looks best to it."""

    def __init__(self, arm):
        self._arm = arm

    def estimates(self):
        from latesum.policies import Estimate

        return [Estimate(arm, "", float(arm == self._arm), 0, 1, 1, True) for arm in range(3)]


def measured(text, plays, bucket=1, answer=2):
    horizon = sum(rounds for _, rounds in plays)
    spec = RunSpec(PROBLEM, PolicySpec("flow"), horizon, reports=Reports(bucket))
    made = Run(PROBLEM, *zip(*plays, strict=True), policy=_Answer(answer), spec=spec)
    (measure,) = measures_of([text]).values()
    return measure(made)


def plainly_settled(plays, bucket, good, share=0.95):
    """The first bucket from which on nearly all are good, by looking at every one of them."""
    shown = [arm in good for arm, rounds in plays for _ in range(rounds // bucket)]
    for first in range(len(shown)):
        if sum(shown[first:]) / (len(shown) - first) >= share:
            return first
    return math.inf


@pytest.mark.parametrize("bucket", [1, 10])
def test_settled_after_is_the_first_bucket_from_which_on_nearly_all_are_good(bucket):
    rng = np.random.default_rng(1)
    found = set()
    for _ in range(300):
        arms = rng.integers(0, 3, rng.integers(1, 9))
        plays = [(int(arm), int(rng.integers(1, 60)) * bucket) for arm in arms]
        for within, good in ((0.0, (2,)), (0.15, (1, 2))):
            expected = plainly_settled(plays, bucket, good)
            assert measured(f"settled_after({within=})", plays, bucket) == expected
            found.add(expected)
    assert len(found) > 20
    assert measured("settled_after", [(2, 50)], answer=0) == math.inf


def test_on_good_looks_at_moments_that_are_spread_over_the_run():
    plays = [(0, 30), (1, 30), (2, 40)]
    assert measured("on_good(times=10)", plays).tolist() == [False] * 6 + [True] * 4
    assert measured("on_good(times=10, within=0.15)", plays).tolist() == [False] * 3 + [True] * 7
    assert len(measured("on_good", plays, bucket=10)) == 10


def test_ends_right_asks_the_policy():
    assert measured("ends_right", [(0, 9)], answer=2)
    assert not measured("ends_right", [(2, 9)], answer=1)
    assert measured("ends_right(within=0.11)", [(0, 9)], answer=1)


@pytest.mark.parametrize(
    ("plays", "expected"),
    [
        ([(2, 40), (0, 60)], True),  # harmful for all of the last half
        ([(0, 74), (2, 26)], False),  # for 24 of 50 rounds
        ([(0, 76), (2, 24)], True),  # for 26
        ([(0, 50), (2, 50)], False),
    ],
)
def test_a_run_is_suspect_if_it_is_harmful_for_most_of_the_last_half(plays, expected):
    assert measured("possibly_stuck", plays) == expected


def test_a_lock_in_lasts_when_the_run_is_played_on():
    for policy, expected in (("oracle(best_arm=0)", True), ("oracle", False)):
        setting = RunSpec(PROBLEM, PolicySpec.parse(policy), 1_000, measures=("stuck",))
        runs = run([setting], 2)
        assert runs.measured["stuck"].tolist() == [expected] * 2


def test_policies_after_are_those_of_the_run():
    made = simulate(PROBLEM, Flow(3, 5_000, mean_delay=5), 5_000, seed=2)
    told = [policy.rounds_played for policy in made.policies_after([1, 700, 5_000])]
    ends = made.ends.tolist()
    assert told == [ends[1], next(end for end in ends if end >= 700), 5_000]
    *_, last = made.policies_after([5_000])
    assert last.estimates() == made.policy.estimates()


def test_missed_has_an_entry_for_every_level_time_and_arm():
    setting = RunSpec(PROBLEM, PolicySpec("flow"), 6_400, measures=("missed(levels=[0.9, 0.99])",))
    runs = run([setting], 3)
    (values,) = runs.measured.values()
    assert values.shape == (3, 2 * 4 * 3)
    assert set(np.unique(values[np.isfinite(values)])) <= {0.0, 1.0}


def test_a_policy_with_attributed_feedback_has_blocks_and_cannot_be_played_on():
    spec = RunSpec(PROBLEM, PolicySpec("qpm-d"), 1_000, measures=("regret", "possibly_stuck"))
    found = run([spec], 1)
    assert not found.measured["possibly_stuck"].any()
    made = spec.run(0)
    assert made.regret() == found.regrets[0, -1]
    assert sum(play.rounds for play in made.plays) == 1_000
    with pytest.raises(InvalidInput, match="cannot be played on"):
        spec.run(0, until=2_000)
    with pytest.raises(InvalidInput, match="does not say which looks best"):
        _ = made.answer


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("regrets", "did you mean 'regret'"),
        ("stuck(gp=3)", "cannot be taken: got an unexpected keyword argument 'gp'"),
        ("stuck(", "cannot read the measure"),
        ("no_such:measure", "cannot be loaded"),
    ],
)
def test_nonsense_is_refused(text, says):
    with pytest.raises(InvalidInput, match=says):
        measures_of([text])
