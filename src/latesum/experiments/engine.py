"""The one way runs are made: specifications in, results out, here or elsewhere, kept or not."""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._compile import compile_seconds, reported_compilation
from latesum._progress import COMPILING, Progress, ProgressChoice, chosen_progress
from latesum.experiments.measures import measures_of
from latesum.experiments.results import Results, Rows, check_names
from latesum.experiments.runners import Runner, chosen_runner
from latesum.experiments.store import RunStore

if TYPE_CHECKING:
    from latesum.experiments.results import AnySpec

#: What a chunk should take where results are kept: little is lost with one, and handing it out
#: costs nothing beside it.
_SECONDS_PER_CHUNK = 1.0
_MAX_RUNS_PER_CHUNK = 1024
#: Where they are not: few enough chunks to cost nothing, enough for a progress bar.
_CHUNKS_PER_WORKER = 16
#: A run that takes longer than this is measured on a tenth of its rounds.
_LONG_RUN = 0.5
#: The rounds of a run that is made to compile what it needs.
_SHORT_RUN = 1000


class Chunk(NamedTuple):
    """Runs `first` to `end` - 1 of a specification."""

    spec: AnySpec
    first: int
    end: int


def run_chunk(chunk: Chunk) -> Rows:
    """Make the runs of a chunk: a pure function, the same wherever and however often it is run."""
    measures = measures_of(chunk.spec.measures)
    taken: dict[str, list[object]] = {name: [] for name in measures}
    for number in range(chunk.first, chunk.end):
        made = chunk.spec.run(number)
        for name, measure in measures.items():
            taken[name].append(measure(made))
    return {name: np.array(values) for name, values in taken.items()}


def run_timed(chunk: Chunk) -> tuple[Rows, float, float]:
    """`run_chunk`, with the seconds that it took without compiling, and those of compiling."""
    started, compiling = time.perf_counter(), compile_seconds()
    rows = run_chunk(chunk)
    compiling = compile_seconds() - compiling
    return rows, time.perf_counter() - started - compiling, compiling


class Todo(NamedTuple):
    """What is left to do before all runs are there."""

    all_runs: int
    chunks: list[Chunk]
    seconds_per_run: Mapping[AnySpec, float]  # measured, where runs are kept

    @property
    def runs_left(self) -> int:
        """The runs that are not there yet."""
        return sum(end - first for _, first, end in self.chunks)

    def seconds(self, workers: int = 1) -> float:
        """About how long the rest takes with `workers` workers."""
        per_run = self.seconds_per_run
        return sum((end - first) * per_run[spec] for spec, first, end in self.chunks) / workers


class RunOptions(TypedDict, total=False):
    """Where and how runs are made: what every study hands on to `run`."""

    workers: int
    runner: Runner | None
    store: RunStore | str | Path | None
    again: bool
    announce: Callable[[Todo], None] | None
    progress: ProgressChoice


class _Memory:
    """Runs that are kept for one call, as a `RunStore` keeps them for good."""

    def __init__(self, specs: Sequence[AnySpec]) -> None:
        self._parts: dict[AnySpec, dict[int, Rows]] = {spec: {} for spec in specs}

    def key(self, spec: AnySpec) -> object:
        return spec

    def forget(self, spec: AnySpec) -> None:
        self._parts[spec] = {}

    def missing(self, spec: AnySpec, count: int) -> list[tuple[int, int]]:
        there = sum(len(next(iter(rows.values()))) for rows in self._parts[spec].values())
        return [(there, count)] if there < count else []

    def write_part(self, spec: AnySpec, first: int, rows: Rows) -> None:
        self._parts[spec][first] = rows

    def read(self, spec: AnySpec, _: int) -> Rows:
        parts = [rows for _, rows in sorted(self._parts[spec].items())]
        return {name: np.concatenate([rows[name] for rows in parts]) for name in parts[0]}


def run(
    specs: Sequence[AnySpec],
    replications: int | Sequence[int],
    *,
    what: str = "runs",
    **how: Unpack[RunOptions],
) -> Results:
    """Make all runs that are not in the store yet, and return all of them.

    The results do not depend on the runner, nor on how often the work was interrupted.

    Args:
        specs: What to run; specifications with the same digest share their runs in a store.
        replications: How often: one number, or one for each specification.
        what: What this is, for `progress`.
        how: `workers`, the number of processes; or `runner`, where runs are made, see
            `latesum.experiments.runners`. `store`: a folder in which runs are kept as they come in,
            and found again; with `again` they are made again, and `announce` is called with what
            there is to do. `progress`: True for a bar, or a function that is called as
            `progress(done, all, what)` from time to time: runs, weighted by what they cost. Both
            are 0 while kernels compile.

    >>> from latesum import Problem
    >>> from latesum.experiments.spec import RunSpec
    >>> from latesum.policies import PolicySpec
    >>> problem = Problem([0.2, 0.8], "uniform(0, 9)")
    >>> one = RunSpec(problem, PolicySpec.parse("odaaf"), 1_000, policy_name="odaaf")
    >>> run([one], 3).summary()[0].ended_on_best
    1.0
    """
    check_names(specs)
    counts = replications if isinstance(replications, Sequence) else [replications] * len(specs)
    if len(counts) != len(specs):
        raise InvalidInput(f"give one number of replications, or one for each of {len(specs)}.")
    counts = [whole_number(each, "the number of replications", at_least=1) for each in counts]
    options: dict[str, Any] = {**how}
    store = options.pop("store", None)
    if store is None:
        store = _Memory(specs)
    elif not isinstance(store, RunStore):
        store = RunStore(store)
    make(specs, counts, store, what=what, **options)
    return Results(specs, [store.read(*each) for each in zip(specs, counts, strict=True)])


