"""An experiment multiplied out: one cell is one policy on one problem."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name
from latesum.attributed import AttributedPolicy
from latesum.delays import parse as parse_delay
from latesum.lab.experiment import Experiment, Value, digest_of
from latesum.lab.roster import policy_for
from latesum.lab.simulation import AnyPolicy, refuse_live_data
from latesum.policies import registry
from latesum.world import Problem

Integers = NDArray[np.int64]
#: A place in an experiment: the keys and numbers that lead to it.
Location = tuple[str | int, ...]
#: Which entry it comes from, its name, arms and delays; which entry, its name and text.
_Problem = tuple[int, str, tuple[float, ...], tuple[str, ...]]
_Policy = tuple[int, str, str]


@dataclass(frozen=True)
class Cell:
    """One policy on one problem; every number that its runs depend on is here."""

    problem: str
    policy: str
    arms: tuple[float, ...]
    delays: tuple[str, ...]  # one for all arms, or one for each
    policy_text: str
    horizon: int
    replications: int
    seed: int
    checkpoints: tuple[int, ...]
    bucket: int = 1
    report_lag: int = 0
    x: float | None = None

    @functools.cached_property
    def digest(self) -> str:
        """The same for two cells whose runs of one number are the same, whatever their labels."""
        return digest_of(self.setting)

    @property
    def setting(self) -> dict[str, Any]:
        """What a run depends on."""
        labels = ("problem", "policy", "replications", "x")
        return {key: value for key, value in asdict(self).items() if key not in labels}

    def build(self) -> tuple[Problem, AnyPolicy]:
        """The problem and the policy."""
        delay = self.delays[0] if len(self.delays) == 1 else self.delays
        problem = Problem(self.arms, delay)
        return problem, policy_for(self.policy_text, problem, self.horizon)


class Misplaced(InvalidInput):
    """Something in an experiment cannot be used; `location` says what."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(f"{where(location)}: {message}")
        self.location = location
        self.message = message


