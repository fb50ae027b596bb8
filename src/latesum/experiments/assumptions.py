"""The assumptions of a policy that a problem breaks: the footnotes of a table."""

from __future__ import annotations

from latesum.attributed import AttributedPolicy
from latesum.policies import Policy
from latesum.simulation import FieldProblem, Problem

#: Policies that learn nothing, and so assume nothing about how.
_ASSUME_NOTHING = ("oracle", "round-robin", "fixed-split")


def broken_assumptions(problem: Problem, policy: Policy | AttributedPolicy) -> list[str]:
    """What a policy assumes and does not hold on a problem, in sentences.

    >>> from latesum.policies import ODAAF
    >>> problem = Problem([0.5, 0.6], ["uniform(0, 10)", "uniform(0, 100)"])
    >>> broken_assumptions(problem, ODAAF(2, 1000, mean_delay=50))
    ['assumes that all options have the same delays; here they differ.']
    """
    if isinstance(policy, AttributedPolicy) or policy.kind in _ASSUME_NOTHING:
        return []
    broken = []
    if len(set(problem.delays)) > 1 and "mean_delay" in policy.parameters:
        broken.append("assumes that all options have the same delays; here they differ.")
    if isinstance(problem, FieldProblem):
        if problem.calendar is not None:
            what = "drift" if problem.calendar.drifts else "follow a calendar"
            broken.append(f"assumes that means stay as they are; here they {what}.")
        if problem.background is not None:
            broken.append(
                "assumes that totals hold nothing but rewards in [0, 1]; here is a background."
            )
        if problem.reporting is not None and problem.reporting.noise:
            broken.append("assumes exact totals; here reports are noisy.")
    return broken
