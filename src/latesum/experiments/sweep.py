# ruff: noqa: E402
"""Sweeps: a grid of problems and policies, from a TOML file into a folder of results.

What is wrong in a file is named by its key path. What is in the folder already is not run again.
"""

from __future__ import annotations

from latesum._extras import need

need("experiments")  # before anything of it is imported

import contextlib
import difflib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from latesum._checks import InvalidInput, known_name
from latesum.delays import parse as parse_delay
from latesum.experiments.comparison import default_checkpoints
from latesum.experiments.engine import RunOptions, run
from latesum.experiments.loop import Reports
from latesum.experiments.markets.players import OWN
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.measures import measures_of
from latesum.experiments.results import Results
from latesum.experiments.spec import USUAL_MEASURES, RunSpec
from latesum.experiments.store import RunStore
from latesum.policies import PolicySpec, registry
from latesum.simulation import Problem
from latesum.simulation.market import Market, market_of
from latesum.simulation.problem_data import problem_from

Value = bool | int | float | str
Rounds = Annotated[int, Field(ge=1)]
Lag = Annotated[int, Field(ge=0)]
Order = Literal["listed", "drawn"]
Arm = float | str
Base = Literal["policy", "problem"]
_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)

#: Fields of a run that a list varies, beside those of the problem itself.
FIELDS = ("horizon", "bucket", "report_lag", "order", "status_quo", "history")
#: Parts of a problem that go beyond arms and delays.
_PARTS = ("parts", "calendar", "background", "reporting")
#: A place in an experiment: the keys and numbers that lead to it.
Location = tuple[str | int, ...]


class ProblemEntry(BaseModel):
    """A problem, or a grid of them: a field that has a list takes each of its values."""

    model_config = _STRICT

    #: Means, or rewards as text such as "beta(6, 4)".
    arms: list[Arm] | list[list[Arm]] | None = None
    delay: str | list[str] | None = None
    delay_per_arm: list[str] | None = None
    #: In place of arms and delay: a function that draws another problem for every run.
    drawn_by: str | None = None
    #: In place of arms and delay: a market, by what `latesum.simulation.market.Market` takes. Its
    #: horizon counts its buckets, and is 'buckets' there.
    market: dict[str, Any] | None = None
    #: Rewards that arrive in parts: what `CompositeProblem` takes.
    parts: int | Literal["spread"] | None = None
    #: What `Calendar` (or `Calendar.weekly`), `Background` and `Reporting` take.
    calendar: dict[str, Any] | None = None
    background: dict[str, Any] | None = None
    reporting: dict[str, Any] | None = None
    name: str | None = None
    #: What was played until the start: an arm, a mean, or a reward as text; and for how many rounds
    #: before the start its totals are known to policies.
    status_quo: int | float | str | list[int | float | str] | None = None
    history: Lag | list[Lag] = 0
    #: What policies are given of the delay, where that is not what is true of it.
    given: dict[str, Value | list[Value]] = {}
    #: Where these are not those of the whole experiment.
    horizon: Rounds | list[Rounds] | None = None
    bucket: Rounds | list[Rounds] | None = None
    report_lag: Lag | list[Lag] | None = None
    order: Order | list[Order] | None = None

    @model_validator(mode="after")
    def _one_kind_of_problem(self) -> ProblemEntry:
        said = self.model_fields_set - {"name"}
        if self.market is not None:
            if more := sorted(said - {"market"}):
                raise ValueError(f"a 'market' says all of this itself: leave out {', '.join(more)}")
        elif self.drawn_by is not None:
            if said & {"arms", "delay", "delay_per_arm", *_PARTS}:
                raise ValueError(
                    "a problem is either 'drawn_by' a function or has 'arms' and so on"
                )
        elif self.arms is None:
            raise ValueError("a problem has 'arms' (or is 'drawn_by' a function, or a 'market')")
        elif (self.delay is None) == (self.delay_per_arm is None):
            raise ValueError("a problem has either 'delay' or 'delay_per_arm'")
        return self


class PolicyEntry(BaseModel):
    """A policy, or a grid of them: parameters given as lists."""

    model_config = _STRICT

    policy: str
    name: str | None = None
    parameters: dict[str, Value | list[Value]] = {}
    replications: Rounds | None = None
    #: The names of the problems that it is run on; all of them without.
    problems: list[str] | None = None


