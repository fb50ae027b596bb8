"""The table of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latesum._terminal import TextTable, new_table
from latesum.lab.stats import number_text

if TYPE_CHECKING:
    from latesum.lab.comparison import Comparison


def comparison_table(comparison: Comparison) -> TextTable:
    """One row per policy: the regret at the horizon and what else matters."""
    about = comparison.description
    shuffled = about.get("arm_order") == "random"  # results saved by earlier versions do not say
    title = (
        f"Regret after {about['horizon']:,} rounds, {about['replications']} replications"
        f"{', arms in random order' if shuffled else ''}\n{about['problem']}"
    )
    columns = ["policy", "mean", "± s.e.", "median", "95%", "99%", "worst"]
    columns += ["ends on best", "switches"]
    table = new_table(title, columns)
    broken = about.get("broken_assumptions", [])  # results saved by earlier versions have none
    for row in comparison.summary():
        numbers = [row.mean, row.standard_error, row.median]
        numbers += [row.percentile_95, row.percentile_99, row.worst]
        mark = " *" if row.policy in about["sees_more"] else ""
        mark += " †" if any(row.policy in names for names, _ in broken) else ""
        shares = f"{row.ended_on_best:.1%}", f"{row.switches:,.1f}"
        table.add_row(row.policy + mark, *map(number_text, numbers), *shares)
    notes = ["* sees which arm paid: more than the others"] if about["sees_more"] else []
    notes += [f"† {', '.join(names)}: {sentence}" for names, sentence in broken]
    if notes:
        table.caption = "\n".join(notes)
    return table
