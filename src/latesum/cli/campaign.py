"""`latesum campaign new | next | record | import | status | history | list`, and operator
actions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from latesum.cli import campaign_actions as actions
from latesum.cli import campaign_moving as moving
from latesum.cli.campaign_new import new_campaign
from latesum.cli.campaign_options import (
    AsJson,
    CampaignName,
    Region,
    User,
    choose_store,
    clock,
    opened,
    opened_store,
    user_name,
    write_text,
)
from latesum.cli.campaign_tables import show_buckets, show_decisions, show_estimates
from latesum.cli.options import FILE_OPTIONS, take_form, with_options

if TYPE_CHECKING:
    from latesum.campaigns import Decision

app = typer.Typer(no_args_is_help=True, add_completion=False)
app.callback()(choose_store)


app.command("new")(new_campaign)


@app.command("next")
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
        decisions = found.decide_all(bucket)
        if wanted is not None:
            decisions = {wanted: decisions[wanted]}
        health = found.health()
        winner = None if found.state().finished else found.winner()
        if as_json:
            alarm = next((each.sentence for each in health if each.level == "alarm"), None)
            told = [{**each._asdict(), "at": each.at.isoformat()} for each in decisions.values()]
            said = {"regions": told} if found.config.regions else told[0]
            said |= {
                "winner": winner,
                "alarm": alarm,
                "health": [each._asdict() for each in health],
            }
            print(json.dumps(said, indent=2))
        else:
            _say_decisions(list(decisions.values()))
            if winner is not None:
                print(f"The winner is {winner}: `latesum campaign finish` keeps it from now on.")
            for each in health:
                if each.level != "note":  # `status` has those too
                    print(f"{'ALARM:' if each.level == 'alarm' else '!'} {each.text}")


def _say_decisions(decisions: list[Decision]) -> None:
    """What is shown, and why; a table where there are regions."""
    first = decisions[0]
    if not first.region:
        print(f"{first.label}: {first.option}\n{first.reason}")
        return
    from latesum._render import new_table, terminal

    table = new_table(None, ["region", "option", "why"])
    for column in table.columns:
        column.justify, column.no_wrap = "left", False
    for each in decisions:
        table.add_row(each.region, each.option, each.reason)
    print(first.label)
    terminal().print(table)


@app.command("check")
def check(
    campaign: Annotated[str | None, typer.Argument(help="One campaign; all without.")] = None,
    level: Annotated[
        str, typer.Option(help="What counts: alarm; or warning, and alarms too.")
    ] = "warning",
    as_json: AsJson = False,
) -> None:
    """Exit with 1 and say why if a campaign is not well; silent otherwise. For cron and mail."""
    from sqlalchemy.exc import DBAPIError

    from latesum._checks import known_name
    from latesum.campaigns import Campaign
    from latesum.campaigns.health import unreadable

    known_name(level, ("alarm", "warning"), "level of health")
    counting = ("alarm",) if level == "alarm" else ("alarm", "warning")
    found = []
    with opened_store() as store:
        there = [store.find(campaign)] if campaign is not None else store.campaigns()
        for stored in there:
            if stored.moved_to is None and not stored.archived:
                try:
                    health = Campaign(store, stored, clock, owns_store=False).status().health
                except DBAPIError:
                    raise
                except Exception as error:  # the others are looked at nevertheless
                    health = [unreadable(error)]
                found += [(stored.name, each) for each in health if each.level in counting]
    if as_json:
        rows = [{"campaign": name, **each._asdict()} for name, each in found]
        print(json.dumps(rows, indent=2))
    else:
        for name, each in found:
            print(f"{name}: {'ALARM: ' if each.level == 'alarm' else ''}{each.text}")
    if found:
        raise typer.Exit(1)


@app.command("record")
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
    overwrite_final: Annotated[bool, typer.Option(help="Correct a final value.")] = False,
    allow_out_of_range: Annotated[
        bool, typer.Option(help="The total is right although it is outside the range.")
    ] = False,
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
    dry_run: Annotated[bool, typer.Option(help="Only say what would happen.")] = False,
    only_this_file: Annotated[
        bool, typer.Option(help="Read the next files as before, whatever is said of this one.")
    ] = False,
    skip_unknown: Annotated[
        bool, typer.Option(help="Leave out buckets that are not the campaign's.")
    ] = False,
    overwrite_final: Annotated[bool, typer.Option(help="Correct final values.")] = False,
    allow_out_of_range: Annotated[
        bool, typer.Option(help="The totals are right although some are outside the range.")
    ] = False,
    campaign: CampaignName = None,
    user: User = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Record a whole file, with a verdict for each row: all of it or nothing.

    How it is written is remembered with the campaign, for the next one.
    """
    from latesum._render import new_table, terminal
    from latesum.campaigns.importing import import_totals
    from latesum.files.sources import check_library

    form = take_form(given)
    check_library(file)
    with opened(campaign) as found:
        remembered = found.file_form()
        result = import_totals(
            found,
            file,
            form,
            by=user_name(user),
            overwrite_final=overwrite_final,
            allow_out_of_range=allow_out_of_range,
            skip_unknown=skip_unknown,
            dry_run=dry_run,
            remember=not only_this_file,
        )
    if as_json:
        rows = [{"row": line, **row._asdict()} for line, row in result.rows]
        said = {"written": result.written, "ignored": result.ignored, "notes": result.notes}
        print(json.dumps({**said, "form": result.form.to_json(), "rows": rows}, indent=2))
    else:
        table = new_table(None, ["row", "bucket", "rounds", "total", "shown", "verdict", ""])
        table.columns[6].no_wrap = False
        for line, row in result.rows:
            label = f"{row.label} {row.region}".rstrip()
            rounds, total = (
                "" if each is None else f"{each:,.10g}" for each in (row.rounds, row.total)
            )
            more = "; ".join(filter(None, (row.was, row.note or ", ".join(row.marks))))
            table.add_row(f"{line}", label, rounds, total, row.shown, row.verdict, more)
        terminal().print(table)
        if result.ignored:
            print(f"Not used, because of their names: {', '.join(result.ignored)}.")
        for note in result.notes:
            print(note)
        if result.written:
            print("All rows were taken in.")
            if only_this_file:
                print(f"The next file is read as before: {remembered}.")
            elif result.form != remembered:
                print(f"From now on files of this campaign are read so: {result.form}.")
            elif not result.form.says_nothing:
                print(f"The file was read as remembered: {result.form}.")
        elif not result.stopped:
            print("This was a dry run: nothing was written.")
        else:
            would = "would be imported" if dry_run else "was imported"
            print(f"Nothing {would}, because of the rows that are conflicting or unknown.")
            print("Correct them, or use --overwrite-final or --skip-unknown.")
    if result.stopped:
        raise typer.Exit(2)


