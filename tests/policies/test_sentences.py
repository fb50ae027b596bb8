"""What policies say: findings, reasons and phases, each by itself."""

import numpy as np
import pytest

from latesum._render import counted
from latesum.policies import ODAAF, Flow, build
from latesum.policies.registry import accepted_parameters, available

TOLD = {"n_arms": 3, "horizon": 6_000, "mean_delay": 8.0, "delay_variance": 20.0,
        "delay_bound": 20, "best_arm": 1}  # fmt: skip


def _policy(name):
    return build(name, **{key: TOLD[key] for key in TOLD if key in accepted_parameters(name)})


@pytest.mark.parametrize("name", available())
def test_explain_is_the_findings_and_the_next_block_with_its_reason(name):
    policy = _policy(name)
    rng = np.random.default_rng(1)
    for step in range(30):
        if step == 20:
            policy.drop(2)
            assert "C was taken away." in policy.findings()
        asked = policy.ask()
        last = f"Next: {policy.names[asked.arm]} for {counted(asked.rounds, 'round')}, "
        assert policy.explain() == [*policy.findings(), f"{last}{policy.reason()}."]
        policy.tell(asked.arm, asked.rounds, float(rng.binomial(asked.rounds, 0.5)))


def test_phases_are_counted_and_end():
    policy = ODAAF(2, 20_000, mean_delay=5)
    assert policy.phase == 1
    seen = set()
    while policy.ask().purpose != "commit":
        seen.add(policy.phase)
        asked = policy.ask()
        policy.tell(asked.arm, asked.rounds, (0.2, 0.5)[asked.arm] * asked.rounds)
    assert policy.phase is None
    assert seen == set(range(1, len(seen) + 1))
    assert len(seen) > 1
    assert Flow(2, mean_delay=5).phase is None


@pytest.mark.parametrize("lookahead", [False, True])
def test_nothing_looks_promising_where_nothing_is_known(lookahead):
    rng = np.random.default_rng(0)
    policy = Flow(2, 100_000, mean_delay=10, lookahead=lookahead, rng=rng)
    assert policy.reason() != "because it looks most promising"
    for _ in range(12):
        asked = policy.ask()
        policy.tell(asked.arm, asked.rounds, None)
        assert policy.reason() != "because it looks most promising"


def test_what_is_known_looks_promising():
    policy = Flow(2, 100_000, mean_delay=10, rng=np.random.default_rng(0))
    first, second = policy.ask().arm, 1 - policy.ask().arm
    assert policy.reason() == "because it has not been tried yet"
    policy.tell(first, policy.ask().rounds - 5, None)
    assert policy.reason() == "to finish the block that was begun"
    policy.tell(first, 5, 4.0)
    policy.tell(second, policy.ask().rounds, 2.0)
    assert policy.reason() == "because it looks most promising"
