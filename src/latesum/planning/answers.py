"""What came of many runs, each number with its uncertainty, in the user's units."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from latesum.lab.play import InBuckets
from latesum.lab.results import Runs
from latesum.lab.setting import Setting
from latesum.lab.stats import Uncertain, mean_of, quantile_of, share_of
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import Candidate
from latesum.planning.words import unit_hours
from latesum.world import Problem

#: Makes the runs of some settings: how many of each, and what they are for.
Simulate = Callable[[Sequence[Setting], int, str], list[Runs]]

#: The child of a run's seed that the order of the options is drawn from. Plans have no reports to
#: draw, and had this one before there was another: so their numbers stay what they were.
_ORDER = 2


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

    def to_json(self) -> dict[str, Any]:
        """The numbers, as JSON values; a time that is infinite is null."""
        label, spec, about = self.candidate
        result: dict[str, Any] = {
            "label": label, "policy": spec.name, "parameters": spec.parameters, "about": about,
            "replications": self.replications,
        }  # fmt: skip
        for name in (
            "reward", "loss", "gain", "worst_gain", "ended_well", "ended_wrong", "settled_after",
            "settled_late", "switches",
        ):  # fmt: skip
            number: Uncertain = getattr(self, name)
            result[name] = {
                key: value if math.isfinite(value) else None
                for key, value in number._asdict().items()
            }
        result["on_good"] = list(self.on_good)
        return result


def setting_for(
    beliefs: Beliefs,
    candidate: Candidate,
    seed: tuple[int, ...],
    *,
    problem: Problem | None = None,
    told: Beliefs | None = None,
) -> Setting:
    """A candidate in the campaign that is believed in; the options stand in any order.

    `problem` is what is true where that is not what is believed, and `told` are the beliefs that the
    campaign is set up by where `beliefs` are what it is judged by.
    """
    told = told or beliefs
    within = beliefs.lift / (beliefs.high - beliefs.low)
    measures = (f"{name}({within=})" for name in ("ends_right", "settled_after", "on_good"))
    return Setting(
        problem or beliefs.problem(), candidate.spec, told.horizon, seed=seed,
        reports=InBuckets(told.bucket_rounds), world="buckets", order=_ORDER, told=None,
        before=beliefs.before, history=told.history if "history" in candidate.spec.accepted else 0,
        measures=("regret", "switches", *measures), policy_name=candidate.label,
    )  # fmt: skip


def answer_of(
    beliefs: Beliefs, candidate: Candidate, setting: Setting, runs: Runs, percentile: float
) -> Forecast:
    """Put the runs of one candidate together; `percentile` is the one of `worst_gain`."""
    ends_right, settled_after, on_good = (
        runs.measured[name] for name in setting.measures if "within" in name
    )
    scale = beliefs.high - beliefs.low
    loss = runs.regrets[:, -1] * scale + beliefs.switch_cost * runs.switches
    gain = _equal_split_loss(setting) * scale - loss
    most = max(beliefs.option_means) * beliefs.horizon
    hours = unit_hours(beliefs.bucket)
    return Forecast(
        candidate, mean_of(most - loss), mean_of(loss), mean_of(gain), quantile_of(gain, percentile),
        share_of(int(ends_right.sum()), len(ends_right)), quantile_of(settled_after * hours, 0.5),
        quantile_of(settled_after * hours, 0.8), mean_of(runs.switches.astype(np.float64)),
        tuple(float(share) for share in on_good.mean(axis=0)), len(loss),
    )  # fmt: skip


def _equal_split_loss(setting: Setting) -> float:
    """What a split in equal parts loses against always playing the best, in scaled rewards."""
    problem = setting.problem
    assert isinstance(problem, Problem)
    end = np.array([setting.horizon])
    return float(np.mean([problem.lost_by(arm, end)[0] for arm in range(problem.n_arms)]))
