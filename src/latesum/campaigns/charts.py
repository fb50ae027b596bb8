"""What the charts of the page show, as plain values: `static/charts.js` draws them with Chart.js.

Every value has its words too, for readers who point at it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.completeness import Completeness
from latesum.campaigns.methods import told_plays
from latesum.campaigns.outlook import rate_text
from latesum.campaigns.status import BucketRow, Status
from latesum.campaigns.vocabulary import Purpose
from latesum.policies import Play

#: The colours that the page has; more options share them, and are told apart by their rows.
N_COLOURS = 8
#: The most columns of a chart: a longer run is shown in columns of several buckets.
MOST_COLUMNS = 300
_PURPOSES: dict[Purpose, str] = {
    "learn": "to learn",
    "bridge": "as a bridge",
    "commit": "as the policy's answer",
    "override": "not by the policy",
}


def phases(campaign: Campaign) -> dict[int, int]:
    """The policy's phase in each bucket, for policies that have phases, by what is known now."""
    state, now = campaign.state(), campaign.clock()
    if state.settings.is_market:
        return {}
    completeness = Completeness(state, now)
    told = told_plays(state, now)
    policy = state.settings.build_policy()
    buckets = (bucket for bucket in list(state.decisions) if completeness.rounds(bucket))
    found = {}
    for each in told:
        if not isinstance(each, Play):
            policy.drop(each)
            continue
        bucket = next(buckets)
        if policy.phase is not None:
            found[bucket] = policy.phase
        policy.tell(*each)
    return found


class Window(NamedTuple):
    """A part of a timeline as a chart shows it: in columns, each of one bucket or of several.

    Args:
        columns: The buckets of each column, in order.
    """

    columns: list[list[BucketRow]]

    @property
    def labels(self) -> list[str]:
        """The name of each column."""
        return [_label(rows) for rows in self.columns]


def window_of(timeline: list[BucketRow], last: int | None = None) -> Window:
    """The last buckets of a timeline, or all, in at most `MOST_COLUMNS` columns.

    Args:
        timeline: All buckets.
        last: How many of the last ones; all without.
    """
    rows = timeline if last is None else timeline[-last:]
    size = max(1, -(-len(rows) // MOST_COLUMNS))
    return Window([rows[start : start + size] for start in range(0, len(rows), size)])


def timeline_chart(
    status: Status, phase_of: dict[int, int], window: Window | None = None
) -> dict[str, Any]:
    """Which option was shown when, why, and what is known of it; and where phases begin."""
    window = window_of(status.timeline) if window is None else window
    bars, beginnings, last = [], [], None
    for index, rows in enumerate(window.columns):
        phase = phase_of.get(rows[0].bucket)
        if phase is not None and phase != last:
            beginnings.append({"at": index, "name": f"phase {phase}"})
            last = phase
        row = _typical(rows)
        if len(rows) == 1:
            words = [
                f"{row.option}, {purpose_of(row)}",
                f"total {row.total_state}",
                row.reason,
            ]
        else:
            words = _shares(rows)
        bars.append(
            {
                "arm": row.arm,
                "state": row.state,
                "bridge": row.purpose == "bridge",
                "ordered": any(_ordered(each) for each in rows),
                "words": words,
            }
        )
    return {
        "kind": "timeline",
        "options": [option.name for option in status.options],
        "colours": N_COLOURS,
        "labels": window.labels,
        "bars": bars,
        "phases": beginnings,
    }


def totals_chart(status: Status, window: Window | None = None) -> dict[str, Any] | None:
    """What each bucket brought per round, as far as it is known; None before anything is."""
    window = window_of(status.timeline) if window is None else window
    shares = status.range == (0.0, 1.0)
    bars = []
    for rows in window.columns:
        row, rate = _typical(rows), _rate(rows)
        shown = "" if rate is None else f"{100 * rate:.3g}%" if shares else f"{rate:.4g}"
        brought = "not known yet" if rate is None else f"{shown} {status.unit} per visitor"
        words = [row.option, brought] if len(rows) == 1 else [brought, *_shares(rows)]
        if len(rows) == 1:
            words.append(f"total {row.total_state}")
        revised = max(each.revisions for each in rows)
        if revised and len(rows) == 1:
            words.append(f"revised {revised} time{'s' if revised > 1 else ''}")
        bars.append(
            {
                "arm": row.arm,
                "rate": rate,
                "state": row.state,
                "revised": revised > 0,
                "words": words,
            }
        )
    rates = [rate for row in status.timeline if (rate := rate_of(row)) is not None]
    if not rates:
        return None
    return {
        "kind": "totals",
        "colours": N_COLOURS,
        "labels": window.labels,
        "bars": bars,
        # Of the whole run, so that the axis is the same whatever part of it is shown.
        "low": min(0.0, *rates),
        "high": max(0.0, *rates),
        "percent": shares,
    }


def _typical(rows: list[BucketRow]) -> BucketRow:
    """The bucket that stands for a column: the newest of the option that was shown most."""
    if len(rows) == 1:
        return rows[0]
    counts = Counter(row.arm for row in rows)
    most = max(counts, key=lambda arm: counts[arm])
    return next(row for row in reversed(rows) if row.arm == most)


def _rate(rows: list[BucketRow]) -> float | None:
    if len(rows) == 1:
        return rate_of(rows[0])
    known = [(rate, row.rounds or 0) for row in rows if (rate := rate_of(row)) is not None]
    rounds = sum(each for _, each in known)
    return sum(rate * each for rate, each in known) / rounds if rounds else None


def _label(rows: list[BucketRow]) -> str:
    first, last = (f"{row.label} {row.region}".rstrip() for row in (rows[0], rows[-1]))
    return first if len(rows) == 1 else f"{first} to {last}"


def _shares(rows: list[BucketRow]) -> list[str]:
    counts = Counter(row.option for row in rows)
    return [f"{option}: {count} of {len(rows)}" for option, count in counts.most_common(4)]


def rate_of(row: BucketRow) -> float | None:
    """What a bucket brought per round; None where nothing is known."""
    total = row.used_total if row.state == "known" else row.total
    return None if total is None or not row.rounds else total / row.rounds


def estimates_chart(status: Status) -> dict[str, Any] | None:
    """What each option brings per round, with the interval that holds it; None while unknown."""
    known = [row for row in status.options if row.mean is not None]
    if not known:
        return None
    return {
        "kind": "estimates",
        "unit": f"{status.unit} per visitor",
        "percent": status.range == (0.0, 1.0),
        "colours": N_COLOURS,
        "options": [
            {
                "name": row.name,
                "arm": row.arm,
                "mean": row.mean,
                "low": row.low,
                "high": row.high,
                "words": [
                    rate_text(row.mean or 0.0, status.range),
                    f"between {rate_text(row.low, status.range)} and {rate_text(row.high, status.range)}",
                ],
            }
            for row in known
        ],
    }


def _ordered(row: BucketRow) -> bool:
    return row.source in ("pinned", "paused") or row.decided != row.option


def purpose_of(row: BucketRow) -> str:
    """Why an option was shown, in some words."""
    if row.source in ("pinned", "paused"):
        return "pinned by an operator" if row.source == "pinned" else "paused by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]
