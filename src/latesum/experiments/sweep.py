# ruff: noqa: E402
"""Sweeps: a grid of problems and policies, from a TOML file into a folder of results.

What is wrong in a file is named by its key path. What is in the folder already is not run again.
"""

from __future__ import annotations

from latesum._extras import need

need("experiments")  # before anything of it is imported

import contextlib
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from latesum._checks import InvalidInput, known_name
from latesum.experiments.engine import RunOptions, default_checkpoints, run
from latesum.experiments.loop import Reports
from latesum.experiments.markets.players import OWN
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.experiments.results import Per, Results, check_names
from latesum.experiments.run import measures_of
from latesum.experiments.spec import USUAL_MEASURES, Order, RunSpec
from latesum.experiments.store import RunStore
from latesum.policies import PolicySpec, registry
from latesum.simulation import Problem
from latesum.simulation.field import problem_from
from latesum.simulation.market import market_of

Value = bool | int | float | str
Rounds = Annotated[int, Field(ge=1)]
Lag = Annotated[int, Field(ge=0)]
Arm = float | str
Base = Literal["policy", "problem"]
AnySpec = RunSpec | MarketRunSpec

#: What `Reports` takes.
REPORTS = ("bucket", "report_lag", "missing", "final_after", "first_share")
#: Fields of a run that a list varies, beside those of the problem itself.
FIELDS = ("horizon", *REPORTS, "order", "status_quo", "history")
#: Parts of a problem that go beyond arms and delays.
_PARTS = ("parts", "calendar", "background")


