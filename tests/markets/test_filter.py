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

from latesum.markets import NOT_KNOWN, NOTHING, MarketConfig, ToldDelay
from latesum.markets import model as model_file
from latesum.markets.filter_kernels import CLIP
from latesum.markets.model import fit
from latesum.markets.rows import Panel
from latesum.markets.search import defaults

LAGS = 400


def market(regions, buckets=24, *, seed=3, mixed=True, missing=0.15, **named):
    """A panel of made-up totals, with mixed buckets and missing rows."""
    rng = np.random.default_rng(seed)
    settings = MarketConfig(
        ("a", "b", "c"), 60, regions=tuple(f"r{k}" for k in range(regions)),
        delay=ToldDelay(1.7), **{"before": "a", "lags": "same", **named},
    )  # fmt: skip
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
        settings.before
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
    mix, old = exponential_mix(panel, settings, hyper.delay)
    times = np.arange(buckets)
    earlier = np.minimum.outer(times, times)
    blocks, names = [], []

    def add(name, covariance):
        start = sum(len(block) for block in blocks)
        blocks.append(np.atleast_2d(covariance))
        names.append((name, start))

    add("theta", hyper.effects**2 * np.eye(3))
    add("week", 0.3**2 * np.eye(7))
    if several:
        add("d", 1e-12 + hyper.common_walk**2 * earlier)
        rho = math.exp(-1 / hyper.delay)
        add("c", hyper.shocks**2 * rho ** np.abs(np.subtract.outer(times, times)))
    for region in range(regions):
        if several:
            add(f"delta{region}", hyper.differences**2 * np.eye(3))
            add(f"week{region}", 0.2**2 * np.eye(7))
        add(f"a{region}", 0.3**2 + hyper.region_walk**2 * earlier)
    start = dict(names)
    size = sum(len(block) for block in blocks)
    prior = np.zeros((size, size))
    for block, (_, at) in zip(blocks, names, strict=True):
        prior[at : at + len(block), at : at + len(block)] = block
    prior_mean = np.zeros(size)
    for region in range(regions):
        usable = np.flatnonzero(np.isfinite(panel.totals[:, region]))
        if settings.before == NOT_KNOWN:
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
            variance = hyper.dispersion / expected + hyper.noise**2
            if settings.before == NOT_KNOWN:
                variance += (3.0 * old[at, region]) ** 2
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


@pytest.mark.parametrize("regions", [1, 3])
@pytest.mark.parametrize("before", ["a", NOTHING])
def test_the_filter_is_the_dense_gaussian_computation(regions, before):
    settings, panel = market(regions, before=before)
    hyper = defaults(panel, settings)
    mean, covariance, likelihood = oracle(panel, settings, hyper)
    found = fit(panel, settings, hyper)
    assert np.allclose(found.mean, mean, atol=2e-6)
    assert np.allclose(found.covariance, covariance, atol=2e-6)
    assert found.likelihood == pytest.approx(likelihood, abs=2e-3)


def test_an_outlier_counts_as_one_of_three_and_a_half_deviations():
    settings, panel = market(2, missing=0.0)
    panel.totals[15, 1] *= 8
    hyper = defaults(panel, settings)
    mean, covariance, _ = oracle(panel, settings, hyper)
    found = fit(panel, settings, hyper)
    assert found.surprise[15, 1] > CLIP
    assert np.allclose(found.mean, mean, atol=2e-6)
    assert np.allclose(found.covariance, covariance, atol=2e-6)


def test_the_blocked_filter_is_exact_where_common_states_do_not_move(monkeypatch):
    settings, panel = market(4)
    hyper = defaults(panel, settings)._replace(common_walk=1e-9, delay=1e9, shocks=1e-6)
    dense = fit(panel, settings, hyper)
    monkeypatch.setattr(model_file, "DENSE_REGIONS", 1)
    blocked = fit(panel, settings, hyper)
    assert np.allclose(dense.mean, blocked.mean, atol=1e-5)
    assert np.allclose(dense.covariance, blocked.covariance, atol=1e-5)


