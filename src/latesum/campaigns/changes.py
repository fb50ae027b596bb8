"""How a configuration changes: by events of its log, taken in one after the other.

What a campaign was created with stays as it is in the store. What it is set up with at a moment is
that, with all changes up to then. A decision is read again by the configuration of its own moment;
the next one is taken by those of now, from the whole log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from latesum._checks import InvalidInput, known_name
from latesum.campaigns.config import (
    CHANGEABLE,
    MAX_OPTIONS,
    SWITCHBACK,
    CampaignConfig,
    read_option_name,
)
from latesum.campaigns.rows import NO_OPTION
from latesum.errors import NotPossible
from latesum.policies import registry


def check_new_name(config: CampaignConfig, name: object, renamed: int | None = None) -> str:
    """The name of an option that is added or renamed; refused if another one has it."""
    wanted = read_option_name(name)
    others = [each for arm, each in enumerate(config.options) if arm != renamed]
    if wanted.casefold() in [each.casefold() for each in others]:
        raise InvalidInput(f"there is an option {wanted!r} already; choose another name.")
    if wanted in NO_OPTION and config.status_quo == wanted:
        raise InvalidInput(
            f"an option cannot be called {wanted!r} here: that is what the campaign says of the "
            "time "
            "before its start; choose another name."
        )
    return wanted


def check_addition(config: CampaignConfig, name: str) -> None:
    """Refuse an option that the policy cannot take in while it runs."""
    if not config.is_market and not registry.takes_new_options(config.policy):
        able = [each for each in registry.available() if registry.takes_new_options(each)]
        raise NotPossible(
            f"{config.policy} cannot take in an option while it runs; {', '.join(able)} can. "
            f"Change the policy first (to {able[0]})."
        )
    if len(config.options) >= MAX_OPTIONS:
        raise NotPossible(f"a campaign has at most {MAX_OPTIONS} options.")
    config.with_options((*config.options, name)).check_policy()


def plain_request(given: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked to be changed, as JSON values; refused where it cannot be changed."""
    for name in given:
        if name in CampaignConfig.model_fields and name not in CHANGEABLE:
            raise InvalidInput(
                f"{name} cannot be changed while a campaign runs; {', '.join(CHANGEABLE)} can."
            )
        known_name(name, CHANGEABLE, "field that can be changed")
    if not given:
        raise InvalidInput(f"say what to change: {', '.join(CHANGEABLE)}.")
    if "parameters" in given and not isinstance(given["parameters"], Mapping):
        raise InvalidInput("the parameters of the policy are names with values.")
    plain: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return plain


def changed_fields(
    config: CampaignConfig, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What a change sets, what that was before, and what to know about it.

    Parameters that are not named stay, unless another policy does not take them.

    Args:
        config: As they are now.
        given: The fields to change, as for a new campaign; a parameter of None is taken away.
    """
    notes = list[str]()
    wanted = dict(given)
    parameters = {**config.parameters, **wanted.get("parameters", {})}
    parameters = {key: value for key, value in parameters.items() if value is not None}
    if "policy" in wanted and config.is_market != (wanted["policy"] == SWITCHBACK):
        # Its parameters are in buckets, those of the others in rounds: none can be taken over.
        named = wanted.get("parameters", {})
        left = [key for key in parameters if key not in named]
        parameters = {key: value for key, value in parameters.items() if key in named}
        if left:
            notes.append(f"Not taken over, because they are counted otherwise: {', '.join(left)}.")
    elif "policy" in wanted and not config.is_market:
        accepted = registry.accepted_parameters(registry.checked_name(wanted["policy"]))
        named = wanted.get("parameters", {})
        left = [key for key in parameters if key not in accepted and key not in named]
        parameters = {key: value for key, value in parameters.items() if key not in left}
        if left:
            notes.append(f"{wanted['policy']} does not take {', '.join(left)}: left out.")
    if "late" in wanted.get("parameters", {}):  # it says all of these
        said = {"mean_delay", "sure", "uncertainty"} - wanted["parameters"].keys()
        parameters = {key: each for key, each in parameters.items() if key not in said}
    wanted["parameters"] = parameters
    after = config.changed_by(wanted)
    saved, saved_after = config.to_json(), after.to_json()
    changes = {key: value for key, value in saved_after.items() if saved.get(key) != value}
    if not changes:
        raise NotPossible("that is how the campaign is set up already; nothing was changed.")
    after.check_policy()
    in_rounds = [
        key
        for key in ("horizon", "mean_delay", "delay_bound", "delay_variance")
        if key in after.parameters
        and key not in given.get("parameters", {})
        and not after.is_market
    ]
    if "expected_rounds" in changes and in_rounds:
        stay = ", ".join(f"{key} = {after.parameters[key]:,}" for key in in_rounds)
        notes.append(
            f"{stay} stay as they are, in rounds; if they were given in time, give them again."
        )
    if after.note is not None and after.note != config.note:
        notes.append(after.note)
    return changes, {key: saved.get(key) for key in changes}, notes
