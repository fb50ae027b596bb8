"""Real data: survival studies of lifelines, claims triangles of chainladder, compared with those libraries.

Kaplan-Meier, its quantiles and the restricted mean, the chain ladder's shares and Mack's standard errors are
theirs to the digit. Tails are judged in hindsight: triangles are cut off two and three years earlier, and what came later
is compared with what the fit said would come.
"""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from delay_samples import averages_of

from latesum import InvalidInput, delays
from latesum.delays.curves import POINTS
from latesum.delays.fitting import result
from latesum.delays.fitting.chain_ladder import growth_of


@pytest.fixture(scope="module", autouse=True)
def libraries():
    """Both take long to import: only where these tests run, and not wherever they are collected."""
    global lifelines, chainladder
    lifelines = pytest.importorskip("lifelines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chainladder = pytest.importorskip("chainladder")


@pytest.fixture
def any_tail(monkeypatch):
    """What the data show is compared, however much they do not show."""
    monkeypatch.setattr(result, "MAX_UNSEEN", 1.0)


STUDIES = {
    "rossi": ("week", "arrest"),
    "waltons": ("T", "E"),
    "larynx": ("time", "death"),
    "lung": ("time", "status"),
    "gbsg2": ("time", "cens"),
    "kidney_transplant": ("time", "death"),
    "leukemia": ("t", "status"),
    "psychiatric_patients": ("T", "C"),
    "dd": ("duration", "observed"),
}


def study(name):
    from lifelines import datasets

    frame = getattr(datasets, f"load_{name}")()
    time, event = STUDIES[name]
    kept = frame[[time, event]].dropna()
    return kept[time].to_numpy(float), kept[event].to_numpy(bool)


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.usefixtures("any_tail")
def test_kaplan_meier_is_that_of_lifelines(name):
    from lifelines import KaplanMeierFitter
    from lifelines.utils import restricted_mean_survival_time

    times, ended = study(name)
    theirs = KaplanMeierFitter().fit(times, ended)
    ours = delays.fit({"delay": times, "censored": ~ended})
    at = theirs.survival_function_.index.to_numpy(float)
    expected = theirs.survival_function_["KM_estimate"].to_numpy(float)
    np.testing.assert_allclose(ours.curve.survival(at), expected, atol=5e-15)
    assert ours.unseen == pytest.approx(expected[-1], abs=5e-15)
    assert ours.observed_until == times.max()
    assert ours.largest_seen == times[ended].max()
    restricted = restricted_mean_survival_time(theirs, t=times.max())
    assert ours.restricted_mean == pytest.approx(float(restricted), rel=1e-12)
    for share, row in ours.quantiles.items():
        if 1 - share > expected[-1]:  # within what the data show
            assert row.value == theirs.percentile(1 - share)


@pytest.mark.usefixtures("any_tail")
def test_the_limits_of_the_median_are_near_those_of_lifelines():
    from lifelines import KaplanMeierFitter
    from lifelines.utils import median_survival_times

    times, ended = study("gbsg2")
    theirs = median_survival_times(KaplanMeierFitter().fit(times, ended).confidence_interval_)
    low, high = theirs.to_numpy(float)[0]
    ours = delays.fit({"delay": times, "censored": ~ended}).quantiles[0.5]
    assert ours.low == pytest.approx(low, rel=0.05)
    assert ours.high == pytest.approx(high, rel=0.1)


#: By name: the sample, its row, its column.
TRIANGLES = {
    "raa": ("raa", 0, 0),
    "abc": ("abc", 0, 0),
    "genins": ("genins", 0, 0),
    "mw2014": ("mw2014", 0, 0),
    "liab": ("liab", 1, 0),
    "auto": ("auto", 0, 1),
    "usauto": ("usauto", 0, 1),
    "usaa": ("usaa", 0, 1),
    "tail_sample": ("tail_sample", 0, 1),
    "xyz": ("xyz", 0, 3),
    "mw2008": ("mw2008", 0, 0),
    "ukmotor": ("ukmotor", 0, 0),
}
HINDSIGHT = ["raa", "abc", "mw2014", "liab", "auto", "usauto", "tail_sample", "xyz"]


@functools.cache
def sample(name):
    file, row, column = TRIANGLES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = chainladder.load_sample(file)
        return loaded.iloc[row, column]


def totals(triangle):
    values = np.array(triangle.values[0, 0], dtype=float)
    return np.where(values == 0, np.nan, values)


def rows(cells):
    bucket, lag = np.nonzero(np.isfinite(cells))
    return {"bucket": bucket, "as_of": bucket + lag, "total": cells[bucket, lag]}


@pytest.mark.usefixtures("any_tail")
@pytest.mark.parametrize("name", TRIANGLES)
def test_growth_and_shares_are_those_of_chainladder(name):
    triangle = sample(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = chainladder.Development(sigma_interpolation="mack").fit(triangle)
    cells = totals(triangle)
    growth = growth_of(cells)
    np.testing.assert_allclose(growth.factors, theirs.ldf_.values[0, 0, 0], rtol=1e-14)
    np.testing.assert_allclose(growth.errors, theirs.std_err_.values[0, 0, 0], rtol=1e-9)
    fitted = delays.fit(rows(cells))
    depth = int(fitted.observed_until)
    # The mean of the curve over each lag is the share that has not arrived.
    shown = 1 - averages_of(fitted.curve.surviving[: POINTS * depth])
    to_last = np.append(1 / theirs.cdf_.values[0, 0, 0], 1.0).clip(max=1)
    expected = np.minimum.accumulate(to_last[::-1])[::-1]
    np.testing.assert_allclose(shown / shown[0], expected[:depth] / expected[0], rtol=1e-12)


def test_a_short_triangle_has_a_tail_of_the_right_size():
    # Refused as "21% unseen": the last two steps, which fewer than three buckets show, were passed over.
    # They alone show 7% and the growth that is left at the last of them fades by a half per year.
    fitted = delays.fit(rows(totals(sample("ukmotor"))))
    assert 0.08 < fitted.unseen < 0.13
    assert fitted.mean.low < fitted.mean.value < fitted.mean.high


def hindsight(name, years):
    """The logarithms of the growth that was said and of the one that came, after a cut."""
    whole = totals(sample(name))
    cells = whole[: len(whole) - years].copy()
    bucket, lag = np.indices(cells.shape)
    cells[bucket + lag >= len(cells)] = np.nan
    fitted = delays.fit(rows(cells))
    last, end = len(cells) - 1, len(whole) - 1
    arrived = 1 - np.array([_average(fitted.curve, at) for at in (last, end)])
    came = np.prod(growth_of(whole).factors[last:end])
    return np.log(arrived[1] / arrived[0]) - np.log(came)


def _average(curve, lag):
    grid = lag + (np.arange(200) + 0.5) / 200
    return float(curve.survival(grid).mean())


@pytest.mark.parametrize(("years", "most", "judged"), [(1, 0.005, 8), (2, 0.011, 6), (3, 0.012, 6)])
def test_tails_in_hindsight(years, most, judged, monkeypatch):
    """Eight triangles, cut off one, two and three years earlier, as far as they are not refused.

    The root mean square of the error in log growth is 0.0038, 0.0098 and 0.0102; that of chainladder's exponential tail for
    the same triangles is 0.0048, 0.0099 and 0.0166. Two and three years earlier raa and tail_sample are refused, since
    more than a fifth is unseen.
    """
    monkeypatch.setattr(result, "RESAMPLES", 2)  # limits are not looked at
    ours, theirs = [], []
    for name in HINDSIGHT:
        try:
            ours.append(hindsight(name, years))
        except InvalidInput:
            continue
        theirs.append(exponential_tail(name, years))
    assert len(ours) == judged
    error = root_mean_square(ours)
    assert error < most
    assert error < root_mean_square(theirs)
    assert abs(np.mean(ours)) < most / 2  # neither too long nor too short, on the whole


def test_tails_that_would_be_refused(monkeypatch):
    """All eight: 0.0038, 0.0125 and 0.0514, against 0.0048, 0.0094 and 0.0259. So refusing is right."""
    monkeypatch.setattr(result, "MAX_UNSEEN", 0.9)
    monkeypatch.setattr(result, "RESAMPLES", 2)
    for years, most in ((2, 0.015), (3, 0.06)):
        ours = [hindsight(name, years) for name in HINDSIGHT]
        theirs = [exponential_tail(name, years) for name in HINDSIGHT]
        assert root_mean_square(ours) < most
        assert root_mean_square(theirs) < root_mean_square(ours)


def root_mean_square(errors):
    return np.sqrt(np.mean(np.square(errors)))


def exponential_tail(name, years):
    """The same with chainladder's tail: f - 1 falls exponentially from lag to lag."""
    whole = totals(sample(name))
    last, end = len(whole) - years - 1, len(whole) - 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        triangle = sample(name)
        cut = triangle[
            triangle.valuation
            < triangle.valuation_date.replace(
                year=triangle.valuation_date.year - years + 1, month=1, day=1
            )
        ]
        tail = chainladder.TailCurve("exponential", extrap_periods=years).fit(
            chainladder.Development().fit_transform(cut)
        )
    said = float(np.prod(tail.ldf_.values[0, 0, 0][last:]))
    return np.log(said) - np.log(np.prod(growth_of(whole).factors[last:end]))


def test_a_triangle_that_shows_too_little_is_still_refused():
    with pytest.raises(InvalidInput, match="no data supports a tail"):
        delays.fit(rows(totals(sample("genins"))))
