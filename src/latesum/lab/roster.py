"""Policies written as text, given what a problem's delay lets them know."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum._signatures import signature_of
from latesum.attributed import DUCB, KLDUCB, QPMD, SBD, DelayedUCB1, ImprovedUCB
from latesum.lab.simulation import AnyPolicy
from latesum.policies import registry
from latesum.world import Problem

#: The baselines that see which arm paid, by name.
ATTRIBUTED: dict[str, Any] = {
    "qpm-d": QPMD,
    "delayed-ucb1": DelayedUCB1,
    "sbd": SBD,
    "ducb": DUCB,
    "kl-ducb": KLDUCB,
    "improved-ucb": ImprovedUCB,
}

_WRITTEN = re.compile(r"\s*(?P<name>[\w+-]+)\s*(\((?P<arguments>.*)\))?\s*", re.DOTALL)


def split_list(text: str) -> list[str]:
    """Split at the commas that are not inside brackets.

    >>> split_list("odaaf, odaaf-b(mean_delay=20, delay_bound=60)")
    ['odaaf', 'odaaf-b(mean_delay=20, delay_bound=60)']
    """
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip()]


def knowledge(problem: Problem, horizon: int) -> dict[str, Any]:
    """All that a policy may be told of a problem, by the names of the policies' parameters.

    Where arms have different delays, each entry is the largest of theirs.

    >>> knowledge(Problem([0.5, 0.6], "uniform(0, 100)"), 1000)["delay_bound"]
    100
    """
    bounds = [delay.bound for delay in problem.delays]
    return {
        "n_arms": problem.n_arms,
        "horizon": horizon,
        "mean_delay": max(delay.mean for delay in problem.delays),
        "delay_variance": max(delay.variance for delay in problem.delays),
        "delay_bound": None if None in bounds else max(bound or 0 for bound in bounds),
        "best_arm": problem.best,
        "delay": problem.delays,
    }


def available() -> list[str]:
    """The names that `policy_for` knows.

    >>> {"odaaf", "qpm-d"} <= set(available())
    True
    """
    return [*registry.available(), *ATTRIBUTED]


def policy_for(text: str, problem: Problem, horizon: int) -> AnyPolicy:
    """The policy written as `text`, such as "odaaf" or "odaaf(mean_delay=20)", for a problem.

    What is not written is filled in with what is true of the problem. The baselines that see
    which arm paid have names too; the base of QPM-D and SBD is UCB1 unless written.

    >>> policy_for("odaaf-b", Problem([0.5, 0.6], "uniform(0, 100)"), 250_000).ask().rounds
    1076
    >>> policy_for("qpm-d(base='kl-ucb')", Problem([0.5, 0.6], "poisson(9)"), 1000).name
    'QPM-D (KL-UCB)'
    """
    name, written = _read(text)
    known_name(name, available(), "policy")
    known = knowledge(problem, horizon)
    if name in ATTRIBUTED:
        return _attributed(name, written, known, problem)
    optional = registry.optional_parameters(name)
    given = {
        key: value
        for key, value in known.items()
        if key in registry.accepted_parameters(name) and key not in written
        if not (key in optional and _unknown(value))
    }
    _refuse_unknowns(name, given, problem)
    return registry.build(name, **given, **written)


def _attributed(
    name: str, written: dict[str, Any], known: dict[str, Any], problem: Problem
) -> AnyPolicy:
    builder = ATTRIBUTED[name]
    accepted = list(signature_of(builder).parameters)
    for parameter in written:
        known_name(parameter, accepted, f"parameter of {name!r}")
    if "base" in accepted:
        written.setdefault("base", "ucb1")
        if written["base"] != "kl-ucb++":  # the only base that must know the horizon
            known = {key: value for key, value in known.items() if key != "horizon"}
    known["max_delay"] = known["delay_bound"]
    given = {key: value for key, value in known.items() if key in accepted and key not in written}
    _refuse_unknowns(name, given, problem)
    policy: AnyPolicy = builder(**given, **written)
    return policy


def _unknown(value: object) -> bool:
    """Whether this is what the delay does not have: no bound, no finite variance."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _refuse_unknowns(name: str, given: dict[str, Any], problem: Problem) -> None:
    """Refuse a policy that must know what the delay does not have."""
    for parameter, value in given.items():
        if _unknown(value):
            delay = " and ".join(sorted({delay.text for delay in problem.delays}))
            raise InvalidInput(
                f"{name} must be told the {parameter.replace('_', ' ')}, and {delay} has none; "
                f"write {name}({parameter}=...), or use a delay that has one."
            )


def _read(text: str) -> tuple[str, dict[str, Any]]:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise InvalidInput(
            f"cannot read the policy {text!r}; write a name, or name(parameter=value, ...)."
        )
    try:
        call = ast.parse(f"f({match['arguments'] or ''})", mode="eval").body
        assert isinstance(call, ast.Call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise ValueError
        written = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    except (SyntaxError, ValueError):
        raise InvalidInput(
            f"cannot read the parameters in {text!r}; write name(parameter=value, ...)."
        ) from None
    return match["name"], written
