"""Sentences keep the data they were made of; a page says the same in days, percent, labels and buttons."""

import copy
import json
import pickle
import re

import numpy as np
import pytest

from latesum._plugins import POLICIES
from latesum._sentences import ProgramReader, Reader, Sentence, joined, sentence
from latesum.campaigns import Campaign, Row
from latesum.campaigns.describing import describe_event
from latesum.campaigns.outlook import percent
from latesum.campaigns.page_words import PageReader, Words
from latesum.campaigns.reasons import reason_of
from latesum.campaigns.static_page import status_html
from latesum.policies import ODAAF, Flow, RoundRobin, Unmix, registry
from latesum.policies.saying import say_estimate

SHARES = (0.0, 1.0)
DAYS = Words("day", 5000, SHARES)


def learned(policy, means=(0.2, 0.5), steps=40):
    rng = np.random.default_rng(1)
    for _ in range(steps):
        asked = policy.ask()
        policy.tell(asked.arm, asked.rounds, float(rng.binomial(asked.rounds, means[asked.arm])))
    return policy


def test_a_sentence_is_a_text_and_keeps_its_data():
    said = sentence("{option} for {rounds:block}", kind="next", option="{red}", rounds=1)
    assert said == "{red} for 1 round"
    assert (said.kind, dict(said.fields)) == ("next", {"option": "{red}", "rounds": 1})
    for same in (copy.deepcopy(said), pickle.loads(pickle.dumps(said))):
        assert (same, same.kind, same.fields, type(same)) == (
            said,
            said.kind,
            said.fields,
            Sentence,
        )
    assert json.loads(json.dumps([said])) == ["{red} for 1 round"]
    assert Reader().tell("any text with {braces}") == "any text with {braces}"
    assert DAYS.tell(joined([said, "and more"], "; ")) == "{red} for about 1 day; and more"


@pytest.mark.parametrize(
    "policy",
    [
        Flow(2, 100_000, mean_delay=10, before="other"), Unmix(2, 100_000, mean_delay=10, before="other"),
        Unmix(2, 100_000), ODAAF(2, 100_000, mean_delay=10),
    ],
    ids=lambda policy: policy.kind,
)  # fmt: skip
def test_the_text_of_a_policy_is_what_its_data_say(policy):
    """The first reader gets the text; another one gets no round, and no mean as a share."""
    learned(policy)
    told = [*policy.findings(), policy.explain()[-1]]
    assert [Reader().tell(each) for each in told] == told
    assert any(isinstance(each, Sentence) and each.kind and each.fields for each in told)
    words = Words("day", 10, SHARES)
    for each in map(words.tell, told):
        assert "round" not in each
        assert not re.search(r"\b0\.\d", each)
    assert any("%" in words.tell(each) or "day" in words.tell(each) for each in told)


def test_findings_in_the_words_of_those_who_decide():
    assert say_estimate("red", 0.0253, 15_000.4, 0.031) == (
        "red has a mean of about 0.025, as sure as from 15,000 rounds without delay; it might be as good as 0.031."
    )
    assert DAYS.tell(say_estimate("red", 0.0253, 15_000, 0.031)) == (
        "red has a mean of about 2.53%; it might be as good as 3.1%. As much is known of it as about 3 days without "
        "any delay would tell."
    )
    money = Words("day", 5000, (0.0, 40.0))  # policies see shares of the range
    assert money.tell(say_estimate("red", 0.0253, 15_000, 0.031)).startswith(
        "red has a mean of about 1.012; "
    )
    late = next(
        each
        for each in learned(Unmix(2, 100_000, mean_delay=2500)).findings()
        if each.kind == "late, as told"
    )
    assert late.endswith(" (told: 2,500).")
    assert DAYS.tell(late).endswith(" (about 12 hours was said at the start).")
    fields = {"option": "b", "phase": 2, "mean": 0.2, "tolerance": 0.25, "leader": "a", "best": 0.5}
    dropped = sentence(
        "{mean:mean} is more than {tolerance:points} below {leader}", kind="dropped", **fields
    )
    assert DAYS.tell(dropped) == "20% is more than 25 percentage points below a"
    assert money.tell(dropped) == "8 is more than 10 below a"
    assert (DAYS.rate(0.02533), percent(1.5)) == ("2.53%", "150%")


def test_a_reason_is_read_from_the_log():
    why = "because it may be best"
    reason = reason_of({"reason": f"red for two for 1 day, {why}.", "why": why})
    assert dict(reason.fields) == {"option": "red for two", "span": "1 day", "why": why}
    assert DAYS.tell(reason) == f"red for two for 1 day, {why}."
    paused = {"reason": "The campaign is paused, so a stays: for 2 days, x"}
    assert DAYS.tell(reason_of(paused)) == paused["reason"]


def test_commands_are_buttons_at_a_page_and_fields_in_a_request():
    said = sentence(
        "{record}, or {resume:command}; move them{move:aside}. Say {decimal:setting}.", resume="", move="",
        decimal=("','", "'.'"),
        record=sentence("Record with {import:command}", kind="bring in totals", **{"import": "FILE"}),
    )  # fmt: skip
    assert said == (
        "Record with `latesum campaign import FILE`, or `latesum campaign resume`; move them (`latesum campaign move`). "
        "Say --decimal ',' or --decimal '.'."
    )
    assert (
        PageReader().tell(said)
        == "Bring in totals, or resume; move them. Say “Decimal mark” (comma or point)."
    )
    assert ProgramReader().tell(said).endswith("Say decimal=',' or decimal='.'.")
    commands = Words("day", 5000, SHARES, buttons=False)
    assert "`latesum campaign resume`" in commands.tell(said)


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
    event = campaign.history()[0]
    assert event.body["why"] == "since 5,000 rounds are due"
    shown = Words("number", 5000, SHARES).tell(describe_event(event, campaign.current_settings()))
    assert shown.endswith(f"a for 1 bucket, {event.body['why']}.")
