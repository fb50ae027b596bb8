"""Sensitivity analysis: what becomes of the recommended policy if the inputs are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latesum.planning.candidates import EQUAL_SPLIT
from latesum.planning.inputs import PlanInputs
from latesum.planning.racing import Forecast, Simulator, Thresholds

NOTHING_BETTER = "nothing is better"
ALL_WORSE = "all new options are worse"


@dataclass(frozen=True)
class Scenario:
    """Something else that may be true, and what becomes of the recommended policy then.

    Args:
        truth: What is true, in words.
        forecast: How the recommended policy does.
        runner_up: How the next best does in the same world.
        still_go: Whether it is still a go; None where there is nothing to gain.
        sure: Whether that is so within the uncertainty of the simulation too.
    """

    truth: str
    forecast: Forecast
    runner_up: Forecast | None
    still_go: bool | None
    sure: bool

    @classmethod
    def of(
        cls, truth: str, forecast: Forecast, runner_up: Forecast | None, thresholds: Thresholds
    ) -> Scenario:
        """The scenario, judged by the thresholds."""
        still = None if truth == NOTHING_BETTER else forecast.passes(thresholds)
        return cls(truth, forecast, runner_up, still, forecast.is_sure(thresholds))

    @property
    def in_short(self) -> str:
        """Whether it is still a go, with a question mark where the runs do not settle it."""
        if self.still_go is None:
            return "–"
        return ("yes" if self.still_go else "no") + ("" if self.sure else "?")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        kept = ["regret", "gain", "gain_low", "finds_best", "decided_after", "winner", "switches"]
        numbers = self.forecast.to_json()
        result = {
            "truth": self.truth,
            "still_go": self.still_go,
            "sure": self.sure,
            "replications": self.forecast.replications,
            **{name: numbers[name] for name in kept},
        }
        if self.runner_up is not None:
            others = self.runner_up.to_json()
            result["runner_up"] = {name: others[name] for name in ("label", *kept)}
        return result


def next_best(forecasts: list[Forecast], recommended: Forecast) -> Forecast | None:
    """The policy to take if the recommended one were not there: it may be the sturdier one."""
    others = [each for each in forecasts if each is not recommended]
    others = [each for each in others if each.candidate.label != EQUAL_SPLIT]
    return max(others, key=lambda each: each.gain.value, default=None)


def analyze(
    inputs: PlanInputs,
    recommended: Forecast,
    runner_up: Forecast | None,
    simulator: Simulator,
    replications: int,
) -> list[Scenario]:
    """The recommended policy and the next best, given the inputs, where something else is true."""
    policies = [each.candidate for each in (recommended, runner_up) if each is not None]
    worlds = scenarios_for(inputs)
    pairs = [(world, candidate) for world in worlds.values() for candidate in policies]
    made = iter(simulator.forecasts(pairs, replications, 2, "sensitivity analysis"))
    return [
        Scenario.of(
            truth, next(made), None if runner_up is None else next(made), simulator.thresholds
        )
        for truth in worlds
    ]


def scenarios_for(inputs: PlanInputs) -> dict[str, PlanInputs]:
    """What might be true instead, by its name."""
    worlds = {
        "as given": inputs,
        "delays twice as long": inputs.changed(delay_factor=2.0),
        "delays half as long": inputs.changed(delay_factor=0.5),
    }
    if (evenly := inputs.lateness.spread_evenly()) is not None:
        worlds["rewards spread evenly"] = inputs.changed(lateness=evenly)
    if inputs.means is None:
        worlds["lift half as large"] = inputs.changed(lift=inputs.lift / 2)
        worlds[NOTHING_BETTER] = inputs.changed(lift=0.0)
        worlds[ALL_WORSE] = inputs.changed(today_best=True)
    worlds |= {
        "best option twice as late": inputs.changed(best_delay_factor=2.0),
        "best option in half the time": inputs.changed(best_delay_factor=0.5),
        "week-ends a third lower": inputs.changed(weekly=True),
    }
    return worlds
