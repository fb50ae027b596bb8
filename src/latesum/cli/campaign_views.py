"""What is known of campaigns: status, history, health, tables, and whole logs as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum._checks import InvalidInput
from latesum._render import plain
from latesum.cli.campaign_options import (
    CampaignName,
    Region,
    clock,
    opened,
    opened_store,
    read_text,
    write_text,
)
from latesum.cli.options import AsJson

if TYPE_CHECKING:
    from latesum.campaigns import Store
    from latesum.campaigns.view import Status


def status(
    campaign: CampaignName = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with figures here.")] = None,
    as_json: AsJson = False,
) -> None:
    """What runs now and why, what is known, and what to worry about."""
    with opened(campaign) as found:
        seen = found.status()
    if html is not None:
        from latesum.campaigns.static_page import status_html

        write_text(html, status_html(seen))
        print(f"The page: {html}")
    elif as_json:
        print(json.dumps(seen.to_json(), indent=2))
    else:
        _print_status(seen)


def _print_status(seen: Status) -> None:
    from rich.text import Text

    from latesum._render import terminal

    console = terminal()

    def say(*lines: str, style: str = "") -> None:
        for line in lines:
            console.print(Text(line, style))

    say(f"{seen.name} ({seen.state})", style="bold")
    say(seen.headline, "")
    for each in seen.health:
        say(each.line, style={"alarm": "bold red", "warning": "yellow", "note": "dim"}[each.level])
    console.print(seen.options_table)
    if seen.why_no_winner and seen.timeline:
        say(seen.why_no_winner)
    if seen.gain is not None:
        say(seen.gain_sentence)
    say(seen.data)
    for title, sentences in (("Why", seen.explanation), ("History", seen.actions)):
        if sentences:
            say("")
            say(title, style="bold")
            say(*sentences)


def explain(
    bucket: Annotated[str | None, typer.Argument(help="A bucket; now if none.")] = None,
    region: Region = None,
    campaign: CampaignName = None,
) -> None:
    """Why the policy does what it does, now or when it decided on a bucket."""
    with opened(campaign) as found:
        print("\n".join(found.explain(bucket, region=region)))


def history(campaign: CampaignName = None, as_json: AsJson = False) -> None:
    """Everything that happened: decisions, totals, revisions, operator actions."""
    from latesum.campaigns.actions import describe_event

    with opened(campaign) as found:
        config = found.state().config
        for event in found.history():
            if as_json:
                print(json.dumps(plain(event)))
            else:
                print(describe_event(event, config))


def _statuses(store: Store) -> Iterator[Status]:
    """Every campaign; one that cannot be read has an alarm, and harms no other."""
    from sqlalchemy.exc import DBAPIError

    from latesum.campaigns import Campaign
    from latesum.campaigns.view import unreadable_status

    for stored in store.campaigns():
        try:
            yield Campaign(store, stored, clock, owns_store=False).status()
        except DBAPIError:
            raise
        except Exception as error:
            yield unreadable_status(stored.name, clock(), error)


def check(
    campaign: Annotated[str | None, typer.Argument(help="One campaign; all without.")] = None,
    as_json: AsJson = False,
) -> None:
    """Exit with 1 and say why if a campaign is not well; silent otherwise. For cron and mail."""
    with opened_store() as store:
        name = None if campaign is None else store.find(campaign).name
        found = [
            (seen.name, each)
            for seen in _statuses(store)
            for each in seen.health
            if name in (None, seen.name) and each.level != "note"
        ]
    if as_json:
        rows = [{"campaign": seen, **each._asdict()} for seen, each in found]
        print(json.dumps(rows, indent=2))
    else:
        for seen, each in found:
            print(f"{seen}: {each.line}")
    if found:
        raise typer.Exit(1)


def list_campaigns(
    everything: Annotated[bool, typer.Option("--all", help="What was deleted too.")] = False,
    as_json: AsJson = False,
) -> None:
    """The campaigns there are, with what is wrong with each."""
    from latesum._render import new_table, terminal

    with opened_store() as store:
        found = sorted(_statuses(store), key=lambda each: each.state == "finished")
        gone = store.tombstones() if everything else []
        place = store.place
    columns = ["campaign", "state", "policy", "options"]
    table = new_table(None, columns, texts=columns)
    rows, lines = list[dict[str, Any]](), list[str]()
    for each in found:
        options = ", ".join(option.name for option in each.options)
        rows.append({name: getattr(each, name) for name in ("name", "state", "alarm", "policy")})
        rows[-1] |= {"options": options, "health": plain(each.health)}
        wrong = [finding for finding in each.health if finding.level != "note"]
        state = ", ".join(dict.fromkeys([each.state, *(finding.code for finding in wrong[:1])]))
        table.add_row(each.name, state, each.policy, options)
        lines += [f"{each.name}: {finding.line}" for finding in wrong]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    if found:
        terminal().print(table)
    else:
        print(f"There are no campaigns in {place}; `latesum campaign new` makes one.")
    for line in [*lines, *(f"{sentence[:1].upper()}{sentence[1:]}." for sentence in gone)]:
        print(line)


def buckets(
    campaign: CampaignName = None,
    out: Annotated[
        Path | None, typer.Option(help="A .csv, .json, .parquet or .xlsx file, not printed.")
    ] = None,
) -> None:
    """Every bucket with what was shown and its total, as CSV; `import` reads it again."""
    from latesum.files.written import format_of

    if out is not None:
        format_of(out)
    with opened(campaign) as found:
        table = found.table()
    if out is not None:
        table.write(out)
        print(f"{len(table.rows)} rows: {out}")
    else:
        print(table.to_csv(), end="")


def replay(campaign: CampaignName = None) -> None:
    """Take every decision again from what was known then, and compare."""
    from latesum.campaigns.moving import replay_log

    with opened(campaign) as found:
        config, events = found.first_config, found.history()
    mismatches = replay_log(config, events)
    for taken, now in mismatches:
        label = f"{taken.label} {taken.region}".rstrip()
        then, would = (f"{each.option} ({each.purpose})" for each in (taken, now))
        print(f"{label}: decided {then}, would be {would} by this version")
    decisions = sum(event.kind == "decision" for event in events)
    print(f"{decisions - len(mismatches)} of {decisions} decisions come out the same.")
    if mismatches:
        raise typer.Exit(1)


def export(
    file: Annotated[Path, typer.Argument(help="Where to write the JSON.")],
    campaign: CampaignName = None,
    everything: Annotated[bool, typer.Option("--all", help="All campaigns of the store.")] = False,
) -> None:
    """Write a campaign with its whole log into a file, or all campaigns."""
    from latesum.campaigns.moving import export_campaigns

    if everything:
        if campaign is not None:
            raise InvalidInput("--all are all campaigns; leave --campaign out.")
        with opened_store() as store:
            whole = export_campaigns(store)
        said = f"{len(whole['campaigns'])} campaigns"
    else:
        with opened(campaign) as found:
            whole = export_campaigns(found.store, found.name)
        said = f"{len(whole['campaigns'][0]['log'])} events"
    write_text(file, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    print(f"{said}: {file}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file from `export`.")],
    name: Annotated[str | None, typer.Option(help="Under another name.")] = None,
) -> None:
    """Make the campaigns of a file that `export` wrote."""
    from latesum.campaigns.moving import read_export, restore_campaigns

    exported = read_export(read_text(file))
    with opened_store() as store:
        names = restore_campaigns(store, exported, name)
        print(f"Restored to {store.place}: {', '.join(names)}.")


LOOK: dict[str, Callable[..., None]] = {
    "status": status,
    "explain": explain,
    "history": history,
    "list": list_campaigns,
    "check": check,
}
DATA: dict[str, Callable[..., None]] = {
    "buckets": buckets,
    "export": export,
    "restore": restore,
    "replay": replay,
}
