"""The records of the protocol: the block asked for, the play told, the estimate reported."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

#: Why a block is played. "learn": to learn from it. "bridge": played and not learned from.
#: "commit": the answer stands. "override": something else was played than the policy asked for.
Purpose = Literal["learn", "bridge", "commit", "override"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)


class Block(NamedTuple):
    """What a policy asks for: play `arm` for at least `rounds` rounds.

    Args:
        arm: The arm to play.
        rounds: The least number of rounds.
        purpose: Why it is played.
        number: Counts the policy's decisions; the base class gives it, so that a policy leaves it
            out.
        segment: The longest segment that the policy wants to be told at once; None: any.

    >>> Block(0, 150, "learn", number=3)
    Block(arm=0, rounds=150, purpose='learn', number=3)
    """

    arm: int
    rounds: int
    purpose: Purpose
    number: int = 0
    segment: int | None = None

    def __repr__(self) -> str:
        """As one would type it: without `segment` where there is none."""
        shown = self if self.segment is not None else self[:4]
        fields = (f"{name}={value!r}" for name, value in zip(self._fields, shown, strict=False))
        return f"Block({', '.join(fields)})"


class Play(NamedTuple):
    """What was really played, and the total that arrived meanwhile.

    Args:
        arm: The arm that was played.
        rounds: The number of rounds.
        total: What arrived meanwhile; None while it is not known.
        purpose: Why it was played.
        number: The number of the block that the play is a part of.
    """

    arm: int
    rounds: int
    total: float | None = None
    purpose: Purpose = "learn"
    number: int | None = None


class Estimate(NamedTuple):
    """What a policy believes of one arm.

    Args:
        arm: The arm.
        name: Its name.
        mean: Its mean reward; None if nothing is known.
        low: The lower limit of the mean.
        high: The upper limit of the mean.
        plays: The number of rounds that the policy has learned from.
        active: Whether the arm may still be the answer.
    """

    arm: int
    name: str
    mean: float | None
    low: float
    high: float
    plays: int
    active: bool
