"""Operator actions as commands: made from the table of actions, and by hand where they say more."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from latesum._checks import InvalidInput
from latesum._render import counted
from latesum.campaigns.actions import ACTIONS
from latesum.campaigns.config import CHANGEABLE, CampaignConfig
from latesum.cli.campaign_new import (
    Late,
    Parameters,
    RunFor,
    fields,
    read_fields,
    read_parameters,
)
from latesum.cli.campaign_options import CampaignName, Reason, Region, User, opened, user_name
from latesum.cli.options import with_options

#: Arguments of actions as those of a command, with their defaults.
_ARGUMENTS: dict[str, tuple[Any, Any]] = {
    "option": (Annotated[str, typer.Argument(help="The option.")], inspect.Parameter.empty),
    "name": (Annotated[str, typer.Argument(help="Its new name.")], inspect.Parameter.empty),
    "buckets": (Annotated[int, typer.Option(help="For how many buckets.")], 1),
    "reason": (Reason, inspect.Parameter.empty),
    "region": (Region, None),
    "campaign": (CampaignName, None),
    "user": (User, None),
}


def action_command(name: str) -> Callable[..., None]:
    """The command of an operator action, with the arguments that the table names."""
    action = ACTIONS[name]

    def command(
        reason: str,
        campaign: str | None,
        user: str | None,
        region: str | None = None,
        **arguments: Any,
    ) -> None:
        with opened(campaign) as found:
            done = found.act(name, user=user_name(user), reason=reason, region=region, **arguments)
        sentence = action.done.format(
            option=done.option,
            before=arguments.get("option"),
            buckets=counted(arguments.get("buckets", 1), "bucket"),
        )
        where = f" (in {region})" if region else ""
        print(f"{sentence}{where} {done.note}".rstrip())

    taken = [*action.arguments, "reason", *["region"] * action.regional, "campaign", "user"]
    parameters = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for each in taken
        for kind, default in [_ARGUMENTS[each]]
    ]
    command.__doc__ = action.summary
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


#: The fields that can be changed, and those that the word "none" takes away again.
_FIELDS = tuple(name for name in CHANGEABLE if name != "parameters")
_MAY_BE_NONE = tuple(name for name in _FIELDS if CampaignConfig.model_fields[name].default is None)


def _change(
    reason: Reason,
    run_for: RunFor = None,
    late: Late = None,
    parameter: Parameters = None,
    dry_run: Annotated[bool, typer.Option(help="Only say what would happen.")] = False,
    campaign: CampaignName = None,
    user: User = None,
    **given: str | None,
) -> None:
    """Change the configuration from the next decision on; decisions already taken stay.

    The policy, the same or another, learns from the whole log. "none" takes --align,
    --completeness or
    --max-lateness away; parameter=null takes a parameter away.
    """
    taken_away = {
        key: None
        for key, text in given.items()
        if key in _MAY_BE_NONE and text is not None and text.strip().lower() == "none"
    }
    kept = {key: text for key, text in given.items() if key not in taken_away}
    changes = {**read_fields(kept), **taken_away}
    if parameters := read_parameters(parameter, run_for, late):
        changes["parameters"] = parameters
    if not changes:
        names = ", ".join("--" + name.replace("_", "-") for name in _FIELDS)
        raise InvalidInput(f"say what to change: --run-for, --late, --parameter, {names}.")
    by = user_name(user)
    with opened(campaign) as found:
        effect = found.change(user=by, reason=reason, dry_run=True, **changes).note
        if effect:
            print(effect)
        if dry_run:
            print("Nothing was changed.")
            return
        found.change(user=by, reason=reason, **changes)
        now = ", ".join(f"{key}={each}" for key, each in found.config.parameters.items())
        print(f"Changed. Now {found.config.policy} with {now or 'no parameters'}.")


change = with_options(_change, fields(_FIELDS))


def finish(
    option: Annotated[str | None, typer.Argument(help="By default the best so far.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="Why; not needed to finish with the winner.")
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
    """Delete a campaign with its whole log. When, by whom and why stays; so does its name."""
    with opened(name) as found:
        found.delete(confirm, user=user_name(user), reason=reason)
    print(f"Deleted {name}. Its name cannot be used again; `list --all` says what became of it.")


#: Every action as a command, in the order of the table.
_BY_HAND: dict[str, Callable[..., None]] = {"change": change, "finish": finish}
COMMANDS = {name: _BY_HAND.get(name) or action_command(name) for name in ACTIONS}
