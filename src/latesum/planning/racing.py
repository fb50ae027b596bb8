"""Simulated runs of the candidates, raced: replications go where the verdict depends on them.

All candidates are looked at after a few runs, after a hundred, and then after twice as many each
time. One that is dominated gets no more; the one that is recommended always has all of its runs.
Which runs are made depends on what came of those before and on nothing else, so the same seed gives
the same plan on any machine.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import finite_number
from latesum._render import finite
from latesum.experiments import stats
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.markets.one_stream import Switchback
from latesum.experiments.results import Rows
from latesum.experiments.run import Run
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning.candidates import EQUAL_SPLIT, Candidate
from latesum.planning.inputs import PlanInputs
from latesum.planning.words import unit_hours
from latesum.policies.estimates import named_winner
from latesum.simulation import Problem

#: Runs of each candidate in stage 1.
STAGE_1_RUNS = 12
#: And before any candidate may be stopped.
_STAGE_2_RUNS = 40
#: From this many runs on a candidate may be dominated.
MIN_RACED = 100
#: By this many standard errors. By the law of t a candidate that is as good as the recommended one
#: is stopped in one of 2,900 looks at a hundred runs; with four looks and six candidates that is,
#: by the sum of the chances (a union bound: the looks share runs), in less than 1% of plans.
ELIMINATION_Z = 3.5
#: One that costs more milliseconds per run than this has at most so many of a thousand runs.
_COSTLY, _COSTLY_RUNS = 5.0, 200
#: Of a change or a scenario: it is looked at first after this share of its runs, ...
_FIRST_PART = 0.4
#: ... of which there are this many at least, ...
_MIN_RUNS = 20
#: ... and one that costs more milliseconds per run has at most this share of them.
_SHARES = ((40.0, 0.15), (5.0, 0.4))

Stage = Literal["stage 1", "stage 2", "stage 3"]


class Thresholds(NamedTuple):
    """When it is a go.

    Args:
        finds_best: At least this share of runs ends on the best option, or one within the lift, ...
        percentile: ... and even at this percentile it gains over an equal split.
        longer: A conditional go allows a run at most this many times as long.
    """

    finds_best: float = 0.8
    percentile: float = 0.05
    longer: float = 2.0

    def checked(self) -> Thresholds:
        """The same, or a refusal."""
        return Thresholds(
            finite_number(self.finds_best, "the share that finds the best", above=0, at_most=1),
            finite_number(self.percentile, "the percentile of the gain", above=0, at_most=0.5),
            finite_number(self.longer, "how many times as long a run may be", at_least=1),
        )


@dataclass(frozen=True)
class Forecast:
    """How one policy does in the planned campaign. Rewards are in the user's unit, times in hours.

    `regret` is against always playing the best; `gain` is over an equal split, both net of the cost
    of switches; `gain_low` is the 5th percentile of the gain. Times are infinite for runs that
    never settle. `winner` is the share of runs in which a winner has been named by the end.
    """

    candidate: Candidate
    reward: Uncertain
    regret: Uncertain
    gain: Uncertain
    gain_low: Uncertain
    finds_best: Uncertain
    decided_after: Uncertain  # the median
    decided_late: Uncertain  # by when four of five runs have settled
    winner: Uncertain
    switches: Uncertain
    on_good: tuple[float, ...]
    replications: int

    def passes(self, thresholds: Thresholds) -> bool:
        """Whether the policy meets the thresholds."""
        return self.finds_best.value >= thresholds.finds_best and self.gain_low.value > 0

    def is_sure(self, thresholds: Thresholds) -> bool:
        """Whether that is so within the uncertainty of the simulation too."""
        found, worst = self.finds_best, self.gain_low
        if self.passes(thresholds):
            # The worst of fewer runs than this says little of so low a percentile.
            enough = (1 - thresholds.percentile) ** self.replications <= 0.025
            return enough and found.low >= thresholds.finds_best and worst.low > 0
        return found.high < thresholds.finds_best or worst.high <= 0

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values; a time that is infinite is null."""
        names = "reward regret gain gain_low finds_best decided_after decided_late winner switches"
        return {
            "label": self.candidate.label,
            **self.candidate.campaign,
            "about": self.candidate.about,
            "replications": self.replications,
            **{name: finite(getattr(self, name)._asdict()) for name in names.split()},
            "on_good": list(self.on_good),
        }


