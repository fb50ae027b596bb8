"""Curves: from averages over buckets, which they keep without rising; many at once as one by one."""

import numpy as np
import pytest
from delay_samples import FAMILIES, averages_of
from scipy import stats

from latesum.delays.curves import Curve, from_averages


def test_the_averages_are_kept_and_nothing_rises():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        number = int(rng.integers(1, 8))
        averages = np.sort(rng.random(number + 1) ** rng.integers(1, 6))[::-1].copy()
        averages[rng.integers(0, 2 * number) :] = 0.0
        averages[: max(rng.integers(-number, number), 0)] = 1.0
        times, surviving = from_averages(averages[:-1], averages[-1])
        assert len(times) == len(surviving)
        assert averages_of(surviving) == pytest.approx(averages[:-1], abs=1e-12)
        assert (np.diff(surviving) <= 1e-12).all()
        assert surviving[0] <= 1
        assert surviving[-1] >= averages[-1] - 1e-12


def test_many_curves_are_the_same_one_by_one():
    rng = np.random.default_rng(2)
    averages = np.sort(rng.random((20, 6)), axis=1)[:, ::-1]
    together = from_averages(averages[:, :-1], averages[:, -1])[1]
    one_by_one = [from_averages(each[:-1], each[-1])[1] for each in averages]
    np.testing.assert_allclose(together, one_by_one, atol=1e-15)


def test_a_jump_stays_one():
    _, surviving = from_averages(np.array([1.0, 1.0, 0.0, 0.0]), 0.0)
    assert surviving.tolist() == [1.0] * 6 + [0.0] * 6


@pytest.mark.parametrize(
    "law", [FAMILIES[name] for name in ("exponential", "gamma", "half-normal", "truncated normal")]
)
def test_smooth_curves_are_found_to_a_third_of_a_percent(law):
    """Straight lines in each bucket, as steep as their neighbors allow, miss the gamma law by 0.0175."""
    fine = (np.arange(25 * 100) + 0.5) / 100
    surviving = law.sf(fine)
    averages = surviving.reshape(25, 100).mean(axis=1)
    times, found = from_averages(averages[:-1], averages[-1])
    assert np.interp(fine[:2400], times, found) == pytest.approx(surviving[:2400], abs=0.0035)


def test_the_first_bucket_may_begin_below_1():
    """Half of the delays are 0, the others exponential."""
    averages = 0.5 * np.diff(stats.expon.cdf(np.arange(8) / 4)) * 4
    _, surviving = from_averages(averages[:-1], averages[-1])
    assert surviving[0] == pytest.approx(0.5, abs=0.005)


def test_each_row_is_a_curve():
    rng = np.random.default_rng(2)
    times = np.array([0.0, 1.0, 1.0, 4.0, 9.0, 9.0, 12.0])
    surviving = np.sort(rng.random((20, 7)), axis=1)[:, ::-1]
    surviving[:, 0] = 1.0
    surviving[:5, -1] = 0.0
    tails = rng.uniform(1, 9, 20)
    many = Curve(times, surviving, tails)
    at = np.linspace(-1, 40, 60)
    for row in range(20):
        one = Curve(times, surviving[row], tails[row])
        assert many.mean[row] == pytest.approx(one.mean)
        assert many.variance[row] == pytest.approx(one.variance, abs=1e-9)
        for share in (0.1, 0.5, 0.9, 0.99):
            assert many.quantile(share)[row] == pytest.approx(one.quantile(share))
        assert many.survival(at)[row] == pytest.approx(one.survival(at))
