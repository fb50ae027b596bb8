"""The policy that follows the log is always the one that a fresh replay would give."""

import numpy as np
import pytest

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import _CHECKPOINT_EVERY, Replay
from latesum.policies import Play


def configured(policy, options, horizon):
    given = {
        "name": "x",
        "options": options,
        "start": "2026-01-01",
        "expected_rounds": 500,
        "policy": policy,
    }
    parameters = {"horizon": horizon, "mean_delay": 50}
    return CampaignConfig.read({**given, "time_basis": "arrival", "parameters": parameters})


@pytest.mark.parametrize("name", ["odaaf", "flow", "unmix"])
def test_going_back_to_a_checkpoint_is_the_same_as_beginning_anew(name):
    rng = np.random.default_rng(5)
    config = configured(name, ["a", "b", "c"], 200_000)
    policy, planner = config.build_policy(), Replay()
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
        after = planner.after(config, list(told))
        assert after.ask() == fresh.ask()
        assert after.estimates() == fresh.estimates()


def test_a_revision_of_an_old_bucket_replays_from_there(monkeypatch):
    """Of 3,000 buckets number 2,900 is restated: what came long before it is not told again."""
    config = configured("odaaf", ["a", "b"], 2_000_000)
    policy, planner = config.build_policy(), Replay()
    told = [
        Play(bucket // 100 % 2, 500, 200.0, "learn", bucket // 100 + 1) for bucket in range(3_000)
    ]
    planner.after(config, told)
    tells = []
    plain_tell = type(policy).tell
    monkeypatch.setattr(
        type(policy), "tell", lambda self, *play: tells.append(play) or plain_tell(self, *play)
    )
    planner.after(config, list(told))
    assert len(tells) < _CHECKPOINT_EVERY
    told[2_900] = told[2_900]._replace(total=210.0)
    tells.clear()
    after = planner.after(config, list(told))
    assert 100 <= len(tells) < 100 + _CHECKPOINT_EVERY
    assert tells[0] in told[2_900 - _CHECKPOINT_EVERY : 2_901]
    assert after.estimates() == policy.replay(told).estimates()
