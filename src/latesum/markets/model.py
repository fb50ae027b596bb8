"""One fit: the posterior of all states of a market, given its rows and its hyperparameters."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.markets import filter_kernels as kernels
from latesum.markets.arrival_kernels import arrival_mix
from latesum.markets.arrivals import shape_of
from latesum.markets.config import NOT_KNOWN, NOTHING, PATTERNS, MarketConfig
from latesum.markets.rows import FIRST_BUCKETS, Panel, before_shares

Floats = NDArray[np.float64]

#: Up to this many regions the filter has the full covariance; beyond, it is blocked by region.
DENSE_REGIONS = 8
#: The sd of the prior of the pattern, of its deviations in a region, and of a region's level.
PATTERN_SD, DEVIATION_SD, LEVEL_SD = 0.3, 0.2, 0.3
#: The sd of a region's level where none of its totals is known yet.
_UNKNOWN_LEVEL_SD = 1.5
#: Where it is not known what ran before, V gets the square of this times the share of arrivals from then. They are off
#: in the same direction for days, so that 1, the largest error there is, leaves intervals too narrow: where nothing ran,
#: 90% intervals held 68% of the effects with 1, 79% with 2 and 94% with 3.
NOT_KNOWN_SD = 3.0
#: The same where it is asked for itself whether nothing ran: what ran may then differ by about this much.
SOMETHING_SD = 1.0
#: From this difference of log-likelihoods on, it is clear whether nothing ran before.
_CLEAR = 10.0
#: On a holiday, sales may differ by about this much more than on other days.
HOLIDAY_SD = 0.3


class Hyper(NamedTuple):
    """What is learned once a week: the sizes of all that moves, and the delay.

    Args:
        noise: tau, noise of a bucket that is its own.
        common_walk: sigma_s, the walk of the common level; not used with one region.
        region_walk: sigma_u, the walk of a region's level; with one region, of its level.
        shocks: sigma_d, shocks that all regions share.
        effects: sigma_theta, how far options differ.
        differences: sigma_delta, how far an option's effect differs by region.
        delay: D, the mean delay in buckets.
        dispersion: phi, the variance over the mean; 1 for counts.
        lag_spread: The sd of gamma, how far the options' delays differ (log); 0 if all have the same.
    """

    noise: float
    common_walk: float
    region_walk: float
    shocks: float
    effects: float
    differences: float
    delay: float
    dispersion: float
    lag_spread: float = 0.0

    @property
    def own(self) -> bool:
        """Whether each option has a lag of its own."""
        return self.lag_spread > 0


class StateLayout(NamedTuple):
    """Which states there are, and where."""

    options: int
    regions: int
    patterns: int
    own: bool
    shocks: bool

    @property
    def several(self) -> bool:
        """Whether there are several regions."""
        return self.regions > 1

    @property
    def first_pattern(self) -> int:
        """The first state of the pattern."""
        return self.options * (2 if self.own else 1)

    @property
    def common(self) -> int:
        """How many states the regions share."""
        return self.first_pattern + self.patterns + self.several + self.shocks

    @property
    def special(self) -> int:
        """How many states a region has."""
        return (self.options + self.patterns if self.several else 0) + 1


@dataclass(frozen=True)
class Posterior:
    """What is known of all states after the last row.

    Args:
        layout: Which states there are.
        hyper: The hyperparameters of the fit.
        mean: The means of all states.
        covariance: Their covariance.
        mix: X by bucket, region and option: the exposure behind the arrivals of a bucket.
        surprise: How many standard deviations a total was from what was expected; NaN if it is not known.
        likelihood: The logarithm of the likelihood.
        weights: The sizes of the regions, in sum 1.
    """

    layout: StateLayout
    hyper: Hyper
    mean: Floats
    covariance: Floats
    mix: Floats
    surprise: Floats
    likelihood: float
    weights: Floats

    def effects(self, region: int | None = None) -> tuple[Floats, Floats]:
        """Means and covariance of the options' effects (log), in a region or over all by size.

        Args:
            region: Its place; None for the mean of all regions, weighted by their size.
        """
        if not self.layout.several:
            first = self.layout.options
            return self.mean[:first], self.covariance[:first, :first]
        places = self._rows(region)
        return places @ self.mean, places @ self.covariance @ places.T

    def _rows(self, region: int | None) -> Floats:
        layout = self.layout
        rows = np.zeros((layout.options, len(self.mean)))
        chosen = np.arange(layout.options)
        rows[chosen, chosen] = 1.0
        for place in range(layout.regions) if region is None else (region,):
            weight = self.weights[place] if region is None else 1.0
            rows[chosen, layout.common + place * layout.special + chosen] = weight
        return rows


@functools.lru_cache(maxsize=256)
def _layouts(options: int, regions: int, pattern: str) -> tuple[StateLayout, StateLayout]:
    """With one lag for all options, and with lags of their own."""
    same = StateLayout(options, regions, sum(PATTERNS[pattern]), False, regions > 1)
    return same, same._replace(own=True)


def fit(panel: Panel, settings: MarketConfig, hyper: Hyper) -> Posterior:
    """The posterior after all rows of a panel.

    Args:
        panel: The rows.
        settings: The market's.
        hyper: The sizes of all that moves; with a `lag_spread`, each option has a lag of its own, as
            states log D_i = log D + gamma_i.

    >>> from latesum.markets import MarketConfig, RegionRow
    >>> from latesum.markets.search import defaults
    >>> settings = MarketConfig(("old", "new"), 90, before="old")
    >>> rows = [RegionRow("", day, 1000, "new" if day >= 0 else "old", 30 + 5 * (day > 1)) for day in range(-9, 9)]
    >>> panel = Panel.of(rows, settings, 9)
    >>> mean, _ = fit(panel, settings, defaults(panel, settings)).effects()
    >>> bool(mean[1] > mean[0])
    True
    """
    return Prepared(panel, settings).fit(hyper)


class Prepared:
    """What fits of the same rows have in common: a search makes hundreds of them.

    Args:
        panel: The rows.
        settings: The market's.
    """

    def __init__(self, panel: Panel, settings: MarketConfig) -> None:
        self._panel, self._settings = panel, settings
        self._before = before_shares(settings) * _early(panel.exposure)[:, None]
        self._places = _places(panel.first, panel.end, settings.pattern, settings.phase)
        self._holiday = _holidays(panel, settings) if settings.holidays else None
        self._mixes: dict[float, tuple[Floats, Floats, Floats, Floats]] = {}
        self._levels_of: dict[tuple[float, float], tuple[Floats, Floats]] = {}
        self._layouts = _layouts(len(settings.options), len(settings.regions), settings.pattern)
        self._likelihoods: dict[Hyper, float] = {}
        self._shape = shape_of(settings.delay.law)
        asks = settings.before == NOT_KNOWN and settings.dated == "arrival"
        #: The second opinion where it is not known what ran before: nothing did.
        self._nothing = Prepared(panel, replace(settings, before=NOTHING)) if asks else None
        self._nothing_ran: bool | None = None  # as soon as it is clear

    @functools.cached_property
    def _weights(self) -> Floats:
        """The sizes of the regions, in sum 1."""
        sizes = self._panel.exposure.sum(axis=0)
        if not sizes.sum() > 0:  # no visitor yet
            sizes = np.ones(len(sizes))
        return np.asarray(sizes / sizes.sum())

    def _mixed(self, delay: float) -> tuple[Floats, Floats, Floats, Floats]:
        """What depends on the delay alone: X, what is added to V, and the totals and X of the levels' priors."""
        if delay not in self._mixes:
            panel, settings = self._panel, self._settings
            mix, old = arrival_mix(
                delay, *self._shape, settings.dated == "decision", panel.exposure, panel.shares,
                self._before,
            )  # fmt: skip
            extra = np.zeros(panel.totals.shape)
            # Where it is not known what ran before, early arrivals say little, of the level too.
            loose = None
            if settings.before == NOT_KNOWN:
                unsure = NOT_KNOWN_SD if self._nothing is None else SOMETHING_SD
                extra += (unsure * old) ** 2
                loose = old > 0.5
            if self._holiday is not None:
                extra += (HOLIDAY_SD * _touched(self._holiday, delay))[:, None] ** 2
            self._mixes[delay] = (mix, extra, *_early_sums(panel.totals, mix.sum(axis=2), loose))
        return self._mixes[delay]

    def fit(self, hyper: Hyper) -> Posterior:
        """The posterior; where it is not known what ran before, by what makes the rows likelier.

        Args:
            hyper: The sizes of all that moves.
        """
        if self._nothing is None or self._nothing_ran is False:
            return self._fitted(hyper)
        closed = self._nothing.fit(hyper)
        if self._nothing_ran:
            return closed
        found = self._fitted(hyper)
        difference = closed.likelihood - found.likelihood
        if abs(difference) > _CLEAR:
            self._nothing_ran = difference > 0
        return closed if difference > 0 else found

    def likelihood(self, hyper: Hyper) -> float:
        """The logarithm of the likelihood; a search asks for some of them several times.

        Args:
            hyper: The sizes of all that moves.
        """
        if self._nothing is not None:  # then a fit depends on what was clear by then
            return self.fit(hyper).likelihood
        if hyper not in self._likelihoods:
            self._likelihoods[hyper] = float(self._filtered(hyper)[2])
        return self._likelihoods[hyper]

    def _level_priors(self, delay: float, dispersion: float) -> tuple[Floats, Floats]:
        if (delay, dispersion) not in self._levels_of:
            _, _, totals, exposed = self._mixed(delay)
            self._levels_of[delay, dispersion] = _levels(totals, exposed, dispersion)
        return self._levels_of[delay, dispersion]

    def _fitted(self, hyper: Hyper) -> Posterior:
        layout = self._layouts[hyper.own]
        mix = self._mixed(hyper.delay)[0]
        mean, covariance, likelihood, surprise, *regional = self._filtered(hyper)
        if regional:
            mean, covariance = _assembled(mean, covariance, *regional)
        return Posterior(
            layout, hyper, mean, covariance, mix, surprise, float(likelihood), self._weights
        )

    def _filtered(self, hyper: Hyper) -> tuple[Any, ...]:
        panel, settings, layout = self._panel, self._settings, self._layouts[hyper.own]
        mix, extra, *_ = self._mixed(hyper.delay)
        levels, level_sd = self._level_priors(hyper.delay, hyper.dispersion)
        asked = (
            panel.totals, panel.exposure, panel.shares, self._before, mix, extra, self._places,
            layout.patterns, hyper.own, layout.shocks, settings.dated == "decision", *self._shape,
            _sizes(hyper, settings.novelty), levels,
        )  # fmt: skip
        found: tuple[Any, ...]
        if layout.regions <= DENSE_REGIONS:
            found = kernels.fit_dense(*asked, level_sd)
        else:
            found = kernels.fit_blocked(*asked)
        return found


