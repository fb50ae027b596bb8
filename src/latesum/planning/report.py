"""The one-page report of a plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from latesum import _pages
from latesum.planning import figures
from latesum.planning.result import amount, percent, time_of, with_limits
from latesum.planning.words import ordinal

if TYPE_CHECKING:
    from latesum.planning.result import Plan


def render(plan: Plan) -> str:
    """The whole page."""
    return _render(plan, whole=True)


def render_body(plan: Plan) -> str:
    """The page without its head, for a notebook."""
    return _render(plan, whole=False)


def _render(plan: Plan, *, whole: bool) -> str:
    candidate = plan.recommended.candidate
    handed_on = {"policy": candidate.spec.name, "parameters": candidate.spec.parameters}
    return _pages.render(
        "planning/report.html.j2",
        whole=whole,
        plan=plan,
        beliefs=plan.beliefs,
        unit="conversions" if plan.beliefs.is_rate else "reward",
        verdict=plan.verdict,
        recommended=plan.recommended,
        handed_on=json.dumps(handed_on, indent=2),
        share_over_time=figures.share_over_time(plan),
        ends_right=figures.ends_right(plan),
        if_wrong=figures.if_wrong(plan) if plan.what_ifs else "",
        amount=amount,
        ordinal=ordinal,
        percent=percent,
        time_of=time_of,
        with_limits=with_limits,
    )
