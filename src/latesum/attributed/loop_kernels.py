"""The compiled loop over rounds: play, let rewards travel, hand over what arrives.

Rewards under way are linked lists, one per round of arrival, in a ring of rounds. Each round has one
play, and a play that is not under way any more leaves its place to one a ring later: so its place is its
round. The few with a delay as long as the ring leave through `far` and come back through `due` when
their round is near.

Beside each list stands its sum: how many rewards it has, how many of them are 1, and of which arms they
are, in one number. While the base surely stays with its arm and rewards are 0 or 1, a round takes the sum in
and never walks the list. Writing a list costs more than all else in such a round, so a place of it is one
number too; and places are unsigned, since Numba asks of any other whether it counts from the end.
"""

from __future__ import annotations

import numpy as np

from latesum._compile import allocation_free, inlined
from latesum.attributed import layout_kernels as layout
from latesum.attributed.index_kernels import lead_of
from latesum.attributed.policy_kernels import choose, receive


@inlined
def _send(now, delay, arm, reward, one, bernoulli, mask, ring, sums, entries, entry_reward):  # type: ignore[no-untyped-def]
    """Let a reward be under way; `one` is 1 if it is one of those that sums count."""
    entry = np.uint64(now) & mask
    slot = (np.uint64(now) + np.uint64(delay)) & mask
    own = 1 << (layout.ARMS + min(arm, layout.LAST_BIT))
    sums[slot] = (sums[slot] + ((one << layout.ONES) + 1)) | own
    entries[entry] = (np.int64(ring[slot]) << layout.FOLLOWING) | (arm << 1) | one
    ring[slot] = np.int64(entry)
    if not bernoulli:
        entry_reward[entry] = reward


@inlined
def _arm_in(word):  # type: ignore[no-untyped-def]
    return (word & layout.ARM_BITS) >> 1


@inlined
def _reward_of(entry, bernoulli, entries, entry_reward):  # type: ignore[no-untyped-def]
    return float(entries[entry] & 1) if bernoulli else entry_reward[entry]


