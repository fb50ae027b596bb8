"""What came of many runs, each number with its uncertainty, in the user's units."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._render import finite
from latesum.experiments.engine import Chunk, RunOptions, run, run_chunk
from latesum.experiments.loop import Reports
from latesum.experiments.results import Rows
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import Candidate
from latesum.planning.words import unit_hours
from latesum.simulation import Problem

#: The child of a run's seed that the order of the options is drawn from. Plans have no reports to
#: draw, and had this one before there was another: so their numbers stay what they were.
_ORDER = 2
#: Whether a case is a go is looked at first after this share of its runs, ...
_FIRST_PART = 0.4
#: ... of which there are this many at least.
_FEWEST = 20
#: There, one that costs more milliseconds per run than this has at most this share of the runs.
_COSTLY = ((40.0, 0.15), (5.0, 0.4))


class Thresholds(NamedTuple):
    """When it is a go."""

    ended_well: float = 0.8  # in at least this share of runs it ends on the best or within the lift
    percentile: float = 0.05  # and it gains over an equal split even at this percentile
    longer: float = 2.0  # "go, but" allows a run at most this many times as long as planned


@dataclass(frozen=True)
class Forecast:
    """How one policy does in the user's campaign. Rewards are in the user's unit, times in hours.

    `loss` is against always playing the best; `gain` is over an equal split, both net of the cost
    of switches; `worst_gain` is the 5th percentile of the gain. Times are infinite for runs that
    never settle.
    """

    candidate: Candidate
    reward: Uncertain
    loss: Uncertain
    gain: Uncertain
    worst_gain: Uncertain
    ended_well: Uncertain
    settled_after: Uncertain  # the median
    settled_late: Uncertain  # by when four of five runs have settled
    switches: Uncertain
    on_good: tuple[float, ...]
    replications: int

    @property
    def ended_wrong(self) -> Uncertain:
        """The share of runs that end on an option not within the lift of the best."""
        well = self.ended_well
        return Uncertain(1 - well.value, 1 - well.high, 1 - well.low)

    def passes(self, thresholds: Thresholds) -> bool:
        """Whether the policy meets the thresholds."""
        return self.ended_well.value >= thresholds.ended_well and self.worst_gain.value > 0

    def is_sure(self, thresholds: Thresholds) -> bool:
        """Whether that is so within the uncertainty of the simulation too."""
        well, worst = self.ended_well, self.worst_gain
        if self.passes(thresholds):
            # The worst of fewer runs than this says little of so low a percentile.
            enough = (1 - thresholds.percentile) ** self.replications <= 0.025
            return enough and well.low >= thresholds.ended_well and worst.low > 0
        return well.high < thresholds.ended_well or worst.high <= 0

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values; a time that is infinite is null."""
        candidate = self.candidate
        result: dict[str, Any] = {
            "label": candidate.label, **candidate.handed_on, "about": candidate.about,
            "replications": self.replications,
        }  # fmt: skip
        for name in (
            "reward", "loss", "gain", "worst_gain", "ended_well", "ended_wrong", "settled_after",
            "settled_late", "switches",
        ):  # fmt: skip
            number: Uncertain = getattr(self, name)
            result[name] = finite(number._asdict())
        result["on_good"] = list(self.on_good)
        return result


class Case(NamedTuple):
    """A candidate to simulate: in the campaign that is believed in, or where something else is true."""

    beliefs: Beliefs  # what it is judged by
    candidate: Candidate
    problem: Problem | None = None  # what is true, where that is not what is believed
    told: Beliefs | None = None  # what the campaign is set up by, where that is not `beliefs`

    @property
    def milliseconds(self) -> float:
        """About what a run costs: of the policy and the campaign, so that it is the same on any machine."""
        return self.candidate.milliseconds((self.told or self.beliefs).buckets)

    def setting(self, seed: tuple[int, ...], name: str) -> RunSpec:
        """All that the runs depend on; the options stand in any order."""
        beliefs, told = self.beliefs, self.told or self.beliefs
        within = beliefs.lift / (beliefs.high - beliefs.low)
        measures = (f"{name}({within=})" for name in ("ends_right", "settled_after", "on_good"))
        spec = self.candidate.spec
        return RunSpec(
            self.problem or beliefs.problem(), spec, told.horizon, seed=seed,
            reports=Reports(told.bucket_rounds), world="buckets", order=_ORDER, told=None,
            before=beliefs.before, history=told.history if "history" in spec.accepted else 0,
            measures=("regret", "switches", *measures), problem_name=name,
            policy_name=self.candidate.label,
        )  # fmt: skip


