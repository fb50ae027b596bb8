"""Every policy of the registry keeps to the protocol; policies that break it are caught."""

import pytest

from latesum.policies import check
from latesum.policies.baselines import Oracle, RoundRobin
from latesum.policies.conformance import NotConforming
from latesum.policies.odaaf import ODAAF, ODAAFB
from latesum.policies.registry import available

OTHERS = {
    "odaaf, many phases": ODAAF(2, 10**6, mean_delay=0),
    "odaaf, few rounds": ODAAF(2, 3, mean_delay=50),
    "odaaf with a bridge": ODAAF(4, 20_000, mean_delay=5, bridge=True, names=list("wxyz")),
    "odaaf-b, leader first": ODAAFB(
        3, 9_000, mean_delay=5, delay_bound=9, order="leader first", first_tolerance=1
    ),
    "odaaf, leader first without a bridge": ODAAF(
        3, 9_000, mean_delay=5, bridge=False, order="leader first", first_tolerance=1
    ),
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
