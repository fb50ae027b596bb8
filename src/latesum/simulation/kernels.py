# mypy: ignore-errors
"""The compiled inner loop of a block: what arrives in it and what spills over its end."""

from __future__ import annotations

from latesum._compile import compiled


@compiled
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


@compiled
def _delay_of(uniform, cdf, guide):
    """The smallest delay k with cdf[k] > uniform."""
    delay = guide[int(uniform * (len(guide) - 1))]
    while cdf[delay] <= uniform:
        delay += 1
    return delay


@compiled
def spill_bernoulli(carry, rounds, uniforms, mean, cdf, guide, beyond):
    """Advance `carry` by a block whose last len(uniforms) plays are drawn one by one.

    Play i is i rounds before the end of the block, which is its age. One uniform
    number serves for the reward and, divided by `mean` where the reward is 1, for the delay.
    Returns what arrived, and how many rewards have a delay beyond the table: their ages are written
    into `beyond`.
    """
    arrived = take_arrivals(carry, rounds)
    # Whether a reward is 1, and whether it arrives, no processor can guess: nothing branches there.
    rewards = 0
    for age in range(len(uniforms)):
        beyond[rewards] = age
        rewards += uniforms[age] < mean
    late = inside = 0
    for reward in range(rewards):
        age = beyond[reward]
        scaled = uniforms[age] / mean
        if scaled >= cdf[-1]:
            beyond[late] = age
            late += 1
            continue
        wait = _delay_of(scaled, cdf, guide) - age
        inside += wait <= 0
        carry[max(wait - 1, 0)] += wait > 0
    return arrived + inside, late


@compiled
def spill_rewards(carry, rounds, uniforms, rewards, cdf, guide, beyond):
    """The same for any rewards, drawn beforehand."""
    arrived = take_arrivals(carry, rounds)
    late = 0
    for age in range(len(uniforms)):
        if uniforms[age] >= cdf[-1]:
            beyond[late] = age
            late += 1
            continue
        delay = _delay_of(uniforms[age], cdf, guide)
        if delay <= age:
            arrived += rewards[age]
        else:
            carry[delay - age - 1] += rewards[age]
    return arrived, late
