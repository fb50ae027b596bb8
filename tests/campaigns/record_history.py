"""Record a campaign that everything happens to, as a history that later versions must replay.

    python tests/campaigns/record_history.py odaaf           writes histories/odaaf.json
    python tests/campaigns/record_history.py early-odaaf     writes histories/early-odaaf.json
    python tests/campaigns/record_history.py 0001            writes databases/schema-0001.db

Without a story in front of the policy it is `eventful_campaign`; the other stories are in `STORIES`.
Done once for every version of the schema, when a policy's decisions change on purpose, and before the
rules change by which a log is read; a file that exists is never written again.
"""

import contextlib
import json
import sqlite3
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from latesum.campaigns import Campaign, Store, database
from latesum.campaigns.moving import export_campaign
from latesum.policies import registry

HERE = Path(__file__).parent
START = datetime(2026, 3, 20, 9, tzinfo=UTC)
ME = {"who": "an operator", "why": "to have it in the history"}
KNOWN = {
    "horizon": "60 days", "mean_delay": "6 hours", "delay_bound": "2 days",
    "delay_variance": "(8 hours)^2",
}  # fmt: skip


def eventful_campaign(store, name, policy):
    """Sixty days over a change of the clocks: late, restated, missing, held, overridden, dropped."""
    now = [START]
    accepted = registry.accepted_parameters(policy)
    campaign = Campaign.create(
        name=name, options=["plain", "bold", "Größe"], policy=policy,
        parameters={key: value for key, value in KNOWN.items() if key in accepted},
        every="day", zone="Europe/Berlin", expected_rounds=4000, time_basis="arrival", seed=7,
        usable_after="12 hours", lateness="20 days", range=(0, 2), unit="orders", store=store,
        clock=lambda: now[0],
    )  # fmt: skip
    acts = {
        12: lambda: campaign.hold(**ME),
        15: lambda: campaign.resume(**ME),
        22: lambda: campaign.override("bold", buckets=3, **ME),
        35: lambda: campaign.drop("plain", **ME),
    }
    for day in range(1, 61):
        now[0] = START + timedelta(days=day - 1)
        acts.get(day, lambda: None)()
        if day not in (28, 29):  # a week-end on which nothing is asked
            campaign.decide()
        for bucket, growth in ((day - 2, 0), (day - 9, 11), (day - 25, 500)):
            if bucket in campaign.ledger().decisions:
                _record(campaign, bucket, growth)
    return campaign


def _record(campaign, bucket, growth):
    rounds = 4000 + bucket * 37 % 601
    arm = campaign.decide(bucket).arm
    total = round(rounds * (0.4 + 0.15 * arm)) + bucket * 7919 % 97 + growth
    if bucket % 13 == 0:
        campaign.record(bucket, rounds=rounds, status="missing")
    elif bucket == 19:
        campaign.record(bucket, rounds=0, total=35)
    elif bucket == 20:
        campaign.record(bucket, rounds=rounds, total=-40, shown="Größe")
    else:
        campaign.record(bucket, rounds=rounds, total=total)


def early_campaign(store, name, policy):
    """Totals in the evening of their own day; an override that is held and resumed, or dropped."""
    now = [START]
    campaign = _new(
        store, name, policy, now, options=["plain", "bold", "Größe", "quiet"], lateness="20 days"
    )
    acts = {
        10: lambda: campaign.override("bold", buckets=7, **ME),
        13: lambda: campaign.hold(**ME),
        14: lambda: campaign.resume(**ME),
        24: lambda: campaign.override("plain", buckets=5, **ME),
        26: lambda: campaign.drop("plain", **ME),
        34: lambda: campaign.hold(**ME),
        38: lambda: campaign.drop(campaign.ledger().decisions[37].option, **ME),
        40: lambda: campaign.resume(**ME),
        45: lambda: campaign.override(_last_left(campaign), buckets=4, **ME),
    }
    for day in range(1, 61):
        now[0] = START + timedelta(days=day - 1)
        acts.get(day, lambda: None)()
        if day not in (46, 47):
            campaign.decide()
        for bucket in range(max(day - 3, 1), day):
            _record_again(campaign, bucket, day - bucket)
        now[0] += timedelta(hours=11)  # 20 o'clock in UTC: the day in Berlin is not over
        if day in campaign.ledger().decisions and day % 6 != 5:
            final = {"status": "final"} if day % 6 == 3 else {}
            rounds, total = _brought(campaign, day)
            campaign.record(day, rounds=rounds, total=total, **final)
    return campaign


def _last_left(campaign):
    dropped = campaign.ledger().dropped
    return [each for arm, each in enumerate(campaign.settings.options) if arm not in dropped][-1]


def _record_again(campaign, bucket, days_ago):
    """What is said of a bucket after its evening; of those with a remainder of 0, never anything."""
    rounds, total = _brought(campaign, bucket)
    if (bucket % 6, days_ago) in ((1, 1), (5, 1)):
        campaign.record(bucket, rounds=rounds, total=total)
    elif (bucket % 6, days_ago) == (2, 2):
        campaign.record(bucket, total=total + 41)
    elif (bucket % 6, days_ago) == (4, 3):
        campaign.record(bucket, status="final")


