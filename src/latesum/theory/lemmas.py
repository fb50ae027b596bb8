"""How good the estimates are at the end of a phase, and how often they are worse."""

from __future__ import annotations

import math
from typing import Literal

from latesum._checks import InvalidInput, finite_number, whole_number
from latesum.policies.schedules import Schedule


def half_width(schedule: Schedule, phase: int, tolerance: float, horizon: int) -> float:
    """w_m, the half-width of an estimate at the end of a phase, after n_m rounds of every arm.

    eq. (wmgen) for ODAAF, (wmbounded) for ODAAF-B, (wmvar) for ODAAF-V; the naive one opens the
    paper's last appendix. The n_m are chosen so that it is at most half the tolerance.

    >>> from latesum.policies.schedules import KnownBound
    >>> half_width(KnownBound(50, 100), phase=3, tolerance=1 / 8, horizon=250_000) <= 1 / 16
    True
    """
    phase = whole_number(phase, "the phase", at_least=1)
    log_term = _log_term(tolerance, horizon)
    rounds = schedule.rounds(phase, tolerance, log_term)
    return schedule.half_width(phase, rounds, log_term)


def failure_probability(
    schedule: Schedule, tolerance: float, horizon: int, *, sides: Literal[1, 2] | None = None
) -> float:
    """How often, at most, an estimate misses its arm's mean by more than half the tolerance.

    Lemmas eb1 (ODAAF: 3 / (T D^2)), eb2 (ODAAF-B: 12 / (T D^2)) and eb3 (ODAAF-V: the same) are
    stated upwards, for one side; Lemma bdhpbound (naive: 2 / (T D^2)) for both. Without `sides`
    the answer is as stated; `sides=1` and `sides=2` make them comparable. The regret proofs use
    both sides of all of them: the arguments hold downwards word for word. The naive lemma is a
    two-sided Hoeffding bound, so one side of it is half.

    Args:
        sides: Whether one side or both sides count; by default as the lemma is stated.

    >>> from latesum.policies.schedules import KnownMean, Naive
    >>> failure_probability(KnownMean(10), tolerance=0.5, horizon=1200)
    0.01
    >>> failure_probability(Naive(20), tolerance=0.5, horizon=800, sides=1)
    0.005
    """
    if sides not in (None, 1, 2):
        raise InvalidInput(f"sides is 1, 2, or None for what the lemma states, not {sides!r}.")
    _log_term(tolerance, horizon)
    stated = 2 if schedule.two_sided else 1
    failures = schedule.failures * (stated if sides is None else sides) / stated
    return min(1.0, failures / (horizon * tolerance**2))


def _log_term(tolerance: float, horizon: int) -> float:
    """L = ln(T D^2), which must be positive for a phase to have a length."""
    horizon = whole_number(horizon, "the horizon", at_least=1)
    tolerance = finite_number(tolerance, "the tolerance", above=0, at_most=1)
    log_term = math.log(horizon * tolerance**2)
    if log_term <= 0:
        raise InvalidInput(
            f"there is no phase with tolerance {tolerance:g} at horizon {horizon}: "
            f"the tolerance must be above 1 / sqrt(horizon) = {1 / math.sqrt(horizon):.4g}."
        )
    return log_term
