"""What policies say: findings and reasons; none claims anything where nothing is known."""

import numpy as np
import pytest

from latesum._render import counted
from latesum.policies import Flow
from latesum.policies.registry import available

CLAIMS = ("promising", "looks best", "is the answer", "more about it")


@pytest.mark.parametrize("name", available())
def test_explain_ends_with_the_next_block_and_its_reason(built, name):
    policy = built(name)
    rng = np.random.default_rng(1)
    for step in range(30):
        if step == 20:
            policy.drop(2)
            assert "C was taken away." in policy.explain()
        asked = policy.ask()
        last = f"Next: {policy.names[asked.arm]} for {counted(asked.rounds, 'round')}, "
        assert policy.explain()[-1] == f"{last}{policy._reason()}."
        policy.tell(asked.arm, asked.rounds, float(rng.binomial(asked.rounds, 0.5)))


@pytest.mark.parametrize("name", [each for each in available() if each != "oracle"])
@pytest.mark.parametrize("lookahead", [False, True])
def test_while_no_total_is_known_no_reason_claims_anything(built, name, lookahead):
    policy = built(name, lookahead=lookahead, horizon=50_000)
    said = []
    for _ in range(60):
        arm, rounds, purpose, *_ = policy.ask()
        policy.tell(arm, rounds, None, purpose)
        said.append(policy.explain()[-1])
    policy.tell(0, 60_000, None, "override")  # and past the horizon
    said.append(policy.explain()[-1])
    assert [each for each in said if any(claim in each for claim in CLAIMS)] == []
    assert any("nothing is known yet" in each for each in said)


def test_an_option_of_which_nothing_is_known_is_not_called_promising(built):
    policy = built("flow", horizon=50_000)
    unknown = policy.ask().arm
    seen = set()
    for _ in range(30):
        arm, rounds, purpose, *_ = policy.ask()
        seen.add((arm, policy.explain()[-1].split(", ", 1)[1]))
        policy.tell(arm, rounds, None if arm == unknown else 0.5 * rounds, purpose)
    reasons = {reason for arm, reason in seen if arm == unknown}
    assert "because nothing is known of it yet." in reasons
    assert not any("promising" in reason for reason in reasons)
    others = {reason for arm, reason in seen if arm != unknown}
    assert "because it looks most promising of those of which something is known." in others


def test_flow_says_what_it_has_seen_and_why_it_goes_on():
    policy = Flow(2, 100_000, mean_delay=10, rng=np.random.default_rng(0))
    first, second = policy.ask().arm, 1 - policy.ask().arm
    assert policy._reason() == "because it has not been tried yet"
    policy.tell(first, policy.ask().rounds - 5, None)
    assert policy._reason() == "to finish the block that was begun"
    policy.tell(first, 5, 4.0)
    policy.tell(second, policy.ask().rounds, 15.0)
    assert policy._reason() == "because it looks most promising"
    assert policy.explain()[second].startswith(f"{policy.names[second]} has a mean of about 0.")
