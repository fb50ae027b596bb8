"""The delay that a campaign's own data show, beside the one that it was told.

There are two sources. Where totals are dated by arrival, each switch shows how long the rewards of what was shown before go
on coming: the rows of Unmix are explained with one mean delay after the other, and the likelihood says which fit, with an
interval. Where totals are dated by decision and restated, the reports are a reporting triangle, and its fit says how
totals fill up.
"""

from __future__ import annotations

import functools
import itertools
import math
from datetime import datetime
from typing import Literal, NamedTuple

from latesum._checks import InvalidInput
from latesum._sentences import counted
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.deciding import told_plays
from latesum.campaigns.learning import bucket_word
from latesum.campaigns.ledger import Ledger
from latesum.policies import Play
from latesum.policies.unmix.curve import told_mean
from latesum.policies.unmix.rows import PartRows

#: Fewer switches, known parts or rewards than these show nothing of a delay.
_FEWEST_SWITCHES = 3
_FEWEST_PARTS = 8
_FEWEST_REWARDS = 100.0
#: The mean delays that are tried, in told ones, from the first to the last, and their ratio.
_SMALLEST, _LARGEST = 1 / 16, 16.0
_RATIO = 2**0.5
#: Of the last parts only: what a delay was long ago says little about now, and takes time to look at.
_MOST_PARTS = 120
#: How well the mean is known within each step of that grid.
_UNCERTAINTY = 0.1
_STEPS = 4
#: How much blocks of one arm may differ, as Unmix takes it.
_DIFFERENCE = 0.05
#: Twice the fall of the logarithm of the likelihood that a 95% interval allows: chi-square of one.
_ALLOWED = 3.84
#: Reports of fewer buckets are no triangle.
_FEWEST_BUCKETS = 5
_LEVEL = 0.95
#: A told delay is off if it is outside the limits by this factor: less makes no difference.
_MATTERS = 1.25


class OwnDelay(NamedTuple):
    """How late rewards come by the campaign's own data, in buckets.

    Args:
        source: "switches": by what came in after them. "restatements": by how totals grew.
        mean: The mean delay.
        low: The lower limit of the mean, at 95%.
        high: The upper limit; infinite if the data do not exclude any.
        told: The mean delay that the campaign was told; None if none was.
        off: Whether the told one is clearly outside the limits.
        sentence: All of this in a sentence.
    """

    source: Literal["switches", "restatements"]
    mean: float
    low: float
    high: float
    told: float | None
    off: bool
    sentence: str


def find_own_delay(ledger: Ledger, now: datetime) -> OwnDelay | None:
    """The delay that a campaign's own data show; None while they show none, and once it is finished.

    Campaigns in several regions have a model of their own, which learns each region's delay.

    Args:
        ledger: What its log adds up to.
        now: The time.
    """
    if ledger.settings.is_market or ledger.finished is not None or ledger.archived is not None:
        return None
    if ledger.settings.time_basis == "arrival":
        return _from_switches(ledger, now)
    return _from_restatements(ledger)


def _from_switches(ledger: Ledger, now: datetime) -> OwnDelay | None:
    settings = ledger.settings
    told = settings.parameters.get("mean_delay")
    if not isinstance(told, int | float) or told <= 0:
        return None
    plays = [each for each in told_plays(ledger, now) if isinstance(each, Play)]
    parts = tuple((play.arm, play.rounds, play.total) for play in plays[-_MOST_PARTS:])
    ran_before = settings.status_quo != "none" or len(plays) > _MOST_PARTS
    found = _likely_means(parts, settings.n_options, ran_before, float(told))
    if found is None:
        return None
    per_bucket = settings.expected_rounds
    mean, low, high = (each / per_bucket for each in found)
    return _said("switches", mean, low, high, told / per_bucket, settings)


