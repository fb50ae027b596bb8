"""What came of many runs, each number with its uncertainty, in the user's units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import Candidate
from latesum.planning.runs import Floats, Outcome
from latesum.planning.words import unit_hours

#: All limits are 95% ones.
_Z = 1.959964


class Uncertain(NamedTuple):
    """A number and 95% confidence limits for what endless simulation would give."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer:
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
        result: dict[str, Any] = {
            "label": self.candidate.label,
            "policy": self.candidate.policy,
            "parameters": self.candidate.parameters,
            "about": self.candidate.about,
            "replications": self.replications,
        }
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


def answer_of(
    beliefs: Beliefs, candidate: Candidate, outcome: Outcome, percentile: float
) -> Answer:
    """Put the runs of one candidate together; `percentile` is the one of `worst_gain`."""
    scale = beliefs.high - beliefs.low
    costs = beliefs.switch_cost * outcome.switches
    loss = outcome.loss * scale + costs
    gain = outcome.equal_split_loss * scale - loss
    most = max(beliefs.option_means) * beliefs.horizon
    hours = unit_hours(beliefs.bucket)
    return Answer(
        candidate,
        mean_of(most - loss),
        mean_of(loss),
        mean_of(gain),
        quantile_of(gain, percentile),
        share_of(int(outcome.ended_well.sum()), len(outcome.ended_well)),
        quantile_of(outcome.settled_after * hours, 0.5),
        quantile_of(outcome.settled_after * hours, 0.8),
        mean_of(outcome.switches.astype(np.float64)),
        tuple(float(share) for share in outcome.on_good),
        len(loss),
    )


def mean_of(values: Floats) -> Uncertain:
    """A mean with its limits.

    >>> mean_of(np.array([1.0, 2.0, 3.0])).value
    2.0
    """
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Uncertain(mean, mean - _Z * error, mean + _Z * error)


def share_of(count: int, total: int) -> Uncertain:
    """A share with Wilson's limits.

    >>> [round(number, 3) for number in share_of(80, 100)]
    [0.8, 0.711, 0.867]
    """
    share = count / total
    centre = (share + _Z**2 / (2 * total)) / (1 + _Z**2 / total)
    half = (
        math.sqrt(share * (1 - share) / total + (_Z / (2 * total)) ** 2) * _Z / (1 + _Z**2 / total)
    )
    return Uncertain(
        share, max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0)
    )


def quantile_of(values: Floats, share: float) -> Uncertain:
    """A quantile with limits from the order of the values.

    >>> quantile_of(np.arange(100.0), 0.5)
    Uncertain(value=49.0, low=39.0, high=59.0)
    """
    ordered = np.sort(values)
    count = len(ordered)
    place = max(math.ceil(share * count) - 1, 0)
    half = _Z * math.sqrt(count * share * (1 - share))
    low = max(math.floor(share * count - half) - 1, 0)
    high = min(math.ceil(share * count + half) - 1, count - 1)
    low, high = min(low, place), max(high, place)
    return Uncertain(float(ordered[place]), float(ordered[low]), float(ordered[high]))
