"""What ran before a campaign: the status quo and the history, told to policies that understand it."""

import json

import pytest

from latesum import InvalidInput
from latesum._plugins import POLICIES
from latesum.campaigns.campaign import Campaign
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.moving import export_campaigns, exported_log, replay_log
from latesum.policies import RoundRobin

GIVEN = {
    "name": "banner",
    "options": ["red", "blue"],
    "every": "day",
    "start": "2026-03-01",
    "expected_rounds": 5000,
    "time_basis": "arrival",
    "seed": 1,
    "policy": "remembering",
    "range": (0, 10),
}
ROWS = [
    {"bucket": "2026-02-27", "rounds": 4000, "total": 1200},
    {"bucket": "2026-02-25", "rounds": 5000, "total": 1000, "shown": "blue"},
]


class Remembering(RoundRobin):
    """Plays in turn, and keeps what it is told of the time before."""

    kind = "remembering"

    def __init__(self, n_arms, *, status_quo=None, history=(), names=None):
        super().__init__(n_arms, names=names)
        self.status_quo = status_quo
        self.history = history


@pytest.fixture(autouse=True)
def remembering(monkeypatch):
    monkeypatch.setitem(POLICIES._known, "remembering", Remembering)


@pytest.mark.parametrize(
    ("status_quo", "given"),
    [("none", None), ("other", "other"), ("unknown", "other"), ("blue", 1)],
)
def test_the_policy_is_told_what_ran_before(status_quo, given):
    assert (
        CampaignConfig.read({**GIVEN, "status_quo": status_quo}).build_policy().status_quo == given
    )
    assert CampaignConfig.read(GIVEN).build_policy().status_quo == "other"  # not known


def test_the_history_is_told_oldest_first_in_the_units_of_policies():
    """Days without a row showed what the day before did; their totals are not known."""
    policy = CampaignConfig.read({**GIVEN, "status_quo": "red", "history": ROWS}).build_policy()
    assert policy.history == [
        (1, 5000, 100.0),
        (1, 5000, None),
        (0, 4000, 120.0),
        (0, 5000, None),
    ]


def test_a_history_is_kept_with_the_campaign_and_replayed(tmp_path):
    given = {**GIVEN, "status_quo": "red", "history": ROWS}
    with Campaign.create(**given, store=tmp_path / "c.db") as campaign:
        campaign.decide("2026-03-01")
        exported = json.loads(
            json.dumps(export_campaigns(campaign.store, "banner")["campaigns"][0])
        )
        reopened = Campaign.open("banner", store=campaign.store).config
    assert reopened == CampaignConfig.read(given)
    assert reopened.build_policy().history[0] == (1, 5000, 100.0)
    assert replay_log(CampaignConfig.from_json(exported["config"]), exported_log(exported)) == []


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"status_quo": "green"}, "there is no status quo 'green'"),
        ({"history": ROWS}, "2026-02-27 in the history: say which option was shown"),
        ({"status_quo": "red", "history": "rows"}, "a list of rows"),
        ({"status_quo": "red", "history": [{"rounds": 5}]}, "'bucket'"),
        ({"status_quo": "red", "history": [{"bucket": "2026-03-01"}]}, "not before the start"),
        ({"status_quo": "red", "history": [ROWS[0], ROWS[0]]}, "twice"),
        ({"status_quo": "red", "history": [{**ROWS[0], "rounds": 0}]}, "at least 1"),
        ({"status_quo": "red", "history": [{**ROWS[0], "totl": 1}]}, "did you mean 'total'"),
        (
            {"status_quo": "red", "history": ROWS, "policy": "round-robin"},
            "cannot use what was played",
        ),
    ],
)
def test_what_cannot_have_run_is_refused(wrong, match):
    with pytest.raises(InvalidInput, match=match):
        CampaignConfig.read({**GIVEN, **wrong})


def test_a_policy_that_does_not_understand_it_is_named():
    parameters = {"policy": "odaaf", "parameters": {"horizon": "90 days", "mean_delay": "1 day"}}
    assert (
        "odaaf takes it that nothing ran before"
        in CampaignConfig.read({**GIVEN, **parameters}).note
    )
    assert CampaignConfig.read({**GIVEN, **parameters, "status_quo": "none"}).note is None
    assert CampaignConfig.read(GIVEN).note is None
