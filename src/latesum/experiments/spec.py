"""A setting: all that a run depends on. Its digest names its results.

Run number i of a setting with seed s draws from `SeedSequence(s)`'s i-th child, wherever
and in whatever order it is made, and so under every policy and on every problem.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._plugins import Registry, signature_of
from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.experiments.assumptions import broken_assumptions
from latesum.experiments.loop import Loop, Reports
from latesum.experiments.results import Described
from latesum.experiments.run import BaselineRun, Run
from latesum.policies import Policy, PolicySpec
from latesum.simulation import FieldProblem, Problem, Reporting, Reward
from latesum.simulation.problem_data import plain_part, problem_data, problem_from
from latesum.simulation.rewards import reward_text

Integers = NDArray[np.int64]
#: What can be run: policies that see totals, and attributed baselines.
AnyPolicy = Policy | AttributedPolicy

#: Part of every digest: a change in how runs are drawn or kept makes old results unusable.
RUNS_VERSION = 5
#: Functions that draw a problem from a generator.
LAWS = Registry("law of problems", "latesum.problems")
Order = Literal["listed", "drawn"]
#: What is kept of a run unless a setting says otherwise.
USUAL_MEASURES = ("regret", "ended_on_best", "switches")
#: The children of a run's seed that its parts draw from.
WORLD, POLICY, REPORTS, ORDER, PROBLEM = range(5)
_KEPT_ORDERS = 256


class DrawnProblem(NamedTuple):
    """What a law may draw for a run: a problem with its horizon and its bucket."""

    problem: Problem
    horizon: int
    bucket: int = 1


class AnySetting(Described, Protocol):
    """What the engine must know of a setting, whatever is played in it."""

    @property
    def digest(self) -> str:
        """The same for two settings whose runs of one number are the same."""

    @property
    def measures(self) -> tuple[str, ...]:
        """What is kept of a run."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values, without labels."""

    def check(self) -> None:
        """Refuse now what a run would refuse."""

    def run(self, number: int) -> Any:
        """One run: it depends on the setting and its number, and on nothing else."""

    def shortened(self, rounds: int) -> AnySetting:
        """The same cut off, for measuring how long a run takes."""


