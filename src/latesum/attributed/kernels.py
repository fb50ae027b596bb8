# mypy: ignore-errors
"""The compiled loop over rounds (play, let rewards travel, hand over what arrives), and the rules.

Rewards in flight are linked lists, one per round of arrival, in a ring of rounds. All nodes are in
one array, `flight`; node i < len(ring) stands before the first reward of slot i, and
unused nodes are a list too. A delay longer than the ring stays in its slot for another turn.
"""

from __future__ import annotations

import math

import numpy as np

from latesum._compile import compiled
from latesum._kl_kernels import (
    TO_THE_LAST_DIGIT,
    bernoulli_divergence,
    bernoulli_upper,
    exploration,
    poisson_upper,
)
from latesum.attributed import layout_kernels as layout

#: A comparison of an index with a level is trusted if it holds by more than this share.
_MARGIN = 1e-9
#: An upper bound of an index holds until the clock has grown by one part in this many.
_LOOK_AHEAD = 1024
#: Upper bounds are larger by this factor, so that rounding cannot make one too small.
_ROUNDING = 1.0 + 1e-12


@compiled
def _kl_allowance(count, log_clock, policy, n_arms):
    """What count * kl(mean, q) may reach: ln n for KL-UCB, ln(x (1 + ln^2 x)) for KL-UCB++."""
    if policy.base == layout.KL_UCB:
        return log_clock
    return exploration(count, n_arms, 0.0, policy.horizon)


@compiled
def _index(arm, log_clock, policy, arms):
    """The index of UCB1, KL-UCB or KL-UCB++."""
    count = arms[arm].count
    mean = arms[arm].total / count
    if policy.base == layout.UCB1:
        return mean + math.sqrt(policy.exploration * log_clock / count)
    allowance = _kl_allowance(count, log_clock, policy, len(arms))
    return bernoulli_upper(mean, allowance / count, TO_THE_LAST_DIGIT)


@compiled
def _is_above(level, arm, log_clock, policy, arms):
    """Whether the index is surely above `level`, without solving for it: False if in doubt."""
    if policy.base == layout.UCB1:
        return _index(arm, log_clock, policy, arms) > level
    count = arms[arm].count
    mean = arms[arm].total / count
    if level < mean:
        return True
    if level >= 1.0 or mean <= 0.0 or mean >= level:
        return False
    allowance = _kl_allowance(count, log_clock, policy, len(arms))
    return count * bernoulli_divergence(mean, level) < allowance * (1.0 - _MARGIN)


