"""Replications are raced: they go where the verdict depends on them.

All candidates are looked at after a few runs, after a hundred, and then after twice as many each time.
One that is clearly behind gets no more; the one that is recommended always has all of its runs. Which
runs are made depends on what came of those before and on nothing else, so the same seed gives the same plan
on any machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from latesum.experiments import stats
from latesum.experiments.results import Rows
from latesum.experiments.spec import RunSpec
from latesum.planning.answers import Case, Forecast, Outcome, Simulation, Thresholds, outcome_of
from latesum.planning.candidates import EQUAL_SPLIT
from latesum.planning.verdict import recommend

#: Runs of each candidate in the first look.
FIRST_LOOK = 12
#: And in the second.
_SECOND_LOOK = 40
#: From this many runs on a candidate may be clearly behind.
FEWEST = 100
#: Clearly is by this many standard errors. By the law of t a candidate that is as good as the recommended one is
#: stopped in one of 2,900 looks at a hundred runs; with four looks and six candidates that is, by the sum of the chances (a union
#: bound: the looks share runs, and no more than this was shown), in less than 1% of plans.
CLEARLY = 3.5
#: One that costs more milliseconds per run than the first number has at most the second number of a thousand runs.
_COSTLY, _COSTLY_RUNS = 5.0, 200


def most_runs(milliseconds: float, replications: int) -> int:
    """How many of the replications a candidate may have that takes this long to simulate.

    >>> most_runs(1.0, 1000), most_runs(12.0, 1000), most_runs(12.0, 60), most_runs(12.0, 5000)
    (1000, 200, 60, 1000)
    """
    if milliseconds <= _COSTLY:
        return replications
    return min(replications, max(_COSTLY_RUNS, replications * _COSTLY_RUNS // 1000))


def clearly_behind(behind: Outcome, ahead: Outcome, thresholds: Thresholds) -> bool:
    """Whether more runs would hardly make the one recommended in place of the other, which now is.

    Runs of one number draw from the same seed, so they are compared one by one where both have as many.

    Args:
        behind: What came of the runs of the candidate that may be behind.
        ahead: What came of the runs of the one that is recommended now.
        thresholds: When it is a go.
    """
    fails = _clearly_fails(behind, thresholds)
    if ahead.passes(thresholds):
        return fails or _is_clearly_more(ahead.gain, behind.gain)
    return fails and _is_clearly_more(
        ahead.ended_well.astype(float), behind.ended_well.astype(float)
    )


def _clearly_fails(found: Outcome, thresholds: Thresholds) -> bool:
    """Whether the limits of a share say so: of runs that end well, or of runs without a gain."""
    count = len(found.gain)
    well = stats.share_of(int(found.ended_well.sum()), count, z=CLEARLY)
    without = stats.share_of(int((found.gain <= 0).sum()), count, z=CLEARLY)
    return well.high < thresholds.ended_well or without.low > thresholds.percentile


def _is_clearly_more(more: NDArray[np.float64], less: NDArray[np.float64]) -> bool:
    """Whether the mean of the first is above that of the second: run by run where both have as many runs."""
    if len(more) == len(less):
        error = float(stats.standard_error(more - less))
    else:
        error = math.hypot(stats.standard_error(more), stats.standard_error(less))
    lead = float(more.mean() - less.mean())
    return lead > 0 and lead > CLEARLY * error


@dataclass
class _Racer:
    case: Case
    setting: RunSpec
    most: int
    rows: Rows | None = None
    outcome: Outcome | None = None  # of the runs that there are
    stopped: bool = False

    @property
    def runs(self) -> int:
        return 0 if self.rows is None else len(self.rows["regret"])


def race(
    cases: Sequence[Case],
    replications: int,
    simulation: Simulation,
    on_look: Callable[[list[Forecast], bool], None] | None = None,
) -> list[Forecast]:
    """A forecast for each candidate, each by the runs that it needs.

    Args:
        cases: The candidates in the campaign that is believed in.
        replications: The runs of a candidate at most.
        simulation: Makes the runs.
        on_look: Called after each look but the last with what is found by then, and whether it is the first.
    """
    racers = [
        _Racer(case, simulation.setting(case, 0, f"{number}"), most_runs(case.milliseconds, replications))
        for number, case in enumerate(cases)
    ]  # fmt: skip
    looks = [look for look in (FIRST_LOOK, _SECOND_LOOK, FEWEST) if look < replications]
    while looks and looks[-1] >= FEWEST and 2 * looks[-1] < replications:
        looks.append(2 * looks[-1])
    looks.append(replications)
    made = simulation.first_runs([racer.setting for racer in racers])
    for racer, rows in zip(racers, made, strict=True):
        racer.rows = rows
    for look in looks:
        wanted = [racer.runs if racer.stopped else min(look, racer.most) for racer in racers]
        forecasts = _run(racers, wanted, simulation)
        if look == replications or all(
            racer.stopped or racer.runs == racer.most for racer in racers
        ):
            break
        if on_look:
            on_look(forecasts, look == FIRST_LOOK)
        if look >= FEWEST:
            _stop_those_behind(racers, forecasts, simulation.thresholds)
    while True:  # what stopped is looked at again if it turns out to be the best
        best = forecasts.index(recommend(forecasts, simulation.thresholds)[0])
        racer = racers[best]
        if racer.runs >= racer.most:
            return forecasts
        wanted = [racer.most if each is racer else each.runs for each in racers]
        forecasts = _run(racers, wanted, simulation)


def _run(racers: list[_Racer], wanted: list[int], simulation: Simulation) -> list[Forecast]:
    settings, known = [racer.setting for racer in racers], [racer.rows for racer in racers]
    forecasts = []
    for racer, rows in zip(
        racers, simulation.rows(settings, wanted, "policies", known), strict=True
    ):
        case, setting = racer.case, racer.setting
        racer.rows, racer.outcome = rows, outcome_of(case, setting, rows)
        forecasts.append(simulation.forecast_of(case, setting, rows, racer.outcome))
    return forecasts


def _stop_those_behind(
    racers: list[_Racer], forecasts: list[Forecast], thresholds: Thresholds
) -> None:
    best = forecasts.index(recommend(forecasts, thresholds)[0])
    ahead = racers[best].outcome
    for number, racer in enumerate(racers):
        if number == best:
            racer.stopped = False
        elif racer.case.candidate.label == EQUAL_SPLIT:  # it is never recommended
            racer.stopped = True
        elif racer.outcome is not None and ahead is not None:
            racer.stopped = racer.stopped or clearly_behind(racer.outcome, ahead, thresholds)
