"""The filter against an independent computation: one Gaussian of all states at all times at once.

The oracle writes down the prior covariance of the whole paths (walks, AR(1) shocks) in closed form and conditions
on all working observations together, by solving linear systems with SciPy. It shares no code with the filter but
the definition of a working observation, which it computes from its own means.
"""

import dataclasses
import math

import numpy as np
import pytest
from scipy.linalg import solve

from latesum.markets import NOT_KNOWN, NOTHING, DelayPrior, MarketConfig
from latesum.markets.kernels import CLIP
from latesum.markets.model import posterior_with
from latesum.markets.rows import Panel
from latesum.markets.search import defaults, posterior

LAGS = 400


def market(regions, buckets=24, *, seed=3, mixed=True, missing=0.15, **named):
    """A panel of made-up totals, with mixed buckets and missing rows."""
    rng = np.random.default_rng(seed)
    settings = MarketConfig(
        ("a", "b", "c"),
        60,
        regions=tuple(f"r{k}" for k in range(regions)),
        delay=DelayPrior(1.7),
        **{"status_quo": "a", "differing_delays": 0.0, **named},
    )
    exposure = rng.uniform(3_000, 9_000, (buckets, regions))
    shares = np.zeros((buckets, regions, 3))
    for at in range(buckets):
        for region in range(regions):
            if mixed and rng.random() < 0.4:
                shares[at, region] = rng.dirichlet(np.ones(3))
            else:
                shares[at, region, rng.integers(3)] = 1.0
    totals = rng.poisson(
        0.03 * exposure * np.exp(0.1 * rng.standard_normal(exposure.shape))
    ).astype(float)
    totals[rng.random(totals.shape) < missing] = np.nan
    return settings, Panel(-8, exposure, shares, totals)


def exponential_mix(panel, settings, mean):
    """X by the formula of the notes: g_0 = 1 - D (1 - q), g_l = D (1 - q)^2 q^(l - 1)."""
    q = math.exp(-1 / mean)
    weights = [1 - mean * (1 - q)] + [
        mean * (1 - q) ** 2 * q ** (lag - 1) for lag in range(1, LAGS)
    ]
    arrived = np.cumsum(weights)
    kept = int(np.argmax(arrived > 1 - 1e-4)) + 1  # the rest is left out, but for what was before
    before = {NOTHING: np.zeros(3), NOT_KNOWN: np.full(3, 1 / 3), "a": np.array([1.0, 0, 0])}[
        settings.status_quo
    ]
    early = panel.exposure[:7].mean(axis=0)
    found = np.zeros(panel.shares.shape)
    old = np.zeros(panel.totals.shape)
    for at in range(len(panel.totals)):
        for lag, weight in enumerate(weights):
            if lag <= at and lag < kept:
                found[at] += weight * panel.exposure[at - lag][:, None] * panel.shares[at - lag]
            elif lag > at and at < kept:
                found[at] += weight * early[:, None] * before
                old[at] += weight * early * before.sum()
    return found, old / found.sum(axis=2)


