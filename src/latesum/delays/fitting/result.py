"""Result of a fit: numbers with confidence limits, a delay for `Problem`, a picture, warnings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from latesum._checks import InvalidInput, finite_number
from latesum._extras import figure_class, save
from latesum._render import TextTable, new_table
from latesum.delays.base import Delay
from latesum.delays.composite import from_curve
from latesum.delays.curves import Curve, Floats, Uncertain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99)
RESAMPLES = 400
#: The shares of what is resampled below the confidence limits.
_BELOW, _ABOVE = (1 - 0.95) / 2, (1 + 0.95) / 2
#: Another curve that the data allow widens the limits by this share of its distance: it is further
#: from the estimate than the truth is.
_OTHER_SHARE = 0.25
#: Limits from some dozens of buckets that are drawn again are too short by about this factor.
_WIDENED = 1.1
#: If a larger share than this comes after the last observed time, no assumption about the tail is
#: better than a guess: the fit is refused.
MAX_UNSEEN = 0.2
#: A smaller share than this needs no warning.
_NEGLIGIBLE = 1e-4


class Estimated(NamedTuple):
    """The estimate from one kind of data, before its confidence limits."""

    curve: Curve
    #: Draws the curves that other data of the same size might have given.
    resample: Callable[[np.random.Generator, int], Curve]
    #: What the data are, such as "1,000 single delays".
    basis: str
    observations: int
    warnings: list[str]
    #: A curve that the same data allow as well: its distance widens the limits, on both sides.
    other: Curve | None = None
    #: Out of how many delays each point of the curve was found, where that is known: the limits of
    #: quantiles are then those of binomial shares, not resampled ones.
    numbers: Floats | None = None
    #: Of buckets that are drawn again: the degrees of freedom of Student's t, by which limits are
    #: wider than the resampled ones; those of the mean may be at unlike distances.
    degrees: float | None = None


@dataclass(frozen=True)
class FittedDelay:
    """A delay estimated from data, in the time unit of the data.

    `largest_seen`, `observed_until`, `unseen` and `restricted_mean` need no assumption about the
    tail.

    Args:
        basis: What the data are, such as "1,000 single delays".
        largest_seen: The largest delay that was seen to its end; longer ones are possible.
        restricted_mean: The mean that counts no delay beyond `observed_until`.
        observed_until: Where the data end.
        unseen: The share that is still to come where the data end.
        curve: The share that has not arrived yet over time.
        band: Times, and the lower and the upper limit of the curve there.
        mean_error: The standard error of the mean, by resampling.
    """

    kind: str
    unit: str
    basis: str
    observations: int
    mean: Uncertain
    variance: Uncertain
    quantiles: dict[float, Uncertain]
    largest_seen: float
    restricted_mean: float
    observed_until: float
    unseen: float
    warnings: tuple[str, ...]
    curve: Curve
    band: tuple[Floats, Floats, Floats]
    mean_error: float

    def delay(self, rounds_per_unit: float = 1.0) -> Delay:
        """The delay that `Problem` takes, in rounds.

        It has the quantiles and the variance reported here, rounded up to whole rounds. It has no
        bound, because no data show one; where the largest delay is known, truncate it there.

        >>> from latesum import delays
        >>> fitted = delays.fit([1, 2, 2, 5])
        >>> fitted.largest_seen, fitted.delay(rounds_per_unit=100).bound
        (5.0, None)
        >>> fitted.delay(rounds_per_unit=100).truncated(700).bound
        700
        """
        scale = finite_number(rounds_per_unit, "the rounds per time unit", above=0)
        return from_curve(self.curve, scale)

    def plot(self, path: str | Path | None = None) -> Figure:
        """The share that has arrived over time, with its limits; written to `path` if given."""
        figure = figure_class()(figsize=(7.2, 4.2), layout="constrained")
        axes = figure.subplots()
        grid, low, high = self.band
        times = np.linspace(0, grid[-1], 600)
        axes.plot(times, 1 - self.curve.survival(times), color="#0072B2", label="arrived")
        axes.fill_between(grid, 1 - high, 1 - low, color="#0072B2", alpha=0.2, linewidth=0)
        axes.axvline(self.mean.value, color="#D55E00", label=f"mean {self.mean.value:.4g}")
        axes.axvspan(self.mean.low, self.mean.high, color="#D55E00", alpha=0.15, linewidth=0)
        if self.unseen > 0:
            axes.axvline(self.observed_until, color="black", linestyle=":", label="the data end")
        axes.set(xlim=(0, None), ylim=(0, 1.02), ylabel="share that has arrived")
        axes.set_xlabel(f"delay in {plural(self.unit)}")
        axes.set_title(f"{self.basis}, 95% limits", fontsize=9)
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize=8)
        return save(figure, path)

    def to_json(self) -> dict[str, Any]:
        """The numbers as JSON values; `delay` is in the data's time unit, for `delays.parse`."""
        plain = {name: each for name, each in vars(self).items() if name not in ("curve", "band")}
        del plain["basis"]
        return {
            **plain,
            "mean": self.mean._asdict(),
            "variance": self.variance._asdict(),
            "quantiles": {f"{share:g}": row._asdict() for share, row in self.quantiles.items()},
            "warnings": list(self.warnings),
            "delay": from_curve(self.curve, 1.0).text,
        }

    def table(self) -> TextTable:
        """The estimates with their limits, as a table."""
        title = f"Delays from {self.basis}, in {plural(self.unit)}"
        table = new_table(title, ["", "estimate", "95% limits"])
        rows = {"mean": self.mean, "variance": self.variance}
        rows |= {f"{share:.0%} arrive within": row for share, row in self.quantiles.items()}
        for name, row in rows.items():
            table.add_row(name, f"{row.value:,.4g}", f"{row.low:,.4g} to {row.high:,.4g}")
        table.add_row("standard error of the mean", f"{self.mean_error:,.4g}", "")
        table.add_row("largest seen", f"{self.largest_seen:,.4g}", "")
        return table

    def __str__(self) -> str:
        return "\n".join([str(self.table()), *(f"Warning: {each}" for each in self.warnings)])


