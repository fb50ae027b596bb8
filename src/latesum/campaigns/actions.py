"""Operator actions: a table, from which methods, commands and the HTTP route follow.

Each action has a user and a reason, which the log keeps. Under one key it happens once, however
often it is sent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, NotRequired, Required, TypedDict, Unpack

from latesum._checks import InvalidInput, known_name, whole_number
from latesum._render import counted
from latesum.campaigns.changes import changed_fields, check_addition, check_new_name, plain_request
from latesum.campaigns.completeness import effect_on_totals
from latesum.campaigns.config import CampaignConfig, check_printable, read_option_name
from latesum.campaigns.deciding import after_the_end, carry
from latesum.campaigns.state import CampaignState, Event
from latesum.campaigns.store import Writer
from latesum.errors import NotPossible


class Action(NamedTuple):
    """What operators can do.

    Args:
        summary: What it does, for help texts.
        past_tense: What the history says; `{option}`, `{buckets}` and `{before}` are filled in.
        done: What the command line answers.
        arguments: What it takes besides user and reason; all are needed but those in `optional`.
        optional: The arguments that may be left out.
        regional: Whether it can be limited to a region.
        when_finished: Whether it is possible in a finished campaign.
    """

    summary: str
    past_tense: str
    done: str = ""
    arguments: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    regional: bool = False
    when_finished: bool = False


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "pause": Action(
            "Keep showing the present option until `resume`. A pin that runs goes on first.",
            "paused the campaign",
            "Paused: the present option stays until `latesum campaign resume`.",
            regional=True,
        ),
        "resume": Action(
            "Let the policy decide again. A pin goes on after a pause; without a pause it ends.",
            "resumed the campaign",
            "Resumed.",
            regional=True,
        ),
        "pin": Action(
            "Show this option in the next buckets that are decided.",
            "pinned {option} for {buckets}",
            "{option} is pinned for the next {buckets}.",
            arguments=("option", "buckets"),
            optional=("buckets",),
            regional=True,
        ),
        "unpin": Action(
            "End a pin that is not over; a pause goes on.",
            "ended the pin",
            "The pin has ended.",
            regional=True,
        ),
        "remove-option": Action(
            "Take an option away, until `restore-option`.",
            "removed {option}",
            "{option} is not decided on any more.",
            arguments=("option",),
            regional=True,
        ),
        "restore-option": Action(
            "Undo a removal: the policy goes on as if the option had never been away.",
            "restored {option}",
            "{option} is a candidate again.",
            arguments=("option",),
            regional=True,
        ),
        "add-option": Action(
            "Add an option; its first block is asked for next. Not every policy can do that.",
            "added {option}",
            "Added {option}.",
            arguments=("option",),
        ),
        "rename-option": Action(
            "Give an option another name; nothing else changes.",
            "renamed {before} to {option}",
            "{before} is called {option} now.",
            arguments=("option", "name"),
            when_finished=True,
        ),
        "change": Action(
            "Change the configuration from the next decision on; the policy learns from the whole log "
            "again.",
            "changed {changes}",
            arguments=("config",),
        ),
        "finish": Action(
            "End the campaign: from now on one option is shown, by default the best so far.",
            "finished the campaign with {option}",
            "Finished with {option}.",
            arguments=("option",),
            optional=("option",),
        ),
        "reopen": Action(
            "Go on with a finished or archived campaign, from the next bucket on; pauses and pins "
            "are over.",
            "reopened the campaign",
            "Reopened: the policy decides again.",
            when_finished=True,
        ),
        "archive": Action(
            "Put a finished campaign away: lists leave it out, `reopen` takes it back.",
            "put the campaign into the archive",
            "Archived; `list --all` still shows it.",
            when_finished=True,
        ),
    }
)
#: More buckets than this between a campaign's end and its reopening look like a wrong clock.
_MAX_PAUSE = 100_000
#: The fields that say which totals count.
_ABOUT_TOTALS = ("completeness", "settling_time", "max_lateness")


class Signature(TypedDict):
    """Who acts and why, and the key under which it happens once."""

    user: Required[str]
    reason: Required[str]
    key: NotRequired[str | None]


class RegionSignature(Signature):
    """The same, and the region that it is for; without one it is for all."""

    region: NotRequired[str | None]


class ActionResult(NamedTuple):
    """What an operator did.

    Args:
        action: The action.
        option: The option that it was about, if it was about one.
        repeated: Whether it had been done before, under the same key.
        note: What to know about it, in sentences; empty if there is nothing.
    """

    action: str
    option: str | None
    repeated: bool
    note: str = ""


class CampaignActions(ABC):
    """The actions of a campaign, as methods. What cannot be done as things are raises
    `NotPossible`."""

    @abstractmethod
    def act(
        self,
        action: str,
        *,
        user: str,
        reason: str,
        key: str | None = None,
        region: str | None = None,
        dry_run: bool = False,
        **arguments: Any,
    ) -> ActionResult:
        """Do one of `ACTIONS`, in one transaction.

        Args:
            action: Its name.
            user: Who does it.
            reason: Why.
            key: Under one key an action happens once, however often it is sent.
            region: The region that it is for, in a campaign that has some; otherwise all.
            dry_run: Only say what it would do.
            arguments: What the action takes besides.
        """

    def pause(self, **by: Unpack[RegionSignature]) -> ActionResult:
        """Keep showing the present option until `resume`. A pin that runs goes on first."""
        return self.act("pause", **by)

    def resume(self, **by: Unpack[RegionSignature]) -> ActionResult:
        """Let the policy decide again. A pin goes on after a pause; without a pause it ends."""
        return self.act("resume", **by)

    def pin(self, option: str, *, buckets: int = 1, **by: Unpack[RegionSignature]) -> ActionResult:
        """Show this option in the next buckets that are decided."""
        return self.act("pin", option=option, buckets=buckets, **by)

    def unpin(self, **by: Unpack[RegionSignature]) -> ActionResult:
        """End a pin that is not over; a pause goes on."""
        return self.act("unpin", **by)

    def remove_option(self, option: str, **by: Unpack[RegionSignature]) -> ActionResult:
        """Take an option away, until `restore_option`."""
        return self.act("remove-option", option=option, **by)

    def restore_option(self, option: str, **by: Unpack[RegionSignature]) -> ActionResult:
        """Undo a removal: the policy goes on as if the option had never been away."""
        return self.act("restore-option", option=option, **by)

    def add_option(self, option: str, **by: Unpack[Signature]) -> ActionResult:
        """Add an option; its first block is asked for next. Policies that cannot do that refuse.

        Only options that were never shown either, or whose turn it is, come before it.
        """
        return self.act("add-option", option=option, **by)

    def rename_option(self, option: str, name: str, **by: Unpack[Signature]) -> ActionResult:
        """Give an option another name; nothing else changes."""
        return self.act("rename-option", option=option, name=name, **by)

    def change(
        self,
        *,
        user: str,
        reason: str,
        key: str | None = None,
        dry_run: bool = False,
        **config: Any,
    ) -> ActionResult:
        """Change what the campaign is set up with, from the next decision on.

        The policy of the new configuration learns from the whole log; decisions that were taken stay.

        Args:
            user: Who does it.
            reason: Why.
            key: As for `act`.
            dry_run: Change nothing; the note says what the change would do.
            config: Any of `latesum.campaigns.config.CHANGEABLE`, as for a new campaign. Of the
                `parameters`, those that are not named stay.
        """
        return self.act("change", user=user, reason=reason, key=key, dry_run=dry_run, config=config)

    def finish(self, option: str | None = None, **by: Unpack[Signature]) -> ActionResult:
        """End the campaign. From now on `decide` answers `option`, by default the best so far."""
        return self.act("finish", option=option, **by)

    def reopen(self, **by: Unpack[Signature]) -> ActionResult:
        """Go on with a finished campaign, from the next bucket on; pauses and pins are over."""
        return self.act("reopen", **by)

    def archive(self, **by: Unpack[Signature]) -> ActionResult:
        """Put a finished campaign away: lists leave it out. `reopen` takes it back."""
        return self.act("archive", **by)


class Request(NamedTuple):
    """An action that is asked for; `body` is what the log keeps of it."""

    action: str
    key: str | None
    body: dict[str, Any]
    #: Whether the option was chosen for the operator: sent again, it may be another one.
    any_option: bool = False
    #: The region that it is for; empty for all.
    region: str = ""

    def write(self, writer: Writer, state: CampaignState, at: datetime) -> ActionResult:
        """Write it down, unless it cannot be done or was done under this key before."""
        event = self._done_before(state)
        repeated = event is not None
        note = ""
        if event is None:
            more, note = self._particulars(self._able(state), at)
            if self.action == "reopen":
                _fill_the_pause(writer, state, at)
            # The key is in the action's own event, so that both are written or neither.
            key = {} if self.key is None else {"key": self.key}
            event = writer.append(at, self.action, None, {**self.body, **more, **key}, self.region)
            state.apply(event)
        arm = event.body.get("option")
        name = event.body.get("name") if arm is None else state.config.options[arm]
        return ActionResult(event.kind, name, repeated, note)

    def preview(self, state: CampaignState, at: datetime) -> ActionResult:
        """What it would do, without doing it."""
        return ActionResult(self.action, None, False, self._particulars(self._able(state), at)[1])

    def _able(self, state: CampaignState) -> CampaignState:
        """The first part in which it can be done: what can be done in one region at least is
        done there."""
        parts = state.parts_of(self.region)
        obstacles = [next(self._obstacles(part), None) for part in parts]
        if None not in obstacles:
            raise NotPossible(f"the campaign cannot do that: {obstacles[0]}.")
        return parts[obstacles.index(None)]

    def _done_before(self, state: CampaignState) -> Event | None:
        if self.key is None:
            return None
        event = next((each for each in state.actions if each.body.get("key") == self.key), None)
        if event is None:
            return None
        said = {name: value for name, value in self.body.items() if name != "user"}
        if self.any_option:
            said["option"] = event.body.get("option")
        asked = self.action, self.region
        if (event.kind, event.region) != asked or any(
            event.body[name] != said[name] for name in said
        ):
            raise NotPossible("this Idempotency-Key was used for another action; choose a new one.")
        return event

    def _obstacles(self, state: CampaignState) -> Iterator[str]:
        """Why it cannot be done."""
        if state.archived and self.action != "reopen":
            yield "it is in the archive; reopen it first"
        if state.finished and not ACTIONS[self.action].when_finished:
            yield "it is finished; reopen it first"
        if self.action == "reopen" and state.finished is None and state.archived is None:
            yield "it is not finished"
        if self.action == "archive" and state.finished is None and state.decisions:
            yield "it still runs; finish it first"
        if self.action == "pause" and state.paused:
            yield "it is paused already"
        if self.action == "resume" and state.paused is None and state.pin is None:
            yield "it is neither paused nor pinned"
        if self.action == "unpin" and state.pin is None:
            yield "nothing is pinned"
        arm = self.body.get("option")
        if arm is not None and self.action != "rename-option":
            yield from self._obstacles_of(state, arm)

    def _obstacles_of(self, state: CampaignState, arm: int) -> Iterator[str]:
        """Why it cannot be done with this option."""
        name = state.config.options[arm]
        if self.action == "restore-option":
            if arm not in state.removed:
                yield f"{name} was not removed"
            return
        if arm in state.removed:
            again = " already" if self.action == "remove-option" else "; restore it first"
            yield f"{name} was removed{again}"
        if self.action == "remove-option" and len(state.removed) == state.config.n_options - 1:
            yield f"{name} is the last option left; finish the campaign instead"

    def _particulars(self, state: CampaignState, at: datetime) -> tuple[dict[str, Any], str]:
        """What the log keeps besides what was asked for, and what to know about the action."""
        config, pin = state.config, state.pin
        if self.action == "add-option":
            name = check_new_name(config, self.body["name"])
            check_addition(config, name)
            return {"name": name}, _when_it_comes(state, name)
        if self.action == "rename-option":
            arm = self.body["option"]
            name = check_new_name(config, self.body["name"], renamed=arm)
            return {"name": name, "before": config.options[arm]}, ""
        if self.action == "change":
            changes, before, notes = changed_fields(config, self.body["asked"])
            if not changes.keys().isdisjoint(_ABOUT_TOTALS):
                after = CampaignConfig.from_json({**config.to_json(), **changes})
                notes += effect_on_totals(state, after, at)
            return {"changes": changes, "before": before}, " ".join(notes)
        if self.action == "resume" and state.paused is None:
            return {}, "There was no pause: the pin has ended."
        if self.action == "resume" and pin is not None:
            return {"pin_goes_on": True}, _pin_text(state)
        if self.action == "resume":
            return {}, "The policy decides again, from the next bucket on."
        if self.action == "pause" and pin is not None:
            return {}, _pin_text(state)
        if self.action == "remove-option" and pin is not None and pin.arm == self.body["option"]:
            return {}, "It is not pinned any more."
        return {}, ""


def read_request(
    action: str,
    config: CampaignConfig,
    leading: int | None,
    by: RegionSignature,
    arguments: Mapping[str, Any],
) -> Request:
    """The action that is asked for, with checked values.

    Args:
        action: Its name.
        config: What the campaign is set up with.
        leading: The option to finish with, where none is named.
        by: Who asks and why.
        arguments: What the action takes besides.
    """
    known = ACTIONS[known_name(action, ACTIONS, "action")]
    for name in arguments:
        known_name(name, known.arguments, f"argument of {action}")
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in known.arguments:
        if name not in given and name not in known.optional:
            raise InvalidInput(f"{action} needs {name}.")
    region, key = by.get("region"), by.get("key")
    if region is not None and not known.regional:
        raise InvalidInput(f"{action} is for all regions; leave the region out.")
    where = "" if region is None else config.region(region)
    user, reason = read_user_and_reason(by["user"], by["reason"])
    body = {"user": user, **_read_arguments(action, config, key, leading, given)}
    any_option = action == "finish" and "option" not in given
    return Request(action, key, {**body, "reason": reason}, any_option, where)


def _read_arguments(
    action: str,
    config: CampaignConfig,
    key: str | None,
    leading: int | None,
    given: dict[str, Any],
) -> dict[str, Any]:
    """The arguments of an action as the log keeps them."""
    if action == "change":
        return {"asked": plain_request(given["config"])}
    if action == "add-option":
        return {"name": read_option_name(given["option"])}
    if action == "rename-option":
        option, name = given["option"], read_option_name(given["name"])
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


def read_user_and_reason(user: object, reason: object) -> tuple[str, str]:
    """Who does something and why, each in one line; refused where one is missing."""
    said = []
    for text, what in ((user, "who you are"), (reason, "why")):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"say {what}: it is kept in the campaign's history.")
        said.append(check_printable(" ".join(text.split()), f"the text that says {what}"))
    return said[0], said[1]


def _pin_text(state: CampaignState) -> str:
    assert state.pin is not None
    return (
        f"The pin to {state.config.options[state.pin.arm]} goes on, for "
        f"{counted(state.pin.left, 'more bucket')}; `unpin` ends it."
    )


def _when_it_comes(state: CampaignState, name: str) -> str:
    if state.pin is not None:
        return f"{name} is asked for once the pin is over."
    if state.paused is not None:
        return f"{name} is asked for once the campaign is resumed."
    return ""


def _fill_the_pause(writer: Writer, state: CampaignState, at: datetime) -> None:
    """Between its end and now the campaign went on with what it was finished with.

    The present bucket is a part of that: what was answered for it stands.
    """
    for part in state.parts.values():
        finished, last, buckets = part.finished, part.last, part.config.buckets
        if finished is None or last is None or not buckets.timed:
            return
        present = buckets.number(at)
        if present - last > _MAX_PAUSE:
            raise InvalidInput(
                f"{present - last:,} buckets have passed since the last decision; is the clock "
                "right?"
            )
        for bucket in range(last + 1, present + 1):
            ended_before = buckets.end(bucket) <= finished.at
            taken = carry if ended_before else after_the_end
            state.write(writer.append, taken(part, bucket, at))
