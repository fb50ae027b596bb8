"""The status of a campaign in HTML: a part of the service's page, and a file that needs nothing else."""

from __future__ import annotations

from importlib import metadata, resources
from typing import TYPE_CHECKING

from latesum import _extras, _pages
from latesum.live import charts
from latesum.live.glossary import GLOSSARY, term_id
from latesum.live.outlook import Words, make_outlook, percent
from latesum.live.status import BucketRow, Status
from latesum.live.terminal_page import gain_sentence

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Buckets in the table; the charts have all.
_LAST_BUCKETS = 40


def chart_library() -> Traversable:
    """The file of Chart.js. The package chartkick brings it; nothing else of it is used."""
    _extras.require("chartkick", "live")
    return resources.files("chartkick") / "django" / "static" / "chartkick" / "Chart.bundle.js"


def chart_library_version() -> str:
    """What changes when the library does."""
    return metadata.version("chartkick")


def status_html(status: Status, phase_of: dict[int, int] | None = None) -> str:
    """The whole page as one file, with its style and the scripts that draw its charts.

    Args:
        status: What is shown.
        phase_of: The policy's phase in each bucket, from `charts.phases`.
    """
    from markupsafe import Markup

    return _pages.render(
        "live/templates/file.html",
        status=status,
        style=Markup(_pages.read("live/static/page.css")),
        content=Markup(status_section(status, phase_of or {})),
        library=Markup(chart_library().read_text(encoding="utf-8")),
        script=Markup(_pages.read("live/static/charts.js")),
    )


def status_section(
    status: Status,
    phase_of: dict[int, int],
    *,
    last: int | None = None,
    decision: tuple[str, str] | None = None,
    name: str | None = None,
    undecided: str | None = None,
) -> str:
    """The part of a page that says all about a campaign, without a head and scripts.

    Args:
        status: What is shown.
        phase_of: The policy's phase in each bucket, from `charts.phases`.
        last: How many of the last buckets the charts show; all without.
        decision: When it will be decided: a `figure`, and the `words` for it.
        name: The campaign's name on a page that can show other parts of the timeline.
        undecided: The present bucket, where it can be asked for on the page and no one has.
    """
    shares = status.range == (0.0, 1.0)
    window = charts.window_of(status.timeline, last)
    return _pages.render(
        "live/templates/status.html",
        status=status,
        n_colours=charts.N_COLOURS,
        lag=_lag(status),
        counts=_counts(status.timeline),
        gain=None if status.gain is None else gain_sentence(status),
        timeline=charts.timeline_chart(status, phase_of, window),
        totals=charts.totals_chart(status, window),
        estimates=charts.estimates_chart(status),
        last=status.timeline[: -_LAST_BUCKETS - 1 : -1],
        acts=status.acts[::-1],
        offered=[[row.name, row.place == "dropped"] for row in status.options],
        outlook=make_outlook(status),
        words=Words(status.every, status.expected_rounds, shares=shares),
        percent=percent,
        decision=decision,
        glossary=GLOSSARY,
        term_id=term_id,
        spans=[] if name is None else spans_of(len(status.timeline)),
        span=last,
        name=name,
        undecided=undecided,
    )


def spans_of(buckets: int) -> list[int | None]:
    """The parts of a timeline that can be chosen: the last `n` buckets, and None for all.

    >>> spans_of(100)
    [30, 90, None]
    """
    shorter: list[int | None] = [each for each in (30, 90, 365) if each < buckets]
    return [*shorter, None] if shorter else []


def _lag(status: Status) -> str:
    """How far what is known is behind what is shown."""
    waiting = 0
    for row in reversed(status.timeline):
        if row.state in ("known", "missing"):
            break
        waiting += row.state == "pending"
    unit = "bucket" if status.every == "number" else status.every
    return f"{waiting} {unit}" + ("" if waiting == 1 else "s")


def _counts(rows: list[BucketRow]) -> dict[str, int]:
    counts = {state: sum(row.state == state for row in rows) for state in ("known", "pending")}
    counts["missing"] = sum(row.state == "missing" for row in rows)
    counts["revised"] = sum(row.revisions > 0 for row in rows)
    return counts
