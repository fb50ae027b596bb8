"""Playing a candidate through the user's campaign, bucket by bucket, many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.lab.parallel import in_chunks
from latesum.policies import Policy
from latesum.world import FieldProblem, Problem
from latesum.world.buckets import BucketWorld

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: Of the time that is left, this share must go to a good option for the run to have settled.
SETTLED_SHARE = 0.95
#: Points in time at which the share of runs on a good option is kept, for the figure.
MOMENTS = 60


class RunRecord(NamedTuple):
    """What is kept of one run."""

    loss: float  # against always playing the best, in scaled rewards
    equal_split_loss: float
    switches: int
    ended_well: bool  # the option it would go on with is the best, or within the lift
    settled_after: float  # in buckets; infinite if it never settled
    on_good: NDArray[np.bool_]  # at each of the moments


@dataclass(frozen=True)
class Campaign:
    """A problem and a policy to play in it, in buckets; the options are shuffled in every run.

    `within`: an option that is less than this below the best (scaled) is good enough.
    """

    problem: Problem
    policy: Policy
    bucket: int
    buckets: int
    within: float
    seed: tuple[int, ...]

    def run(self, number: int) -> RunRecord:
        """One run; it depends on the seed and its number only."""
        seeds = np.random.SeedSequence(self.seed[0], spawn_key=(*self.seed[1:], number)).spawn(3)
        shuffled = np.random.default_rng(seeds[2]).permutation(self.problem.n_arms).tolist()
        world = BucketWorld(
            self.problem, bucket=self.bucket, buckets=self.buckets,
            rng=np.random.Generator(np.random.PCG64(seeds[0])),
        )  # fmt: skip
        policy = self.policy
        policy = (
            policy.fresh(rng=np.random.default_rng(seeds[1])) if policy.random else policy.fresh()
        )
        arms, ends = [], [0]
        left = self.buckets
        while left:
            asked, rounds, purpose, number, part = policy.ask()
            arm = shuffled[asked]
            # Totals are known at the end of each bucket, so nothing changes within the stretch.
            buckets = min(-(-rounds // self.bucket), left)
            if part is not None:
                buckets = min(buckets, max(1, part // self.bucket))
            policy.tell(asked, buckets * self.bucket, world.play(arm, buckets), purpose, number)
            left -= buckets
            arms.append(arm)
            ends.append(ends[-1] + buckets)
        return self._record(arms, np.array(ends), shuffled[_answer(policy)])

    def _record(self, arms: list[int], ends: Integers, answer: int) -> RunRecord:
        problem = self.problem
        good = [gap < self.within - 1e-12 or gap <= 1e-12 for gap in problem.gaps]
        rounds = ends * self.bucket
        loss = float(sum(self._lost(arm, rounds[i : i + 2]) for i, arm in enumerate(arms)))
        whole = np.array([0, rounds[-1]])
        equal = float(np.mean([self._lost(arm, whole) for arm in range(problem.n_arms)]))
        arm_of_bucket = np.repeat(arms, np.diff(ends))
        on_good = np.array(good)[arm_of_bucket]
        moments = np.linspace(0, self.buckets - 1, min(MOMENTS, self.buckets)).astype(int)
        return RunRecord(
            loss, equal, int(np.count_nonzero(np.diff(arms))), good[answer],
            _settled_after(on_good) if good[answer] else np.inf, on_good[moments],
        )  # fmt: skip

    def _lost(self, arm: int, span: Integers) -> float:
        if isinstance(self.problem, FieldProblem):
            start, end = self.problem.lost_by(arm, span)
            return float(end - start)
        return self.problem.gaps[arm] * int(span[1] - span[0])


def _answer(policy: Policy) -> int:
    """The option that the policy would go on with: the one that looks best to it."""
    estimates = [row for row in policy.estimates() if row.mean is not None]
    if not estimates:  # nothing is known, or the policy does not say
        return policy.ask().arm
    still_in = [row for row in estimates if row.active] or estimates
    return max(still_in, key=lambda row: row.mean if row.mean is not None else -1.0).arm


def _settled_after(on_good: NDArray[np.bool_]) -> float:
    """The first bucket from which on nearly all are on a good option."""
    later = np.cumsum(on_good[::-1])[::-1] / np.arange(len(on_good), 0, -1)
    settled = later >= SETTLED_SHARE
    return float(np.argmax(settled)) if settled.any() else float(np.inf)


class Outcome(NamedTuple):
    """All runs of one campaign."""

    loss: Floats
    equal_split_loss: float
    switches: Integers
    ended_well: NDArray[np.bool_]
    settled_after: Floats
    on_good: Floats  # the share of runs, at each moment


def run_campaigns(
    campaigns: Sequence[Campaign],
    replications: int,
    *,
    workers: int,
    progress: Callable[[int, int], None] | None = None,
) -> list[Outcome]:
    """Every campaign so many times; the result does not depend on `workers`."""
    tasks = [(index, number) for number in range(replications) for index in range(len(campaigns))]
    job: Callable[[tuple[int, int]], RunRecord] = _Job(tuple(campaigns))
    records = in_chunks(job, tasks, workers=workers, progress=progress)
    outcomes = []
    for index in range(len(campaigns)):
        own = records[index :: len(campaigns)]
        outcomes.append(
            Outcome(
                np.array([record.loss for record in own]),
                own[0].equal_split_loss,
                np.array([record.switches for record in own]),
                np.array([record.ended_well for record in own]),
                np.array([record.settled_after for record in own]),
                np.mean([record.on_good for record in own], axis=0),
            )
        )
    return outcomes


@dataclass(frozen=True)
class _Job:
    campaigns: tuple[Campaign, ...]

    def __call__(self, task: tuple[int, int]) -> RunRecord:
        return self.campaigns[task[0]].run(task[1])
