"""Runs that are played together are the runs that are made one by one, to the last bit."""

import numpy as np
import pytest

from latesum import Beta, Flow, Problem
from latesum.experiments import RunSpec, batches
from latesum.experiments.engine import Chunk, run, run_chunk
from latesum.experiments.measures import measures_of, of_many
from latesum.experiments.play import InBuckets, Poor
from latesum.policies import PolicySpec
from latesum.simulation import Reporting

TWO = Problem([0.5, 0.6], "uniform(0, 100)")
FOUR = Problem([0.3, 0.5, 0.45, 0.5], ["constant(7)", "uniform(0, 30)", "constant(0)", "constant(9)"])  # fmt: skip
SPECS = ("flow", "flow(caution=0)")
MEASURES = ("regret", "ended_on_best", "switches", "suspect", "on_good(moments=7)")


def one_by_one(setting, first, end):
    """The rows of runs that are made by themselves."""
    runs = [setting.run(number) for number in range(first, end)]
    measures = measures_of(setting.measures)
    return {name: np.array([take(each) for each in runs]) for name, take in measures.items()}


def together(setting, first, end):
    """The rows of runs that are played together, however few they are."""
    taken = of_many(setting.measures)
    parts = [
        {name: take(runs, setting.checkpoint_rounds) for name, take in taken.items()}
        for runs in setting.batches(first, end)
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in taken}


def assert_same_rows(one, other):
    assert list(one) == list(other)
    for name, values in one.items():
        assert values.dtype == other[name].dtype
        assert values.tolist() == other[name].tolist()


@pytest.mark.filterwarnings("ignore:phase")
@pytest.mark.parametrize("problem", [TWO, FOUR], ids=["two arms", "four arms"])
@pytest.mark.parametrize("text", SPECS)
def test_what_is_measured_is_the_same(text, problem):
    setting = RunSpec(
        problem, PolicySpec.parse(text), 20_000, seed=(5, 2), measures=MEASURES,
        checkpoints=(1, 150, 777, 12_345),
    )  # fmt: skip
    assert setting.batches(0, 2) is not None
    assert_same_rows(run_chunk(Chunk(setting, 250, 262)), one_by_one(setting, 250, 262))


@pytest.mark.parametrize("text", ["odaaf", "flow"])
def test_a_run_is_the_same_in_all_that_can_be_asked(text):
    setting = RunSpec(TWO, PolicySpec.parse(text), 20_000, reports=InBuckets(100))
    (runs,) = setting.batches(3, 7)
    for number, made in zip(range(3, 7), runs, strict=True):
        alone = setting.run(number)
        assert made.plays == alone.plays
        assert made.policy.to_state() == alone.policy.to_state()
        assert made.answer == alone.answer
        assert made.continued(30_000).plays == alone.continued(30_000).plays


def test_a_run_in_which_python_takes_part_is_made_by_itself():
    """About one reward in ten million comes later than the table: with a million rounds, in some runs."""
    setting = RunSpec(Problem([0.5, 0.6], "exponential(3)"), PolicySpec.parse("odaaf"), 10**6)
    (runs,) = setting.batches(0, 60)
    assert set(runs._alone.tolist()) == {True, False}
    assert_same_rows(run_chunk(Chunk(setting, 0, 60)), one_by_one(setting, 0, 60))


def test_room_for_few_plays(monkeypatch):
    """Several calls, and a run that is longer than there is room for."""
    setting = RunSpec(TWO, PolicySpec.parse("round-robin(block=60)"), 3_000)
    flow = RunSpec(TWO, PolicySpec.parse("flow"), 20_000)
    lengths = [len(flow.run(number).plays) for number in range(20)]
    monkeypatch.setattr(batches, "_ROOM", 49)
    assert [len(runs) for runs in setting.batches(0, 3)] == [1, 1, 1]
    assert_same_rows(together(setting, 0, 3), one_by_one(setting, 0, 3))
    monkeypatch.setattr(batches, "_ROOM", 3 * max(lengths))
    assert 1 < len(list(flow.batches(0, 20))) < 20
    assert_same_rows(run_chunk(Chunk(flow, 0, 20)), one_by_one(flow, 0, 20))


def test_a_policy_that_needs_more_room():
    """Flow remembers what was played within two mean delays, here more plays than at first."""
    policy = Flow(20, 3_000, mean_delay=2_000)
    problem = Problem([0.2] * 19 + [0.5], "uniform(0, 3999)")
    setting = RunSpec(problem, PolicySpec.of(policy), 3_000, seed=3)
    assert setting.batches(0, 2) is not None
    assert_same_rows(together(setting, 0, 4), one_by_one(setting, 0, 4))


@pytest.mark.parametrize(
    "changes",
    [
        {"order": 3}, {"before": 1}, {"before": 1, "history": 500}, {"world": "buckets", "reports": InBuckets(100)},
        {"reports": InBuckets(100, 50)}, {"reports": Poor(100, 0, Reporting())}, {"policy": PolicySpec.parse("unmix")},
        {"policy": PolicySpec.parse("qpm-d")}, {"problem": Problem([Beta(1, 3), 0.5], "constant(3)")},
        {"problem": Problem([0.4, 0.5], "uniform(0, 9000)")},
        {"problem": Problem([0.4, 0.5], "exponential(3)"), "horizon": 10**7},
    ],
    ids=str,
)  # fmt: skip
def test_what_needs_python_is_made_one_by_one(changes):
    setting = RunSpec(**({"problem": TWO, "policy": PolicySpec.parse("flow"), "horizon": 1_000} | changes))  # fmt: skip
    assert setting.batches(0, 2) is None


def test_what_a_policy_believes_is_measured_one_by_one():
    setting = RunSpec(TWO, PolicySpec.parse("odaaf"), 20_000, measures=("regret", "ends_right"))
    assert of_many(setting.measures) is None
    assert_same_rows(run_chunk(Chunk(setting, 0, 9)), one_by_one(setting, 0, 9))


def test_chunks_and_workers_do_not_matter():
    settings = [RunSpec(TWO, PolicySpec.parse(text), 20_000) for text in ("odaaf-b", "flow")]
    rows = [one_by_one(setting, 0, 30) for setting in settings]
    for workers in (1, 2):
        made = run(settings, 30, workers=workers)
        for setting, expected in zip(settings, rows, strict=True):
            runs = made.runs[setting.problem_name, setting.policy_name]
            assert_same_rows(runs.measured, expected)
