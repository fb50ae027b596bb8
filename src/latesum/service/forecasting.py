"""When a campaign will be decided: its rest is simulated many times, from what is believed now.

Each simulated world has means drawn from what is believed of the options, and goes on from what was
played so far. The policy decides in it as it does in the campaign. The time of a simulated decision is
that of the first bucket after which the page would name a winner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import plays_at
from latesum.campaigns.state import CampaignState
from latesum.campaigns.view import Status
from latesum.delays import parse
from latesum.policies import Estimate, Play, Policy
from latesum.policies.estimates import named_winner
from latesum.simulation import Problem

#: Simulated continuations; enough to tell a week from a month.
REPLICATIONS = 40
#: A campaign that is not decided after this many more buckets is said not to be decided soon.
MOST_BUCKETS = 180
_LEVEL = 0.95


class Question(NamedTuple):
    """What is needed to simulate the rest of a campaign, as JSON values."""

    config: dict[str, Any]
    #: What the policy was told: plays, and the numbers of options that were removed.
    told: list[list[Any] | int]
    #: Buckets between the end of one and the time when its total is known.
    lag: int


def question_of(state: CampaignState, status: Status) -> Question | None:
    """What is to be simulated; None if the campaign is over, decided or paused, or nothing is known."""
    told = plays_at(state, status.now)
    over = status.state not in ("running", "pinned") or status.winner is not None
    if over or not any(isinstance(each, Play) and each.total is not None for each in told):
        return None
    lag = 0
    for row in reversed(status.timeline):
        if row.state == "known":
            break
        lag += row.state == "pending"
    plain = [list(each) if isinstance(each, Play) else each for each in told]
    return Question(state.config.to_json(), plain, lag)


def forecast(question: Question) -> dict[str, Any]:
    """In how many more buckets the campaign is decided, in each simulated continuation.

    `buckets` has the 10th, 50th and 90th percentile, None where it is not decided soon; `decided` the
    share of continuations that are decided within `MOST_BUCKETS`.
    """
    config = CampaignConfig.from_json(question.config)
    told = [Play(*each) if isinstance(each, list) else each for each in question.told]
    policy = config.build_policy()
    for each in told:
        if isinstance(each, Play):
            policy.tell(*each)
        else:
            policy.drop(each)
    dropped = {each for each in told if not isinstance(each, Play)}
    plays = [each for each in told if isinstance(each, Play)]
    delay = _delay(config)
    seeds = np.random.SeedSequence(config.seed).spawn(REPLICATIONS)
    found = [
        _continue(config, policy, plays, dropped, delay, np.random.default_rng(seed))
        for seed in seeds
    ]
    decided = sorted(each + question.lag for each in found if each is not None)
    return {
        "buckets": [_percentile(decided, share) for share in (0.1, 0.5, 0.9)],
        "decided": len(decided) / REPLICATIONS,
        "replications": REPLICATIONS,
    }


def _percentile(decided: Sequence[int], share: float) -> int | None:
    place = int(share * (REPLICATIONS - 1))
    return decided[place] if place < len(decided) else None


def _continue(
    config: CampaignConfig,
    policy: Policy,
    plays: list[Play],
    dropped: set[int],
    delay: str,
    rng: np.random.Generator,
) -> int | None:
    """The buckets until a winner is named in one simulated continuation; None if there is none soon."""
    estimates = policy.estimates(_LEVEL)
    world = Problem(_drawn_means(estimates, rng), delay).start(rng=rng)
    for play in plays:
        world.play(play.arm, play.rounds)
    visits, last = [0] * config.n_options, None
    for play in plays:
        visits[play.arm] += play.arm != last
        last = play.arm
    simulated = policy.copy()
    rounds = config.expected_rounds
    number = max(play.number or 0 for play in plays) + 1
    look = 1
    for bucket in range(1, MOST_BUCKETS + 1):
        asked = simulated.ask()
        visits[asked.arm] += asked.arm != last
        last = asked.arm
        total = world.play(asked.arm, rounds)
        simulated.tell(asked.arm, rounds, total, asked.purpose, asked.number or number)
        number += 1
        if bucket < look:
            continue
        # To within a twentieth: limits of Unmix that was told nothing cost far more than a decision.
        look = bucket + max(1, bucket // 20)
        if _decided(simulated, visits, dropped):
            return bucket
    return None


def _decided(policy: Policy, visits: list[int], dropped: set[int]) -> bool:
    """Whether the page would name a winner (`latesum.campaigns.view`)."""
    commits = policy.ask().purpose == "commit"
    estimates = policy.estimates(_LEVEL)
    return named_winner(estimates, visits, commits=commits, removed=dropped) is not None


def _drawn_means(estimates: list[Estimate], rng: np.random.Generator) -> list[float]:
    half = float(ndtri((1 + _LEVEL) / 2))
    means = []
    for each in estimates:
        middle = (each.low + each.high) / 2 if each.mean is None else each.mean
        drawn = rng.normal(middle, max((each.high - each.low) / (2 * half), 0.0))
        means.append(float(np.clip(drawn, 1e-6, 1 - 1e-6)))
    return means


def _delay(config: CampaignConfig) -> str:
    """The delay that the campaign was told, as a text; exponential if only its mean is known."""
    parameters = config.parameters
    given = parameters.get("delay")
    if isinstance(given, str):
        parse(given)
        return given
    mean = parameters.get("mean_delay")
    return (
        f"exponential({float(mean):g})" if isinstance(mean, int | float) and mean else "constant(0)"
    )
