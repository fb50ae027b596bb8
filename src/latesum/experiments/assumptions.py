"""Which policies' assumptions a problem breaks: the footnotes of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

from latesum.attributed import AttributedPolicy
from latesum.experiments.spec import AnyPolicy
from latesum.simulation import FieldProblem, Problem

#: Policies that learn nothing, and so assume nothing about how.
_ASSUME_NOTHING = ("oracle", "round-robin", "fixed-split")


def broken_assumptions(
    problem: Problem, policies: Mapping[str, AnyPolicy]
) -> list[tuple[list[str], str]]:
    """Groups of policies, each with a sentence about what they assume and does not hold.

    >>> from latesum.policies import ODAAF
    >>> problem = Problem([0.5, 0.6], ["uniform(0, 10)", "uniform(0, 100)"])
    >>> broken_assumptions(problem, {"ODAAF": ODAAF(2, 1000, mean_delay=50)})
    [(['ODAAF'], 'assumes that all options have the same delays; here they differ.')]
    """
    told = {
        name: policy.parameters
        for name, policy in policies.items()
        if not isinstance(policy, AttributedPolicy) and policy.kind not in _ASSUME_NOTHING
    }
    learning = list(told)
    broken = []
    if len(set(problem.delays)) > 1:
        knows_delay = [name for name in learning if "mean_delay" in told[name]]
        sentence = "assumes that all options have the same delays; here they differ."
        broken.append((knows_delay, sentence))
    if isinstance(problem, FieldProblem):
        if problem.calendar is not None:
            what = "drift" if problem.calendar.drifts else "follow a calendar"
            broken.append((learning, f"assumes that means stay as they are; here they {what}."))
        if problem.background is not None:
            sentence = (
                "assumes that totals hold nothing but rewards in [0, 1]; here is a background."
            )
            broken.append((learning, sentence))
        if problem.reporting is not None and problem.reporting.noise:
            broken.append((learning, "assumes exact totals; here reports are noisy."))
    return [(names, sentence) for names, sentence in broken if names]
