"""The log of a campaign, and what it adds up to.

The log is the truth: an `Event` is written once and never changed. The `CampaignState` is
nothing but a `fold` over the events, so that it can be made again at any time, for any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple

from latesum._checks import InvalidInput
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.rows import RecordStatus, Shown, largest_share, shown_of
from latesum.files import FileForm
from latesum.policies.base import Purpose

#: Who chose an option: the policy; no one asked (carried on); an operator, by a pause or a pin;
#: the rest of a whole week; an operator, by the end of the campaign; it was reported afterwards.
Source = Literal["policy", "carried", "paused", "pinned", "aligned", "finished", "reported"]


class Event(NamedTuple):
    """One line of the log.

    Its `kind` is "decision", "record" or the name of an operator action; its `body` are JSON
    values. Without a `region` it is about all of them.
    """

    sequence: int
    at: datetime
    kind: str
    bucket: int | None
    body: dict[str, Any]
    region: str = ""


#: Makes the next event of the log: its time, kind, bucket, body and region.
Append = Callable[[datetime, str, int | None, dict[str, Any], str], Event]


class Decision(NamedTuple):
    """The option for a bucket.

    `arm` is the option's number, `rounds` are those that the policy asked for, `number` is the
    bucket in which the block began that this is a part of, and `sequence` the place in the log.
    """

    bucket: int
    label: str
    option: str
    arm: int
    purpose: Purpose
    source: Source
    rounds: int | None
    reason: str
    at: datetime
    sequence: int | None
    number: int
    region: str = ""

    def body(self) -> dict[str, Any]:
        """As the log keeps it; `decision_of` is the opposite."""
        kept = ("label", "purpose", "number", "source", "rounds", "reason")
        return {**{name: getattr(self, name) for name in kept}, "option": self.arm}


def decision_of(event: Event, options: tuple[str, ...]) -> Decision:
    """The decision that an event of the log holds."""
    assert event.bucket is not None
    arm = event.body["option"]
    named = {**event.body, "option": options[arm], "arm": arm}
    return Decision(
        bucket=event.bucket, at=event.at, sequence=event.sequence, region=event.region, **named
    )


@dataclass
class Value:
    """What is recorded for a bucket."""

    rounds: int | None = None
    total: float | None = None
    status: RecordStatus = "provisional"
    shown: Shown | None = None
    #: All totals in use since, oldest first, each with the time at which it was known.
    reports: list[tuple[datetime, float]] = field(default_factory=list)
    #: When the newest total became known, and when the value was last said to be final.
    known_at: datetime | None = None
    final_at: datetime | None = None
    revisions: int = 0

    @property
    def recorded(self) -> bool:
        """Whether something is recorded for the bucket that is in use."""
        return self.rounds is not None or self.total is not None or self.status == "missing"

    def take(self, at: datetime, body: dict[str, Any]) -> None:
        """Set what a record sets."""
        self.revisions += body["verdict"] == "revised"
        self.rounds = body.get("rounds", self.rounds)
        if "shown" in body:
            self.shown = shown_of(body["shown"])
        if "status" in body:
            self.status = body["status"]
            self.final_at = at if self.status == "final" else None
        if self.status == "missing":
            self.total, self.known_at = None, None
        elif "total" in body:
            if body["verdict"] != "same":
                self.known_at = at
            self.total = body["total"]
            self.reports.append((at, body["total"]))


class Pin(NamedTuple):
    """An option that is to be shown in the next buckets, from the first that is asked for on."""

    arm: int
    left: int
    reason: str
    begun: bool = False


class CampaignState:
    """Everything that the log says of a campaign, up to its newest event.

    `parts` has the state of each region; a campaign without regions is one region without a name,
    and its own part. Of several regions the whole has the decisions of the first, since all are
    decided together, and what is paused, pinned or removed in all of them.
    """

    def __init__(self, config: CampaignConfig, *, region: str | None = None) -> None:
        #: What the campaign is set up with after the newest event.
        self.config = config
        self.region = region or ""
        self.newest: Event | None = None
        self.decisions: dict[int, Decision] = {}
        self.values: dict[int, Value] = {}
        #: Options that were taken away, with the bucket from which on.
        self.removed: dict[int, int] = {}
        self.paused: Event | None = None
        self.pin: Pin | None = None
        self.finished: Event | None = None
        self.actions: list[Event] = []
        #: How the last file was written that was imported.
        self.file_form = FileForm()
        self.parts: dict[str, CampaignState] = {"": self}
        if region is None and config.regions:
            self.parts = {each: CampaignState(config, region=each) for each in config.regions}
            first = self.parts[config.regions[0]]
            self.decisions, self.values = first.decisions, first.values

    @property
    def first(self) -> int | None:
        """The first bucket that was decided."""
        return next(iter(self.decisions), None)

    @property
    def last(self) -> int | None:
        """The last bucket that was decided; all between the first and it are decided."""
        return next(reversed(self.decisions), None)

    def parts_of(self, region: str) -> list[CampaignState]:
        """The part of a region, or all where it is not named."""
        return [self.parts[region]] if region else list(self.parts.values())

    def taken(self, bucket: int) -> dict[str, Decision]:
        """The decisions for a bucket, by region; empty where one is still to be taken."""
        found = {region: part.decisions.get(bucket) for region, part in self.parts.items()}
        taken = {region: each for region, each in found.items() if each is not None}
        return taken if len(taken) == len(found) else {}

    def value(self, bucket: int) -> Value:
        """What is recorded for a bucket so far."""
        return self.values.get(bucket) or Value()

    def shown(self, bucket: int) -> int:
        """What was really shown, as recorded or else as decided; of several the largest share."""
        return largest_share(self.shares(bucket))

    def shares(self, bucket: int) -> Shown:
        """What was really shown, with the shares where it was several options."""
        shown = self.value(bucket).shown
        return self.decisions[bucket].arm if shown is None else shown

    def apply(self, event: Event) -> None:
        """Take in the next event of the log."""
        assert event.sequence == (1 if self.newest is None else self.newest.sequence + 1)
        self.newest = event
        for part in self.parts_of(event.region):
            if event.kind == "decision":
                part._apply_decision(event)
            elif event.kind == "record":
                assert event.bucket is not None
                part.values.setdefault(event.bucket, Value()).take(event.at, event.body)
            else:
                part._apply_action(event)
        if "" not in self.parts and event.kind != "record":
            self._sum_up(event)

    def write(self, append: Append, decision: Decision) -> None:
        """Write a decision down, and take it in."""
        at, bucket, region = decision.at, decision.bucket, decision.region
        self.apply(append(at, "decision", bucket, decision.body(), region))

    def _apply_decision(self, event: Event) -> None:
        assert event.bucket is not None
        decision = decision_of(event, self.config.options)
        reported_late = self.last is not None and event.bucket < self.last
        self.decisions[event.bucket] = decision
        if reported_late:  # a bucket before the first question was filled in
            in_order = sorted(self.decisions.items())
            self.decisions.clear()
            self.decisions.update(in_order)
            return
        pin = self.pin
        if pin is not None and (pin.begun or decision.source == "pinned"):
            self.pin = pin._replace(left=pin.left - 1, begun=True) if pin.left > 1 else None

    def _apply_action(self, event: Event) -> None:
        self.actions.append(event)
        body = event.body
        match event.kind:
            case "pause":
                self.paused = event
            case "resume":
                self.paused = None
                self.pin = self.pin if body.get("pin_goes_on") else None
            case "pin":
                self.pin = Pin(body["option"], body["buckets"], body["reason"])
            case "unpin":
                self.pin = None
            case "remove-option":
                self.removed.setdefault(body["option"], (self.last or 0) + 1)
                if self.pin is not None and self.pin.arm == body["option"]:
                    self.pin = None
            case "restore-option":  # the policy goes on as if it had never been away
                self.removed.pop(body["option"], None)
            case "finish":
                self.finished = event
            case "reopen":
                self.finished = self.paused = self.pin = None
            case "add-option":
                self.config = self.config.with_options((*self.config.options, body["name"]))
            case "rename-option":
                self._rename(body["option"], body["name"])
            case "change":
                self.config = CampaignConfig.from_json({**self.config.to_json(), **body["changes"]})
            case "file form":
                self.file_form = FileForm(**body["form"])
            case "import refused":  # changes nothing here
                pass
            case _:
                raise InvalidInput(
                    f"this campaign's log has an action {event.kind!r}, which this latesum does "
                    "not know; use a newer latesum."
                )

    def _rename(self, arm: int, name: str) -> None:
        """Call an option by its new name everywhere; reasons stay as they were written."""
        options = list(self.config.options)
        options[arm] = name
        self.config = self.config.with_options(options)
        for bucket, decision in self.decisions.items():
            if decision.arm == arm:
                self.decisions[bucket] = decision._replace(option=name)

    def _sum_up(self, event: Event) -> None:
        """What a decision or an action in a region, or in all, means for a campaign of several."""
        if event.kind != "decision":
            self.actions.append(event)
        first, *others = self.parts.values()
        self.config, self.finished = first.config, first.finished
        self.file_form = first.file_form
        self.paused = first.paused if all(part.paused for part in others) else None
        self.pin = first.pin if all(part.pin for part in others) else None
        self.removed = {
            arm: since
            for arm, since in first.removed.items()
            if all(arm in part.removed for part in others)
        }


def fold(config: CampaignConfig, events: Iterable[Event]) -> CampaignState:
    """What these events of a log add up to; `config` is that of the beginning."""
    state = CampaignState(config)
    for event in events:
        state.apply(event)
    return state
