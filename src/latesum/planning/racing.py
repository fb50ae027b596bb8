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

from latesum._render import finite
from latesum.experiments import stats
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.markets.one_stream import Switchback
from latesum.experiments.markets.players import SwitchbackPlayer
from latesum.experiments.markets.spec import MarketRun, MarketRunSpec
from latesum.experiments.measures import ends_right, on_good, settled_after
from latesum.experiments.results import Rows
from latesum.experiments.run import Run
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning.market import MarketInputs
from latesum.planning.stream import Candidate, StreamInputs
from latesum.policies.estimates import named_winner

#: Runs of each candidate in stage 1, before any may be stopped, and from which on one may be.
STAGE_1_RUNS, _STAGE_2_RUNS, MIN_RACED = 12, 40, 100
#: By this many standard errors. By the law of t a candidate that is as good as the recommended one
#: is stopped in one of 2,900 looks at a hundred runs; with four looks and six candidates that is,
#: by the sum of the chances (a union bound: the looks share runs), in less than 1% of plans.
ELIMINATION_Z = 3.5
#: With a tie within this many standard errors the regions are kept.
_TIE_Z = 2.0
#: One that costs more milliseconds per run than this has at most so many of a thousand runs.
_MAX_RUNS = ((40.0, 100), (5.0, 200))
#: Of a change or a scenario: it is looked at first after this share of its runs, of which there are
#: at least so many, and one that costs more milliseconds per run has at most this share of them.
_FIRST_PART, _MIN_RUNS = 0.4, 20
_SHARES = ((40.0, 0.15), (5.0, 0.4))

#: A go gains over an equal split even at this percentile of runs.
PERCENTILE = 0.05

Stage = Literal["stage 1", "stage 2", "stage 3"]
Floats = NDArray[np.float64]
PlanInputs = StreamInputs | MarketInputs


def outcome(run: Run, within: float) -> Floats:
    """What a plan keeps of a run on one stream: a measure.

    Regret, that of an equal split, switches, whether a winner is named, whether the best option is
    found, the bucket in which it is decided; and whether a good option is played, over time.
    """
    policy, problem, arms = run.policy, run.problem, run.arms
    named: bool = False
    if isinstance(policy, Switchback):
        named = policy.winner().option is not None
    elif policy is not None:
        changes = np.append(True, arms[1:] != arms[:-1])
        visits = np.bincount(arms[changes], minlength=problem.n_arms).tolist()
        commits = policy.ask().purpose == "commit"
        named = named_winner(policy.estimates(), visits, commits=commits) is not None
    end = np.array([run.horizon])
    split = np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)])
    found, decided = ends_right(run, within), settled_after(run, within)
    kept = [run.regret(), split, run.switches, named, found, decided]
    return np.concatenate([np.array(kept, dtype=np.float64), on_good(run, within)])


def market_outcome(run: MarketRun, tolerance: float) -> Floats:
    """The same of a run in a market, as shares of sales; only switchback names a winner."""
    named = decided = math.nan
    if isinstance(run.playing, SwitchbackPlayer):
        winner = run.playing.winner
        named, decided = float(winner is not None), math.inf if winner is None else winner[1]
    found = run.falls_short(run.answer) < tolerance
    return np.array([run.lost, run.lost_by_split, run.switches, named, found, decided])


