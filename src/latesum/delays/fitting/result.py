"""What a fit gives: numbers with limits, a delay for `Problem`, a picture, and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum.delays.base import Delay, Floats
from latesum.delays.fitting.curve import Curve
from latesum.delays.fitting.limits import quantile_limits
from latesum.delays.fitting.resampled import Curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99)
RESAMPLES = 400
#: Another curve that the data allow widens the limits by this share of its distance: it is further
#: from the estimate than the truth is.
_OTHER_SHARE = 0.25


class Limited(NamedTuple):
    """An estimate and the confidence limits around it."""

    value: float
    low: float
    high: float


class Estimated(NamedTuple):
    """What each kind of data makes of itself.

    `resample` draws the curves that other data of the same size might have given; `other` is a curve
    that the same data allow as well, and widens the limits, on both sides, by its distance.
    """

    curve: Curve
    resample: Callable[[np.random.Generator, int], Curves]
    observations: int
    bound: float | None
    warnings: list[str]
    other: Curve | None = None
    #: The quantiles of the normal distribution are replaced by Student's, with this number
    #: of degrees of freedom, where it is given.
    degrees: float | None = None
    #: Whether the limits of the mean may be at unlike distances.
    skew: bool = False
    #: The resampled limits of quantiles are stretched by this factor.
    stretch: float = 1.0
    #: Out of how many delays each point of the curve was found, where that is known: the limits of
    #: quantiles are then those of binomial shares, not resampled ones.
    numbers: Floats | None = None
    #: What may come after the data end and is not in the curve: by how much it would raise the mean.
    later: float = 0.0
    #: The standard error of the mean where a formula gives one.
    formula_error: float | None = None


@dataclass(frozen=True)
class FittedDelay:
    """A delay estimated from data, in the time unit of the data.

    `largest_seen`, `observed_until`, `unseen` and `restricted_mean` need no assumption about the tail.
    If the largest delay was given, the limits of all other numbers allow the unseen share anywhere
    between the end of the data and there.

    Args:
        kind: What the data are, as for `fit`.
        unit: The name of the time unit.
        observations: The number of rows in the data.
        level: The level of the confidence limits.
        mean: The mean delay.
        variance: The variance of the delay.
        quantiles: The quantiles of some shares.
        bound: The largest delay possible, where it was given, otherwise None: no data show one.
        largest_seen: The largest delay that was seen to its end.
        restricted_mean: The mean that counts no delay beyond `observed_until`.
        observed_until: Where the data end.
        unseen: The share that is still to come where the data end.
        warnings: What to keep in mind, in sentences.
        curve: The share that has not arrived yet over time.
        band: Times, and the lower and the upper limit of the curve there.
        mean_error: The standard error of the mean, by resampling.
        mack_error: The same by Mack's formula, for triangles; what comes after the last lag is
            taken as given.
    """

    kind: str
    unit: str
    observations: int
    level: float
    mean: Limited
    variance: Limited
    quantiles: dict[float, Limited]
    bound: float | None
    largest_seen: float
    restricted_mean: float
    observed_until: float
    unseen: float
    warnings: tuple[str, ...]
    curve: Curve
    band: tuple[Floats, Floats, Floats]  # times, and limits of the share not yet arrived
    mean_error: float
    mack_error: float | None = None

    def delay(self, rounds_per_unit: float = 1.0) -> Delay:
        """The delay that `Problem` takes, in rounds.

        It has the quantiles, the variance and the bound reported here, rounded up to whole rounds. A
        bound is there only if the largest delay was given: a policy that needs one, such as
        ODAAF-B, asks for it.

        Args:
            rounds_per_unit: The number of rounds that are played per time unit.

        >>> from latesum import delays
        >>> fitted = delays.fit([1, 2, 2, 5])
        >>> fitted.largest_seen, fitted.delay(rounds_per_unit=100).bound
        (5.0, None)
        >>> delays.fit([1, 2, 2, 5], largest=7).delay(rounds_per_unit=100).bound
        700
        """
        scale = finite_number(rounds_per_unit, "the rounds per time unit", above=0)
        return self.curve.to_delay(scale)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The share that has arrived over time, with its limits; written to `path` if given.

        Args:
            path: The file to write, if any.
        """
        from latesum.delays.fitting.picture import draw_fit

        return draw_fit(self, path)

    def to_json(self) -> dict[str, Any]:
        """The numbers as JSON values; `delay` is in the data's time unit, for `delays.parse`."""
        return {
            "kind": self.kind,
            "unit": self.unit,
            "observations": self.observations,
            "level": self.level,
            "mean": self.mean._asdict(),
            "mean_error": self.mean_error,
            "mack_error": self.mack_error,
            "variance": self.variance._asdict(),
            "quantiles": {f"{share:g}": row._asdict() for share, row in self.quantiles.items()},
            "bound": self.bound,
            "largest_seen": self.largest_seen,
            "restricted_mean": self.restricted_mean,
            "observed_until": self.observed_until,
            "unseen": self.unseen,
            "warnings": list(self.warnings),
            "delay": self.curve.to_delay(1.0).text,
        }

    def __str__(self) -> str:
        rows = [("mean", self.mean), ("variance", self.variance)]
        rows += [(f"{share:.0%} within", row) for share, row in self.quantiles.items()]
        lines = [
            f"Delays from {self.observations:,} {self.kind} rows, in units of one {self.unit}; "
            f"{self.level:.0%} limits"
        ]
        lines += [
            f"{name:>12} {row.value:10.4g}  {row.low:.4g} to {row.high:.4g}" for name, row in rows
        ]
        lines.append(f"{'largest seen':>12} {self.largest_seen:10.4g}")
        bound = "not known" if self.bound is None else f"{self.bound:.4g}"
        lines.append(f"{'bound':>12} {bound:>10}")
        return "\n".join(lines + [f"Warning: {warning}" for warning in self.warnings])


