"""The one-page report of a plan."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latesum._extras import require
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
    text: str = _template().render(
        whole=whole, plan=plan, beliefs=plan.beliefs, verdict=plan.verdict,
        unit="conversions" if plan.beliefs.is_rate else "reward", recommended=plan.recommended,
        handed_on=json.dumps(handed_on, indent=2), share_over_time=figures.share_over_time(plan),
        ends_right=figures.ends_right(plan),
        if_wrong=figures.if_wrong(plan) if plan.what_ifs else "", amount=amount, ordinal=ordinal,
        percent=percent, time_of=time_of, with_limits=with_limits,
    )  # fmt: skip
    return text


@functools.cache
def _template() -> Any:
    jinja2 = require("jinja2", "lab")
    source = Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        source
    )
