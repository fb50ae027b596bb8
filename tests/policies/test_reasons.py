"""No reason claims that an option looks good where nothing is known."""

import warnings

import pytest

from latesum.policies import registry

KNOWN = {"horizon": 50_000, "mean_delay": 20, "delay_bound": 60, "delay_variance": 400.0}
CLAIMS = ("promising", "looks best", "is the answer", "more about it")


def built(name):
    accepted = registry.accepted_parameters(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a phase may be shorter than the delay bound
        return registry.build(
            name, n_arms=3, **{key: value for key, value in KNOWN.items() if key in accepted}
        )


@pytest.mark.parametrize("name", [each for each in registry.available() if each != "oracle"])
def test_while_no_total_is_known_no_reason_claims_anything(name):
    policy = built(name)
    said = []
    for _ in range(60):
        arm, rounds, purpose, *_ = policy.ask()
        policy.tell(arm, rounds, None, purpose)
        said.append(policy.explain()[-1])
    policy.tell(0, 60_000, None, "override")  # and past the horizon
    said.append(policy.explain()[-1])
    assert [each for each in said if any(claim in each for claim in CLAIMS)] == []
    assert any("nothing is known yet" in each for each in said)


@pytest.mark.parametrize("name", ["flow", "ars-ucb"])
def test_once_totals_are_known_reasons_say_so(name):
    policy = built(name)
    for _ in range(40):
        arm, rounds, purpose, *_ = policy.ask()
        policy.tell(arm, rounds, (0.2, 0.5, 0.6)[arm] * rounds, purpose)
    assert "nothing is known" not in policy.explain()[-1]


def test_an_option_of_which_nothing_is_known_is_not_called_promising():
    policy = built("flow")
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
