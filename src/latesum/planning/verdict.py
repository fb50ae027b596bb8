"""Go, go but, or no-go: by thresholds that the user may set, and what would have to change."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from latesum.planning.answers import Case, Forecast, Simulation, Thresholds
from latesum.planning.beliefs import Beliefs
from latesum.planning.candidates import EQUAL_SPLIT, Candidate, candidates_for
from latesum.planning.searches import Step, searches_for
from latesum.planning.words import ordinal

#: The search tries these candidates only: those that decide, and are quick to simulate.
_SEARCHED = ("unmix", "half test")


#: What was tried, up to a factor, in words for where it does not help.
_ALONE = {
    "horizon": "a run up to {:g} times as long",
    "options": "fewer options",
    "traffic": "up to {:g} times the traffic",
    "lift": "a lift up to {:g} times as large",
}


@dataclass(frozen=True)
class Change:
    """Something that would make it a go."""

    what: str  # horizon, options, traffic or lift
    factor: float
    sentence: str
    candidate: Candidate
    ended_well: float

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "what": self.what, "factor": self.factor, "sentence": self.sentence,
            **self.candidate.handed_on, "ended_well": self.ended_well,
        }  # fmt: skip


@dataclass(frozen=True)
class PlanVerdict:
    """`answer` is "go", "go, but" or "no-go"."""

    answer: str
    reason: str
    changes: tuple[Change, ...]
    replications: int  # of each step of the search
    not_enough: str = ""  # what does not help by itself, in a sentence

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        changes = [change.to_json() for change in self.changes]
        return {**vars(self), "changes": changes}


def recommend(answers: list[Forecast], thresholds: Thresholds) -> tuple[Forecast, str]:
    """The policy to take and why: the largest gain among those that pass, otherwise the surest."""
    deciding = [answer for answer in answers if answer.candidate.label != EQUAL_SPLIT]
    passing = [answer for answer in deciding if answer.passes(thresholds)]
    if not passing:
        best = max(deciding, key=lambda answer: (answer.ended_well.value, answer.gain.value))
        return best, "none meets both thresholds, and it most often ends on a good option"
    best, *others = sorted(passing, key=lambda answer: -answer.gain.value)
    if not others:
        return best, "it is the only one that meets both thresholds"
    return best, (
        f"it gains most over an equal split among the {len(passing)} that meet both thresholds "
        f"({best.gain.value:,.4g} against {others[0].gain.value:,.4g} of the next, "
        f"{others[0].candidate.label})"
    )


def next_best(answers: list[Forecast], recommended: Forecast) -> Forecast | None:
    """The policy to take if the recommended one were not there: it may be the sturdier one."""
    others = [each for each in answers if each is not recommended]
    others = [each for each in others if each.candidate.label != EQUAL_SPLIT]
    return max(others, key=lambda answer: answer.gain.value, default=None)


def judge(
    beliefs: Beliefs, recommended: Forecast, simulation: Simulation, replications: int
) -> PlanVerdict:
    """The verdict; where it is not a go, simulation finds what would make it one."""
    thresholds = simulation.thresholds
    shares = f"{recommended.ended_well.value:.0%} of runs"
    if recommended.passes(thresholds):
        reason = (
            f"{recommended.candidate.label} ends on the best option, or one within the lift, in "
            f"{shares} and gains over an equal split even at its {ordinal(thresholds.percentile)} "
            "percentile."
        )
        if recommended.ended_well.low < thresholds.ended_well or recommended.worst_gain.low <= 0:
            reason += " It is close: within the uncertainty of the simulation it might fail."
        return PlanVerdict("go", reason, (), recommended.replications)
    missed = []
    if recommended.ended_well.value < thresholds.ended_well:
        missed.append(
            f"even {recommended.candidate.label} ends on the best option, or one within the lift, in "
            f"only {shares}; {thresholds.ended_well:.0%} are wanted"
        )
    if recommended.worst_gain.value <= 0:
        missed.append(
            f"at its {ordinal(thresholds.percentile)} percentile {recommended.candidate.label} does "
            "not gain over an equal split"
        )
    found, tried = _search(beliefs, simulation, replications)
    small = [
        change
        for change in found
        if change.what == "options"
        or (change.what == "horizon" and change.factor <= thresholds.longer)
    ]
    reason = "; ".join(missed) + "."
    reason = reason[0].upper() + reason[1:]
    if small:
        return PlanVerdict("go, but", reason, tuple(small), replications)
    helps = {change.what for change in found}
    useless = [_ALONE[what].format(factor) for what, factor in tried.items() if what not in helps]
    not_enough = f"Not enough by itself: {'; '.join(useless)}." if useless else ""
    return PlanVerdict("no-go", reason, tuple(found), replications, not_enough)


def _search(
    beliefs: Beliefs, simulation: Simulation, replications: int
) -> tuple[list[Change], dict[str, float]]:
    """The smallest change of each kind that makes it a go, by bisection, all kinds at once.

    Also how far each kind was tried.
    """
    kinds = [list(steps) for steps in searches_for(beliefs, simulation.thresholds.longer)]
    bounds = [[0, len(steps)] for steps in kinds]
    passed: list[Change | None] = [None] * len(kinds)
    most = max(len(steps) for steps in kinds).bit_length()
    for turn in range(most):
        open_kinds = [kind for kind, (first, last) in enumerate(bounds) if first < last]
        if not open_kinds:
            break
        steps = [kinds[kind][sum(bounds[kind]) // 2] for kind in open_kinds]
        what = f"what would have to change ({turn + 1} of at most {most})"
        changes = _try(steps, simulation, replications, what)
        for kind, change in zip(open_kinds, changes, strict=True):
            middle = sum(bounds[kind]) // 2
            if change is None:
                bounds[kind][0] = middle + 1
            else:
                passed[kind], bounds[kind][1] = change, middle
    tried = {steps[-1][0]: steps[-1][1] for steps in kinds if steps}
    return [change for change in passed if change is not None], tried


def _try(
    steps: list[Step], simulation: Simulation, replications: int, what: str
) -> list[Change | None]:
    """For each step the change, if it makes it a go."""
    cases = [
        [
            Case(changed, candidate)
            for candidate in candidates_for(changed)
            if candidate.label in _SEARCHED
        ]
        for _, _, changed, _ in steps
    ]
    made = iter(simulation.forecasts(list(itertools.chain(*cases)), replications, 1, what))
    changes: list[Change | None] = []
    for (kind, factor, _, sentence), tried in zip(steps, cases, strict=True):
        best, _ = recommend(list(itertools.islice(made, len(tried))), simulation.thresholds)
        good = best.passes(simulation.thresholds)
        changes.append(
            Change(kind, factor, sentence, best.candidate, best.ended_well.value) if good else None
        )
    return changes
