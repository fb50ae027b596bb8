"""What a policy says is shown in the campaign's own units; plain texts are shown as they are."""

import pytest

from latesum._plugins import POLICIES
from latesum.campaigns import Campaign, Row
from latesum.campaigns.actions import describe_event
from latesum.campaigns.static_page import status_html
from latesum.policies import RoundRobin, registry


class Terse(RoundRobin):
    """A policy of one's own, which says what it says in plain texts."""

    kind = "terse"

    def _findings(self, units):
        return ["Played 5,000 rounds at 0.25 so far."]

    def _reason(self):
        return "since 5,000 rounds are due"


def test_plain_texts_of_a_policy_of_ones_own_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(POLICIES, "_known", dict(POLICIES._known))
    registry.register(Terse)
    campaign = Campaign.create(
        name="own",
        options=["a", "b"],
        policy="terse",
        expected_rounds=5000,
        start="2026-01-01",
        time_basis="arrival",
        store=tmp_path / "store.db",
    )
    campaign.decide(1)
    campaign.record_many([Row(1, 5000, 100)])
    page = status_html(campaign.status())
    assert "Played 5,000 rounds at 0.25 so far." in page
    assert "since 5,000 rounds are due." in page
    shown = describe_event(campaign.history()[0], campaign.state().config)
    assert shown.endswith("decided 2026-01-01: a for 1 day, since 5,000 rounds are due.")


@pytest.mark.parametrize("policy", ["flow", "odaaf", "unmix"])
def test_findings_about_money_are_in_the_campaign_s_own_units(new_campaign, clock, policy):
    given = {"horizon": 450_000, "mean_delay": 5000}
    campaign = new_campaign(policy=policy, parameters=given, range=(0, 500), unit="EUR")
    for day in range(1, 41):
        shown = campaign.decide()
        clock.pass_by(days=1)
        campaign.record(day, rounds=5000, total=5000.0 * (60, 90, 180)[shown.arm])
    page, said = status_html(campaign.status()), " ".join(campaign.explain())
    found = {
        "flow": f"A has a mean of about {campaign.estimates()[0].mean:.4g}, equivalent to",
        "odaaf": "until each has 52 days and then drops those more than 125 below the best.",
        "unmix": "late on average (given: 1 day).",
    }[policy]
    assert found in page
    assert found in said
    assert "mean of about 0." not in page
