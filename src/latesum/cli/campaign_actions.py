"""Operator actions as commands: made from the table of actions, and by hand where they say more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.actions import ACTIONS
from latesum.campaigns.config import CHANGEABLE, CampaignConfig
from latesum.cli.campaign_new import Late, Parameters, RunFor, fields, read_fields, read_parameters
from latesum.cli.campaign_options import (
    CampaignName,
    DryRun,
    Reason,
    Region,
    User,
    opened,
    user_name,
)
from latesum.cli.options import with_options

#: What actions take, as arguments and options of a command.
_ARGUMENTS: dict[str, Any] = {
    "option": Annotated[str, typer.Argument(help="The option.")],
    "name": Annotated[str, typer.Argument(help="Its new name.")],
    "buckets": Annotated[
        int | None, typer.Option(help="For how many days (hours, weeks); 1 by default.")
    ],
    "region": Region,
}


def _command_of(name: str) -> Callable[..., None]:
    """The command of an operator action, with the arguments that the table names."""
    action = ACTIONS[name]

    def command(
        reason: Reason, campaign: CampaignName = None, user: User = None, **given: Any
    ) -> None:
        with opened(campaign) as found:
            done = found.act(name, user=user_name(user), reason=reason, **given)
            count = counted(given.get("buckets") or 1, found.config.buckets.every)
        names = {"option": done.option, "before": given.get("option"), "buckets": count}
        said = action.past_tense.format(**names) + (
            f" in {given['region']}" if given.get("region") else ""
        )
        print(f"{said[0].upper()}{said[1:]}. {done.note}".rstrip())

    command.__doc__ = action.summary
    taken = [*action.arguments, *["region"] * action.regional]
    return with_options(command, {each: _ARGUMENTS[each] for each in taken})


#: The fields that can be changed.
_FIELDS = tuple(name for name in CHANGEABLE if name != "parameters")


def _change(
    reason: Reason,
    run_for: RunFor = None,
    late: Late = None,
    parameter: Parameters = None,
    dry_run: DryRun = False,
    campaign: CampaignName = None,
    user: User = None,
    **given: str | None,
) -> None:
    """Change the configuration from the next decision on; decisions already taken stay.

    The policy, the same or another, learns from the whole log. "none" takes --align
    or --completeness away; parameter=null takes a parameter away.
    """
    defaults = {name: CampaignConfig.model_fields[name].default for name in _FIELDS}
    ended = [
        name
        for name, text in given.items()
        if text is not None and text.strip().lower() == "none" and defaults[name] is None
    ]
    changes: dict[str, Any] = {
        **read_fields({name: text for name, text in given.items() if name not in ended}),
        **dict.fromkeys(ended),
    }
    if parameters := read_parameters(parameter, run_for, late):
        changes["parameters"] = parameters
    if not changes:
        names = ", ".join(map(_option, _FIELDS))
        raise InvalidInput(f"say what to change: --run-for, --late, --parameter, {names}.")
    with opened(campaign) as found:
        asked: dict[str, Any] = {"user": user_name(user), "reason": reason, **changes}
        if effect := found.change(**asked, dry_run=True).note:
            print(effect)
        if dry_run:
            print("Nothing was changed.")
            return
        found.change(**asked)
    texts = {"run_for": run_for, "late": late, **given}
    said = [f"{_option(name)} {text}" for name, text in texts.items() if text is not None]
    said += [f"--parameter {text}" for text in parameter or ()]
    print(f"Changed from the next decision on: {', '.join(said)}.")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def finish(
    option: Annotated[str | None, typer.Argument(help="By default the best so far.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Not needed to finish with the winner.")
    ] = None,
    campaign: CampaignName = None,
    user: User = None,
) -> None:
    """End the campaign: from now on `next` always answers this option."""
    with opened(campaign) as found:
        if reason is None:
            winner = found.winner()
            if winner is None or option not in (None, winner):
                raise InvalidInput(
                    "say why the campaign ends, with --reason: "
                    + (f"the winner is {winner}." if winner else "no winner is named yet.")
                )
            option, reason = winner, f"{winner} is the winner"
        done = found.finish(option, user=user_name(user), reason=reason)
        print(f"Finished with {done.option}.")


def delete(
    name: Annotated[str, typer.Argument(help="The campaign's name.")],
    reason: Reason,
    confirm: Annotated[str, typer.Option(help="The name once more: it cannot be undone.")],
    user: User = None,
) -> None:
    """Delete a campaign with its log. When, by whom and why stays; its name stays taken."""
    with opened(name) as found:
        found.delete(confirm, user=user_name(user), reason=reason)
    print(f"Deleted {name}. Its name cannot be used again; `list --all` says what became of it.")


#: Every action as a command.
COMMANDS = {name: _command_of(name) for name in ACTIONS if name not in ("change", "finish")} | {
    "change": with_options(_change, fields(_FIELDS)),
    "finish": finish,
    "delete": delete,
}
