"""When a winner is named: one option is left, and all that were in the race had two periods."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from latesum.policies.plays import Estimate


def may_be_best(estimate: Estimate, best: Estimate) -> bool:
    """Whether an arm is still in the race.

    It is not where the policy has dropped it, or its whole interval lies below that of the best.

    Args:
        estimate: What is known of the arm.
        best: What is known of the arm that looks best.
    """
    return estimate.active and (best.mean is None or estimate.high >= best.low)


def named_winner(
    estimates: Sequence[Estimate],
    visits: Sequence[int],
    *,
    commits: bool,
    removed: Collection[int] = (),
) -> int | None:
    """The arm that can be kept, if there is one already.

    Args:
        estimates: What is known of each arm.
        visits: In how many periods each arm was played.
        commits: Whether the policy has decided to play one arm only.
        removed: Arms that may not be played any longer.

    >>> from latesum.policies import Flow
    >>> policy = Flow(2, 1_000, mean_delay=5)
    >>> print(named_winner(policy.estimates(), [0, 0], commits=False))
    None
    """
    known = [each for each in estimates if each.mean is not None and each.arm not in removed]
    if not known:
        return None
    best = max([each for each in known if each.active] or known, key=lambda each: each.mean or 0.0)
    surviving = [
        each
        for each in estimates
        if each.arm == best.arm or (each.arm not in removed and may_be_best(each, best))
    ]
    if not (commits or len(surviving) == 1) or any(visits[each.arm] < 2 for each in surviving):
        return None
    return best.arm
