"""The log of a campaign, and what it adds up to.

The log is the truth: an `Event` is written once and never changed. The `CampaignState` is
nothing but the events taken in one after the other, so that it can be made again at any time,
for any moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from latesum._checks import InvalidInput
from latesum.campaigns.changes import config_after
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.events import Event
from latesum.campaigns.vocabulary import Purpose, RecordStatus, Source


class Decision(NamedTuple):
    """The option for a bucket.

    Args:
        bucket: The bucket's number.
        label: The bucket as people call it, such as a date.
        option: The option to show.
        arm: The option's number.
        purpose: Why it is shown.
        source: Where it comes from: the policy, an operator, what ran before, or the calendar.
        rounds: The rounds that the policy asked for, where it was asked.
        reason: Why, in a sentence.
        at: When it was decided.
        sequence: The place in the log; None if it is not there.
        number: The bucket in which the block began that this decision is a part of.
        region: The region that it is for; empty in a campaign without regions.
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


#: What was shown in a bucket: an option's number, or the share of each of several.
Shown = int | tuple[tuple[int, float], ...]


class ReportedTotal(NamedTuple):
    """A total as it was known at a time."""

    at: datetime
    total: float


@dataclass
class Value:
    """What is recorded for a bucket. `reports` are all totals in use since, oldest first."""

    rounds: int | None = None
    total: float | None = None
    status: RecordStatus = "provisional"
    shown: Shown | None = None
    reports: list[ReportedTotal] = field(default_factory=list)
    #: When the newest total became known, and when the value was last said to be final.
    known_at: datetime | None = None
    final_at: datetime | None = None
    revisions: int = 0
    #: What came too late: kept here as it was said, and never used.
    late: set[frozenset[tuple[str, Any]]] = field(default_factory=set)

    @property
    def recorded(self) -> bool:
        """Whether something is recorded for the bucket that is in use."""
        return self.rounds is not None or self.total is not None or self.status == "missing"

    def take(self, at: datetime, body: dict[str, Any]) -> None:
        """Set what a record sets; one that came too late is only kept."""
        if body["verdict"] == "too late":
            self.late.add(said(body))
            return
        if body["verdict"] == "revised":
            self.revisions += 1
        if "rounds" in body:
            self.rounds = body["rounds"]
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
            self.reports.append(ReportedTotal(at, body["total"]))


def shown_of(written: Any) -> Shown:
    """What was shown, as the log has it: a number, or pairs of a number and a share."""
    if isinstance(written, int):
        return written
    return tuple((int(arm), float(share)) for arm, share in written)


