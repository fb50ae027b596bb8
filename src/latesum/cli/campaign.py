"""`latesum campaign`: its commands, in the groups of its help, and those of every day."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum._render import plain
from latesum.cli import campaign_actions, campaign_views
from latesum.cli.campaign_new import new_campaign
from latesum.cli.campaign_options import (
    CampaignName,
    DryRun,
    Region,
    StoreGroup,
    User,
    choose_store,
    opened,
    user_name,
)
from latesum.cli.options import FILE_OPTIONS, AsJson, take_form, with_options

if TYPE_CHECKING:
    from latesum.campaigns.importing import Imported
    from latesum.files import FileForm

#: Of an import, this many rows are shown.
_MAX_SHOWN = 50
OverwriteFinal = Annotated[bool, typer.Option(help="Correct final values.")]
AllowOutOfRange = Annotated[bool, typer.Option(help="A total out of range is right.")]


def next_option(
    bucket: Annotated[
        str | None, typer.Argument(help="A date, time or number; now if none.")
    ] = None,
    region: Region = None,
    campaign: CampaignName = None,
    as_json: AsJson = False,
) -> None:
    """Which option to show, in every region; asked again, the answer is the same."""
    with opened(campaign) as found:
        wanted = None if region is None else found.config.region(region)
        decisions = [
            each for name, each in found.decide_all(bucket).items() if wanted in (None, name)
        ]
        health = found.health()
        winner = None if found.state().finished else found.winner()
        regional = bool(found.config.regions)
    if as_json:
        said = {"regions": plain(decisions)} if regional else plain(decisions[0])
        alarm = next((each.sentence for each in health if each.level == "alarm"), None)
        said |= {"winner": winner, "alarm": alarm, "health": plain(health)}
        print(json.dumps(said, indent=2))
        return
    if regional:
        from latesum._render import new_table, terminal

        columns = ["region", "option", "reason"]
        table = new_table(None, columns, texts=columns)
        for each in decisions:
            table.add_row(each.region, each.option, each.reason)
        print(decisions[0].label)
        terminal().print(table)
    else:
        print(f"{decisions[0].label}: {decisions[0].option}\n{decisions[0].reason}")
    if winner is not None:
        print(f"The winner is {winner}: `latesum campaign finish` keeps it from now on.")
    for finding in health:
        if finding.level != "note":  # `status` has those too
            print(finding.line)


def record(
    bucket: Annotated[str, typer.Argument(help="A date, time or number.")],
    rounds: Annotated[int | None, typer.Option(help="How many rounds it had.")] = None,
    total: Annotated[float | None, typer.Option(help="The total that arrived in it.")] = None,
    status: Annotated[str | None, typer.Option(help="provisional, final or missing.")] = None,
    shown: Annotated[
        str | None,
        typer.Option(help="What was shown, if not as decided; or shares, as in 'a:0.7 b:0.3'."),
    ] = None,
    region: Region = None,
    overwrite_final: OverwriteFinal = False,
    allow_out_of_range: AllowOutOfRange = False,
    reason: Annotated[str | None, typer.Option(help="Why; it is kept in the history.")] = None,
    campaign: CampaignName = None,
    user: User = None,
) -> None:
    """Set the rounds and the total of a bucket, apart or together."""
    with opened(campaign) as found:
        result = found.record(
            bucket,
            rounds=rounds,
            total=total,
            status=status,
            shown=shown,
            by=user_name(user),
            reason=reason,
            region=region,
            overwrite_final=overwrite_final,
            allow_out_of_range=allow_out_of_range,
        )
    marks = f" ({', '.join(result.marks)})" if result.marks else ""
    label = f"{result.label} {result.region}".rstrip()
    said = "; ".join(filter(None, (f"{result.verdict}{marks}", result.was, result.note)))
    print(f"{label}: {said}")


def _import_file(
    file: Annotated[Path, typer.Argument(help="A CSV, Excel or Parquet file of totals.")],
    dry_run: DryRun = False,
    skip_unknown: Annotated[bool, typer.Option(help="Leave out unknown buckets.")] = False,
    overwrite_final: OverwriteFinal = False,
    allow_out_of_range: AllowOutOfRange = False,
    campaign: CampaignName = None,
    user: User = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Import a file of totals, with a verdict for each row: all of it or nothing.

    How it is written is remembered with the campaign, for the next one.
    """
    from latesum.campaigns.importing import import_totals

    form = take_form(given)
    with opened(campaign) as found:
        remembered = found.state().file_form
        result = import_totals(
            found,
            file,
            form,
            by=user_name(user),
            overwrite_final=overwrite_final,
            allow_out_of_range=allow_out_of_range,
            skip_unknown=skip_unknown,
            dry_run=dry_run,
        )
    if as_json:
        rows = [{"row": line, **row._asdict()} for line, row in result.rows]
        said = {"written": result.written, "ignored": result.ignored, "notes": result.notes}
        print(json.dumps({**said, "form": result.form.to_json(), "rows": rows}, indent=2))
    else:
        _show_rows(result)
        for sentence in _summary(result, remembered, dry_run):
            print(sentence)
    if result.stopped:
        raise typer.Exit(2)


def _show_rows(result: Imported) -> None:
    """A table of what an import does, without rows that stay the same if there are others."""
    from latesum._render import new_table, terminal

    columns = ["row", "bucket", "rounds", "total", "shown", "verdict", ""]
    table = new_table(None, columns, texts=["row", ""])
    shown_rows = [each for each in result.rows if each[1].verdict != "same"] or result.rows
    for line, row in shown_rows[:_MAX_SHOWN]:
        label = f"{row.label} {row.region}".rstrip()
        numbers = ("" if each is None else f"{each:,.10g}" for each in (row.rounds, row.total))
        more = "; ".join(filter(None, (row.was, row.note or ", ".join(row.marks))))
        table.add_row(f"{line}", label, *numbers, row.shown, row.verdict, more)
    terminal().print(table)
    if (more_rows := len(result.rows) - min(len(shown_rows), _MAX_SHOWN)) > 0:
        same = sum(row.verdict == "same" for _, row in result.rows)
        print(f"More rows: {more_rows:,}, {same:,} of them the same as before.")


def _summary(result: Imported, remembered: FileForm, dry_run: bool) -> list[str]:
    """What became of a file, in sentences."""
    said = list(result.notes)
    if result.ignored:
        said.insert(0, f"Not used, because of their names: {', '.join(result.ignored)}.")
    if result.written:
        said.append("All rows were imported.")
        if result.form != remembered:
            said.append(f"From now on files of this campaign are read so: {result.form}.")
        elif result.form.to_json():
            said.append(f"The file was read as remembered: {result.form}.")
    elif not result.stopped:
        said.append("This was a dry run: nothing was written.")
    else:
        would = "would be imported" if dry_run else "was imported"
        said.append(f"Nothing {would}, because of the rows that are conflicting or unknown.")
        said.append("Correct them, or use --overwrite-final or --skip-unknown.")
    return said


_GROUPS: dict[str, dict[str, Callable[..., None]]] = {
    "Every day": {
        "next": next_option,
        "record": record,
        "import": with_options(_import_file, FILE_OPTIONS),
    },
    "Look": campaign_views.LOOK,
    "Set up and change": {"new": new_campaign, **campaign_actions.COMMANDS},
    "Data": campaign_views.DATA,
}
campaign = typer.Typer(cls=StoreGroup, no_args_is_help=True, add_completion=False)
campaign.callback()(choose_store)
for _group, _commands in _GROUPS.items():
    for _name, _command in _commands.items():
        campaign.command(_name, rich_help_panel=_group)(_command)
