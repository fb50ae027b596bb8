"""What a plan says while it is being made: the verdict as it is by now, and how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from latesum.planning.answers import Forecast, Thresholds
from latesum.planning.verdict import recommend

#: A few runs of each policy, more of those that may be the best, all that are needed, and what follows it.
Stage = Literal["first look", "closer look", "main answer"]


@dataclass(frozen=True)
class PresentAnswer:
    """The answer of a plan by the runs that were made by now.

    Args:
        stage: "first look", "closer look" or "main answer".
        answers: How each policy does, by the runs that it has.
        thresholds: When it is a go.
    """

    stage: Stage
    answers: tuple[Forecast, ...]
    thresholds: Thresholds

    @property
    def recommended(self) -> Forecast:
        """The policy that would be recommended now."""
        return recommend(list(self.answers), self.thresholds)[0]

    @property
    def go(self) -> bool:
        """Whether it is a go as asked; what would make it one is looked for after the main answer."""
        return self.recommended.passes(self.thresholds)

    @property
    def sure(self) -> bool:
        """Whether it stays so within the uncertainty of the simulation."""
        return self.recommended.is_sure(self.thresholds)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        best = self.recommended
        return {
            "stage": self.stage, "go": self.go, "sure": self.sure, "sentence": str(self),
            "label": best.candidate.label, "replications": best.replications,
            "ended_well": best.ended_well._asdict(), "gain": best.gain._asdict(),
        }  # fmt: skip

    def __str__(self) -> str:
        best, well = self.recommended, self.recommended.ended_well
        answer = "go" if self.go else "not a go as asked"
        yet = "" if self.stage == "main answer" else " yet"
        sure = "" if self.sure else f", not sure{yet}"
        return (
            f"{self.stage}: {answer}{sure}; {best.candidate.label} ends right in {well.value:.0%} "
            f"({well.low * 100:.0f}-{well.high * 100:.0f}) of {best.replications:,} runs"
        )


#: Called with the present answer each time that there is a surer one.
OnAnswer = Callable[[PresentAnswer], None]
