"""The posterior of a market: a mixture over explanations of how late each option's sales are.

"All equally late", "option i is r times as late as the others", a delay of two parts, and, where
the status quo is not known, "nothing before": each explanation is one pass of the filter, and
counts by its prior probability and by how likely it makes the totals (a Gaussian sum).
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.delays import Delay
from latesum.markets.config import NOT_KNOWN, NOTHING, PATTERNS, MarketConfig
from latesum.markets.kernels import STEPS, Fit, arrival_mix, filter_market
from latesum.markets.rows import FIRST_BUCKETS, Panel, status_quo_shares

Floats = NDArray[np.float64]

#: How many times as late one option may be, and the weights of that, which add up to 1.
RATIOS = {
    **{1.2: 0.17, 1.45: 0.16, 1.75: 0.15, 2.1: 0.14, 2.6: 0.13, 3.2: 0.12},
    **{0.8: 0.08, 0.6: 0.05},
}
#: The same where the delay has two parts, ...
_TWO_PART_RATIOS = {1.4: 0.4, 1.9: 0.3, 2.7: 0.2, 0.7: 0.1}
#: ... and how likely it has, if its shape was not given.
TWO_PART = 0.2
#: Explanations of less weight than this are left out.
_NEGLIGIBLE = 1e-4
#: The sd of the prior of the pattern, of its deviations in a region, and of a region's level.
PATTERN_SD, DEVIATION_SD, LEVEL_SD = 0.3, 0.2, 0.3
#: The sd of a region's level where none of its totals is known yet.
_UNKNOWN_LEVEL_SD = 1.5
#: Where the status quo is not known, V gets the square of this times the share of arrivals from
#: then, beside the explanation that nothing ran; ...
_SOMETHING_SD = 1.0
#: ... and this where totals are dated by decision, and that cannot be distinguished.
_NOT_KNOWN_SD = 3.0
#: On a holiday, sales may differ by about this much more than on other days.
_HOLIDAY_SD = 0.3
#: Tables end after this many mean delays.
_LONGEST = 64
#: The two-part delay: this share of the sales comes nearly at once, after this part of the mean.
_AT_ONCE, _AT_ONCE_MEAN = 0.7, 0.15


@functools.lru_cache(maxsize=64)
def shape_of(law: Delay | None) -> Floats:
    """The shape of a delay: the table of A(x), the integral of P(delay / mean > u) from 0 to x.

    The delay is in rounds; None is exponential. With a shape the mean in buckets can be learned.

    >>> from latesum import delays
    >>> shape = shape_of(delays.constant(100))
    >>> float(shape[128]), float(shape[-1])  # half a mean delay; all of it
    (0.5, 1.0)
    """
    if law is None or law.mean <= 0:
        return _exponentials((1.0, 1.0))
    mean = law.mean
    end = int(np.ceil(_LONGEST * mean)) if law.bound is None else law.bound + 1
    end = max(min(end, int(_LONGEST * mean) + 1), 1)
    # P(delay > u) of a delay in whole rounds is a step function, so A is linear between rounds.
    rounds = np.unique(np.linspace(0, end, min(end, 1 << 20) + 1).astype(np.int64))
    parts = np.diff(rounds) * law.survival(rounds[:-1])
    whole = np.concatenate([[0.0], np.cumsum(parts)]) / mean
    at = np.arange(0, end / mean + 1 / STEPS, 1 / STEPS)
    table = np.interp(at * mean, rounds, whole)
    return np.append(table, table[-1])


@functools.cache
def two_part_shape() -> Floats:
    """A part of the sales nearly at once, and the rest late."""
    late = (1 - _AT_ONCE * _AT_ONCE_MEAN) / (1 - _AT_ONCE)
    return _exponentials((_AT_ONCE, _AT_ONCE_MEAN), (1 - _AT_ONCE, late))


def _exponentials(*parts: tuple[float, float]) -> Floats:
    """The shape of a mixture of exponential delays, each with its share and its mean."""
    at = np.arange(0, _LONGEST, 1 / STEPS)
    table: Floats = sum(
        (-share * mean * np.expm1(-at / mean) for share, mean in parts), np.zeros(len(at))
    )
    return table


class Hyperparameters(NamedTuple):
    """What is learned once a week, besides the delays: the sizes of all that moves.

    Args:
        noise: tau, noise of the visitors of a region's bucket, which the delay smears.
        common_walk: sigma_s, the walk of the common level; not used with one region.
        region_walk: sigma_u, the walk of a region's level.
        shocks: sigma_d, shocks that all regions share.
        effects: sigma_theta, how far options differ.
        differences: sigma_delta, how far an option's effect differs by region.
        dispersion: phi, the variance over the mean; 1 for counts.
    """

    noise: float
    common_walk: float
    region_walk: float
    shocks: float
    effects: float
    differences: float
    dispersion: float


class Explanation(NamedTuple):
    """One way in which totals may have come about.

    Args:
        ratios: How many times the common delay each option's is.
        two_part: Whether a part of the sales comes at once and the rest late.
        nothing_before: Whether nothing was shown before the first row, where that is not known.
        prior: How probable it is beforehand.
        delay: D, the common mean delay in buckets: by default the given one. Each explanation
            learns its own, because what is late by one is a longer delay by another.
        score: The logarithm of its posterior weight at the last search, up to a constant.
    """

    ratios: tuple[float, ...]
    two_part: bool
    nothing_before: bool
    prior: float
    delay: float
    score: float = 0.0


@functools.lru_cache(maxsize=64)
def explanations(config: MarketConfig) -> tuple[Explanation, ...]:
    """All explanations; the first is that all options are equally late.

    >>> len(explanations(MarketConfig(("a", "b"), 90, status_quo="a", differing_delays=0)))
    1
    """
    count, differing, delay = len(config.options), config.delays_may_differ, config.delay.mean
    starts = [True, False] if _asks_for_start(config) else [config.status_quo == NOTHING]
    shapes = [(False, RATIOS, 1.0)]
    if differing and config.delay.law is None:  # the shape was not given
        shapes = [(False, RATIOS, 1 - TWO_PART), (True, _TWO_PART_RATIOS, TWO_PART)]
    found = []
    for nothing, (two_part, ratios, share) in itertools.product(starts, shapes):
        prior = share / len(starts)
        equal = (1.0,) * count
        found.append(Explanation(equal, two_part, nothing, prior * (1 - differing), delay))
        for option, (ratio, weight) in itertools.product(range(count), ratios.items()):
            if differing:
                late = tuple(ratio if each == option else 1.0 for each in range(count))
                weight *= prior * differing / count
                found.append(Explanation(late, two_part, nothing, weight, delay))
    return tuple(found)


def _asks_for_start(config: MarketConfig) -> bool:
    return config.status_quo == NOT_KNOWN and config.dated == "arrival"


@dataclass(frozen=True)
class Posterior:
    """What is known after the last row: a mixture of Gaussians, one for each explanation.

    Args:
        hyper: The hyperparameters.
        explanations: Those that are not negligible, the likeliest first.
        weights: How probable each is, in sum 1.
        fits: The states by each.
        log_likelihood: The logarithm of the likelihood of all of them together.
        mix: X of the likeliest: the exposure behind the arrivals, by bucket, region and option.
        sizes: The sizes of the regions, in sum 1.
    """

    hyper: Hyperparameters
    explanations: tuple[Explanation, ...]
    weights: Floats
    fits: tuple[Fit, ...]
    log_likelihood: float
    mix: Floats
    sizes: Floats

    @property
    def delay(self) -> float:
        """The mean delay in buckets, over all explanations."""
        return float(self.weights @ [each.delay for each in self.explanations])

    def components(self, region: int | None = None) -> tuple[Floats, Floats]:
        """Means and covariances of the options' effects (log) by explanation.

        In a region, or the mean of all regions, weighted by their sizes.
        """
        options = len(self.explanations[0].ratios)
        mean, covariance, own_mean, slopes, own_covariance = (
            np.stack(each) for each in zip(*(fit[:5] for fit in self.fits), strict=True)
        )
        on_common = np.eye(options, mean.shape[1])
        if own_mean.shape[1] == 1:
            return mean @ on_common.T, on_common @ covariance @ on_common.T
        weight = self.sizes if region is None else np.eye(len(self.sizes))[region]
        on_common = on_common + np.einsum("r,crkg->ckg", weight, slopes[:, :, :options])
        own = np.einsum("r,crk->ck", weight, own_mean[:, :, :options])
        own_covariance = own_covariance[:, :, :options, :options]
        return (
            np.einsum("ckg,cg->ck", on_common, mean) + own,
            on_common @ covariance @ on_common.transpose(0, 2, 1)
            + np.einsum("r,crkl->ckl", weight**2, own_covariance),
        )

    def effects(self, region: int | None = None) -> tuple[Floats, Floats]:
        """Mean and covariance of the options' effects (log), of the whole mixture."""
        return moments(self.weights, *self.components(region))

    def draws(self, rng: np.random.Generator, count: int, region: int | None = None) -> Floats:
        """Draws of the options' effects from the mixture."""
        means, covariances = self.components(region)
        normals = rng.standard_normal((count, means.shape[1]))
        chosen = np.searchsorted(np.cumsum(self.weights[:-1]), rng.random(count), side="right")
        roots = np.stack([root_of(each) for each in covariances])
        found: Floats = means[chosen] + np.einsum("nij,nj->ni", roots[chosen], normals)
        return found


