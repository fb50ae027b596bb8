"""A plan as text for the terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from latesum._terminal import TextTable, new_table
from latesum.planning.result import percent, time_of, with_limits

if TYPE_CHECKING:
    from latesum.planning.result import Plan


def plan_text(plan: Plan) -> str:
    """The whole plan as text."""
    parts = [headline(plan), "", *_wrapped(plan.assumed), ""]
    parts += [str(policies_table(plan)), ""]
    if plan.what_ifs:
        parts += [str(beliefs_table(plan)), ""]
    return "\n".join(parts).rstrip()


def headline(plan: Plan) -> str:
    """The verdict and the recommendation."""
    verdict, candidate = plan.verdict, plan.recommended.candidate
    lines = [f"{verdict.answer.upper()}. {verdict.reason}"]
    if verdict.changes:
        start = "Go, but: " if verdict.answer == "go, but" else "It would be a go if you could: "
        ways = "; or ".join(
            f"{change.sentence} (then {change.candidate.label}, {change.ended_well:.0%} right)"
            for change in verdict.changes
        )
        lines.append(f"{start}{ways}. Found with {verdict.replications} replications each.")
    if verdict.not_enough:
        lines.append(verdict.not_enough)
    lines.append(f"Policy: {candidate.spec}, because {plan.reason}.")
    return "\n".join(_wrapped(lines))


def policies_table(plan: Plan) -> TextTable:
    """One row per policy."""
    unit = "conversions" if plan.beliefs.is_rate else "reward"
    columns = ["policy", f"{unit} lost", "gain over split", f"at {plan.thresholds.percentile:.0%}"]
    columns += ["ends right", "settles after", "switches"]
    title = f"{plan.recommended.replications:,} simulated runs; ± and brackets are 95% limits"
    table = new_table(title, columns)
    for answer in plan.answers:
        mark = " <" if answer is plan.recommended else ""
        table.add_row(
            answer.candidate.label + mark, with_limits(answer.loss), with_limits(answer.gain),
            f"{answer.worst_gain.value:,.0f}", percent(answer.ended_well),
            time_of(answer.settled_after), f"{answer.switches.value:,.1f}",
        )  # fmt: skip
    return table


def beliefs_table(plan: Plan) -> TextTable:
    """One row for each belief that may be wrong."""
    replications = plan.what_ifs[0].answer.replications
    title = (
        f"If what you believe is wrong: {plan.recommended.candidate.label} as above, only "
        f"{replications:,} runs each"
    )
    columns = ["in truth", "lost", "gain", "ends right", "settles after", "a go"]
    other = plan.what_ifs[0].runner_up
    if other is not None:
        columns.append(other.candidate.label)
        title += f"; last, how often {other.candidate.label} would end right"
    table = new_table(title, columns)
    for what_if in plan.what_ifs:
        answer, runner_up = what_if.answer, what_if.runner_up
        table.add_row(
            what_if.belief, with_limits(answer.loss), with_limits(answer.gain),
            percent(answer.ended_well), time_of(answer.settled_after).split(" (")[0],
            "yes" if what_if.still_passes else "no",
            *([] if runner_up is None else [f"{runner_up.ended_well.value:.0%}"]),
        )  # fmt: skip
    return table


def _wrapped(lines: list[str]) -> list[str]:
    return [piece for line in lines for piece in textwrap.wrap(line, 100, subsequent_indent="  ")]
