"""What a policy believes of the arms: a record, when one of them has won, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from latesum import _render


class Estimate(NamedTuple):
    """What a policy believes of one arm: its mean reward with confidence limits.

    `mean` is None if nothing is known; `plays` is the number of rounds that the policy has learned
    from; `active` says whether the arm may still be the answer.
    """

    arm: int
    name: str
    mean: float | None
    low: float
    high: float
    plays: int
    active: bool


def _rounds_text(rounds: float) -> str:
    return _render.counted(f"{rounds:,.0f}" if rounds >= 100 else f"{rounds:.3g}", "round")


class Units(NamedTuple):
    """How means, differences of means, rounds and the length of a block are written.

    By default as rewards between 0 and 1, and rounds; a campaign has units of its own.
    """

    mean: Callable[[float], str] = "{:.3f}".format
    difference: Callable[[float], str] = "{:g}".format
    rounds: Callable[[float], str] = _rounds_text
    block: Callable[[int], str] = lambda rounds: _render.counted(rounds, "round")

    def estimate(self, name: str, mean: float, worth: float, bound: float) -> str:
        """What is believed of an arm, how well it is known, and how good it might be."""
        return (
            f"{name} has a mean of about {self.mean(mean)}, equivalent to "
            f"{_render.counted(f'{worth:,.0f}', 'observation')} without delay; it may be as good "
            f"as {self.mean(min(bound, 1.0))}."
        )

    def status_quo(self, mean: float) -> str:
        """What is believed of the status quo."""
        return f"The status quo had a mean of about {self.mean(mean)}."


PLAIN = Units()


def may_be_best(estimate: Estimate, best: Estimate) -> bool:
    """Whether an arm is a candidate beside the one that looks best.

    It is not where the policy has dropped it, or its whole interval lies below that of the best.
    """
    return estimate.active and (best.mean is None or estimate.high >= best.low)


def named_winner(
    estimates: Sequence[Estimate],
    visits: Sequence[int],
    *,
    commits: bool,
    removed: Collection[int] = (),
) -> int | None:
    """The arm that can be kept: the only candidate, once all candidates had two periods.

    `visits` says in how many periods each arm was played, `commits` whether the policy has decided
    to play one arm only, `removed` which arms may not be played any longer.

    >>> from latesum.policies import Flow
    >>> policy = Flow(2, 1_000, mean_delay=5)
    >>> print(named_winner(policy.estimates(), [0, 0], commits=False))
    None
    """
    allowed = [each for each in estimates if each.arm not in removed]
    known = [each for each in allowed if each.mean is not None]
    if not known:
        return None
    best = max([each for each in known if each.active] or known, key=lambda each: each.mean or 0.0)
    candidates = [each for each in allowed if each.arm == best.arm or may_be_best(each, best)]
    if not (commits or len(candidates) == 1) or any(visits[each.arm] < 2 for each in candidates):
        return None
    return best.arm


def as_html(typed: str, sentences: list[str], estimates: Iterable[Estimate]) -> str:
    """A policy as a notebook shows it: what one would type, what it says, what it believes."""
    table = _render.new_table(None, ["arm", "mean", "95% limits", "rounds", "in play"])
    for row in estimates:
        mean = "?" if row.mean is None else f"{row.mean:.4g}"
        limits = "" if row.mean is None else f"{row.low:.3g} to {row.high:.3g}"
        table.add_row(row.name, mean, limits, f"{row.plays:,}", "yes" if row.active else "no")
    return _render.heading(typed) + _render.sentences(sentences) + _render.table(table)