class _Written(BaseModel):
    """Keys and values as they are written: of the right type, and none that is not known."""

    model_config = ConfigDict(frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            known_name(key, cls.model_fields, "key")
        return data


class ProblemEntry(_Written):
    """A problem, or a grid of them: a field that has a list takes each of its values."""

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
    #: What `Calendar` (or `Calendar.weekly`) takes, and what `FieldProblem` has beside it.
    calendar: dict[str, Any] | None = None
    background: float | None = None
    name: str | None = None
    #: What was played until the start: an arm, a mean, or a reward as text; and for how many rounds
    #: before the start its totals are known to policies.
    status_quo: int | float | str | list[int | float | str] | None = None
    history: Lag | list[Lag] = 0
    #: Totals that never come, or are restated: what `Reports` takes.
    missing: Annotated[float, Field(ge=0, le=1)] = 0.0
    final_after: Lag = 0
    first_share: float = 1.0
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


class PolicyEntry(_Written):
    """A policy, or a grid of them: parameters given as lists."""

    policy: str
    name: str | None = None
    parameters: dict[str, Value | list[Value]] = {}
    replications: Rounds | None = None
    #: The names of the problems that it is run on; all of them without.
    problems: list[str] | None = None


class Experiment(_Written):
    """What a sweep file says."""

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
    latesum.errors.InvalidInput: small.toml: replications: Field required.
    small.toml: problems: Field required.
    small.toml: policies: Field required.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{source} is not TOML: {error}.") from None
    if default_name is not None:
        content.setdefault("name", default_name)
    try:
        experiment = Experiment.model_validate(content)
        expand(experiment)
    except ValidationError as refusal:
        said: dict[str, str] = {}  # what may be of several types is refused once for each of them
        for each in refusal.errors():
            message = each["msg"].removeprefix("Value error, ").rstrip(".")
            place = _key_path(each["loc"])
            said.setdefault(place, f"{source}: {place}{': ' * bool(place)}{message}.")
        raise InvalidInput("\n".join(said.values())) from None
    except InvalidInput as refusal:
        raise InvalidInput(f"{source}: {refusal}") from None
    return experiment


def _key_path(location: tuple[int | str, ...]) -> str:
    """A place such as problems[0].delay, without the names of types that pydantic puts there."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[a-z_]+", part) and part not in ("str", "int", "float", "bool"):
            text += f".{part}" if text else part
    return text


@contextlib.contextmanager
def _at(place: str) -> Iterator[None]:
    """What is refused within is refused with its place."""
    try:
        yield
    except InvalidInput as refusal:
        raise InvalidInput(f"{place}: {refusal}") from None


# The grid.


def expand(experiment: Experiment) -> tuple[list[AnySpec], list[int]]:
    """Each policy on each problem, with how often it is run; all are checked.

    >>> entry = {"arms": [0.2, 0.8], "delay": ["constant(0)", "uniform(0, 10)"]}
    >>> given = {"problems": [entry], "policies": [{"policy": "odaaf"}]}
    >>> specs, counts = expand(Experiment(name="two", horizon=1000, replications=3, **given))
    >>> [spec.problem_name for spec in specs], counts
    (['arms 0.2, 0.8, constant(0)', 'arms 0.2, 0.8, uniform(0, 10)'], [3, 3])
    """
    with _at("measures"):
        measures_of(experiment.measures)
    problems: list[tuple[str | None, AnySpec, dict[str, Value]]] = []
    for place, entry in enumerate(experiment.problems):
        with _at(f"problems[{place}]"):
            problems += _problems(experiment, entry)
    named = {each for name, spec, _ in problems for each in (name, spec.problem_name) if each}
    specs: list[AnySpec] = []
    counts = []
    for place, played in enumerate(experiment.policies):
        with _at(f"policies[{place}]"):
            only = {known_name(name, named, "problem") for name in played.problems or ()}
            policy = PolicySpec.parse(played.policy)
            grid = list(_grid(played.parameters))
            for (varied, chosen), (entry_name, spec, given) in itertools.product(grid, problems):
                if played.problems is None or only & {entry_name, spec.problem_name}:
                    name = (played.name or played.policy) + (f" ({varied[2:]})" if varied else "")
                    with _at(f"for the problem {spec.problem_name!r}"):
                        spec = _with_policy(spec, policy.adding(chosen), given)
                        spec = replace(spec, policy_name=name)
                        spec.check()
                    specs.append(spec)
                    counts.append(played.replications or experiment.replications)
    check_names(specs)
    for kind, name in (experiment.ratio or {}).items():
        with _at(f"ratio.{kind}"):
            known_name(name, {getattr(spec, f"{kind}_name") for spec in specs}, kind)
    return specs, counts


def _with_policy(spec: AnySpec, policy: PolicySpec, given: Mapping[str, Value]) -> AnySpec:
    """A policy on a problem, with what that says it is given where it takes it and has no own."""
    if isinstance(spec, MarketRunSpec):
        return replace(spec, policy=str(policy))
    if policy.name in OWN:
        raise InvalidInput(f"{policy.name} plays in markets only; name its problems.")
    if given and policy.sees == "totals":
        taken = set(policy.accepted) - set(policy.parameters)
        policy = policy.adding({key: given[key] for key in given if key in taken})
    return replace(spec, policy=policy)


def _problems(
    experiment: Experiment, entry: ProblemEntry
) -> Iterator[tuple[str | None, AnySpec, dict[str, Value]]]:
    """The name of an entry, each of its problems, and what policies are given there.

    A problem is a specification whose policy is still to be said.
    """
    measures = tuple(dict.fromkeys([*USUAL_MEASURES, *experiment.measures]))
    shared: dict[str, Any] = {"seed": experiment.seed, "measures": measures}
    if entry.market is not None:  # it has a horizon, a history and reports of its own
        for varied, values in _grid(entry.market):
            market = market_of(values)
            shared["problem_name"] = entry.name + varied if entry.name else str(market)
            yield entry.name, MarketRunSpec(market, OWN[0], **shared), {}
        return
    if entry.given:
        known = {key for name in registry.available() for key in registry.accepted_parameters(name)}
        for key in entry.given:
            known_name(key, known, "parameter of a policy")
    written = {key: getattr(entry, key) for key in FIELDS}
    for key, value in written.items():
        if value is None and key != "status_quo":
            written[key] = getattr(experiment, key)
    for name, problem in _written_problems(entry):
        for varied, fields in _grid(written):
            horizon, points = fields.pop("horizon"), experiment.checkpoints
            reports = Reports(*(fields.pop(key) for key in REPORTS))
            if points == 1:
                points = []
            elif not isinstance(points, list):
                points = [*default_checkpoints(horizon, points, max(points // 4, 2))]
            for given_varied, given in _grid(entry.given):
                more = {**shared, **fields, "problem_name": name + varied + given_varied}
                more |= {"reports": reports, "checkpoints": tuple(points)}
                yield entry.name, RunSpec(problem, PolicySpec("oracle"), horizon, **more), given


def _grid(written: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each combination of values, where those that are lists take each of theirs.

    With the values of what is varied, for a name.
    """
    if empty := [key for key, value in written.items() if value == []]:
        raise InvalidInput(f"{empty[0]}: the list is empty; give at least one value.")
    lists = {key: value if isinstance(value, list) else [value] for key, value in written.items()}
    for values in itertools.product(*lists.values()):
        chosen = dict(zip(lists, values, strict=True))
        yield "".join(f", {key}={chosen[key]}" for key in lists if len(lists[key]) > 1), chosen


def _written_problems(entry: ProblemEntry) -> Iterator[tuple[str, Problem | str]]:
    """The problems that arms and delays make, by name."""
    if entry.drawn_by is not None:
        yield entry.name or entry.drawn_by, entry.drawn_by
        return
    arms: Any = entry.arms if entry.arms and isinstance(entry.arms[0], list) else [entry.arms]
    delays = entry.delay if entry.delay_per_arm is None else [entry.delay_per_arm]
    parts = {key: getattr(entry, key) for key in _PARTS if getattr(entry, key) is not None}
    for _, chosen in _grid({"arms": entry.arms and arms, "delay": delays}):
        means, delay = chosen["arms"], chosen["delay"]
        names = [entry.name] if entry.name else []
        if len(arms) > 1 or not entry.name:
            shown = (mean if isinstance(mean, str) else f"{mean:g}" for mean in means)
            names.append("arms " + ", ".join(shown))
        if (isinstance(entry.delay, list) and len(entry.delay) > 1) or not entry.name:
            names.append("; ".join(delay) if isinstance(delay, list) else delay)
        yield ", ".join(names), problem_from({"arms": means, "delay": delay, **parts})


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
        source: The file that the experiment comes from. Two files of one name do not share tables.
        tables: The folder for the tables, within `folder`; that of the experiment's name without.

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
    kinds: tuple[Per, ...] = ("run", "checkpoint")
    store.merge(tables, {f"{per}s": results.to_frame(per=per) for per in kinds}, described)
    return replace(results, base=next(iter((experiment.ratio or {}).values()), None))
