"""Runs of an entry on a suite, with the reference of attributed feedback on the same seeds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from latesum.benchmark.entries import Entry
from latesum.benchmark.suites import Cell, Suite, suite
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.run import Run, missed, register_measure
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from latesum.simulation import CompositeProblem, Problem

#: Regret is compared with that of this policy, which sees which arm earned a reward.
REFERENCE = "qpm-d(base='kl-ucb++')"
#: A policy that raises an exception is charged what round robin loses, in this many turns.
FALLBACK_TURNS = 50
#: An arm is harmful from a gap of 0.02 on, or of this share of the best mean.
STUCK = "stuck(share=0.2)"


class CellSpec(RunSpec):
    """A run specification in which a failure of the policy counts as round robin's regret.

    Its problem may be the name of a suite: run number i is then on cell i.
    """

    def run(self, number: int, *, until: int | None = None) -> Run:
        """One run; where the policy raises an exception, round robin's."""
        try:
            return super().run(number, until=until)
        except Exception:
            block = max(1, self.horizon // (FALLBACK_TURNS * self.prepared[0].n_arms))
            round_robin = PolicySpec("round-robin", {"block": block})
            return RunSpec.run(replace(self, policy=round_robin), number, until=until)

    def error(self, number: int) -> str:
        """What the policy raises in a run."""
        spec = self.drawn(number)
        try:
            RunSpec.run(spec, number)
        except Exception as error:
            return f"{spec.problem_name}, run {number}: {type(error).__name__}: {error}"
        return ""

    def drawn(self, number: int) -> CellSpec:
        """The specification of one run, with its problem written out."""
        if isinstance(self.problem, Problem):
            return self
        cell = suite(self.problem).cells[number]
        spec = _cell_spec(cell, self.policy, int(str(self.seed)), self.measures)
        horizon = min(cell.horizon, self.horizon)
        return replace(spec, horizon=horizon, checkpoints=(), given=self.given, prior=self.prior)


@register_measure("failed")
def failed(run: Run, kind: str) -> bool:
    """Whether the policy of this kind failed in the run, and round robin took its place."""
    return run.policy is not None and run.policy.kind != kind


@register_measure("interval_misses")
def interval_misses(run: Run) -> NDArray[np.float64]:
    """How many 95% intervals missed the true mean, and of how many, at four times of a run."""
    found = missed(run, (0.95,))
    return np.array([np.nansum(found), np.count_nonzero(~np.isnan(found))])


@dataclass(frozen=True)
class Outcome:
    """The runs of an entry on a suite; arrays have one row per run and one column per cell.

    On `random-1`, where every cell is run once, that is one row.
    """

    suite: Suite
    cells: list[Cell]
    seed: int
    regret: NDArray[np.float64]
    #: With attributed feedback, on the same seeds; NaN where rates change and it is not defined.
    reference: NDArray[np.float64]
    stuck: NDArray[np.bool_]
    failed: NDArray[np.bool_]
    #: Missed and all 95% intervals; zeros where they were not looked at.
    intervals: tuple[int, int]
    failures: list[str]


def run_entry(
    entry: Entry,
    suite_name: str,
    *,
    seed: int | None = None,
    factor: float = 1.0,
    runs: int | None = None,
    **options: Unpack[RunOptions],
) -> Outcome:
    """Run an entry and the reference on a suite.

    Args:
        seed: A development seed, in place of the test seed of the entry.
        factor: On the mean delay that the policy is given.
        runs: Runs per cell, for a look; on `random-1` the first cells.
    """
    chosen = suite(suite_name)
    playable = [place for place, cell in enumerate(chosen.cells) if entry.can_play(cell)]
    seed = entry.test_seed(chosen) if seed is None else seed
    once, reference = chosen.runs == 1, PolicySpec.parse(REFERENCE)
    given = {} if factor == 1 else {"mean_delay": factor}
    specs: list[CellSpec]
    if once:  # run i is on cell i; those that the entry cannot play are left out afterwards
        count, compared = len(chosen.cells[:runs]), [0]
        playable = [place for place in playable if place < count]
        cells = [chosen.cells[place] for place in playable]
        horizon = max(cell.horizon for cell in chosen.cells)
        kept: tuple[str, ...] = ("regret", _failing(entry))
        if entry.policy.sees == "totals":
            kept = (*kept, STUCK, "interval_misses")
        more: dict[str, Any] = {"given": given, "prior": entry.prior}
        specs = [
            CellSpec(chosen.name, entry.policy, horizon, seed=seed, measures=kept, **more),
            CellSpec(chosen.name, reference, horizon, seed=seed, measures=("regret",)),
        ]
    else:
        cells = [chosen.cells[place] for place in playable]
        count = runs or chosen.runs
        compared = [place for place, cell in enumerate(cells) if not cell.problem.changes]
        specs = [replace(_entry_spec(entry, cell, seed), given=given) for cell in cells]
        specs += [_cell_spec(cells[place], reference, seed, ("regret",)) for place in compared]
    rows = run(specs, count, what=chosen.name, **options).rows
    own, others = rows[: -len(compared)], rows[-len(compared) :]
    references = np.full((count, len(own)), np.nan)
    references[:, compared] = np.column_stack([each["regret"][:, -1] for each in others])
    none = np.zeros(count, dtype=bool)
    regret = np.column_stack([each["regret"][:, -1] for each in own])
    stuck = np.column_stack([each.get(STUCK, none) for each in own])
    failures = np.column_stack([each[_failing(entry)] for each in own])
    misses = own[0].get("interval_misses", np.zeros((count, 2))).sum(axis=0)
    made = [regret, references, stuck, failures]
    if once:
        made = [each.T[:, playable] for each in made]
        errors = [specs[0].error(playable[each]) for each in np.flatnonzero(made[3]).tolist()]
    else:
        errors = [specs[place].error(number) for number, place in np.argwhere(failures).tolist()]
    intervals = (int(misses[0]), int(misses[1]))
    return Outcome(chosen, cells, seed, made[0], made[1], made[2], made[3], intervals, errors)


def _entry_spec(entry: Entry, cell: Cell, seed: int) -> CellSpec:
    measures = ["regret", _failing(entry)]
    if entry.policy.sees == "totals" and not cell.problem.changes:
        measures.append(STUCK)
    spec = _cell_spec(cell, entry.policy, seed, tuple(measures))
    return replace(spec, prior=entry.prior)


def _cell_spec(cell: Cell, policy: PolicySpec, seed: int, measures: tuple[str, ...]) -> CellSpec:
    """A policy on a cell; one with attributed feedback sees every reward whole, as it arrives."""
    problem, reports = cell.problem, cell.reports
    if policy.sees == "attributed":
        reports = Reports()
        if isinstance(problem, CompositeProblem):
            problem = Problem(problem.arms, problem.delays)
    name = f"{cell.name} at {cell.horizon:,}"
    more: dict[str, Any] = {"measures": measures, "order": "drawn", "problem_name": name}
    return CellSpec(problem, policy, cell.horizon, seed=seed, reports=reports, **more)


def _failing(entry: Entry) -> str:
    """The measure of whether the entry's policy failed."""
    return f"failed(kind={entry.policy.owner.kind!r})"


def rerun(entry: Entry, cell: Cell, number: int, seed: int) -> float:
    """The regret of one run, made again."""
    return _entry_spec(entry, cell, seed).run(number).regret()


def microseconds_per_decision(entry: Entry, *, runs: int = 5) -> float:
    """CPU time of a run per block that was asked for, on two arms with delays of up to 100."""
    spec = _entry_spec(entry, suite("core-1").cells[1], 1)
    spec.run(0)  # kernels are compiled
    started = time.process_time()
    made: list[Any] = [spec.run(number) for number in range(runs)]
    seconds = time.process_time() - started
    decisions = sum(run.horizon if run.policy is None else len(run.plays) for run in made)
    return 1e6 * seconds / decisions
