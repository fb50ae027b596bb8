"""What is measured of a run's plays, compiled: a call costs less than the few steps that NumPy needs for it."""

from __future__ import annotations

from latesum._compile import allocation_free


@allocation_free
def add_up(arms, rounds, gaps, ends, regrets):  # type: ignore[no-untyped-def]
    """Write the rounds and the regret at the end of each block; both begin with 0."""
    ends[0], regrets[0] = 0, 0.0
    for place in range(len(arms)):
        ends[place + 1] = ends[place] + rounds[place]
        regrets[place + 1] = regrets[place] + gaps[arms[place]] * rounds[place]


@allocation_free
def regret_at(ends, regrets, moments, found):  # type: ignore[no-untyped-def]
    """Write the regret after each of `moments` rounds, in any order: within a block it grows evenly."""
    for number in range(len(moments)):
        moment, first, last = moments[number], 0, len(ends) - 1
        while last - first > 1:  # the block that it is in
            middle = (first + last) // 2
            if ends[middle] <= moment:
                first = middle
            else:
                last = middle
        if moment == ends[last]:
            first = last
        found[number] = regrets[first]
        if moment != ends[first]:
            slope = (regrets[last] - regrets[first]) / float(ends[last] - ends[first])
            found[number] = slope * float(moment - ends[first]) + regrets[first]


@allocation_free
def measure_runs(arms, rounds, run_ends, gaps, moments, ends, regrets, found, switches):  # type: ignore[no-untyped-def]
    """For runs whose plays follow each other: the regret at each of `moments`, and how often the arm changed.

    `ends` and `regrets` are room for one run.
    """
    start = 0
    for run in range(len(run_ends)):
        end = run_ends[run]
        if end > start:
            count = end - start
            own = arms[start:end]
            add_up(own, rounds[start:end], gaps, ends[: count + 1], regrets[: count + 1])
            regret_at(ends[: count + 1], regrets[: count + 1], moments, found[run])
            switches[run] = 0
            for place in range(1, count):
                switches[run] += own[place] != own[place - 1]
        start = end