def moments(weights: Floats, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of a mixture."""
    mean = weights @ means
    off = means - mean
    spread: Floats = np.einsum("c,ci,cj->ij", weights, off, off)
    return mean, spread + np.einsum("c,cij->ij", weights, covariances)


def root_of(covariance: Floats) -> Floats:
    """A matrix whose product with its transpose is the covariance, which may be singular."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    root: Floats = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return root


class Model:
    """Fits of the same rows: a search makes hundreds of them, and much is the same in all."""

    def __init__(self, panel: Panel, config: MarketConfig) -> None:
        self._panel, self._config = panel, config
        self._positions = _positions(panel.first, panel.end, config.pattern, config.phase)
        self._patterns = sum(PATTERNS[config.pattern])
        self._shape = shape_of(config.delay.law)
        self._holiday = np.isin(np.arange(panel.first, panel.end), config.holidays)
        early = panel.exposure[:FIRST_BUCKETS]
        rounds = early.mean(axis=0) if len(early) else np.ones(panel.exposure.shape[1])
        self._before = status_quo_shares(config) * rounds[:, None]
        self._mixes: dict[tuple[tuple[float, ...], bool, bool, float], Floats] = {}
        self._starts: dict[tuple[float, float, bool], tuple[Floats, Floats, Floats]] = {}

    def score(self, hyper: Hyperparameters, explanation: Explanation) -> float:
        """The log-likelihood by an explanation, with its prior probability and its delay's."""
        return self._fit(hyper, explanation)[1]

    def posterior(self, hyper: Hyperparameters, by: tuple[Explanation, ...]) -> Posterior:
        """The mixture of some explanations."""
        fits = [self._fit(hyper, each) for each in by]
        scores = np.array([score for _, score in fits])
        whole = float(np.logaddexp.reduce(scores))
        weights = np.exp(scores - whole)
        order = [index for index in np.argsort(-weights) if weights[index] >= _NEGLIGIBLE]
        kept = weights[order]
        sizes = self._panel.exposure.sum(axis=0)
        if not sizes.sum() > 0:  # no visitor yet
            sizes = np.ones(len(sizes))
        return Posterior(
            hyper,
            tuple(by[index] for index in order),
            kept / kept.sum(),
            tuple(fits[index][0] for index in order),
            whole,
            self._mix(by[order[0]]),
            sizes / sizes.sum(),
        )

    def _fit(self, hyper: Hyperparameters, explanation: Explanation) -> tuple[Fit, float]:
        extra, levels, level_sds = self._start(hyper.dispersion, explanation)
        fit, likelihood = filter_market(
            self._panel.totals,
            self._mix(explanation),
            extra,
            self._positions,
            self._patterns,
            _sizes(hyper, self._config.novelty, carried_over(self._config)),
            levels,
            level_sds,
        )
        given = self._config.delay
        off = math.log(explanation.delay / given.mean) / given.log_sd
        return fit, likelihood + math.log(explanation.prior) - 0.5 * off**2

    def _mix(self, explanation: Explanation) -> Floats:
        """X by an explanation."""
        ratios, two_part, nothing_before, _, delay, _ = explanation
        key = (ratios, two_part, nothing_before, delay)
        if key not in self._mixes:
            delays = delay * np.array(ratios)
            self._mixes[key] = self._arrivals(delays, two_part, nothing_before)[0]
        return self._mixes[key]

    def _arrivals(
        self, delays: Floats, two_part: bool, nothing_before: bool
    ) -> tuple[Floats, Floats]:
        """X, and the share of arrivals that is from before the first row."""
        panel, config = self._panel, self._config
        shape = two_part_shape() if two_part else self._shape
        before = 0.0 * self._before if nothing_before else self._before
        by_decision = config.dated == "decision"
        found: tuple[Floats, Floats] = arrival_mix(
            delays, shape, by_decision, panel.exposure, panel.shares, before
        )
        return found

    def _start(self, dispersion: float, explanation: Explanation) -> tuple[Floats, Floats, Floats]:
        """What is added to V, and the means and sds of the levels' priors.

        As if all were equally late: what is assumed of a level beforehand must not depend on what
        is compared.
        """
        delay, nothing_before = explanation.delay, explanation.nothing_before
        key = (delay, dispersion, nothing_before)
        if key not in self._starts:
            panel, config = self._panel, self._config
            equal = np.full(len(config.options), delay)
            mix, old = self._arrivals(equal, False, nothing_before)
            extra = np.zeros(panel.totals.shape)
            loose = None
            if config.status_quo == NOT_KNOWN and not nothing_before:
                # Early arrivals say little then, of the level too.
                sd = _SOMETHING_SD if _asks_for_start(config) else _NOT_KNOWN_SD
                extra += (sd * old) ** 2
                loose = old > 0.5
            if self._holiday.any():
                extra += (_HOLIDAY_SD * _touched(self._holiday, delay))[:, None] ** 2
            self._starts[key] = (extra, *_levels(panel.totals, mix.sum(axis=2), loose, dispersion))
        return self._starts[key]


@functools.lru_cache(maxsize=1024)
def _positions(first: int, end: int, pattern: str, phase: int) -> NDArray[np.int64]:
    """Which parts of the pattern every bucket has."""
    at = np.arange(first, end) + phase
    if pattern in ("weekday", "workday"):
        found = (at % (7 if pattern == "weekday" else 5))[:, None]
    elif pattern == "hour":
        found = np.stack([at % 24, 24 + at // 24 % 7], axis=1)
    else:
        found = np.empty((len(at), 0), dtype=np.int64)
    return found.astype(np.int64)


def _touched(holiday: NDArray[np.bool_], delay: float) -> Floats:
    """The share of a bucket's arrivals that a holiday may have changed."""
    fading = np.exp(-1 / delay)
    touched, result = 0.0, np.empty(len(holiday))
    for at, is_holiday in enumerate(holiday):
        touched = 1.0 if is_holiday else touched * fading
        result[at] = touched
    return result


def _levels(
    totals: Floats, exposed: Floats, loose: NDArray[np.bool_] | None, dispersion: float
) -> tuple[Floats, Floats]:
    """The prior of every region's level: means and sds.

    From its first known buckets that are not `loose`, if there are any.
    """
    chosen = np.isfinite(totals) & (exposed > 0)
    if loose is not None:
        firm = chosen & ~loose
        chosen = np.where(firm.any(axis=0), firm, chosen)
    chosen &= np.cumsum(chosen, axis=0) <= FIRST_BUCKETS
    total = np.where(chosen, totals, 0.0).sum(axis=0)
    exposure = np.where(chosen, exposed, 0.0).sum(axis=0)
    known = exposure > 0
    rates = np.maximum(total + 0.5 * dispersion, 0.5 * dispersion) / np.where(known, exposure, 1.0)
    levels = np.log(rates)
    if not known.all():
        levels[~known] = levels[known].mean() if known.any() else 0.0
    return levels, np.where(known, LEVEL_SD, _UNKNOWN_LEVEL_SD)


@functools.lru_cache(maxsize=4096)
def _sizes(hyper: Hyperparameters, novelty: float, kept: float) -> Floats:
    """All that varies, in the order of the positions in `kernels`."""
    priors = (hyper.effects, PATTERN_SD, DEVIATION_SD, hyper.differences, hyper.shocks)
    gains = (novelty, hyper.common_walk, hyper.region_walk)
    squares = [each**2 for each in (*priors, *gains)]
    return np.array([*squares, kept, smeared(hyper.noise, kept) ** 2, hyper.dispersion])


def carried_over(config: MarketConfig) -> float:
    """How much of the noise of one bucket's visitors is in the arrivals of the next one.

    By the given delay: how noise is smeared must not decide which explanation holds. Totals that
    are dated by decision have the noise of their own visitors only.
    """
    return math.exp(-1 / config.delay.mean) if config.dated == "arrival" else 0.0


def smeared(noise: float, kept: float) -> float:
    """The sd that noise of the visitors has in totals: late sales spread it over many buckets.

    Args:
        noise: The sd of the noise of a bucket's visitors.
        kept: How much of it is in the next bucket, as `carried_over` says.

    >>> smeared(0.05, 0.6) < smeared(0.05, 0.1) < smeared(0.05, 0.0)
    True
    """
    return noise * math.sqrt((1 - kept) / (1 + kept))


def posterior_with(
    panel: Panel,
    config: MarketConfig,
    hyper: Hyperparameters,
    by: tuple[Explanation, ...] | None = None,
) -> Posterior:
    """The posterior after all rows of a panel, with given hyperparameters and by some explanations.

    >>> from latesum.markets import RegionRow
    >>> from latesum.markets.search import defaults
    >>> config = MarketConfig(("old", "new"), 90, status_quo="old")
    >>> rows = [RegionRow("", day, 1000, "new" if day >= 0 else "old", 30 + 5 * (day > 1))
    ...     for day in range(-9, 9)]
    >>> panel = Panel.of(rows, config, 9)
    >>> mean, _ = posterior_with(panel, config, defaults(panel, config)).effects()
    >>> bool(mean[1] > mean[0])
    True
    """
    return Model(panel, config).posterior(hyper, explanations(config) if by is None else by)
