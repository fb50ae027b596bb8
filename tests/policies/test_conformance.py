"""Every policy keeps to the protocol of numbered blocks; policies that break it are caught."""

import itertools

import numpy as np
import pytest

from latesum import Problem, simulate
from latesum.policies import ODAAF, ODAAFB, Block, Flow, Oracle, RoundRobin, check
from latesum.policies.base import Play, Policy
from latesum.policies.conformance import NotConforming
from latesum.policies.registry import available


class LastParts(Policy):
    """Learns from parts: the arm whose newest part paid most per round, in blocks of 40."""

    kind = "last-parts"
    learns_from = "segments"

    def __init__(self, n_arms, *, names=None):
        super().__init__(n_arms, names=names)

    def _reset(self):
        self._newest = [1.0] * self.n_arms  # the rate of the newest part
        self._taken = []  # the numbers of the parts, for the tests
        self._arm, self._left = 0, 40

    def _learn(self, play):
        self._taken.append([play.number, play.rounds])
        if play.total is not None:
            self._newest[play.arm] = play.total / play.rounds
        if play.arm == self._arm and play.purpose == "learn" and play.rounds < self._left:
            self._left -= play.rounds
        else:
            self._decide()

    def _decide(self):
        self._arm, self._left = max(self._available(), key=self._newest.__getitem__), 40

    def _forget(self, arm):
        if arm == self._arm:
            self._decide()

    def _next(self):
        return Block(self._arm, self._left, "learn", segment=10)


HISTORY = [(1, 400, 210.0), (1, 300, None), (0, 90, 30.0)]
OTHERS = {
    "learns from parts": LastParts(3),
    "odaaf, many phases": ODAAF(2, 10**6, mean_delay=0),
    "odaaf, few rounds": ODAAF(2, 3, mean_delay=50),
    "odaaf with a bridge": ODAAF(4, 20_000, mean_delay=5, bridge=True, names=list("wxyz")),
    "odaaf-b, leader first": ODAAFB(
        3, 9_000, mean_delay=5, delay_bound=9, order="leader first", first_tolerance=1
    ),
    "odaaf, leader first without a bridge": ODAAF(
        3, 9_000, mean_delay=5, bridge=False, order="leader first", first_tolerance=1
    ),
    # Not the usual generator, which orders five arms in another way: the state must name it.
    "flow without delay": Flow(
        5, 1_000, mean_delay=0, caution=0, rng=np.random.default_rng([1, 1])
    ),
    "flow, few rounds": Flow(3, 200, mean_delay=100),
    "flow, no horizon": Flow(2, mean_delay=0.3),
    "flow, ucb1, lookahead": Flow(2, mean_delay=20.3, index="ucb1", lookahead=True),
    "flow, lookahead by a bound": Flow(4, 20_000, mean_delay=5, lookahead=40),
} | {
    f"flow, {status_quo=}, {lookahead=}, history of {len(history)}": Flow(
        3, 6_000, mean_delay=8, lookahead=lookahead, status_quo=status_quo, history=history
    )
    for lookahead in (False, True)
    for status_quo, history in ((0, ()), ("other", HISTORY), ("other", ()), (None, HISTORY))
}


@pytest.mark.parametrize("name", [*available(), *OTHERS])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))]
)
def test_every_policy_conforms(built, name, seed):
    steps = 20 if "unmix" in name and seed == 0 else 40  # it takes as long as all others together
    check(OTHERS[name] if name in OTHERS else built(name), seed=seed, steps=steps)


class _Impure(RoundRobin):
    """Asks for another arm every time it is asked."""

    def _next(self):
        self._arm = (self._arm + 1) % self.n_arms
        return super()._next()


class _Counting(RoundRobin):
    """Counts outside of `_reset`, so that a block told in parts is not the same as told whole."""

    _count = 0

    def _learn(self, play):
        super()._learn(play)
        self._count += 1
        self._sums[play.arm] += self._count


class _Forgetful(RoundRobin):
    """Leaves the last play out of its state."""

    def to_state(self):
        state = super().to_state()
        return {**state, "events": state["events"][:-1]}


