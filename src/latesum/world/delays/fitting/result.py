"""What a fit gives: numbers with limits, a delay for `Problem`, a picture, and warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum.world.delays.base import Delay, Floats
from latesum.world.delays.fitting.curve import Curve

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
    the limits of the mean, downwards and upwards, by what no resampling shows.
    """

    curve: Curve
    resample: Callable[[np.random.Generator], Curve]
    observations: int
    bound: float | None
    warnings: list[str]
    allowance: tuple[float, float] = (0.0, 0.0)
    #: The quantiles of the normal distribution are replaced by Student's, where it has so many
    #: degrees of freedom.
    degrees: float | None = None


@dataclass(frozen=True)
class FittedDelay:
    """A delay estimated from data, in the time unit of the data.

    `bound` is the largest delay where the data show one, else None. `restricted_mean` counts no
    delay beyond `observed_until`: it needs no assumption about the tail.
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
        """The delay that `Problem` takes, in rounds, of which so many are played per time unit.

        It has the quantiles, the variance and the bound reported here, rounded up to whole rounds.

        >>> from latesum import delays
        >>> delays.fit([1, 2, 2, 5]).delay(rounds_per_unit=100).bound
        500
        """
        scale = finite_number(rounds_per_unit, "the rounds per time unit", above=0)
        return self.curve.to_delay(scale)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The share that has arrived over time, with its limits; written to `path` if given."""
        from latesum.world.delays.fitting.picture import draw_fit

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
    """Limits by resampling: on a logarithmic scale for mean and variance, which are skew."""
    if not 0 < level < 1:
        raise InvalidInput(f"the confidence level must be between 0 and 1, not {level!r}.")
    rng = np.random.default_rng(seed)
    curve = estimated.curve
    drawn = [estimated.resample(rng) for _ in range(RESAMPLES)]
    far = max(curve.quantile(0.999) if curve.unseen < 0.001 or curve.tail else 0, curve.times[-1])
    grid = np.linspace(0.0, far, 120)
    bands = np.array([each.survival(grid) for each in drawn])
    sides = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(bands, sides, axis=0)
    mean = _log_limits(curve.mean, [each.mean for each in drawn], level, estimated.degrees)
    mean = Limited(
        mean.value, max(mean.low - estimated.allowance[0], 0.0), mean.high + estimated.allowance[1]
    )
    variance = _log_limits(curve.variance, [each.variance for each in drawn], level, None)
    quantiles = {}
    for share in QUANTILES:
        if curve.tail is None and 1 - share < curve.unseen:
            continue
        value = curve.quantile(share)
        limits = np.quantile([each.quantile(share) for each in drawn], sides)
        quantiles[share] = Limited(
            value, min(float(limits[0]), value), max(float(limits[1]), value)
        )
    return FittedDelay(
        kind, unit, estimated.observations, level, mean, variance, quantiles, estimated.bound,
        curve.restricted_mean, float(curve.times[-1]), curve.unseen, tuple(estimated.warnings),
        curve, (grid, low, high),
    )  # fmt: skip


def _log_limits(value: float, drawn: list[float], level: float, degrees: float | None) -> Limited:
    from scipy import stats

    positive = np.array([each for each in drawn if each > 0])
    if value <= 0 or len(positive) < len(drawn) / 2:
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return Limited(value, min(float(low), value), max(float(high), value))
    share = (1 + level) / 2
    z = float(stats.norm.ppf(share) if degrees is None else stats.t.ppf(share, degrees))
    factor = float(np.exp(z * np.log(positive).std(ddof=1)))
    return Limited(value, value / factor, value * factor)
