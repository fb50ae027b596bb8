"""A class of one's own plays as it says or is refused; it never plays as something else."""

import numpy as np
import pytest

from latesum import Problem, compare, simulate
from latesum._checks import InvalidInput
from latesum.attributed import (
    DUCB,
    KLDUCB,
    QPMD,
    SBD,
    AttributedPolicy,
    DelayedUCB1,
    ImprovedUCB,
    run,
)
from latesum.attributed import layout_kernels as at
from latesum.attributed.memory import Memory
from latesum.attributed.playable import KINDS

PROBLEM = Problem([0.1, 0.6], "constant(0)")
HORIZON = 1_000

#: Every way to play an attributed policy.
WAYS = {
    "run": lambda policy, problem: run(
        problem, policy, HORIZON, seed_sequence=np.random.SeedSequence(1)
    ),
    "simulate": lambda policy, problem: simulate(problem, policy, HORIZON, seed=1),
    "compare": lambda policy, problem: compare(
        problem, {"mine": policy}, HORIZON, replications=2, seed=1
    ),
    "by hand": lambda policy, problem: policy.start(rng=np.random.default_rng(1)),
}
every_way = pytest.mark.parametrize("play", WAYS.values(), ids=WAYS)


def _whole(**places):
    """A change of a memory: numbers in `whole`, by the names of `layout_kernels`."""

    def change(memory):
        for place, value in places.items():
            memory.whole[getattr(at, place)] = value

    return change


class _Own(AttributedPolicy):
    """A class from nothing, which knows nothing about the delay: a kind, and changes to it."""

    name = "my own"

    def __init__(self, kind, change=None):
        super().__init__(2)
        self.kind, self.change = kind, change

    def new_memory(self, rng):
        memory = Memory(self.kind, self.n_arms, rng)
        memory.settings[at.EXPLORATION] = 2.0
        if self.change is not None:
            self.change(memory)
        return memory


def _array(name, value):
    return lambda memory: setattr(memory, name, value)


@every_way
@pytest.mark.parametrize("kind", [99, 4, -1])
def test_a_kind_that_is_not_compiled_is_refused(play, kind):
    with pytest.raises(InvalidInput) as refusal:
        play(_Own(kind), PROBLEM)
    assert f"the memory of _Own has {kind} in whole[KIND]" in str(refusal.value)
    assert "0 (QUEUED), 1 (RECEIVED), 2 (WEIGHTED), 3 (PHASED)" in str(refusal.value)
    assert "use QPMD, DelayedUCB1, SBD, DUCB, KLDUCB or ImprovedUCB" in str(refusal.value)


