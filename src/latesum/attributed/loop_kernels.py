# mypy: ignore-errors
"""The compiled loop over rounds: play, let rewards travel, hand over what arrives.

Rewards in flight are linked lists, one per round of arrival, in a ring of rounds. All nodes are in
one array, `rewards_in_flight`; node i < len(ring) stands before the first reward of slot i, and
unused nodes are a list too. A delay longer than the ring stays in its slot for another turn.
"""

from __future__ import annotations

import numpy as np

from latesum._compile import compiled
from latesum.attributed import layout_kernels as layout
from latesum.attributed.index_kernels import (
    age_plays,
    best_index,
    choose_delayed_ucb1,
    choose_ducb,
    choose_improved_ucb,
    choose_sdb,
    thompson,
)


@compiled
def play_rounds(run, rewards, delays, played, flight, ring, policy, arms, survival, changes, rng):
    """Play the rounds from `run.now` to `run.end` - 1 and write their arms to `played`."""
    mask, chunk = len(ring) - 1, len(played) - 1
    several = np.int64(-1)  # of several arms; a literal -1 would make a version of its own
    while run.now < run.end:
        if policy.rule == layout.QPMD and policy.lead > 0.0:
            _play_leader(run, rewards, delays, played, flight, ring, policy, arms)
            if run.now == run.end:
                return
        now = run.now
        arm = _choose(now, policy, arms, survival, changes, rng)
        arms[arm].plays += 1
        index = now & chunk
        played[index] = arm
        delay = delays[min(arm, len(delays) - 1), index]
        if delay < run.horizon - now:
            node = _new_node(now + delay, arm, rewards[arm, index], run, flight)
            _append(node, arm if delay <= mask else -1, ring[(now + delay) & mask], flight)
        else:
            run.unseen += 1
        slot = ring[now & mask]
        node = flight[now & mask].next if slot.count > 0 else -1
        slot.count, slot.total, slot.last = 0, 0.0, now & mask
        while node >= 0:
            following = flight[node].next
            if flight[node].due == now:
                _receive(node, run, flight, policy, arms, rng)
            else:
                _append(node, several, slot, flight)
            node = following
        run.now += 1


@compiled
def _choose(now, policy, arms, survival, changes, rng):
    rule = policy.rule
    if rule == layout.QPMD:
        return policy.asked  # its queue is empty
    if rule == layout.SDB:
        return choose_sdb(policy, arms, rng)
    if rule == layout.DELAYED_UCB1:
        return choose_delayed_ucb1(now, policy, arms)
    if rule == layout.DUCB:
        arm = choose_ducb(now + 1, policy, arms)
        age_plays(now + 1, arm, policy, arms, survival, changes)
        return arm
    return choose_improved_ucb(policy, arms)


@compiled
def _new_node(due, arm, reward, run, flight):
    node = run.free
    run.free = flight[node].next
    flight[node].due = due
    flight[node].arm = arm
    flight[node].reward = reward
    return node


@compiled
def _append(node, arm, slot, flight):
    """Add a node to a slot; `arm` is -1 if the slot must not count as one of a single arm."""
    if slot.arm != arm:
        slot.arm = arm if slot.count == 0 else -1
    flight[node].next = -1
    flight[slot.last].next = node
    slot.last = node
    slot.count += 1
    slot.total += flight[node].reward


@compiled
def _receive(node, run, flight, policy, arms, rng):
    """Hand over a reward that has arrived."""
    arm, reward = flight[node].arm, flight[node].reward
    if policy.rule > layout.SDB:
        arms[arm].count += 1.0
        arms[arm].total += reward
        arms[arm].expires = -1.0
        flight[node].next = run.free
        run.free = node
        return
    arms[arm].received += 1.0
    arms[arm].received_total += reward
    if arm != policy.asked:
        flight[node].next = -1
        if arms[arm].queue_first < 0:
            arms[arm].queue_first = node
        else:
            flight[arms[arm].queue_last].next = node
        arms[arm].queue_last = node
        return
    # The base waits for this arm, so its queue is empty. Feed the base while it can be fed.
    while node >= 0:
        _feed(flight[node].reward, policy, arms, rng)
        flight[node].next = run.free
        run.free = node
        node = arms[policy.asked].queue_first
        if node >= 0:
            arms[policy.asked].queue_first = flight[node].next


@compiled
def _feed(reward, policy, arms, rng):
    """Give the base a reward of the arm that it asked for, and let it ask for the next."""
    arms[policy.asked].count += 1.0
    arms[policy.asked].total += reward
    policy.clock += 1
    policy.lead += reward - policy.rival
    if policy.lead > 0.0 and policy.clock <= policy.until:
        return
    if policy.base == layout.THOMPSON:
        policy.asked = thompson(arms["total"], arms["count"], rng)
    elif policy.clock < len(arms):
        policy.asked = policy.clock  # first every arm once, in order
    else:
        policy.asked = best_index(policy.clock, policy, arms)


@compiled
def _play_leader(run, rewards, delays, played, flight, ring, policy, arms):
    """QPM-D with UCB1: play on while UCB1 surely stays with its leader.

    The rounds are those of `play_rounds`, without a look at single rewards: a slot's count and
    total are enough while all its rewards are the leader's, and the lead is positive even if zeros
    come first. This is most of a run, and several times as fast.
    """
    mask, chunk = len(ring) - 1, len(played) - 1
    now, end, horizon = run.now, run.end, run.horizon
    arm, lead, rival = policy.asked, policy.lead, policy.rival
    row = min(arm, len(delays) - 1)
    most_fed = policy.until - policy.clock
    fed, total = 0, 0.0
    while now < end:
        slot = ring[now & mask]
        most = slot.count + 1  # this round's own reward may arrive at once
        if slot.arm != arm and slot.count > 0:
            break
        if lead <= rival * most or fed + most > most_fed:
            break
        index = now & chunk
        played[index] = arm
        delay = delays[row, index]
        if delay < horizon - now:
            node = _new_node(now + delay, arm, rewards[arm, index], run, flight)
            _append(node, arm if delay <= mask else -1, ring[(now + delay) & mask], flight)
        else:
            run.unseen += 1
        fed += slot.count
        total += slot.total
        lead += slot.total - rival * slot.count
        # The unused nodes follow the list's last node: then the list begins the unused nodes. An
        # empty list is its own first and last node.
        flight[slot.last].next = run.free
        run.free = flight[now & mask].next
        slot.count, slot.total, slot.last = 0, 0.0, now & mask
        now += 1
    arms[arm].plays += now - run.now
    arms[arm].count += fed
    arms[arm].total += total
    policy.clock += fed
    policy.lead = lead
    run.now = now
