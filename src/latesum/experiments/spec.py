"""A run specification: all that a run depends on. Its digest names its results.

Run number i with seed s draws from `SeedSequence(s)`'s i-th child, wherever and in whatever order
it is made, and so under every policy and on every problem.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.random import default_rng

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._plugins import Registry
from latesum._render import changed_fields
from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.experiments.loop import LateLoop, Loop, Reports
from latesum.experiments.run import Run
from latesum.policies import Policy, PolicySpec
from latesum.simulation import CompositeProblem, FieldProblem, Problem, Reward
from latesum.simulation.field import problem_from
from latesum.simulation.rewards import reward_text

#: What was played until the start: an arm, or a reward (or its mean) that is no arm.
StatusQuo = Reward | float | str | None
#: What can be run: policies that see totals, and attributed baselines.
AnyPolicy = Policy | AttributedPolicy

#: Part of every digest: a change in how runs are drawn or kept makes old results unusable.
RUNS_VERSION = 6
#: Functions that draw a problem from a generator.
LAWS = Registry("law of problems", "latesum.problems")
Order = Literal["listed", "drawn"]
#: What is kept of a run unless a specification says otherwise.
USUAL_MEASURES = ("regret", "ended_on_best", "switches")
#: The children of a run's seed that its parts draw from.
WORLD, POLICY, REPORTS, ORDER, PROBLEM = range(5)


@dataclass(frozen=True, eq=False, kw_only=True)
class Spec(ABC):
    """What all runs are specified by, on problems and in markets."""

    seed: int | tuple[int, ...] = 1
    measures: tuple[str, ...] = USUAL_MEASURES
    problem_name: str = ""
    policy_name: str = ""
    #: The rounds, or buckets, after which regret is kept.
    checkpoints: tuple[int, ...] = ()

    @functools.cached_property
    def digest(self) -> str:
        """The same for two specifications with the same runs, whatever their names."""
        text = json.dumps([RUNS_VERSION, self.to_json()], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def seeds(self, number: int, stream: int) -> np.random.SeedSequence:
        """What one part of a run, such as `WORLD`, draws from: a child of the run's seed."""
        first, *path = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        return np.random.SeedSequence(first, spawn_key=(*path, number, stream))

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """As JSON values, without names and defaults."""

    @abstractmethod
    def check(self) -> None:
        """Refuse now what a run would refuse."""

    @abstractmethod
    def run(self, number: int) -> Any:
        """One run: it depends on this specification and its number, and on nothing else."""

    @property
    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What all runs of a grid may differ in, by the name of its column."""

    @property
    @abstractmethod
    def policy_fields(self) -> tuple[str, Mapping[str, Any]]:
        """The kind of the policy, and its own parameters by the names of their columns."""

    @property
    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What is the same for all policies of a comparison, as JSON values."""

    @property
    def attributed(self) -> bool:
        """Whether the policy has attributed feedback."""
        return False

    @property
    def broken_assumptions(self) -> list[str]:
        """What the policy assumes and does not hold, in sentences."""
        return []

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        kept = {each.name for each in dataclasses.fields(self)}
        return {key: value for key, value in self.__dict__.items() if key in kept}


