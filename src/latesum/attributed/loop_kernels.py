"""The compiled loop over rounds: play, let rewards travel, hand over what arrives.

Rewards under way are linked lists, one per round of arrival, in a ring of rounds; their places
come from a pool that reuses the places of rewards that have arrived, so memory is touched as far
as rewards are outstanding. The few with a delay as long as the ring leave through `far` and come
back through `due` when their round is near.
"""

from __future__ import annotations

from latesum._compile import allocation_free
from latesum.attributed import layout_kernels as layout
from latesum.attributed.policy_kernels import choose, receive


@allocation_free
def run_rounds(  # type: ignore[no-untyped-def]
    first, rounds, horizon, place, world,
    reward_draws, reward_stride, means, delay_draws, delay_stride,  # DrawnBlock
    ring, entry_next, entry_arm, entry_reward,  # Travelling
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
    free = world[layout.ENTRY_FREE]
    top = world[layout.ENTRY_TOP]
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
    for now in range(first, first + rounds):
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
                if free >= 0:
                    entry = free
                    free = entry_next[entry]
                else:
                    entry = top
                    top += 1
                slot = (now + delay) & mask
                entry_arm[entry] = arm
                entry_reward[entry] = reward
                entry_next[entry] = ring[slot]
                ring[slot] = entry
                under_way += 1
        entry = ring[now & mask]
        ring[now & mask] = -1
        while True:
            if entry >= 0:
                arrived_arm = entry_arm[entry]
                arrived = entry_reward[entry]
                following = entry_next[entry]
                entry_next[entry] = free
                free = entry
                under_way -= 1
                entry = following
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
    world[layout.ENTRY_FREE] = free
    world[layout.ENTRY_TOP] = top
    world[layout.UNDER_WAY] = under_way
    world[layout.PREVIOUS_ARM] = previous
    world[layout.SWITCHES] = switches
    world[layout.NEXT_CHECKPOINT] = checkpoint
    world[layout.NEW_STRETCHES] = new_stretches
    world[layout.NEW_FAR] = new_far
