"""Record a campaign that everything happens to, as a history that later versions must replay.

    python tests/live/record_history.py odaaf       writes histories/odaaf.json
    python tests/live/record_history.py 0001        writes databases/schema-0001.db

Done once for every version of the schema and when a policy's decisions change on purpose; a file that
exists is never written again.
"""

import contextlib
import json
import sqlite3
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from latesum.live import Campaign, Store, migrate
from latesum.live.moving import export_campaign
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
        name, ["plain", "bold", "Größe"], policy,
        {key: value for key, value in KNOWN.items() if key in accepted},
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
        if day not in (28, 29):  # a weekend on which nobody asks
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


def main():
    chosen = sys.argv[1]
    path = HERE / "histories" / f"{chosen}.json"
    if chosen.isdigit():
        path = HERE / "databases" / f"schema-{chosen}.db"
        migrate.SCHEMA_VERSION = chosen  # migrate no further than this
    if path.exists():
        sys.exit(f"{path} is there already; histories are never rewritten.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "campaigns.db"
        with Store(file) as store:
            eventful_campaign(store, "eventful", "odaaf" if chosen.isdigit() else chosen)
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
