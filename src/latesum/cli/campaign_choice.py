"""Which policy a new campaign has, where a history is told and no policy: by simulating markets
like it."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from typing import Any

from latesum._checks import InvalidInput

#: What a campaign without regions can have, by its name in the forecast.
_CAN_RUN = ("switchback", "unmix", "flow")
#: The better option sells this much more in the simulation, ...
_LIFT = 0.1
#: ... which has this many runs of each policy.
_RUNS = 40
_USUAL_DAYS, _USUAL_LATE = 90, "1 day"


def choose_policy(
    config: Mapping[str, Any], run_for: str | None, late: str | None
) -> tuple[str, str] | None:
    """The policy that loses least in markets like the history, and why; None where that is not
    asked.

    It is asked where there are a history by day, no policy and no regions (those have switchback).

    Args:
        config: The fields of the campaign that were given.
        run_for: How long it runs.
        late: How late sales come.
    """
    if not config.get("history") or config.get("policy") or config.get("regions"):
        return None
    if why := _cannot(config):
        return "unmix", f"it was not chosen by simulation: {why}"
    from latesum.planning import given_delay, plan_regions
    from latesum.planning.words import read_duration

    days = _USUAL_DAYS if run_for is None else round(read_duration(run_for, "the run") / 24)
    delay = given_delay(late or f"about {_USUAL_LATE}")
    try:
        found = plan_regions(
            _rows(config["history"]),
            regions=1,
            options=len(config["options"]),
            lift=_LIFT,
            days=days,
            late=delay,
            sensitivity=False,
            replications=_RUNS,
            workers=os.cpu_count() or 1,
        )
    except InvalidInput as refusal:
        return "unmix", f"it was not chosen by simulation: {refusal}"
    lost = {
        each.candidate.label: each.regret.value / (each.reward.value + each.regret.value)
        for each in found.forecasts
    }
    best = min(_CAN_RUN, key=lost.__getitem__)
    others = ", ".join(f"{name} {share:.1%}" for name, share in lost.items() if name != best)
    return best, (
        f"in {_RUNS} simulated markets like the history, with one option {_LIFT:.0%} better, it "
        "loses "
        f"{lost[best]:.1%} of the best option's sales ({others})."
    )


def _cannot(config: Mapping[str, Any]) -> str | None:
    """Why there is nothing to simulate."""
    if config.get("every", "day") != "day":
        return "the history is not by day."
    if config.get("time_basis") == "decision":
        return "totals are dated by decision."
    if config.get("range") not in (None, (0.0, 1.0)):
        return "totals are no counts."
    shown = {row.get("shown") for row in config["history"]}
    return "the history shows several options." if len(shown) > 1 else None


def _rows(history: list[dict[str, Any]]) -> list[Any]:
    from latesum.markets import RegionRow

    days = [datetime.date.fromisoformat(str(row["bucket"])[:10]) for row in history]
    end = max(days) + datetime.timedelta(days=1)
    return [
        RegionRow("", (day - end).days, row["rounds"], "today", row["total"])
        for day, row in zip(days, history, strict=True)
    ]