class Outcome(NamedTuple):
    """What came of the runs of a case, in the user's unit: one number for each run."""

    loss: NDArray[np.float64]
    gain: NDArray[np.float64]
    ended_well: NDArray[np.bool_]

    def passes(self, thresholds: Thresholds) -> bool:
        """Whether the policy meets the thresholds, as `Forecast.passes` says."""
        worst = quantile_of(self.gain, thresholds.percentile).value
        return float(self.ended_well.mean()) >= thresholds.ended_well and worst > 0


class Simulation(NamedTuple):
    """Makes the runs of a plan, here or elsewhere, and says what came of them."""

    thresholds: Thresholds
    seed: int
    how: RunOptions  # as `latesum.experiments.engine.run` takes it

    def setting(self, case: Case, stream: int, name: str) -> RunSpec:
        """All that the runs of a case depend on; those of another `stream` draw from another seed."""
        return case.setting((self.seed, stream), name)

    def rows(
        self,
        settings: Sequence[RunSpec],
        counts: Sequence[int],
        what: str,
        known: Sequence[Rows | None] | None = None,
    ) -> list[Rows]:
        """What was measured in the first runs of each setting; those that are known are not made again."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            results = run(settings, counts, what=what, known=known, **self.how)
        return [runs.measured for runs in results.runs.values()]

    def first_runs(self, settings: Sequence[RunSpec]) -> list[Rows | None]:
        """The first run of each, made here, so that processes that are forked have compiled code from the beginning.

        None where runs are kept in a store, or all are made here.
        """
        if self.how.get("store") is not None or self.how.get("workers", 1) == 1:
            return [None] * len(settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [run_chunk(Chunk(setting, 0, 1)) for setting in settings]

    def forecast(self, case: Case, setting: RunSpec, rows: Rows) -> Forecast:
        """What the runs of one case say."""
        return self.forecast_of(case, setting, rows, outcome_of(case, setting, rows))

    def forecast_of(self, case: Case, setting: RunSpec, rows: Rows, outcome: Outcome) -> Forecast:
        """The same where it is known what came of each run."""
        return _forecast(case, setting, rows, outcome, self.thresholds.percentile)

    def forecasts(
        self, cases: Sequence[Case], replications: int, stream: int, what: str
    ) -> list[Forecast]:
        """One forecast for each case; runs of another `stream` draw from another seed.

        What is clearly a go, or clearly none, after a part of the runs has no more.
        """
        settings = [self.setting(case, stream, f"{number}") for number, case in enumerate(cases)]
        most = [_at_most(case.milliseconds, replications) for case in cases]
        part = max(round(_FIRST_PART * replications), min(replications, _FEWEST))
        counts = [min(part, each) for each in most]
        found = self.rows(settings, counts, what)
        counts = [
            each if self.forecast(*made).is_sure(self.thresholds) else all_of_it
            for each, all_of_it, made in zip(
                counts, most, zip(cases, settings, found, strict=True), strict=True
            )
        ]
        found = self.rows(settings, counts, what, found)
        return [self.forecast(*made) for made in zip(cases, settings, found, strict=True)]


def _at_most(milliseconds: float, replications: int) -> int:
    for least, share in _COSTLY:
        if milliseconds > least:
            return min(replications, max(round(share * replications), _FEWEST))
    return replications


def outcome_of(case: Case, setting: RunSpec, rows: Rows) -> Outcome:
    """The loss and the gain over an equal split of each run, and whether it ended well."""
    beliefs = case.beliefs
    scale = beliefs.high - beliefs.low
    loss = rows["regret"][:, -1] * scale + beliefs.switch_cost * rows["switches"]
    ended_well = next(rows[name] for name in setting.measures if name.startswith("ends_right"))
    return Outcome(loss, _equal_split_loss(setting) * scale - loss, ended_well)


def _forecast(
    case: Case, setting: RunSpec, rows: Rows, outcome: Outcome, percentile: float
) -> Forecast:
    """Put the runs of one case together; `percentile` is the one of `worst_gain`."""
    beliefs = case.beliefs
    _, settled_after, on_good = (rows[name] for name in setting.measures if "within" in name)
    loss, gain, ended_well = outcome
    most = max(beliefs.option_means) * beliefs.horizon
    hours = unit_hours(beliefs.bucket)
    return Forecast(
        case.candidate, mean_of(most - loss), mean_of(loss), mean_of(gain),
        quantile_of(gain, percentile), share_of(int(ended_well.sum()), len(ended_well)),
        quantile_of(settled_after * hours, 0.5), quantile_of(settled_after * hours, 0.8),
        mean_of(rows["switches"].astype(np.float64)),
        tuple(float(share) for share in on_good.mean(axis=0)), len(loss),
    )  # fmt: skip


def _equal_split_loss(setting: RunSpec) -> float:
    """What a split in equal parts loses against always playing the best, in scaled rewards."""
    problem = setting.problem
    assert isinstance(problem, Problem)
    end = np.array([setting.horizon])
    return float(np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)]))
