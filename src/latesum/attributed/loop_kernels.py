"""The compiled loop over rounds: play, let rewards travel, hand over what arrives.

Rewards under way are linked lists, one per round of arrival, in a ring of rounds. Each round has one
play, and a play that is not under way any more leaves its place to one a ring later: so its place is its
round. The few with a delay as long as the ring leave through `far` and come back through `due` when
their round is near.

Beside each list stands its sum: how many rewards it has, how many of them are 1, and of which arms they
are, in one number. While the base surely stays with its arm and rewards are 0 or 1, a round takes the sum in
and never walks the list.
"""

from __future__ import annotations

from latesum._compile import allocation_free, inlined
from latesum.attributed import layout_kernels as layout
from latesum.attributed.index_kernels import lead_of
from latesum.attributed.policy_kernels import choose, receive


@inlined
def _send(now, delay, arm, reward, mask, ring, sums, entry_next, entry_arm, entry_reward):  # type: ignore[no-untyped-def]
    """Let a reward be under way."""
    entry = now & mask
    slot = (now + delay) & mask
    one = (int(reward) << layout.ONES) + 1
    sums[slot] = (sums[slot] + one) | (1 << (layout.ARMS + min(arm, layout.LAST_BIT)))
    entry_arm[entry] = arm
    entry_reward[entry] = reward
    entry_next[entry] = ring[slot]
    ring[slot] = entry


@allocation_free
def run_rounds(  # type: ignore[no-untyped-def]
    first, rounds, horizon, place, world,
    reward_draws, reward_stride, means, delay_draws, delay_stride,  # DrawnBlock
    ring, sums, entry_next, entry_arm, entry_reward,  # Travelling
    due_round, due_arm, due_reward,  # Labelled: rewards that arrive in these rounds
    far_round, far_arm, far_reward,  # Labelled: for those with a delay as long as the ring
    checkpoints, plays_at, stretch_start, stretch_arm,  # Notes
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
):  # fmt: skip
    """Play the rounds from `first` on, with the draws that start at `place` of the block.

    The arrays come in the groups of `layout_kernels`, the policy's (`PolicyState`) last. Within a
    round, the latest play is handed over first.
    """
    mask = len(ring) - 1
    under_way = world[layout.UNDER_WAY]
    previous = world[layout.PREVIOUS_ARM]
    switches = world[layout.SWITCHES]
    checkpoint = world[layout.NEXT_CHECKPOINT]
    next_stop = checkpoints[checkpoint] if checkpoint < len(checkpoints) else -1
    new_stretches = 0
    new_far = 0
    due_place = 0
    record = len(stretch_start) > 0
    bernoulli = reward_stride == 0
    feeds_surely = (
        whole[layout.KIND] == layout.QUEUED
        and whole[layout.HEURISTIC] == layout.NO_HEURISTIC
        and len(due_round) == 0
    )
    now = first - 1
    end = first + rounds
    while now + 1 < end:
        now += 1
        if feeds_surely and whole[layout.SURE_FEEDS] > 0 and whole[layout.ASKED] == previous:
            # The base stays with its arm whatever comes: only what it is fed is counted.
            arm = previous
            mean = means[arm]
            begun = now
            stop = end if next_stop < 0 else min(end, next_stop - 1)
            sure = whole[layout.SURE_FEEDS]
            fed = 0
            total = arms[layout.TOTAL, arm]
            entry = -1
            in_sums = bernoulli and arm < layout.LAST_BIT
            lead, rival, most = lead_of(arm, whole[layout.CLOCK], settings, arms)
            other_arms = ~(1 << arm)
            while now < stop and entry < 0:
                delay = delay_draws[arm * delay_stride + place]
                if delay < horizon - now:
                    if delay > mask:
                        break
                    if bernoulli:
                        reward = 1.0 if reward_draws[place] < mean else 0.0
                    else:
                        reward = reward_draws[arm * reward_stride + place]
                    _send(
                        now, delay, arm, reward, mask, ring, sums, entry_next, entry_arm,
                        entry_reward,
                    )  # fmt: skip
                    under_way += 1
                place += 1
                slot = now & mask
                seen = sums[slot]
                sums[slot] = 0
                entry = ring[slot]
                ring[slot] = -1
                count = seen & layout.COUNT_BITS
                if (
                    in_sums
                    and (seen >> layout.ARMS) & other_arms == 0
                    and (fed + count <= sure or (fed + count <= most and lead > rival * count))
                ):
                    ones = (seen >> layout.ONES) & layout.COUNT_BITS
                    fed += count
                    total += ones
                    lead += ones - rival * count
                    entry = -1
                while entry >= 0 and fed < sure and entry_arm[entry] == arm:
                    total += entry_reward[entry]
                    fed += 1
                    entry = entry_next[entry]
                now += 1
            under_way -= fed
            arms[layout.COUNT, arm] += fed
            arms[layout.TOTAL, arm] = total
            whole[layout.CLOCK] += fed
            whole[layout.SURE_FEEDS] = max(sure - fed, 0)
            whole[layout.ROUNDS] += now - begun
            tallies[layout.PLAYS, arm] += now - begun
            while entry >= 0:  # the rest of the last of these rounds
                arrived_arm = entry_arm[entry]
                arrived = entry_reward[entry]
                entry = entry_next[entry]
                under_way -= 1
                receive(
                    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
                    random_state, arrived_arm, arrived,
                )  # fmt: skip
            if now > begun:
                now -= 1
                continue
        arm = choose(
            whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
            random_state,
        )  # fmt: skip
        if arm != previous:
            switches += previous >= 0
            previous = arm
            if record:
                stretch_start[new_stretches] = now
                stretch_arm[new_stretches] = arm
                new_stretches += 1
        if bernoulli:
            reward = 1.0 if reward_draws[place] < means[arm] else 0.0
        else:
            reward = reward_draws[arm * reward_stride + place]
        delay = delay_draws[arm * delay_stride + place]
        place += 1
        if delay < horizon - now:  # else it is never seen
            if delay > mask:
                far_round[new_far] = now
                far_arm[new_far] = arm
                far_reward[new_far] = reward
                new_far += 1
            else:
                _send(
                    now, delay, arm, reward, mask, ring, sums, entry_next, entry_arm, entry_reward
                )
                under_way += 1
        entry = ring[now & mask]
        ring[now & mask] = -1
        sums[now & mask] = 0
        while True:
            if entry >= 0:
                arrived_arm = entry_arm[entry]
                arrived = entry_reward[entry]
                entry = entry_next[entry]
                under_way -= 1
            elif due_place < len(due_round) and due_round[due_place] == now:
                arrived_arm = due_arm[due_place]
                arrived = due_reward[due_place]
                due_place += 1
            else:
                break
            receive(
                whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
                random_state, arrived_arm, arrived,
            )  # fmt: skip
        if now + 1 == next_stop:
            for each in range(tallies.shape[1]):
                plays_at[checkpoint, each] = tallies[layout.PLAYS, each]
            checkpoint += 1
            next_stop = checkpoints[checkpoint] if checkpoint < len(checkpoints) else -1
    world[layout.UNDER_WAY] = under_way
    world[layout.PREVIOUS_ARM] = previous
    world[layout.SWITCHES] = switches
    world[layout.NEXT_CHECKPOINT] = checkpoint
    world[layout.NEW_STRETCHES] = new_stretches
    world[layout.NEW_FAR] = new_far
