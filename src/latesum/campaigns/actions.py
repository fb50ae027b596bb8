"""Operator actions: a table, from which methods, commands and the HTTP route follow.

Each action has a user and a reason, which the log keeps. Under one key it happens once, however
often it is sent. What a campaign was created with stays as it is in the store; what it is set up
with at a time is that, with all actions up to then. `describe_event` says what happened, in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._durations import duration_text
from latesum._render import counted
from latesum.campaigns.completeness import stops_counting
from latesum.campaigns.config import CHANGEABLE, CampaignConfig
from latesum.campaigns.deciding import carry, check_gap, shown_so
from latesum.campaigns.fields import MAX_OPTIONS, SWITCHBACK, check_printable, read_text
from latesum.campaigns.rows import NO_OPTION, shown_of, shown_text
from latesum.campaigns.state import Append, CampaignState, Event
from latesum.errors import NotPossible
from latesum.files import FileForm
from latesum.policies import PolicySpec, registry


class Action(NamedTuple):
    """What operators can do.

    `summary` is for help texts, `past_tense` for the history and for answers; `{option}`,
    `{buckets}` and `{before}` are filled in. All arguments are needed but those that are optional;
    a `regional` one can be limited to a region.
    """

    summary: str
    past_tense: str
    arguments: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regional: bool = False
    when_finished: bool = False


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "pause": Action(
            "Keep showing the present option until `resume`. A pin that runs goes on first.",
            "paused the campaign",
            regional=True,
        ),
        "resume": Action(
            "Let the policy decide again. A pin goes on after a pause; without a pause it ends.",
            "resumed the campaign",
            regional=True,
        ),
        "pin": Action(
            "Show this option in the next days (hours, weeks) that are decided.",
            "pinned {option} for {buckets}",
            arguments=("option", "buckets"),
            optional=("buckets",),
            regional=True,
        ),
        "unpin": Action(
            "End a pin that is not over; a pause goes on.", "ended the pin", regional=True
        ),
        "remove-option": Action(
            "Take an option away, until `restore-option`.",
            "removed {option}",
            arguments=("option",),
            regional=True,
        ),
        "restore-option": Action(
            "Undo a removal: the policy goes on as if the option had never been away.",
            "restored {option}",
            arguments=("option",),
            regional=True,
        ),
        "add-option": Action(
            "Add an option; its first block is asked for next. Not every policy can do that.",
            "added {option}",
            arguments=("option",),
        ),
        "rename-option": Action(
            "Give an option another name; nothing else changes.",
            "renamed {before} to {option}",
            arguments=("option", "name"),
            when_finished=True,
        ),
        "change": Action(
            "Change the configuration from the next decision on; the policy learns from the whole "
            "log again.",
            "changed {changes}",
            arguments=("config",),
        ),
        "finish": Action(
            "End the campaign: from now on one option is shown, by default the best so far.",
            "finished the campaign with {option}",
            arguments=("option",),
            optional=("option",),
        ),
        "reopen": Action(
            "Go on with a finished campaign, from the next day (hour, week) on, without a pause or "
            "a pin.",
            "reopened the campaign",
            when_finished=True,
        ),
    }
)
#: Parameters that say how late rewards come, all of which `late` says.
_OF_DELAY = ("mean_delay", "certainty", "uncertainty")


class ActionResult(NamedTuple):
    """What an operator did: `option` is the one that it was about, if it was about one, `repeated`
    says whether it had been done before under the same key, and `note` what to know about it.
    """

    action: str
    option: str | None
    repeated: bool
    note: str = ""


def perform(
    state: CampaignState,
    append: Append | None,
    at: datetime,
    action: str,
    given: dict[str, Any],
    leading: int | None = None,
    *,
    user: str,
    reason: str,
    key: str | None,
    region: str | None,
) -> ActionResult:
    """Do an action, unless it cannot be done or was done under this key before.

    `given` is as `read_arguments` reads it. Without `append` it is only said what it would do.
    `leading` is the option to finish with, where none is named.
    """
    if region is not None and not ACTIONS[action].regional:
        raise InvalidInput(f"{action} is for all regions; leave the region out.")
    where = "" if region is None else state.config.region(region)
    user, reason = read_user_and_reason(user, reason)
    body = {"user": user, **_kept(action, state.config, key, leading, given), "reason": reason}
    event = next((each for each in state.actions if key and each.body.get("key") == key), None)
    repeated, note = event is not None, ""
    if event is None:
        part = _able(state, action, where, body.get("option"))
        more, note = _particulars(part, action, body, at)
        if append is None:
            return ActionResult(action, None, False, note)
        if action == "reopen":
            _fill_the_pause(append, state, at)
        # The key is in the action's own event, so that both are written or neither.
        kept = {**body, **more} if key is None else {**body, **more, "key": key}
        event = append(at, action, None, kept, where)
        state.apply(event)
    else:
        # Another user may send it again; the best option may be another one by now.
        left_out = ("user", "option") if action == "finish" and "option" not in given else ("user",)
        same = all(event.body.get(name) == body[name] for name in body if name not in left_out)
        if (event.kind, event.region) != (action, where) or not same:
            raise NotPossible("this Idempotency-Key was used for another action; choose a new one.")
    arm = event.body.get("option")
    option = event.body.get("name") if arm is None else state.config.options[arm]
    return ActionResult(action, option, repeated, note)


def read_user_and_reason(user: object, reason: object) -> tuple[str, str]:
    """Who does something and why, each in one line; refused where one is missing."""
    said = []
    for text, what in ((user, "who you are"), (reason, "why")):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"say {what}: it is kept in the campaign's history.")
        said.append(check_printable(" ".join(text.split()), f"the text that says {what}"))
    return said[0], said[1]


def read_arguments(action: str, values: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
    """What an action is given, by name; refused where something is missing or not known."""
    known = ACTIONS[known_name(action, ACTIONS, "action")]
    if len(values) > len(known.arguments):
        raise InvalidInput(f"{action} takes {', '.join(known.arguments) or 'no arguments'}.")
    given = {**dict(zip(known.arguments, values, strict=False)), **named}
    for name in given:
        known_name(name, known.arguments, f"argument of {action}")
    given = {name: value for name, value in given.items() if value is not None}
    for name in known.arguments:
        if name not in given and name not in known.optional:
            raise InvalidInput(f"{action} needs {name}.")
    return given


def _kept(
    action: str,
    config: CampaignConfig,
    key: str | None,
    leading: int | None,
    given: dict[str, Any],
) -> dict[str, Any]:
    """The arguments of an action as the log keeps them."""
    if action == "change":
        return {"asked": _plain_request(given["config"])}
    if action == "add-option":
        return {"name": read_text(given["option"], "an option's name")}
    if action == "rename-option":
        option, name = given["option"], read_text(given["name"], "an option's name")
        # Sent again under its key, the option has its new name already.
        known = option if option in config.options or key is None else name
        return {"option": config.option(known), "name": name}
    read: dict[str, Any] = {}
    if "option" in given:
        read["option"] = config.option(given["option"])
    elif action == "finish":
        read["option"] = leading
    if action == "pin":
        count = whole_number(given.get("buckets", 1), "the number of buckets", at_least=1)
        read["buckets"] = count
    return read


def _able(state: CampaignState, action: str, region: str, arm: int | None) -> CampaignState:
    """The first part in which it can be done: what can be done in one region is done there."""
    obstacle = None
    for part in state.parts_of(region):
        found = next(_obstacles(part, action, arm), None)
        if found is None:
            return part
        obstacle = obstacle or found
    raise NotPossible(f"the campaign cannot do that: {obstacle}.")


def _obstacles(state: CampaignState, action: str, arm: int | None) -> Iterator[str]:
    """Why an action cannot be done."""
    if state.finished and not ACTIONS[action].when_finished:
        yield "it is finished; reopen it first"
    if action == "reopen" and state.finished is None:
        yield "it is not finished"
    if action == "pause" and state.paused:
        yield "it is paused already"
    if action == "resume" and state.paused is None and state.pin is None:
        yield "it is neither paused nor pinned"
    if action == "unpin" and state.pin is None:
        yield "nothing is pinned"
    if arm is None or action == "rename-option":
        return
    name = state.config.options[arm]
    if action == "restore-option":
        if arm not in state.removed:
            yield f"{name} was not removed"
    elif arm in state.removed:
        again = " already" if action == "remove-option" else "; restore it first"
        yield f"{name} was removed{again}"
    elif action == "remove-option" and len(state.removed) == state.config.n_options - 1:
        yield f"{name} is the last option left; finish the campaign instead"


def _particulars(
    state: CampaignState, action: str, body: dict[str, Any], at: datetime
) -> tuple[dict[str, Any], str]:
    """What the log keeps besides what was asked for, and what to know about the action."""
    config, pin = state.config, state.pin
    goes_on = ""
    if pin is not None:
        more = counted(pin.left, f"more {config.buckets.every}")
        goes_on = f"The pin to {config.options[pin.arm]} goes on, for {more}; `unpin` ends it."
    if action == "add-option":
        name = _check_new_name(config, body["name"])
        _check_addition(config, name)
        if pin is not None:
            return {}, f"{name} is asked for once the pin is over."
        paused = f"{name} is asked for once the campaign is resumed."
        return {}, paused if state.paused is not None else ""
    if action == "rename-option":
        _check_new_name(config, body["name"], renamed=body["option"])
        return {"before": config.options[body["option"]]}, ""
    if action == "change":
        changes, before, notes = _changed_fields(config, body["asked"])
        if "completeness" in changes:
            after = CampaignConfig.from_json({**config.to_json(), **changes})
            if stopped := stops_counting(state, after, at):
                notes.append(f"{counted(stopped, 'known total')} will count only when full.")
        return {"changes": changes, "before": before}, " ".join(notes)
    if action == "resume":
        if state.paused is None:
            return {}, "There was no pause: the pin has ended."
        if pin is not None:
            return {"pin_goes_on": True}, goes_on
        return {}, f"The policy decides again, from the next {config.buckets.every} on."
    if action == "pause":
        return {}, goes_on
    if action == "remove-option" and pin is not None and pin.arm == body["option"]:
        return {}, "It is not pinned any more."
    return {}, ""


def _fill_the_pause(append: Append, state: CampaignState, at: datetime) -> None:
    """Between its end and now the campaign went on with what it was finished with.

    The present bucket is a part of that: what was answered for it stands.
    """
    for part in state.parts.values():
        finished, last, buckets = part.finished, part.last, part.config.buckets
        if finished is None or last is None:
            return
        present = buckets.number(at)
        check_gap(present - last)
        for bucket in range(last + 1, present + 1):
            taken = carry(part, bucket, at)
            if buckets.end(bucket) > finished.at:
                arm = finished.body["option"]
                reason = f"The campaign was finished, so {part.config.options[arm]} was shown."
                taken = shown_so(part, bucket, arm, "finished", reason, at)
            state.write(append, taken)


def _check_new_name(config: CampaignConfig, name: str, renamed: int | None = None) -> str:
    """The name of an option that is added or renamed; refused if another one has it."""
    others = [each.casefold() for arm, each in enumerate(config.options) if arm != renamed]
    if name.casefold() in others:
        raise InvalidInput(f"there is an option {name!r} already; choose another name.")
    if name in NO_OPTION and config.status_quo == name:
        raise InvalidInput(
            f"an option cannot be called {name!r} here: that is what the campaign says of the time "
            "before its start; choose another name."
        )
    return name


def _check_addition(config: CampaignConfig, name: str) -> None:
    """Refuse an option that the policy cannot take in while it runs."""
    if not config.is_market and not PolicySpec.parse(config.policy).owner.takes_new_options:
        names = registry.available()
        able = [name for name in names if PolicySpec.parse(name).owner.takes_new_options]
        raise NotPossible(
            f"{config.policy} cannot take in an option while it runs; {', '.join(able)} can. "
            f"Change the policy first (to {able[0]})."
        )
    if len(config.options) >= MAX_OPTIONS:
        raise NotPossible(f"a campaign has at most {MAX_OPTIONS} options.")
    config.with_options((*config.options, name)).check_policy()


def _plain_request(given: Mapping[str, Any]) -> dict[str, Any]:
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


def _changed_fields(
    config: CampaignConfig, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What a change sets, what that was before, and what to know about it.

    Parameters that are not named stay, unless another policy does not take them; one of None is
    taken away.
    """
    notes = list[str]()
    policy, named = given.get("policy", config.policy), given.get("parameters", {})
    kept = {key: value for key, value in config.parameters.items() if key not in named}
    if "late" in named:
        kept = {key: value for key, value in kept.items() if key not in _OF_DELAY}
    left, why = list[str](), f"{policy} does not take {{}}: left out."
    if config.is_market != (policy == SWITCHBACK):
        # Its parameters are in buckets, those of the others in rounds: none can be taken over.
        left, why = list(kept), "Not taken over, because they are counted otherwise: {}."
    elif policy != config.policy:
        accepted = registry.accepted_parameters(registry.checked_name(policy))
        left = [key for key in kept if key not in accepted]
    if left:
        notes.append(why.format(", ".join(left)))
    parameters = {key: value for key, value in kept.items() if key not in left}
    parameters |= {key: value for key, value in named.items() if value is not None}
    after = config.changed_by({**given, "parameters": parameters})
    saved, saved_after = config.to_json(), after.to_json()
    changes = {key: value for key, value in saved_after.items() if saved.get(key) != value}
    if not changes:
        raise NotPossible("that is how the campaign is set up already; nothing was changed.")
    after.check_policy()
    spans = ("horizon", "mean_delay", "delay_bound", "delay_variance")
    in_rounds = [key for key in spans if key in after.parameters and key not in named]
    if "expected_rounds" in changes and in_rounds and not after.is_market:
        values = [(key.replace("_", " "), after.parameters[key]) for key in in_rounds]
        stay = " and ".join(f"{name} ({value:,.6g} rounds)" for name, value in values)
        notes.append(f"The {stay} stay as they are; if they were given in time, give them again.")
    if after.note is not None and after.note != config.note:
        notes.append(after.note)
    return changes, {key: saved.get(key) for key in changes}, notes


