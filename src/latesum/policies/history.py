"""Carry-over and history from before the start: what ran, and the totals that are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from latesum._checks import InvalidInput, finite_number, whole_number

#: Nothing (the pipeline is empty, as in the paper), an arm, or something that is no arm.
StatusQuo = int | Literal["other"] | None
#: Segments from before the start, oldest first: arm, rounds and total (None: not known).
History = tuple[tuple[int, int, float | None], ...]


def check_status_quo(status_quo: Any, n_arms: int) -> StatusQuo:
    """`status_quo` if it is one of the three answers: None, an arm, or "other".

    >>> check_status_quo("other", 2), check_status_quo(1, 2)
    ('other', 1)
    """
    if status_quo is None:
        return None
    if status_quo == "other":
        return "other"
    if isinstance(status_quo, str):
        raise InvalidInput(
            f"the status quo is one of the arms (0 to {n_arms - 1}), 'other' (something that is "
            f"no arm, or is not known) or None (nothing ran), not {status_quo!r}."
        )
    arm = whole_number(status_quo, "the status quo")
    if arm >= n_arms:
        raise InvalidInput(f"arm {arm} cannot have run before; the arms are 0 to {n_arms - 1}.")
    return arm


def check_history(history: Iterable[Sequence[Any]], n_arms: int) -> History:
    """`history`, oldest first, as arms, rounds and totals; what is wrong with it is refused.

    >>> check_history([[0, 20_000, 600], (1, 100, None)], 2)
    ((0, 20000, 600.0), (1, 100, None))
    """
    checked = []
    for segment in history:
        try:
            arm, rounds, total = segment
        except (TypeError, ValueError):
            raise InvalidInput(
                f"a segment of the history is (arm, rounds, total), not {segment!r}."
            ) from None
        arm = whole_number(arm, "an arm in the history")
        if arm >= n_arms:
            raise InvalidInput(f"there is no arm {arm} in the history; the last is {n_arms - 1}.")
        rounds = whole_number(rounds, "the rounds of a segment of the history", at_least=1)
        if total is not None:
            total = finite_number(total, "a total in the history (None where it is not known)")
        checked.append((arm, rounds, total))
    return tuple(checked)