@every_way
@pytest.mark.parametrize(
    ("kind", "change", "sentence"),
    [
        (at.QUEUED, _whole(BASE=5), r"has 5 in whole\[BASE\].*4 \(FIXED\)"),
        (at.QUEUED, _whole(HEURISTIC=3), r"has 3 in whole\[HEURISTIC\]"),
        (at.QUEUED, _whole(ASKED=2), r"must have an arm in whole\[ASKED\]"),
        (at.RECEIVED, _whole(BASE=at.THOMPSON), r"has 3 in whole\[BASE\].*0 \(UCB1\)"),
        (at.RECEIVED, _whole(BASE=at.KL_UCB_PLUS_PLUS), r"above 0 in settings\[HORIZON_PER_ARM\]"),
        (at.RECEIVED, lambda memory: memory.settings.fill(0), r"above 0 in settings\[EXPLORATION"),
        (at.WEIGHTED, None, r"1 or more in whole\[WINDOW\]"),
        (at.WEIGHTED, _whole(WINDOW=5), r"survival as an array of int64 of shape \(2, 5\)"),
        (at.PHASED, None, r"1 or more in settings\[HORIZON\]"),
        (at.QUEUED, _whole(ROUNDS=7), "has played 7 rounds; it must return a new one"),
        (at.QUEUED, _array("tallies", np.zeros((6, 3), np.int64)), r"shape \(6, 2\).*\(6, 3\)"),
        (at.QUEUED, _array("arms", np.zeros((6, 2), np.int64)), "arms as an array of float64"),
    ],
)
def test_numbers_that_would_be_taken_for_others_are_refused(play, kind, change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        play(_Own(kind, change), PROBLEM)


class _Choosing(QPMD):
    def choose(self):
        return 1


class _Learning(DelayedUCB1):
    def _learn(self, arm, reward):
        pass


class _Starting(QPMD):
    def start(self, *, rng):
        return super().start(rng=rng)


class _Mixin:
    @staticmethod
    def observe(arrivals):
        pass


class _Mixed(_Mixin, QPMD):
    pass


class _Nothing(QPMD):
    def new_memory(self, rng):
        super().new_memory(rng)


@every_way
@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (_Choosing("ucb1", 2), r"_Choosing\.choose would never be called"),
        (_Learning(2), r"_Learning\._learn would never be called"),
        (_Mixed("ucb1", 2), r"_Mixed\.observe would never be called"),
        (_Nothing("ucb1", 2), "new_memory must return a Memory, not None"),
    ],
)
def test_methods_that_a_run_ignores_are_refused(play, policy, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        play(policy, PROBLEM)


@pytest.mark.parametrize("way", ["run", "simulate", "compare"])
def test_a_start_of_its_own_is_refused_by_runs(way):
    with pytest.raises(InvalidInput, match=r"_Starting\.start would never be called"):
        WAYS[way](_Starting("ucb1", 2), PROBLEM)


class _Unchecked(ImprovedUCB):
    def check(self, problem):
        pass


@pytest.mark.parametrize("way", ["run", "simulate", "compare"])
def test_what_the_compiled_code_needs_is_checked_without_the_check_of_the_class(way):
    with pytest.raises(InvalidInput, match="undelayed rewards, and these come with poisson"):
        WAYS[way](_Unchecked(2, horizon=HORIZON), Problem([0.1, 0.6], "poisson(3)"))
    with pytest.raises(InvalidInput, match="2 arms and the problem has 3"):
        WAYS[way](_Unchecked(2, horizon=HORIZON), Problem([0.1, 0.6, 0.7], "constant(0)"))


class _Kept(QPMD):
    """Its runs would go on where the one before stopped."""

    def new_memory(self, rng):
        if not hasattr(self, "memory"):
            self.memory = super().new_memory(rng)
        return self.memory


def test_a_memory_that_is_not_new_is_refused():
    policy = _Kept("ucb1", 2)
    WAYS["run"](policy, PROBLEM)
    for play in WAYS.values():
        with pytest.raises(InvalidInput, match="has played 1000 rounds"):
            play(policy, PROBLEM)


def test_compare_refuses_before_the_first_run():
    policies = {"theirs": QPMD("ucb1", 2), "mine": _Own(99)}
    done = []
    with pytest.raises(InvalidInput, match="has 99 in whole"):
        compare(
            PROBLEM, policies, HORIZON, replications=2, seed=1,
            progress=lambda rounds, all_rounds: done.append(rounds),
        )  # fmt: skip
    assert done == []


class _Tuned(QPMD):
    """QPM-D that explores less: all that it changes is used."""

    @property
    def name(self):
        return "tuned"

    def new_memory(self, rng):
        memory = super().new_memory(rng)
        memory.settings[at.EXPLORATION] = 0.5
        return memory


class _Impatient(DUCB):
    """DUCB with a helper of DUCB's own replaced."""

    def _window(self, delay):
        return 3


def test_a_subclass_whose_changes_are_used_plays():
    plays = WAYS["run"](_Tuned("ucb1", 2), PROBLEM).plays
    assert plays.tolist() == WAYS["run"](QPMD("ucb1", 2, exploration=0.5), PROBLEM).plays.tolist()
    assert plays.tolist() != WAYS["run"](QPMD("ucb1", 2), PROBLEM).plays.tolist()
    assert _Impatient("uniform(0, 9)", 2).new_memory(np.random.default_rng(1)).whole[at.WINDOW] == 3
    for play in WAYS.values():
        play(_Tuned("ucb1", 2), PROBLEM)
        play(_Impatient("constant(0)", 2), PROBLEM)


def test_every_kind_has_a_policy():
    policies = [
        QPMD("ucb1", 2),
        SBD("ucb1", 2, max_delay=9),
        DelayedUCB1(2),
        DUCB("constant(0)", 2),
        KLDUCB("constant(0)", 2),
        ImprovedUCB(2, horizon=9),
    ]
    memories = [policy.new_memory(np.random.default_rng(1)) for policy in policies]
    assert {int(memory.whole[at.KIND]) for memory in memories} == set(KINDS)