# The history: a line of the log in words.


def describe_event(event: Event, config: CampaignConfig) -> str:
    """What happened, for people."""
    body, label = event.body, ""
    if event.bucket is not None:
        label = f"{config.buckets.label(event.bucket)} {event.region}".rstrip()
    if event.kind == "decision":
        option, reason = config.options[body["option"]], body["reason"]
        named = "" if reason.startswith(f"{option} ") else f"{option}. "
        what = f"decided {label}: {named}{reason}"
    elif event.kind == "record":
        what = f"recorded {label}: {_record(event, config)}"
    else:
        where = f" in {event.region}" if event.region else ""
        what = f"{body['user']} {_past_tense(event, config)}{where}: {body['reason']}"
    return f"{event.at:%Y-%m-%d %H:%M} UTC: {what}"


def _record(event: Event, config: CampaignConfig) -> str:
    body, buckets, said = event.body, config.buckets, list[str]()
    if "rounds" in body:
        said.append(counted(body["rounds"], "visitor"))
    if "total" in body:
        said.append(f"total {body['total']:,g}" + (" (negative)" if body["total"] < 0 else ""))
    if "shown" in body:
        said.append(f"shown was {shown_text(shown_of(body['shown']), config.options)}")
    if "status" in body:
        said.append(body["status"])
    if "total" in body and event.at < buckets.end(event.bucket or 0):
        said.append(f"early: the {buckets.every} had not ended")
    by = f", by {body['by']}" if "by" in body else ""
    why = f": {body['reason']}" if "reason" in body else ""
    return f"{', '.join(said)} ({body['verdict']}{by}){why}"


