"""The status of a campaign in HTML: a part of the service's page, and a file that needs nothing else."""

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


#: By the term's name in a page; the first sentence says what it is.
GLOSSARY: dict[str, str] = {
    "uplift": "How much more an option brings than the status quo, in percent of the status quo. The "
    "interval holds the true uplift with the stated certainty; if it contains 0%, there may be no "
    "difference.",
    "status quo": "The option that was shown before the campaign began, against which the others are "
    "measured. If it is not known, the first option stands for it.",
    "probability of being best": "How likely it is that the option brings more than every other one, by what is "
    "known now. It is computed from the means and their intervals, as if these were normal.",
    "confidence interval": "The range in which the true value lies with the stated certainty. It narrows as totals "
    "come in.",
    "status": "Candidate: may still be the best. Behind: its whole interval lies below the best one's, or its "
    "probability of being best is below 5%. Winner: it is clear, and every candidate was shown in two periods.",
    "data lag": "Days (or other buckets) that have ended and whose totals are not known yet. Decisions are "
    "taken without them.",
    "gain": "What the campaign has brought beyond showing all options equally often, by what is known now.",
    "worth": "What showing the leading option in place of the status quo would bring in 30 days, by what is "
    "known now, with its interval.",
    "bridge": "A time in which an option is shown but not judged, because what arrives then still comes "
    "from the option before it.",
    "period": "A run of days in which one option is shown without a break.",
    "total": "What arrived in a day from all decisions, earlier ones too; it does not say from which.",
    "forecast": "The rest of the campaign is simulated many times, from what is known now. Half of the "
    "simulations are decided by the named date, and eight of ten within the range.",
    "delay": "How long after a visit its sale is counted, on average. What is told at the start is "
    "corrected by what the totals show.",
    "outlier": "A total so far from what was expected (more than 3.5 standard deviations) that it counts "
    "as if it were closer: one strange day must not decide.",
    "visitor": "Someone, or a page view, a letter or anything else, to whom an option was shown. Files and "
    "the HTTP API call them rounds.",
}


def term_id(term: str) -> str:
    """The name of a term within a page.

    >>> term_id("probability of being best")
    'term-probability-of-being-best'
    """
    return "term-" + term.replace(" ", "-")


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
        glossary=GLOSSARY,
        term_id=term_id,
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
