"""Campaigns replayed, and as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from latesum._checks import InvalidInput
from latesum.cli.campaign_options import (
    CampaignName,
    opened,
    opened_store,
    read_text,
    write_text,
)


def replay(
    campaign: CampaignName = None,
    file: Annotated[Path | None, typer.Option(help="Replay an export instead.")] = None,
) -> None:
    """Take every decision again from what was known then, and compare."""
    from latesum.campaigns.config import CampaignConfig
    from latesum.campaigns.moving import exported_log, read_export, replay_log

    if file is None:
        with opened(campaign) as found:
            config, events = found.first_config, found.history()
    else:
        campaigns = read_export(read_text(file))
        if len(campaigns) != 1:
            raise InvalidInput(f"the file has {len(campaigns)} campaigns; replay one by one.")
        (exported,) = campaigns
        config, events = CampaignConfig.from_json(exported["config"]), exported_log(exported)
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
        write_text(file, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
        print(f"{len(whole['campaigns'])} campaigns: {file}")
        return
    with opened(campaign) as found:
        exported = export_campaigns(found.store, found.name)
    write_text(file, json.dumps(exported, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(exported['campaigns'][0]['log'])} events: {file}")


def restore(
    file: Annotated[Path, typer.Argument(help="A file from `export`.")],
    name: Annotated[str | None, typer.Option(help="Under another name.")] = None,
) -> None:
    """Make a campaign from a file that `export` wrote, or all of one from `export --all`."""
    from latesum.campaigns.moving import read_export, restore_campaigns

    exported = read_export(read_text(file))
    with opened_store() as store:
        names = restore_campaigns(store, exported, name)
        print(f"Restored to {store.place}: {', '.join(names)}.")


COMMANDS: dict[str, Callable[..., None]] = {
    "replay": replay,
    "export": export,
    "restore": restore,
}