def where(location: Location) -> str:
    """A location as text.

    >>> where(("problems", 0, "delay"))
    'problems[0].delay'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def cells(experiment: Experiment) -> list[Cell]:
    """The experiment multiplied out; everything is built once, so that nothing fails later."""
    problems = list(_problems(experiment))
    _refuse_repeated([name for _, name, *_ in problems], "problems")
    policies = list(_policies(experiment))
    _refuse_repeated([name for _, name, _ in policies], "policies")
    rounds = tuple(_checkpoints(experiment).tolist())
    result = []
    for place, name, text in policies:
        entry = experiment.policies[place]
        for problem_place, problem, arms, delays in problems:
            asked = experiment.problems[problem_place]
            if entry.problems is not None and not {problem, asked.name} & set(entry.problems):
                continue
            cell = Cell(
                problem, name, arms, delays, _with_told(text, asked.told, place),
                experiment.horizon, entry.replications or experiment.replications,
                experiment.seed, rounds, experiment.bucket, experiment.report_lag, asked.x,
            )  # fmt: skip
            try:
                built, policy = cell.build()
                if isinstance(policy, AttributedPolicy):
                    refuse_live_data(built, policy, cell.bucket, cell.report_lag)
            except InvalidInput as refusal:
                raise Misplaced(
                    ("policies", place, "policy"), f"for the problem {problem!r}: {refusal}"
                ) from None
            result.append(cell)
    _check_names(experiment, [cell.problem for cell in result], [cell.policy for cell in result])
    return result


def _problems(experiment: Experiment) -> Iterator[_Problem]:
    for place, entry in enumerate(experiment.problems):
        grid = isinstance(entry.arms[0] if entry.arms else None, list)
        many_arms: list[Any] = list(entry.arms) if grid else [entry.arms]
        for key, given in (("arms", entry.arms), ("delay", entry.delay)):
            if given == []:
                raise Misplaced(("problems", place, key), "the list is empty; give at least one.")
        _check_told(entry.told, place)
        if entry.delay_per_arm is not None:
            many_delays = [tuple(entry.delay_per_arm)]
        else:
            texts = entry.delay if isinstance(entry.delay, list) else [str(entry.delay)]
            many_delays = [(text,) for text in texts]
        for arms, delays in itertools.product(many_arms, many_delays):
            key = "delay" if entry.delay_per_arm is None else "delay_per_arm"
            try:
                drawn = [parse_delay(text) for text in delays]
                if entry.delay_per_arm is not None and len(drawn) != len(arms):
                    raise InvalidInput(f"give one delay for each of the {len(arms)} arms.")
                key = "arms" if len(drawn) == 1 else key
                Problem(arms, drawn[0] if len(drawn) == 1 else drawn)
            except InvalidInput as refusal:
                raise Misplaced(("problems", place, key), str(refusal)) from None
            parts = [entry.name] if entry.name else []
            if len(many_arms) > 1 or not entry.name:
                parts.append("arms " + ", ".join(f"{mean:g}" for mean in arms))
            if len(many_delays) > 1 or not entry.name:
                parts.append("; ".join(delays))
            yield place, ", ".join(parts), tuple(map(float, arms)), delays


def _policies(experiment: Experiment) -> Iterator[_Policy]:
    for place, entry in enumerate(experiment.policies):
        choices = {
            key: value if isinstance(value, list) else [value]
            for key, value in entry.parameters.items()
        }
        for key, value in choices.items():
            if not value:
                location = ("policies", place, "parameters", key)
                raise Misplaced(location, "the list is empty; give at least one value.")
        several = [key for key, value in choices.items() if len(value) > 1]
        for values in itertools.product(*choices.values()):
            chosen = dict(zip(choices, values, strict=True))
            text = _with_parameters(entry.policy, chosen, place)
            name = entry.name or entry.policy
            if several:
                name += " (" + ", ".join(f"{key}={chosen[key]}" for key in several) + ")"
            yield place, name, text


def _check_told(told: dict[str, Value], place: int) -> None:
    known = sorted(
        {key for name in registry.available() for key in registry.accepted_parameters(name)}
    )
    for key in told:
        try:
            known_name(key, known, "parameter of a policy")
        except InvalidInput as refusal:
            raise Misplaced(("problems", place, "told", key), str(refusal)) from None


def _with_told(text: str, told: dict[str, Value], place: int) -> str:
    """The policy with what the problem says it is told, where it takes that and has no own."""
    name = text.partition("(")[0].strip()
    accepted = registry.accepted_parameters(name) if name in registry.available() else ()
    written = _written(text, place)
    return _with_parameters(
        text, {k: v for k, v in told.items() if k in accepted and k not in written}, place
    )


def _with_parameters(text: str, parameters: dict[str, Any], place: int) -> str:
    """Write parameters into the text of a policy."""
    if not parameters:
        return text.strip()
    for key in parameters:
        if key in _written(text, place):
            raise Misplaced(("policies", place, "parameters", key), f"{key} is given twice.")
    name, bracket, inside = text.strip().partition("(")
    inside = inside.rstrip().removesuffix(")").strip() if bracket else ""
    written = [inside] if inside else []
    written += [f"{key}={value!r}" for key, value in parameters.items()]
    return f"{name.strip()}({', '.join(written)})"


def _written(text: str, place: int) -> list[str]:
    match = re.fullmatch(r"\s*[\w+-]+\s*(\(.*\))?\s*", text, re.DOTALL)
    try:
        if match is None:
            raise ValueError
        call = ast.parse(f"f{match[1] or '()'}", mode="eval").body
        assert isinstance(call, ast.Call)
        return [str(keyword.arg) for keyword in call.keywords]
    except (SyntaxError, ValueError):
        raise Misplaced(
            ("policies", place, "policy"),
            f"cannot read the policy {text!r}; write a name, or name(parameter=value, ...).",
        ) from None


def _checkpoints(experiment: Experiment) -> Integers:
    """Rounds that are kept: evenly spaced ones and some more at the beginning, the horizon last."""
    horizon, asked = experiment.horizon, experiment.checkpoints
    if isinstance(asked, list):
        if not asked or max(asked) > horizon:
            raise Misplaced(("checkpoints",), f"checkpoints lie between 1 and {horizon}.")
        return np.unique(np.array([*asked, horizon], dtype=np.int64))
    if asked == 1:
        return np.array([horizon], dtype=np.int64)
    early = np.geomspace(1, horizon, max(asked // 4, 2))
    even = np.linspace(1, horizon, asked)
    return np.unique(np.rint(np.concatenate([early, even])).astype(np.int64))


def _refuse_repeated(names: list[str], key: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise Misplaced(
                (key,), f"two of them are called {name!r}; give each a name of its own."
            )


def _check_names(experiment: Experiment, problems: list[str], policies: list[str]) -> None:
    named = {entry.name for entry in experiment.problems if entry.name} | set(problems)
    for place, entry in enumerate(experiment.policies):
        for name in entry.problems or []:
            if name not in named:
                _known(name, named, "problem", ("policies", place, "problems"))
    if experiment.ratio and experiment.ratio.policy is not None:
        _known(experiment.ratio.policy, policies, "policy", ("ratio", "policy"))
    if experiment.ratio and experiment.ratio.problem is not None:
        _known(experiment.ratio.problem, problems, "problem", ("ratio", "problem"))


def _known(name: str, known: Iterable[str], kind: str, location: Location) -> None:
    try:
        known_name(name, set(known), kind)
    except InvalidInput as refusal:
        raise Misplaced(location, str(refusal)) from None