@functools.lru_cache(maxsize=128)
def _likely_means(
    parts: tuple[tuple[int, int, float | None], ...], n_arms: int, ran_before: bool, told: float
) -> tuple[float, float, float] | None:
    """The likeliest mean delay in rounds, and between which it may be; None if nothing is seen."""
    known = [total for _, _, total in parts if total is not None]
    arms = [arm for arm, _, _ in parts]
    switches = sum(after != before for before, after in itertools.pairwise(arms))
    if (
        switches < _FEWEST_SWITCHES
        or len(known) < _FEWEST_PARTS
        or math.fsum(known) < _FEWEST_REWARDS
    ):
        return None
    unknowns = n_arms + ran_before
    rows = PartRows(unknowns, told_mean(told, _UNCERTAINTY, unknowns), _DIFFERENCE)
    if ran_before:
        rows.ran_before(n_arms)
    for arm, rounds, total in parts:
        rows.add(arm, rounds, total, _LARGEST * told)
    tried: list[tuple[float, PartRows]] = []
    factor = _SMALLEST
    while factor <= _LARGEST * 1.001:
        mean = told * factor
        tried.append((mean, rows.under(told_mean(mean, _UNCERTAINTY, unknowns), _STEPS)))
        factor *= _RATIO
    _, best = min(tried, key=lambda each: each[1].objective)
    allowed = best.objective + _ALLOWED * max(best.misfit, 1.0)
    likely = [mean for mean, under in tried if under.objective <= allowed]
    # Between two means of the grid the likelihood is not looked at: half a step more on both sides.
    low, high = min(likely) / _RATIO**0.5, max(likely) * _RATIO**0.5
    if min(likely) == tried[0][0]:
        low = 0.0
    if max(likely) == tried[-1][0]:
        high = math.inf
    if low == 0.0 and math.isinf(high):
        return None
    learned = float((best.theta * best.curve.bin_means).sum() / best.theta.sum())
    return min(max(learned, low), high), low, high


def _from_restatements(ledger: Ledger) -> OwnDelay | None:
    from latesum import delays

    settings = ledger.settings
    if not settings.buckets.timed:
        return None
    known = _triangle(ledger)
    if len({bucket for bucket, _ in known}) < _FEWEST_BUCKETS:
        return None
    buckets, as_of = zip(*known, strict=True)
    source = {"bucket": buckets, "as_of": as_of, "total": list(known.values())}
    try:
        mean, low, high = delays.fit(source, kind="triangle", level=_LEVEL).mean
    except InvalidInput:  # too few restatements, or a tail that they do not show
        return None
    return _said("restatements", mean, low, high, _told_by_curve(settings), settings)


def _triangle(ledger: Ledger) -> dict[tuple[int, int], float]:
    """What was known of each bucket at the end of later ones: (bucket, as of) and the total.

    A total that is heard again unchanged is mostly not kept. So it is carried on over all days on which something was
    reported, up to the age at which totals were last seen to change: a file has the last days, not single ones.
    """
    buckets = ledger.settings.buckets
    reported: dict[int, dict[int, float]] = {}
    for bucket, value in ledger.values.items():
        for report in value.reports:
            # What is read in a bucket is what was known at the end of the one before.
            as_of = buckets.number(report.at) - 1
            if as_of >= bucket:
                reported.setdefault(bucket, {})[as_of] = report.total
    looks = sorted({as_of for row in reported.values() for as_of in row})
    oldest = max((as_of - bucket for bucket, row in reported.items() for as_of in row), default=0)
    known: dict[tuple[int, int], float] = {}
    for bucket, row in reported.items():
        total: float | None = None
        for as_of in looks:
            total = row.get(as_of, total)
            if total is not None and as_of <= bucket + oldest:
                known[bucket, as_of] = total
    return known


def _told_by_curve(settings: CampaignConfig) -> float | None:
    """The mean delay in buckets of a curve by which totals are said to fill up."""
    curve, length = settings.curve, settings.buckets.length
    if curve is None or length is None:
        return None
    ages = [0.0, *(age / length for age, _ in curve)]
    left = [1 - curve[0][1], *(1 - share for _, share in curve)]
    return math.fsum(
        (later - earlier) * (before + after) / 2
        for (earlier, later), (before, after) in zip(
            itertools.pairwise(ages), itertools.pairwise(left), strict=True
        )
    )


def _said(
    source: Literal["switches", "restatements"],
    mean: float,
    low: float,
    high: float,
    told: float | None,
    settings: CampaignConfig,
) -> OwnDelay:
    word = bucket_word(settings)
    limits = f"{low:.2g} to {high:.2g}" if math.isfinite(high) else f"at least {low:.2g}"
    own = (
        "what came in after its switches"
        if source == "switches"
        else "how its totals were restated"
    )
    sentence = f"By {own}, rewards come {counted(f'{mean:.2g}', word)} late on average ({limits})"
    off = told is not None and not low / _MATTERS <= told <= high * _MATTERS
    if told is not None:
        sentence += f"; it was told {counted(f'{told:.2g}', word)}"
    return OwnDelay(source, mean, low, high, told, off, sentence + ".")
