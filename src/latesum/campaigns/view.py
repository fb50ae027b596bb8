"""The view of a campaign: one tree of plain values from one reading of the log.

JSON is that tree; the terminal and the HTML page render it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal, NamedTuple

from latesum import _render
from latesum._render import TextTable, counted, new_table, plain, rate_text, signed
from latesum.campaigns.actions import describe_event
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.health import Finding, find_health
from latesum.campaigns.knowledge import (
    Knowledge,
    ModelView,
    OptionStatus,
    OptionView,
    compare,
    count_visits,
)
from latesum.campaigns.rows import RecordStatus, shown_text
from latesum.campaigns.state import CampaignState, Decision, Source
from latesum.files.written import ColumnType, TableOut
from latesum.policies.base import Purpose

#: How a campaign is; one that is unreadable is in the store, and cannot be opened here.
CampaignStatus = Literal["not begun", "running", "paused", "pinned", "finished", "unreadable"]
#: How far a bucket's total is: the bucket runs, its total is awaited, known, or missing.
TotalState = Literal["running", "pending", "known", "missing"]
#: The worth of a decision is given for this many days.
WORTH_DAYS = 30
#: The columns of the table of buckets that are named as the fields of `BucketRow`.
_COLUMNS: dict[str, ColumnType] = {
    "shown": "text",
    "decided": "text",
    "purpose": "text",
    "source": "text",
    "rounds": "whole",
    "total": "number",
    "status": "text",
    "state": "text",
    "used_total": "number",
    "share": "number",
    "revisions": "whole",
    "early": "truth",
    "reason": "text",
}


class BucketRow(NamedTuple):
    """One bucket of a region in the timeline."""

    bucket: int
    label: str
    region: str
    #: What was shown most; `shown` has the shares, where it was several options.
    option: str
    arm: int
    shown: str
    decided: str
    purpose: Purpose
    source: Source
    reason: str
    rounds: int | None
    total: float | None
    #: Scaled up where it is not complete; `share` of the final total is reported by now.
    used_total: float | None
    share: float
    state: TotalState
    status: RecordStatus
    revisions: int
    #: Whether it was recorded before the bucket had ended, and not again since.
    early: bool
    #: The standard deviations by which a market model finds it so far off that it counts for less.
    outlier: float | None = None
    #: By a market model, the share of the total that came from each option.
    origins: dict[str, float] | None = None

    @property
    def total_state(self) -> str:
        """The state of the total, for people."""
        return self.state + (", recorded early" if self.early else "")

    @property
    def ordered(self) -> bool:
        """Whether an operator chose it, or something else was shown than decided."""
        return self.source in ("pinned", "paused") or self.decided != self.option


class RegionView(NamedTuple):
    """A region: what it shows, how it is, and how the options do in it."""

    decision: Decision
    state: CampaignStatus
    options: list[OptionView]


class Worth(NamedTuple):
    """What it is worth to show the leading option in place of the status quo, in `days` days."""

    option: str
    value: float
    low: float
    high: float
    days: int


@dataclass(frozen=True)
class Status:
    """A campaign at a glance."""

    name: str
    state: CampaignStatus
    headline: str
    now: datetime
    policy: str = ""
    unit: str = ""
    every: str = "day"
    current: Decision | None = None
    options: list[OptionView] = field(default_factory=list)
    winner: str | None = None
    why_no_winner: str | None = None
    #: What should be known, the worst first.
    health: list[Finding] = field(default_factory=list)
    timeline: list[BucketRow] = field(default_factory=list)
    #: How far the totals are, in a sentence.
    data: str = ""
    #: What was gained over showing all options equally often.
    gain: float | None = None
    #: The last operator actions, in sentences.
    actions: list[str] = field(default_factory=list)
    #: What the method found, and what it does next, in sentences.
    explanation: list[str] = field(default_factory=list)
    #: The confidence level of all intervals.
    level: float = 0.95
    #: The least and the most that a round can bring, and the rounds expected in a bucket.
    range: tuple[float, float] = (0.0, 1.0)
    expected_rounds: int = 0
    #: The option that the others are compared with; `assumed`: what was shown before is not known,
    #: so the first option stands for it.
    status_quo: str = ""
    assumed: bool = False
    worth: Worth | None = None
    #: A campaign without regions has none.
    regions: dict[str, RegionView] = field(default_factory=dict)
    #: Of policies None.
    model: ModelView | None = None

    @property
    def alarm(self) -> str | None:
        """What must be seen to now, and what to do."""
        return next((each.sentence for each in self.health if each.level == "alarm"), None)

    @cached_property
    def newest(self) -> str | None:
        """The newest bucket whose total is known."""
        known = [row for row in self.timeline if row.state == "known"]
        return max(known, key=lambda row: row.bucket).label if known else None

    @property
    def shown_now(self) -> list[Decision]:
        """What is shown now, in every region."""
        if self.regions:
            return [each.decision for each in self.regions.values()]
        return [] if self.current is None else [self.current]

    @cached_property
    def n_buckets(self) -> int:
        """How many buckets were decided; each has a row in the timeline for every region."""
        return len({row.bucket for row in self.timeline})

    def to_json(self) -> dict[str, Any]:
        """As plain values, for other programs."""
        found: dict[str, Any] = plain(self)
        return {**found, "alarm": self.alarm}

    @property
    def gain_sentence(self) -> str:
        """What the campaign has brought, compared with an equal split."""
        gain = self.gain or 0.0
        size = f"{abs(gain):,.0f}"
        compared = "as much as" if size == "0" else f"{size} {'more' if gain > 0 else 'less'} than"
        # The unit is the campaign's own word, of which only one form is known.
        return (
            f"So far, in {self.unit}: about {compared} if all options had been shown equally "
            "often, by the present estimates."
        )

    @property
    def options_table(self) -> TextTable:
        """What is known of each option, for a terminal and a notebook."""
        interval, chance = f"{self.level:.0%} confidence interval", "probability of being best"
        columns = ["option", "shown for", "visitors", f"{self.unit} per visitor", interval]
        columns += [f"uplift on {self.status_quo}", chance, "status"]
        table = new_table(None, columns, texts=["option", interval, chance, "status"])
        for row in self.options:
            low, high = (rate_text(each, self.range) for each in (row.low, row.high))
            table.add_row(
                row.name,
                counted(row.buckets, self.every),
                f"{row.rounds:,}",
                "?" if row.mean is None else rate_text(row.mean, self.range),
                "nothing known yet" if row.mean is None else f"{low} to {high}",
                "" if row.uplift is None else signed(row.uplift, 1),
                "?" if row.probability_best is None else f"{row.probability_best:.0%}",
                row.status,
            )
        return table

    def _repr_html_(self) -> str:
        """As a notebook shows it: what runs now and why, and what is known of each option."""
        warnings = [each.sentence for each in self.health]
        lines = [f"{self.name}: {self.state}", self.headline, *warnings, self.data]
        return _render.sentences(lines) + _render.table(self.options_table)


def unreadable_status(name: str, now: datetime, error: Exception) -> Status:
    """What can be said of a campaign that cannot be opened here, such as one of a policy that is
    not installed.

    >>> unreadable_status("mine", datetime(2026, 3, 1), ValueError("there is no policy 'x'")).alarm
    "This campaign cannot be read here, so nothing is decided for it: there is no policy 'x'."
    """
    said = str(error).rstrip(".") or type(error).__name__
    if not isinstance(error, ValueError):
        said = f"{type(error).__name__}: {said}"
    sentence = f"This campaign cannot be read here, so nothing is decided for it: {said}."
    finding = Finding("unreadable", "alarm", sentence)
    return Status(name, "unreadable", sentence, now, health=[finding])


def make_status(known: Knowledge, now: datetime, free_bytes: int | None) -> Status:
    """The status of a campaign, by what its method knows now.

    `free_bytes` is the space that is left for the store; None if that is not known.
    """
    state, config, names = known.state, known.config, known.config.options
    timeline = _timeline(known, now)
    has_quo = config.status_quo in names
    base = names.index(config.status_quo) if has_quo else 0
    winner, why_not = known.winner()

    def options_in(region: str | None = None) -> list[OptionView]:
        return _options(known, timeline, base, winner, region)

    options = options_in()
    return Status(
        name=config.name,
        state=_standing(state),
        headline=_headline(state, winner),
        now=now,
        policy=config.policy,
        unit=config.unit,
        every=config.buckets.every,
        current=None if state.last is None else state.decisions[state.last],
        options=options,
        winner=winner,
        why_no_winner=why_not,
        health=find_health(state, now, free_bytes),
        timeline=timeline,
        data=_data_sentence(timeline),
        gain=_gain(timeline, options),
        actions=[describe_event(each, config) for each in state.actions[-8:]],
        explanation=known.sentences(),
        range=config.range,
        expected_rounds=config.expected_rounds,
        status_quo=names[base],
        assumed=not has_quo,
        worth=find_worth(options, base, _usual_rounds(config, timeline)),
        regions={
            region: RegionView(part.decisions[part.last], _standing(part), options_in(region))
            for region, part in state.parts.items()
            if region and part.last is not None
        },
        model=known.model,
    )


def _timeline(known: Knowledge, now: datetime) -> list[BucketRow]:
    found, names, rows = known.summary, known.config.options, list[BucketRow]()
    outliers, origins = ({}, {}) if found is None else (found.outliers, found.origins)
    for region, part in known.state.parts.items():
        completeness = Completeness(part, now)
        for bucket, decision in part.decisions.items():
            value, seen = part.value(bucket), completeness.observation(bucket)
            running = seen.state == "pending" and completeness.end(bucket) is None
            place = region, bucket - known.first
            arm = part.shown(bucket)
            rows.append(
                BucketRow(
                    bucket=bucket,
                    label=decision.label,
                    region=region,
                    option=names[arm],
                    arm=arm,
                    shown=shown_text(seen.shown, names),
                    decided=decision.option,
                    purpose=decision.purpose,
                    source=decision.source,
                    reason=decision.reason,
                    rounds=value.rounds,
                    total=value.total,
                    used_total=seen.total,
                    share=seen.share,
                    state="running" if running else seen.state,
                    status=value.status,
                    revisions=value.revisions,
                    early=completeness.early(bucket),
                    outlier=outliers.get(place),
                    origins=origins.get(place),
                )
            )
    return rows


def _options(
    known: Knowledge,
    timeline: list[BucketRow],
    base: int,
    winner: str | None,
    region: str | None,
) -> list[OptionView]:
    """The options over all regions, or in one."""
    state = known.state if region is None else known.state.parts[region]
    visits = [sum(each) for each in zip(*map(count_visits, state.parts.values()), strict=True)]
    ever = {part.shown(b) for part in known.state.parts.values() for b in part.decisions}
    candidates = known.candidates()
    options = []
    for option in compare(known.estimates(region), base, known.chances(region)):
        mine = [row for row in timeline if row.arm == option.arm and region in (None, row.region)]
        status: OptionStatus = "candidate"
        if option.arm in state.removed:
            status = "removed"
        elif option.name == winner:
            status = "winner"
        elif option.name not in candidates:
            status = "behind"
        quo = option.is_status_quo
        if option.arm not in ever and not (quo and known.config.history):
            low, high = known.config.range  # nothing is known of an option that was never shown
            option = OptionView(option.name, option.arm, low=low, high=high, is_status_quo=quo)
        rounds = sum(row.rounds or 0 for row in mine)
        shown = {"buckets": len(mine), "periods": visits[option.arm], "rounds": rounds}
        options.append(option._replace(**shown, status=status))
    return options


def _usual_rounds(config: CampaignConfig, timeline: list[BucketRow]) -> float:
    """The visitors of `WORTH_DAYS` days: as they came, or as expected before any have."""
    seen = Counter[int]()
    for row in timeline:
        seen[row.bucket] += row.rounds or 0
    known = [rounds for rounds in seen.values() if rounds]
    usual = sum(known) / len(known) if known else config.expected_rounds
    return usual * (timedelta(days=WORTH_DAYS) / config.buckets.length)


def find_worth(options: list[OptionView], base: int, rounds: float) -> Worth | None:
    """What the leading option brings beyond the status quo in `rounds`; None if none leads.

    `base` is the index of the status quo.
    """
    quo = options[base]
    rows = [row for row in options if row.mean is not None and row.status != "removed"]
    best = max(rows, key=lambda row: row.mean or 0.0, default=quo)
    if best.mean is None or quo.mean is None or best.mean <= quo.mean:
        return None
    value = best.mean - quo.mean
    less = math.hypot(best.mean - best.low, quo.high - quo.mean)
    more = math.hypot(best.high - best.mean, quo.mean - quo.low)
    value, low, high = (each * rounds for each in (value, value - less, value + more))
    return Worth(best.name, value, low, high, WORTH_DAYS)


def _standing(state: CampaignState) -> CampaignStatus:
    if state.finished is not None:
        return "finished"
    if not state.decisions:
        return "not begun"
    if state.pin is not None:
        return "pinned"
    return "running" if state.paused is None else "paused"


def _headline(state: CampaignState, winner: str | None) -> str:
    config, pin, word = state.config, state.pin, state.config.buckets.every
    if state.finished is not None:
        option = config.options[state.finished.body["option"]]
        return f"The campaign is finished with {option}: {state.finished.body['reason']}"
    if state.last is None:
        return "Nothing has been decided yet."
    current = state.decisions[state.last]
    found = f"The winner is {winner}. " if winner else ""
    if config.regions:
        newest = [part.decisions[part.last] for part in state.parts.values() if part.last]
        shown = ", ".join(f"{each.region} shows {each.option}" for each in newest)
        return f"{found}{current.label}: {shown}."
    # The reason of a policy begins with the option; after a renaming it has the old name.
    shown = current.reason
    if not shown.startswith(f"{current.option} "):
        shown = f"{current.option} is shown. {shown}"
    if pin is not None and not pin.begun:
        span = f"{config.options[pin.arm]} is pinned for {counted(pin.left, word)}"
        shown += f" From the next {word} on {span}: {pin.reason}"
    return f"{found}{current.label}: {shown}"


def _data_sentence(timeline: list[BucketRow]) -> str:
    known = [row for row in timeline if row.state == "known"]
    waiting = [row for row in timeline if row.state == "pending"]
    incomplete = sum(row.total is not None for row in waiting)
    pending = len(waiting) - incomplete
    missing = sum(row.state == "missing" for row in timeline)
    text = "No total is known yet"
    if known:
        newest = max(known, key=lambda row: row.bucket)
        are = "total is" if len(known) == 1 else "totals are"
        text = f"{len(known)} {are} known, the newest that of {newest.label}"
    text += f"; {pending or 'none'} {'are' if pending > 1 else 'is'} awaited"
    if incomplete:
        text += f", {incomplete} {'are' if incomplete > 1 else 'is'} here and not complete yet"
    text += f", {missing} missing." if missing else "."
    if early := sum(row.early for row in known):
        was = "was" if early == 1 else "were"
        text += f" {early} of the known {was} recorded before the bucket had ended, and not since."
    return text


def _gain(timeline: list[BucketRow], options: list[OptionView]) -> float | None:
    """What was gained over showing all options equally often, by the present estimates."""
    means = [each.mean for each in options if each.mean is not None]
    if len(means) < len(options):
        return None
    equal = sum(means) / len(means)
    return sum((row.rounds or 0) * (means[row.arm] - equal) for row in timeline)


def bucket_table(status: Status) -> TableOut:
    """Every bucket, for other tools; it can be imported again, and says the same."""
    columns = dict(_COLUMNS)
    if status.regions:
        columns["region"] = "text"
    return TableOut(
        {"bucket": "text", "number": "whole", **columns},
        [
            (row.label, row.bucket, *(getattr(row, name) for name in columns))
            for row in status.timeline
        ],
    )