@dataclass(frozen=True)
class InterimResult:
    """The result of a plan by the runs that were made by now.

    Args:
        stage: "stage 1" (a few runs of each policy), "stage 2" (more of those that may be the best)
            or "stage 3" (all that are needed).
        forecasts: How each policy does, by the runs that it has.
        thresholds: When it is a go.
    """

    stage: Stage
    forecasts: tuple[Forecast, ...]
    thresholds: Thresholds

    @property
    def recommended(self) -> Forecast:
        """The policy that would be recommended now."""
        return recommend(self.forecasts, self.thresholds)[0]

    @property
    def go(self) -> bool:
        """Whether it is a go as asked; what would make it one is looked for after stage 3."""
        return self.recommended.passes(self.thresholds)

    @property
    def sure(self) -> bool:
        """Whether it stays so within the uncertainty of the simulation."""
        return self.recommended.is_sure(self.thresholds)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        best = self.recommended
        return {
            "stage": self.stage,
            "go": self.go,
            "sure": self.sure,
            "sentence": str(self),
            "label": best.candidate.label,
            "replications": best.replications,
            "finds_best": best.finds_best._asdict(),
            "gain": best.gain._asdict(),
        }

    def __str__(self) -> str:
        best, found = self.recommended, self.recommended.finds_best
        answer = "go" if self.go else "not a go as asked"
        yet = "" if self.stage == "stage 3" else " yet"
        sure = "" if self.sure else f", not sure{yet}"
        return (
            f"{self.stage}: {answer}{sure}; {best.candidate.label} finds the best option in "
            f"{found.value:.0%} ({found.low * 100:.0f}-{found.high * 100:.0f}) of "
            f"{best.replications:,} runs"
        )


#: Called with the interim result each time that there is a surer one.
OnInterim = Callable[[InterimResult], None]


@dataclass
class CandidateRuns:
    """The simulated runs of a candidate: those that there are, and what they say.

    Args:
        inputs: What is true in them.
        candidate: The policy.
        most: The runs that it may have.
    """

    inputs: PlanInputs
    candidate: Candidate
    most: int
    specs: list[RunSpec] = field(default_factory=list)
    rows: list[Rows] = field(default_factory=list)
    stopped: bool = False

    def prepare(self, seed: tuple[int, ...], name: str) -> None:
        """Write down all that the runs depend on; the options stand in any order."""
        for number, (world, _) in enumerate(self.inputs.worlds()):
            within = world.tolerance / (world.high - world.low)
            measures = [f"{each}({within=})" for each in ("ends_right", "settled_after", "on_good")]
            accepted = self.candidate.spec.accepted
            spec = RunSpec(
                world.problem(),
                self.candidate.spec,
                world.horizon,
                seed=(*seed, number) if number else seed,
                reports=Reports(world.bucket_rounds),
                order="drawn",
                given=None,
                status_quo=world.today,
                history=world.history if "history" in accepted else 0,
                measures=("regret", "switches", WINNER, *measures),
                problem_name=f"{name}.{number}",
                policy_name=self.candidate.label,
            )
            self.specs.append(spec)

    def counts(self, runs: int) -> list[int]:
        """How many runs each world has, of so many in all."""
        worlds = self.inputs.worlds()
        rest = [runs * weight // self.inputs.options for _, weight in worlds[1:]]
        return [runs - sum(rest), *rest]

    @property
    def runs(self) -> int:
        """The runs that there are."""
        return sum(len(rows["switches"]) for rows in self.rows)

    def measured(self, position: int) -> NDArray[Any]:
        """What a measure found in each run, by its position in the list of measures."""
        return np.concatenate(
            [
                rows[spec.measures[position]]
                for spec, rows in zip(self.specs, self.rows, strict=True)
            ]
        )

    @property
    def regret(self) -> NDArray[np.float64]:
        """Of each run, in the user's unit, with the cost of switches."""
        scale = self.inputs.high - self.inputs.low
        regret: NDArray[np.float64] = self.measured(0)[:, -1] * scale
        return regret + self.inputs.switch_cost * self.measured(1)

    @property
    def outcomes(self) -> Outcomes:
        """What the verdict depends on, of each run."""
        scale = self.inputs.high - self.inputs.low
        split = [
            np.full(len(rows["switches"]), _equal_split_regret(spec) * scale)
            for spec, rows in zip(self.specs, self.rows, strict=True)
        ]
        return Outcomes(np.concatenate(split) - self.regret, self.measured(3))

    def forecast(self, percentile: float) -> Forecast:
        """What the runs say; `percentile` is the one of `gain_low`."""
        regret, (gain, found) = self.regret, self.outcomes
        best = np.concatenate(
            [
                np.full(len(rows["switches"]), max(world.option_means) * world.horizon)
                for (world, _), rows in zip(self.inputs.worlds(), self.rows, strict=True)
            ]
        )
        decided = self.measured(4) * unit_hours(self.inputs.bucket)
        winner = self.measured(2)
        return Forecast(
            candidate=self.candidate,
            reward=mean_of(best - regret),
            regret=mean_of(regret),
            gain=mean_of(gain),
            gain_low=quantile_of(gain, percentile),
            finds_best=share_of(int(found.sum()), len(found)),
            decided_after=quantile_of(decided, 0.5),
            decided_late=quantile_of(decided, 0.8),
            winner=share_of(int(winner.sum()), len(winner)),
            switches=mean_of(self.measured(1).astype(np.float64)),
            on_good=tuple(float(share) for share in self.measured(5).mean(axis=0)),
            replications=len(regret),
        )


def winner_named(run: Run) -> bool:
    """Whether a campaign would name a winner after the run: a measure of it."""
    policy = run.policy
    if policy is None:
        return False
    if isinstance(policy, Switchback):
        return policy.winner().option is not None
    changes = np.append(True, run.arms[1:] != run.arms[:-1])
    visits = np.bincount(run.arms[changes], minlength=run.problem.n_arms).tolist()
    commits = policy.ask().purpose == "commit"
    return named_winner(policy.estimates(), visits, commits=commits) is not None


#: Its name among measures.
WINNER = f"{__name__}:winner_named"


def _equal_split_regret(spec: RunSpec) -> float:
    """What a split in equal parts loses against always playing the best, in scaled rewards."""
    problem = spec.problem
    assert isinstance(problem, Problem)
    end = np.array([spec.horizon])
    return float(np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)]))