def finish(estimated: Estimated, kind: str, unit: str) -> FittedDelay:
    """Limits by resampling: on a logarithmic scale for mean and variance, which are skew."""
    from scipy.special import ndtri, stdtrit  # scipy.stats takes a second to import

    curve, degrees, other = estimated.curve, estimated.degrees, estimated.other or estimated.curve
    tail_warning = _check_tail(curve, unit)
    drawn = estimated.resample(np.random.default_rng(0), RESAMPLES)
    grid = np.linspace(0.0, max(float(curve.quantile(0.999)), float(curve.times[-1])), 120)
    low, high = np.quantile(drawn.survival(grid), [_BELOW, _ABOVE], axis=0)
    wider = 1.0
    if degrees is not None:
        wider = _WIDENED * float(stdtrit(degrees, _ABOVE)) / float(ndtri(_ABOVE))

    mean, variance = float(curve.mean), float(curve.variance)
    if degrees is None:
        low_mean, high_mean = _log_limits(mean, drawn.mean)
    else:  # an unseen tail makes the upper limit further off than the lower one
        low_mean, middle, high_mean = map(float, np.quantile(drawn.mean, [_BELOW, 0.5, _ABOVE]))
        if mean > 0 and low_mean > 0:
            low_mean, high_mean = (mean * (end / middle) ** wider for end in (low_mean, high_mean))
        else:
            low_mean, high_mean = min(low_mean, mean), max(high_mean, mean)
    apart = _OTHER_SHARE * abs(float(other.mean) - mean)
    limited_mean = Uncertain(mean, max(low_mean - apart, 0.0), high_mean + apart)
    quantiles = {}
    exact = _exact_limits(curve, estimated.numbers)
    for share in QUANTILES:
        value = float(curve.quantile(share))
        apart = _OTHER_SHARE * abs(float(other.quantile(share)) - value)
        lowest, highest = exact[share]
        if lowest is None:
            lowest = float(np.quantile(drawn.quantile(share), _BELOW))
        if highest is None:
            highest = float(np.quantile(drawn.quantile(share), _ABOVE))
        lowest = value - (wider * max(value - lowest, 0.0) + apart)
        highest = value + (wider * max(highest - value, 0.0) + apart)
        quantiles[share] = Uncertain(value, max(lowest, 0.0), highest)
    return FittedDelay(
        kind=kind,
        unit=unit,
        basis=estimated.basis,
        observations=estimated.observations,
        mean=limited_mean,
        variance=Uncertain(variance, *_log_limits(variance, drawn.variance)),
        quantiles=quantiles,
        largest_seen=curve.largest_seen,
        restricted_mean=float(curve.restricted_mean),
        observed_until=float(curve.times[-1]),
        unseen=float(curve.unseen),
        warnings=(*tail_warning, *estimated.warnings),
        curve=curve,
        band=(grid, low, high),
        mean_error=float(drawn.mean.std(ddof=1)),
    )


