"""An experiment multiplied out into settings: each policy on each problem."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum.delays import parse as parse_delay
from latesum.experiments.comparison import default_checkpoints
from latesum.experiments.loop import Reports
from latesum.experiments.markets.players import OWN
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.measures import measures_of
from latesum.experiments.spec import USUAL_MEASURES, AnySetting, RunSpec
from latesum.experiments.sweeps.experiment import Experiment, ProblemEntry, Value
from latesum.policies import PolicySpec, registry
from latesum.simulation import Problem
from latesum.simulation.market import Market, market_of
from latesum.simulation.problem_data import problem_from

#: Fields that a list varies, beside those of the problem itself.
FIELDS = ("horizon", "bucket", "report_lag", "order", "status_quo", "history")
#: A place in an experiment: the keys and numbers that lead to it.
Location = tuple[str | int, ...]


class Misplaced(InvalidInput):
    """Something in an experiment cannot be used; `location` says what."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(f"{where(location)}: {message}")
        self.location = location
        self.message = message


@contextlib.contextmanager
def placed(*location: str | int, about: str = "") -> Iterator[None]:
    """What is refused within is refused with its place."""
    try:
        yield
    except Misplaced:
        raise
    except InvalidInput as refusal:
        raise Misplaced(location, f"{about}{refusal}") from None


