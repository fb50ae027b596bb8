"""Playing a policy against a problem, stretch by stretch."""

from __future__ import annotations

from collections import deque

import numpy as np

from latesum._checks import InvalidInput, whole_number
from latesum.attributed import AttributedPolicy
from latesum.attributed import run as run_attributed
from latesum.lab.run import Run
from latesum.policies import Play, Policy
from latesum.world import FieldProblem, Problem, Reward, World

#: What can be simulated: policies that see totals, and baselines that see which arm paid.
AnyPolicy = Policy | AttributedPolicy


def simulate(
    problem: Problem,
    policy: AnyPolicy,
    horizon: int,
    *,
    seed: int,
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
) -> Run:
    """Play a fresh copy of `policy` for `horizon` rounds.

    With `bucket` or `report_lag` the policy lives with data as they are in practice: it decides
    only at the ends of buckets of so many rounds, on totals that become known so many rounds
    after the end of their bucket.

    Args:
        problem: What is played.
        policy: What decides.
        horizon: The rounds to play.
        seed: The same seed gives the same run.
        bucket: The rounds of a bucket.
        report_lag: After how many rounds the total of a bucket is known.
        before: What was played until the start, and is still arriving: an arm, or a reward (or its
            mean) that is no arm. A policy is told by its own parameter `before`, or is not.
        history: For how many rounds before the start the totals of the arm `before` are known; the
            policy is told them, in parts of a bucket.

    >>> from latesum import ODAAF, Problem, simulate
    >>> policy = ODAAF.bounded(2, 250_000, mean_delay=50, delay_bound=100)
    >>> simulate(Problem([0.5, 0.6], "uniform(0, 100)"), policy, 250_000, seed=1)
    Run(250,000 rounds, 12 stretches, regret 2,049.1)
    """
    horizon = whole_number(horizon, "the horizon", at_least=1)
    bucket = whole_number(bucket, "the bucket", at_least=1)
    report_lag = whole_number(report_lag, "the report lag")
    history = whole_number(history, "the rounds of the history")
    if isinstance(policy, AttributedPolicy):
        refuse_live_data(problem, policy, bucket, report_lag, before)
        return Run(problem, _play_attributed(problem, policy, horizon, (seed, 0)))
    plays = play_once(problem, policy, horizon, (seed, 0), bucket, report_lag, before, history)
    return Run(problem, plays)


def refuse_live_data(
    problem: Problem,
    policy: AttributedPolicy,
    bucket: int,
    report_lag: int,
    before: object = None,
) -> None:
    """The compiled baselines know the paper's world only, and see every reward as it arrives."""
    if before is not None:
        raise InvalidInput(f"{policy.name} begins with nothing under way; leave `before` out.")
    if bucket > 1 or report_lag:
        raise InvalidInput(
            f"{policy.name} sees every reward as it arrives; it cannot be run in buckets or "
            "with a report lag."
        )
    if isinstance(problem, FieldProblem):
        raise InvalidInput(
            f"{policy.name} sees which arm paid; it runs on a Problem, not on a FieldProblem."
        )


def seed_sequence(seed: tuple[int, int], stream: int) -> np.random.SeedSequence:
    """The seeds of one replication, as `SeedSequence(seed).spawn` would give them.

    So a replication is the same whoever runs it, and in whatever order.
    """
    return np.random.SeedSequence(seed[0], spawn_key=(seed[1], stream))


def play_once(
    problem: Problem,
    policy: Policy,
    horizon: int,
    seed: tuple[int, int],
    bucket: int = 1,
    report_lag: int = 0,
    before: Reward | float | str | None = None,
    history: int = 0,
) -> list[Play]:
    """The plays of one replication; `seed` is the experiment's seed and the replication's number."""
    world = problem.start(
        rng=np.random.Generator(np.random.PCG64(seed_sequence(seed, 0))), before=before, at=-history
    )
    told = _play_history(world, before, bucket) if history else None
    rng = None
    if policy.random:
        rng = np.random.Generator(np.random.PCG64(seed_sequence(seed, 1)))
    policy = policy.fresh(rng=rng, history=told)
    if isinstance(problem, FieldProblem) and problem.reporting is not None:
        from latesum.lab.reported import play_reported

        if bucket == 1:
            raise InvalidInput("poorly reported totals come in buckets: say bucket=..., in rounds.")
        return play_reported(
            world, policy, horizon, bucket=bucket, report_lag=report_lag,
            reporting=problem.reporting, rng=np.random.default_rng(seed_sequence(seed, 2)),
        )  # fmt: skip
    if bucket > 1 or report_lag:
        return _play_in_buckets(world, policy, horizon, bucket, report_lag)
    plays = []
    left = horizon
    while left:
        arm, rounds, purpose, number, part = policy.ask()
        rounds = min(rounds, left) if part is None else min(rounds, part, left)
        play = Play(arm, rounds, world.play(arm, rounds), purpose, number)
        policy.tell(*play)
        plays.append(play)
        left -= rounds
    return plays


def _play_history(world: World, before: object, bucket: int) -> list[tuple[int, int, float]]:
    """The parts that were played before the start, with their totals."""
    if not isinstance(before, int) or isinstance(before, bool):
        raise InvalidInput("a history needs before=...: the arm that was played in it.")
    part = bucket if bucket > 1 else -world.rounds_played
    told = []
    while world.rounds_played < 0:
        rounds = min(part, -world.rounds_played)
        told.append((before, rounds, world.play(before, rounds)))
    return told


def _play_attributed(
    problem: Problem, policy: AttributedPolicy, horizon: int, seed: tuple[int, int]
) -> list[Play]:
    seen = run_attributed(
        problem, policy, horizon, seed_sequence=seed_sequence(seed, 0), record=True
    )
    assert seen.starts is not None
    assert seen.arms is not None
    lengths = np.diff(np.append(seen.starts, horizon)).tolist()
    return [Play(arm, rounds) for arm, rounds in zip(seen.arms.tolist(), lengths, strict=True)]


def _play_in_buckets(
    world: World, policy: Policy, horizon: int, bucket: int, report_lag: int
) -> list[Play]:
    plays: list[Play] = []
    unreported: deque[tuple[int, Play]] = deque()  # when it becomes known, and what
    while world.rounds_played < horizon:
        while unreported and unreported[0][0] <= world.rounds_played:
            policy.tell(*unreported.popleft()[1])
        deciding = policy.copy() if unreported else policy
        for _, play in unreported:
            deciding.tell(play.arm, play.rounds, None, play.purpose, play.number)
        arm, rounds, purpose, number, part = deciding.ask()
        # With totals known at once, nothing can change before the stretch asked for is over.
        buckets = 1 if report_lag else -(-rounds // bucket)
        if part is not None:
            buckets = min(buckets, max(1, part // bucket))
        rounds = min(buckets * bucket, horizon - world.rounds_played)
        plays.append(Play(arm, rounds, world.play(arm, rounds), purpose, number))
        unreported.append((world.rounds_played + report_lag, plays[-1]))
    return plays
