"""The policies, compiled: which arm to play, and what to do with a reward that has arrived.

`choose` and `receive` are all that a policy is. The compiled loop over rounds and the step by
hand call the same two. A policy is a handful of arrays, laid out in `layout_kernels`:

- `whole`, `settings`: its whole and its real numbers;
- `tallies`, `arms`: its whole and its real numbers per arm;
- `queue_next`, `queue_reward`: the queues of QPM-D and SBD, as linked lists in one pool;
- `survival`, `edges`: DUCB's chances per lag and its recent changes of arm.
"""

from __future__ import annotations

from latesum.attributed import layout_kernels as at
from latesum.attributed.inline_kernels import allocation_free, inlined
from latesum.attributed.phased_kernels import choose_phased
from latesum.attributed.queued_kernels import choose_queued, receive_queued
from latesum.attributed.received_kernels import choose_received, receive_received
from latesum.attributed.weighted_kernels import choose_weighted


@inlined
def choose(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
):
    """The arm of the next round, noted as played."""
    kind = whole[at.KIND]
    if kind == at.QUEUED:
        arm = choose_queued(whole, tallies, arms, random_state)
    elif kind == at.RECEIVED:
        arm = choose_received(whole, settings, tallies, arms)
    elif kind == at.WEIGHTED:
        arm = choose_weighted(whole, settings, tallies, arms, survival, edges)
    else:
        arm = choose_phased(whole, settings, tallies, arms)
    tallies[at.PLAYS, arm] += 1
    whole[at.ROUNDS] += 1
    return arm


@inlined
def receive(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
    arm, reward,
):  # fmt: skip
    """Take in one reward of `arm` that has arrived."""
    if whole[at.KIND] == at.QUEUED:
        receive_queued(
            whole, settings, tallies, arms, queue_next, queue_reward, random_state, arm, reward
        )
    else:
        receive_received(whole, arms, arm, reward)


@allocation_free
def choose_once(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
):
    """`choose` by itself, for steps by hand."""
    return choose(
        whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state
    )


@allocation_free
def receive_all(  # type: ignore[no-untyped-def]
    whole, settings, tallies, arms, queue_next, queue_reward, survival, edges, random_state,
    arrived_arms, rewards,
):  # fmt: skip
    """`receive` for each arrival in turn, for steps by hand."""
    for place in range(len(rewards)):
        receive(
            whole, settings, tallies, arms, queue_next, queue_reward, survival, edges,
            random_state, arrived_arms[place], rewards[place],
        )  # fmt: skip
