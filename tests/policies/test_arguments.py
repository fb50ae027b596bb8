"""What a policy was built with: attributes, parameters, repr, pickles; and what it saves."""

import json
import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest

from latesum import InvalidInput, policies
from latesum.policies import ODAAFB, Block, FixedSplit, Flow, RoundRobin, check
from latesum.policies.base import Policy
from latesum.policies.registry import accepted_parameters, available


@pytest.mark.parametrize("name", available())
def test_a_policy_is_what_its_repr_its_parameters_and_its_pickle_build(built, name):
    policy = built(name, names=["a", "b", "c"])
    assert set(policy.parameters) == set(accepted_parameters(policy.kind)) - {"rng"}
    read = json.loads(json.dumps(policy.parameters))
    for again in (
        eval(repr(policy), vars(policies)),
        type(policy)(**read),
        pickle.loads(pickle.dumps(policy)),
    ):
        assert type(again) is type(policy)
        assert again.parameters == policy.parameters
        assert again.ask() == policy.ask()


def test_repr_is_what_one_would_type():
    assert repr(Flow(2, 250_000, mean_delay=50)) == "Flow(2, 250000, mean_delay=50.0)"
    assert repr(Flow(2, mean_delay=50, caution=0)) == "Flow(2, mean_delay=50.0, caution=0.0)"
    assert repr(RoundRobin(3, block=50)) == "RoundRobin(3, block=50)"
    bounded = ODAAFB(2, 9_000, 5, 9, order="leader first")
    assert repr(bounded) == "ODAAFB(2, 9000, mean_delay=5, delay_bound=9, order='leader first')"
    named = FixedSplit(2, 100, shares=(0.25, 0.75), names=("old", "new"))
    assert repr(named) == "FixedSplit(2, 100, shares=[0.25, 0.75], names=['old', 'new'])"


def test_what_was_left_out_stays_left_out():
    """A default that depends on other arguments is worked out again, not frozen."""
    assert ODAAFB(2, 9_000, 5, 9).parameters["bridge"] is None
    assert "names" not in RoundRobin(2).parameters


class Half(Policy):
    """Three hooks and no more: first every arm for `rounds`, then the one that paid most."""

    kind = "half"

    def __init__(self, n_arms, rounds=100, *, names=None):
        self.rounds = rounds
        super().__init__(n_arms, names=names)

    def _reset(self):
        self._sums = {str(arm): 0.0 for arm in range(self.n_arms)}
        self._left = [self.rounds] * self.n_arms

    def _learn(self, play):
        if play.purpose == "learn":
            self._left[play.arm] = max(0, self._left[play.arm] - play.rounds)
            self._sums[str(play.arm)] += play.total or 0.0

    def _next(self):
        for arm in self._available():
            if self._left[arm]:
                return Block(arm, self._left[arm], "learn")
        best = max(self._available(), key=lambda arm: self._sums[str(arm)])
        return Block(best, 500 - self.rounds_played % 500, "commit")


@pytest.mark.parametrize("seed", range(3))
def test_three_hooks_are_enough(seed):
    check(Half(3), seed=seed)
    assert Half(3).estimates()[0].mean is None


class WithArrays(Half):
    """Keeps what it learns in a NumPy array, a tuple and a dataclass."""

    kind = "with-arrays"

    def _reset(self):
        super()._reset()
        self._counts = np.zeros(self.n_arms, dtype=np.int64)
        self._last = (0, 0.0)
        self._note = Note()

    def _learn(self, play):
        super()._learn(play)
        self._counts[play.arm] += play.rounds
        self._last = (play.arm, play.total)
        self._note.arms.append(play.arm)


@dataclass
class Note:
    arms: list = field(default_factory=list)


def test_state_may_be_arrays_tuples_and_dataclasses():
    check(WithArrays(3))
    policy = WithArrays(2)
    policy.tell(1, 10, 4.0, "override")
    policy.tell(1, 20, 5.0, "override")
    again = WithArrays.from_state(json.loads(json.dumps(policy.to_state())))
    for one in (policy, again, policy.copy()):
        assert one._counts.dtype == np.int64
        assert one._counts.tolist() == [0, 30]
        assert one._last == (1, 9.0)
        assert one._note == Note([1])


class Forgetting(Half):
    def __init__(self, n_arms, extra=1):
        super().__init__(n_arms)


class Sloppy(Half):
    def _next(self):
        return (0, 10)


class Anything(Half):
    def __init__(self, *arguments):
        super().__init__(*arguments)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Forgetting(2).to_state(), r"write self.extra = extra in __init__"),
        (lambda: Sloppy(2).ask(), r"Sloppy._next must return a Block.*not \(0, 10\)"),
        (lambda: Anything(2), "by their names"),
    ],
)
def test_a_class_that_cannot_be_saved_or_asked_is_refused_with_a_remedy(call, says):
    with pytest.raises(InvalidInput, match=says):
        call()


def test_a_parameter_that_cannot_be_saved_is_refused_where_it_is_saved():
    policy = Half(2, names=["a", "b"])
    assert policy.parameters == {"n_arms": 2, "rounds": 100, "names": ["a", "b"]}
    policy.rounds = object()
    with pytest.raises(InvalidInput, match="'rounds' of Half"):
        policy.to_state()
    with pytest.raises(TypeError, match="n_arms"):
        Half()
