"""The one way runs are made: specifications in, results out, here or elsewhere, kept or not."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._compile import compile_seconds, reported_compilation
from latesum._progress import COMPILING, Progress, ProgressChoice, chosen_progress
from latesum.experiments.measures import measures_of
from latesum.experiments.results import Results, Rows, check_names
from latesum.experiments.runners import InProcesses, Runner
from latesum.experiments.store import RunStore

if TYPE_CHECKING:
    from latesum.experiments.results import AnySpec

#: Runs are handed out, and kept, in chunks: few enough to cost nothing, small enough that little
#: is lost with one and that a progress bar moves. About how many per specification, and in all.
_CHUNKS_PER_SPEC, _CHUNKS = 8, 512
_MAX_RUNS_PER_CHUNK = 100
#: Seconds of compilation after which an estimate of the remaining time starts again.
_LONG_COMPILATION = 0.5


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


class RunOptions(TypedDict, total=False):
    """Where and how runs are made: what every study hands on to `run`."""

    workers: int
    runner: Runner | None
    store: RunStore | str | Path | None
    again: bool
    announce: Callable[[int, int], None] | None
    progress: ProgressChoice


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
            and found again; with `again` they are made again. `announce(missing, all)` is called
            with the numbers of runs before the work begins. `progress`: True for a bar, or a
            function that is called as `progress(done, all, what)` from time to time: runs, weighted
            by what they cost. Both are 0 while kernels compile.

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
    runner = how.get("runner") or InProcesses(how.get("workers", 1))
    for spec in specs:
        spec.check()
    store = how.get("store")
    if store is not None and not isinstance(store, RunStore):
        store = RunStore(store)
    chunks = missing_chunks(specs, counts, store, again=how.get("again", False))
    if announce := how.get("announce"):
        announce(sum(end - first for _, first, end in chunks), sum(counts))
    parts: dict[AnySpec, dict[int, Rows]] = {spec: {} for spec in specs}
    for chunk, rows in _made(chunks, runner, chosen_progress(how.get("progress")), what):
        if store is None:
            parts[chunk.spec][chunk.first] = rows
        else:
            store.write_part(chunk.spec, chunk.first, rows)
    if store is not None:
        return Results(specs, [store.read(*each) for each in zip(specs, counts, strict=True)])
    return Results(specs, [_joined(parts[spec]) for spec in specs])


def missing_chunks(
    specs: Sequence[AnySpec],
    counts: Sequence[int],
    store: RunStore | None = None,
    *,
    again: bool = False,
) -> list[Chunk]:
    """The runs that a store does not have, all of them without one, or with `again`."""
    missing = {spec: [(0, count)] for spec, count in zip(specs, counts, strict=True)}
    if store is not None:
        wanted: dict[str, tuple[AnySpec, int]] = {}
        for spec, count in zip(specs, counts, strict=True):
            same, most = wanted.get(spec.digest, (spec, 0))
            wanted[spec.digest] = (same, max(most, count))
        if again:
            for spec, _ in wanted.values():
                store.forget(spec)
        missing = {spec: store.missing(spec, count) for spec, count in wanted.values()}
    runs = {spec: sum(end - first for first, end in ranges) for spec, ranges in missing.items()}
    usual, by_spec = sum(runs.values()) // _CHUNKS, []
    for spec, ranges in missing.items():
        size = min(max(1, runs[spec] // _CHUNKS_PER_SPEC, usual), _MAX_RUNS_PER_CHUNK)
        # The first run alone, since it says what the others cost.
        edges = [[first, *range(first + 1, end, size), end] for first, end in ranges]
        by_spec.append([Chunk(spec, *cut) for each in edges for cut in itertools.pairwise(each)])
    # A chunk of each in turn: what is done says how long the rest takes.
    turns = itertools.zip_longest(*by_spec)
    return [chunk for turn in turns for chunk in turn if chunk]


def _joined(parts: dict[int, Rows]) -> Rows:
    """The runs of a specification in their order."""
    ordered = [parts[first] for first in sorted(parts)]
    return {name: np.concatenate([rows[name] for rows in ordered]) for name in ordered[0]}


def _made(
    chunks: list[Chunk], runner: Runner, progress: Progress | None, what: str
) -> Iterator[tuple[Chunk, Rows]]:
    """Each chunk with what was measured, as soon as it is there; progress is shown meanwhile.

    What is done of all work: a run costs what those of its specification have cost so far, or where
    none is done, the mean of the others.
    """
    here: list[Chunk] = []
    if isinstance(runner, InProcesses) and runner.workers > 1:
        # One run of each kind of policy: its kernels are compiled once, before there are workers.
        here = [*{chunk.spec.policy_fields[0]: chunk for chunk in reversed(chunks)}.values()]
    waiting: Counter[AnySpec] = Counter()
    done: Counter[AnySpec] = Counter()
    seconds: Counter[AnySpec] = Counter()
    for spec, first, end in chunks:
        waiting[spec] += end - first
    total, share = waiting.total(), 0.0
    with contextlib.ExitStack() as stack:
        if progress and total:
            stack.enter_context(reported_compilation(lambda: progress(0, 0, COMPILING)))
            progress(0, total, what)
        elsewhere = [chunk for chunk in chunks if chunk not in here]
        for where, tasks in ((InProcesses(1), here), (runner, elsewhere)):
            for number, (rows, taken, compiling) in where(run_timed, tasks):
                spec, first, end = chunk = tasks[number]
                yield chunk, rows
                waiting[spec] -= end - first
                done[spec] += end - first
                seconds[spec] += taken  # type: ignore[assignment]
                spent = sum(seconds.values())
                mean = spent / done.total()
                costs = {each: seconds[each] / done[each] for each in done}
                rest = sum(runs * costs.get(each, mean) for each, runs in waiting.items())
                share = max(share, spent / (spent + rest) if rest else 1.0)
                if progress:
                    if compiling > _LONG_COMPILATION:
                        progress(0, 0, COMPILING)  # the clock starts again after it
                    progress(round(share * total), total, what)
