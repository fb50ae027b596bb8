"""The order of arms, drawn anew in every run, so that no policy is helped by where the best stands.

A policy that tries arms in a fixed order loses little or a lot by the place of the best one. Where
policies are ranked on a problem, its arms are therefore listed in an order that means nothing.
"""

from __future__ import annotations

import warnings

import numpy as np

from latesum.lab.roster import policy_for
from latesum.lab.simulation import AnyPolicy, seed_sequence
from latesum.world import Problem

#: The stream of a replication's seed that the order comes from; the world, the policy and the
#: reports have the streams 0, 1 and 2.
_STREAM = 3


def random_order(n_arms: int, seed: tuple[int, int]) -> list[int]:
    """The order of a replication: the same for every policy, independent of all other draws.

    `seed` is the experiment's seed and the replication's number.

    >>> random_order(3, (1, 0)), random_order(3, (1, 2))
    ([0, 2, 1], [1, 2, 0])
    """
    rng = np.random.default_rng(seed_sequence(seed, _STREAM))
    order: list[int] = rng.permutation(n_arms).tolist()
    return order


def in_random_order(
    problem: Problem, text: str, horizon: int, seed: tuple[int, int]
) -> tuple[Problem, AnyPolicy]:
    """The problem as a replication meets it, and the policy written as `text`, built for it.

    What a policy knows of single arms, such as the oracle of the best one, follows the order.

    >>> problem, policy = in_random_order(Problem([0.1, 0.5, 0.9], "constant(3)"), "oracle", 9, (1, 0))
    >>> problem.means, policy.ask().arm
    ((0.1, 0.9, 0.5), 1)
    """
    shuffled = problem.permuted(random_order(problem.n_arms, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said when the policy was first built for the problem
        return shuffled, policy_for(text, shuffled, horizon)
