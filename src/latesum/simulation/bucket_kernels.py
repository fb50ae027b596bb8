# mypy: ignore-errors
"""The compiled inner loop of a world that is played in whole buckets: which bucket every late reward arrives in."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from latesum._compile import compiled
from latesum._draw_kernels import binomial, uniform
from latesum.simulation.kernels import DONE

#: Every reward of these arms is 1.
_ONE, _ALL = np.ones(1), np.full(1, np.inf)


class BucketTables(NamedTuple):
    """What playing an arm for whole buckets needs where all rewards are 0 or 1 and delays have a curve; per arm."""

    means: Any
    reach: Any  # plays further from the end than this arrive in their block
    starts: Any  # where the blocks of distances start, of all arms one after the other, ...
    longer: Any  # ... how likely a longer delay is there, ...
    first_block: Any  # ... and where an arm's blocks begin; one more, for the end of the last
    times: Any  # the curves that delays are drawn by, likewise
    alive: Any
    first_point: Any
    tails: Any


class DueBuckets(NamedTuple):
    """What will arrive in each bucket from round 0 on, and the rounds of a bucket."""

    due: Any
    bucket: int


@compiled
def _delay_at(level, times, alive, tail):
    """The whole delay that is exceeded with the probability `level`, by a curve as `delays.curves.Curve` has it."""
    last = len(alive) - 1
    if level > alive[0]:
        return math.ceil(times[0])
    if level <= alive[last]:
        late = times[last]
        if tail > 0.0:
            late += tail * math.log(alive[last] / level)
        return math.ceil(min(late, 4e18))
    low, high = 0, last  # alive[low] >= level > alive[high]
    while high - low > 1:
        middle = (low + high) // 2
        if alive[middle] >= level:
            low = middle
        else:
            high = middle
    part = (alive[low] - level) / (alive[low] - alive[high])
    return math.ceil(times[low] + part * (times[high] - times[low]))


@compiled
def play_late(
    words,
    due,
    end,
    bucket,
    first,
    last,
    chance,
    amounts,
    shares,
    starts,
    longer,
    times,
    alive,
    tail,
):
    """Draw the rewards of the plays at the distances `first` to `last` - 1 from the end of a block.

    Distances are cut into blocks that begin at `starts`. A play of a block can spill over the end only if its delay
    exceeds the block's start, which it does with the probability `longer`. Those that pay and do are drawn one by
    one: how many plays lie between two of them is geometric. The number of the others that pay, which arrive in time, is one binomial
    draw. A late reward of one of the `amounts`, by their cumulative `shares`, is added to the bucket of
    `due` in which it arrives, of which `end` is the first after the block. `words` is the generator, as
    `latesum._draw_kernels` has it. Returns how many arrive in time.
    """
    in_time = 0
    for block in range(len(starts)):
        begin = max(starts[block], first)
        stop = last if block + 1 == len(starts) else min(starts[block + 1], last)
        if stop <= begin:
            continue
        found = 0
        hit = chance * longer[block]
        if hit > 0.0:
            log_of_missing = math.log1p(-hit) if hit < 1.0 else -np.inf
            place = begin - 1
            while True:
                missed = math.log(1.0 - uniform(words)) / log_of_missing
                if missed >= stop - 1 - place:
                    break
                place += 1 + int(missed)
                found += 1
                wait = _delay_at(longer[block] * (1.0 - uniform(words)), times, alive, tail) - place
                if wait <= 0:
                    in_time += 1
                    continue
                arrives = end + (wait - 1) // bucket
                if len(amounts) == 1:
                    amount = amounts[0]
                else:
                    amount = amounts[np.searchsorted(shares, uniform(words), side="right")]
                if arrives < len(due):
                    due[arrives] += amount
        rest = chance * (1.0 - longer[block])
        if rest > 0.0:
            in_time += binomial(words, stop - begin - found, min(rest / (1.0 - hit), 1.0))
    return in_time


@compiled
def play_in_buckets(tables, under_way, words, arm, rounds, end):
    """Play a block of whole buckets that ends with round `end`, with the draws of `BucketWorld.play` in the same order.

    Returns what `play_bernoulli` does.
    """
    due, bucket = under_way.due, under_way.bucket
    after = end // bucket
    arrived = 0.0
    for each in range((end - rounds) // bucket, after):
        arrived += due[each]
    near, mean = min(rounds, tables.reach[arm]), tables.means[arm]
    if rounds > near:
        arrived += binomial(words, rounds - near, mean)
    if near > 0:
        block, stop = tables.first_block[arm], tables.first_block[arm + 1]
        point, last = tables.first_point[arm], tables.first_point[arm + 1]
        arrived += play_late(
            words, due, after, bucket, 0, near, mean, _ONE, _ALL, tables.starts[block:stop],
            tables.longer[block:stop], tables.times[point:last], tables.alive[point:last], tables.tails[arm],
        )  # fmt: skip
    return DONE, arrived, 0, 0
