"""Campaigns in a list: what each is doing and how it is, and which of them are looked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.health import Finding, unreadable, worst_level
from latesum.campaigns.view import Status
from latesum.campaigns.vocabulary import CampaignStatus, HealthLevel

#: How a campaign is, for a list: its worst finding, where notes are nothing to worry about.
Glance = Literal["alarm", "warning", "healthy"]
GLANCES: tuple[Glance, ...] = get_args(Glance)
_RANK = {glance: rank for rank, glance in enumerate(GLANCES)}


class ShownNow(NamedTuple):
    """An option that is shown now, the number of its colour, and in how many regions."""

    option: str
    arm: int
    regions: int


class CampaignSummary(NamedTuple):
    """One campaign in a list, as of the event `head` of its log."""

    name: str
    state: CampaignStatus
    headline: str
    options: tuple[str, ...]
    policy: str
    every: str
    alarm: str | None
    health: list[Finding]
    #: What is shown now, most first: of regions there may be several.
    shown: tuple[ShownNow, ...]
    regions: int
    winner: str | None
    buckets: int
    #: The newest bucket whose total is known.
    newest: str | None
    head: int

    @property
    def glance(self) -> Glance:
        """How it is, in a word."""
        worst: HealthLevel | None = worst_level(self.health)
        return worst if worst == "alarm" or worst == "warning" else "healthy"

    def to_json(self) -> dict[str, Any]:
        """As the interface for programs has it."""
        named = ("name", "state", "headline", "policy", "every", "alarm")
        return {
            **{name: getattr(self, name) for name in named},
            "options": list(self.options),
            "health": [each._asdict() for each in self.health],
        }


def make_summary(status: Status, config: CampaignConfig, head: int) -> CampaignSummary:
    """What a list shows of a status."""
    known = [row for row in status.timeline if row.state == "known"]
    newest = max(known, key=lambda row: row.bucket).label if known else None
    counted = Counter((each.option, each.arm) for each in status.shown_now)
    return CampaignSummary(
        status.name, status.state, status.headline, config.options, config.policy,
        config.buckets.every, status.alarm, status.health,
        tuple(ShownNow(*which, number) for which, number in counted.most_common()),
        len(status.regions), status.winner, status.n_buckets, newest, head,
    )  # fmt: skip


def unreadable_summary(name: str, head: int, error: Exception) -> CampaignSummary:
    """What a list shows of a campaign that cannot be read."""
    finding = unreadable(error)
    return CampaignSummary(
        name, "unreadable", finding.sentence, (), "", "number", finding.sentence, [finding], (), 0,
        None, 0, None, head,
    )  # fmt: skip


class Wanted(NamedTuple):
    """Which campaigns of a list are looked for.

    Args:
        search: A part of the name or of an option's name, in any case.
        state: As the campaign has it.
        glance: How it is.
    """

    search: str = ""
    state: CampaignStatus | None = None
    glance: Glance | None = None

    def among(self, summaries: Iterable[CampaignSummary]) -> list[CampaignSummary]:
        """Those that are looked for, the worst first and then the newest first."""
        found = [each for each in reversed(list(summaries)) if self._fits(each)]
        return sorted(found, key=lambda each: _RANK[each.glance])

    def _fits(self, each: CampaignSummary) -> bool:
        text = self.search.casefold()
        names = (each.name, *each.options)
        return (
            (not text or any(text in name.casefold() for name in names))
            and self.state in (None, each.state)
            and self.glance in (None, each.glance)
        )


def count_glances(summaries: Iterable[CampaignSummary]) -> dict[Glance, int]:
    """How many campaigns there are of each kind of health."""
    counted = Counter(each.glance for each in summaries)
    return {glance: counted[glance] for glance in GLANCES}
