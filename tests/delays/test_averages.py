"""A curve from its averages over buckets: it keeps them, never rises, and is near the true one where that is smooth."""

import numpy as np
import pytest
from delay_samples import FAMILIES
from scipy import stats

from latesum.delays.curves import averages_of, from_averages


def test_the_averages_are_kept_and_nothing_rises():
    rng = np.random.default_rng(1)
    for _ in range(2000):
        number = int(rng.integers(1, 8))
        averages = np.sort(rng.random(number + 1) ** rng.integers(1, 6))[::-1].copy()
        averages[rng.integers(0, 2 * number) :] = 0.0
        averages[: max(rng.integers(-number, number), 0)] = 1.0
        times, alive = from_averages(averages[:-1], averages[-1])
        assert len(times) == len(alive)
        assert averages_of(alive) == pytest.approx(averages[:-1], abs=1e-12)
        assert (np.diff(alive) <= 1e-12).all()
        assert alive[0] <= 1
        assert alive[-1] >= averages[-1] - 1e-12


def test_many_curves_are_the_same_one_by_one():
    rng = np.random.default_rng(2)
    averages = np.sort(rng.random((20, 6)), axis=1)[:, ::-1]
    together = from_averages(averages[:, :-1], averages[:, -1])[1]
    one_by_one = [from_averages(each[:-1], each[-1])[1] for each in averages]
    np.testing.assert_allclose(together, one_by_one, atol=1e-15)


def test_a_jump_stays_one():
    _, alive = from_averages(np.array([1.0, 1.0, 0.0, 0.0]), 0.0)
    assert alive.tolist() == [1.0] * 6 + [0.0] * 6


@pytest.mark.parametrize(
    "law", [FAMILIES[name] for name in ("exponential", "gamma", "half-normal", "truncated normal")]
)
def test_smooth_curves_are_found_to_a_third_of_a_percent(law):
    """Straight lines in each bucket, as steep as their neighbours allow, miss the gamma law by 0.0175."""
    fine = (np.arange(25 * 100) + 0.5) / 100
    alive = law.sf(fine)
    averages = alive.reshape(25, 100).mean(axis=1)
    times, found = from_averages(averages[:-1], averages[-1])
    assert np.interp(fine[:2400], times, found) == pytest.approx(alive[:2400], abs=0.0035)


def test_the_first_bucket_may_begin_below_1():
    """Half of the delays are 0, the others exponential."""
    averages = 0.5 * np.diff(stats.expon.cdf(np.arange(8) / 4)) * 4
    _, alive = from_averages(averages[:-1], averages[-1])
    assert alive[0] == pytest.approx(0.5, abs=0.005)
