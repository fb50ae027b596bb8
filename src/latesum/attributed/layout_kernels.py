"""Record types and constants of the compiled loop.

Nothing here is compiled, but compiled code freezes the constants: the file is named like the
kernels, so that the cache of compiled code notices a change.
"""

from __future__ import annotations

import numpy as np

# Rules: how a policy uses the rewards that arrive.
QPMD = 0
SDB = 1
DELAYED_UCB1 = 2
DUCB = 3
IMPROVED_UCB = 4

# Base policies of QPM-D and SDB.
UCB1 = 0
KL_UCB = 1
KL_UCB_PLUS_PLUS = 2
THOMPSON = 3

#: DUCB counts probabilities in these units: sums of integers are exact in any order.
PROBABILITY_UNITS = 1 << 40

#: The state of a policy that belongs to no arm.
POLICY = np.dtype(
    [
        ("rule", np.int64),
        ("base", np.int64),
        ("asked", np.int64),  # the arm that the base asks for; of an index policy the leader
        ("clock", np.int64),  # rewards that the base was fed
        ("exploration", np.float64),
        ("horizon", np.float64),
        # UCB1 stays with its leader while `lead` is positive and the clock is not past `until`;
        # a reward x adds x - `rival` to the lead.
        ("lead", np.float64),
        ("rival", np.float64),
        ("until", np.float64),
        # SDB
        ("greedy", np.bool_),
        ("max_delay", np.int64),
        # DUCB
        ("poisson", np.bool_),  # the index of KL-DUCB
        ("epsilon", np.float64),
        ("last_arm", np.int64),
        ("first_change", np.int64),  # changes of arm within the window: from this one ...
        ("end_change", np.int64),  # ... to the one before this
        # Improved UCB
        ("tolerance", np.float64),
        ("phase_plays", np.int64),  # plays of each active arm at the end of the phase
        ("committed", np.int64),  # the arm that is played to the end, or -1
    ],
    align=True,
)

#: The state of a policy for one arm.
ARM = np.dtype(
    [
        ("plays", np.int64),
        ("count", np.float64),  # rewards that the index uses ...
        ("total", np.float64),  # ... and their sum
        ("upper", np.float64),  # an upper bound of the index ...
        ("expires", np.float64),  # ... until the clock is past this
        ("queue_first", np.int64),  # QPM-D, SDB: the arm's queue, -1 where it is empty
        ("queue_last", np.int64),
        ("received", np.float64),  # SDB: rewards that the heuristic uses ...
        ("received_total", np.float64),  # ... and their sum
        ("order", np.int64),  # DUCB: arms[t].order is the arm of round t at the start
        ("missing", np.int64),  # DUCB: N - N~ in PROBABILITY_UNITS
        ("active", np.bool_),  # Improved UCB
    ],
    align=True,
)

#: A change of arm, for DUCB.
CHANGE = np.dtype([("round", np.int64), ("left", np.int64), ("entered", np.int64)], align=True)

#: A reward in flight or in a queue, a node of a linked list.
REWARD = np.dtype(
    [("due", np.int64), ("reward", np.float64), ("next", np.int32), ("arm", np.int32)], align=True
)

#: The rewards that arrive in one round: a linked list and its summary.
SLOT = np.dtype(
    [
        ("count", np.int64),
        ("total", np.float64),
        ("arm", np.int32),  # the arm of all of them, or -1
        ("last", np.int32),  # the list's last node; its first one follows the slot's own node
    ],
    align=True,
)

#: Where a run is.
RUN = np.dtype(
    [
        ("now", np.int64),  # the next round ...
        ("end", np.int64),  # ... and the one after the last of this call
        ("horizon", np.int64),
        ("free", np.int64),  # the first unused node
        ("unseen", np.int64),  # rewards that would arrive after the horizon
    ],
    align=True,
)
