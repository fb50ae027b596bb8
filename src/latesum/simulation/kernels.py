# mypy: ignore-errors
"""The compiled inner loop of a block: what arrives in it and what spills over its end."""

from __future__ import annotations

from typing import Any, NamedTuple

from latesum._compile import allocation_free
from latesum._draw_kernels import binomial, uniform

#: What is left to do of a block: nothing; what comes after its last plays, or only what is further
#: from its end; or with delays kept in cohorts, for want of room, all of it, or what is left of moving on.
DONE, AFTER_SPILL, AFTER_COUNT, NOT_SENT, ON_THE_WAY = range(5)


class BernoulliTables(NamedTuple):
    """What playing an arm needs where all rewards are 0 or 1 and delays fit a table; per arm."""

    means: Any
    spread: Any
    tail: Any  # P(delay > spread)
    cdf: Any  # the tables of all delays, one after the other: an arm's is from its start ...
    cdf_start: Any
    guide: Any
    guide_start: Any  # ... on and has `spread` + 1 entries, its guide one more


class UnderWay(NamedTuple):
    """What is due in the next rounds, and room for what one block needs."""

    carry: Any
    beyond: Any
    uniforms: Any


@allocation_free
def take_arrivals(carry, rounds):
    """Sum what was due during the next `rounds` rounds, and move the rest to the front."""
    size = len(carry)
    passed = min(rounds, size)
    arrived = 0.0
    for slot in range(passed):
        arrived += carry[slot]
    for slot in range(passed, size):
        carry[slot - passed] = carry[slot]
    for slot in range(size - passed, size):
        carry[slot] = 0.0
    return arrived


@allocation_free
def _delay_of(uniform, cdf, guide):
    """The smallest delay k with cdf[k] > uniform."""
    delay = guide[int(uniform * (len(guide) - 1))]
    while cdf[delay] <= uniform:
        delay += 1
    return delay


@allocation_free
def spill_bernoulli(carry, rounds, uniforms, mean, cdf, guide, beyond):
    """Advance `carry` by a block whose last len(uniforms) plays are drawn one by one.

    Play i is i rounds before the end of the block. One uniform number serves for the reward and,
    divided by `mean` where the reward is 1, for the delay. Returns what arrived, and how many
    rewards have a delay beyond the table: their places are written into `beyond`.
    """
    arrived = take_arrivals(carry, rounds)
    # Whether a reward is 1, and whether it arrives, no processor can guess: nothing branches there.
    rewards = 0
    for place in range(len(uniforms)):
        beyond[rewards] = place
        rewards += uniforms[place] < mean
    late = inside = 0
    for reward in range(rewards):
        place = beyond[reward]
        scaled = uniforms[place] / mean
        if scaled >= cdf[-1]:
            beyond[late] = place
            late += 1
            continue
        wait = _delay_of(scaled, cdf, guide) - place
        inside += wait <= 0
        carry[max(wait - 1, 0)] += wait > 0
    return arrived + inside, late


@allocation_free
def spill_rewards(carry, rounds, rewards, uniforms, cdf, guide, beyond):
    """The same for any rewards, drawn beforehand."""
    arrived = take_arrivals(carry, rounds)
    late = 0
    for place in range(len(uniforms)):
        if uniforms[place] >= cdf[-1]:
            beyond[late] = place
            late += 1
            continue
        delay = _delay_of(uniforms[place], cdf, guide)
        if delay <= place:
            arrived += rewards[place]
        else:
            carry[delay - place - 1] += rewards[place]
    return arrived, late


@allocation_free
def play_bernoulli(tables, under_way, words, arm, rounds):
    """Play a block: what arrives in it, with the draws of `World.play` in the same order.

    `words` is the generator, as `latesum._draw_kernels` has it.
    Where a delay lies beyond the table it stops. Returns what is left to do, what arrived so far,
    how many rewards of the last plays have a delay beyond the table, and how many of the others.
    """
    spread, mean = tables.spread[arm], tables.means[arm]
    one_by_one = min(rounds, spread)
    uniforms = under_way.uniforms[:one_by_one]
    for place in range(one_by_one):
        uniforms[place] = uniform(words)
    start = tables.cdf_start[arm]
    cdf = tables.cdf[start : start + spread + 1]
    start = tables.guide_start[arm]
    guide = tables.guide[start : start + spread + 2]
    arrived, late = spill_bernoulli(
        under_way.carry, rounds, uniforms, mean, cdf, guide, under_way.beyond
    )
    if late:
        return AFTER_SPILL, arrived, late, 0
    rest = rounds - one_by_one
    if rest == 0:
        return DONE, arrived, 0, 0
    if tables.tail[arm] > 0.0:
        if rest * tables.tail[arm] >= 1:
            return AFTER_SPILL, arrived, 0, 0
        count = binomial(words, rest, tables.tail[arm])
        if count:
            return AFTER_COUNT, arrived, 0, count
    return DONE, arrived + binomial(words, rest, mean), 0, 0
