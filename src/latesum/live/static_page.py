"""The status of a campaign as one HTML page that needs nothing from outside."""

from __future__ import annotations

from importlib import resources

import jinja2
from markupsafe import Markup

from latesum.live import figures
from latesum.live.status import Status
from latesum.live.terminal_page import gain_sentence


def status_html(status: Status) -> str:
    """The whole page, as text."""
    source = resources.files("latesum.live") / "templates" / "status.html"
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    template = environment.from_string(source.read_text(encoding="utf-8"))
    return template.render(
        status=status,
        gain=None if status.gain is None else gain_sentence(status),
        # The figures escape every text that is not their own.
        timeline=Markup(figures.timeline_figure(status)) if status.timeline else "",
        totals=Markup(figures.totals_figure(status)),
        estimates=Markup(figures.estimates_figure(status)),
        n_colours=figures.N_COLOURS,
    )
