"""A total of one bucket: what is said of it when, what became of that, and what the policy uses.

The bucket is decided at 08:00 and ends 16 hours later.
"""

import itertools

import pytest

from latesum.campaigns.deciding import plays_at
from latesum.errors import Conflicting, InvalidInput


def wait(**span):
    return lambda campaign, clock: clock.pass_by(**span)


def says(verdict, marks=(), **record):
    """A record gets this verdict, and is marked so."""

    def step(campaign, clock):
        result = campaign.record(1, **record)
        assert (result.verdict, result.marks) == (verdict, marks), record

    return step


def refused(error, match, **record):
    def step(campaign, clock):
        with pytest.raises(error, match=match):
            campaign.record(1, **record)

    return step


def used(total, purpose="learn"):
    """What the policy is given of the bucket."""

    def step(campaign, clock):
        play = plays_at(campaign.state(), clock())[0]
        assert play.total == (None if total is None else pytest.approx(total))
        assert play.purpose == purpose

    return step


def kept(events, **value):
    """How many records the log has, and what they add up to."""

    def step(campaign, clock):
        assert len(campaign.history()) - 1 == events
        found = campaign.state().value(1)
        assert {name: getattr(found, name) for name in value} == value

    return step


WHOLE = {"rounds": 5000, "total": 1500}
SCRIPTS = {
    "the same changes nothing, another value is a revision": (
        {},
        [
            (wait(days=1), says("new", rounds=5000), says("new", total=1500), kept(2, revisions=0)),
            (says("same", **WHOLE), says("same", **WHOLE), kept(2, revisions=0)),
            (
                says("revised", total=1512),
                kept(3, revisions=1),
                says("same", total=1512, status="final"),
            ),
            (kept(4, status="final", total=1512),),
        ],
    ),
    "missing is not zero and not waited for": (
        {},
        [
            (wait(days=1), says("new", rounds=5000, status="missing"), used(None, "override")),
            (says("revised", total=0), used(0.0), says("revised", status="missing")),
            (
                kept(3, total=None),
                refused(InvalidInput, "missing total has no value", total=3, status="missing"),
            ),
        ],
    ),
    "final stands unless it is corrected on purpose": (
        {"completeness": {"9 days": 1}},
        [
            (wait(days=1), says("new", **WHOLE, status="final"), used(1500)),
            (says("same", total=1500, status="provisional"), kept(1, status="final")),
            (
                refused(Conflicting, "is final", total=1501),
                refused(Conflicting, "is final", rounds=5001),
            ),
            (refused(Conflicting, "is final", status="missing"),),
            (
                says("revised", total=1501, overwrite_final=True),
                kept(2, status="final"),
                used(1501),
            ),
        ],
    ),
    "a final value corrected to a provisional one must be full": (
        {"completeness": {"3 days": 1}},
        [
            (wait(days=1), says("new", **WHOLE, status="final"), used(1500)),
            (says("revised", status="missing", overwrite_final=True), says("revised", total=1400)),
            (kept(3, status="provisional"), used(None), wait(days=3), used(1400)),
        ],
    ),
    "negative totals are accepted and marked": (
        {},
        [
            (wait(days=1), says("new", ("negative",), rounds=5000, total=-12.5), used(-12.5)),
        ],
    ),
    "what is final counts before it is full": (
        {"completeness": {"3 days": 1}},
        [
            (wait(days=1), says("new", **WHOLE), used(None)),
            (says("same", status="final"), used(1500)),
        ],
    ),
    "a total of the evening counts once its day is over": (
        {},
        [
            (wait(hours=13), says("new", ("early",), rounds=2000, total=600), used(None)),
            (wait(hours=2, minutes=59), used(None), wait(minutes=1), used(600), wait(hours=9)),
            (says("revised", total=640), used(640)),
        ],
    ),
    "a final total of the evening counts at once": (
        {},
        [
            (says("new", rounds=2000, total=600, status="final"), used(600)),
        ],
    ),
    "values are scaled until they are full": (
        {"completeness": {"1 day": 0.5, "3 days": 1}},
        [
            (wait(hours=20), says("new", rounds=5000, total=300), used(None), wait(hours=20)),
            (
                says("revised", total=600),
                used(1200),
                wait(days=1),
                says("same", total=600),
                used(800),
            ),
            (wait(days=5), says("revised", total=620), used(620)),
        ],
    ),
    "a total stays scaled by its age when it was last recorded": (
        {"completeness": {"8 hours": 0.5, "7 days": 1}},
        [
            (wait(hours=13), says("new", ("early",), rounds=5000, total=600), wait(hours=11)),
            (says("revised", rounds=5000, total=900), used(1800), wait(days=30), used(1800)),
        ],
    ),
    "a total between two ages is scaled by a share between theirs": (
        {"completeness": {"12 hours": 0.5, "2 days": 1}},
        [
            (
                wait(days=2, hours=10),
                says("new", rounds=5000, total=1100),
                used(1100 / (0.5 + 0.5 * 30 / 36)),
            ),
            (wait(days=30), used(1100 / (0.5 + 0.5 * 30 / 36))),
        ],
    ),
    "younger than a declared curve it is full at its end": (
        {"completeness": {"1 day": 0.6, "3 days": 1}},
        [
            (wait(days=1), says("new", rounds=5000, total=900), wait(days=2, hours=15), used(None)),
            (wait(hours=1), used(900)),
        ],
    ),
    "a total at the limit is not refused for its last digit": (
        {"range": (0, 0.7)},
        [
            (wait(days=1), says("new", rounds=3, total=2.1)),
            (refused(InvalidInput, "more than 3 visitors can bring", total=2.2),),
        ],
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_total(new_campaign, clock, name):
    config, steps = SCRIPTS[name]
    campaign = new_campaign(**config)
    campaign.decide()
    for step in itertools.chain(*steps):
        step(campaign, clock)
