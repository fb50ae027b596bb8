"""The one way runs are made: specifications in, results out, here or elsewhere, kept or not."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._compile import compile_seconds, reported_compilation
from latesum._progress import COMPILING, Progress, ProgressChoice, chosen_progress
from latesum.experiments.measures import measures_of
from latesum.experiments.results import Results, Rows, check_names
from latesum.experiments.runners import Runner, chosen_runner
from latesum.experiments.store import RunStore

if TYPE_CHECKING:
    from latesum.experiments.store import AnySpec

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


class Made(NamedTuple):
    """The runs of a chunk, and what making them took where they were made."""

    rows: Rows
    seconds: float  # without those of compiling
    compiling: float


def run_timed(chunk: Chunk) -> Made:
    """`run_chunk`, with how long it took."""
    started, compiling = time.perf_counter(), compile_seconds()
    rows = run_chunk(chunk)
    compiling = compile_seconds() - compiling
    return Made(rows, time.perf_counter() - started - compiling, compiling)


class Todo(NamedTuple):
    """What is left to do before all runs are in a store."""

    all_runs: int
    chunks: list[Chunk]
    seconds_per_run: Mapping[AnySpec, float]  # measured

    @property
    def runs_left(self) -> int:
        """The runs that are not in the store yet."""
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


def run(
    specs: Sequence[AnySpec],
    replications: int | Sequence[int],
    *,
    workers: int = 1,
    runner: Runner | None = None,
    store: RunStore | str | Path | None = None,
    again: bool = False,
    announce: Callable[[Todo], None] | None = None,
    progress: ProgressChoice = None,
    what: str = "runs",
    known: Sequence[Rows | None] | None = None,
) -> Results:
    """Make all runs that are not in the store yet, and return all of them.

    The results do not depend on the runner, nor on how often the work was interrupted.

    Args:
        specs: What to run; specifications with the same digest share their runs in a store.
        replications: How often: one number, or one for each specification.
        workers: The number of processes.
        runner: Where runs are made, in place of `workers`; see `latesum.experiments.runners`.
        store: A folder in which runs are kept as they come in, and found again.
        again: Make again what is in the store.
        announce: With a store, called with what there is to do before it is begun.
        progress: True for a bar, in a notebook or on a terminal; or a function that is called as
            `progress(done, all, what)` from time to time: runs, weighted by what they cost. Both
            are 0 while kernels compile.
        what: What this is, for `progress`.
        known: The first runs of each specification, as far as they were made already; None where
            there are none. They are not made again. A store knows that itself.

    >>> from latesum import Problem
    >>> from latesum.experiments.spec import RunSpec
    >>> from latesum.policies import PolicySpec
    >>> problem = Problem([0.2, 0.8], "uniform(0, 9)")
    >>> one = RunSpec(problem, PolicySpec.parse("odaaf"), 1_000, policy_name="odaaf")
    >>> run([one], 3).summary()[0].ended_on_best
    1.0
    """
    check_names(specs)
    counts = _counts(specs, replications)
    for spec in specs:
        spec.check()
    show = chosen_progress(progress)
    with chosen_runner(workers) as local:
        runner = runner or local
        if store is not None:
            store = store if isinstance(store, RunStore) else RunStore(store)
            left = todo(specs, counts, store, again=again, progress=show)
            if announce:
                announce(left)
            for chunk, rows in _made(left.chunks, runner, show, what, left.seconds_per_run):
                store.write_part(chunk.spec, chunk.first, rows)
            return Results(specs, [store.read(*each) for each in zip(specs, counts, strict=True)])
        before = dict(zip(specs, known or [None] * len(specs), strict=True))
        chunks = _chunks_in_memory(specs, counts, before, runner.workers)
        if show or runner.workers > 1:
            _prepare([spec for spec in specs if any(each.spec is spec for each in chunks)], show)
        parts = {
            (chunk.spec, chunk.first): rows for chunk, rows in _made(chunks, runner, show, what)
        }
    made = []
    for spec, first_rows in before.items():
        firsts = sorted(first for owner, first in parts if owner is spec)
        own = [parts[spec, first] for first in firsts]
        own = own if first_rows is None else [first_rows, *own]
        made.append({name: np.concatenate([part[name] for part in own]) for name in own[0]})
    return Results(specs, made)


def _counts(specs: Sequence[AnySpec], replications: int | Sequence[int]) -> list[int]:
    given = replications if isinstance(replications, Sequence) else [replications] * len(specs)
    if len(given) != len(specs):
        raise InvalidInput(f"give one number of replications, or one for each of {len(specs)}.")
    return [whole_number(each, "the number of replications", at_least=1) for each in given]


def todo(
    specs: Sequence[AnySpec],
    replications: int | Sequence[int],
    store: RunStore,
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> Todo:
    """Find out what is missing in a store, and measure one run of each specification that is.

    With `again`, everything is: what is there is thrown away.
    """
    counts = _counts(specs, replications)
    wanted: dict[str, tuple[AnySpec, int]] = {}
    for spec, count in zip(specs, counts, strict=True):
        known, most = wanted.get(spec.digest, (spec, 0))
        wanted[spec.digest] = (known, max(most, count))
    missing: dict[AnySpec, list[tuple[int, int]]] = {}
    for spec, count in wanted.values():
        if again:
            store.forget(spec)
        if ranges := store.missing(spec, count):
            missing[spec] = ranges
    with _compilation_shown(progress):
        seconds = {spec: _seconds_per_run(spec) for spec in missing}
    chunks = []
    # The slowest first, so that no long chunk ends alone.
    for spec in sorted(missing, key=lambda spec: -seconds[spec]):
        size = _runs_per_chunk(seconds[spec])
        for first, end in missing[spec]:
            edges = [first, *range((first // size + 1) * size, end, size), end]
            chunks += [Chunk(spec, *cut) for cut in itertools.pairwise(edges)]
    return Todo(sum(counts), chunks, seconds)


def _runs_per_chunk(seconds_per_run: float) -> int:
    """A power of two, so that small differences in speed do not move the edges of chunks."""
    size = 1
    while size < _MAX_RUNS_PER_CHUNK and 2 * size * seconds_per_run <= _SECONDS_PER_CHUNK:
        size *= 2
    return size


def _chunks_in_memory(
    specs: Sequence[AnySpec],
    counts: Sequence[int],
    before: Mapping[AnySpec, Rows | None],
    workers: int,
) -> list[Chunk]:
    """A chunk of each specification in turn: what is done says how long the rest takes.

    The first run of each is alone, since it says what the others cost.
    """
    firsts = [0 if rows is None else len(next(iter(rows.values()))) for rows in before.values()]
    left = [count - first for count, first in zip(counts, firsts, strict=True)]
    size = max(1, sum(left) // (workers * _CHUNKS_PER_WORKER))
    if len(specs) > 1:
        size = min(size, max(1, min((each for each in left if each), default=1) // 4))
    by_spec = []
    for spec, first, count in zip(specs, firsts, counts, strict=True):
        edges = [first, *range(first + 1, count, size), count] if first < count else []
        by_spec.append([Chunk(spec, *cut) for cut in itertools.pairwise(edges)])
    return [each for turn in itertools.zip_longest(*by_spec) for each in turn if each]


def _made(
    chunks: Sequence[Chunk],
    runner: Runner,
    progress: Progress | None,
    what: str,
    measured: Mapping[AnySpec, float] | None = None,
) -> Iterator[tuple[Chunk, Rows]]:
    """Each chunk with what was measured, as soon as it is there; progress is shown meanwhile."""
    pace = _Pace(chunks, measured)
    total = sum(end - first for _, first, end in chunks)
    if progress and chunks:
        progress(0, total, what)
    for number, made in runner(run_timed, chunks):
        yield chunks[number], made.rows
        share = pace.done(chunks[number], made.seconds)
        if progress:
            if made.compiling > _LONG_RUN:
                progress(0, 0, COMPILING)  # the clock starts again after it
            progress(round(share * total), total, what)


class _Pace:
    """Which share of all work is done: specifications differ in what a run costs.

    What a run costs is what those of its specification have cost so far. Where none is done, it is
    what was measured before, or the mean of the others.
    """

    def __init__(self, chunks: Sequence[Chunk], measured: Mapping[AnySpec, float] | None) -> None:
        self._left: Counter[AnySpec] = Counter()
        for spec, first, end in chunks:
            self._left[spec] += end - first
        self._measured = measured
        self._made: Counter[AnySpec] = Counter()
        self._seconds: dict[AnySpec, float] = {}
        self._share = 0.0

    def done(self, chunk: Chunk, seconds: float) -> float:
        """A chunk was made: the share of all work that is done now; it never falls."""
        spec, runs = chunk.spec, chunk.end - chunk.first
        self._left[spec] -= runs
        self._made[spec] += runs
        self._seconds[spec] = self._seconds.get(spec, 0.0) + seconds
        spent = sum(self._seconds.values())
        rest = sum(left * self._cost(spec) for spec, left in self._left.items() if left)
        self._share = max(self._share, spent / (spent + rest) if rest else 1.0)
        return self._share

    def _cost(self, spec: AnySpec) -> float:
        if made := self._made[spec]:
            return self._seconds[spec] / made
        if self._measured is not None:
            return self._measured[spec]
        return sum(self._seconds.values()) / self._made.total()


_measured: dict[str, float] = {}


def _seconds_per_run(spec: AnySpec) -> float:
    """How long one run takes, measured on one after a first that compiles what it needs."""
    if spec.digest not in _measured:
        tenth = max(1, spec.horizon // 10)
        _shortest_run(spec)
        seconds = _seconds(spec.shortened(tenth))
        if 10 * seconds > _LONG_RUN:
            # What a run ten times as long costs more: at most tenfold, often next to nothing.
            growth = seconds / (_seconds(spec.shortened(max(1, tenth // 10))) or seconds)
            _measured[spec.digest] = seconds * min(max(growth, 1.0), 10.0)
        else:
            _measured[spec.digest] = _seconds(spec)
    return _measured[spec.digest]


def _seconds(spec: AnySpec) -> float:
    return run_timed(Chunk(spec, 0, 1)).seconds


_prepared: set[tuple[str, str]] = set()


def _prepare(specs: Sequence[AnySpec], progress: Progress | None) -> None:
    """Make a short run of each here: kernels are compiled before there are workers."""
    with _compilation_shown(progress):
        for spec in specs:
            if (key := (spec.problem_name, spec.policy_name)) not in _prepared:
                _prepared.add(key)
                _shortest_run(spec)


def _shortest_run(spec: AnySpec) -> None:
    run_chunk(Chunk(spec.shortened(min(max(1, spec.horizon // 10), _SHORT_RUN)), 0, 1))


def _compilation_shown(progress: Progress | None) -> AbstractContextManager[None]:
    if progress is None:
        return contextlib.nullcontext()
    return reported_compilation(lambda: progress(0, 0, COMPILING))
