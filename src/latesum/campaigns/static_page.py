"""The status of a campaign in HTML: a part of the service's page, and a file of its own."""

from __future__ import annotations

from collections import Counter
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

from latesum import _extras, _render
from latesum._render import counted, rate_text, signed
from latesum.campaigns import charts
from latesum.campaigns.buckets import span_text
from latesum.campaigns.terminal_page import gain_sentence
from latesum.campaigns.view import OptionView, Status

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Buckets in the table; the charts have all.
_LAST_BUCKETS = 40


def chart_library() -> Traversable:
    """The file of Chart.js. The package chartkick brings it; nothing else of it is used."""
    _extras.require("chartkick", "campaigns")
    return resources.files("chartkick") / "django" / "static" / "chartkick" / "Chart.bundle.js"


def chart_library_version() -> str:
    """What changes when the library does."""
    return metadata.version("chartkick")


def status_html(status: Status) -> str:
    """The whole page as one file, with its style and the scripts that draw its charts."""
    from markupsafe import Markup

    return _render.render(
        "campaigns/templates/file.html",
        status=status,
        style=Markup(_render.read("campaigns/static/page.css")),
        content=Markup(status_section(status)),
        library=Markup(chart_library().read_text(encoding="utf-8")),
        script=Markup(_render.read("campaigns/static/charts.js")),
    )


def status_section(
    status: Status,
    *,
    last: int | None = None,
    decision: tuple[str, str] | None = None,
    name: str | None = None,
    undecided: str | None = None,
) -> str:
    """The part of a page that says all about a campaign, without a head and scripts.

    Args:
        status: What is shown.
        last: How many of the last buckets the charts show; all without.
        decision: When it will be decided: a `figure`, and the `words` for it.
        name: The campaign's name on a page that can show other parts of the timeline.
        undecided: The present bucket, where it can be asked for on the page and no one has.
    """
    columns = charts.columns_of(status, last)
    rows = sorted(status.timeline, key=lambda row: -row.bucket)
    states = {status.state, *(each.state for each in status.regions.values())}
    return _render.render(
        "campaigns/templates/status.html",
        status=status,
        n_colours=charts.N_COLOURS,
        lag=_lag(status),
        revised=sum(row.revisions > 0 for row in status.timeline),
        gain=None if status.gain is None else gain_sentence(status),
        timeline=charts.timeline_chart(status, columns),
        totals=charts.totals_chart(status, columns) if columns else None,
        estimates=charts.options_chart(status),
        patterns=charts.pattern_charts(status),
        rows=rows[:_LAST_BUCKETS],
        outliers=[row for row in rows if row.outlier is not None][:8],
        offered=[_offered(row, status) for row in status.options],
        states=sorted(each.replace(" ", "-") for each in states),
        rate_text=rate_text,
        signed=signed,
        decision=decision,
        span_text=span_text,
        purpose_of=charts.purpose_of,
        spans=[] if name is None else spans_of(status.n_buckets),
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


def _offered(row: OptionView, status: Status) -> list[Any]:
    """An option for a dialog: its name, whether it was removed everywhere, and in which regions."""
    removed = [region for region, each in status.regions.items() if row.name in each.removed]
    return [row.name, row.status == "removed", removed]


def _lag(status: Status) -> str:
    """How far what is known is behind what is shown; of regions, in the slowest."""
    waiting = Counter[str]()
    ended = set[str]()
    for row in reversed(status.timeline):
        if row.state in ("known", "missing"):
            ended.add(row.region)
        elif row.state == "pending" and row.region not in ended:
            waiting[row.region] += 1
    most = max(waiting.values(), default=0)
    unit = "bucket" if status.every == "number" else status.every
    return counted(most, unit)
