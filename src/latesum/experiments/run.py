"""What happened in one simulated run, its regret, and what else is kept of it.

A measure is a function of a `Run`, known by its name. It gives a number, a truth value, or an array
that has the same length in every run. It is written with its parameters as "stuck(gap=0.05)", and
one of your own as "package.module:function"; `register_measure` gives it a shorter name.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from latesum import _render
from latesum._checks import InvalidInput
from latesum._extras import as_frame, require
from latesum._plugins import Registry, read_call
from latesum.policies import Estimate, Play, Policy
from latesum.simulation import Problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Measure = Callable[..., Any]
_Function = TypeVar("_Function", bound=Measure)

MEASURES = Registry("measure", "latesum.measures")

#: Arms that are worse than the best by less do no harm worth counting.
HARMFUL_GAP = 0.02
#: A run is stuck if it still is when it is played on to this many horizons.
_LONGER = 10
#: Of the time that is left, this share must go to a good option for the run to have settled.
SETTLED_SHARE = 0.95
#: Intervals are looked at in the first decision after these shares of the horizon.
COVERAGE_SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)


class Run:
    """The blocks that were played, and the regret after any number of rounds.

    `problem` has its arms as this run met them; `arms` and `rounds` are those of every block;
    `plays` has their totals too and is None where these are not known; `policy` is as it was at the
    end, None if it has attributed feedback; `spec` and `number` say what the run was made from.
    """

    def __init__(
        self,
        problem: Problem,
        arms: Sequence[int] | Integers,
        rounds: Sequence[int] | Integers,
        *,
        plays: Sequence[Play] | None = None,
        policy: Policy | None = None,
        spec: Any = None,
        number: int = 0,
    ) -> None:
        self.problem = problem
        #: The policy as it was at the end.
        self.policy = policy
        self.spec, self.number = spec, number
        self.checkpoints = None if spec is None else np.array(spec.checkpoints)
        #: The rounds between two decisions.
        self.bucket = 1 if spec is None else spec.reports.bucket
        #: The arm of every block.
        self.arms = np.asarray(arms, dtype=np.int64)
        #: The rounds after which the arm could change: 0, and the end of every block.
        self.ends = np.concatenate([[0], np.cumsum(rounds, dtype=np.int64)])
        #: The rounds played.
        self.horizon = int(self.ends[-1])
        self._plays = plays
        lost = np.array(problem.gaps)[self.arms] * rounds
        if problem.changes:
            lost = np.array([self._lost(*each) for each in enumerate(np.diff(self.ends))])
        self._regret_at_ends = np.concatenate([[0.0], np.cumsum(lost)])

    @functools.cached_property
    def plays(self) -> Sequence[Play]:
        """The blocks with the totals that were reported."""
        if self._plays is not None:
            return self._plays
        rounds = np.diff(self.ends).tolist()
        return [Play(*each) for each in zip(self.arms.tolist(), rounds, strict=True)]

    @property
    def ended_on_best(self) -> bool:
        """Whether no arm was better than the one that was played last."""
        return self.problem.gaps_at(max(self.horizon - 1, 0))[int(self.arms[-1])] == 0

    @functools.cached_property
    def estimates(self) -> list[Estimate]:
        """What the policy knows of the arms at the end; nothing if it has attributed feedback."""
        return [] if self.policy is None else self.policy.estimates()

    @functools.cached_property
    def answer(self) -> int:
        """The arm that the policy would go on with: the one that looks best to it at the end."""
        if self.policy is None:
            raise InvalidInput("a policy with attributed feedback does not say which looks best.")
        estimates = [row for row in self.estimates if row.mean is not None]
        still_in = [row for row in estimates if row.active] or estimates
        if not still_in:  # nothing is known yet
            return self.policy.ask().arm
        return max(still_in, key=lambda row: row.mean if row.mean is not None else -1.0).arm

    def policies_after(self, rounds: Sequence[int]) -> Iterator[Policy]:
        """The policy as it was after the first block that ends at each of `rounds`, or later.

        Everything is reported to it again, so late totals are known at once here.
        """
        if self.policy is None:
            raise InvalidInput("of this run it is not known what its policy believed.")
        replayed = self.policy.fresh()
        plays, played = iter(self.plays), 0
        for wanted in rounds:
            while played < min(wanted, self.horizon):
                play = next(plays)
                replayed.tell(*play)
                played += play[1]
            yield replayed

    @property
    def switches(self) -> int:
        """How often the arm changed."""
        return int(np.count_nonzero(self.arms[1:] != self.arms[:-1]))

    @overload
    def regret(self, at: int | None = None) -> float: ...
    @overload
    def regret(self, at: Integers) -> Floats: ...
    def regret(self, at: int | Integers | None = None) -> float | Floats:
        """The regret after `at` rounds, or at the end: T mu* - sum of mu of the arms played.

        Where means change, mu* is that of the best arm in each round.
        """
        rounds = np.asarray(self.horizon if at is None else at)
        if rounds.size and (rounds.min() < 0 or rounds.max() > self.horizon):
            raise InvalidInput(
                f"the run has {self.horizon} rounds; ask for its regret within them."
            )
        result: Any = np.interp(rounds, self.ends, self._regret_at_ends)
        if self.problem.changes:
            result = np.vectorize(self._changing_regret, otypes=[float])(rounds)
        return result if isinstance(at, np.ndarray) else float(result)

    def _lost(self, index: int, rounds: int) -> float:
        """What is lost in the first `rounds` rounds of a block, where means change over time."""
        start = self.ends[index]
        lost = self.problem.lost_by(int(self.arms[index]), np.array([start, start + rounds]))
        return float(lost[1] - lost[0])

    def _changing_regret(self, rounds: int) -> float:
        index = min(int(np.searchsorted(self.ends, rounds, side="right")), len(self.arms)) - 1
        return float(self._regret_at_ends[index]) + self._lost(index, rounds - self.ends[index])

    def to_frame(self, backend: str = "pyarrow") -> Any:
        """One row per block, as a frame of "pyarrow", "pandas" or "polars"."""
        pa = require("pyarrow", "parquet")
        _, rounds, totals, purposes, _ = zip(*self.plays, strict=True)
        columns = {
            "start": pa.array(self.ends[:-1]),
            "rounds": pa.array(rounds, pa.int64()),
            "arm": pa.array(self.arms),
            "purpose": pa.array(purposes, pa.string()),
            "total": pa.array(totals, pa.float64()),
        }
        return as_frame(pa.table(columns), backend)

    def __repr__(self) -> str:
        return (
            f"Run({self.horizon:,} rounds, {len(self.arms):,} blocks, regret {self.regret():,.1f})"
        )

    def _repr_html_(self) -> str:
        """Which arm was played when, and the regret over rounds."""
        ends = ("0", f"{self.horizon:,} rounds")
        rounds = np.unique(np.linspace(0, self.horizon, 161).astype(np.int64))
        regrets = self.regret(rounds)
        top = f"regret {regrets[-1]:,.0f}"
        played = ", ".join(f"{row} (mean {mean:g})" for row, mean in enumerate(self.problem.means))
        when, n_arms = "which arm was played when", self.problem.n_arms
        over = rounds.tolist(), regrets.tolist()
        return (
            _render.heading(repr(self))
            + _render.sentences([f"On {self.problem!r}. Rows: arms {played}; pale: bridges."])
            + _render.strip(self._boxes(), n_arms, label=when, ends=ends)
            + _render.curve(*over, label="regret over rounds", ends=ends, top=top)
        )

    def _boxes(self, columns: int = 320) -> Iterator[tuple[float, float, int, bool]]:
        """Where each arm was played, in shares of the run: no finer than is seen."""
        learned = np.zeros((self.problem.n_arms, columns + 1), dtype=np.int8)
        for start, play in zip(self.ends[:-1].tolist(), self.plays, strict=True):
            first = start * columns // self.horizon
            last = -(-(start + play.rounds) * columns // self.horizon)
            part = learned[play.arm, first:last]
            np.maximum(part, 1 if play.purpose == "bridge" else 2, out=part)
        for arm, row in enumerate(learned):
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), columns]
            for first, last in itertools.pairwise(edges):
                if row[first]:
                    yield first / columns, last / columns, arm, bool(row[first] == 2)


# Measures.


def register_measure(name: str) -> Callable[[_Function], _Function]:
    """Make a function of a run known as a measure, in this process, by a name of its own.

    >>> @register_measure("blocks")
    ... def blocks(run):
    ...     return len(run.plays)
    >>> measures_of(["regret", "blocks"])["blocks"] is blocks
    True
    """

    def register(function: _Function) -> _Function:
        MEASURES.add(name, function)
        return function

    return register


def measures_of(texts: Sequence[str]) -> dict[str, Measure]:
    """The functions that are written, by their texts."""
    return {text: _measure(text) for text in texts}


@functools.lru_cache(maxsize=1024)
def _measure(text: str) -> Measure:
    name, parameters = read_call(text, "measure")
    measure: Measure = MEASURES.find(name)
    try:
        inspect.signature(measure).bind(None, **parameters)
    except TypeError as error:
        raise InvalidInput(f"the measure {text!r} cannot be taken: {error}.") from None
    return functools.partial(measure, **parameters) if parameters else measure


# As the run has them; regret at every checkpoint.
MEASURES.add("regret", lambda run: run.regret(run.checkpoints))
MEASURES.add("ended_on_best", lambda run: run.ended_on_best)
MEASURES.add("switches", lambda run: run.switches)


@register_measure("possibly_stuck")
def possibly_stuck(run: Run, gap: float = HARMFUL_GAP, share: float | None = None) -> bool:
    """Whether arms that are worse by `gap` were played for more than half of the last half.

    With `share`, arms that are worse by this share of the best mean count too, if that is less.
    """
    least = harmful_gap(run.problem, gap, share)
    harmful = np.array([each >= least for each in run.problem.gaps])
    half = run.horizon // 2
    late = np.diff(np.maximum(run.ends, half))
    return bool(late[harmful[run.arms]].sum() > (run.horizon - half) / 2)


@register_measure("stuck")
def stuck(
    run: Run, gap: float = HARMFUL_GAP, share: float | None = None, anew: bool = False
) -> bool:
    """Suboptimal convergence: possibly stuck, and again at ten times the horizon.

    The first alone may be honest exploration: with a dozen close arms there is a lot to find out.
    The run is played on, with a policy that was given the shorter horizon and had settled by it;
    with `anew` it is made again, with a policy that is given the longer one.
    """
    least = harmful_gap(run.problem, gap, share)
    if max(run.problem.gaps) < least or run.regret() < least * run.horizon / 4:
        return False
    if not possibly_stuck(run, least):
        return False
    until = _LONGER * run.horizon
    if anew:
        again = replace(run.spec, horizon=until, checkpoints=())
        return possibly_stuck(again.run(run.number), least)
    return possibly_stuck(run.spec.run(run.number, until=until), least)


def harmful_gap(problem: Problem, gap: float = HARMFUL_GAP, share: float | None = None) -> float:
    """From which gap on an arm is harmful: `gap`, or a share of the best mean if that is less.

    >>> harmful_gap(Problem([0.01, 0.02], "constant(0)"), share=0.2)
    0.004
    """
    return gap if share is None else min(gap, share * max(problem.means))


@register_measure("ends_right")
def ends_right(run: Run, within: float = 0.0) -> bool:
    """Whether the arm that looks best to the policy at the end is less than `within` below it.

    Where means drift, that is by those of the end.
    """
    return _is_good(run, within)[run.answer]


@register_measure("settled_after")
def settled_after(run: Run, within: float = 0.0) -> float:
    """The first bucket from which on nearly all are on a good arm; infinite if there is none.

    An arm is good if it is less than `within` below the best. A run that does not end right never
    settles.
    """
    if not ends_right(run, within):
        return math.inf
    good = np.array(_is_good(run, within))[run.arms]
    edges = -(-run.ends // run.bucket)
    starts, ends, last = edges[:-1], edges[1:], int(edges[-1])
    lengths = np.where(good, ends - starts, 0)
    after = lengths.sum() - np.cumsum(lengths)  # good buckets after each block
    # The share of good buckets among those left falls in a good block and rises in a bad one.
    first = np.ceil(last - after / SETTLED_SHARE - 1e-9)
    first = np.where(good, starts, np.maximum(starts, first))
    enough = after + lengths >= SETTLED_SHARE * (last - starts) - 1e-9
    settled = np.flatnonzero(np.where(good, enough, first < ends))
    return float(first[settled[0]]) if len(settled) else math.inf


@register_measure("on_good")
def on_good(run: Run, within: float = 0.0, times: int = 60) -> NDArray[np.bool_]:
    """Whether a good arm is played, at `times` times that are spread over the run."""
    good = np.array(_is_good(run, within))[run.arms]
    buckets = -(-run.horizon // run.bucket)
    at = np.linspace(0, buckets - 1, min(times, buckets)).astype(int) * run.bucket
    shown: NDArray[np.bool_] = good[np.searchsorted(run.ends, at, side="right") - 1]
    return shown


@register_measure("missed")
def missed(run: Run, levels: Sequence[float] = (0.95, 0.9975)) -> Floats:
    """1 where an interval missed the true mean and 0 where it did not, by level, time and arm.

    The times are the first decisions after a 64th, a 16th, a quarter and all of the horizon; an
    arm that was not played by then has NaN.
    """
    times = [math.ceil(share * run.horizon) for share in COVERAGE_SHARES]
    result = np.full((len(levels), len(times), run.problem.n_arms), np.nan)
    for time, policy in enumerate(run.policies_after(times)):
        for place, level in enumerate(levels):
            for row in policy.estimates(level):
                if row.plays:
                    truth = run.problem.means[row.arm]
                    result[place, time, row.arm] = not row.low <= truth <= row.high
    return result.ravel()


def _is_good(run: Run, within: float) -> list[bool]:
    calendar = getattr(run.problem, "calendar", None)
    gaps = run.problem.gaps
    if calendar is not None and calendar.drift_to is not None:
        gaps = run.problem.gaps_at(run.horizon - 1)
    return [gap < within - 1e-12 or gap <= 1e-12 for gap in gaps]
