"""The timeline of the page: options over buckets, with phases, bridges and what people ordered.

Drawn in SVG, as the other figures of a campaign: shapes tell what colours alone would not.
"""

from __future__ import annotations

import re
from html import escape

from latesum.live.campaign import Campaign
from latesum.live.deciding import told_plays
from latesum.live.figures import N_COLOURS
from latesum.live.maturity import Maturity
from latesum.live.status import BucketRow, Status
from latesum.policies import Play

_WIDTH = 900
_LEFT = 130
_RIGHT = 16
_ROW = 30.0
_BAR = 20.0
_TOP = 24.0
_PHASE = re.compile(r"Phase (\d+)\b")


def phases(campaign: Campaign) -> dict[int, int]:
    """The policy's phase in each bucket, for policies that have phases, by what is known now."""
    ledger, now = campaign.ledger(), campaign.clock()
    maturity = Maturity(campaign.settings, ledger, now)
    told = told_plays(campaign.settings, ledger, now)
    policy = campaign.settings.build_policy()
    buckets = (bucket for bucket in list(ledger.decisions) if maturity.rounds(bucket))
    found = {}
    for each in told:
        if not isinstance(each, Play):
            policy.drop(each)
            continue
        bucket = next(buckets)
        for sentence in policy.explain():
            named = _PHASE.match(sentence)
            if named:
                found[bucket] = int(named[1])
        policy.tell(*each)
    return found


def timeline(status: Status, phase_of: dict[int, int]) -> str:
    """A row for each option, a bar for each bucket."""
    rows = status.timeline
    wide = (_WIDTH - _LEFT - _RIGHT) / max(len(rows), 12)
    parts = []
    for option in status.options:
        y = _TOP + option.arm * _ROW
        name = option.name if len(option.name) <= 17 else option.name[:16] + "…"
        parts.append(_text(_LEFT - 10, y + 15, name, "end"))
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y + _BAR:.1f}" '
            f'y2="{y + _BAR:.1f}"/>'
        )
    bottom = _TOP + len(status.options) * _ROW
    for index, row in enumerate(rows):
        parts.append(_bar(row, _LEFT + index * wide, wide, phase_of.get(row.bucket)))
    parts += _phase_lines(rows, phase_of, wide, bottom)
    every = max(1, round(110 / wide))
    room = _WIDTH - 7 * len(rows[0].label[:16]) if rows else 0  # none is cut off at the right
    for index in range(0, len(rows), every):
        if _LEFT + index * wide > room:
            break
        parts.append(
            _text(_LEFT + index * wide, bottom + 14, rows[index].label[:16], "start", "small")
        )
    title = f"Which option was shown in each of {len(rows)} buckets"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {bottom + 22:.0f}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def _bar(row: BucketRow, x: float, wide: float, phase: int | None) -> str:
    y = _TOP + row.arm * _ROW
    ordered = row.source in ("override", "held") or row.decided != row.option
    # A bridge is played but not learned from: a low bar. All others stand at full height.
    height = _BAR * 0.4 if row.purpose == "bridge" else _BAR
    what = f"{row.label}: {row.option}, {_purpose(row)}, total {row.state}. {row.reason}"
    if phase is not None:
        what = f"{what} (phase {phase})"
    bar = max(wide - (1 if wide > 3 else 0.2), 0.6)
    drawn = (
        f"<g><title>{escape(what)}</title>"
        f'<rect class="o{row.arm % N_COLOURS} {escape(row.state)}" x="{x:.1f}" '
        f'y="{y + _BAR - height:.1f}" width="{bar:.1f}" height="{height:.1f}"/>'
    )
    if ordered:
        drawn += f'<path class="mark" d="M{x + bar / 2:.1f} {y - 1:.1f}l3.5 -6h-7z"/>'
    return drawn + "</g>"


def _purpose(row: BucketRow) -> str:
    if row.source in ("override", "held"):
        return "ordered by an operator" if row.source == "override" else "held by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return {
        "learn": "to learn",
        "bridge": "as a bridge",
        "commit": "because it is best",
        "override": "not by the policy",
    }.get(row.purpose, row.purpose)


def _phase_lines(
    rows: list[BucketRow], phase_of: dict[int, int], wide: float, bottom: float
) -> list[str]:
    parts, last = [], None
    for index, row in enumerate(rows):
        phase = phase_of.get(row.bucket)
        if phase is None or phase == last:
            continue
        x = _LEFT + index * wide - 0.5
        parts.append(f'<line class="phase" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:.1f}"/>')
        parts.append(_text(x + 4, 12, f"phase {phase}", "start", "small"))
        last = phase
    return parts


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    more = f' class="{style}"' if style else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