def said(body: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    """What a record says, without who said it."""
    return frozenset(
        (key, shown_of(value) if key == "shown" else value)
        for key, value in body.items()
        if key != "by"
    )


class Pin(NamedTuple):
    """An option that is to be shown in the next buckets, from the first one that is asked for
    on."""

    arm: int
    left: int
    reason: str
    begun: bool = False


class CampaignState:
    """Everything that the log says of a campaign without regions, up to its newest event."""

    def __init__(self, config: CampaignConfig) -> None:
        #: What the campaign is set up with after the newest event.
        self.config = config
        self.newest: Event | None = None
        self.decisions: dict[int, Decision] = {}
        self.values: dict[int, Value] = {}
        #: Options that were taken away, with the bucket from which on.
        self.removed: dict[int, int] = {}
        self.paused: Event | None = None
        self.pin: Pin | None = None
        self.finished: Event | None = None
        self.archived: Event | None = None
        self.actions: list[Event] = []

    @property
    def first(self) -> int | None:
        """The first bucket that was decided."""
        return next(iter(self.decisions), None)

    @property
    def last(self) -> int | None:
        """The last bucket that was decided; all between the first and it are decided."""
        return next(reversed(self.decisions), None)

    @property
    def parts(self) -> Mapping[str, CampaignState]:
        """What the log says of each region; without regions there is one, which has no name."""
        return {"": self}

    def parts_of(self, region: str) -> list[CampaignState]:
        """The part of a region, or all where it is not named."""
        return [self.parts[region]] if region else list(self.parts.values())

    def recorded(self, bucket: int) -> bool:
        """Whether something is recorded for a bucket, in all regions."""
        return all(part.value(bucket).recorded for part in self.parts.values())

    def value(self, bucket: int) -> Value:
        """What is recorded for a bucket so far."""
        return self.values.get(bucket) or Value()

    def shown(self, bucket: int) -> int:
        """What was really shown: as recorded, otherwise as decided; of several the largest
        share."""
        shown = self.shares(bucket)
        return shown if isinstance(shown, int) else max(shown, key=lambda pair: pair[1])[0]

    def shares(self, bucket: int) -> Shown:
        """What was really shown, with the shares where it was several options."""
        shown = self.value(bucket).shown
        return self.decisions[bucket].arm if shown is None else shown

    def apply(self, event: Event) -> None:
        """Take in the next event of the log."""
        assert event.sequence == (1 if self.newest is None else self.newest.sequence + 1)
        self.newest = event
        self._apply(event)

    def _apply(self, event: Event) -> None:
        if event.kind == "decision":
            self._apply_decision(event)
        elif event.kind == "record":
            assert event.bucket is not None
            self.values.setdefault(event.bucket, Value()).take(event.at, event.body)
        else:
            self._apply_action(event)

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
        body, arm = event.body, event.body.get("option")
        if event.kind == "pause":
            self.paused = event
        elif event.kind == "resume":
            self.paused = None
            if not body.get("pin_goes_on", False):
                self.pin = None
        elif event.kind == "pin":
            self.pin = Pin(body["option"], body["buckets"], body["reason"])
        elif event.kind == "unpin":
            self.pin = None
        elif event.kind == "remove-option":
            self.removed.setdefault(body["option"], (self.last or 0) + 1)
            if self.pin is not None and self.pin.arm == arm:
                self.pin = None
        elif event.kind == "restore-option":
            # From now on the policy is told as if the option had never been away.
            self.removed.pop(body["option"], None)
        elif event.kind == "finish":
            self.finished = event
        elif event.kind == "archive":
            self.archived = event
        elif event.kind == "reopen":
            self.finished = self.archived = self.paused = self.pin = None
        elif event.kind in ("add-option", "rename-option", "change"):
            self.config = config_after(self.config, event)
            if event.kind == "rename-option":
                self._rename(body["option"], body["name"])
        elif event.kind not in ("file form", "import refused"):  # these change nothing here
            raise InvalidInput(
                f"this campaign's log has an action {event.kind!r}, which this latesum does not "
                "know; "
                "use a newer latesum."
            )

    def _rename(self, arm: int, name: str) -> None:
        """Call an option by its new name everywhere; reasons stay as they were written."""
        for bucket, decision in self.decisions.items():
            if decision.arm == arm:
                self.decisions[bucket] = decision._replace(option=name)


class RegionalState(CampaignState):
    """Everything that the log says of a campaign with regions: a state for each of them.

    Its own decisions are those of the first region: all regions are decided together. What is
    paused, pinned or removed is so if it is in all regions.
    """

    def __init__(self, config: CampaignConfig) -> None:
        self._parts = {region: CampaignState(config) for region in config.regions}
        super().__init__(config)
        first = next(iter(self._parts.values()))
        self.decisions, self.values = first.decisions, first.values

    @property
    def parts(self) -> Mapping[str, CampaignState]:
        """What the log says of each region."""
        return self._parts

    def _apply(self, event: Event) -> None:
        if event.kind in ("decision", "record"):
            self._parts[event.region]._apply(event)
            return
        for part in self.parts_of(event.region):
            part._apply_action(event)
        self.actions.append(event)
        parts = list(self._parts.values())
        first = parts[0]
        self.config, self.finished, self.archived = first.config, first.finished, first.archived
        self.paused = first.paused if all(part.paused for part in parts) else None
        self.pin = first.pin if all(part.pin for part in parts) else None
        self.removed = {
            arm: since
            for arm, since in first.removed.items()
            if all(arm in part.removed for part in parts)
        }


def new_state(config: CampaignConfig) -> CampaignState:
    """An empty state, of a campaign with or without regions."""
    return RegionalState(config) if config.regions else CampaignState(config)


def decision_of(event: Event, options: tuple[str, ...]) -> Decision:
    """The decision that an event of the log holds."""
    body = event.body
    assert event.bucket is not None
    return Decision(
        event.bucket,
        body["label"],
        options[body["option"]],
        body["option"],
        body["purpose"],
        body["source"],
        body["rounds"],
        body["reason"],
        event.at,
        event.sequence,
        body["number"],
        event.region,
    )