def plural(unit: str) -> str:
    """The plural of a unit of time, such as "hour" or "bucket of 3 days".

    >>> plural("hour"), plural("days"), plural("bucket of 3 days")
    ('hours', 'days', 'buckets of 3 days')
    """
    noun, *rest = unit.split(" of ", maxsplit=1)
    return " of ".join([noun if noun.endswith("s") else f"{noun}s", *rest])


def _check_tail(curve: Curve, unit: str) -> list[str]:
    """Refuse a tail that no data supports, and say in a sentence what is assumed of another."""
    until, units = float(curve.times[-1]), plural(unit)
    if curve.unseen > MAX_UNSEEN:
        raise InvalidInput(
            f"{curve.unseen:.0%} of the delays are longer than {until:g}, where the data end: no "
            "data supports a tail. Observe for longer, or say by when how many have arrived, such "
            'as "half within 2 days, all within 30 days".'
        )
    if curve.unseen <= _NEGLIGIBLE:
        return []
    return [
        f"the tail is longer than the data: {curve.unseen:.1%} of the delays are beyond "
        f"{until:.4g} {units}; they are taken to go on at the pace seen before "
        f"({curve.tail:.4g} {units} later on average), which the data cannot show."
    ]


def _log_limits(value: float, drawn: Floats) -> tuple[float, float]:
    """Limits around the estimate, from what was resampled."""
    from scipy.special import ndtri

    positive = drawn[drawn > 0]
    if value <= 0 or len(positive) < len(drawn) / 2:
        low, high = np.quantile(drawn, [_BELOW, _ABOVE])
        return min(float(low), value), max(float(high), value)
    factor = float(np.exp(float(ndtri(_ABOVE)) * np.log(positive).std(ddof=1)))
    return value / factor, value * factor


def _exact_limits(
    curve: Curve, numbers: Floats | None
) -> dict[float, tuple[float | None, float | None]]:
    """The limits of quantiles; None where the data end before that limit.

    A quantile is above a time if and only if the share left there is above 1 - p. So the limits of
    the quantile are where the limits of the share cross 1 - p. Those are Clopper and Pearson's, of
    a binomial number out of the number of delays; where some are censored, out of the number that
    would give the variance of Greenwood's formula.
    """
    from scipy.special import betaincinv

    if numbers is None:
        return dict.fromkeys(QUANTILES, (None, None))
    count, rest = numbers * curve.surviving, numbers * (1 - curve.surviving)
    low = np.where(count > 0, betaincinv(np.maximum(count, 1e-9), rest + 1, _BELOW), 0.0)
    high = np.where(rest > 0, betaincinv(count + 1, np.maximum(rest, 1e-9), 1 - _BELOW), 1.0)
    lower = Curve(curve.times, np.minimum.accumulate(low))
    upper = Curve(curve.times, np.maximum.accumulate(high[::-1])[::-1])

    def within(limit: Curve, share: float) -> float | None:
        return float(limit.quantile(share)) if limit.unseen <= 1 - share + 1e-12 else None

    return {share: (within(lower, share), within(upper, share)) for share in QUANTILES}