@compiled
def best_index(clock, policy, arms):
    """The arm with the largest index, the first of equals; `policy.asked` is the last leader.

    Usually the leader still leads. The others keep an upper bound of their index that holds for
    some time to come: while the leader is above these bounds, no other index is computed.
    """
    leader = policy.asked
    rival, until = -math.inf, math.inf
    for arm in range(len(arms)):
        if arm != leader:
            if clock > arms[arm].expires:
                ahead = float(clock + clock // _LOOK_AHEAD)
                arms[arm].upper = _index(arm, math.log(ahead), policy, arms) * _ROUNDING
                arms[arm].expires = ahead
            rival = max(rival, arms[arm].upper)
            until = min(until, arms[arm].expires)
    log_clock = math.log(float(clock))
    policy.lead = -math.inf
    if _is_above(rival, leader, log_clock, policy, arms):
        if policy.base == layout.UCB1:
            # The leader, with n rewards of total S, leads if S + sqrt(c n ln t) > n rival. The
            # root only grows, so the present one will do.
            count = arms[leader].count
            spread = math.sqrt(policy.exploration * log_clock * count)
            policy.lead = arms[leader].total + spread - count * rival * (1.0 + _MARGIN)
            policy.rival, policy.until = rival, until
        return leader
    best, largest = leader, _index(leader, log_clock, policy, arms)
    for arm in range(len(arms)):
        if arm != leader and arms[arm].upper >= largest:
            index = _index(arm, log_clock, policy, arms)
            if index > largest or (index == largest and arm < best):
                best, largest = arm, index
    if best != leader:
        arms[leader].expires = -1.0  # its bound was not kept up while it led
    return best


@compiled
def thompson(totals, counts, rng):
    """Thompson sampling: the largest draw from Beta(1 + total, 1 + count - total)."""
    best, largest = 0, -1.0
    for arm in range(len(totals)):
        draw = rng.beta(1.0 + totals[arm], 1.0 + counts[arm] - totals[arm])
        if draw > largest:
            best, largest = arm, draw
    return best


@compiled
def choose_sdb(policy, arms, rng):
    """SDB: the heuristic's arm, unless it has `max_delay` rewards that the base has not used."""
    totals, counts = arms["received_total"], arms["received"]  # with those that are queued
    best, largest = policy.asked, -1.0
    if policy.greedy:
        for arm in range(len(arms)):
            if counts[arm] > 0.0 and totals[arm] / counts[arm] > largest:
                best, largest = arm, totals[arm] / counts[arm]
    else:
        best = thompson(totals, counts, rng)
    unused = arms[best].plays - arms[best].count
    return policy.asked if unused >= policy.max_delay else best


@compiled
def choose_delayed_ucb1(rounds, policy, arms):
    """Delayed-UCB1: first an arm without rewards, the one played least; then the best index."""
    unseen = -1
    for arm in range(len(arms)):
        if arms[arm].count == 0.0 and (unseen < 0 or arms[arm].plays < arms[unseen].plays):
            unseen = arm
    policy.asked = unseen if unseen >= 0 else best_index(rounds, policy, arms)
    return policy.asked


@compiled
def choose_ducb(t, policy, arms):
    """DUCB: each play counts by the probability that it has arrived, N~ of the paper."""
    if t <= len(arms):
        return arms[t - 1].order
    best, largest = -1, -math.inf
    log_t = (1.0 + policy.epsilon) * math.log(float(t))
    for arm in range(len(arms)):
        plays, total = float(arms[arm].plays), arms[arm].total
        expected = plays - arms[arm].missing / layout.PROBABILITY_UNITS
        if expected <= 0.0:
            index = math.inf
        elif policy.poisson:
            index = poisson_upper(total / expected, log_t / expected)
        else:
            index = (total + math.sqrt(plays * log_t / 2.0)) / expected
        tied = index == math.inf and largest == math.inf
        if index > largest or (tied and plays < arms[best].plays):
            best, largest = arm, index
    return best


@compiled
def age_plays(t, arm, policy, arms, survival, changes):
    """Update DUCB's N - N~ after `arm` was played in round t.

    A block of one arm over the rounds [a, b) misses the sum of survival(lag) over its lags,
    t - b + 1 to t - a. One round later it misses survival(t - a) more and survival(t - b) less:
    only the changes of arm within the window matter.
    """
    mask = len(changes) - 1
    if arm != policy.last_arm:
        change = changes[policy.end_change & mask]
        change.round, change.left, change.entered = t, policy.last_arm, arm
        policy.end_change += 1
        policy.last_arm = arm
    window = survival.shape[1]
    while (
        policy.first_change < policy.end_change
        and t - changes[policy.first_change & mask].round >= window
    ):
        policy.first_change += 1
    for number in range(policy.first_change, policy.end_change):
        change = changes[number & mask]
        lag = t - change.round
        arms[change.entered].missing += survival[change.entered, lag]
        if change.left >= 0:
            arms[change.left].missing -= survival[change.left, lag]


@compiled
def choose_improved_ucb(policy, arms):
    """Improved UCB: active arms in turn up to the plays of the phase; then eliminate, halve."""
    while policy.committed < 0:
        for arm in range(len(arms)):
            if arms[arm].active and arms[arm].plays < policy.phase_plays:
                return arm
        _finish_phase(policy, arms)
    return policy.committed


@compiled
def _finish_phase(policy, arms):
    if policy.phase_plays == 0:
        policy.committed = 0  # a horizon too short for any phase
        return
    best, largest = -1, -math.inf
    for arm in range(len(arms)):
        mean = arms[arm].total / arms[arm].count
        if arms[arm].active and mean > largest:
            best, largest = arm, mean
    level = math.log(policy.horizon * policy.tolerance**2)
    width = math.sqrt(max(level, 0.0) / (2.0 * policy.phase_plays))
    n_active = 0
    for arm in range(len(arms)):
        mean = arms[arm].total / arms[arm].count
        arms[arm].active = arms[arm].active and mean + width >= largest - width
        n_active += arms[arm].active
    policy.tolerance /= 2.0
    scaled = policy.horizon * policy.tolerance**2
    # The paper's phases end at m = floor(log2(T / e) / 2): while T * tolerance^2 >= e.
    if n_active == 1 or scaled < math.e:
        policy.committed = best
        return
    needed = np.int64(math.ceil(2.0 * math.log(scaled) / policy.tolerance**2))
    policy.phase_plays = max(policy.phase_plays, needed)


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