app.command("import")(with_options(_import_file, FILE_OPTIONS))


@app.command("status")
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


@app.command("explain")
def explain(
    bucket: Annotated[str | None, typer.Argument(help="A bucket; now if none.")] = None,
    campaign: CampaignName = None,
) -> None:
    """Why the policy does what it does, now or when it decided on a bucket."""
    with opened(campaign) as found:
        print("\n".join(found.explain(bucket)))


@app.command("history")
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


@app.command("list")
def list_campaigns(
    everything: Annotated[
        bool, typer.Option("--all", help="Archived ones too, and what was deleted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """The campaigns there are, with what is wrong with each."""
    from sqlalchemy.exc import DBAPIError

    from latesum._render import new_table, terminal
    from latesum.campaigns import Campaign
    from latesum.campaigns.health import unreadable

    with opened_store() as store:
        rows: list[dict[str, Any]] = []
        for stored in store.campaigns():
            if stored.archived and not everything:
                continue
            row: dict[str, Any] = {
                "name": stored.name,
                "state": f"moved to {stored.moved_to}",
                "alarm": None,
                "policy": "",
                "options": "",
                "health": [],
            }
            try:
                found = Campaign(store, stored, clock, owns_store=False)
                config = found.current_config()
                row |= {"policy": config.policy, "options": ", ".join(config.options)}
                if stored.moved_to is None:
                    seen = found.status()
                    row |= {"state": seen.state, "alarm": seen.alarm}
                    row["health"] = [each._asdict() for each in seen.health]
            except DBAPIError:
                raise
            except Exception as error:  # the others are listed nevertheless
                finding = unreadable(error)
                row |= {"state": "unreadable", "alarm": finding.sentence}
                row["health"] = [finding._asdict()]
            rows.append(row)
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
            print(f"There are no campaigns in {store.place}; `latesum campaign new` makes one.")
        for row in rows:
            for each in row["health"]:
                if each["level"] != "note":
                    sign = "ALARM:" if each["level"] == "alarm" else "!"
                    print(f"{sign} {row['name']}: {each['sentence']}")
        if everything:
            for sentence in store.tombstones():
                print(f"{sentence[:1].upper()}{sentence[1:]}.")


app.command("buckets")(show_buckets)
app.command("decisions")(show_decisions)
app.command("estimates")(show_estimates)
for name, command in actions.COMMANDS.items():
    app.command(name)(command)
app.command("delete")(actions.delete)
app.command("replay")(moving.replay)
app.command("export")(moving.export)
app.command("restore")(moving.restore)
app.command("move")(moving.move)