def _past_tense(event: Event, config: CampaignConfig) -> str:
    body = event.body
    if event.kind == "import refused":
        return "sent a file that was refused"
    if event.kind == "file form":
        return f"set how files are read ({FileForm(**body.get('form', {}))})"
    named = "name" in body or "option" not in body
    goes_on = " (the pin went on)" if body.get("pin_goes_on") else ""
    return (ACTIONS[event.kind].past_tense + goes_on).format(
        option=body.get("name", "") if named else config.options[body["option"]],
        before=body.get("before"),
        buckets=counted(body.get("buckets", 1), config.buckets.every),
        changes=_changes_text(body["changes"], body["before"]) if event.kind == "change" else "",
    )


def _changes_text(changes: dict[str, Any], before: dict[str, Any]) -> str:
    """What was changed, from what to what; of the parameters only those that differ."""
    pairs = {name: (before[name], value) for name, value in changes.items()}
    old, new = pairs.pop("parameters", ({}, {}))
    pairs |= {key: (old.get(key), new.get(key)) for key in {**old, **new}}
    said = []
    for name, values in pairs.items():
        if values[0] != values[1]:
            was, now = (_value_text(name, each) for each in values)
            said.append(f"{name} from {was} to {now}")
    return ", ".join(said)


def _value_text(name: str, value: Any) -> str:
    """A value of the configuration, as a store keeps it, for people."""
    if value is None:
        return "none"
    if name == "completeness":
        return ", ".join(f"{duration_text(timedelta(seconds=a))}: {share:g}" for a, share in value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if number else str(value)
