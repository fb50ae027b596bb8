"""The flow balance, compiled: its equations, and how a play enters them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from latesum._compile import allocation_free, compiled

# Places in `counters`.
ROUNDS_PLAYED = 0
PREVIOUS = 1  # the arm played last, or -1
PREVIOUS_KNOWN = 2  # 1 if its total is known
RECENT = 3  # how many entries of `recent_arms` there are
MOST_LEAKS = 4  # the largest of `leak_counts`


class BalanceState(NamedTuple):
    """One equation per arm; `FlowBalance` says what they mean."""

    mean_delay: float
    late: float  # how much later the late half of the rewards comes
    foreign_rounds: float  # for how long something that is no arm may still arrive ...
    foreign: Any  # ... and its equation: the weights of all arms and of itself, and the total
    weights: Any
    own: Any  # the diagonal of `weights`
    leaks: Any  # the other arms with a weight in each row, by their numbers ...
    leak_weights: Any  # ... and these weights side by side, since solving goes over all of them
    leak_counts: Any  # how many there are in each row
    rounds: Any
    totals: Any
    boundaries: Any
    last_played: Any
    counters: Any
    recent_arms: Any  # what was played in the last 2 E rounds, oldest first: arms ...
    recent_rounds: Any  # ... and for how long


@allocation_free
def add(balance, arm, rounds, total, known):  # type: ignore[no-untyped-def]
    """Take in a play: `arm` for `rounds` rounds, in which `total` arrived if that is known.

    There must be room (`has_room`).
    """
    counters = balance.counters
    if known and counters[ROUNDS_PLAYED] < balance.foreign_rounds:
        known = False
        balance.foreign[-1] += total
        _add_arrivals(balance, balance.foreign, arm, rounds)
    elif known:
        balance.rounds[arm] += rounds
        balance.totals[arm] += total
        if arm != counters[PREVIOUS] or not counters[PREVIOUS_KNOWN]:
            balance.boundaries[arm] += 1.0
        _add_arrivals(balance, balance.weights[arm], arm, rounds)
        _note_leaks(balance, arm)
    _remember(balance, arm, rounds)
    counters[PREVIOUS], counters[PREVIOUS_KNOWN] = arm, known
    counters[ROUNDS_PLAYED] += rounds
    balance.last_played[arm] = counters[ROUNDS_PLAYED]


@allocation_free
def _add_arrivals(balance, row, arm, rounds):  # type: ignore[no-untyped-def]
    """Half of the plays at once, and half of what was played 2 E rounds earlier."""
    late = balance.late
    row[arm] += rounds / 2 + max(0.0, rounds - late) / 2
    # The late half of what was played `age` rounds ago comes in late - age rounds: during
    # this play, if the age is above `youngest`.
    youngest = max(0.0, late - rounds)
    age = 0.0
    for place in range(balance.counters[RECENT] - 1, -1, -1):
        length = balance.recent_rounds[place]
        arriving = min(age + length, late) - max(age, youngest)
        if arriving > 0:
            row[balance.recent_arms[place]] += arriving / 2
        age += length


@allocation_free
def _note_leaks(balance, arm):  # type: ignore[no-untyped-def]
    """Write down anew the weights in the row of an arm that may have grown: its own and recent ones."""
    weights, row, n_arms = balance.weights[arm], balance.leaks[arm], len(balance.rounds)
    balance.own[arm] = weights[arm]
    for recent in range(balance.counters[RECENT]):
        other = balance.recent_arms[recent]
        if other in (arm, n_arms) or weights[other] == 0.0:  # n_arms: what is no arm
            continue
        count = balance.leak_counts[arm]
        place = 0
        while place < count and row[place] < other:
            place += 1
        if place == count or row[place] != other:
            for later in range(count, place, -1):
                row[later] = row[later - 1]
                balance.leak_weights[arm, later] = balance.leak_weights[arm, later - 1]
            row[place] = other
            balance.leak_counts[arm] += 1
        balance.leak_weights[arm, place] = weights[other]
    balance.counters[MOST_LEAKS] = max(balance.counters[MOST_LEAKS], balance.leak_counts[arm])


@allocation_free
def find_leaks(weights, leaks, leak_weights, leak_counts):  # type: ignore[no-untyped-def]
    """Write down the other arms with a weight in each row; the most that a row has."""
    most = 0
    for arm in range(len(weights)):
        for other in range(len(weights)):
            if other != arm and weights[arm, other] != 0.0:
                place = leak_counts[arm]
                leaks[arm, place], leak_weights[arm, place] = other, weights[arm, other]
                leak_counts[arm] += 1
        most = max(most, leak_counts[arm])
    return most


@allocation_free
def _remember(balance, arm, rounds):  # type: ignore[no-untyped-def]
    counters, arms, lengths = balance.counters, balance.recent_arms, balance.recent_rounds
    if rounds >= balance.late:
        counters[RECENT] = 0
        if balance.late > 0:
            arms[0], lengths[0] = arm, balance.late
            counters[RECENT] = 1
        return
    count = counters[RECENT]
    if count and arms[count - 1] == arm:
        lengths[count - 1] += rounds
    else:
        arms[count], lengths[count] = arm, rounds
        count += 1
    excess = 0.0
    for place in range(count):
        excess += lengths[place]
    excess -= balance.late
    first = 0
    while excess > 0:
        if lengths[first] > excess:
            lengths[first] -= excess
            break
        excess -= lengths[first]
        first += 1
    if first:
        count -= first
        for place in range(count):
            arms[place], lengths[place] = arms[place + first], lengths[place + first]
    counters[RECENT] = count


@allocation_free
def has_room(balance):  # type: ignore[no-untyped-def]
    """Whether one more play can be remembered, and what leaks into it be written down."""
    recent, room = balance.counters[RECENT], balance.leaks.shape[1]
    leaks = min(balance.counters[MOST_LEAKS] + recent, len(balance.rounds))
    return recent < len(balance.recent_arms) and leaks <= room


@allocation_free
def count_disturbing(balance, noise, plays):  # type: ignore[no-untyped-def]
    """Write how many plays each total is a sum over: N + noise E B, at least 1."""
    spread = noise * balance.mean_delay
    for arm in range(len(plays)):
        plays[arm] = max(balance.rounds[arm] + spread * balance.boundaries[arm], 1.0)


@compiled
def disturbing_plays(balance, noise):  # type: ignore[no-untyped-def]
    """The same in an array of its own."""
    plays = np.empty(len(balance.rounds))
    count_disturbing(balance, noise, plays)
    return plays
