"""A problem as plain data, for files and digests, and back."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum.delays.parsing import text_of
from latesum.simulation.composite import CompositeProblem
from latesum.simulation.field import Background, Calendar, FieldProblem, Reporting
from latesum.simulation.problem import Problem
from latesum.simulation.rewards import reward_text

_FIELD: dict[str, Any] = {
    "calendar": Calendar,
    "background": Background,
    "reporting": Reporting,
}


def problem_data(problem: Problem | str) -> dict[str, Any] | str:
    """The problem as JSON values.

    A reward that is no class of latesum, or a delay with the text of another one, is refused. The
    name of a law that draws problems stands for itself.

    >>> problem_data(Problem([0.5, "beta(6, 4)"], "uniform(0, 100)"))
    {'arms': [0.5, 'beta(6, 4)'], 'delay': 'uniform(0, 100)'}
    """
    if isinstance(problem, str):
        return problem
    delays = [text_of(delay) for delay in problem.delays]
    data: dict[str, Any] = {
        "arms": [reward_text(arm) for arm in problem.arms],
        "delay": delays[0] if len(set(delays)) == 1 else delays,
    }
    if isinstance(problem, CompositeProblem):
        data["parts"] = problem.parts
    for key in _FIELD:
        part = getattr(problem, key, None)
        if part is not None:
            data[key] = plain_part(part)
    return data


def problem_from(data: Mapping[str, Any] | str) -> Any:
    """The opposite of `problem_data`; a calendar may be weekly, by `rounds_per_day`.

    >>> problem_from({"arms": [0.5, 0.6], "delay": "poisson(3)", "background": {"mean": 0.1}})
    FieldProblem([0.5, 0.6], 'poisson(3)', background=Background(mean=0.1, sd=0.0, counts=False))
    """
    if isinstance(data, str):
        return data
    for key in data:
        known_name(key, ("arms", "delay", "parts", *_FIELD), "part of a problem")
    if "parts" in data:
        if others := sorted(set(data) - {"arms", "delay", "parts"}):
            raise InvalidInput(f"a problem with parts has no {others[0]}.")
        return CompositeProblem(data["arms"], data["delay"], parts=data["parts"])
    given = {key: data[key] for key in _FIELD if data.get(key) is not None}
    if not given:
        return Problem(data["arms"], data["delay"])
    weekly = "rounds_per_day" in given.get("calendar", ())
    builders = {**_FIELD, "calendar": Calendar.weekly} if weekly else _FIELD
    field = {key: _built(builders[key], part, key) for key, part in given.items()}
    return FieldProblem(data["arms"], data["delay"], **field)


def plain_part(part: Any) -> dict[str, Any]:
    """A calendar, a background or a reporting, without what is as usual."""
    kept = {}
    for each in dataclasses.fields(part):
        value = getattr(part, each.name)
        if value != each.default:
            kept[each.name] = list(value) if isinstance(value, tuple) else value
    return kept


def _built(builder: Any, data: Mapping[str, Any], what: str) -> Any:
    try:
        inspect.signature(builder).bind(**data)
        return builder(**data)
    except TypeError as error:
        raise InvalidInput(f"a {what} cannot be made of {dict(data)}: {error}.") from None