class Experiment(BaseModel):
    """What a sweep file says."""

    model_config = _STRICT

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    title: str = ""
    notes: str = ""
    horizon: Rounds | list[Rounds]
    replications: Rounds
    seed: Annotated[int, Field(ge=0)] = 1
    #: The number of rounds to keep the regret at, or which.
    checkpoints: Rounds | list[Rounds] = 200
    bucket: Rounds | list[Rounds] = 1
    report_lag: Lag | list[Lag] = 0
    #: Whether arms stand as they are listed, or in an order that every run draws.
    order: Order | list[Order] = "listed"
    #: What is kept of every run beside regret, ended_on_best and switches.
    measures: list[str] = []
    problems: Annotated[list[ProblemEntry], Field(min_length=1)]
    policies: Annotated[list[PolicyEntry], Field(min_length=1)]
    #: Regret over that of another policy, or over that of the same policy on another problem.
    ratio: Annotated[dict[Base, str], Field(min_length=1, max_length=1)] | None = None

    def with_replications(self, number: int) -> Experiment:
        """The same experiment with `number` replications of every policy."""
        policies = [entry.model_copy(update={"replications": None}) for entry in self.policies]
        return self.model_copy(update={"replications": number, "policies": policies})


# From a file.


def load(path: str | Path) -> Experiment:
    """Read and check the experiment in a TOML file."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise InvalidInput(f"{path} must be a TOML file, whose name ends with .toml.")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"cannot read {path}: {error}.") from None
    return parse(text, str(path), default_name=path.stem)


def parse(text: str, source: str, *, default_name: str | None = None) -> Experiment:
    """Read and check an experiment; `source` names it in errors.

    >>> parse("horizon = 10", "small.toml", default_name="small")
    Traceback (most recent call last):
    ...
    latesum.errors.InvalidInput: small.toml: replications: this is missing; add it.
    small.toml: problems: this is missing; add it.
    small.toml: policies: this is missing; add it.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not TOML: {error}.") from None
    if default_name is not None:
        content.setdefault("name", default_name)
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as refusal:
        raise InvalidInput(_sentences(refusal, source)) from None
    try:
        expand(experiment)
    except InvalidInput as refusal:
        raise InvalidInput(f"{source}: {refusal}") from None
    return experiment


def _sentences(refusal: ValidationError, source: str) -> str:
    """One line for each thing that is wrong, misspelt keys first."""
    errors = sorted(refusal.errors(), key=lambda error: error["type"] != "extra_forbidden")
    sentences: dict[Location, str] = {}
    meant: set[Location] = set()  # what misspelt keys stand for is not missing as well
    for error in errors:
        location = _real_location(error["loc"])
        if error["type"] == "extra_forbidden":
            meant.update((*location[:-1], name) for name in _nearest(location))
        if location in sentences or (error["type"] == "missing" and location in meant):
            continue  # a value that may be of several types is refused once for each of them
        if any(location == (*misspelt[:-1],) for misspelt in sentences):
            continue
        place = f"{source}: {where(location)}" if location else source
        sentences[location] = f"{place}: {_remedy(error, location)}"
    return "\n".join(sentences.values())


def _real_location(location: tuple[int | str, ...]) -> Location:
    """Without the names of types that pydantic adds where several are possible."""
    types = re.compile(r"list\[|list$|constrained-|literal\[|(str|int|float|bool)$")
    return tuple(part for part in location if isinstance(part, int) or not types.match(part))


def _known(location: Location) -> list[str]:
    """The keys that there are beside the last one of a location."""
    models: dict[str, type[BaseModel]]
    models = {"problems": ProblemEntry, "policies": PolicyEntry}
    names = [part for part in location[:-1] if isinstance(part, str)]
    return sorted(models.get(names[-1] if names else "", Experiment).model_fields)


def _nearest(location: Location) -> list[str]:
    return difflib.get_close_matches(str(location[-1]), _known(location), n=1, cutoff=0.4)


def _remedy(error: Any, location: Location) -> str:
    if error["type"] == "extra_forbidden":
        hint = "".join(f"did you mean {name!r}? " for name in _nearest(location))
        return f"there is no key {location[-1]!r}; {hint}Known: {', '.join(_known(location))}."
    if error["type"] == "missing":
        return "this is missing; add it."
    own = error["type"] == "value_error"
    message = str(error["ctx"]["error"] if own else error["msg"])
    message = message[:1].lower() + message[1:]
    shown = repr(error["input"])
    return f"{message}, not {shown}." if len(shown) < 60 else f"{message}."


def where(location: Location) -> str:
    """A location as text.

    >>> where(("problems", 0, "delay"))
    'problems[0].delay'
    """
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


@contextlib.contextmanager
def _at(*location: str | int, about: str = "") -> Iterator[None]:
    """What is refused within is refused with its place, the innermost."""
    try:
        yield
    except InvalidInput as refusal:
        if refusal.field:
            raise
        place = where(location)
        raise InvalidInput(f"{place}: {about}{refusal}", field=place) from None


# The grid.


