"""What the charts of the page show, as plain values: `static/charts.js` draws them with Chart.js.

Every value has its words too, for readers who point at it.
"""

from __future__ import annotations

from typing import Any

from latesum.live.campaign import Campaign
from latesum.live.deciding import told_plays
from latesum.live.maturity import Maturity
from latesum.live.status import BucketRow, Status
from latesum.live.vocabulary import Purpose
from latesum.policies import Play

#: The colours that the page has; more options share them, and are told apart by their rows.
N_COLOURS = 8
_PURPOSES: dict[Purpose, str] = {
    "learn": "to learn",
    "bridge": "as a bridge",
    "commit": "as the policy's answer",
    "override": "not by the policy",
}


def phases(campaign: Campaign) -> dict[int, int]:
    """The policy's phase in each bucket, for policies that have phases, by what is known now."""
    ledger, now = campaign.ledger(), campaign.clock()
    if ledger.settings.is_market:
        return {}
    maturity = Maturity(ledger, now)
    told = told_plays(ledger, now)
    policy = ledger.settings.build_policy()
    buckets = (bucket for bucket in list(ledger.decisions) if maturity.rounds(bucket))
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


def timeline_chart(status: Status, phase_of: dict[int, int]) -> dict[str, Any]:
    """Which option was shown when, why, and what is known of it; and where phases begin."""
    bars, beginnings, last = [], [], None
    for index, row in enumerate(status.timeline):
        phase = phase_of.get(row.bucket)
        if phase is not None and phase != last:
            beginnings.append({"at": index, "name": f"phase {phase}"})
            last = phase
        bars.append(
            {
                "arm": row.arm,
                "state": row.state,
                "bridge": row.purpose == "bridge",
                "ordered": _ordered(row),
                "words": [f"{row.option}, {_purpose(row)}", f"total {row.total_state}", row.reason],
            }
        )
    return {
        "kind": "timeline",
        "options": [option.name for option in status.options],
        "colours": N_COLOURS,
        "labels": [f"{row.label} {row.region}".rstrip() for row in status.timeline],
        "bars": bars,
        "phases": beginnings,
    }


def totals_chart(status: Status) -> dict[str, Any] | None:
    """What each bucket brought per round, as far as it is known; None before anything is."""
    bars = []
    for row in status.timeline:
        rate = rate_of(row)
        brought = "not known yet" if rate is None else f"{rate:.4g} {status.unit} per round"
        words = [row.option, brought]
        words.append(f"total {row.total_state}")
        if row.revisions:
            words.append(f"revised {row.revisions} time{'s' if row.revisions > 1 else ''}")
        bars.append(
            {
                "arm": row.arm,
                "rate": rate,
                "state": row.state,
                "revised": row.revisions > 0,
                "words": words,
            }
        )
    if all(bar["rate"] is None for bar in bars):
        return None
    return {
        "kind": "totals",
        "colours": N_COLOURS,
        "labels": [f"{row.label} {row.region}".rstrip() for row in status.timeline],
        "bars": bars,
    }


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
        "unit": f"{status.unit} per round",
        "colours": N_COLOURS,
        "options": [
            {
                "name": row.name,
                "arm": row.arm,
                "mean": row.mean,
                "low": row.low,
                "high": row.high,
                "words": [f"{row.mean:.4g}", f"between {row.low:.4g} and {row.high:.4g}"],
            }
            for row in known
        ],
    }


def _ordered(row: BucketRow) -> bool:
    return row.source in ("override", "held") or row.decided != row.option


def _purpose(row: BucketRow) -> str:
    if row.source in ("override", "held"):
        return "ordered by an operator" if row.source == "override" else "held by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]