def _early(exposure: Floats) -> Floats:
    """What is taken for the rounds of a bucket before the first row, by region."""
    return exposure[:FIRST_BUCKETS].mean(axis=0) if len(exposure) else np.ones(exposure.shape[1])


@functools.lru_cache(maxsize=1024)
def _places(first: int, end: int, pattern: str, phase: int) -> NDArray[np.int64]:
    """Which parts of the pattern every bucket has."""
    at = np.arange(first, end) + phase
    if pattern in ("weekday", "workday"):
        places = (at % (7 if pattern == "weekday" else 5))[:, None]
    elif pattern == "hour":
        places = np.stack([at % 24, 24 + at // 24 % 7], axis=1)
    else:
        places = np.empty((len(at), 0), dtype=np.int64)
    return places.astype(np.int64)


def _holidays(panel: Panel, settings: MarketConfig) -> NDArray[np.bool_] | None:
    """Whether every bucket is a holiday; None if none is."""
    holiday = np.isin(np.arange(panel.first, panel.end), settings.holidays)
    return holiday if holiday.any() else None


def _touched(holiday: NDArray[np.bool_], delay: float) -> Floats:
    """The share of a bucket's arrivals that a holiday may have changed: its own, or those of its visitors."""
    fading = np.exp(-1 / delay)
    touched, result = 0.0, np.empty(len(holiday))
    for at, is_holiday in enumerate(holiday):
        touched = 1.0 if is_holiday else touched * fading
        result[at] = touched
    return result


def _early_sums(
    totals: Floats, exposed: Floats, loose: NDArray[np.bool_] | None
) -> tuple[Floats, Floats]:
    """Totals and X of every region's first known buckets, in sum; those that are not `loose`, if there are any."""
    chosen = np.isfinite(totals) & (exposed > 0)
    if loose is not None:
        firm = chosen & ~loose
        chosen = np.where(firm.any(axis=0), firm, chosen)
    chosen &= np.cumsum(chosen, axis=0) <= FIRST_BUCKETS
    return np.where(chosen, totals, 0.0).sum(axis=0), np.where(chosen, exposed, 0.0).sum(axis=0)


def _levels(totals: Floats, exposed: Floats, dispersion: float) -> tuple[Floats, Floats]:
    """The prior of every region's level, from its first known buckets: means and sds."""
    known = exposed > 0
    rates = np.maximum(totals + 0.5 * dispersion, 0.5 * dispersion) / np.where(known, exposed, 1.0)
    levels = np.log(rates)
    if not known.all():
        levels[~known] = levels[known].mean() if known.any() else 0.0
    return levels, np.where(known, LEVEL_SD, _UNKNOWN_LEVEL_SD)


def _sizes(hyper: Hyper, novelty: float) -> Floats:
    """All that varies, as compiled code reads it."""
    rho = np.exp(-1 / hyper.delay) if hyper.delay > 0 else 0.0
    shocks = hyper.shocks**2
    return np.array(
        [  # in the order of the places in `sizes`
            hyper.effects**2, hyper.lag_spread**2, PATTERN_SD**2, DEVIATION_SD**2, hyper.differences**2,
            LEVEL_SD**2, shocks,
            novelty**2, hyper.common_walk**2, hyper.region_walk**2, (1 - rho**2) * shocks, rho,
            hyper.noise, hyper.dispersion, hyper.delay,
        ]
    )  # fmt: skip


def _assembled(
    mean: Floats, covariance: Floats, level: Floats, on_common: Floats, rest: Floats
) -> tuple[Floats, Floats]:
    """Means and covariance of all states, of those of regions given the common ones."""
    regions, special, common = on_common.shape
    slopes = on_common.reshape(regions * special, common)
    crossed = slopes @ covariance
    below = crossed @ slopes.T
    for region in range(regions):
        block = slice(region * special, (region + 1) * special)
        below[block, block] += rest[region]
    means = np.concatenate([mean, level.ravel() + slopes @ mean])
    return means, np.block([[covariance, crossed.T], [crossed, below]])
