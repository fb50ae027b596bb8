"""The policy that follows the log is always the one that a fresh replay would give."""

import numpy as np
import pytest

from latesum.live.caches import ReplayCache
from latesum.policies import Play, registry


@pytest.mark.parametrize("name", ["odaaf", "flow", "unmix"])
def test_going_back_to_a_checkpoint_is_the_same_as_beginning_anew(name):
    rng = np.random.default_rng(5)
    policy = registry.build(name, n_arms=3, horizon=200_000, mean_delay=50)
    planner = ReplayCache(policy)
    told = []
    for step in range(90):
        for _ in range(2):
            if len(told) == 70:
                told.append(1)  # an option is taken away
            else:
                arm = int(rng.choice([0, 2])) if len(told) > 70 else int(rng.integers(3))
                told.append(Play(arm, 500, float(rng.integers(100, 400)), "learn"))
        if step % 3 == 0:  # some total becomes known, is restated, or turns out to be missing
            index = int(rng.integers(len(told)))
            if isinstance(told[index], Play):
                restated = None if rng.random() < 0.3 else float(rng.integers(100, 400))
                told[index] = told[index]._replace(total=restated)
        if step % 7:
            continue
        fresh = policy.fresh()
        for each in told:
            fresh.tell(*each) if isinstance(each, Play) else fresh.drop(each)
        after = planner.after(list(told))
        assert after.ask() == fresh.ask()
        assert after.estimates() == fresh.estimates()
