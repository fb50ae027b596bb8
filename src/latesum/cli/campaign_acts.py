"""What operators do to a campaign, and campaigns as files and from store to store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput
from latesum.cli.campaign_options import (
    CampaignName,
    Region,
    Who,
    Why,
    address,
    opened,
    opened_store,
    read_text,
    said,
    user,
    write_text,
)


def hold(why: Why, region: Region = None, campaign: CampaignName = None, who: Who = None) -> None:
    """Keep showing the present option until `resume`."""
    with opened(campaign) as found:
        done = found.hold(who=user(who), why=why, region=region)
        said("Held: the present option stays until `latesum campaign resume`.", done)


def resume(why: Why, region: Region = None, campaign: CampaignName = None, who: Who = None) -> None:
    """Let the policy decide again. An override goes on after a hold; without a hold it ends."""
    with opened(campaign) as found:
        done = found.resume(who=user(who), why=why, region=region)
        if all(part.order is None for part in found.state().parts_of(region or "")):
            said("The policy decides again, from the next bucket on.", done)
        else:
            said("The hold has ended.", done)


def override(
    option: Annotated[str, typer.Argument(help="The option to show.")],
    why: Why,
    buckets: Annotated[int, typer.Option(help="For how many buckets.")] = 1,
    region: Region = None,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """Show this option in the next buckets that are decided."""
    with opened(campaign) as found:
        found.override(option, buckets=buckets, who=user(who), why=why, region=region)
        which = (
            "the next bucket that is" if buckets == 1 else f"the next {buckets} buckets that are"
        )
        where = f" in {region}" if region else ""
        print(f"{option} is shown{where} in {which} decided.")


def cancel_override(
    why: Why, region: Region = None, campaign: CampaignName = None, who: Who = None
) -> None:
    """End an override that is not over; a hold goes on."""
    with opened(campaign) as found:
        done = found.cancel_override(who=user(who), why=why, region=region)
        said("The override has ended.", done)


def drop(
    option: Annotated[str, typer.Argument(help="The option to take away.")],
    why: Why,
    region: Region = None,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """Take an option away, until `bring-back`."""
    with opened(campaign) as found:
        done = found.drop(option, who=user(who), why=why, region=region)
        said(f"{option} is not decided on any more.", done)


def bring_back(
    option: Annotated[str, typer.Argument(help="The option that was dropped.")],
    why: Why,
    region: Region = None,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """Undo a drop: the policy goes on as if the option had never been away."""
    with opened(campaign) as found:
        done = found.bring_back(option, who=user(who), why=why, region=region)
        said(f"{option} is in the race again.", done)


def add(
    option: Annotated[str, typer.Argument(help="The new option.")],
    why: Why,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """Add an option; its first block is asked for next. Not every policy can do that."""
    with opened(campaign) as found:
        done = found.add(option, who=user(who), why=why)
        said(f"Added {done.option}.", done)


def rename(
    option: Annotated[str, typer.Argument(help="The option.")],
    new_name: Annotated[str, typer.Argument(help="Its new name.")],
    why: Why,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """Give an option another name; nothing else changes."""
    with opened(campaign) as found:
        done = found.rename(option, new_name, who=user(who), why=why)
        said(f"{option} is called {done.option} now.", done)


def finish(
    option: Annotated[str | None, typer.Argument(help="By default the best so far.")] = None,
    why: Annotated[
        str | None, typer.Option(help="Why; not needed to finish with the winner.")
    ] = None,
    campaign: CampaignName = None,
    who: Who = None,
) -> None:
    """End the campaign: from now on `next` always answers this option."""
    with opened(campaign) as found:
        if why is None:
            winner = found.winner()
            if winner is None or option not in (None, winner):
                raise InvalidInput(
                    "say why the campaign ends, with --why: "
                    + (f"the winner is {winner}." if winner else "no winner is named yet.")
                )
            option, why = winner, f"{winner} is the winner"
        print(f"Finished with {found.finish(option, who=user(who), why=why).option}.")


def replay(
    campaign: CampaignName = None,
    file: Annotated[Path | None, typer.Option(help="Replay an export instead.")] = None,
) -> None:
    """Take every decision again from what was known then, and compare."""
    from latesum.campaigns.config import CampaignConfig
    from latesum.campaigns.moving import exported_log, read_export, replay_log

    if file is None:
        with opened(campaign) as found:
            settings, events = found.first_settings, found.history()
    else:
        exported = read_export(read_text(file))
        settings, events = CampaignConfig.from_json(exported["settings"]), exported_log(exported)
    mismatches = replay_log(settings, events)
    for each in mismatches:
        print(f"{each.label}: decided {each.decided}, would be {each.now} by this version")
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
    from latesum.campaigns.moving import export_all, export_campaign

    if everything:
        if campaign is not None:
            raise InvalidInput("--all are all campaigns; leave --campaign out.")
        with opened_store() as store:
            whole = export_all(store)
        write_text(file, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        print(f"{len(whole['campaigns'])} campaigns: {file}")
        if whole["moved"]:
            names = ", ".join(f"{name} ({place})" for name, place in whole["moved"].items())
            print(f"Not there, because they were moved to another store: {names}.")
        return
    with opened(campaign) as found:
        exported = export_campaign(found.store, found.name)
    write_text(file, json.dumps(exported, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(exported['log'])} events: {file}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file from `export`.")],
    name: Annotated[str | None, typer.Option(help="Under another name.")] = None,
) -> None:
    """Make a campaign from a file that `export` wrote, or all of one from `export --all`."""
    from latesum.campaigns.moving import exported_campaigns, read_export, restore_all

    exported = exported_campaigns(read_export(read_text(file)))
    with opened_store() as store:
        names = restore_all(store, exported, name)
        print(f"Restored to {store.place}: {', '.join(names)}.")


def move(
    name: Annotated[str, typer.Argument(help="The campaign, or 'all'.")],
    to: Annotated[str, typer.Option(help="The other store: a file or a PostgreSQL address.")],
) -> None:
    """Move campaigns to another store; here they refuse every write afterwards."""
    from latesum.campaigns import Store
    from latesum.campaigns.moving import move_campaign

    with opened_store() as source, Store(address(to, "--to")) as target:
        names = [name]
        if name == "all":
            names = [each.name for each in source.campaigns() if each.moved_to is None]
        for each in names:
            print(
                f"{each}: {move_campaign(source, target, each)} events are now in {target.place}."
            )