def oracle(panel, settings, hyper):
    """Means and covariance of all states at the last bucket, and the log-likelihood."""
    buckets, regions = panel.totals.shape
    several = regions > 1
    mix, old = exponential_mix(panel, settings, settings.delay.mean)
    times = np.arange(buckets)
    earlier = np.minimum.outer(times, times)
    rho = math.exp(-1 / settings.delay.mean)
    faded = rho ** np.abs(np.subtract.outer(times, times))
    blocks, names = [], []

    def add(name, covariance):
        start = sum(len(block) for block in blocks)
        blocks.append(np.atleast_2d(covariance))
        names.append((name, start))

    add("theta", hyper.effects**2 * np.eye(3))
    add("week", 0.3**2 * np.eye(7))
    if several:
        add("d", 1e-12 + hyper.common_walk**2 * earlier)
        add("c", hyper.shocks**2 * faded)
    for region in range(regions):
        if several:
            add(f"delta{region}", hyper.differences**2 * np.eye(3))
            add(f"week{region}", 0.2**2 * np.eye(7))
        add(f"s{region}", hyper.noise**2 * (1 - rho) / (1 + rho) * faded)
        add(f"a{region}", 0.3**2 + hyper.region_walk**2 * earlier)
    start = dict(names)
    size = sum(len(block) for block in blocks)
    prior = np.zeros((size, size))
    for block, (_, at) in zip(blocks, names, strict=True):
        prior[at : at + len(block), at : at + len(block)] = block
    prior_mean = np.zeros(size)
    for region in range(regions):
        usable = np.flatnonzero(np.isfinite(panel.totals[:, region]))
        if settings.status_quo == NOT_KNOWN:
            usable = usable[old[usable, region] <= 0.5]
        usable = usable[:7]
        level = math.log((panel.totals[usable, region].sum() + 0.5) / mix[usable, region].sum())
        prior_mean[start[f"a{region}"] : start[f"a{region}"] + buckets] = level
    rows, values, variances = [], [], []
    mean, covariance, likelihood = prior_mean, prior, 0.0
    for at in range(buckets):
        for region in range(regions):
            total = panel.totals[at, region]
            if not np.isfinite(total):
                continue
            row = np.zeros(size)
            special = [start["theta"]]
            week = (panel.first + at + settings.phase) % 7
            row[start["week"] + week] = row[start[f"a{region}"] + at] = 1
            row[start[f"s{region}"] + at] = 1
            if several:
                special.append(start[f"delta{region}"])
                row[start["d"] + at] = row[start["c"] + at] = row[start[f"week{region}"] + week] = 1
            effects = sum(mean[place : place + 3] for place in special)
            parts = mix[at, region] * np.exp(effects)
            eta = math.log(parts.sum()) + row @ mean
            for place in special:
                row[place : place + 3] = parts / parts.sum()
            expected = math.exp(eta)
            nu = (total - expected) / expected
            variance = hyper.dispersion / expected
            if settings.status_quo == NOT_KNOWN:
                variance += (1.0 * old[at, region]) ** 2
            spread = row @ covariance @ row + variance
            clipped = max(spread, nu**2 / CLIP**2)
            likelihood += -0.5 * (math.log(clipped) + nu**2 / clipped) - eta
            rows.append(row)
            values.append(nu + row @ mean)
            variances.append(variance + clipped - spread)
            all_rows = np.array(rows)
            crossed = prior @ all_rows.T
            inside = all_rows @ crossed + np.diag(variances)
            mean = prior_mean + crossed @ solve(inside, np.array(values) - all_rows @ prior_mean)
            covariance = prior - crossed @ solve(inside, crossed.T)
    last = []
    for block, (_, at) in zip(blocks, names, strict=True):
        last += [at + buckets - 1] if len(block) == buckets else range(at, at + len(block))
    return mean[last], covariance[np.ix_(last, last)], likelihood


def filtered(panel, settings, hyper):
    """Means and covariance of all states as the oracle has them, and the posterior."""
    found = posterior_with(panel, settings, hyper)
    fit = found.fits[0]
    regions, own, common = fit.slopes.shape
    slopes = fit.slopes.reshape(regions * own, common)
    mean = np.append(fit.mean, fit.own_mean.ravel() + slopes @ fit.mean)
    crossed = slopes @ fit.covariance
    below = crossed @ slopes.T
    for region in range(regions):
        block = slice(region * own, (region + 1) * own)
        below[block, block] += fit.own_covariance[region]
    return mean, np.block([[fit.covariance, crossed.T], [crossed, below]]), found


@pytest.mark.parametrize("regions", [1, 3])
@pytest.mark.parametrize("before", ["a", NOTHING])
def test_the_filter_is_the_dense_gaussian_computation_where_common_states_do_not_move(
    regions, before
):
    settings, panel = market(regions, status_quo=before)
    hyper = defaults(panel, settings)._replace(common_walk=1e-9, shocks=1e-9)
    mean, covariance, likelihood = oracle(panel, settings, hyper)
    found_mean, found_covariance, found = filtered(panel, settings, hyper)
    assert np.allclose(found_mean, mean, atol=2e-5)
    assert np.allclose(found_covariance, covariance, atol=2e-5)
    assert found.log_likelihood == pytest.approx(likelihood, abs=4e-3)


def test_an_outlier_counts_as_one_of_three_and_a_half_deviations():
    settings, panel = market(1, missing=0.0)
    panel.totals[15, 0] *= 8
    hyper = defaults(panel, settings)
    mean, covariance, _ = oracle(panel, settings, hyper)
    found_mean, found_covariance, found = filtered(panel, settings, hyper)
    assert found.fits[0].innovations[15, 0] > CLIP
    assert np.allclose(found_mean, mean, atol=2e-5)
    assert np.allclose(found_covariance, covariance, atol=2e-5)