def make(
    specs: Sequence[AnySpec],
    counts: Sequence[int],
    store: RunStore | _Memory,
    *,
    what: str = "runs",
    workers: int = 1,
    runner: Runner | None = None,
    again: bool = False,
    announce: Callable[[Todo], None] | None = None,
    progress: ProgressChoice = None,
) -> Todo:
    """Make the runs that a store does not have, and return what there was to do."""
    for spec in specs:
        spec.check()
    show = chosen_progress(progress)
    with chosen_runner(workers) as local:
        runner = runner or local
        left = todo(specs, counts, store, again=again, progress=show, workers=runner.workers)
        if announce and isinstance(store, RunStore):
            announce(left)
        for chunk, rows in _made(left, runner, show, what):
            store.write_part(chunk.spec, chunk.first, rows)
    return left


def todo(
    specs: Sequence[AnySpec],
    counts: Sequence[int],
    store: RunStore | _Memory,
    *,
    again: bool = False,
    progress: Progress | None = None,
    workers: int = 1,
) -> Todo:
    """Find out what is missing in a store, and measure one run of each specification that is.

    With `again`, everything is: what is there is thrown away. In memory nothing is measured.
    """
    wanted: dict[object, tuple[AnySpec, int]] = {}
    for spec, count in zip(specs, counts, strict=True):
        first_of_digest, most = wanted.get(store.key(spec), (spec, 0))
        wanted[store.key(spec)] = (first_of_digest, max(most, count))
    missing = {}
    for spec, count in wanted.values():
        if again:
            store.forget(spec)
        if ranges := store.missing(spec, count):
            missing[spec] = ranges
    seconds = {}
    shown = reported_compilation(lambda: progress(0, 0, COMPILING)) if progress else None
    with shown or contextlib.nullcontext():
        if isinstance(store, RunStore):
            seconds = {spec: _seconds_per_run(spec) for spec in missing}
        elif progress or workers > 1:  # kernels are compiled before there are workers
            for spec in missing:
                _compile_for(spec)
    runs = sum(end - first for ranges in missing.values() for first, end in ranges)
    by_spec = []
    for spec, ranges in missing.items():
        if spec in seconds:
            head = size = min(max(1, int(_SECONDS_PER_CHUNK / seconds[spec])), _MAX_RUNS_PER_CHUNK)
        else:  # the first run alone, since it says what the others cost
            head, size = 1, max(1, runs // (workers * _CHUNKS_PER_WORKER))
        edges = [[first, *range(first + head, end, size), end] for first, end in ranges]
        by_spec.append([Chunk(spec, *cut) for each in edges for cut in itertools.pairwise(each)])
    # A chunk of each in turn: what is done says how long the rest takes.
    turns = itertools.zip_longest(*by_spec)
    return Todo(sum(counts), [each for turn in turns for each in turn if each], seconds)


def _made(
    left: Todo, runner: Runner, progress: Progress | None, what: str
) -> Iterator[tuple[Chunk, Rows]]:
    """Each chunk with what was measured, as soon as it is there; progress is shown meanwhile.

    What is done of all work: a run costs what those of its specification have cost so far; where
    none is done, what was measured before, or the mean of the others.
    """
    total, share = left.runs_left, 0.0
    waiting: Counter[AnySpec] = Counter()
    done: Counter[AnySpec] = Counter()
    seconds: dict[AnySpec, float] = {}
    for spec, first, end in left.chunks:
        waiting[spec] += end - first
    if progress and total:
        progress(0, total, what)
    for number, (rows, taken, compiling) in runner(run_timed, left.chunks):
        spec, first, end = chunk = left.chunks[number]
        yield chunk, rows
        waiting[spec] -= end - first
        done[spec] += end - first
        seconds[spec] = seconds.get(spec, 0.0) + taken
        spent = sum(seconds.values())
        mean = spent / done.total()
        costs = {**left.seconds_per_run, **{each: seconds[each] / done[each] for each in done}}
        rest = sum(runs * costs.get(each, mean) for each, runs in waiting.items())
        share = max(share, spent / (spent + rest) if rest else 1.0)
        if progress:
            if compiling > _LONG_RUN:
                progress(0, 0, COMPILING)  # the clock starts again after it
            progress(round(share * total), total, what)


@functools.lru_cache(maxsize=4096)
def _seconds_per_run(spec: AnySpec) -> float:
    """How long one run takes, measured on one after a first that compiles what it needs."""

    def seconds(rounds: int) -> float:
        return run_timed(Chunk(spec.shortened(rounds), 0, 1))[1]

    _compile_for(spec)
    tenth = max(1, spec.horizon // 10)
    short = seconds(tenth)
    if 10 * short <= _LONG_RUN:
        return seconds(spec.horizon)
    # What a run ten times as long costs more: at most tenfold, often next to nothing.
    growth = short / (seconds(max(1, tenth // 10)) or short)
    return short * min(max(growth, 1.0), 10.0)


@functools.lru_cache(maxsize=4096)
def _compile_for(spec: AnySpec) -> None:
    """Make a short run, whose kernels are compiled with it."""
    run_chunk(Chunk(spec.shortened(min(max(1, spec.horizon // 10), _SHORT_RUN)), 0, 1))
