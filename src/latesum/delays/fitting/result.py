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

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99)
RESAMPLES = 400


class Limited(NamedTuple):
    """An estimate and the confidence limits around it."""

    value: float
    low: float
    high: float


class Estimated(NamedTuple):
    """What each kind of data makes of itself.

    `resample` draws the curve that other data of the same size might have given; `allowance` widens
    the limits of the mean, on both sides, by what no resampling shows.
    """

    curve: Curve
    resample: Callable[[np.random.Generator], Curve]
    observations: int
    bound: float | None
    warnings: list[str]
    allowance: float = 0.0
    #: The quantiles of the normal distribution are replaced by Student's, with this number
    #: of degrees of freedom, where it is given.
    degrees: float | None = None


@dataclass(frozen=True)
class FittedDelay:
    """A delay estimated from data, in the time unit of the data.

    `bound`, `observed_until`, `unseen` and `restricted_mean` need no assumption about the tail. If
    the largest delay was given, the limits of all other numbers allow the unseen share anywhere
    between the end of the data and there.

    Args:
        kind: What the data are, as for `fit`.
        unit: The name of the time unit.
        observations: The number of rows in the data.
        level: The level of the confidence limits.
        mean: The mean delay.
        variance: The variance of the delay.
        quantiles: The quantiles of some shares.
        bound: The largest delay where the data show one or one was given, otherwise None.
        restricted_mean: The mean that counts no delay beyond `observed_until`.
        observed_until: Where the data end.
        unseen: The share that is still to come where the data end.
        warnings: What to keep in mind, in sentences.
        curve: The share that has not arrived yet over time.
        band: Times, and the lower and the upper limit of the curve there.
    """

    kind: str
    unit: str
    observations: int
    level: float
    mean: Limited
    variance: Limited
    quantiles: dict[float, Limited]
    bound: float | None
    restricted_mean: float
    observed_until: float
    unseen: float
    warnings: tuple[str, ...]
    curve: Curve
    band: tuple[Floats, Floats, Floats]  # times, and limits of the share not yet arrived

    def delay(self, rounds_per_unit: float = 1.0) -> Delay:
        """The delay that `Problem` takes, in rounds.

        It has the quantiles, the variance and the bound reported here, rounded up to whole rounds.

        Args:
            rounds_per_unit: The number of rounds that are played per time unit.

        >>> from latesum import delays
        >>> delays.fit([1, 2, 2, 5]).delay(rounds_per_unit=100).bound
        500
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
            "variance": self.variance._asdict(),
            "quantiles": {f"{share:g}": row._asdict() for share, row in self.quantiles.items()},
            "bound": self.bound,
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
        bound = "none seen" if self.bound is None else f"{self.bound:.4g}"
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
    rng = np.random.default_rng(seed)
    curve = estimated.curve
    drawn = [curve] + [estimated.resample(rng) for _ in range(RESAMPLES)]
    early, late = [each.earliest() for each in drawn], [each.latest() for each in drawn]
    grid = np.linspace(0.0, max(curve.quantile(0.999), float(curve.times[-1])), 120)
    sides = ((1 - level) / 2, (1 + level) / 2)
    low = np.quantile([each.survival(grid) for each in early[1:]], sides[0], axis=0)
    high = np.quantile([each.survival(grid) for each in late[1:]], sides[1], axis=0)
    degrees = estimated.degrees
    mean = Limited(
        curve.mean,
        max(
            _log_limits([each.mean for each in early], level, degrees)[0] - estimated.allowance, 0.0
        ),
        _log_limits([each.mean for each in late], level, degrees)[1] + estimated.allowance,
    )
    variance = Limited(
        curve.variance,
        _log_limits([each.variance for each in early], level)[0],
        _log_limits([each.widest().variance for each in drawn], level)[1],
    )
    quantiles = {}
    for share in QUANTILES:
        value = curve.quantile(share)
        lowest = float(np.quantile([each.quantile(share) for each in early[1:]], sides[0]))
        highest = float(np.quantile([each.quantile(share) for each in late[1:]], sides[1]))
        quantiles[share] = Limited(value, min(lowest, value), max(highest, value))
    return FittedDelay(
        kind, unit, estimated.observations, level, mean, variance, quantiles, estimated.bound,
        curve.restricted_mean, float(curve.times[-1]), curve.unseen, tuple(estimated.warnings),
        curve, (grid, low, high),
    )  # fmt: skip


def _log_limits(
    values: list[float], level: float, degrees: float | None = None
) -> tuple[float, float]:
    """Limits around the first of the values, which is the estimate; the others were resampled."""
    from scipy import stats

    value, drawn = values[0], values[1:]
    positive = np.array([each for each in drawn if each > 0])
    if value <= 0 or len(positive) < len(drawn) / 2:
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return min(float(low), value), max(float(high), value)
    share = (1 + level) / 2
    z = float(stats.norm.ppf(share) if degrees is None else stats.t.ppf(share, degrees))
    factor = float(np.exp(z * np.log(positive).std(ddof=1)))
    return value / factor, value * factor