def test_the_filter_is_close_to_the_dense_computation_where_common_states_move():
    settings, panel = market(4, buckets=40)
    hyper = defaults(panel, settings)
    mean, covariance, _ = oracle(panel, settings, hyper)
    effects, spread = posterior_with(panel, settings, hyper).effects()
    own = 3 + 7 + 2 + np.arange(4)[:, None] * 12 + np.arange(3)
    rows = np.zeros((3, len(mean)))
    for option in range(3):
        rows[option, option] = 1.0
        rows[option, own[:, option]] = panel.exposure.sum(axis=0) / panel.exposure.sum()
    contrast = np.array([[-1.0, 1, 0], [-1, 0, 1]])
    sd = np.sqrt(np.diag(contrast @ rows @ covariance @ rows.T @ contrast.T))
    assert np.all(np.abs(contrast @ (rows @ mean - effects)) < 0.4 * sd)
    assert np.sqrt(np.diag(contrast @ spread @ contrast.T)) == pytest.approx(sd, rel=0.1)


def late_totals(delays, days, shown, worth=(1.0, 1.0)):
    """Noise-free totals of 10,000 sales a bucket, with an exponential delay of each option."""
    totals = np.zeros((days, 1))
    for option, mean in enumerate(delays):
        q = math.exp(-1 / mean)
        weights = [1 - mean * (1 - q)]
        weights += [mean * (1 - q) ** 2 * q ** (lag - 1) for lag in range(1, LAGS)]
        for at in range(days):
            for lag, weight in enumerate(weights):
                was = shown[at - lag, 0, option] if lag <= at else float(option == 0)
                totals[at, 0] += weight * 1e4 * was * worth[option]
    return totals


def test_the_mixture_finds_which_option_is_late_and_how_late():
    """Two equally good options, of which the second is twice as late as the first."""
    rng = np.random.default_rng(5)
    settings = MarketConfig(("a", "b"), 120, delay=DelayPrior(2.0), status_quo="a", pattern="none")
    shown = np.zeros((120, 1, 2))
    for start in range(0, 120, 5):
        shown[start : start + 5, 0, rng.integers(2)] = 1.0
    panel = Panel(0, np.full((120, 1), 1e6), shown, late_totals((2.0, 4.0), 120, shown))
    hyper = defaults(panel, settings)._replace(noise=0.01, region_walk=0.001)
    found = posterior_with(panel, settings, hyper)
    late = sum(
        w * np.array(e.ratios) for w, e in zip(found.weights, found.explanations, strict=True)
    )
    assert late[0] == pytest.approx(1.0, abs=0.05)
    assert late[1] == pytest.approx(2.0, abs=0.2)
    mean, _ = found.effects()
    assert abs(mean[1] - mean[0]) < 0.03
    equal = posterior_with(panel, dataclasses.replace(settings, differing_delays=0.0), hyper)
    assert found.log_likelihood > equal.log_likelihood + 10


def test_totals_dated_by_decision_are_complete_in_the_end():
    """What has arrived of a bucket by now is F(age) of it, so young buckets are scaled up."""
    settings = MarketConfig(
        ("a", "b"),
        60,
        delay=DelayPrior(3.0, "known"),
        status_quo="a",
        dated="decision",
        pattern="none",
        differing_delays=0.0,
    )
    age = np.arange(40, 0, -1) - 1
    q = math.exp(-1 / 3)
    arrived = 1 - 3 * (1 - q) * q**age
    shares = np.zeros((40, 1, 2))
    shares[:20, 0, 0] = shares[20:, 0, 1] = 1.0
    totals = (300 * arrived)[:, None]
    panel = Panel(-20, np.full((40, 1), 10_000.0), shares, totals)
    mean, _ = posterior_with(panel, settings, defaults(panel, settings)).effects()
    assert mean[1] - mean[0] == pytest.approx(0.0, abs=0.01)
    by_arrival = dataclasses.replace(settings, dated="arrival")
    wrong, _ = posterior_with(panel, by_arrival, defaults(panel, settings)).effects()
    assert wrong[1] - wrong[0] < -0.05


def test_the_delay_is_learned():
    """Sales come three times as late as was given."""
    settings = MarketConfig(
        ("a", "b"), 120, delay=DelayPrior(1.0), status_quo="a", pattern="none", differing_delays=0.0
    )
    shown = np.zeros((80, 1, 2))
    for at in range(80):
        shown[at, 0, at // 5 % 2] = 1.0
    totals = late_totals((3.0, 3.0), 80, shown, (1.0, 1.2))
    panel = Panel(0, np.full((80, 1), 1e6), shown, totals)
    assert posterior(panel, settings).delay == pytest.approx(3.0, rel=0.3)
