"""One run of a policy, several policies compared, and the one way in which all runs are made.

`run` takes specifications and gives results: here or elsewhere, kept or not.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum._compile import compile_seconds, reported_compilation
from latesum._progress import COMPILING, Progress, ProgressChoice, chosen_progress
from latesum.experiments.loop import Reports
from latesum.experiments.results import Results, check_names
from latesum.experiments.run import Run, measures_of
from latesum.experiments.runners import InProcesses, Runner
from latesum.experiments.spec import USUAL_MEASURES, AnyPolicy, Order, RunSpec, Spec, StatusQuo
from latesum.experiments.store import Rows, RunStore
from latesum.policies import PolicySpec
from latesum.simulation import Problem
from latesum.simulation.market import Market

#: Runs are handed out, and kept, in chunks: few enough to cost nothing, small enough that little
#: is lost with one and that a progress bar moves. About how many per specification, and in all.
_CHUNKS_PER_SPEC, _CHUNKS = 8, 512
_MAX_RUNS_PER_CHUNK = 100
#: Seconds of compilation after which an estimate of the remaining time starts again.
_LONG_COMPILATION = 0.5


class RunOptions(TypedDict, total=False):
    """Where and how runs are made: what every study hands on to `run`."""

    workers: int
    runner: Runner | None
    store: RunStore | str | Path | None
    again: bool
    announce: Callable[[int, int], None] | None
    progress: ProgressChoice


def simulate(
    problem: Problem,
    policy: AnyPolicy | str,
    horizon: int,
    *,
    seed: int,
    number: int = 0,
    bucket: int = 1,
    report_lag: int = 0,
    status_quo: StatusQuo = None,
    history: int = 0,
) -> Run:
    """Play a fresh copy of `policy` for `horizon` rounds.

    With `bucket` or `report_lag` the policy lives with data as they are in practice: it decides
    only at the ends of buckets, on totals that become known some time after the end of theirs.

    Args:
        policy: What decides; the object itself is left as it is. As text, such as "flow", it is
            given what is true of the problem.
        seed: The same seed gives the same run.
        number: Which run of that seed: number 3 is the fourth replication that `compare` makes.
        bucket: The rounds between two decisions, where they are not taken in any round.
        report_lag: The rounds after which the total of a bucket, or without buckets that of a
            block, becomes known.
        status_quo: What was played until the start, and is still arriving: an arm, or a reward (or
            its mean) that is no arm. A policy that was built before has a parameter of its own.
        history: For how many rounds before the start the totals of the arm `status_quo` are known;
            the policy is given them, in segments of a bucket.

    >>> from latesum import ODAAFB, Problem, simulate
    >>> policy = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)
    >>> simulate(Problem([0.5, 0.6], "uniform(0, 100)"), policy, 250_000, seed=1)
    Run(250,000 rounds, 12 blocks, regret 2,049.1)
    """
    more: dict[str, Any] = {"seed": seed, "status_quo": status_quo, "history": history}
    reports = Reports(bucket, report_lag)
    spec = RunSpec(problem, PolicySpec.of(policy), horizon, reports=reports, **more)
    spec.check()
    return spec.run(number)


def compare(
    problem: Problem | Market,
    policies: Mapping[str, AnyPolicy | str] | Sequence[str],
    horizon: int,
    *,
    replications: int,
    seed: int,
    bucket: int = 1,
    report_lag: int = 0,
    status_quo: StatusQuo = None,
    history: int = 0,
    order: Order = "listed",
    measures: Sequence[str] = (),
    **how: Unpack[RunOptions],
) -> Results:
    """Play every policy `replications` times; the result does not depend on where that is done.

    `bucket`, `report_lag`, `status_quo` and `history` are those of `simulate`.

    Args:
        problem: What is played: a problem, or a law of markets, from which every run draws one. In
            a market policies are given as text, "switchback" and the analysts' tests
            ("half-time-test", "geo-test") among them; those of one stream show the same in all
            regions, and are given the history.
        policies: Policies by name, or a list of texts such as "flow" or "package.module:Class". A
            policy that is text is given what is true of the problem.
        horizon: The number of rounds; of a market, of its buckets.
        replications: How often each policy is run.
        seed: The same seed gives the same result.
        order: "listed", or "drawn": the order of the arms is drawn in every replication, the
            same for all policies; these must be text then, since each is built for the order it
            meets.
        measures: What is kept of every run beside regret, `ended_on_best` and `switches`.
        how: Where and how runs are made: `workers`, a folder `store` to keep them in,
            `progress=True` for a bar, `runner=OnDask(client)` for a Dask cluster, and the rest of
            what `latesum.experiments.engine.run` takes.

    >>> from latesum import Problem, compare
    >>> problem = Problem([0.2, 0.8], "uniform(0, 10)")
    >>> results = compare(problem, ["odaaf", "flow"], 5_000, replications=4, seed=1)
    >>> results.summary()[0].ended_on_best
    1.0
    >>> from latesum.simulation.market import Market
    >>> names = ["half-time-test", "equal-split"]
    >>> found = compare(Market(regions=2), names, 28, replications=4, seed=1)
    >>> found["equal-split"].regrets.shape  # sales lost, after each of 28 buckets
    (4, 28)
    """
    policies = [policies] if isinstance(policies, str) else policies
    named = policies if isinstance(policies, Mapping) else {text: text for text in policies}
    if not named or len(named) < len(policies):
        raise InvalidInput(
            "give at least one policy to compare, and none twice, as a list or as {name: policy}."
        )
    if not isinstance(policies, Mapping) and not all(isinstance(name, str) for name in named):
        raise InvalidInput("a list has policies as text; give others a name: {name: policy}.")
    kept = tuple(dict.fromkeys([*USUAL_MEASURES, *measures]))
    fields = {"status_quo": status_quo, "history": history, "order": order}
    if isinstance(problem, Market):
        from latesum.experiments.markets.spec import MarketRunSpec  # it takes a while to import

        given = fields | {"bucket": bucket, "report_lag": report_lag}
        usual = {"status_quo": None, "history": 0, "order": "listed", "bucket": 1, "report_lag": 0}
        if said := sorted(name for name, value in given.items() if value != usual[name]):
            raise InvalidInput(
                f"a market says this itself: leave out {', '.join(said)}, and set it in the Market."
            )
        law = replace(problem, buckets=horizon)
        shared: dict[str, Any] = {"seed": seed, "measures": kept, "problem_name": "market"}
        texts: Any = named  # what is no text is refused there
        markets = [
            MarketRunSpec(law, text, policy_name=name, **shared) for name, text in texts.items()
        ]
        return run(markets, replications, **how)
    if order == "drawn" and not all(isinstance(policy, str) for policy in named.values()):
        raise InvalidInput(
            "in random order a policy is built for the arms as each run meets them: give policies "
            'as text, such as "flow".'
        )
    shared = {"seed": seed, "checkpoints": default_checkpoints(horizon), "measures": kept, **fields}
    reports = Reports(bucket, report_lag)
    specs = [
        RunSpec(problem, PolicySpec.of(each), horizon, reports=reports, policy_name=name, **shared)
        for name, each in named.items()
    ]
    return run(specs, replications, **how)


def default_checkpoints(horizon: int, count: int = 200, early: int = 100) -> tuple[int, ...]:
    """Rounds at which regret is kept: dense at first, even later, the horizon last.

    >>> default_checkpoints(10)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
    """
    if not isinstance(horizon, int) or horizon < 1:
        return ()  # refused by the specification
    spread = np.concatenate([np.geomspace(1, horizon, early), np.linspace(1, horizon, count)])
    return tuple(np.unique(np.rint(spread).astype(np.int64)).tolist())


def run(
    specs: Sequence[Spec],
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
    parts: dict[Spec, dict[int, Rows]] = {spec: {} for spec in specs}
    for chunk, rows in _made(chunks, runner, chosen_progress(how.get("progress")), what):
        if store is None:
            parts[chunk.spec][chunk.first] = rows
        else:
            store.write_part(chunk.spec, chunk.first, rows)
    if store is not None:
        return Results(specs, [store.read(*each) for each in zip(specs, counts, strict=True)])
    joined = []
    for found in parts.values():
        ordered = [found[first] for first in sorted(found)]
        joined.append({name: np.concatenate([rows[name] for rows in ordered]) for name in found[0]})
    return Results(specs, joined)


class Chunk(NamedTuple):
    """Runs `first` to `end` - 1 of a specification."""

    spec: Spec
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


def missing_chunks(
    specs: Sequence[Spec],
    counts: Sequence[int],
    store: RunStore | None = None,
    *,
    again: bool = False,
) -> list[Chunk]:
    """The runs that a store does not have, all of them without one, or with `again`."""
    missing = {spec: [(0, count)] for spec, count in zip(specs, counts, strict=True)}
    if store is not None:
        wanted: dict[str, tuple[Spec, int]] = {}
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
    waiting: Counter[Spec] = Counter()
    done: Counter[Spec] = Counter()
    seconds: Counter[Spec] = Counter()
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
