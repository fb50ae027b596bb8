"""The view of a campaign: one tree of plain values from one reading of the log.

JSON is that tree; the terminal and the HTML page render it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from latesum import _render
from latesum._render import counted, finite, new_table
from latesum.campaigns.before import shown_text
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.describing import action_sentence
from latesum.campaigns.health import Finding, count_visits, find_health, without_doubts
from latesum.campaigns.own_delay import OwnDelay, find_own_delay
from latesum.campaigns.state import CampaignState, Decision
from latesum.campaigns.vocabulary import (
    CampaignStatus,
    OptionStatus,
    Purpose,
    RecordStatus,
    Source,
    TotalState,
)
from latesum.policies import Estimate
from latesum.policies.estimates import may_be_best

if TYPE_CHECKING:
    from latesum.campaigns.campaign import Campaign
    from latesum.campaigns.market_view import MarketView
    from latesum.markets import Winner

#: The worth of a decision is told for this many days.
WORTH_DAYS = 30
#: Below this probability of being best an option of a market is behind.
MIN_CANDIDATE = 0.05
_POINTS = 2001


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


class OptionView(NamedTuple):
    """An option: how often it was shown, its estimate, and how it compares with the status quo.

    Args:
        name: Its name.
        arm: Its number.
        buckets: The buckets in which it was shown.
        periods: The runs of buckets without a break in which it was shown.
        rounds: The visitors it was shown to.
        mean: What a visitor brings, in the campaign's unit; None while unknown.
        low: The lower end of the confidence interval of the mean.
        high: Its upper end.
        status: How it stands beside the others.
        probability_best: The probability of being best; None while unknown.
        uplift: The relative difference of its mean from the status quo's; None for the status quo
            itself and where one of them is not known, or is not above 0.
        uplift_low: The lower end of the confidence interval of the uplift.
        uplift_high: Its upper end.
        is_status_quo: Whether the others are compared with it.
    """

    name: str
    arm: int
    buckets: int
    periods: int
    rounds: int
    mean: float | None
    low: float
    high: float
    status: OptionStatus
    probability_best: float | None = None
    uplift: float | None = None
    uplift_low: float | None = None
    uplift_high: float | None = None
    is_status_quo: bool = False


class Worth(NamedTuple):
    """What it is worth to show the leading option in place of the status quo, in `days` days."""

    option: str
    value: float
    low: float
    high: float
    days: int


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
    options: list[OptionView]
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
    #: The least and the most that a round can bring, and the rounds expected in a bucket.
    range: tuple[float, float]
    expected_rounds: int
    #: The option that the others are compared with; `assumed`: what was shown before is not known, so the
    #: first option stands for it.
    status_quo: str
    assumed: bool
    worth: Worth | None
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
                **each._asdict(),
                "at": each.at.isoformat(),
                "state": self.region_states[region].state,
                "removed": list(self.region_states[region].removed),
            }
            for region, each in self.regions.items()
        }
        whole["market"] = None if self.market is None else self.market.to_json()
        whole["worth"] = None if self.worth is None else self.worth._asdict()
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
        table = new_table(
            None,
            [
                "option",
                "status",
                f"{self.unit} per visitor",
                f"{self.level:.0%} interval",
                "visitors",
            ],
        )
        for row in self.options:
            known = row.mean is not None
            table.add_row(
                row.name,
                row.status,
                f"{row.mean:.4g}" if known else "?",
                f"{row.low:.3g} to {row.high:.3g}" if known else "",
                f"{row.rounds:,}",
            )
        table.caption = self.data
        lines = [f"{self.name}: {self.state}", self.headline, *self.warnings]
        return _render.sentences(lines) + _render.table(table)


def make_status(campaign: Campaign, level: float) -> Status:
    """The status of a campaign as its clock has it now."""
    now, state = campaign.clock(), campaign.state()
    config = state.config
    timeline = []
    for region, part in state.parts.items():
        completeness = Completeness(part, now)
        timeline += [
            _bucket_row(config, part, completeness, bucket)._replace(region=region)
            for bucket in part.decisions
        ]
    market = campaign.market() if config.is_market else None
    visits = [sum(each) for each in zip(*map(count_visits, state.parts.values()), strict=True)]
    estimates, leading = campaign.estimates(level), campaign.leading()
    winner, why_not = find_winner(campaign, level, market)
    explanation = campaign.explain_policy() if market is None else market.sentences(level)
    names = config.options
    known = config.status_quo in names
    base = names.index(config.status_quo) if known else 0
    options = [
        _option_row(each, timeline, visits, state, estimates[leading], winner) for each in estimates
    ]
    if market is None:
        options = compare(options, base, level)
    else:
        options = _compare_in_market(options, base, market, level)
    current = None if state.last is None else state.decisions[state.last]
    health = find_health(state, now, campaign.store.free_bytes())
    if winner is not None:
        health = without_doubts(health)
    return Status(
        name=config.name,
        state=_standing(state),
        headline=_headline(config, state, current, winner),
        regions={
            region: part.decisions[part.last]
            for region, part in state.parts.items()
            if region and part.last is not None
        },
        region_states={
            region: RegionState(
                _standing(part), tuple(config.options[arm] for arm in sorted(part.removed))
            )
            for region, part in state.parts.items()
            if region
        },
        market=market,
        now=now,
        unit=config.unit,
        every=config.buckets.every,
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
        acts=[action_sentence(each, config) for each in state.actions[-8:]],
        explanation=explanation,
        level=level,
        range=config.range,
        expected_rounds=config.expected_rounds,
        status_quo=names[base],
        assumed=not known,
        worth=find_worth(
            options, base, _rounds_of_worth(config, timeline, real=market is not None), level
        ),
    )


def _bucket_row(
    config: CampaignConfig, state: CampaignState, completeness: Completeness, bucket: int
) -> BucketRow:
    decision, value, known = (
        state.decisions[bucket],
        state.value(bucket),
        completeness.known(bucket),
    )
    total_state: TotalState = known.state
    if total_state == "pending" and completeness.end(bucket) is None:
        total_state = "running"
    arm = state.shown(bucket)
    return BucketRow(
        bucket,
        decision.label,
        config.options[arm],
        arm,
        decision.option,
        decision.purpose,
        decision.source,
        value.rounds,
        value.total,
        known.total,
        known.share,
        total_state,
        value.status,
        value.revisions,
        len(value.late),
        decision.reason,
        completeness.early(bucket),
        shown=shown_text(state.shares(bucket), config.options),
    )


def _option_row(
    estimate: Estimate,
    timeline: list[BucketRow],
    visits: list[int],
    state: CampaignState,
    leading: Estimate,
    winner: str | None,
) -> OptionView:
    mine = [row for row in timeline if row.arm == estimate.arm]
    status: OptionStatus = "candidate"
    if estimate.arm in state.removed:
        status = "removed"
    elif estimate.name == winner:
        status = "winner"
    elif estimate.name != leading.name and not may_be_best(estimate, leading):
        status = "behind"
    return OptionView(
        estimate.name,
        estimate.arm,
        len(mine),
        visits[estimate.arm],
        sum(row.rounds or 0 for row in mine),
        estimate.mean,
        estimate.low,
        estimate.high,
        status,
    )


def compare(options: list[OptionView], base: int, level: float) -> list[OptionView]:
    """The options compared with the status quo, by a normal approximation of the estimates.

    Args:
        options: The options with their estimates.
        base: The index of the status quo.
        level: The confidence level of the intervals.
    """
    chances = _probabilities(options, level)
    found = []
    for index, (row, chance) in enumerate(zip(options, chances, strict=True)):
        uplift = (None, None, None) if index == base else _uplift(row, options[base], level)
        found.append(
            row._replace(
                probability_best=chance,
                uplift=uplift[0],
                uplift_low=uplift[1],
                uplift_high=uplift[2],
                is_status_quo=index == base,
            )
        )
    return found


def _compare_in_market(
    options: list[OptionView], base: int, market: MarketView, level: float
) -> list[OptionView]:
    """The same by the model of `switchback`: its own effects, intervals and probabilities."""
    found = []
    for index, row in enumerate(options):
        effect = market.effect(row.name)
        if row.mean is not None:
            row = row._replace(probability_best=effect.chance)
            # A winner does not wait for an unlikely option to be seen again.
            unlikely = effect.chance < MIN_CANDIDATE and row.name not in market.winner.waits_for
            if row.status == "candidate" and unlikely:
                row = row._replace(status="behind")
            if index != base:
                low, high = market.interval(effect, level)
                row = row._replace(uplift=effect.effect, uplift_low=low, uplift_high=high)
        found.append(row._replace(is_status_quo=index == base))
    return found


def _deviation(row: OptionView, level: float) -> float:
    return float((row.high - row.low) / (2 * ndtri((1 + level) / 2)))


def _probabilities(rows: list[OptionView], level: float) -> list[float | None]:
    """The probability of being best of each option; None unless something is known of all."""
    racing = [row for row in rows if row.status != "removed"]
    if any(row.mean is None for row in racing):
        return [None] * len(rows)
    means = np.array([row.mean for row in racing], dtype=float)
    widths = np.array([max(_deviation(row, level), 1e-12) for row in racing])
    low, high = float(np.min(means - 8 * widths)), float(np.max(means + 8 * widths))
    # Each option's own grid is where its density is; a common one would miss narrow ones.
    found = {}
    for index, row in enumerate(racing):
        grid = np.linspace(-8, 8, _POINTS)
        points = np.clip(means[index] + widths[index] * grid, low, high)
        others = np.delete(np.arange(len(racing)), index)
        below = np.prod(ndtr((points[:, None] - means[others]) / widths[others]), axis=1)
        density = np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi)
        found[row.arm] = float(np.trapezoid(below * density, grid))
    total = sum(found.values())
    return [found[row.arm] / total if row.arm in found else 0.0 for row in rows]


def _uplift(
    row: OptionView, base: OptionView, level: float
) -> tuple[float | None, float | None, float | None]:
    if row.mean is None or base.mean is None or base.mean <= 0:
        return None, None, None
    ratio = row.mean / base.mean
    spread = math.hypot(_deviation(row, level), ratio * _deviation(base, level)) / base.mean
    half = float(ndtri((1 + level) / 2)) * spread
    return ratio - 1, ratio - 1 - half, ratio - 1 + half


def _rounds_of_worth(
    config: CampaignConfig, timeline: list[BucketRow], *, real: bool
) -> float | None:
    """The visitors of `WORTH_DAYS` days, as expected or as they really came; None without dates."""
    length = config.buckets.length
    if length is None:
        return None
    usual: float = config.expected_rounds
    if real:
        seen: dict[int, int] = {}
        for row in timeline:
            if row.rounds:
                seen[row.bucket] = seen.get(row.bucket, 0) + row.rounds
        usual = sum(seen.values()) / len(seen) if seen else usual * max(len(config.regions), 1)
    return usual * (timedelta(days=WORTH_DAYS) / length)


def find_worth(
    options: list[OptionView], base: int, rounds: float | None, level: float
) -> Worth | None:
    """What the leading option brings beyond the status quo; None if nothing leads.

    Args:
        options: The options, compared.
        base: The index of the status quo.
        rounds: The visitors of the time that the worth is for; None if that is not known.
        level: The confidence level of the interval.
    """
    quo = options[base]
    rows = [row for row in options if row.mean is not None and row.status != "removed"]
    if rounds is None or quo.mean is None or not rows:
        return None
    best = max(rows, key=lambda row: row.mean or 0.0)
    if best is quo or best.mean is None or best.mean <= quo.mean:
        return None
    value = (best.mean - quo.mean) * rounds
    if quo.low == quo.high and best.uplift_low is not None and best.uplift_high is not None:
        # The status quo is the reference of a market's effects: all of the uncertainty is theirs.
        whole = quo.mean * rounds
        return Worth(
            best.name, value, best.uplift_low * whole, best.uplift_high * whole, WORTH_DAYS
        )
    half = float(ndtri((1 + level) / 2)) * math.hypot(
        _deviation(best, level), _deviation(quo, level)
    )
    return Worth(best.name, value, value - half * rounds, value + half * rounds, WORTH_DAYS)


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
    if state.config.is_market:
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
            f"{best.name} looks best, but no winner is named before every candidate was "
            f"shown in two periods; {_list(seldom)} {'was' if len(seldom) == 1 else 'were'} not."
        )
    return best.name, None


def _market_winner(found: Winner) -> tuple[str | None, str | None]:
    if found.option is not None:
        return found.option, None
    if found.waits_for:
        return None, (
            "No winner is named before every candidate was shown in two periods; "
            f"{_list(list(found.waits_for))} {'was' if len(found.waits_for) == 1 else 'were'} not."
        )
    return None, (
        f"No winner yet: the probability that the leading option is as good as any is "
        f"{found.chance:.0%}; it takes 95%."
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
    config: CampaignConfig,
    state: CampaignState,
    current: Decision | None,
    winner: str | None,
) -> str:
    if state.finished is not None:
        option = config.options[state.finished.body["option"]]
        return f"The campaign is finished with {option}: {state.finished.body['reason']}"
    if current is None:
        return "Nothing has been decided yet."
    found = f"The winner is {winner}. " if winner else ""
    if config.regions:
        regions = [
            f"{region} shows {part.decisions[part.last].option}"
            for region, part in state.parts.items()
            if part.last is not None
        ]
        return f"{found}{current.label}: {', '.join(regions)}."
    label = current.label if config.buckets.timed else f"Bucket {current.label}"
    # The reason of a policy begins with the option; after a renaming it has the old name.
    shown = current.reason
    if not shown.startswith(f"{current.option} "):
        shown = f"{current.option} is shown. {shown}"
    if state.pin is not None and not state.pin.begun:
        word = config.buckets.every if config.buckets.timed else "bucket"
        pinned, span = config.options[state.pin.arm], counted(state.pin.left, word)
        shown += f" From the next {word} on {pinned} is pinned for {span}: {state.pin.reason}"
    return f"{found}{label}: {shown}"


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


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
