"""What is known of campaigns: status, history, health, and tables for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum.cli.campaign_options import CampaignName, clock, opened, opened_store, write_text
from latesum.cli.options import AsJson

if TYPE_CHECKING:
    from latesum.campaigns import Store


def status(
    campaign: CampaignName = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with figures here.")] = None,
    level: Annotated[float, typer.Option(help="How sure the intervals are.")] = 0.95,
    as_json: AsJson = False,
) -> None:
    """What runs now and why, what is known, and what to worry about."""
    from latesum._render import terminal
    from latesum.campaigns.static_page import status_html
    from latesum.campaigns.terminal_page import status_page

    with opened(campaign) as found:
        seen = found.status(level)
    if html is not None:
        write_text(html, status_html(seen))
        print(f"The page: {html}")
    elif as_json:
        print(json.dumps(seen.to_json(), indent=2))
    else:
        console = terminal()
        console.print(status_page(seen, console.width))


def explain(
    bucket: Annotated[str | None, typer.Argument(help="A bucket; now if none.")] = None,
    campaign: CampaignName = None,
) -> None:
    """Why the policy does what it does, now or when it decided on a bucket."""
    with opened(campaign) as found:
        print("\n".join(found.explain(bucket)))


def history(campaign: CampaignName = None, as_json: AsJson = False) -> None:
    """Everything that happened: decisions, records, revisions, what people did."""
    from latesum.campaigns.describing import describe_event

    with opened(campaign) as found:
        config = found.current_config()
        for event in found.history():
            if as_json:
                print(json.dumps({**event._asdict(), "at": event.at.isoformat()}))
            else:
                print(describe_event(event, config))


def _campaigns(store: Store, *, archived: bool) -> Iterator[dict[str, Any]]:
    """A line for every campaign; one that cannot be read has an alarm, and harms no other."""
    from sqlalchemy.exc import DBAPIError

    from latesum.campaigns import Campaign
    from latesum.campaigns.health import unreadable

    for stored in store.campaigns():
        if stored.archived and not archived:
            continue
        row: dict[str, Any] = {
            "name": stored.name,
            "state": "",
            "alarm": None,
            "policy": "",
            "options": "",
            "health": [],
        }
        try:
            found = Campaign(store, stored, clock, owns_store=False)
            config = found.current_config()
            row |= {"policy": config.policy, "options": ", ".join(config.options)}
            seen = found.status()
            row |= {"state": seen.state, "alarm": seen.alarm}
            row["health"] = [each._asdict() for each in seen.health]
        except DBAPIError:
            raise
        except Exception as error:
            finding = unreadable(error)
            row |= {"state": "unreadable", "alarm": finding.sentence}
            row["health"] = [finding._asdict()]
        yield row


def check(
    campaign: Annotated[str | None, typer.Argument(help="One campaign; all without.")] = None,
    level: Annotated[
        str, typer.Option(help="What counts: alarm; or warning, and alarms too.")
    ] = "warning",
    as_json: AsJson = False,
) -> None:
    """Exit with 1 and say why if a campaign is not well; silent otherwise. For cron and mail."""
    from latesum._checks import known_name

    known_name(level, ("alarm", "warning"), "level of health")
    counting = ("alarm",) if level == "alarm" else ("alarm", "warning")
    with opened_store() as store:
        if campaign is not None:
            campaign = store.find(campaign).name
        found = [
            {"campaign": row["name"], **each}
            for row in _campaigns(store, archived=False)
            if campaign in (None, row["name"])
            for each in row["health"]
            if each["level"] in counting
        ]
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        for each in found:
            alarm = "ALARM: " if each["level"] == "alarm" else ""
            print(f"{each['campaign']}: {alarm}{each['sentence']}")
    if found:
        raise typer.Exit(1)


def list_campaigns(
    everything: Annotated[
        bool, typer.Option("--all", help="Archived ones too, and what was deleted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The campaigns there are, with what is wrong with each."""
    from latesum._render import new_table, terminal

    with opened_store() as store:
        rows = list(_campaigns(store, archived=everything))
        gone = store.tombstones() if everything else []
        place = store.place
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = new_table(None, ["campaign", "state", "policy", "options"])
    for column in table.columns:
        column.justify = "left"
    for row in rows:
        worst = [each["code"] for each in row["health"] if each["level"] != "note"][:1]
        state = ", ".join(dict.fromkeys([row["state"], *worst]))
        table.add_row(row["name"], state, row["policy"], row["options"])
    if rows:
        terminal().print(table)
    else:
        print(f"There are no campaigns in {place}; `latesum campaign new` makes one.")
    for row in rows:
        for each in row["health"]:
            if each["level"] != "note":
                sign = "ALARM:" if each["level"] == "alarm" else "!"
                print(f"{sign} {row['name']}: {each['sentence']}")
    for sentence in gone:
        print(f"{sentence[:1].upper()}{sentence[1:]}.")


def _table_command(name: str, about: str) -> Callable[..., None]:
    def show(
        campaign: CampaignName = None,
        out: Annotated[Path | None, typer.Option(help="A file; by default it is printed.")] = None,
        kind: Annotated[
            str | None,
            typer.Option("--format", help="csv, json, parquet or xlsx; by the file's name."),
        ] = None,
        level: Annotated[float, typer.Option(help="How sure intervals are.")] = 0.95,
        as_json: AsJson = False,
    ) -> None:
        from latesum.files.written import format_of

        chosen = format_of(out, "json" if as_json else kind)
        with opened(campaign) as found:
            table = found.table(name, level)
        if out is not None:
            table.write(out, chosen)
            print(f"{len(table.rows)} rows: {out}")
        elif chosen == "json":
            print(json.dumps(table.to_records(), indent=1, ensure_ascii=False))
        else:
            print(table.to_csv(), end="")

    show.__doc__ = about
    return show


TABLES = {
    "buckets": "Every bucket with what was shown and its total; `import` reads it again.",
    "decisions": "Every decision with its reason.",
    "estimates": "What is believed of each option.",
}
COMMANDS: dict[str, Callable[..., None]] = {
    "status": status,
    "explain": explain,
    "history": history,
    "list": list_campaigns,
    "check": check,
    **{name: _table_command(name, about) for name, about in TABLES.items()},
}