@dataclass(frozen=True)
class PlanRow:
    """How one policy does in the planned campaign. Rewards are in the user's unit, times in hours.

    `regret` is against always playing the best; `gain` is over an equal split, both net of the cost
    of switches; `gain_low` is the 5th percentile of the gain. Times are infinite for runs that
    are never decided. `winner` is the share of runs in which a winner has been named by the end.
    """

    candidate: Candidate
    reward: Uncertain
    regret: Uncertain
    gain: Uncertain
    gain_low: Uncertain
    finds_best: Uncertain
    decided_after: Uncertain  # the median
    decided_late: Uncertain  # by when four of five runs are decided
    winner: Uncertain
    switches: Uncertain
    on_good: tuple[float, ...]
    #: Of each run: its gain, and whether it found the best option.
    gains: Floats = field(repr=False, compare=False)
    found: NDArray[np.bool_] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """What the policy is called."""
        return self.candidate.label

    @property
    def replications(self) -> int:
        """How many runs there were."""
        return len(self.gains)

    def passes(self, wanted: float) -> bool:
        """Whether the policy meets the thresholds."""
        return self.finds_best.value >= wanted and self.gain_low.value > 0

    def is_sure(self, wanted: float) -> bool:
        """Whether that is so within the uncertainty of the simulation too."""
        found, worst = self.finds_best, self.gain_low
        if self.passes(wanted):
            # The worst of fewer runs than this says little of so low a percentile.
            enough = (1 - PERCENTILE) ** self.replications <= 0.025
            return enough and found.low >= wanted and worst.low > 0
        return found.high < wanted or worst.high <= 0

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values; a time that is infinite is null."""
        names = "reward regret gain gain_low finds_best decided_after decided_late winner switches"
        return {
            "label": self.label,
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
        rows: How each policy does, by the runs that it has.
        wanted: The share of runs that must find the best option.
    """

    stage: Stage
    rows: tuple[PlanRow, ...]
    wanted: float

    @property
    def recommended(self) -> PlanRow:
        """The policy that would be recommended now."""
        return recommend(self.rows, self.wanted)[0]

    @property
    def go(self) -> bool:
        """Whether it is a go as asked; what would make it one is looked for after stage 3."""
        return self.recommended.passes(self.wanted)

    @property
    def sure(self) -> bool:
        """Whether it stays so within the uncertainty of the simulation."""
        return self.recommended.is_sure(self.wanted)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        best = self.recommended
        return {
            "stage": self.stage,
            "go": self.go,
            "sure": self.sure,
            "sentence": str(self),
            "label": best.label,
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
            f"{self.stage}: {answer}{sure}; {best.label} finds the best option in "
            f"{found.value:.0%} ({found.low * 100:.0f}-{found.high * 100:.0f}) of "
            f"{best.replications:,} runs"
        )


#: Called with the interim result each time that there is a surer one.
OnInterim = Callable[[InterimResult], None]


