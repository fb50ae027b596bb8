"""`latesum campaign change`, and the acts on a campaign as a whole: reopen, archive, delete."""

from __future__ import annotations

from typing import Annotated

import typer

from latesum._checks import InvalidInput
from latesum.cli.campaign_new import read_fields, read_parameters, with_fields
from latesum.cli.campaign_options import CampaignName, Who, Why, opened, said, user

#: The fields that can be changed; a test holds them equal to those that the library can change.
FIELDS = (
    "policy", "expected_rounds", "align", "fills_up", "usable_after", "lateness", "range", "unit",
)  # fmt: skip
#: Those that can be taken away again, by the word "none".
_MAY_BE_NONE = ("align", "fills_up", "lateness")


def _change(
    why: Why,
    parameter: Annotated[
        list[str] | None,
        typer.Option(help='Of the policy, such as "horizon=120 days"; may be repeated.'),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only say what would happen.")] = False,
    campaign: CampaignName = None,
    who: Who = None,
    **given: str | None,
) -> None:
    """Change settings from the next decision on; decisions already taken stay.

    The policy, the same or another, learns from the whole log. "none" takes --align, --fills-up or
    --lateness away; parameter=null takes a parameter away.
    """
    taken_away = {
        key: None
        for key, text in given.items()
        if key in _MAY_BE_NONE and text is not None and text.strip().lower() == "none"
    }
    kept = {key: text for key, text in given.items() if key not in taken_away}
    changes = {**read_fields(kept), **taken_away}
    if parameter:
        changes["parameters"] = read_parameters(parameter)
    if not changes:
        names = ", ".join("--" + name.replace("_", "-") for name in FIELDS)
        raise InvalidInput(f"say what to change: --parameter, {names}.")
    with opened(campaign) as found:
        effect = found.change(who=user(who), why=why, dry_run=True, **changes).note
        if effect:
            print(effect)
        if dry_run:
            print("Nothing was changed.")
            return
        found.change(who=user(who), why=why, **changes)
        parameters = ", ".join(f"{key}={each}" for key, each in found.settings.parameters.items())
        print(f"Changed. Now {found.settings.policy} with {parameters or 'no parameters'}.")


change = with_fields(_change, FIELDS)


def reopen(why: Why, campaign: CampaignName = None, who: Who = None) -> None:
    """Go on with a finished or archived campaign, from the next bucket on."""
    with opened(campaign) as found:
        said("Reopened: the policy decides again.", found.reopen(who=user(who), why=why))


def archive(why: Why, campaign: CampaignName = None, who: Who = None) -> None:
    """Put a finished campaign away: `list` leaves it out, `reopen` takes it back."""
    with opened(campaign) as found:
        said("Archived; `list --all` still shows it.", found.archive(who=user(who), why=why))


def delete(
    name: Annotated[str, typer.Argument(help="The campaign's name.")],
    why: Why,
    confirm: Annotated[str, typer.Option(help="The name once more: it cannot be undone.")],
    who: Who = None,
) -> None:
    """Delete a campaign with its whole log. When, who and why stay; so does its name."""
    with opened(name) as found:
        found.delete(confirm, who=user(who), why=why)
    print(f"Deleted {name}. Its name cannot be used again; `list --all` says what became of it.")
