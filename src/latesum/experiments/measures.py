"""What is kept of a run: a measure is a function of a `Run`, known by its name.

A measure gives a number, a truth value, or an array that has the same length in every run. It is
written with its parameters as "stuck(gap=0.05)", and one of your own as
"package.module:function"; `register_measure` gives it a shorter name.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput
from latesum._plugins import Registry, read_call
from latesum.experiments.run import Run
from latesum.simulation import Problem

Floats = NDArray[np.float64]
Measure = Callable[..., Any]
_Function = TypeVar("_Function", bound=Measure)

MEASURES = Registry("measure", "latesum.measures")

#: Arms that are worse than the best by less do no harm worth counting.
HARMFUL_GAP = 0.02
#: A run is stuck if it still is when it is played on to this many horizons.
LONGER = 10
#: Of the time that is left, this share must go to a good option for the run to have settled.
SETTLED_SHARE = 0.95
#: Intervals are looked at in the first decision after these shares of the horizon.
COVERAGE_SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)


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


@register_measure("regret")
def regret(run: Run) -> Any:
    """The regret at every checkpoint."""
    return run.regret(run.checkpoints)


# As the run has them.
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
    run: Run,
    gap: float = HARMFUL_GAP,
    share: float | None = None,
    longer: int = LONGER,
    anew: bool = False,
) -> bool:
    """Suboptimal convergence: possibly stuck, and again at `longer` times the horizon.

    The first alone may be honest exploration: with a dozen close arms there is a lot to find out.
    The run is played on, with a policy that was given the shorter horizon and had settled by it;
    with `anew` it is made again, with a policy that is given the longer one.
    """
    least = harmful_gap(run.problem, gap, share)
    if max(run.problem.gaps) < least or run.regret() < least * run.horizon / 4:
        return False
    if not possibly_stuck(run, least):
        return False
    until = longer * run.horizon
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