@dataclass(frozen=True, eq=False)
class RunSpec(Spec):
    """A policy on a problem, how it is played, and what is kept of a run.

    Args:
        problem: What is played; or as text, "package.module:function", a function of a generator
            that draws another problem for every run.
        policy: What decides. What its spec leaves out is filled in with what is true of the
            problem.
        seed: The seed, or the path to one of its children.
        reports: How totals become known.
        checkpoints: The rounds at which regret is kept; the horizon is always one.
        order: Whether the arms stand as they are "listed", or in an order that is "drawn" for every
            run, the same under all policies.
        status_quo: What was played until the start and is still arriving: an arm, or a reward (or
            its mean) that is no arm.
        history: For how many rounds of it the totals are known; the policy is given them, in
            segments of a bucket.
        given: Factors on the prior knowledge that the policy is given, such as
            `{"mean_delay": 0.8}`; with None it is given the status quo only.
        prior: The names of what the policy may be given of the delay; None for all of it.
        problem_name: Like `policy_name`, for tables; no part of the digest.

    >>> spec = RunSpec(Problem([0.2, 0.8], "uniform(0, 9)"), PolicySpec.parse("odaaf"), 5_000)
    >>> spec.run(0)
    Run(5,000 rounds, 3 blocks, regret 234.6)
    >>> RunSpec.from_json(spec.to_json()).digest == spec.digest
    True
    """

    problem: Problem | str
    policy: PolicySpec
    horizon: int
    _: KW_ONLY
    reports: Reports = field(default_factory=Reports)
    order: Order = "listed"
    status_quo: StatusQuo = None
    history: int = 0
    given: Mapping[str, float] | None = field(default_factory=dict)
    prior: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for part in self.seed if isinstance(self.seed, tuple) else (self.seed,):
            whole_number(part, "the seed")
        known_name(self.order, get_args(Order), "order of the arms")
        horizon = whole_number(self.horizon, "the horizon", at_least=1)
        points = np.unique([*self.checkpoints, horizon])
        if points.dtype.kind not in "iu" or points[0] < 1 or points[-1] > horizon:
            raise InvalidInput(f"checkpoints are rounds between 1 and {horizon}.")
        for key in self.given or {}:
            known_name(key, ("mean_delay", "delay_variance"), "knowledge with a factor")
        whole_number(self.history, "the rounds of the history")
        if self.history and not _is_arm(self.status_quo):
            raise InvalidInput("a history needs status_quo=...: the arm that was played in it.")
        settled: dict[str, Any] = {
            "horizon": horizon,
            "checkpoints": tuple(points.tolist()),
            "problem_name": self.problem_name or str(self.problem),
            "policy_name": self.policy_name or str(self.policy),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)

    def to_json(self) -> dict[str, Any]:
        try:
            policy = json.loads(json.dumps(dict(self.policy.parameters)))
        except TypeError as error:
            name = self.policy.name
            raise InvalidInput(f"{name} cannot be written to a file: {error}.") from None
        data: dict[str, Any] = {
            "problem": self._problem_data,
            "policy": {"name": self.policy.name, "parameters": policy},
            "horizon": self.horizon,
            "seed": list(self.seed) if isinstance(self.seed, tuple) else self.seed,
        }
        if self.reports != Reports():
            bucket, lag = self.reports.bucket, self.reports.lag
            data["reports"] = {"bucket": bucket, "lag": lag, **changed_fields(self.reports)}
        if (status_quo := self.status_quo) is not None:
            data["status_quo"] = (
                reward_text(status_quo) if isinstance(status_quo, Reward) else status_quo
            )
        for name, default in _DEFAULTS.items():
            value = getattr(self, name)
            if value != default:
                data[name] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """The opposite of `to_json`."""
        known = {each.name for each in dataclasses.fields(cls)}
        given = {key: data[key] for key in data if known_name(key, known, "field of a run")}
        for key in ("checkpoints", "measures", "seed"):
            if isinstance(given.get(key), list):
                given[key] = tuple(given[key])
        if not isinstance(given["problem"], str):
            given["problem"] = problem_from(given["problem"])
        given["policy"] = PolicySpec(**given["policy"])
        return cls(**given | {"reports": Reports(**given.get("reports", {}))})

    @property
    def _problem_data(self) -> dict[str, Any] | str:
        return self.problem if isinstance(self.problem, str) else self.problem.plain()

    # What results say of it.

    @property
    def attributed(self) -> bool:
        return self.policy.sees != "totals"

    @property
    def about(self) -> dict[str, Any]:
        seed, status_quo = self.seed, self.status_quo
        return {
            "problem": repr(self.problem),
            "horizon": self.horizon,
            "seed": ", ".join(map(str, seed)) if isinstance(seed, tuple) else seed,
            "bucket": self.reports.bucket,
            "report_lag": self.reports.lag,
            "status_quo": None if status_quo is None else str(status_quo),
            "history": self.history,
            "order": self.order,
        }

    @functools.cached_property
    def fields(self) -> dict[str, Any]:
        data, about = self._problem_data, self.about
        del about["problem"]
        if isinstance(data, str):
            return {"arms": None, "delay": data, **about}
        delay = data["delay"]
        shown = "; ".join(delay) if isinstance(delay, list) else delay
        return {"arms": ", ".join(map(str, data["arms"])), "delay": shown, **about}

    @property
    def policy_fields(self) -> tuple[str, dict[str, Any]]:
        factors = {f"{key}_factor": factor for key, factor in (self.given or {}).items()}
        return self.policy.name, {**self.policy.parameters, **factors}

    @property
    def broken_assumptions(self) -> list[str]:
        """What the policy assumes and does not hold, in sentences.

        >>> problem = Problem([0.5, 0.6], ["uniform(0, 10)", "uniform(0, 100)"])
        >>> RunSpec(problem, PolicySpec("odaaf"), 1000).broken_assumptions
        ['assumes that all options have the same delays; here they differ.']
        """
        if isinstance(self.problem, str):
            return []
        problem, policy = self.prepared
        learns_nothing = policy.kind in ("oracle", "round-robin", "fixed-split")
        if isinstance(policy, AttributedPolicy) or learns_nothing:
            return []
        broken = []
        given_one = policy.assumes_equal_delays and hasattr(policy, "mean_delay")
        if len(set(problem.delays)) > 1 and given_one:
            broken.append("assumes that all options have the same delays; here they differ.")
        if isinstance(problem, FieldProblem):
            if problem.calendar is not None:
                what = "drift" if problem.calendar.drift_to else "follow a calendar"
                broken.append(f"assumes that means stay as they are; here they {what}.")
            if problem.background:
                broken.append(
                    "assumes that totals hold nothing but rewards in [0, 1]; here is a background."
                )
        return broken

    # Runs.

    def run(self, number: int, *, until: int | None = None) -> Run:
        """One run: it depends on this specification and its number, and on nothing else.

        With `until` it is played on to this many rounds, of which the policy knows nothing.
        """
        if isinstance(self.problem, str):
            with warnings.catch_warnings():
                if number:
                    warnings.simplefilter("ignore")  # said of the first run
                return self.drawn(number).run(number, until=until)
        problem, policy, status_quo = self.instantiate(number)
        if isinstance(policy, AttributedPolicy):
            if until is not None:
                raise InvalidInput(f"a run of {policy.name} cannot be played on.")
            seeds = self.seeds(number, WORLD)
            blocks = run_attributed(problem, policy, self.horizon, seed_sequence=seeds)
            return Run(problem, *blocks, spec=self, number=number)
        rng = default_rng(self.seeds(number, WORLD))
        world = problem.start(rng=rng, status_quo=status_quo, at=-self.history)
        own = default_rng(self.seeds(number, POLICY)) if policy.random else None
        playing = policy.fresh(rng=own)
        if self.history:  # in segments of a bucket
            part = self.reports.bucket if self.reports.bucket > 1 else self.history
            rounds = np.diff([*range(0, self.history, part), self.history]).tolist()
            arm: Any = status_quo
            before = [(arm, each, world.play(arm, each)) for each in rounds]
            playing = policy.fresh(rng=own, history=before)
        loop = Loop(world, playing, self.reports.bucket)
        if self.reports.late:
            rng = default_rng(self.seeds(number, REPORTS))
            loop = LateLoop(world, playing, self.reports, rng)
        plays = loop.play(self.horizon)
        if until is not None:
            plays += loop.play(until)
        arms, lengths = [play.arm for play in plays], [play.rounds for play in plays]
        return Run(problem, arms, lengths, plays=plays, policy=playing, spec=self, number=number)

    def check(self) -> None:
        problem, policy = self.prepared
        built_for = self.policy.parameters.get("horizon")
        if built_for is not None and built_for != self.horizon:
            warnings.warn(
                f"{self.policy_name} was built for a horizon of {built_for:,} and is run for "
                f"{self.horizon:,} rounds.",
                stacklevel=2,
            )
        status_quo: Any = self.status_quo
        wrong = ""
        if policy.n_arms != problem.n_arms:
            wrong = f"chooses among {policy.n_arms} arms and the problem has {problem.n_arms}."
        elif _is_arm(status_quo) and status_quo >= problem.n_arms:
            wrong = f"cannot follow arm {status_quo}: there is no arm {status_quo}."
        elif self.history and "history" not in inspect.signature(type(policy)).parameters:
            wrong = f"is a {type(policy).__name__}; {type(policy).__name__} takes no history."
        elif isinstance(policy, AttributedPolicy):
            if status_quo is not None:
                wrong = "begins with nothing in flight: leave `status_quo` out."
            elif isinstance(problem, FieldProblem | CompositeProblem):
                kind = type(problem).__name__
                wrong = f"has attributed feedback; it runs on a Problem, not on a {kind}."
            elif self.reports != Reports():
                wrong = (
                    "sees every reward as it arrives; it cannot be run in buckets or with a "
                    "report lag."
                )
        if wrong:
            raise InvalidInput(f"{self.policy_name} {wrong}")
        if isinstance(policy, AttributedPolicy):
            policy.check(problem)

    # What a run meets.

    def instantiate(self, number: int) -> tuple[Problem, AnyPolicy, StatusQuo]:
        """The problem as a run meets it, the policy with its prior knowledge, the status quo."""
        problem, policy = self.prepared
        if self.order == "listed":
            return problem, policy, self.status_quo
        order = default_rng(self.seeds(number, ORDER)).permutation(problem.n_arms).tolist()
        problem, status_quo = problem.permuted(order), self.status_quo
        if _is_arm(status_quo):
            status_quo = order.index(status_quo)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the policy was first built
            return problem, self._spec_for(problem, status_quo).build(), status_quo

    @functools.cached_property
    def prepared(self) -> tuple[Problem, AnyPolicy]:
        """The problem as it is listed, and the policy, with its prior knowledge."""
        if isinstance(self.problem, str):
            return self.drawn(0).prepared
        return self.problem, self._spec_for(self.problem, self.status_quo).build()

    def drawn(self, number: int) -> RunSpec:
        """The specification of one run, with the problem that a law draws for it written out.

        Its run of the same number is the same run: so it can be replayed without the law.
        """
        if isinstance(self.problem, Problem):
            return self
        found = LAWS.find(self.problem)(default_rng(self.seeds(number, PROBLEM)))
        return dataclasses.replace(self, problem=found, problem_name="")

    def _spec_for(self, problem: Problem, status_quo: Any) -> PolicySpec:
        if self.policy.policy is not None:
            return self.policy
        known = {} if self.given is None else knowledge(problem, self.horizon)
        if self.prior is not None:
            always = ("n_arms", "horizon")
            known = {key: known[key] for key in known if key in (*always, *self.prior)}
        if self.given is not None and self.reports.bucket > 1:
            known["bucket"] = self.reports.bucket
        if status_quo is not None:
            known["status_quo"] = status_quo if _is_arm(status_quo) else "other"
        for key, factor in (self.given or {}).items():
            known[key] *= factor
        return self.policy.given(known)


#: Of the fields that a file may leave out.
_DEFAULTS: dict[str, Any] = {
    "checkpoints": (),
    "measures": USUAL_MEASURES,
    "order": "listed",
    "history": 0,
    "given": {},
    "prior": None,
}


def _is_arm(status_quo: object) -> bool:
    return isinstance(status_quo, int) and not isinstance(status_quo, bool)


def knowledge(problem: Problem, horizon: int) -> dict[str, Any]:
    """All the prior knowledge that a policy may be given, by the names of its parameters.

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
