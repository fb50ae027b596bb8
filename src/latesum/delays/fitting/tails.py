"""What comes after the last time that the data show."""

from __future__ import annotations

from latesum._checks import InvalidInput

#: If a larger share than this comes after the last observed time, no assumption about the tail is
#: better than a guess: the fit is refused unless the largest delay is given.
MOST_UNSEEN = 0.2
#: A smaller share than this needs no warning.
NEGLIGIBLE = 1e-4


def check_unseen(unseen: float, until: float, largest: float | None) -> None:
    """Refuse a tail that no data supports."""
    if largest is not None:
        if largest < until:
            raise InvalidInput(
                f"the largest delay {largest:g} is below {until:g}, which the data show."
            )
    elif unseen > MOST_UNSEEN:
        raise InvalidInput(
            f"{unseen:.0%} of the delays are longer than {until:g}, where the data end: no data "
            "supports a tail. Observe for longer, or say with largest=... when all have arrived."
        )


def tail_warning(
    unseen: float, until: float, largest: float | None, tail: float | None
) -> list[str]:
    """What the reader should know about the tail, in a sentence, if there is one."""
    if unseen <= NEGLIGIBLE:
        return []
    start = f"the tail is longer than the data: {unseen:.1%} of the delays are beyond {until:.4g}"
    if largest is not None:
        return [f"{start}; the limits allow them anywhere up to {largest:g}."]
    return [
        f"{start}; they are taken to go on at the pace seen before ({tail:.4g} later on average), "
        "which the data cannot show."
    ]