@pytest.mark.parametrize("own", [False, True])
def test_the_blocked_filter_is_close_where_they_move(monkeypatch, own):
    settings, panel = market(8, buckets=60)
    hyper = defaults(panel, settings)
    hyper = hyper._replace(lag_spread=0.5 if own else 0.0)
    dense_mean, dense = fit(panel, settings, hyper).effects()
    monkeypatch.setattr(model_file, "DENSE_REGIONS", 1)
    blocked_mean, blocked = fit(panel, settings, hyper).effects()
    contrast = np.array([[-1.0, 1, 0], [-1, 0, 1]])
    sd = np.sqrt(np.diag(contrast @ dense @ contrast.T))
    assert np.all(np.abs(contrast @ (dense_mean - blocked_mean)) < 0.4 * sd)
    other = np.sqrt(np.diag(contrast @ blocked @ contrast.T))
    assert np.all(np.abs(other / sd - 1) < 0.05)


def test_own_lags_of_no_spread_change_nothing():
    settings, panel = market(2)
    hyper = defaults(panel, settings)
    same = fit(panel, settings, hyper)
    own = fit(panel, settings, hyper._replace(lag_spread=1e-7))
    assert own.likelihood == pytest.approx(same.likelihood, abs=1e-4)
    assert np.allclose(own.effects()[0], same.effects()[0], atol=1e-6)


def test_own_lags_find_which_option_is_late():
    """Noise-free totals of two options, of which the second is twice as late as the first."""
    rng = np.random.default_rng(5)
    settings = MarketConfig(("a", "b"), 120, delay=ToldDelay(2.0), before="a", pattern="none")
    shares = np.zeros((120, 1, 2))
    for start in range(0, 120, 5):
        shares[start : start + 5, 0, rng.integers(2)] = 1.0
    exposure = np.full((120, 1), 1e6)
    totals = np.zeros((120, 1))
    for option, mean in enumerate((2.0, 4.0)):
        q = math.exp(-1 / mean)
        weights = [1 - mean * (1 - q)] + [
            mean * (1 - q) ** 2 * q ** (lag - 1) for lag in range(1, LAGS)
        ]
        for at in range(120):
            for lag, weight in enumerate(weights):
                shown = shares[at - lag, 0, option] if lag <= at else float(option == 0)
                totals[at, 0] += weight * 1e4 * shown
    panel = Panel(0, exposure, shares, totals)
    hyper = defaults(panel, settings)._replace(noise=0.01, region_walk=0.001)
    found = fit(panel, settings, hyper._replace(lag_spread=0.5))
    late = hyper.delay * np.exp(found.mean[2:4])
    assert late[0] == pytest.approx(2.0, rel=0.1)
    assert late[1] == pytest.approx(4.0, rel=0.1)


def test_totals_dated_by_decision_are_complete_in_the_end():
    """What has arrived of a bucket by now is F(age) of it, so young buckets are scaled up."""
    settings = MarketConfig(
        ("a", "b"),
        60,
        delay=ToldDelay(3.0, "known"),
        before="a",
        dated="decision",
        pattern="none",
        lags="same",
    )
    age = np.arange(40, 0, -1) - 1
    q = math.exp(-1 / 3)
    arrived = 1 - 3 * (1 - q) * q**age
    shares = np.zeros((40, 1, 2))
    shares[:20, 0, 0] = shares[20:, 0, 1] = 1.0
    totals = (300 * arrived)[:, None]
    panel = Panel(-20, np.full((40, 1), 10_000.0), shares, totals)
    mean, _ = fit(panel, settings, defaults(panel, settings)).effects()
    assert mean[1] - mean[0] == pytest.approx(0.0, abs=0.01)
    by_arrival = dataclasses.replace(settings, dated="arrival")
    wrong, _ = fit(panel, by_arrival, defaults(panel, settings)).effects()
    assert wrong[1] - wrong[0] < -0.05
