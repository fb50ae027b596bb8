"""Record what stays stable from a release on: `python tests/record_stable.py`.

It writes a campaign as an export, the same as an SQLite database, and the OpenAPI description into
tests/stable. Files of an earlier release are never written again: a change of the format adds
a new set beside them.
"""

import json
import tempfile
from pathlib import Path

from latesum.campaigns import Campaign, Store
from latesum.campaigns.moving import export_campaigns

FOLDER = Path(__file__).parent / "stable"


def make_campaigns(store):
    """A campaign with every kind of event, and one with regions."""
    by = {"user": "ada", "reason": "a recorded campaign"}
    with Campaign.create(
        name="offers",
        options=["red", "blue", "green"],
        start="2026-01-05",
        expected_rounds=1_000,
        time_basis="arrival",
        policy="flow",
        parameters={"horizon": 60_000, "mean_delay": 500},
        status_quo="red",
        store=store,
    ) as campaign:
        for bucket in range(1, 25):
            option = campaign.decide(bucket).option
            rate = {"red": 0.30, "blue": 0.34}.get(option, 0.28)
            if bucket == 7:
                campaign.record(bucket, rounds=1_000, status="missing")
            else:
                campaign.record(bucket, rounds=1_000, total=round(1_000 * rate) + bucket % 5)
            if bucket == 9:
                campaign.record(8, total=333)
                campaign.pause(**by)
            elif bucket == 11:
                campaign.resume(**by)
                campaign.pin("green", buckets=2, **by)
            elif bucket == 15:
                campaign.remove_option("green", **by)
            elif bucket == 18:
                campaign.restore_option("green", **by)
                campaign.rename_option("green", "lime", **by)
            elif bucket == 20:
                campaign.change(parameters={"horizon": 90_000, "mean_delay": 500}, **by)
        campaign.finish("blue", **by)
    with Campaign.create(
        name="regions",
        options=["red", "blue"],
        start="2026-01-05",
        expected_rounds=1_000,
        time_basis="arrival",
        regions=["north", "south"],
        store=store,
    ) as campaign:
        for bucket in range(1, 9):
            for region, choice in campaign.decide_all(bucket).items():
                total = 300 + 40 * (choice.option == "blue") + bucket
                campaign.record(bucket, region=region, rounds=1_000, total=total)


def facts(store):
    """What every later version must read from the recorded campaigns."""
    found = {}
    for name in ("offers", "regions"):
        with Campaign.open(name, store=store) as campaign:
            events = [[event.kind, event.region] for event in campaign.history()]
            columns = ("number", "region", "decided", "shown", "rounds", "total", "status")
            rows = campaign.table().to_frame().to_pylist()
            buckets = [[str(row[each]) for each in columns if each in row] for row in rows]
            options = list(campaign.state().config.options)
            found[name] = {"events": events, "buckets": buckets, "options": options}
    return found


def described(openapi):
    """Routes with their parameters and answers, and models with their fields."""
    routes = {
        f"{method.upper()} {path}": {
            "parameters": sorted(each["name"] for each in route.get("parameters", [])),
            "answers": sorted(route["responses"]),
        }
        for path, methods in openapi["paths"].items()
        for method, route in methods.items()
    }
    models = {
        name: sorted(model.get("properties", {}))
        for name, model in openapi["components"]["schemas"].items()
    }
    return {"routes": routes, "models": models}


def description():
    """The OpenAPI description of this version."""
    from latesum.service.app import create_app
    from latesum.service.routes.admin import describe

    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "empty.db")
        found = described(describe(create_app(store)))
        store.close()
    return found


def main():
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    database = FOLDER / "campaigns.db"
    for path in FOLDER.glob("campaigns.db*"):
        path.unlink()
    make_campaigns(database)
    store = Store(database)
    exported = export_campaigns(store)
    found = facts(database)
    store.close()
    for path in FOLDER.glob("campaigns.db-*"):
        path.unlink()
    for name, content in {
        "campaigns": exported,
        "facts": found,
        "openapi": description(),
    }.items():
        text = json.dumps(content, indent=None if name == "campaigns" else 1, sort_keys=True)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