def expand(experiment: Experiment) -> tuple[list[RunSpec | MarketRunSpec], list[int]]:
    """Each policy on each problem, with how often it is run; all are checked.

    >>> entry = {"arms": [0.2, 0.8], "delay": ["constant(0)", "uniform(0, 10)"]}
    >>> given = {"problems": [entry], "policies": [{"policy": "odaaf"}]}
    >>> specs, counts = expand(Experiment(name="two", horizon=1000, replications=3, **given))
    >>> [spec.problem_name for spec in specs], counts
    (['arms 0.2, 0.8, constant(0)', 'arms 0.2, 0.8, uniform(0, 10)'], [3, 3])
    """
    problems = [
        (place, *each)
        for place, entry in enumerate(experiment.problems)
        for each in _problems(experiment, place, entry)
    ]
    policies = list(_policies(experiment))
    for key, names in (
        ("problems", [name for _, name, *_ in problems]),
        ("policies", [name for _, name, _ in policies]),
    ):
        for name in names:
            with _at(key):
                if names.count(name) > 1:
                    raise InvalidInput(
                        f"two of them are called {name!r}; give each a name of its own."
                    )
    with _at("measures"):
        measures_of(experiment.measures)
    specs: list[RunSpec | MarketRunSpec] = []
    counts = []
    for place, policy_name, policy in policies:
        entry = experiment.policies[place]
        for problem_place, name, problem, fields, given in problems:
            called = {name, experiment.problems[problem_place].name}
            if entry.problems is not None and not called & {*entry.problems}:
                continue
            with _at("policies", place, "policy", about=f"for the problem {name!r}: "):
                spec = _spec(experiment, problem, _with_given(policy, given), fields)
                spec = replace(spec, problem_name=name, policy_name=policy_name)
                spec.check()
            specs.append(spec)
            counts.append(entry.replications or experiment.replications)
    _check_references(experiment, specs)
    return specs, counts


def _spec(
    experiment: Experiment,
    problem: Problem | Market | str,
    policy: PolicySpec,
    fields: Mapping[str, Any],
) -> RunSpec | MarketRunSpec:
    measures = tuple(dict.fromkeys([*USUAL_MEASURES, *experiment.measures]))
    if isinstance(problem, Market):  # it has a horizon, a history and reports of its own
        return MarketRunSpec.compared(problem, str(policy), seed=experiment.seed, measures=measures)
    if policy.name in OWN:
        raise InvalidInput(f"{policy.name} plays in markets only; name its problems.")
    return RunSpec(
        problem,
        policy,
        fields["horizon"],
        seed=experiment.seed,
        reports=Reports(fields["bucket"], fields["report_lag"]),
        checkpoints=_checkpoints(experiment, fields["horizon"]),
        measures=measures,
        order=fields["order"],
        status_quo=fields["status_quo"],
        history=fields["history"],
    )


#: The name of a problem, what is played, the values of `FIELDS`, and what policies are given.
_Named = tuple[str, Problem | Market | str, dict[str, Any], dict[str, Value]]


def _problems(experiment: Experiment, place: int, entry: ProblemEntry) -> Iterator[_Named]:
    """Every problem of an entry, with each value of its lists."""
    if entry.market is not None:
        for values in _product(entry.market, "problems", place, "market"):
            with _at("problems", place, "market"):
                market = market_of(values)
            name = _named(entry.name, entry.market, values) if entry.name else str(market)
            yield name, market, {}, {}
        return
    if entry.given:
        known = {key for name in registry.available() for key in registry.accepted_parameters(name)}
        for key in entry.given:
            with _at("problems", place, "given", key):
                known_name(key, known, "parameter of a policy")
    written = {key: getattr(entry, key) for key in FIELDS}
    for key in ("horizon", "bucket", "report_lag", "order"):
        if written[key] is None:
            written[key] = getattr(experiment, key)
    for name, problem in _written_problems(place, entry):
        for fields in _product(written, "problems", place):
            for given in _product(entry.given, "problems", place, "given"):
                varied = _named(_named(name, written, fields), entry.given, given)
                yield varied, problem, fields, given


def _product(written: Mapping[str, Any], *location: str | int) -> Iterator[dict[str, Any]]:
    """Each combination of values, where those that are lists take each of theirs."""
    for key, value in written.items():
        with _at(*location, key):
            if value == []:
                raise InvalidInput("the list is empty; give at least one value.")
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
    arms: Any = entry.arms if entry.arms and isinstance(entry.arms[0], list) else [entry.arms]
    delays = entry.delay if entry.delay_per_arm is None else [entry.delay_per_arm]
    for chosen in _product({"arms": entry.arms and arms, "delay": delays}, "problems", place):
        means, delay = chosen["arms"], chosen["delay"]
        texts = delay if isinstance(delay, list) else [delay]
        parts = [entry.name] if entry.name else []
        if len(arms) > 1 or not entry.name:
            shown = (mean if isinstance(mean, str) else f"{mean:g}" for mean in means)
            parts.append("arms " + ", ".join(shown))
        if (isinstance(entry.delay, list) and len(entry.delay) > 1) or not entry.name:
            parts.append("; ".join(texts))
        yield ", ".join(parts), _problem(place, entry, means, texts)