class _Stubborn(RoundRobin):
    """Goes on with a dropped arm."""

    def _available(self):
        return list(range(self.n_arms))

    def _forget(self, arm):
        return None


class _Remembering(RoundRobin):
    """Keeps what it learned when it should be fresh."""

    def _reset(self):
        before = getattr(self, "_sums", None)
        super()._reset()
        if before is not None:
            self._sums = before


@pytest.mark.parametrize("broken", [_Impure, _Counting, _Forgetful, _Stubborn, _Remembering])
def test_a_policy_that_breaks_the_protocol_is_caught(broken):
    with pytest.raises(NotConforming):
        check(broken(3, block=20), seed=1)


def test_a_policy_that_only_says_that_it_takes_new_options_is_found_out():
    class Stubborn(Oracle):
        kind = "stubborn"
        takes_new_options = True

    with pytest.raises(NotConforming, match="must soon ask for one that was added"):
        check(Stubborn(2, 1000, best_arm=1))


# Blocks have numbers: what is one block, and what is a new one.


def test_the_simulator_cuts_a_block_into_parts():
    run = simulate(Problem([0.2, 0.6], "uniform(0, 5)"), LastParts(2), 400, seed=1)
    assert {block.rounds for block in run.plays} == {10}
    buckets = simulate(Problem([0.2, 0.6], "uniform(0, 5)"), LastParts(2), 400, seed=1, bucket=5)
    assert {block.rounds for block in buckets.plays} == {10}


def test_parts_are_learned_one_by_one_with_the_number_of_their_block():
    policy = LastParts(2)
    for _ in range(3):
        policy.tell(*policy.ask()[:1], 15, 3.0)
    assert policy._taken == [[1, 15], [1, 15], [1, 15]]  # the third one ran over its end
    policy.tell(0, 5, 1.0)
    assert policy._taken[-1][0] == 2


def test_the_number_stays_while_something_is_left_and_rises_after():
    policy = RoundRobin(2, block=100)
    assert policy.ask() == Block(0, 100, "learn", 1)
    policy.tell(0, 60, 20.0)
    assert policy.ask() == Block(0, 40, "learn", 1)
    policy.tell(0, 40, None)  # pending: the same block, learned by itself
    assert policy.ask() == Block(1, 100, "learn", 2)


def test_a_new_decision_for_the_same_arm_is_a_new_block():
    policy = Flow(2, mean_delay=10)
    seen = []
    for _ in range(12):
        asked = policy.ask()
        seen.append(asked)
        policy.tell(asked.arm, asked.rounds, (0.2, 0.7)[asked.arm] * asked.rounds)
    assert [asked.number for asked in seen] == list(range(1, 13))
    assert {asked.purpose for asked in seen} == {"learn"}
    assert any(one.arm == other.arm for one, other in itertools.pairwise(seen))


def test_overrides_of_one_arm_that_follow_each_other_are_one_block():
    policy = RoundRobin(3, block=100)
    policy.tell(0, 30, 3.0)
    policy.tell(2, 10, 1.0)
    assert policy._open == Play(2, 10, 1.0, "override", 2)
    policy.tell(2, 15, 2.0)
    assert policy._open == Play(2, 25, 3.0, "override", 2)
    policy.tell(1, 5, 0.0)
    assert policy._open.number == 3
    assert policy.ask() == Block(0, 70, "learn", 4)  # going on, after something else


def test_a_given_number_decides_what_is_one_block():
    policy = RoundRobin(2, block=100)
    policy.tell(0, 100, 10.0, "learn", 1)
    policy.tell(0, 50, 5.0, "learn", 1)  # it ran long
    assert policy._open == Play(0, 150, 15.0, "learn", 1)
    policy.tell(1, 100, 10.0, "learn", 7)
    assert policy.ask().number == 8


def test_a_drop_closes_the_open_block():
    policy = RoundRobin(3, block=100)
    policy.tell(0, 60, 20.0)
    policy.drop(2)
    assert policy.ask() == Block(0, 40, "learn", 2)