@dataclass
class _Trial:
    """The simulated runs of a candidate: those that there are, and how many it may have."""

    inputs: PlanInputs
    candidate: Candidate
    most: int
    specs: list[RunSpec | MarketRunSpec]
    rows: list[Rows] = field(default_factory=list)
    stopped: bool = False

    def counts(self, runs: int) -> list[int]:
        """How many runs each world has, of so many in all."""
        worlds: Sequence[tuple[PlanInputs, int]] = self.inputs.worlds()
        rest = [runs * weight // self.inputs.options for _, weight in worlds[1:]]
        return [runs - sum(rest), *rest]

    @property
    def runs(self) -> int:
        """The runs that there are."""
        return sum(len(next(iter(rows.values()))) for rows in self.rows)

    def result(self) -> PlanRow:
        """What the runs say."""
        kept, best = list[Floats](), list[Floats]()
        worlds: Sequence[tuple[PlanInputs, int]] = self.inputs.worlds()
        for (world, _), rows in zip(worlds, self.rows, strict=True):
            (measured,) = rows.values()
            kept.append(measured * np.append([world.scale] * 2, np.ones(measured.shape[1] - 2)))
            best.append(np.full(len(measured), world.best_reward))
        regret, split, switches, named, found, decided = np.concatenate(kept).T[:6]
        regret = regret + self.inputs.switch_cost * switches
        gain, hours = split - regret, decided * self.inputs.bucket_hours
        unknown = Uncertain(math.nan, math.nan, math.nan)
        knows = not np.isnan(named).any()
        return PlanRow(
            candidate=self.candidate,
            reward=mean_of(np.concatenate(best) - regret),
            regret=mean_of(regret),
            gain=mean_of(gain),
            gain_low=quantile_of(gain, PERCENTILE),
            finds_best=share_of(int(found.sum()), len(found)),
            decided_after=quantile_of(hours, 0.5) if knows else unknown,
            decided_late=quantile_of(hours, 0.8) if knows else unknown,
            winner=share_of(int(named.sum()), len(named)) if knows else unknown,
            switches=mean_of(switches),
            on_good=tuple(np.concatenate(kept)[:, 6:].mean(axis=0).tolist()),
            gains=gain,
            found=found.astype(bool),
        )


class Simulator(NamedTuple):
    """Makes the runs of a plan, here or elsewhere."""

    wanted: float
    seed: int
    options: RunOptions  # as `latesum.experiments.engine.run` takes it

    def trials(
        self,
        pairs: Sequence[tuple[PlanInputs, Candidate]],
        most: Callable[[float], int],
        stream: int = 0,
    ) -> list[_Trial]:
        """Write down all that runs depend on; those of another `stream` draw from another seed.

        `most` says how many runs there may be, by what one costs in milliseconds.
        """
        found = []
        for place, (inputs, candidate) in enumerate(pairs):
            worlds: Sequence[tuple[PlanInputs, int]] = inputs.worlds()
            specs = [
                world.spec(candidate, (self.seed, stream, *[n] * (n > 0)), f"{place}.{n}")
                for n, (world, _) in enumerate(worlds)
            ]
            found.append(_Trial(inputs, candidate, most(candidate.milliseconds), specs))
        return found

    def make(self, trials: Sequence[_Trial], runs: Sequence[int], what: str) -> list[PlanRow]:
        """Make the first runs of each trial; those that there are are not made again."""
        specs = [spec for trial in trials for spec in trial.specs]
        counts = [n for trial, each in zip(trials, runs, strict=True) for n in trial.counts(each)]
        known: list[Rows | None] = []
        for trial in trials:
            known += trial.rows or [None] * len(trial.specs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            results = run(specs, counts, what=what, known=known, **self.options)
        made = iter(results.rows)
        for trial in trials:
            trial.rows = [next(made) for _ in trial.specs]
        return [trial.result() for trial in trials]

    def rows(
        self, pairs: Sequence[tuple[PlanInputs, Candidate]], runs: int, stream: int, what: str
    ) -> list[PlanRow]:
        """One row for each; what is clearly a go, or clearly none, early has no more runs."""
        trials = self.trials(pairs, lambda cost: _max_share(cost, runs), stream)
        part = max(round(_FIRST_PART * runs), min(runs, _MIN_RUNS))
        first = [min(part, trial.most) for trial in trials]
        found = self.make(trials, first, what)
        wanted = [
            count if row.is_sure(self.wanted) else trial.most
            for trial, count, row in zip(trials, first, found, strict=True)
        ]
        return self.make(trials, wanted, what)


def _max_share(milliseconds: float, runs: int) -> int:
    for least, share in _SHARES:
        if milliseconds > least:
            return min(runs, max(round(share * runs), _MIN_RUNS))
    return runs


def max_runs(milliseconds: float, replications: int) -> int:
    """How many of the replications a candidate may have that takes this long to simulate.

    >>> max_runs(1.0, 1000), max_runs(12.0, 1000), max_runs(12.0, 60), max_runs(50.0, 5000)
    (1000, 200, 60, 500)
    """
    for least, runs in _MAX_RUNS:
        if milliseconds > least:
            return min(replications, max(runs, replications * runs // 1000))
    return replications


def recommend(rows: Sequence[PlanRow], wanted: float) -> tuple[PlanRow, str]:
    """The policy to take and why: the largest gain among those that pass, otherwise the surest.

    With a tie the regions are kept.
    """
    deciding = [each for each in rows if each.candidate.runnable]
    passing = [each for each in deciding if each.passes(wanted)]
    if not passing:
        best = max(deciding, key=lambda each: (each.finds_best.value, each.gain.value))
        reason = "none meets both thresholds, and it finds a good option most often"
    else:
        best, *others = sorted(passing, key=lambda each: -each.gain.value)
        reason = "it is the only one that meets both thresholds"
        if others:
            reason = (
                f"it gains most over an equal split among the {len(passing)} that meet both "
                f"thresholds ({best.gain.value:,.4g} against {others[0].gain.value:,.4g} of the "
                f"next, {others[0].label})"
            )
    together = max(deciding, key=lambda each: each.candidate.regions)
    if together.candidate.regions == best.candidate.regions:
        return best, reason
    clearly = _is_clearly_more(best.gains, together.gains, _TIE_Z)
    if not clearly and together.passes(wanted) == best.passes(wanted):
        return together, (
            f"{best.label} does not gain clearly more within the uncertainty of the simulation, "
            "and on a tie the regions are kept"
        )
    return best, f"{reason}; the regions are added up to one total for that"


def is_dominated(behind: PlanRow, ahead: PlanRow, wanted: float) -> bool:
    """Whether more runs would hardly make the one recommended in place of the other, which now is.

    Runs of one number draw from the same seed, so they are compared one by one where both have as
    many.
    """
    gain, found = behind.gains, behind.found
    well = share_of(int(found.sum()), len(found), z=ELIMINATION_Z)
    without = share_of(int((gain <= 0).sum()), len(gain), z=ELIMINATION_Z)
    fails = well.high < wanted or without.low > PERCENTILE
    if ahead.passes(wanted):
        return fails or _is_clearly_more(ahead.gains, gain)
    return fails and _is_clearly_more(ahead.found.astype(float), found.astype(float))


def _is_clearly_more(more: Floats, less: Floats, z: float = ELIMINATION_Z) -> bool:
    """Whether the first mean is above the second: run by run where both have as many runs."""
    if len(more) == len(less):
        error = float(stats.standard_error(more - less))
    else:
        error = math.hypot(stats.standard_error(more), stats.standard_error(less))
    lead = float(more.mean() - less.mean())
    return lead > 0 and lead > z * error


def race(
    inputs: PlanInputs,
    candidates: Sequence[Candidate],
    replications: int,
    simulator: Simulator,
    on_interim: OnInterim | None = None,
) -> list[PlanRow]:
    """A row for each candidate, each by the runs that it needs.

    Args:
        inputs: The campaign.
        candidates: The policies.
        replications: The runs of a candidate at most.
        simulator: Makes the runs.
        on_interim: Called after each look with what is found by then.
    """
    wanted = simulator.wanted

    def say(stage: Stage) -> None:
        if on_interim:
            on_interim(InterimResult(stage, tuple(rows), wanted))

    def recommended() -> int:
        best = recommend(rows, wanted)[0]
        return next(place for place, row in enumerate(rows) if row is best)

    pairs = [(inputs, each) for each in candidates]
    trials = simulator.trials(pairs, lambda cost: max_runs(cost, replications))
    looks = [look for look in (STAGE_1_RUNS, _STAGE_2_RUNS, MIN_RACED) if look < replications]
    while looks and looks[-1] >= MIN_RACED and 2 * looks[-1] < replications:
        looks.append(2 * looks[-1])
    for look in [*looks, replications]:
        counts = [trial.runs if trial.stopped else min(look, trial.most) for trial in trials]
        rows = simulator.make(trials, counts, "policies")
        if all(trial.stopped or trial.runs == trial.most for trial in trials):
            break
        say("stage 1" if look == STAGE_1_RUNS else "stage 2")
        if look >= MIN_RACED:
            best = recommended()
            for place, (trial, row) in enumerate(zip(trials, rows, strict=True)):
                behind = trial.stopped or not trial.candidate.runnable
                behind = behind or is_dominated(row, rows[best], wanted)
                trial.stopped = behind and place != best
    while (trial := trials[recommended()]).runs < trial.most:  # it was stopped, and leads now
        counts = [each.most if each is trial else each.runs for each in trials]
        rows = simulator.make(trials, counts, "policies")
    say("stage 3")
    return rows
