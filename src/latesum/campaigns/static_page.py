"""The status of a campaign in HTML: a part of the service's page, and a file of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from latesum import _render
from latesum._render import counted, rate_text, signed
from latesum.campaigns.buckets import span_text
from latesum.campaigns.charts import (
    N_COLORS,
    columns_of,
    options_chart,
    timeline_chart,
    totals_chart,
)
from latesum.campaigns.view import BucketRow, Status
from latesum.policies.base import Purpose

#: Buckets in the table; the charts have all.
_LAST_BUCKETS = 40
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_HOURS_AND_WEEKDAYS = (*(f"{hour}:00" for hour in range(24)), *_WEEKDAYS)
_PURPOSES: dict[Purpose, str] = {
    "learn": "to learn",
    "bridge": "as a bridge",
    "commit": "as the policy's answer",
    "override": "not by the policy",
}


def status_html(status: Status) -> str:
    """The whole page as one file, with its style."""
    from markupsafe import Markup

    return _render.render(
        "campaigns/templates/file.html",
        status=status,
        style=Markup(_render.read("campaigns/static/page.css")),
        content=Markup(status_section(status)),
    )


def status_section(
    status: Status,
    *,
    last: int | None = None,
    decision: tuple[str, str] | None = None,
    name: str | None = None,
    undecided: str | None = None,
) -> str:
    """The part of a page that says all about a campaign, without a head.

    Args:
        status: What is shown.
        last: How many of the last buckets the charts show; all without.
        decision: When it will be decided: a `figure`, and the `words` for it.
        name: The campaign's name on a page that can show other parts of the timeline.
        undecided: The present bucket, where it can be asked for on the page and no one has.
    """
    columns = columns_of(status, last)
    rows = sorted(status.timeline, key=lambda row: -row.bucket)
    states = {status.state, *(each.state for each in status.regions.values())}
    shorter: list[int | None] = [each for each in (30, 90, 365) if each < status.n_buckets]
    return _render.render(
        "campaigns/templates/status.html",
        status=status,
        n_colors=N_COLORS,
        lag=_lag(status),
        revised=sum(row.revisions > 0 for row in status.timeline),
        timeline=timeline_chart(status, columns),
        totals=totals_chart(status, columns) if columns else None,
        estimates=options_chart(status),
        pattern=_pattern(status),
        rows=rows[:_LAST_BUCKETS],
        offered=[_offered(row.arm, status) for row in status.options],
        states=sorted(each.replace(" ", "-") for each in states),
        rate_text=rate_text,
        signed=signed,
        decision=decision,
        span_text=span_text,
        purpose_of=_purpose_of,
        spans=[*shorter, None] if name is not None and shorter else [],
        span=last,
        name=name,
        undecided=undecided,
    )


def _pattern(status: Status) -> list[tuple[str, str]]:
    """How much more or less arrives by weekday, or by hour and weekday where buckets are hours."""
    values = [] if status.model is None else [signed(each) for each in status.model.pattern]
    return list(zip(_HOURS_AND_WEEKDAYS[-len(values) :], values, strict=True)) if values else []


def _offered(arm: int, status: Status) -> list[Any]:
    """An option for a dialog: its name, whether it was removed everywhere, and in which regions."""
    option, regions = status.options[arm], status.regions.items()
    removed = [region for region, each in regions if each.options[arm].status == "removed"]
    return [option.name, option.status == "removed", removed]


def _lag(status: Status) -> str:
    """How far what is known is behind what is shown; of regions, in the slowest."""
    waiting = Counter[str]()
    ended = set[str]()
    for row in reversed(status.timeline):
        if row.state in ("known", "missing"):
            ended.add(row.region)
        elif row.state == "pending" and row.region not in ended:
            waiting[row.region] += 1
    unit = status.every
    return counted(max(waiting.values(), default=0), unit)


def _purpose_of(row: BucketRow) -> str:
    """Why an option was shown, in some words."""
    if row.source in ("pinned", "paused"):
        return f"{row.source} by an operator"
    if row.decided != row.option:
        return f"though {row.decided} was decided"
    return _PURPOSES[row.purpose]
