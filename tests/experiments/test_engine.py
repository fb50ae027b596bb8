"""The engine: shared runs, counted progress, and names that do not collide."""

import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest

from latesum import InvalidInput, Problem
from latesum._progress import TimeLeft
from latesum.experiments import RunSpec, RunStore
from latesum.experiments.engine import run
from latesum.experiments.runners import InProcesses
from latesum.policies import PolicySpec

PROBLEM = Problem([0.3, 0.6], "uniform(0, 9)")


def setting(text, **more):
    return RunSpec(PROBLEM, PolicySpec.parse(text), 1_000, **more)


def test_where_runs_are_made_changes_nothing(tmp_path):
    settings = [setting("flow"), setting("ars-ucb"), setting("qpm-d")]
    results = [
        run(settings, [5, 7, 3], runner=runner, store=store)
        for runner in (InProcesses(1), InProcesses(2))
        for store in (None, RunStore(tmp_path / f"{runner.workers}"))
    ]
    for one in results[1:]:
        assert one.policies == results[0].policies
        for mine, other in zip(one, results[0], strict=True):
            assert mine.replications == other.replications
            for measure, values in mine.measured.items():
                assert np.array_equal(values, other.measured[measure])


def test_settings_with_the_same_digest_share_their_runs(tmp_path):
    settings = [setting("flow", policy_name="one"), setting("flow", policy_name="other")]
    said = []
    results = run(settings, [4, 9], store=tmp_path, announce=lambda *each: said.append(each))
    assert said == [(9, 13)]
    assert [each.replications for each in results] == [4, 9]


def test_progress_counts_runs_in_memory():
    seen = []
    run([setting("flow"), setting("odaaf")], 6, progress=lambda *said: seen.append(said), what="x")
    assert seen[-1] == (12, 12, "x")
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)


class Simulated:
    """One worker on a clock of its own: a run of a policy takes the seconds that are said here."""

    workers = 1

    def __init__(self, seconds):
        self._seconds, self.now = seconds, 1000.0

    def __call__(self, job, tasks):
        for number, chunk in enumerate(tasks):
            spent = self._seconds[chunk.spec.policy.name] * (chunk.end - chunk.first)
            self.now += spent
            yield number, (job(chunk)[0], spent, 0.0)


def test_progress_counts_work_and_not_runs():
    """Half of the runs of a slow policy are nearly half of the work."""
    seen = []
    run(
        [setting("odaaf"), setting("flow")],
        [96, 4],
        progress=lambda done, _, __: seen.append(done),
        runner=Simulated({"flow": 0.5, "odaaf": 0.001}),
    )
    # After the first run of both, runs of Flow come in one by one between chunks of ODAAF.
    assert seen[2] == round(100 * 0.501 / 2.096)
    assert seen[4] == round(100 * 1.013 / 2.096)


#: What a run takes.
COSTS = {"flow": 0.4, "odaaf": 0.002, "unmix": 3.0, "round-robin": 0.05}


@pytest.mark.parametrize("kept", [False, True])
def test_the_time_left_is_right_within_a_factor_of_two_after_a_twentieth(kept, tmp_path):
    worker, runs = Simulated(COSTS), [40, 400, 60, 100]
    clock = TimeLeft(lambda: worker.now)
    worker.now += 600  # it takes a while until what is to be done is known
    whole = sum(cost * count for cost, count in zip(COSTS.values(), runs, strict=True))
    ratios = []

    def look(done, total, what):
        left, spent = clock(done, total, what), worker.now - 1600
        if left is not None and whole / 20 <= spent < whole * 0.999:
            ratios.append(left / (whole - spent))

    store = RunStore(tmp_path) if kept else None
    run([setting(name) for name in COSTS], runs, store=store, runner=worker, progress=look)
    assert worker.now - 1600 == pytest.approx(whole)
    assert len(ratios) > 10
    assert max(ratios) < 2
    assert min(ratios) > 0.5


@pytest.mark.parametrize("kept", [False, True])
def test_an_estimate_is_never_made_of_compilation_time(kept, tmp_path):
    """A worker compiles for 300 s with its first run; all runs together take 6 s."""

    class Compiling(Simulated):
        def __call__(self, job, tasks):
            for number, (rows, seconds, _) in super().__call__(job, tasks):
                compiling = 0.0 if number else 300.0
                self.now += compiling
                yield number, (rows, seconds, compiling)

    worker, seen = Compiling({"flow": 0.1}), []
    clock = TimeLeft(lambda: worker.now)
    run(
        [setting("flow")],
        60,
        store=RunStore(tmp_path) if kept else None,
        runner=worker,
        progress=lambda *said: seen.append((*said, clock(*said))),
    )
    estimates = [left for *_, left in seen]
    assert max(left for left in estimates if left is not None) < 12
    at_start, compiling = (
        [name for _, _, name, _ in seen].index(each) for each in ("runs", "compiling kernels")
    )
    assert at_start < compiling
    assert estimates[: compiling + 2] == [None] * (compiling + 2)


def test_while_kernels_compile_it_is_said(tmp_path):
    """A process with an empty cache of kernels says so before it counts the first run."""
    code = (
        "from latesum import Problem, compare\n"
        "seen = []\n"
        "problem = Problem([0.2, 0.8], 'uniform(0, 10)')\n"
        "progress = lambda *said: seen.append(said)\n"
        "compare(problem, ['round-robin'], 500, replications=4, seed=1, progress=progress)\n"
        "print(seen[:2], seen[-1])"
    )
    made = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"LATESUM_CACHE_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert made.stdout.strip() == "[(0, 4, 'runs'), (0, 0, 'compiling kernels')] (4, 4, 'runs')"


def test_a_summary_has_what_was_measured():
    spec = setting("flow", measures=("regret", "switches"))
    results = run([spec], 3)
    (row,) = results.summary()
    assert row.mean > 0
    assert row.switches >= 1
    assert results.to_json()["policies"][0]["ended_on_best"] is None
    other = dataclasses.replace(spec, measures=("switches",))
    with pytest.raises(InvalidInput, match='add "regret" to their measures'):
        run([other], 3).summary()


def test_a_store_keeps_measures_of_every_shape(tmp_path):
    measures = ("regret", "stuck", "on_good(times=4)", "settled_after", "switches")
    one = setting("flow", measures=measures, checkpoints=(10, 1_000))
    in_memory, kept, again = (
        run([one], 5, store=store) for store in (None, RunStore(tmp_path), RunStore(tmp_path))
    )
    for other in (kept, again):
        for name in measures:
            assert np.array_equal(other.measured[name], in_memory.measured[name])
            assert other.measured[name].dtype == in_memory.measured[name].dtype


def test_results_are_found_by_name():
    results = run([setting("flow", problem_name="p", policy_name="f")], 3)
    assert results["p", "f"].regrets.shape == (3, 1)
    with pytest.raises(InvalidInput, match="there is no problem here 'q'"):
        results["q", "f"]
    with pytest.raises(InvalidInput, match="there is no policy on this problem 'g'"):
        results["p", "g"]
