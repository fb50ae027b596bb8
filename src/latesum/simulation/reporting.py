"""How totals are reported when the source of them is not perfect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from latesum._checks import InvalidInput, finite_number, whole_number


@dataclass(frozen=True)
class Background:
    """What is in every total whatever is played: sales that no option caused, and noise.

    Rounds are independent, so a block has one draw.

    Args:
        mean: The mean per round.
        sd: The standard deviation per round, where it is normal.
        counts: Whether it is Poisson with that mean, in place of normal.

    >>> Background(0.01, counts=True).draw(0, np.random.default_rng(1))
    0.0
    """

    mean: float = 0.0
    sd: float = 0.0
    counts: bool = False

    def __post_init__(self) -> None:
        finite_number(
            self.mean, "the mean of the background", at_least=0 if self.counts else -1e300
        )
        finite_number(self.sd, "the sd of the background", at_least=0)
        if self.counts and self.sd:
            raise InvalidInput("a background of counts is Poisson: its sd follows from its mean.")

    def draw(self, rounds: int, rng: np.random.Generator) -> float:
        """What comes in `rounds` rounds."""
        if self.counts:
            return float(rng.poisson(self.mean * rounds))
        return float(self.mean * rounds + self.sd * np.sqrt(rounds) * rng.standard_normal())

    @property
    def text(self) -> str:
        """The background in a few words."""
        law = "counts" if self.counts else f"sd {self.sd:g}"
        return f"background of {self.mean:g} per round ({law})"


@dataclass(frozen=True)
class Reporting:
    """What happens to a bucket's total before it is known.

    Args:
        missing: The chance that it never comes.
        noise: The scale of Laplace noise that is added to every report, for privacy.
        final_after: The number of buckets after which a total is restated.
        first_share: The factor by which the report is off until then.
        first_error: The standard deviation of its relative error until then.
        together: The number of buckets that are reported at once, at the end of the last.
        summed: Whether only their sum is reported; this is of use only where one option was played
            in all of them.

    >>> Reporting(missing=0.05, together=24).text
    'totals missing in 5% of buckets, reported 24 buckets at once'
    """

    missing: float = 0.0
    noise: float = 0.0
    final_after: int = 0
    first_share: float = 1.0
    first_error: float = 0.0
    together: int = 1
    summed: bool = False

    def __post_init__(self) -> None:
        finite_number(self.missing, "the chance of a missing total", at_least=0, at_most=1)
        finite_number(self.noise, "the scale of the noise", at_least=0)
        whole_number(self.final_after, "the buckets until a total is final")
        finite_number(self.first_share, "the share in a first report", above=0)
        finite_number(self.first_error, "the error of a first report", at_least=0)
        whole_number(self.together, "the buckets reported together", at_least=1)

    def first_report(self, total: float, rng: np.random.Generator) -> float:
        """What is said of a total before it is restated."""
        return total * self.first_share * (1 + self.first_error * float(rng.standard_normal()))

    def is_missing(self, rng: np.random.Generator) -> bool:
        """Whether a total never comes."""
        return self.missing > 0 and float(rng.random()) < self.missing

    def noisy(self, total: float, rng: np.random.Generator) -> float:
        """A total with the noise of its report."""
        return total + float(rng.laplace(0.0, self.noise)) if self.noise else total

    @property
    def text(self) -> str:
        """The reporting in a few words."""
        parts = []
        if self.missing:
            parts.append(f"missing in {self.missing:.0%} of buckets")
        if self.noise:
            parts.append(f"with Laplace noise of scale {self.noise:g}")
        if self.final_after:
            parts.append(f"restated after {self.final_after} buckets")
        if self.together > 1:
            parts.append(
                f"reported {self.together} buckets {'in one sum' if self.summed else 'at once'}"
            )
        return "totals " + (", ".join(parts) or "as they are")