def where(location: Location) -> str:
    """A location as text.

    >>> where(("problems", 0, "delay"))
    'problems[0].delay'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@dataclass(frozen=True)
class Grid:
    """An experiment and the settings that it stands for, with how often each is run."""

    experiment: Experiment
    settings: list[RunSpec | MarketRunSpec]
    replications: list[int]
    #: Where a figure over problems draws each of them.
    x: dict[str, float | None]

    @classmethod
    def of(cls, experiment: Experiment) -> Grid:
        """Multiply out; everything is built once, so that nothing fails later."""
        problems = list(_problems(experiment))
        _refuse_repeated([variant.name for variant in problems], "problems")
        policies = list(_policies(experiment))
        _refuse_repeated([name for _, name, _ in policies], "policies")
        measures = _measures(experiment)
        settings: list[RunSpec | MarketRunSpec] = []
        counts = []
        for place, name, spec in policies:
            entry = experiment.policies[place]
            for variant in problems:
                written = experiment.problems[variant.place].name
                if entry.problems is not None and not {variant.name, written} & {*entry.problems}:
                    continue
                about = f"for the problem {variant.name!r}: "
                with placed("policies", place, "policy", about=about):
                    setting = _setting(experiment, variant, spec, measures)
                    setting = replace(setting, problem_name=variant.name, policy_name=name)
                    setting.check()
                settings.append(setting)
                counts.append(entry.replications or experiment.replications)
        _check_names(experiment, settings)
        x = {variant.name: experiment.problems[variant.place].x for variant in problems}
        return cls(experiment, settings, counts, x)

    def with_replications(self, number: int) -> Grid:
        """The same with `number` replications of every setting."""
        experiment = self.experiment.with_replications(number)
        return replace(self, experiment=experiment, replications=[number] * len(self.settings))

    def with_seed(self, seed: int) -> Grid:
        """The same with another seed."""
        experiment = self.experiment.model_copy(update={"seed": seed})
        settings = [replace(setting, seed=seed) for setting in self.settings]
        return replace(self, experiment=experiment, settings=settings)


@dataclass(frozen=True)
class Variant:
    """One problem of the grid: what is played, and the values of the fields that it is played with.

    Args:
        place: The entry of the experiment that it comes from.
        name: What it is called.
        problem: What is played, or the function that draws it.
        fields: One value of each of `FIELDS`, those of the experiment where the entry has none.
        given: What policies are given in place of what is true.
    """

    place: int
    name: str
    problem: Problem | Market | str
    fields: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Value] = field(default_factory=dict)


def _setting(
    experiment: Experiment, variant: Variant, spec: PolicySpec, measures: tuple[str, ...]
) -> RunSpec | MarketRunSpec:
    problem, fields = variant.problem, variant.fields
    if isinstance(problem, Market):  # it has a horizon, a history and reports of its own
        return MarketRunSpec.compared(problem, str(spec), seed=experiment.seed, measures=measures)
    if spec.name in OWN:
        raise InvalidInput(f"{spec.name} plays in markets only; name its problems.")
    return RunSpec(
        problem,
        _given(spec, variant.given),
        fields["horizon"],
        seed=experiment.seed,
        reports=Reports(fields["bucket"], fields["report_lag"]),
        checkpoints=_checkpoints(experiment, fields["horizon"]),
        measures=measures,
        order=fields["order"],
        status_quo=fields["status_quo"],
        history=fields["history"],
    )


def _problems(experiment: Experiment) -> Iterator[Variant]:
    """Every problem of every entry, with each value of its lists."""
    for place, entry in enumerate(experiment.problems):
        _check_given(entry.given, place)
        if entry.market is not None:
            for values in _product(entry.market, "problems", place, "market"):
                with placed("problems", place, "market"):
                    market = market_of(values)
                name = _named(entry.name or str(market), entry.market if entry.name else {}, values)
                yield Variant(place, name, market)
            continue
        written = {key: getattr(entry, key) for key in FIELDS}
        written |= {
            key: getattr(experiment, key)
            for key in FIELDS
            if written[key] is None and hasattr(experiment, key)
        }
        for name, problem in _written_problems(place, entry):
            for fields in _product(written, "problems", place):
                for given in _product(entry.given, "problems", place, "given"):
                    named = _named(_named(name, written, fields), entry.given, given)
                    yield Variant(place, named, problem, fields, given)


def _product(written: Mapping[str, Any], *location: str | int) -> Iterator[dict[str, Any]]:
    """Each combination of values, where those that are lists take each of theirs."""
    for key, value in written.items():
        if value == []:
            raise Misplaced((*location, key), "the list is empty; give at least one value.")
    lists = [value if isinstance(value, list) else [value] for value in written.values()]
    for values in itertools.product(*lists):
        yield dict(zip(written, values, strict=True))


def _named(name: str, written: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """A name with the values of what is varied."""
    varied = [key for key, value in written.items() if isinstance(value, list) and len(value) > 1]
    return ", ".join([name, *(f"{key}={values[key]}" for key in varied)])


def _written_problems(place: int, entry: ProblemEntry) -> Iterator[tuple[str, Problem | str]]:
    """The problems that arms and delays make, by name."""
    if entry.drawn_by is not None:
        yield entry.name or entry.drawn_by, entry.drawn_by
        return
    arms = entry.arms or []
    many_arms: list[Any] = list(arms) if isinstance(arms[0] if arms else None, list) else [arms]
    for key, given in (("arms", entry.arms), ("delay", entry.delay)):
        if given == []:
            raise Misplaced(("problems", place, key), "the list is empty; give at least one.")
    if entry.delay_per_arm is not None:
        many_delays = [tuple(entry.delay_per_arm)]
    else:
        texts = entry.delay if isinstance(entry.delay, list) else [str(entry.delay)]
        many_delays = [(text,) for text in texts]
    for means, delays in itertools.product(many_arms, many_delays):
        parts = [entry.name] if entry.name else []
        if len(many_arms) > 1 or not entry.name:
            shown = (mean if isinstance(mean, str) else f"{mean:g}" for mean in means)
            parts.append("arms " + ", ".join(shown))
        if len(many_delays) > 1 or not entry.name:
            parts.append("; ".join(delays))
        yield ", ".join(parts), _problem(place, entry, means, delays)


def _problem(place: int, entry: ProblemEntry, means: list[Any], delays: tuple[str, ...]) -> Problem:
    key = "delay" if entry.delay_per_arm is None else "delay_per_arm"
    with placed("problems", place, key):
        parsed = [parse_delay(text) for text in delays]
        if entry.delay_per_arm is not None and len(parsed) != len(means):
            raise InvalidInput(f"give one delay for each of the {len(means)} arms.")
    data: dict[str, Any] = {"arms": means, "delay": parsed[0] if len(parsed) == 1 else parsed}
    with placed("problems", place, "arms"):
        problem: Problem = problem_from(data)
    for key in ("calendar", "background", "reporting"):
        if (part := getattr(entry, key)) is not None:
            data[key] = part
            with placed("problems", place, key):
                problem = problem_from(data)
    return problem


def _policies(experiment: Experiment) -> Iterator[tuple[int, str, PolicySpec]]:
    for place, entry in enumerate(experiment.policies):
        with placed("policies", place, "policy"):
            spec = PolicySpec.parse(entry.policy)
        several = [
            key
            for key, value in entry.parameters.items()
            if isinstance(value, list) and len(value) > 1
        ]
        for key in entry.parameters:
            if key in spec.parameters:
                raise Misplaced(("policies", place, "parameters", key), f"{key} is given twice.")
        for chosen in _product(entry.parameters, "policies", place, "parameters"):
            name = entry.name or entry.policy
            if several:
                name += " (" + ", ".join(f"{key}={chosen[key]}" for key in several) + ")"
            yield place, name, spec.adding(chosen)


def _check_given(given: Mapping[str, object], place: int) -> None:
    if not given:
        return
    known = {key for name in registry.available() for key in registry.accepted_parameters(name)}
    for key in given:
        with placed("problems", place, "given", key):
            known_name(key, known, "parameter of a policy")


def _given(spec: PolicySpec, given: Mapping[str, Value]) -> PolicySpec:
    """The policy with what the problem says it is given, where it takes that and has no own."""
    accepted = spec.accepted if given and spec.sees == "totals" else []
    return spec.adding(
        {key: given[key] for key in given if key in accepted and key not in spec.parameters}
    )


def _measures(experiment: Experiment) -> tuple[str, ...]:
    with placed("measures"):
        measures_of(experiment.measures)
    more = [text for text in experiment.measures if text not in USUAL_MEASURES]
    return (*USUAL_MEASURES, *more)


def _checkpoints(experiment: Experiment, horizon: int) -> tuple[int, ...]:
    asked = experiment.checkpoints
    if isinstance(asked, list):
        if not asked or max(asked) > horizon:
            raise Misplaced(("checkpoints",), f"checkpoints lie between 1 and {horizon}.")
        return tuple(asked)
    return () if asked == 1 else default_checkpoints(horizon, asked, max(asked // 4, 2))


def _refuse_repeated(names: list[str], key: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise Misplaced(
                (key,), f"two of them are called {name!r}; give each a name of its own."
            )


def _check_names(experiment: Experiment, settings: Sequence[AnySetting]) -> None:
    problems = {setting.problem_name for setting in settings}
    policies = {setting.policy_name for setting in settings}
    named = {entry.name for entry in experiment.problems if entry.name} | problems
    for place, entry in enumerate(experiment.policies):
        for name in entry.problems or []:
            with placed("policies", place, "problems"):
                known_name(name, named, "problem")
    for kind, known in (("policy", policies), ("problem", problems)):
        asked = getattr(experiment.ratio, kind, None)
        with placed("ratio", kind):
            if asked is not None:
                known_name(asked, known, kind)
