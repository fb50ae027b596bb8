"""What operators do to a campaign, each act with who and why: how it is checked and written down.

Under one key an act happens once, however often it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum._sentences import counted
from latesum.campaigns.changes import changed_fields, check_addition, check_new_name
from latesum.campaigns.completeness import effect_on_totals
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import after_the_end, carry
from latesum.campaigns.events import Event
from latesum.campaigns.setting_fields import check_printable
from latesum.campaigns.state import CampaignState
from latesum.campaigns.store import Writer
from latesum.errors import NotPossible

#: Acts that are possible in a finished campaign.
_AFTER_THE_END = ("reopen", "archive", "rename")
#: More buckets than this between a campaign's end and its reopening look like a wrong clock.
_LONGEST_PAUSE = 100_000


#: The settings that say which totals count.
_ABOUT_TOTALS = ("fills_up", "full_after", "usable_after", "lateness")


class Acted(NamedTuple):
    """What an operator did.

    Args:
        kind: The act.
        option: The option that it was about, if it was about one.
        repeated: Whether it had been done before, under the same key.
        note: What to know about it, in sentences; empty if there is nothing.
    """

    kind: str
    option: str | None
    repeated: bool
    note: str = ""


class OperatorAct(NamedTuple):
    """What an operator asks for; `body` is what the log keeps of it."""

    kind: str
    key: str | None
    body: dict[str, Any]
    #: Whether the option was chosen for the operator: sent again, it may be another one.
    any_option: bool = False
    #: The region that it is for; empty for all.
    region: str = ""

    @classmethod
    def read(
        cls, kind: str, who: object, why: object, key: str | None, region: str = "", **body: Any
    ) -> OperatorAct:
        """The act, refused without who and why."""
        said = read_who_and_why(who, why)
        return cls(kind, key, {"who": said[0], **body, "why": said[1]}, region=region)

    def write(self, writer: Writer, state: CampaignState, at: datetime) -> Acted:
        """Write it down, unless it cannot be done or was done under this key before."""
        event = self._done_before(state)
        repeated = event is not None
        note = ""
        if event is None:
            more, note = self._particulars(self._able(state), at)
            if self.kind == "reopen":
                _fill_the_pause(writer, state, at)
            # The key is in the act's own event, so that both are written or neither.
            key = {} if self.key is None else {"key": self.key}
            event = writer.append(at, self.kind, None, {**self.body, **more, **key}, self.region)
            state.take(event)
        arm = event.body.get("option")
        name = event.body.get("name") if arm is None else state.settings.options[arm]
        return Acted(event.kind, name, repeated, note)

    def preview(self, state: CampaignState, at: datetime) -> Acted:
        """What it would do, without doing it."""
        part = self._able(state)
        return Acted(self.kind, None, False, self._particulars(part, at)[1])

    def _able(self, state: CampaignState) -> CampaignState:
        """The first part in which it can be done: what can be done in one region at least is done there."""
        parts = state.parts_of(self.region)
        obstacles = [next(self._obstacles(part), None) for part in parts]
        if None not in obstacles:
            raise NotPossible(f"the campaign cannot do that: {obstacles[0]}.")
        return parts[obstacles.index(None)]

    def _done_before(self, state: CampaignState) -> Event | None:
        if self.key is None:
            return None
        event = next((act for act in state.acts if act.body.get("key") == self.key), None)
        if event is None:
            return None
        said = {name: value for name, value in self.body.items() if name != "who"}
        if self.any_option:
            said["option"] = event.body.get("option")
        asked = self.kind, self.region
        if (event.kind, event.region) != asked or any(
            event.body[name] != said[name] for name in said
        ):
            raise NotPossible("this Idempotency-Key was used for another act; choose a new one.")
        return event

    def _obstacles(self, state: CampaignState) -> Iterator[str]:
        """Why it cannot be done."""
        if state.archived and self.kind != "reopen":
            yield "it is in the archive; reopen it first"
        if state.finished and self.kind not in _AFTER_THE_END:
            yield "it is finished; reopen it first"
        if self.kind == "reopen" and state.finished is None and state.archived is None:
            yield "it is not finished"
        if self.kind == "archive" and state.finished is None and state.decisions:
            yield "it still runs; finish it first"
        if self.kind == "hold" and state.hold:
            yield "it is held already"
        if self.kind == "resume" and state.hold is None and state.order is None:
            yield "it is neither held nor overridden"
        if self.kind == "cancel-override" and state.order is None:
            yield "there is no override"
        arm = self.body.get("option")
        if arm is not None and self.kind != "rename":
            yield from self._obstacles_of(state, arm)

    def _obstacles_of(self, state: CampaignState, arm: int) -> Iterator[str]:
        """Why it cannot be done with this option."""
        name = state.settings.options[arm]
        if self.kind == "bring-back":
            if arm not in state.dropped:
                yield f"{name} was not dropped"
            return
        if arm in state.dropped:
            again = " already" if self.kind == "drop" else "; bring it back first"
            yield f"{name} was dropped{again}"
        if self.kind == "drop" and len(state.dropped) == state.settings.n_options - 1:
            yield f"{name} is the last option left; finish the campaign instead"

    def _particulars(self, state: CampaignState, at: datetime) -> tuple[dict[str, Any], str]:
        """What the log keeps besides what was asked for, and what to know about the act."""
        settings = state.settings
        if self.kind == "add":
            name = check_new_name(settings, self.body["name"])
            check_addition(settings, name)
            return {"name": name}, _when_it_comes(state, name)
        if self.kind == "rename":
            arm = self.body["option"]
            name = check_new_name(settings, self.body["name"], renamed=arm)
            return {"name": name, "before": settings.options[arm]}, ""
        if self.kind == "change":
            changes, before, notes = changed_fields(settings, self.body["asked"])
            if not changes.keys().isdisjoint(_ABOUT_TOTALS):
                after = CampaignConfig.from_json({**settings.to_json(), **changes})
                notes += effect_on_totals(state, after, at)
            return {"changes": changes, "before": before}, " ".join(notes)
        if self.kind == "resume" and state.hold is not None and state.order is not None:
            return {"override_goes_on": True}, _order_text(state)
        if self.kind == "resume" and state.hold is None:
            return {}, "There was no hold: the override has ended."
        if self.kind == "hold" and state.order is not None:
            return {}, _order_text(state)
        order = state.order
        if self.kind == "drop" and order is not None and order.arm == self.body["option"]:
            return {}, "The override to it has ended."
        return {}, ""


def read_who_and_why(who: object, why: object) -> tuple[str, str]:
    """Who does something and why, each in one line; refused where one is missing."""
    said = []
    for text, what in ((who, "who you are"), (why, "why")):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"say {what}: it is kept in the campaign's history.")
        said.append(check_printable(" ".join(text.split()), f"the text that says {what}"))
    return said[0], said[1]


def _order_text(state: CampaignState) -> str:
    assert state.order is not None
    left = state.order.left
    return (
        f"The override to {state.settings.options[state.order.arm]} goes on, for "
        f"{counted(left, 'more bucket')}; `cancel-override` ends it."
    )


def _when_it_comes(state: CampaignState, name: str) -> str:
    if state.order is not None:
        return f"{name} is asked for once the override is over."
    if state.hold is not None:
        return f"{name} is asked for once the campaign is resumed."
    return ""


def _fill_the_pause(writer: Writer, state: CampaignState, at: datetime) -> None:
    """Between its end and now the campaign went on with what it was finished with.

    The present bucket is a part of that: what was answered for it stands.
    """
    for region, part in state.parts.items():
        finished, last, buckets = part.finished, part.last, part.settings.buckets
        if finished is None or last is None or not buckets.timed:
            return
        present = buckets.number(at)
        if present - last > _LONGEST_PAUSE:
            raise InvalidInput(
                f"{present - last:,} buckets have passed since the last decision; is the clock right?"
            )
        for bucket in range(last + 1, present + 1):
            before = part.decisions[bucket - 1]
            ended_before = buckets.end(bucket) <= finished.at
            choice = carry(before) if ended_before else after_the_end(part, bucket)
            body = choice.body(buckets.label(bucket))
            state.take(writer.append(at, "decision", bucket, body, region))