def finish(estimated: Estimated, kind: str, unit: str, level: float, seed: int) -> FittedDelay:
    """Limits by resampling: on a logarithmic scale for mean and variance, which are skew.

    Where the largest delay is known, what the data do not show may be anywhere up to it. So the
    lower limits are those of the curve that puts it as early as possible, the upper limits those
    of the one that puts it as late, or as far apart, as possible.
    """
    if not 0 < level < 1:
        raise InvalidInput(f"the confidence level must be between 0 and 1, not {level!r}.")
    curve = estimated.curve
    drawn = estimated.resample(np.random.default_rng(seed), RESAMPLES)
    early, late = drawn.earliest(), drawn.latest()
    grid = np.linspace(0.0, max(curve.quantile(0.999), float(curve.times[-1])), 120)
    sides = ((1 - level) / 2, (1 + level) / 2)
    low = np.quantile(early.survivals(grid), sides[0], axis=0)
    high = np.quantile(late.survivals(grid), sides[1], axis=0)
    degrees, other = estimated.degrees, estimated.other or curve
    inside = _OTHER_SHARE * abs(other.mean - curve.mean)
    stretch = estimated.stretch * _students(level, degrees) / _students(level, None)
    if estimated.skew:
        low_mean = _skew_limits(curve.earliest().mean, early.means(), level, stretch)[0]
        high_mean = _skew_limits(curve.latest().mean, late.means(), level, stretch)[1]
    else:
        low_mean = _log_limits(curve.earliest().mean, early.means(), level, degrees)[0]
        high_mean = _log_limits(curve.latest().mean, late.means(), level, degrees)[1]
    mean = Limited(curve.mean, max(low_mean - inside, 0.0), high_mean + inside + estimated.later)
    variance = Limited(
        curve.variance,
        _log_limits(curve.earliest().variance, early.variances(), level)[0],
        _log_limits(curve.widest().variance, drawn.widest().variances(), level)[1],
    )
    quantiles = {}
    numbers = estimated.numbers
    exact = {} if numbers is None else quantile_limits(curve, numbers, QUANTILES, level)
    for share in QUANTILES:
        value = curve.quantile(share)
        inside = _OTHER_SHARE * abs(other.quantile(share) - value)
        lowest, highest = _quantile_limits(estimated, early, late, share, level, exact.get(share))
        below = stretch * max(value - lowest, 0.0) + inside
        above = stretch * max(highest - value, 0.0) + inside
        most = np.inf if curve.largest is None else curve.largest
        quantiles[share] = Limited(value, max(value - below, 0.0), min(value + above, most))
    # With a largest delay these are the errors of the placement that is reported.
    completed = drawn.with_even_rest()
    return FittedDelay(
        kind, unit, estimated.observations, level, mean, variance, quantiles, estimated.bound,
        curve.largest_seen, curve.restricted_mean, float(curve.times[-1]), curve.unseen,
        tuple(estimated.warnings), curve, (grid, low, high),
        float(completed.means().std(ddof=1)), estimated.formula_error,
    )  # fmt: skip


def _quantile_limits(
    estimated: Estimated, early: Curves, late: Curves, share: float, level: float,
    exact: tuple[float | None, float | None] | None,
) -> tuple[float, float]:  # fmt: skip
    """Exact limits as far as there are any, and otherwise resampled ones."""
    low, high = exact or (None, None)
    if low is None:
        low = float(np.quantile(early.quantiles(share), (1 - level) / 2))
    if high is None:
        high = float(np.quantile(late.quantiles(share), (1 + level) / 2))
        if estimated.curve.largest is not None:
            high = estimated.curve.largest  # the data do not exclude it
    return low, high


def _log_limits(
    value: float, drawn: Floats, level: float, degrees: float | None = None
) -> tuple[float, float]:
    """Limits around the estimate, from what was resampled."""
    positive = drawn[drawn > 0]
    if value <= 0 or len(positive) < len(drawn) / 2:
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return min(float(low), value), max(float(high), value)
    factor = float(np.exp(_students(level, degrees) * np.log(positive).std(ddof=1)))
    return value / factor, value * factor


def _skew_limits(value: float, drawn: Floats, level: float, stretch: float) -> tuple[float, float]:
    """The same where a tail that is not seen makes the upper limit further off than the lower one."""
    low, middle, high = np.quantile(drawn, [(1 - level) / 2, 0.5, (1 + level) / 2])
    if value <= 0 or low <= 0:
        return min(float(low), value), max(float(high), value)
    return value * float(low / middle) ** stretch, value * float(high / middle) ** stretch


def _students(level: float, degrees: float | None) -> float:
    """Within how many standard errors an estimate is with this probability; normal without degrees."""
    from scipy import stats

    share = (1 + level) / 2
    return float(stats.norm.ppf(share) if degrees is None else stats.t.ppf(share, degrees))
