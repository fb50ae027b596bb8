"""How wrong it goes if what the user believes is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from latesum.planning.answers import Case, Forecast, Simulation
from latesum.planning.beliefs import Beliefs
from latesum.simulation import Problem


@dataclass(frozen=True)
class WhatIf:
    """A belief that is wrong, and what becomes of the recommended policy then."""

    belief: str
    answer: Forecast
    still_passes: bool
    runner_up: Forecast | None  # how the next best policy does in the same world
    sure: bool = True  # whether it is so within the uncertainty of the simulation too

    @property
    def in_short(self) -> str:
        """Whether it is still a go: yes or no, with a question mark where the runs do not settle it."""
        return ("yes" if self.still_passes else "no") + ("" if self.sure else "?")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        numbers = self.answer.to_json()
        kept = ("loss", "gain", "worst_gain", "ended_well", "settled_after", "switches")
        result = {
            "belief": self.belief,
            "still_passes": self.still_passes,
            "sure": self.sure,
            "replications": self.answer.replications,
            **{name: numbers[name] for name in kept},
        }
        if self.runner_up is not None:
            others = self.runner_up.to_json()
            result["runner_up"] = {name: others[name] for name in ("label", *kept)}
        return result


def wrong_beliefs(
    beliefs: Beliefs,
    recommended: Forecast,
    runner_up: Forecast | None,
    simulation: Simulation,
    replications: int,
) -> list[WhatIf]:
    """The recommended policy and the next best, told what is believed, in other worlds."""
    policies = [each.candidate for each in (recommended, runner_up) if each is not None]
    worlds = _worlds(beliefs)
    cases = [
        Case(changed, candidate, problem, told=beliefs)
        for _, changed, problem in worlds
        for candidate in policies
    ]
    made = iter(simulation.forecasts(cases, replications, 2, "wrong beliefs"))
    rows = []
    for sentence, _, _ in worlds:
        answer = next(made)
        other = None if runner_up is None else next(made)
        wanted = simulation.thresholds
        rows.append(WhatIf(sentence, answer, answer.passes(wanted), other, answer.is_sure(wanted)))
    return rows


def _worlds(beliefs: Beliefs) -> list[tuple[str, Beliefs, Problem]]:
    """What might be true instead: in words, the beliefs to simulate with, the problem."""
    options = beliefs.options
    best = max(range(options), key=beliefs.option_means.__getitem__)
    best_later = [2.0 if arm == best else 1.0 for arm in range(options)]
    best_sooner = [0.5 if arm == best else 1.0 for arm in range(options)]
    worlds = [
        ("as believed", beliefs, beliefs.problem()),
        ("delays twice as long", beliefs, beliefs.problem(delay_factors=[2.0] * options)),
        ("delays half as long", beliefs, beliefs.problem(delay_factors=[0.5] * options)),
    ]
    if beliefs.means is None:
        half = beliefs.changed(lift=beliefs.lift / 2)
        worlds.append(("lift half as large", half, half.problem()))
    worlds += [
        ("best option twice as late", beliefs, beliefs.problem(delay_factors=best_later)),
        ("best option in half the time", beliefs, beliefs.problem(delay_factors=best_sooner)),
        ("week-ends a third lower", beliefs, beliefs.problem(weekly=True)),
    ]  # fmt: skip
    return worlds
