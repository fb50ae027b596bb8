"""The only way runs are made: settings in, results out, here or elsewhere, kept or not."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypedDict

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._compile import compile_seconds, reported_compilation
from latesum._progress import COMPILING, ProgressChoice, chosen_progress
from latesum._progress import Progress as Progress
from latesum.experiments.measures import measures_of
from latesum.experiments.results import Results, Rows, check_names
from latesum.experiments.runners import Runner, chosen_runner
from latesum.experiments.spec import AnySetting
from latesum.experiments.store import RunStore

#: What a chunk should take where results are kept: little is lost with one, and handing it out
#: costs nothing beside it.
_SECONDS_PER_CHUNK = 1.0
_MOST_RUNS_PER_CHUNK = 1024
#: Where they are not: few enough chunks to cost nothing, enough for a progress bar.
_CHUNKS_PER_WORKER = 16
#: A run that takes longer than this is measured on a tenth of its rounds.
_LONG_RUN = 0.5
#: The rounds of a run that is made to compile what it needs.
_SHORT_RUN = 1000


class Chunk(NamedTuple):
    """Runs `first` to `end` - 1 of a setting."""

    setting: AnySetting
    first: int
    end: int


def run_chunk(chunk: Chunk) -> Rows:
    """Make the runs of a chunk: a pure function, the same wherever and however often it is run."""
    setting = chunk.setting
    measures = measures_of(setting.measures)
    taken: dict[str, list[object]] = {name: [] for name in measures}
    for number in range(chunk.first, chunk.end):
        made = setting.run(number)
        for name, measure in measures.items():
            taken[name].append(measure(made))
    return {name: np.array(values) for name, values in taken.items()}


class Timed(NamedTuple):
    """The runs of a chunk, and how many seconds they took where they were made."""

    rows: Rows
    seconds: float  # without those of compiling
    compiling: float = 0.0


def run_timed(chunk: Chunk) -> Timed:
    """`run_chunk`, with how long it took."""
    started, compiling = time.perf_counter(), compile_seconds()
    rows = run_chunk(chunk)
    compiling = compile_seconds() - compiling
    return Timed(rows, time.perf_counter() - started - compiling, compiling)


class _Pace:
    """Which share of all work is done: settings differ in what a run costs.

    What a run costs is what those of its setting have cost so far. Where none is done, it is what
    was measured before, or the mean of the others.
    """

    def __init__(
        self, runs: Mapping[str, int], measured: Mapping[str, float] | None = None
    ) -> None:
        self._left, self._measured = dict(runs), measured
        self._made: dict[str, int] = dict.fromkeys(runs, 0)
        self._seconds: dict[str, float] = dict.fromkeys(runs, 0.0)
        self._share = 0.0

    def done(self, name: str, runs: int, seconds: float) -> float:
        """Runs of a setting were made: the share of all work that is done now; it never falls."""
        self._left[name] -= runs
        self._made[name] += runs
        self._seconds[name] += seconds
        spent = sum(self._seconds.values())
        usual = spent / sum(self._made.values())
        rest = sum(left * self._cost(name, usual) for name, left in self._left.items() if left)
        share = spent / (spent + rest) if rest else 1.0
        self._share = max(self._share, share)
        return self._share

    def _cost(self, name: str, usual: float) -> float:
        if made := self._made[name]:
            return self._seconds[name] / made
        return usual if self._measured is None else self._measured[name]


class Work(NamedTuple):
    """What is left to do of a setting, and how long one run takes."""

    setting: AnySetting
    missing: list[tuple[int, int]]
    seconds_per_run: float

    @property
    def runs(self) -> int:
        """How many runs are left."""
        return sum(end - first for first, end in self.missing)


@dataclass(frozen=True)
class Todo:
    """What is left to do before all runs are there."""

    all_runs: int
    work: list[Work]

    @property
    def runs_left(self) -> int:
        """The runs that are not in the store yet."""
        return sum(work.runs for work in self.work)

    def seconds(self, workers: int = 1) -> float:
        """About how long the rest takes with `workers` workers."""
        return sum(work.runs * work.seconds_per_run for work in self.work) / workers

    def chunks(self) -> list[Chunk]:
        """The rest, cut up; the slowest settings first, so that no long chunk ends alone."""
        chunks = []
        for work in sorted(self.work, key=lambda work: -work.seconds_per_run):
            size = _runs_per_chunk(work.seconds_per_run)
            for first, end in work.missing:
                edges = [first, *range((first // size + 1) * size, end, size), end]
                chunks += [
                    Chunk(work.setting, start, stop) for start, stop in itertools.pairwise(edges)
                ]
        return chunks


def todo(
    settings: Sequence[AnySetting],
    replications: int | Sequence[int],
    store: RunStore,
    *,
    again: bool = False,
    progress: Progress | None = None,
) -> Todo:
    """Find out what is missing in a store, and measure one short run of each setting that is.

    With `again`, everything is: what is there is thrown away.
    """
    counts = _counts(settings, replications)
    wanted: dict[str, tuple[AnySetting, int]] = {}
    for setting, count in zip(settings, counts, strict=True):
        known = wanted.get(setting.digest, (setting, 0))
        wanted[setting.digest] = (known[0], max(known[1], count))
    work = []
    for setting, count in wanted.values():
        setting.check()
        if again:
            store.forget(setting)
        if missing := store.missing(setting, count):
            with _compilation_shown(progress):
                work.append(Work(setting, missing, _seconds_per_run(setting)))
    return Todo(sum(counts), work)


class RunOptions(TypedDict, total=False):
    """Where and how runs are made: what every study hands on to `run`."""

    workers: int
    runner: Runner | None
    store: RunStore | str | Path | None
    again: bool
    announce: Callable[[Todo], None] | None
    progress: ProgressChoice


def run(
    settings: Sequence[AnySetting],
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
        settings: What to run; settings with the same digest share their runs.
        replications: How often: one number, or one for each setting.
        workers: The number of processes.
        runner: Where runs are made, in place of `workers`; see `latesum.experiments.runners`.
        store: A folder in which runs are kept as they come in, and found again.
        again: Make anew what is in the store.
        announce: With a store, called with what there is to do before it is begun.
        progress: True for a bar, in a notebook or on a terminal; or a function that is called as
            `progress(done, all, what)` from time to time. The numbers are runs, or milliseconds of
            work where it was measured how long the runs of each setting take; both are 0 while
            kernels compile.
        what: What `progress` is told that this is.
        known: The first runs of each setting, as far as they were made already; None where there
            are none. They are not made again. A store knows that itself.

    >>> from latesum import Problem
    >>> from latesum.experiments.spec import RunSpec
    >>> from latesum.policies import PolicySpec
    >>> problem = Problem([0.2, 0.8], "uniform(0, 9)")
    >>> one = RunSpec(problem, PolicySpec.parse("odaaf"), 1_000, policy_name="odaaf")
    >>> run([one], 3).summary()[0].ended_on_best
    1.0
    """
    check_names(settings)
    counts = _counts(settings, replications)
    progress = chosen_progress(progress)
    with chosen_runner(workers) as local:
        runner = runner or local
        if store is None:
            made = _in_memory(settings, counts, runner, progress, what, known)
            return Results(settings, made)
        store = store if isinstance(store, RunStore) else RunStore(store)
        left = todo(settings, counts, store, again=again, progress=progress)
        if announce:
            announce(left)
        if left.work:
            _into(store, left, runner, progress, what)
    rows = [store.read(*each) for each in zip(settings, counts, strict=True)]
    return Results(settings, rows)


