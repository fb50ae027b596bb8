"""A policy of one's own says what it says in plain texts, and a campaign shows them as they are."""

from latesum._plugins import POLICIES
from latesum.campaigns import Campaign, Row
from latesum.campaigns.describing import describe_event
from latesum.campaigns.static_page import status_html
from latesum.policies import RoundRobin, registry


class Terse(RoundRobin):
    """A policy of one's own, which says what it says in plain texts."""

    kind = "terse"

    def _findings(self):
        return ["Played 5,000 rounds at 0.25 so far."]

    def _reason(self):
        return "since 5,000 rounds are due"


def test_plain_texts_of_a_policy_of_ones_own_are_shown_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(POLICIES, "_known", dict(POLICIES._known))
    registry.register(Terse)
    campaign = Campaign.create(
        name="own", options=["a", "b"], policy="terse", expected_rounds=5000, every="number",
        time_basis="arrival", store=tmp_path / "store.db",
    )  # fmt: skip
    campaign.decide()
    campaign.record_many([Row(1, 5000, 100)])
    page = status_html(campaign.status())
    assert "Played 5,000 rounds at 0.25 so far." in page
    assert "since 5,000 rounds are due." in page
    shown = describe_event(campaign.history()[0], campaign.current_settings())
    assert shown.endswith("decided 1: a for 1 bucket, since 5,000 rounds are due.")