class Simulator(NamedTuple):
    """Makes the runs of a plan, here or elsewhere."""

    thresholds: Thresholds
    seed: int
    options: RunOptions  # as `latesum.experiments.engine.run` takes it

    def make(
        self, trials: Sequence[CandidateRuns], wanted: Sequence[int], what: str
    ) -> list[Forecast]:
        """Make the first runs of each trial; those that there are are not made again."""
        specs = [spec for trial in trials for spec in trial.specs]
        counts = [n for trial, runs in zip(trials, wanted, strict=True) for n in trial.counts(runs)]
        known: list[Rows | None] = []
        for trial in trials:
            known += trial.rows or [None] * len(trial.specs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            results = run(specs, counts, what=what, known=known, **self.options)
        made = iter(results.rows)
        for trial in trials:
            trial.rows = [next(made) for _ in trial.specs]
        return [trial.forecast(self.thresholds.percentile) for trial in trials]

    def prepare(self, trials: Sequence[CandidateRuns], stream: int) -> None:
        """Write down what all runs depend on; runs of another `stream` draw from another seed."""
        for number, trial in enumerate(trials):
            trial.prepare((self.seed, stream), f"{number}")

    def forecasts(
        self, pairs: Sequence[tuple[PlanInputs, Candidate]], runs: int, stream: int, what: str
    ) -> list[Forecast]:
        """One forecast for each; what is clearly a go, or clearly none, early has no more runs."""
        trials = [
            CandidateRuns(
                inputs, candidate, _max_share(candidate.milliseconds(inputs.buckets), runs)
            )
            for inputs, candidate in pairs
        ]
        self.prepare(trials, stream)
        part = max(round(_FIRST_PART * runs), min(runs, _MIN_RUNS))
        first = [min(part, trial.most) for trial in trials]
        found = self.make(trials, first, what)
        wanted = [
            count if forecast.is_sure(self.thresholds) else trial.most
            for trial, count, forecast in zip(trials, first, found, strict=True)
        ]
        return self.make(trials, wanted, what)


def _max_share(milliseconds: float, runs: int) -> int:
    for least, share in _SHARES:
        if milliseconds > least:
            return min(runs, max(round(share * runs), _MIN_RUNS))
    return runs


def max_runs(milliseconds: float, replications: int) -> int:
    """How many of the replications a candidate may have that takes this long to simulate.

    >>> max_runs(1.0, 1000), max_runs(12.0, 1000), max_runs(12.0, 60), max_runs(12.0, 5000)
    (1000, 200, 60, 1000)
    """
    if milliseconds <= _COSTLY:
        return replications
    return min(replications, max(_COSTLY_RUNS, replications * _COSTLY_RUNS // 1000))


def recommend(forecasts: Sequence[Forecast], thresholds: Thresholds) -> tuple[Forecast, str]:
    """The policy to take and why: the largest gain among those that pass, otherwise the surest."""
    deciding = [each for each in forecasts if each.candidate.label != EQUAL_SPLIT]
    passing = [each for each in deciding if each.passes(thresholds)]
    if not passing:
        best = max(deciding, key=lambda each: (each.finds_best.value, each.gain.value))
        return best, "none meets both thresholds, and it finds a good option most often"
    best, *others = sorted(passing, key=lambda each: -each.gain.value)
    if not others:
        return best, "it is the only one that meets both thresholds"
    return best, (
        f"it gains most over an equal split among the {len(passing)} that meet both thresholds "
        f"({best.gain.value:,.4g} against {others[0].gain.value:,.4g} of the next, "
        f"{others[0].candidate.label})"
    )


class Outcomes(NamedTuple):
    """The gain over an equal split of each run, and whether it found the best option."""

    gain: NDArray[np.float64]
    finds_best: NDArray[np.bool_]


def is_dominated(behind: Outcomes, ahead: Outcomes, thresholds: Thresholds) -> bool:
    """Whether more runs would hardly make the one recommended in place of the other, which now is.

    Runs of one number draw from the same seed, so they are compared one by one where both have as
    many.
    """
    gain, found = behind
    well = share_of(int(found.sum()), len(found), z=ELIMINATION_Z)
    without = share_of(int((gain <= 0).sum()), len(gain), z=ELIMINATION_Z)
    fails = well.high < thresholds.finds_best or without.low > thresholds.percentile
    if (
        ahead.finds_best.mean() >= thresholds.finds_best
        and quantile_of(ahead.gain, thresholds.percentile).value > 0
    ):
        return fails or _is_clearly_more(ahead.gain, gain)
    return fails and _is_clearly_more(ahead.finds_best.astype(float), found.astype(float))


def _is_clearly_more(more: NDArray[np.float64], less: NDArray[np.float64]) -> bool:
    """Whether the first mean is above the second: run by run where both have as many runs."""
    if len(more) == len(less):
        error = float(stats.standard_error(more - less))
    else:
        error = math.hypot(stats.standard_error(more), stats.standard_error(less))
    lead = float(more.mean() - less.mean())
    return lead > 0 and lead > ELIMINATION_Z * error


def race(
    inputs: PlanInputs,
    candidates: Sequence[Candidate],
    replications: int,
    simulator: Simulator,
    on_interim: OnInterim | None = None,
) -> list[Forecast]:
    """A forecast for each candidate, each by the runs that it needs.

    Args:
        inputs: The campaign.
        candidates: The policies.
        replications: The runs of a candidate at most.
        simulator: Makes the runs.
        on_interim: Called after each look with what is found by then.
    """
    thresholds = simulator.thresholds

    def say(stage: Stage) -> None:
        if on_interim:
            on_interim(InterimResult(stage, tuple(forecasts), thresholds))

    def recommended() -> CandidateRuns:
        return trials[forecasts.index(recommend(forecasts, thresholds)[0])]

    trials = [
        CandidateRuns(inputs, each, max_runs(each.milliseconds(inputs.buckets), replications))
        for each in candidates
    ]
    simulator.prepare(trials, 0)
    looks = [look for look in (STAGE_1_RUNS, _STAGE_2_RUNS, MIN_RACED) if look < replications]
    while looks and looks[-1] >= MIN_RACED and 2 * looks[-1] < replications:
        looks.append(2 * looks[-1])
    for look in [*looks, replications]:
        wanted = [trial.runs if trial.stopped else min(look, trial.most) for trial in trials]
        forecasts = simulator.make(trials, wanted, "policies")
        if all(trial.stopped or trial.runs == trial.most for trial in trials):
            break
        say("stage 1" if look == STAGE_1_RUNS else "stage 2")
        if look >= MIN_RACED:
            _stop_dominated(trials, recommended(), thresholds)
    while (best := recommended()).runs < best.most:  # one that was stopped may be the best now
        wanted = [trial.most if trial is best else trial.runs for trial in trials]
        forecasts = simulator.make(trials, wanted, "policies")
    say("stage 3")
    return forecasts


def _stop_dominated(
    trials: list[CandidateRuns], best: CandidateRuns, thresholds: Thresholds
) -> None:
    for trial in trials:
        if trial is best:
            trial.stopped = False
        elif trial.candidate.label == EQUAL_SPLIT:  # it is never recommended
            trial.stopped = True
        else:
            trial.stopped = trial.stopped or is_dominated(trial.outcomes, best.outcomes, thresholds)
