"""What came of many runs, each number with its uncertainty, in the user's units."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latesum._json_values import finite
from latesum.lab.engine import RunOptions, run
from latesum.lab.play import InBuckets
from latesum.lab.results import Runs
from latesum.lab.setting import Setting
from latesum.lab.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import SLOW_SHARE, Candidate
from latesum.planning.words import unit_hours
from latesum.world import Problem

#: The child of a run's seed that the order of the options is drawn from. Plans have no reports to
#: draw, and had this one before there was another: so their numbers stay what they were.
_ORDER = 2
#: A policy that is slow to simulate has this many runs at least.
_FEWEST = 20


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

    def setting(self, seed: tuple[int, ...], name: str) -> Setting:
        """All that the runs depend on; the options stand in any order."""
        beliefs, told = self.beliefs, self.told or self.beliefs
        within = beliefs.lift / (beliefs.high - beliefs.low)
        measures = (f"{name}({within=})" for name in ("ends_right", "settled_after", "on_good"))
        spec = self.candidate.spec
        return Setting(
            self.problem or beliefs.problem(), spec, told.horizon, seed=seed,
            reports=InBuckets(told.bucket_rounds), world="buckets", order=_ORDER, told=None,
            before=beliefs.before, history=told.history if "history" in spec.accepted else 0,
            measures=("regret", "switches", *measures), problem_name=name,
            policy_name=self.candidate.label,
        )  # fmt: skip


class Simulation(NamedTuple):
    """Makes the runs of a plan, here or elsewhere, and says what came of them."""

    thresholds: Thresholds
    seed: int
    how: RunOptions  # as `latesum.lab.engine.run` takes it

    def forecasts(
        self, cases: Sequence[Case], replications: int, stream: int, what: str
    ) -> list[Forecast]:
        """One forecast for each case; runs of another `stream` draw from another seed."""
        settings = [
            case.setting((self.seed, stream), f"{number}") for number, case in enumerate(cases)
        ]
        fewer = max(round(SLOW_SHARE * replications), min(replications, _FEWEST))
        counts = [fewer if case.candidate.slow else replications for case in cases]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a short phase breaks, the simulation shows
            results = run(settings, counts, what=what, **self.how)
        made = zip(cases, settings, results.runs.values(), strict=True)
        return [_forecast(*each, self.thresholds.percentile) for each in made]


def _forecast(case: Case, setting: Setting, runs: Runs, percentile: float) -> Forecast:
    """Put the runs of one case together; `percentile` is the one of `worst_gain`."""
    beliefs = case.beliefs
    ends_right, settled_after, on_good = (
        runs.measured[name] for name in setting.measures if "within" in name
    )
    scale = beliefs.high - beliefs.low
    loss = runs.regrets[:, -1] * scale + beliefs.switch_cost * runs.switches
    gain = _equal_split_loss(setting) * scale - loss
    most = max(beliefs.option_means) * beliefs.horizon
    hours = unit_hours(beliefs.bucket)
    return Forecast(
        case.candidate, mean_of(most - loss), mean_of(loss), mean_of(gain),
        quantile_of(gain, percentile), share_of(int(ends_right.sum()), len(ends_right)),
        quantile_of(settled_after * hours, 0.5), quantile_of(settled_after * hours, 0.8),
        mean_of(runs.switches.astype(np.float64)),
        tuple(float(share) for share in on_good.mean(axis=0)), len(loss),
    )  # fmt: skip


def _equal_split_loss(setting: Setting) -> float:
    """What a split in equal parts loses against always playing the best, in scaled rewards."""
    problem = setting.problem
    assert isinstance(problem, Problem)
    end = np.array([setting.horizon])
    return float(np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)]))