def _problem(place: int, entry: ProblemEntry, means: list[Any], texts: list[str]) -> Problem:
    with _at("problems", place, "delay" if entry.delay_per_arm is None else "delay_per_arm"):
        delays = [parse_delay(text) for text in texts]
        if entry.delay_per_arm is not None and len(delays) != len(means):
            raise InvalidInput(f"give one delay for each of the {len(means)} arms.")
    data: dict[str, Any] = {"arms": means, "delay": delays[0] if len(delays) == 1 else delays}
    with _at("problems", place, "arms"):
        problem: Problem = problem_from(data)
    for key in _PARTS:
        if (part := getattr(entry, key)) is not None:
            data[key] = part
            with _at("problems", place, key):
                problem = problem_from(data)
    return problem


def _policies(experiment: Experiment) -> Iterator[tuple[int, str, PolicySpec]]:
    for place, entry in enumerate(experiment.policies):
        with _at("policies", place, "policy"):
            spec = PolicySpec.parse(entry.policy)
        for key in entry.parameters:
            with _at("policies", place, "parameters", key):
                if key in spec.parameters:
                    raise InvalidInput(f"{key} is given twice.")
        for chosen in _product(entry.parameters, "policies", place, "parameters"):
            name, varied = entry.name or entry.policy, _named("", entry.parameters, chosen)
            yield place, name + (f" ({varied[2:]})" if varied else ""), spec.adding(chosen)


def _with_given(policy: PolicySpec, given: Mapping[str, Value]) -> PolicySpec:
    """The policy with what the problem says it is given, where it takes that and has no own."""
    accepted = policy.accepted if given and policy.sees == "totals" else []
    more = {key: given[key] for key in given if key in accepted and key not in policy.parameters}
    return policy.adding(more) if more else policy


def _checkpoints(experiment: Experiment, horizon: int) -> tuple[int, ...]:
    asked = experiment.checkpoints
    if isinstance(asked, list):
        with _at("checkpoints"):
            if not asked or max(asked) > horizon:
                raise InvalidInput(f"checkpoints lie between 1 and {horizon}.")
        return tuple(asked)
    return () if asked == 1 else default_checkpoints(horizon, asked, max(asked // 4, 2))


def _check_references(experiment: Experiment, specs: list[RunSpec | MarketRunSpec]) -> None:
    """Refuse names of problems and policies that there are not."""
    problems = {spec.problem_name for spec in specs}
    written = {entry.name for entry in experiment.problems if entry.name} | problems
    for place, entry in enumerate(experiment.policies):
        for name in entry.problems or []:
            with _at("policies", place, "problems"):
                known_name(name, written, "problem")
    for kind, name in (experiment.ratio or {}).items():
        with _at("ratio", kind):
            policies = {spec.policy_name for spec in specs}
            known_name(name, policies if kind == "policy" else problems, kind)


# Runs.


def run_sweep(
    experiment: Experiment,
    folder: str | Path,
    *,
    source: str | Path | None = None,
    tables: str | None = None,
    **how: Unpack[RunOptions],
) -> Results:
    """Run what is missing of an experiment, merge its tables, and return all of it.

    Args:
        experiment: What to run, such as `load` gives.
        folder: Where results are kept.
        source: The file that the experiment comes from. Two files of one name do not share tables.
        tables: The folder for the tables, within `folder`; that of the experiment's name without.
        how: Where and how runs are made, as `latesum.experiments.engine.run` takes it.

    >>> import tempfile
    >>> experiment = Experiment(
    ...     name="small", horizon=1000, replications=3,
    ...     problems=[{"arms": [0.2, 0.8], "delay": "uniform(0, 10)"}],
    ...     policies=[{"policy": "odaaf"}, {"policy": "oracle"}],
    ... )
    >>> run_sweep(experiment, tempfile.mkdtemp())["oracle"].summary()[0].mean
    0.0
    """
    specs, counts = expand(experiment)
    store, tables = RunStore(folder), tables or experiment.name
    described = experiment.model_dump(exclude_defaults=True)
    place = {} if source is None else {"source": str(Path(source).resolve())}
    store.claim(tables, specs, {"experiment": described, **place})
    how["store"] = store
    results = run(specs, counts, what=experiment.name, **how)
    store.merge(tables, results, described)
    return replace(results, base=next(iter((experiment.ratio or {}).values()), None))