def restated_campaign(store, name, policy):
    """A curve fitted to totals of the last nine days, and later of the last seven days only."""
    return _refilled(store, name, policy, "fit 7 days", lambda day: 9 if day < 30 else 7)


def curve_campaign(store, name, policy):
    """A declared curve, and totals that are last said at ages on it, before it and past it."""
    curve = {"1 day": 0.6, "3 days": 0.9, "7 days": 1}
    return _refilled(store, name, policy, curve, lambda day: 1 + day % 3 if day < 40 else 9)


def changed_campaign(store, name, policy):
    """Everything is changed half-way: options, horizon, delay, policy, alignment; ended and reopened.

    Totals come two days late. The campaign's first days are filled in afterwards.
    """
    now = [START]
    campaign = _new(
        store, name, policy, now, options=["plain", "bold", "Größe"], start="2026-03-20"
    )
    later = {"parameters": {"horizon": "90 days", "mean_delay": "9 hours"}}
    acts = {
        9: lambda: campaign.hold(**ME),
        11: lambda: campaign.resume(**ME),
        14: lambda: campaign.add("quiet", **ME),
        22: lambda: campaign.override("bold", buckets=7, **ME),
        24: lambda: campaign.hold(**ME),
        25: lambda: campaign.resume(**ME),
        27: lambda: campaign.cancel_override(**ME),
        29: lambda: campaign.drop("plain", **ME),
        33: lambda: campaign.bring_back("plain", **ME),
        35: lambda: campaign.rename("bold", "fett", **ME),
        37: lambda: campaign.change(**later if policy == "flow" else {"lateness": "9 days"}, **ME),
        40: lambda: campaign.change(align="week", expected_rounds=4300, **ME),
        44: lambda: campaign.change(policy="ars-ucb", parameters={"growth": 1.8}, **ME),
        47: lambda: campaign.add("loud", **ME),
        50: lambda: campaign.change(align=None, usable_after="6 hours", **ME),
        52: lambda: campaign.finish("fett", **ME),
        55: lambda: campaign.reopen(**ME),
        58: lambda: campaign.change(fills_up={"1 day": 0.9, "4 days": 1}, **ME),
    }
    for day in range(5, 61):
        now[0] = START + timedelta(days=day - 1)
        acts.get(day, lambda: None)()
        if day not in (30, 31, 60):
            campaign.decide()
        if day == 8:
            for bucket, shown in ((3, "bold"), (1, "plain"), (4, "plain")):
                campaign.record(bucket, rounds=4100, total=1800, shown=shown)
        for bucket, growth in ((day - 2, 0), (day - 5, 23)):
            if bucket in campaign.ledger().decisions:
                rounds, total = _brought(campaign, bucket)
                campaign.record(bucket, rounds=rounds, total=total + growth)
    campaign.decide()
    return campaign


def regions_campaign(store, name, policy):
    """Twenty days of three regions: restated, missing, mixed, late, held, ordered, dropped, added to."""
    now = [START]
    sizes = {"north": 4000, "south": 2500, "West-Süd": 900}
    past = [
        {"bucket": f"2026-03-{day:02d}", "region": region, "rounds": size + day * 11,
         "total": round(0.05 * (size + day * 11)) + day % 5}
        for day in range(1, 20)
        for region, size in sizes.items()
        if (day, region) != (7, "south")
    ]  # fmt: skip
    past[3]["shown"] = "plain:0.6 bold:0.4"
    campaign = Campaign.create(
        name=name, policy=policy, options=["plain", "bold", "Größe"], regions=list(sizes),
        parameters={"horizon": "8 weeks", "late": "about 36 hours"}, every="day",
        zone="Europe/Berlin", start="2026-03-20", expected_rounds=2500, time_basis="arrival",
        seed=7, unit="orders", status_quo="plain", history=past, store=store, clock=lambda: now[0],
    )  # fmt: skip
    acts = {
        5: lambda: campaign.hold(region="south", **ME),
        6: lambda: campaign.override("plain", buckets=3, region="West-Süd", **ME),
        8: lambda: campaign.resume(region="south", **ME),
        9: lambda: campaign.drop("plain", region="north", **ME),
        11: lambda: campaign.add("quiet", **ME),
        13: lambda: campaign.bring_back("plain", region="north", **ME),
        14: lambda: campaign.rename("bold", "fett", **ME),
        15: lambda: campaign.change(parameters={"horizon": "10 weeks"}, **ME),
        17: lambda: campaign.override("fett", buckets=2, **ME),
    }
    for day in range(1, 21):
        now[0] = START + timedelta(days=day - 1)
        acts.get(day, lambda: None)()
        if day not in (1, 10):
            campaign.decide_all()
        if day == 3:  # the first day is filled in afterwards
            for region in sizes:
                campaign.record(1, region=region, rounds=sizes[region], total=77, shown="bold")
        for bucket, growth in ((day - 1, 0), (day - 3, 4)):
            if bucket >= 2:
                _record_regions(campaign, bucket, growth, sizes)
    return campaign


