"""A setting: all that a run depends on. Its digest names its results.

Run number i of a setting with seed s draws from `SeedSequence(s)`'s i-th child, whoever makes it
and in whatever order, and so under every policy and on every problem.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._registry import Registry
from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.attributed.playable import refuse_unplayable
from latesum.lab.play import AtOnce, Game, InBuckets, Poor, Reports
from latesum.lab.run import LabelledRun, Run
from latesum.policies import Policy
from latesum.policies.spec import PolicySpec
from latesum.world import FieldProblem, Problem, Reporting, World
from latesum.world.buckets import BucketWorld
from latesum.world.problem_data import plain_part, problem_data, problem_from

Integers = NDArray[np.int64]
#: What can be run: policies that see totals, and baselines that see which arm paid.
AnyPolicy = Policy | AttributedPolicy

#: Part of every digest: a change in how runs are drawn or kept makes old results unusable.
RUNS_VERSION = 3
#: Functions that draw a problem from a generator.
LAWS = Registry("law of problems", "latesum.problems")
#: What is kept of a run unless a setting says otherwise.
USUAL_MEASURES = ("regret", "ended_on_best", "switches")
#: The children of a run's seed that its parts draw from.
WORLD, POLICY, REPORTS, ORDER, PROBLEM = range(5)
_KEPT_ORDERS = 256


class Case(NamedTuple):
    """What a law may draw for a run in place of a problem alone: with its horizon and its bucket."""

    problem: Problem
    horizon: int
    bucket: int = 1


@dataclass(frozen=True, eq=False)
class Setting:
    """A policy on a problem, how it is played, and what is kept of a run.

    `problem` may be text, "package.module:function": a function of a generator that draws another
    problem for every run, or a `Case`, whose horizon and bucket are then those of the run. What the spec of the `policy` does not say is filled in with what is true
    of the problem, times the factor in `told` where there is one; with `told=None` nothing is.

    `reports` says how totals become known. With `order`, the arms stand in an order that is drawn
    for every run, the same under all policies; the number is the child of the run's seed that it
    is drawn from. `before` is what was played until the start and is still arriving; a policy is told
    of it by its own parameter `before`, or is not. `world` "buckets" draws whole buckets at once: the same law, and faster where
    delays are very long.

    >>> setting = Setting(Problem([0.2, 0.8], "uniform(0, 9)"), PolicySpec.parse("odaaf"), 5_000)
    >>> setting.run(0)
    Run(5,000 rounds, 3 stretches, regret 234.6)
    >>> Setting.from_json(setting.to_json()).digest == setting.digest
    True
    """

    problem: Problem | str
    policy: PolicySpec
    horizon: int
    _: KW_ONLY
    seed: int | tuple[int, ...] = 1
    reports: Reports = field(default_factory=AtOnce)
    checkpoints: tuple[int, ...] = ()  # the horizon without
    measures: tuple[str, ...] = USUAL_MEASURES
    order: int | None = None
    told: Mapping[str, float] | None = field(default_factory=dict)
    world: Literal["rounds", "buckets"] = "rounds"
    #: What was played until the start, and is still arriving: an arm, a mean, or a reward as text.
    before: int | float | str | None = None
    #: For how many rounds before the start the totals of the arm `before` are known to the policy.
    history: int = 0
    #: What the two are called in tables: labels, no part of the digest.
    problem_name: str = ""
    policy_name: str = ""
    #: Whether a policy says nothing when it is built: it said it when it was first built.
    _quietly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "horizon", whole_number(self.horizon, "the horizon", at_least=1))
        for part in self.seed if isinstance(self.seed, tuple) else (self.seed,):
            whole_number(part, "the seed")
        points = np.unique([*self.checkpoints, self.horizon])
        if points.dtype.kind not in "iu" or points[0] < 1 or points[-1] > self.horizon:
            raise InvalidInput(f"checkpoints are rounds between 1 and {self.horizon}.")
        object.__setattr__(self, "checkpoints", tuple(points.tolist()))
        problem = self.problem
        reporting = problem.reporting if isinstance(problem, FieldProblem) else None
        if reporting is not None and not isinstance(self.reports, Poor):
            poor = reports_of(self.reports.bucket, self.reports.lag, reporting)
            object.__setattr__(self, "reports", poor)
        history = whole_number(self.history, "the rounds of the history")
        object.__setattr__(self, "history", history)
        if history and not _is_arm(self.before):
            raise InvalidInput("a history needs before=...: the arm that was played in it.")
        if self.world == "buckets" and self.before is not None:
            raise InvalidInput("a world of whole buckets begins empty; leave `before` out.")
        if self.world == "buckets" and self.horizon % self.reports.bucket:
            raise InvalidInput("a run of whole buckets has a horizon of whole buckets.")
        object.__setattr__(self, "problem_name", self.problem_name or str(problem))
        object.__setattr__(self, "policy_name", self.policy_name or str(self.policy))

    @functools.cached_property
    def digest(self) -> str:
        """The same for two settings whose runs of one number are the same, whatever their labels."""
        content = self.to_json()
        content["policy"]["parameters"] |= self.policy.newer
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
        if not isinstance(self.reports, AtOnce):
            data["reports"] = {"bucket": self.reports.bucket, "lag": self.reports.lag}
            if isinstance(self.reports, Poor):
                data["reports"]["reporting"] = plain_part(self.reports.reporting)
        for name in ("checkpoints", "measures", "order", "told", "world", "before", "history"):
            value = getattr(self, name)
            if value != _USUAL[name]:
                data[name] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Setting:
        """The opposite of `to_json`."""
        known = {each.name for each in dataclasses.fields(cls)}
        given = {key: data[key] for key in data if known_name(key, known, "part of a setting")}
        for key in ("checkpoints", "measures", "seed"):
            if isinstance(given.get(key), list):
                given[key] = tuple(given[key])
        given["problem"] = problem_from(given["problem"])
        given["policy"] = PolicySpec(**given["policy"])
        reports = dict(given.pop("reports", {}))
        reporting = reports.pop("reporting", None)
        poor = None if reporting is None else Reporting(**reporting)
        return cls(**given, reports=reports_of(**reports, reporting=poor))

    # Runs.

    def run(self, number: int) -> Run:
        """Run number `number`: it depends on this setting and its number, and on nothing else."""
        if isinstance(self.problem, str):
            return self.drawn(number).run(number)
        problem, policy = self.met_by(number)
        if isinstance(policy, AttributedPolicy):
            points = self.checkpoint_rounds
            seen = run_attributed(
                problem, policy, self.horizon, seed_sequence=self.seeds(number, WORLD),
                checkpoints=points,
            )  # fmt: skip
            return LabelledRun(problem, seen, points)
        game, playing = self._game(number, problem, policy, self.horizon)
        return Run(
            problem, list(game.play(self.horizon)), policy=playing,
            checkpoints=self.checkpoint_rounds, bucket=self.reports.bucket,
            longer=functools.partial(self._longer, number),
        )  # fmt: skip

    def check(self) -> None:
        """Refuse now what a run would refuse."""
        problem, policy = self.prepared
        if policy.n_arms != problem.n_arms:
            raise InvalidInput(
                f"{self.policy_name} chooses among {policy.n_arms} arms and the problem has "
                f"{problem.n_arms}."
            )
        if isinstance(policy, AttributedPolicy):
            if self.before is not None:
                raise InvalidInput(
                    f"{policy.name} begins with nothing under way; leave `before` out."
                )
            if not isinstance(self.reports, AtOnce):
                raise InvalidInput(
                    f"{policy.name} sees every reward as it arrives; it cannot be run in buckets or "
                    "with a report lag."
                )
            refuse_unplayable(policy, problem)
            if isinstance(problem, FieldProblem):
                raise InvalidInput(
                    f"{policy.name} sees which arm paid; it runs on a Problem, not on a FieldProblem."
                )

    def seeds(self, number: int, stream: int) -> np.random.SeedSequence:
        """What one part of a run draws from, as `SeedSequence(seed).spawn` would give it."""
        seed = self.seed if isinstance(self.seed, tuple) else (self.seed,)
        return np.random.SeedSequence(seed[0], spawn_key=(*seed[1:], number, stream))

    @functools.cached_property
    def checkpoint_rounds(self) -> Integers:
        """The rounds at which regret is kept."""
        return np.array(self.checkpoints, dtype=np.int64)

    def _longer(self, number: int, until: int) -> Run:
        problem, policy = self.met_by(number)
        assert isinstance(policy, Policy)
        game, playing = self._game(number, problem, policy, until)
        plays = [*game.play(self.horizon), *game.play(until)]
        return Run(problem, plays, policy=playing, bucket=self.reports.bucket)

    def _game(
        self, number: int, problem: Problem, policy: Policy, until: int
    ) -> tuple[Game, Policy]:
        nature = np.random.Generator(np.random.PCG64(self.seeds(number, WORLD)))
        if self.world == "buckets":
            bucket = self.reports.bucket
            world: Any = BucketWorld(problem, bucket=bucket, buckets=until // bucket, rng=nature)
        else:
            before = self.before
            if self.order is not None and isinstance(before, int):  # as the run's order lists it
                order = arm_order(problem.n_arms, self.seeds(number, self.order))
                before = list(order).index(before)
            world = problem.start(rng=nature, before=before, at=-self.history)
        told = self._history(world, before) if self.history else None
        own = None
        if policy.random:
            own = np.random.Generator(np.random.PCG64(self.seeds(number, POLICY)))
        playing = policy.fresh(rng=own, history=told)
        noise = None
        if isinstance(self.reports, Poor):
            noise = np.random.default_rng(self.seeds(number, REPORTS))
        return Game(world, playing, self.reports, rng=noise), playing

    def _history(self, world: World, arm: Any) -> list[tuple[int, int, float]]:
        """Play what was played before the start; its parts, with their totals."""
        part = self.reports.bucket if self.reports.bucket > 1 else self.history
        told = []
        while world.rounds_played < 0:
            rounds = min(part, -world.rounds_played)
            told.append((arm, rounds, world.play(arm, rounds)))
        return told

    # What a run meets.

    def met_by(self, number: int) -> tuple[Problem, AnyPolicy]:
        """The problem as a run meets it, and the policy, told what there is to know of it."""
        if isinstance(self.problem, str):
            return self.drawn(number).met_by(number)
        problem, policy = self.prepared
        if self.order is not None:
            order = tuple(arm_order(problem.n_arms, self.seeds(number, self.order)))
            problem = self._permuted.get(order) or problem.permuted(order)
            if isinstance(self.problem, Problem) and len(self._permuted) < _KEPT_ORDERS:
                self._permuted[order] = problem
            if self._told_of_arms:
                policy = self._built_for(problem)
        return problem, policy

    @functools.cached_property
    def prepared(self) -> tuple[Problem, AnyPolicy]:
        """The problem as it is listed, and the policy, told what there is to know of it."""
        problem = self.problem
        if not isinstance(problem, Problem):
            return self.drawn(0).prepared
        if self._quietly:
            return problem, self._built_for(problem)
        policy: AnyPolicy = self._spec_for(problem).build()
        return problem, policy

    def drawn(self, number: int) -> Setting:
        """The setting of one run, with the problem that a law draws for it written out.

        Its run of the same number is the same run: so it can be replayed without the law.
        """
        if isinstance(self.problem, Problem):
            return self
        rng = np.random.default_rng(self.seeds(number, PROBLEM))
        found = LAWS.find(self.problem)(rng)
        if isinstance(found, Problem):
            new = dataclasses.replace(self, problem=found, problem_name="")
        else:
            new = dataclasses.replace(
                self, problem=found.problem, horizon=found.horizon, checkpoints=(), problem_name="",
                reports=reports_of(found.bucket),
            )  # fmt: skip
        object.__setattr__(new, "_quietly", number > 0)
        return new

    @functools.cached_property
    def _permuted(self) -> dict[tuple[int, ...], Problem]:
        """The problem in the orders that were met so far: tables are made once for each."""
        return {}

    @functools.cached_property
    def _told_of_arms(self) -> bool:
        """Whether the policy is told something that belongs to one arm and moves with it."""
        filled = set(self._spec_for(self.prepared[0]).parameters) - set(self.policy.parameters)
        return bool(filled & {"best_arm", "delay"})

    def _built_for(self, problem: Problem) -> AnyPolicy:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the policy was first built
            policy: AnyPolicy = self._spec_for(problem).build()
        return policy

    def _spec_for(self, problem: Problem) -> PolicySpec:
        if self.told is None or self.policy.policy is not None:
            return self.policy
        known = knowledge(problem, self.horizon)
        for key, factor in self.told.items():
            known_name(key, ("mean_delay", "delay_variance"), "knowledge to tell wrongly")
            known[key] *= factor
        return self.policy.told(known)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        kept = {each.name for each in dataclasses.fields(self)}
        return {key: value for key, value in self.__dict__.items() if key in kept}


_USUAL: dict[str, Any] = {
    "checkpoints": (), "measures": USUAL_MEASURES, "order": None, "told": {}, "world": "rounds",
    "before": None, "history": 0,
}  # fmt: skip


def reports_of(bucket: int = 1, lag: int = 0, reporting: Reporting | None = None) -> Reports:
    """How totals become known: in buckets of `bucket` rounds, `lag` rounds late, poorly or not.

    >>> reports_of(), reports_of(500, 1000)
    (AtOnce(), InBuckets(bucket=500, lag=1000))
    """
    bucket = whole_number(bucket, "the bucket", at_least=1)
    lag = whole_number(lag, "the report lag")
    if reporting is not None:
        if bucket == 1:
            raise InvalidInput("poorly reported totals come in buckets: say bucket=..., in rounds.")
        return Poor(bucket, lag, reporting)
    return InBuckets(bucket, lag) if bucket > 1 or lag else AtOnce()


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


def policy_for(text: str, problem: Problem, horizon: int) -> AnyPolicy:
    """The policy written as `text`, such as "odaaf" or "odaaf(mean_delay=20)", for a problem.

    What is not written is filled in with what is true of the problem.

    >>> policy_for("odaaf-b", Problem([0.5, 0.6], "uniform(0, 100)"), 250_000).ask().rounds
    1076
    >>> policy_for("qpm-d(base='kl-ucb')", Problem([0.5, 0.6], "poisson(9)"), 1000).name
    'QPM-D (KL-UCB)'
    """
    policy: AnyPolicy = PolicySpec.parse(text).told(knowledge(problem, horizon)).build()
    return policy


def _is_arm(before: object) -> bool:
    return isinstance(before, int) and not isinstance(before, bool)