@allocation_free
def run_rounds(  # type: ignore[no-untyped-def]
    first, rounds, horizon, place, world,
    reward_draws, reward_stride, means, delay_draws, delay_stride,  # DrawnBlock
    ring, sums, entries, entry_reward,  # Travelling
    due_round, due_arm, due_reward,  # Labelled: rewards that arrive in these rounds
    far_round, far_arm, far_reward,  # Labelled: for those with a delay as long as the ring
    checkpoints, plays_at, block_start, block_arm,  # Notes
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
):  # fmt: skip
    """Play the rounds from `first` on, with the draws that start at `place` of the block.

    The arrays come in the groups of `layout_kernels`, the policy's (`PolicyState`) last. Within a
    round, the latest play is handed over first.
    """
    mask = np.uint64(len(ring) - 1)
    under_way = world[layout.UNDER_WAY]
    previous = world[layout.PREVIOUS_ARM]
    switches = world[layout.SWITCHES]
    checkpoint = world[layout.NEXT_CHECKPOINT]
    next_stop = checkpoints[checkpoint] if checkpoint < len(checkpoints) else -1
    new_blocks = 0
    new_far = 0
    due_place = 0
    record = len(block_start) > 0
    bernoulli = reward_stride == 0
    feeds_surely = (
        whole[layout.KIND] == layout.QUEUED
        and whole[layout.HEURISTIC] == layout.NO_HEURISTIC
        and len(due_round) == 0
    )
    ahead = place - first  # of a round's number, where its draws are in the block
    now = first
    end = first + rounds
    while now < end:
        entry = np.int64(-1)
        begun = now
        if feeds_surely and whole[layout.SURE_FEEDS] > 0 and whole[layout.ASKED] == previous:
            # The base stays with its arm whatever comes: only what it is fed is counted.
            arm = previous
            mean = means[arm]
            stop = end if next_stop < 0 else min(end, next_stop - 1)
            sure = whole[layout.SURE_FEEDS]
            fed = 0
            total = arms[layout.TOTAL, arm]
            lead, rival, most = lead_of(arm, whole[layout.CLOCK], settings, arms)
            if not bernoulli or arm >= layout.LAST_BIT:  # sums do not say what came
                most = -1
            other_arms = ~(1 << arm)
            first_reward = np.uint64(arm * reward_stride + ahead)
            first_delay = np.uint64(arm * delay_stride + ahead)
            while now < stop:
                delay = delay_draws[first_delay + np.uint64(now)]
                if delay < horizon - now:  # else it is never seen
                    if np.uint64(delay) > mask:
                        break
                    reward = reward_draws[first_reward + np.uint64(now)]
                    one = np.int64(reward < mean) if bernoulli else np.int64(reward)
                    _send(now, delay, arm, reward, one, bernoulli, mask, ring, sums, entries, entry_reward)  # fmt: skip
                    under_way += 1
                slot = np.uint64(now) & mask
                seen = sums[slot]
                sums[slot] = 0
                now += 1
                count = seen & layout.COUNT_BITS
                if (
                    fed + count <= most
                    and (seen >> layout.ARMS) & other_arms == 0
                    and (fed + count <= sure or lead > rival * count)
                ):
                    ring[slot] = -1
                    ones = (seen >> layout.ONES) & layout.COUNT_BITS
                    fed += count
                    total += ones
                    lead += ones - rival * count
                    continue
                entry = np.int64(ring[slot])
                ring[slot] = -1
                while entry >= 0 and fed < sure and _arm_in(entries[np.uint64(entry)]) == arm:
                    total += _reward_of(np.uint64(entry), bernoulli, entries, entry_reward)
                    fed += 1
                    entry = entries[np.uint64(entry)] >> layout.FOLLOWING
                if entry >= 0:
                    break
            under_way -= fed
            arms[layout.COUNT, arm] += fed
            arms[layout.TOTAL, arm] = total
            whole[layout.CLOCK] += fed
            whole[layout.SURE_FEEDS] = max(sure - fed, 0)
            whole[layout.ROUNDS] += now - begun
            tallies[layout.PLAYS, arm] += now - begun
        if now == begun:
            arm = choose(
                whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
                random_state,
            )  # fmt: skip
            if arm != previous:
                switches += previous >= 0
                previous = arm
                if record:
                    block_start[new_blocks] = now
                    block_arm[new_blocks] = arm
                    new_blocks += 1
            reward = reward_draws[arm * reward_stride + ahead + now]
            one = np.int64(reward)
            if bernoulli:
                one = np.int64(reward < means[arm])
                reward = float(one)
            delay = delay_draws[arm * delay_stride + ahead + now]
            if delay < horizon - now:
                if np.uint64(delay) > mask:
                    far_round[new_far] = now
                    far_arm[new_far] = arm
                    far_reward[new_far] = reward
                    new_far += 1
                else:
                    _send(now, delay, arm, reward, one, bernoulli, mask, ring, sums, entries, entry_reward)  # fmt: skip
                    under_way += 1
            slot = np.uint64(now) & mask
            entry = np.int64(ring[slot])
            ring[slot] = -1
            sums[slot] = 0
            now += 1
        # What arrived in the last round that was played, or the rest of it.
        while True:
            if entry >= 0:
                word = entries[np.uint64(entry)]
                arrived_arm = _arm_in(word)
                arrived = _reward_of(np.uint64(entry), bernoulli, entries, entry_reward)
                entry = word >> layout.FOLLOWING
                under_way -= 1
            elif due_place < len(due_round) and due_round[due_place] == now - 1:
                arrived_arm = np.int64(due_arm[due_place])
                arrived = due_reward[due_place]
                due_place += 1
            else:
                break
            receive(
                whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
                random_state, arrived_arm, arrived,
            )  # fmt: skip
        if now == next_stop:
            for each in range(tallies.shape[1]):
                plays_at[checkpoint, each] = tallies[layout.PLAYS, each]
            checkpoint += 1
            next_stop = checkpoints[checkpoint] if checkpoint < len(checkpoints) else -1
    world[layout.UNDER_WAY] = under_way
    world[layout.PREVIOUS_ARM] = previous
    world[layout.SWITCHES] = switches
    world[layout.NEXT_CHECKPOINT] = checkpoint
    world[layout.NEW_BLOCKS] = new_blocks
    world[layout.NEW_FAR] = new_far