def stream_campaign(store, name, policy):
    """Sixty days of one stream with a history: options a little apart, a total that is missing, an order."""
    now = [START]
    past = [
        {"bucket": f"2026-03-{day:02d}", "rounds": 4000 + day * 11, "total": 190 + day * 7919 % 31}
        for day in range(1, 20)
    ]
    campaign = Campaign.create(
        name=name, policy=policy, options=["plain", "bold", "Größe"],
        parameters={"horizon": "8 weeks", "late": "about 2 days"}, every="day", zone="Europe/Berlin",
        start="2026-03-20", expected_rounds=4000, time_basis="arrival", seed=7, unit="orders",
        status_quo="plain", history=past, store=store, clock=lambda: now[0],
    )  # fmt: skip
    for day in range(1, 61):
        now[0] = START + timedelta(days=day - 1)
        if day == 30:
            campaign.override("plain", buckets=3, **ME)
        campaign.decide()
        if day > 1:
            rounds = 4000 + day * 37 % 601
            rate = (0.05, 0.051, 0.049)[campaign.decide(day - 1).arm]
            known = {} if day == 20 else {"total": round(rounds * rate) + day * 7919 % 23 - 11}
            campaign.record(
                day - 1, rounds=rounds, **known, **({} if known else {"status": "missing"})
            )
    return campaign


def _record_regions(campaign, bucket, growth, sizes):
    for region, decision in campaign.decide_all(bucket).items():
        rounds = sizes[region] + bucket * 37 % 301
        total = round(rounds * (0.05, 0.055, 0.048, 0.05)[decision.arm]) + growth + bucket % 7
        if (bucket, region) == (6, "north"):
            campaign.record(bucket, region=region, rounds=rounds, status="missing")
        elif (bucket, region) == (7, "south"):
            shown = "plain:0.3 Größe:0.7"
            campaign.record(bucket, region=region, rounds=rounds, total=total, shown=shown)
        elif (bucket, region) != (8, "West-Süd"):
            campaign.record(bucket, region=region, rounds=rounds, total=total)


def _refilled(store, name, policy, fills_up, days_in_file):
    now = [START]
    campaign = _new(store, name, policy, now, options=["plain", "bold", "Größe"], fills_up=fills_up)
    for day in range(1, 61):
        now[0] = START + timedelta(days=day - 1)
        campaign.decide()
        for bucket in range(max(day - days_in_file(day), 1), day):
            rounds, total = _brought(campaign, bucket)
            share = min(1.0, 0.5 + 0.08 * (day - bucket))
            campaign.record(bucket, rounds=rounds, total=round(share * total))
    return campaign


def _new(store, name, policy, now, **more):
    accepted = registry.accepted_parameters(policy)
    return Campaign.create(
        name=name, policy=policy,
        parameters={key: value for key, value in KNOWN.items() if key in accepted},
        every="day", zone="Europe/Berlin", expected_rounds=4000, time_basis="arrival", seed=7,
        unit="orders", store=store, clock=lambda: now[0], **more,
    )  # fmt: skip


def _brought(campaign, bucket):
    rounds = 4000 + bucket * 37 % 601
    rate = (0.42, 0.48, 0.45, 0.4, 0.44)[campaign.decide(bucket).arm]
    return rounds, round(rounds * rate) + bucket * 7919 % 397 - 198


STORIES = {
    "early": early_campaign,
    "restated": restated_campaign,
    "curve": curve_campaign,
    "changed": changed_campaign,
    "regions": regions_campaign,
    "stream": stream_campaign,
    # And again, by the second version of the markets' model:
    "remodelled": stream_campaign,
    # That with regions by the second version too:
    "remodelled_regions": regions_campaign,
    # And both by the third version, which draws from less of the uncertainty:
    "calmer": stream_campaign,
    "calmer_regions": regions_campaign,
}


def main():
    chosen = sys.argv[1]
    story, _, policy = chosen.partition("-")
    tell = STORIES.get(story, eventful_campaign)
    if chosen.isdigit():
        tell, policy = changed_campaign, "flow"
    elif story not in STORIES:
        policy = chosen
    path = HERE / "histories" / f"{chosen}.json"
    if chosen.isdigit():
        path = HERE / "databases" / f"schema-{chosen}.db"
        database.SCHEMA_VERSION = chosen  # migrate no further than this
    if path.exists():
        sys.exit(f"{path} is there already; histories are never rewritten.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "campaigns.db"
        with Store(file) as store:
            tell(store, "eventful", policy)
            if chosen.isdigit() and chosen >= "0005":
                regions_campaign(store, "regional", "switchback")
            exported = export_campaign(store, "eventful")
        if chosen.isdigit():
            with contextlib.closing(sqlite3.connect(file)) as plain:
                plain.execute("VACUUM INTO ?", [str(path)])
        else:
            log = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in exported.pop("log"))
            head = json.dumps(exported, ensure_ascii=False).removesuffix("}")
            path.write_text(f'{head}, "log": [\n{log}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
