"""What a page about a campaign shows, in figures and in sentences."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from latesum import _render
from latesum._render import counted, finite, new_table
from latesum.campaigns.actions import ACTIONS
from latesum.campaigns.before import shown_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.events import Event
from latesum.campaigns.health import Finding, count_visits, find_health, without_doubts
from latesum.campaigns.own_delay import OwnDelay, find_own_delay
from latesum.campaigns.state import CampaignState, Decision
from latesum.campaigns.vocabulary import (
    CampaignStatus,
    Place,
    Purpose,
    RecordStatus,
    Source,
    TotalState,
)
from latesum.files import FileForm
from latesum.policies import Estimate
from latesum.policies.winner import may_be_best

if TYPE_CHECKING:
    from latesum.campaigns.campaign import Campaign
    from latesum.campaigns.market_view import MarketView
    from latesum.markets import Winner


class BucketRow(NamedTuple):
    """One bucket in the timeline.

    `early`: its total was recorded before the bucket had ended, and not again since.
    """

    bucket: int
    label: str
    option: str
    arm: int
    decided: str
    purpose: Purpose
    source: Source
    rounds: int | None
    total: float | None
    used_total: float | None
    share: float
    state: TotalState
    status: RecordStatus
    revisions: int
    too_late: int
    reason: str
    early: bool
    region: str = ""
    #: What was shown with its shares, where it was several options; otherwise the option.
    shown: str = ""

    @property
    def total_state(self) -> str:
        """The state of the total, for people."""
        return self.state + (", recorded early" if self.early else "")


class OptionRow(NamedTuple):
    """What is known of one option; `visits` counts the periods in which it was shown."""

    name: str
    arm: int
    buckets: int
    visits: int
    rounds: int
    mean: float | None
    low: float
    high: float
    place: Place


class RegionState(NamedTuple):
    """How a region is: its state, and the options that were removed in it."""

    state: CampaignStatus
    removed: tuple[str, ...]


@dataclass(frozen=True)
class Status:
    """A campaign at a glance."""

    name: str
    state: CampaignStatus
    headline: str
    now: datetime
    unit: str
    every: str
    current: Decision | None
    options: list[OptionRow]
    winner: str | None
    why_no_winner: str | None
    #: What must be seen to now, and what to do; it is also the first of the warnings.
    alarm: str | None
    #: The sentences of all findings, the worst first.
    warnings: list[str]
    health: list[Finding]
    timeline: list[BucketRow]
    data: str
    #: What the campaign's own data show of the delay, beside what it was told.
    own_delay: OwnDelay | None
    gain: float | None
    acts: list[str]
    explanation: list[str]
    level: float
    #: The least and the most that a round can bring, the rounds expected in a bucket, and what was shown
    #: before the start.
    range: tuple[float, float]
    expected_rounds: int
    status_quo: str
    #: The regions, and what was decided last in each; a campaign without regions has none.
    regions: dict[str, Decision] = field(default_factory=dict)
    #: How each region is: people may pause, pin or remove options in one of them.
    region_states: dict[str, RegionState] = field(default_factory=dict)
    #: What the model of `switchback` finds; of other policies None.
    market: MarketView | None = None

    @property
    def n_buckets(self) -> int:
        """How many buckets were decided; each has a row in the timeline for every region."""
        return len({row.bucket for row in self.timeline}) if self.regions else len(self.timeline)

    def to_json(self) -> dict[str, Any]:
        """As plain values, for other programs."""
        whole = asdict(replace(self, market=None, regions={}, region_states={}))
        del whole["region_states"]
        whole["regions"] = {
            region: {
                **each._asdict(), "at": each.at.isoformat(),
                "state": self.region_states[region].state,
                "removed": list(self.region_states[region].removed),
            }
            for region, each in self.regions.items()
        }  # fmt: skip
        whole["market"] = None if self.market is None else self.market.to_json()
        whole["now"] = self.now.isoformat()
        whole["own_delay"] = None if self.own_delay is None else finite(self.own_delay._asdict())
        whole["health"] = [each._asdict() for each in self.health]
        whole["options"] = [row._asdict() for row in self.options]
        whole["timeline"] = [row._asdict() for row in self.timeline]
        if self.current is not None:
            whole["current"] = {**self.current._asdict(), "at": self.current.at.isoformat()}
        return whole

    def _repr_html_(self) -> str:
        """As a notebook shows it: what runs now and why, and what is known of each option."""
        table = new_table(None, ["option", "place", f"{self.unit} per round", "limits", "rounds"])
        for row in self.options:
            known = row.mean is not None
            table.add_row(
                row.name, row.place, f"{row.mean:.4g}" if known else "?",
                f"{row.low:.3g} to {row.high:.3g}" if known else "", f"{row.rounds:,}",
            )  # fmt: skip
        table.caption = self.data
        lines = [f"{self.name}: {self.state}", self.headline, *self.warnings]
        return _render.sentences(lines) + _render.table(table)


def make_status(campaign: Campaign, level: float) -> Status:
    """The status of a campaign as its clock has it now."""
    now, state = campaign.clock(), campaign.state()
    settings = state.settings
    timeline = []
    for region, part in state.parts.items():
        completeness = Completeness(part, now)
        timeline += [
            _bucket_row(settings, part, completeness, bucket)._replace(region=region)
            for bucket in part.decisions
        ]
    market = campaign.market() if settings.is_market else None
    visits = [sum(each) for each in zip(*map(count_visits, state.parts.values()), strict=True)]
    estimates, leading = campaign.estimates(level), campaign.leading()
    winner, why_not = find_winner(campaign, level, market)
    explanation = campaign.explain_policy() if market is None else market.sentences()
    options = [
        _option_row(each, timeline, visits, state, estimates[leading], winner) for each in estimates
    ]
    current = None if state.last is None else state.decisions[state.last]
    health = find_health(state, now, campaign.store.free_bytes())
    if winner is not None:
        health = without_doubts(health)
    return Status(
        name=settings.name,
        state=_standing(state),
        headline=_headline(settings, state, current, winner),
        regions={
            region: part.decisions[part.last]
            for region, part in state.parts.items()
            if region and part.last is not None
        },
        region_states={
            region: RegionState(
                _standing(part), tuple(settings.options[arm] for arm in sorted(part.removed))
            )
            for region, part in state.parts.items()
            if region
        },
        market=market,
        now=now,
        unit=settings.unit,
        every=settings.buckets.every,
        current=current,
        options=options,
        winner=winner,
        why_no_winner=why_not,
        alarm=next((each.sentence for each in health if each.level == "alarm"), None),
        warnings=[each.sentence for each in health],
        health=health,
        timeline=timeline,
        data=_data_sentence(timeline),
        own_delay=find_own_delay(state, now),
        gain=_gain(timeline, estimates),
        acts=[action_sentence(each, settings) for each in state.actions[-8:]],
        explanation=explanation,
        level=level,
        range=settings.range,
        expected_rounds=settings.expected_rounds,
        status_quo=settings.status_quo,
    )


def _bucket_row(
    settings: CampaignConfig, state: CampaignState, completeness: Completeness, bucket: int
) -> BucketRow:
    decision, value, known = (
        state.decisions[bucket], state.value(bucket), completeness.known(bucket),
    )  # fmt: skip
    total_state: TotalState = known.state
    if total_state == "pending" and completeness.end(bucket) is None:
        total_state = "running"
    arm = state.shown(bucket)
    return BucketRow(
        bucket, decision.label, settings.options[arm], arm, decision.option, decision.purpose,
        decision.source, value.rounds, value.total, known.total, known.share, total_state, value.status,
        value.revisions, len(value.late), decision.reason, completeness.early(bucket),
        shown=shown_text(state.shares(bucket), settings.options),
    )  # fmt: skip


def _option_row(
    estimate: Estimate,
    timeline: list[BucketRow],
    visits: list[int],
    state: CampaignState,
    leading: Estimate,
    winner: str | None,
) -> OptionRow:
    mine = [row for row in timeline if row.arm == estimate.arm]
    if estimate.arm in state.removed:
        place: Place = "removed"
    elif estimate.name == winner:
        place = "winner"
    elif estimate.name != leading.name and not may_be_best(estimate, leading):
        place = "behind"
    else:
        place = "in the race"
    return OptionRow(
        estimate.name, estimate.arm, len(mine), visits[estimate.arm],
        sum(row.rounds or 0 for row in mine), estimate.mean, estimate.low, estimate.high, place,
    )  # fmt: skip


def find_winner(
    campaign: Campaign, level: float = 0.95, market: MarketView | None = None
) -> tuple[str | None, str | None]:
    """The option that can be kept, or None with why none is named yet.

    Args:
        campaign: The campaign.
        level: The confidence level of the intervals that are compared.
        market: What the model of `switchback` finds, where that is known already.
    """
    state = campaign.state()
    if state.settings.is_market:
        from latesum.campaigns.market_view import market_winner

        return _market_winner(market.winner if market else market_winner(state, campaign.clock()))
    estimates, leading = campaign.estimates(level), campaign.leading()
    visits, best = count_visits(state), estimates[leading]
    surviving = [
        each
        for each in estimates
        if each.arm == leading or (each.arm not in state.removed and may_be_best(each, best))
    ]
    commits = campaign.policy().ask().purpose == "commit"
    if best.mean is None or not (commits or len(surviving) == 1):
        return None, "No winner yet: the options are still too close, or too little is known."
    seldom = [each.name for each in surviving if visits[each.arm] < 2]
    if seldom:
        return None, (
            f"{best.name} looks best, but no winner is named before every option in the race was "
            f"shown in two periods; {_list(seldom)} {'was' if len(seldom) == 1 else 'were'} not."
        )
    return best.name, None


def _market_winner(found: Winner) -> tuple[str | None, str | None]:
    if found.option is not None:
        return found.option, None
    if found.waits_for:
        return None, (
            "No winner is named before every option in the race was shown in two periods; "
            f"{_list(list(found.waits_for))} {'was' if len(found.waits_for) == 1 else 'were'} not."
        )
    return None, (
        f"No winner yet: the best option is as good as any with a chance of {found.chance:.0%}; it "
        "takes 95%."
    )


def _standing(state: CampaignState) -> CampaignStatus:
    if state.archived is not None:
        return "archived"
    if state.finished is not None:
        return "finished"
    if not state.decisions:
        return "not begun"
    if state.pin is not None:
        return "pinned"
    return "running" if state.paused is None else "paused"


def _headline(
    settings: CampaignConfig,
    state: CampaignState,
    current: Decision | None,
    winner: str | None,
) -> str:
    if state.finished is not None:
        option = settings.options[state.finished.body["option"]]
        return f"The campaign is finished with {option}: {state.finished.body['reason']}"
    if current is None:
        return "Nothing has been decided yet."
    found = f"The winner is {winner}. " if winner else ""
    if settings.regions:
        shown = [
            f"{region} shows {part.decisions[part.last].option}"
            for region, part in state.parts.items()
            if part.last is not None
        ]
        return f"{found}{current.label}: {', '.join(shown)}."
    label = current.label if settings.buckets.timed else f"Bucket {current.label}"
    # The reason of a policy begins with the option; after a renaming it has the old name.
    if current.reason.startswith(f"{current.option} "):
        return f"{found}{label}: {current.reason}"
    return f"{found}{label}: {current.option} is shown. {current.reason}"


def _data_sentence(timeline: list[BucketRow]) -> str:
    known = [row for row in timeline if row.state == "known"]
    pending = sum(row.state == "pending" and row.total is None for row in timeline)
    incomplete = sum(row.state == "pending" and row.total is not None for row in timeline)
    missing = sum(row.state == "missing" for row in timeline)
    if not known:
        text = "No total is known yet"
    else:
        newest = max(known, key=lambda row: row.bucket)
        are = "total is" if len(known) == 1 else "totals are"
        text = f"{len(known)} {are} known, the newest that of {newest.label}"
    text += f"; {pending or 'none'} {'are' if pending > 1 else 'is'} awaited"
    if incomplete:
        text += f", {incomplete} {'are' if incomplete > 1 else 'is'} here and not complete yet"
    text += f", {missing} missing." if missing else "."
    early = sum(row.early for row in known)
    if early:
        was = "was" if early == 1 else "were"
        text += f" {early} of the known {was} recorded before the bucket had ended, and not since."
    return text


def _gain(timeline: list[BucketRow], estimates: list[Estimate]) -> float | None:
    """What was gained over showing all options equally often, by the present estimates."""
    if any(each.mean is None for each in estimates):
        return None
    means = [each.mean or 0.0 for each in estimates]
    equal = sum(means) / len(means)
    return sum((row.rounds or 0) * (means[row.arm] - equal) for row in timeline)


def action_sentence(event: Event, settings: CampaignConfig) -> str:
    """What an operator did, for people."""
    where = f" in {event.region}" if event.region else ""
    done = f"{event.body['user']} {_past_tense(event, settings)}{where}"
    return f"{event.at:%Y-%m-%d %H:%M} UTC: {done}: {event.body['reason']}"


def _past_tense(event: Event, settings: CampaignConfig) -> str:
    body = event.body
    if event.kind == "import refused":
        return "sent a file that was refused"
    if event.kind == "file form":
        return f"set how files are read ({FileForm.from_json(body.get('form', {}))})"
    named = "name" in body or "option" not in body
    goes_on = " (the pin went on)" if body.get("pin_goes_on") else ""
    past_tense = ACTIONS[event.kind].past_tense + goes_on
    return past_tense.format(
        option=body.get("name", "") if named else settings.options[body["option"]],
        before=body.get("before"),
        buckets=counted(body.get("buckets", 1), "bucket"),
        changes=_changes_text(body["changes"], body["before"]) if event.kind == "change" else "",
    )


def _changes_text(changes: dict[str, Any], before: dict[str, Any]) -> str:
    """What was changed, from what to what; of the parameters only those that differ."""
    said = []
    for name, value in changes.items():
        if name == "parameters":
            for key in {**before[name], **value}:
                old, new = before[name].get(key), value.get(key)
                if old != new:
                    said.append(f"{key} from {_value_text(old)} to {_value_text(new)}")
        else:
            said.append(f"{name} from {_value_text(before[name])} to {_value_text(value)}")
    return ", ".join(said)


def _value_text(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return "none" if value is None else str(value)


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