def _counts(settings: Sequence[AnySetting], replications: int | Sequence[int]) -> list[int]:
    given = replications if isinstance(replications, Sequence) else [replications] * len(settings)
    if len(given) != len(settings):
        raise InvalidInput(f"give one number of replications, or one for each of {len(settings)}.")
    return [whole_number(each, "the number of replications", at_least=1) for each in given]


def _in_memory(
    settings: Sequence[AnySetting],
    counts: list[int],
    runner: Runner,
    progress: Progress | None,
    what: str,
    known: Sequence[Rows | None] | None = None,
) -> list[Rows]:
    for setting in settings:
        setting.check()
    before = known or [None] * len(settings)
    firsts = [0 if rows is None else len(next(iter(rows.values()))) for rows in before]
    left = [count - first for count, first in zip(counts, firsts, strict=True)]
    size = max(1, sum(left) // (runner.workers * _CHUNKS_PER_WORKER))
    if len(settings) > 1:
        size = min(size, max(1, min((each for each in left if each), default=1) // 4))
    by_setting = [
        [(place, *cut) for cut in itertools.pairwise(_cuts(first, count, size))]
        for place, (first, count) in enumerate(zip(firsts, counts, strict=True))
    ]
    # A chunk of each setting in turn, so that what is done says how long the rest takes.
    places = [each for turn in itertools.zip_longest(*by_setting) for each in turn if each]
    chunks = [Chunk(settings[place], first, end) for place, first, end in places]
    parts: dict[tuple[int, int], Rows] = {}
    total = sum(left)
    pace = _Pace({str(place): runs for place, runs in enumerate(left)})
    if progress or runner.workers > 1:
        _prepare([each for each, count in zip(settings, left, strict=True) if count], progress)
    if progress and chunks:
        progress(0, total, what)
    for number, made in runner(run_timed, chunks):
        place, first, end = places[number]
        parts[place, first] = made.rows
        share = pace.done(str(place), end - first, made.seconds)
        if progress:
            _report(progress, share, total, what, made.compiling)
    made = [[parts[place, first] for _, first, _ in cut] for place, cut in enumerate(by_setting)]
    return [
        _joined(([] if rows is None else [rows]) + more)
        for rows, more in zip(before, made, strict=True)
    ]


def _cuts(first: int, count: int, size: int) -> list[int]:
    """Where the runs of a setting are cut: the first alone, since it says what the others cost."""
    if first >= count:
        return []
    return [first, *range(first + 1, count, size), count]


def _joined(parts: list[Rows]) -> Rows:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _into(
    store: RunStore, left: Todo, runner: Runner, progress: Progress | None, what: str
) -> None:
    """Make the runs that are left, and write every chunk as soon as it is there."""
    measured = {work.setting.digest: work.seconds_per_run for work in left.work}
    # Another process may have been faster since it was found out what is left.
    chunks = [chunk for chunk in left.chunks() if not store.has(*chunk)]
    runs = dict.fromkeys(measured, 0)
    for each in chunks:
        runs[each.setting.digest] += each.end - each.first
    work = sum(measured[digest] * count for digest, count in runs.items())
    total = max(1, round(1000 * work))
    pace = _Pace(runs, measured)
    if progress and chunks:
        progress(0, total, what)
    for number, made in runner(run_timed, chunks):
        chunk = chunks[number]
        store.write_part(chunk.setting, chunk.first, made.rows)
        share = pace.done(chunk.setting.digest, chunk.end - chunk.first, made.seconds)
        if progress:
            _report(progress, share, total, what, made.compiling)


def _report(progress: Progress, share: float, total: int, what: str, compiling: float) -> None:
    """Report the share that is done; time that a worker spent compiling starts the clock anew."""
    if compiling > _LONG_RUN:
        progress(0, 0, COMPILING)
    progress(round(share * total), total, what)


def _runs_per_chunk(seconds_per_run: float) -> int:
    """A power of two, so that small differences in speed do not move the edges of chunks."""
    size = 1
    while size < _MOST_RUNS_PER_CHUNK and 2 * size * seconds_per_run <= _SECONDS_PER_CHUNK:
        size *= 2
    return size


_measured: dict[str, float] = {}


def _seconds_per_run(setting: AnySetting) -> float:
    """How long one run takes, measured on one after a first that compiles what it needs."""
    if setting.digest not in _measured:
        tenth = max(1, setting.horizon // 10)
        _shortest(setting)
        seconds = _seconds(setting.shortened(tenth))
        if 10 * seconds > _LONG_RUN:
            # What a run ten times as long costs more: at most tenfold, often next to nothing.
            growth = seconds / (_seconds(setting.shortened(max(1, tenth // 10))) or seconds)
            _measured[setting.digest] = seconds * min(max(growth, 1.0), 10.0)
        else:
            _measured[setting.digest] = _seconds(setting)
    return _measured[setting.digest]


def _seconds(setting: AnySetting) -> float:
    return run_timed(Chunk(setting, 0, 1)).seconds


_prepared: set[tuple[str, str]] = set()


def _prepare(settings: Sequence[AnySetting], progress: Progress | None) -> None:
    """Make a short run of each setting here: kernels are compiled before there are workers."""
    with _compilation_shown(progress):
        for setting in settings:
            if (key := (setting.problem_name, setting.policy_name)) not in _prepared:
                _prepared.add(key)
                _shortest(setting)


def _shortest(setting: AnySetting) -> None:
    run_chunk(Chunk(setting.shortened(min(max(1, setting.horizon // 10), _SHORT_RUN)), 0, 1))


def _compilation_shown(progress: Progress | None) -> AbstractContextManager[None]:
    if progress is None:
        return contextlib.nullcontext()
    return reported_compilation(lambda: progress(0, 0, COMPILING))
