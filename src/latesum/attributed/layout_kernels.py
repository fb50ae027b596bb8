"""Where the compiled code keeps what: names for the rows and places of a policy's arrays.

Nothing here is compiled, but compiled code freezes these numbers. So the file is named like the
kernels, and the cache of compiled code (see `latesum._compile`) notices when one is changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

# How a policy uses what it receives.
QUEUED = 0  # QPM-D and SBD: a queue per arm feeds a base algorithm that knows no delay
RECEIVED = 1  # Delayed-UCB1: an index on what has been received so far
WEIGHTED = 2  # DUCB: each play counts by the chance that it has arrived
PHASED = 3  # Improved UCB: phases and eliminations, for undelayed rewards

# The base indices.
UCB1 = 0
KL_UCB = 1
KL_UCB_PLUS_PLUS = 2
THOMPSON = 3
FIXED = 4

# What an SBD does while its base waits.
NO_HEURISTIC = 0
THOMPSON_HEURISTIC = 1
GREEDY_HEURISTIC = 2

# Places in `whole`, the whole numbers of a policy that belong to no arm.
KIND = 0
BASE = 1
HEURISTIC = 2
MAX_DELAY = 3
ROUNDS = 4  # rounds chosen so far
CLOCK = 5  # rewards the base has been fed
ASKED = 6  # the arm the base waits for, or the leader of an index policy
QUEUE_FREE = 7  # first place of the queues' list of used and returned places, or -1
QUEUE_TOP = 8  # places of the queues never used before start here
QUEUED_NOW = 9  # rewards in all queues together
UNSEEN = 10  # arms of which nothing has been received
WINDOW = 11  # DUCB: from this lag on every play counts in full
LAST_ARM = 12
FIRST_EDGE = 13  # DUCB: the oldest change of arm still within the window ...
END_EDGE = 14  # ... and one past the newest
POISSON_KL = 15  # DUCB: 1 for the index from the Poisson divergence
PHASE_PLAYS = 16  # Improved UCB: plays of each active arm at the end of this phase
COMMITTED = 17  # Improved UCB: the arm to play to the end, or -1
SURE_FEEDS = 18  # QPM-D with UCB1: the number of next rewards for which the base surely asks for the same arm
WHOLE_SIZE = 19

# Places in `settings`, its real numbers.
EXPLORATION = 0
HORIZON_PER_ARM = 1  # KL-UCB++: T / K
EPSILON = 2
HORIZON = 3
TOLERANCE = 4  # Improved UCB: of the present phase
EARLIER_LOG = 5  # the logarithm of the clock, or of an earlier one
SETTINGS_SIZE = 6

# Rows of `tallies`, whole numbers per arm.
PLAYS = 0
QUEUE_HEAD = 1
QUEUE_TAIL = 2
MISSING = 3  # DUCB: plays minus N~, in units of 1 / CHANCE_UNITS
FIRST_PLAYS = 4  # DUCB: the order of the first plays
ACTIVE = 5  # Improved UCB: 1 until eliminated
TALLY_ROWS = 6

# Rows of `arms`, real numbers per arm.
COUNT = 0  # rewards the index knows of ...
TOTAL = 1  # ... and their sum
UPPER = 2  # an upper bound of the index ...
EXPIRY = 3  # ... while the clock is not past this
RECEIVED_COUNT = 4  # SBD: all received rewards, queued ones too ...
RECEIVED_TOTAL = 5  # ... and their sum
ARM_ROWS = 6

# Rows of `edges`: DUCB's changes of arm within the window.
EDGE_ROUND = 0
EDGE_FROM = 1
EDGE_TO = 2

# Chances of a delay are counted in these units, so that sums are exact in any order.
CHANCE_UNITS = 1 << 40

# A list of rewards under way in one number: how many there are, how many of them are 1, and for each arm
# whether one is its own; the last bit is for all other arms. A list is no longer than a ring.
COUNT_BITS = (1 << 20) - 1
ONES = 20
ARMS = 40
LAST_BIT = 22
# A place in such a list in one number: the next place (-1: none), the arm, and whether the reward is 1.
FOLLOWING = 32
ARM_BITS = (1 << 32) - 2

# Places in `world`, the whole numbers of a run.
UNDER_WAY = 0  # rewards in the ring
PREVIOUS_ARM = 1
SWITCHES = 2
NEXT_CHECKPOINT = 3
NEW_BLOCKS = 4
NEW_FAR = 5
WORLD_SIZE = 6


# What the kernels are handed, by name. They take the arrays one by one (`*state`): a named tuple costs
# Numba microseconds per call, and inside a loop it cost up to a fifth of the speed.


class PolicyState(NamedTuple):
    """A policy at work."""

    whole: Any  # its whole numbers ...
    settings: Any  # ... and its real ones
    tallies: Any  # its whole numbers per arm ...
    arms: Any  # ... and its real ones
    queue_next: Any  # the queues of QPM-D and SBD, as linked lists in one pool ...
    queue_reward: Any  # ... and the reward at each of its places
    survival: Any  # DUCB: the chance of a longer delay, per arm and lag
    edges: Any  # DUCB: the changes of arm within the window
    random_state: Any  # four whole numbers, for `random_kernels`


class DrawnBlock(NamedTuple):
    """Rewards and delays of a block of rounds, drawn ahead.

    A stride of 0 means that all arms share the draws; shared reward draws are uniform numbers,
    compared with each arm's mean.
    """

    rewards: Any
    reward_stride: int
    means: Any
    delays: Any
    delay_stride: int


class Travelling(NamedTuple):
    """Rewards under way: one linked list per round of arrival, in a ring of rounds."""

    ring: Any  # the first place of each list, or -1
    sums: Any  # what is in each list, see `COUNT_BITS`
    entries: Any  # the places: see `FOLLOWING`
    reward: Any  # of each place, where rewards are others than 0 and 1


class Labelled(NamedTuple):
    """Rewards with the round they belong to: of play or of arrival."""

    round: Any
    arm: Any
    reward: Any


class Notes(NamedTuple):
    """What a run writes down."""

    checkpoints: Any  # after these many rounds ...
    plays: Any  # ... the plays of each arm
    start: Any  # each block of one arm: its first round ...
    arm: Any  # ... and its arm; both empty where blocks are not recorded