@dataclass(frozen=True, eq=False)
class RunSpec:
    """A policy on a problem, how it is played, and what is kept of a run.

    Args:
        problem: What is played; or as text, "package.module:function", a function of a generator
            that draws another problem for every run, or a `DrawnProblem`, whose horizon and
            bucket are then
            those of the run.
        policy: What decides. What its spec does not say is filled in with what is true of the
            problem.
        horizon: The number of rounds.
        seed: The seed, or the path to one of its children.
        reports: How totals become known.
        checkpoints: The rounds at which regret is kept; the horizon is always one.
        measures: What is kept of a run.
        order: Whether the arms stand as they are "listed", or in an order that is "drawn" for every
            run, the same under all policies.
        status_quo: What was played until the start and is still arriving: an arm, or a reward (or its
            mean) that is no arm.
        history: For how many rounds of it the totals are known, and told to the policy in parts
            of a
            bucket.
        told: Factors on what the policy is told; with None it is told only what ran before.
        problem_name: What the problem is called in tables; no part of the digest.
        policy_name: What the policy is called in tables; no part of the digest.

    >>> setting = RunSpec(Problem([0.2, 0.8], "uniform(0, 9)"), PolicySpec.parse("odaaf"), 5_000)
    >>> setting.run(0)
    Run(5,000 rounds, 3 blocks, regret 234.6)
    >>> RunSpec.from_json(setting.to_json()).digest == setting.digest
    True
    """

    problem: Problem | str
    policy: PolicySpec
    horizon: int
    _: KW_ONLY
    seed: int | tuple[int, ...] = 1
    reports: Reports = field(default_factory=Reports)
    checkpoints: tuple[int, ...] = ()
    measures: tuple[str, ...] = USUAL_MEASURES
    order: Order = "listed"
    status_quo: Reward | float | str | None = None
    history: int = 0
    told: Mapping[str, float] | None = field(default_factory=dict)
    problem_name: str = ""
    policy_name: str = ""
    #: Whether a policy says nothing when it is built: it said it when it was first built.
    _quietly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", whole_number(self.horizon, "the horizon", at_least=1))
        for part in self.seed if isinstance(self.seed, tuple) else (self.seed,):
            whole_number(part, "the seed")
        known_name(self.order, get_args(Order), "order of the arms")
        points = np.unique([*self.checkpoints, self.horizon])
        if points.dtype.kind not in "iu" or points[0] < 1 or points[-1] > self.horizon:
            raise InvalidInput(f"checkpoints are rounds between 1 and {self.horizon}.")
        object.__setattr__(self, "checkpoints", tuple(points.tolist()))
        problem = self.problem
        reporting = problem.reporting if isinstance(problem, FieldProblem) else None
        if reporting is not None and self.reports.reporting is None:
            reports = dataclasses.replace(self.reports, reporting=reporting)
            object.__setattr__(self, "reports", reports)
        whole_number(self.history, "the rounds of the history")
        if self.history and not _is_arm(self.status_quo):
            raise InvalidInput("a history needs status_quo=...: the arm that was played in it.")
        object.__setattr__(self, "problem_name", self.problem_name or str(problem))
        object.__setattr__(self, "policy_name", self.policy_name or str(self.policy))

    @functools.cached_property
    def digest(self) -> str:
        """The same for two specifications with the same runs, whatever their labels."""
        content = self.to_json()
        if isinstance(self.problem, Problem):  # a delay may be a file, and the file may change
            content["mean_delays"] = [f"{delay.mean:.9g}" for delay in self.problem.delays]
        text = json.dumps([RUNS_VERSION, content], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def to_json(self) -> dict[str, Any]:
        """As JSON values, without labels and without what is as usual."""
        try:
            policy = json.loads(json.dumps(dict(self.policy.parameters)))
        except TypeError as error:
            raise InvalidInput(
                f"{self.policy.name} cannot be written to a file: {error}."
            ) from None
        data: dict[str, Any] = {
            "problem": problem_data(self.problem),
            "policy": {"name": self.policy.name, "parameters": policy},
            "horizon": self.horizon,
            "seed": list(self.seed) if isinstance(self.seed, tuple) else self.seed,
        }
        if self.reports != Reports():
            data["reports"] = {"bucket": self.reports.bucket, "lag": self.reports.lag}
            if self.reports.reporting is not None:
                data["reports"]["reporting"] = plain_part(self.reports.reporting)
        if (status_quo := self.status_quo) is not None:
            data["status_quo"] = (
                reward_text(status_quo) if isinstance(status_quo, Reward) else status_quo
            )
        for name in ("checkpoints", "measures", "order", "history", "told"):
            value = getattr(self, name)
            if value != _USUAL[name]:
                data[name] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """The opposite of `to_json`.

        Args:
            data: JSON values.
        """
        known = {each.name for each in dataclasses.fields(cls)}
        given = {key: data[key] for key in data if known_name(key, known, "part of a setting")}
        for key in ("checkpoints", "measures", "seed"):
            if isinstance(given.get(key), list):
                given[key] = tuple(given[key])
        given["problem"] = problem_from(given["problem"])
        given["policy"] = PolicySpec(**given["policy"])
        reports = dict(given.pop("reports", {}))
        reporting = reports.pop("reporting", None)
        imperfect = None if reporting is None else Reporting(**reporting)
        return cls(**given, reports=Reports(**reports, reporting=imperfect))

    # What results say of it.

    @property
    def attributed(self) -> bool:
        """Whether the policy has attributed feedback."""
        return self.policy.sees != "totals"

    @functools.cached_property
    def fields(self) -> dict[str, Any]:
        """What all runs of a grid may differ in, by the name of its column."""
        data = problem_data(self.problem)
        arms, delay = (
            (data.get("arms"), data.get("delay")) if isinstance(data, dict) else (None, data)
        )
        return {
            "arms": _joined(arms, ", "),
            "delay": _joined(delay, "; "),
            "horizon": self.horizon,
            "seed": _joined(self.seed, ", "),
            "bucket": self.reports.bucket,
            "report_lag": self.reports.lag,
            "order": self.order,
            "status_quo": None if self.status_quo is None else str(self.status_quo),
            "history": self.history,
        }

    @property
    def policy_fields(self) -> tuple[str, dict[str, Any]]:
        """The kind of the policy, and its own parameters by the names of their columns."""
        factors = {f"{key}_factor": factor for key, factor in (self.told or {}).items()}
        return self.policy.name, {**self.policy.parameters, **factors}

    @property
    def about(self) -> dict[str, Any]:
        """What is the same for all policies of a comparison, as JSON values."""
        fields = ("horizon", "seed", "bucket", "report_lag", "status_quo", "history", "order")
        return {"problem": repr(self.problem), **{name: self.fields[name] for name in fields}}

    @property
    def broken_assumptions(self) -> list[str]:
        """What the policy assumes and does not hold, in sentences."""
        if isinstance(self.problem, str):
            return []
        return broken_assumptions(*self.prepared)

    # Runs.

    def run(self, number: int) -> Run:
        """One run: it depends on this setting and its number, and on nothing else.

        Args:
            number: Which run.
        """
        if isinstance(self.problem, str):
            return self.drawn(number).run(number)
        problem, policy = self.met_by(number)
        if isinstance(policy, AttributedPolicy):
            points = self.checkpoint_rounds
            seen = run_attributed(
                problem,
                policy,
                self.horizon,
                seed_sequence=self.seeds(number, WORLD),
                checkpoints=points,
            )
            return BaselineRun(problem, seen, points)
        loop, policy = self._loop(number)
        return Run(
            problem,
            loop.play(self.horizon),
            policy=policy,
            checkpoints=self.checkpoint_rounds,
            bucket=self.reports.bucket,
            longer=functools.partial(self._longer, number),
            anew=functools.partial(self._anew, number),
        )

    def shortened(self, rounds: int) -> RunSpec:
        """The same cut off after some rounds, for measuring how long a run takes.

        Args:
            rounds: How many.
        """
        bucket = self.reports.bucket
        rounds = min(-(-rounds // bucket) * bucket, self.horizon)
        return dataclasses.replace(self, horizon=rounds, checkpoints=())

    def check(self) -> None:
        """Refuse now what a run would refuse."""
        problem, policy = self.prepared
        built_for = self.policy.parameters.get("horizon")
        if built_for is not None and built_for != self.horizon:
            warnings.warn(
                f"{self.policy_name} was built for a horizon of {built_for:,} and is run for "
                f"{self.horizon:,} rounds.",
                stacklevel=2,
            )
        if policy.n_arms != problem.n_arms:
            raise InvalidInput(
                f"{self.policy_name} chooses among {policy.n_arms} arms and the problem has "
                f"{problem.n_arms}."
            )
        if _is_arm(self.status_quo) and int(self.status_quo) >= problem.n_arms:  # type: ignore[arg-type]
            raise InvalidInput(
                f"there is no arm {self.status_quo}; the last is {problem.n_arms - 1}."
            )
        if self.history and "history" not in signature_of(type(policy)).parameters:
            raise InvalidInput(f"{type(policy).__name__} cannot be told what was played before.")
        if isinstance(policy, AttributedPolicy):
            if self.status_quo is not None:
                raise InvalidInput(
                    f"{policy.name} begins with nothing in flight: leave `status_quo` out."
                )
            if self.reports != Reports():
                raise InvalidInput(
                    f"{policy.name} sees every reward as it arrives; it cannot be run in buckets "
                    "or "
                    "with a report lag."
                )
            policy.check(problem)
            if isinstance(problem, FieldProblem):
                raise InvalidInput(
                    f"{policy.name} has attributed feedback; it runs on a Problem, not on a "
                    "FieldProblem."
                )

    def seeds(self, number: int, stream: int) -> np.random.SeedSequence:
        """What one part of a run draws from, as `SeedSequence(seed).spawn` would give it.

        Args:
            number: Which run.
            stream: Which child of its seed, such as `WORLD`.
        """
        return _seeds(self._seed_path, number, stream)

    def _rng(self, number: int, stream: int) -> np.random.Generator:
        return np.random.default_rng(self.seeds(number, stream))

    @property
    def _seed_path(self) -> tuple[int, ...]:
        return self.seed if isinstance(self.seed, tuple) else (self.seed,)

    @functools.cached_property
    def checkpoint_rounds(self) -> Integers:
        """The rounds at which regret is kept."""
        return np.array(self.checkpoints, dtype=np.int64)

    def _longer(self, number: int, until: int) -> Run:
        loop, policy = self._loop(number)
        plays = [*loop.play(self.horizon), *loop.play(until)]
        return Run(self.met_by(number)[0], plays, policy=policy, bucket=self.reports.bucket)

    def _anew(self, number: int, horizon: int) -> Run:
        return dataclasses.replace(self, horizon=horizon, checkpoints=()).run(number)

    def _loop(self, number: int) -> tuple[Loop, Policy]:
        problem, policy = self.met_by(number)
        assert isinstance(policy, Policy)
        nature = self._rng(number, WORLD)
        status_quo = self._status_quo_of(number)
        world = problem.start(rng=nature, status_quo=status_quo, at=-self.history)
        own = self._rng(number, POLICY) if policy.random else None
        playing = policy.fresh(rng=own)
        if self.history:
            playing = policy.fresh(rng=own, history=self._played_before(world, status_quo))
        noise = None if self.reports.reporting is None else self._rng(number, REPORTS)
        return Loop(world, playing, self.reports, rng=noise), playing

    def _played_before(self, world: Any, arm: Any) -> list[tuple[int, int, float]]:
        """The parts of the history with their totals."""
        part = self.reports.bucket if self.reports.bucket > 1 else self.history
        lengths = np.diff([*range(0, self.history, part), self.history]).tolist()
        return [(arm, rounds, world.play(arm, rounds)) for rounds in lengths]

    # What a run meets.

    def _status_quo_of(self, number: int) -> Reward | float | str | None:
        """The status quo: an arm has another number where the order of the arms is drawn."""
        if self.order == "listed" or not _is_arm(self.status_quo):
            return self.status_quo
        return self._order_of(number).index(int(self.status_quo))  # type: ignore[arg-type]

    def _order_of(self, number: int) -> tuple[int, ...]:
        """The order of the arms in a run, where it is drawn."""
        return _order(self.prepared[0].n_arms, self._seed_path, number, ORDER)

    def met_by(self, number: int) -> tuple[Problem, AnyPolicy]:
        """The problem as a run meets it, and the policy, told what there is to know of it.

        Args:
            number: Which run.
        """
        if isinstance(self.problem, str):
            return self.drawn(number).met_by(number)
        problem, policy = self.prepared
        if self.order == "drawn":
            problem = self._permuted(self._order_of(number))
            if self._told_of_arms:
                policy = self._built_for(problem, number)
        return problem, policy

    @functools.cached_property
    def prepared(self) -> tuple[Problem, AnyPolicy]:
        """The problem as it is listed, and the policy, told what there is to know of it."""
        problem = self.problem
        if not isinstance(problem, Problem):
            return self.drawn(0).prepared
        with warnings.catch_warnings():
            if self._quietly:
                warnings.simplefilter("ignore")
            policy: AnyPolicy = self._spec_for(problem, self.status_quo).build()
        return problem, policy

    def drawn(self, number: int) -> RunSpec:
        """The setting of one run, with the problem that a law draws for it written out.

        Its run of the same number is the same run: so it can be replayed without the law.

        Args:
            number: Which run.
        """
        if isinstance(self.problem, Problem):
            return self
        found = LAWS.find(self.problem)(self._rng(number, PROBLEM))
        if isinstance(found, Problem):
            new = dataclasses.replace(self, problem=found, problem_name="")
        else:
            new = dataclasses.replace(
                self,
                problem=found.problem,
                horizon=found.horizon,
                checkpoints=(),
                problem_name="",
                reports=Reports(found.bucket),
            )
        object.__setattr__(new, "_quietly", number > 0)
        return new

    @functools.cached_property
    def _permuted(self) -> Callable[[tuple[int, ...]], Problem]:
        """The problem in an order of its arms: tables are made once for each that is met."""
        return functools.lru_cache(_KEPT_ORDERS)(self.prepared[0].permuted)

    @functools.cached_property
    def _told_of_arms(self) -> bool:
        """Whether the policy is told something that belongs to one arm and moves with it."""
        told = self._spec_for(self.prepared[0], self.status_quo).parameters
        return bool((set(told) - set(self.policy.parameters)) & {"best_arm", "delay", "status_quo"})

    def _built_for(self, problem: Problem, number: int) -> AnyPolicy:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the policy was first built
            policy: AnyPolicy = self._spec_for(problem, self._status_quo_of(number)).build()
        return policy

    def _spec_for(self, problem: Problem, status_quo: Any) -> PolicySpec:
        if self.policy.policy is not None:
            return self.policy
        known = {} if self.told is None else knowledge(problem, self.horizon)
        if self.told is not None and self.reports.bucket > 1:
            known["bucket"] = self.reports.bucket
        if status_quo is not None:
            known["status_quo"] = status_quo if _is_arm(status_quo) else "other"
        for key, factor in (self.told or {}).items():
            known_name(key, ("mean_delay", "delay_variance"), "knowledge to tell wrongly")
            known[key] *= factor
        return self.policy.given(known)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        kept = {each.name for each in dataclasses.fields(self)}
        return {key: value for key, value in self.__dict__.items() if key in kept}


_USUAL: dict[str, Any] = {
    "checkpoints": (),
    "measures": USUAL_MEASURES,
    "order": "listed",
    "history": 0,
    "told": {},
}


def _joined(value: Any, by: str) -> Any:
    """Several values as one text."""
    return by.join(map(str, value)) if isinstance(value, list | tuple) else value


def _is_arm(status_quo: object) -> bool:
    return isinstance(status_quo, int) and not isinstance(status_quo, bool)


def _seeds(path: tuple[int, ...], number: int, stream: int) -> np.random.SeedSequence:
    return np.random.SeedSequence(path[0], spawn_key=(*path[1:], number, stream))


@functools.lru_cache(maxsize=4096)
def _order(n_arms: int, path: tuple[int, ...], number: int, stream: int) -> tuple[int, ...]:
    """The order of the arms in a run: the same for all policies, and asked for several times."""
    return tuple(arm_order(n_arms, _seeds(path, number, stream)))


def arm_order(n_arms: int, seeds: np.random.SeedSequence) -> list[int]:
    """The order of the arms in one run.

    >>> arm_order(3, np.random.SeedSequence(1, spawn_key=(2, ORDER)))
    [1, 2, 0]
    """
    order: list[int] = np.random.default_rng(seeds).permutation(n_arms).tolist()
    return order


def knowledge(problem: Problem, horizon: int) -> dict[str, Any]:
    """All that a policy may be told of a problem, by the names of the policies' parameters.

    Where arms have different delays, each entry is the largest of theirs.

    >>> knowledge(Problem([0.5, 0.6], "uniform(0, 100)"), 1000)["delay_bound"]
    100
    """
    bounds = [delay.bound for delay in problem.delays]
    bound = None if None in bounds else max(each or 0 for each in bounds)
    return {
        "n_arms": problem.n_arms,
        "horizon": horizon,
        "mean_delay": max(delay.mean for delay in problem.delays),
        "delay_variance": max(delay.variance for delay in problem.delays),
        "delay_bound": bound,
        "max_delay": bound,
        "best_arm": problem.best,
        "delay": problem.delays,
    }
