"""How growth fades after the last lag: exact for an exponential tail, and nearer than a line for others."""

import numpy as np
import pytest
from delay_samples import FAMILIES

from latesum.delays.fitting import chain_ladder
from latesum.delays.fitting.chain_ladder import DevelopmentFactors


def seen_for_25_lags(law):
    """What has arrived of the last lag's total, how sure its growth is, and what is beyond, of a law itself."""
    fine = (np.arange(400 * 100) + 0.5) / 100
    averages = law.sf(fine).reshape(400, 100).mean(axis=1)
    arrived = (1 - averages[:25]) / (1 - averages[24])
    factors = arrived[1:] / arrived[:-1]
    growth = DevelopmentFactors(
        factors, 0 * factors, 0.0005 / arrived[1:] * factors, np.full(24, 30.0)
    )
    return arrived, growth, averages[24] / (1 - averages[24]), averages[24:].sum() / averages[24]


def test_an_exponential_tail_is_found_exactly():
    arrived, growth, beyond, later = seen_for_25_lags(FAMILIES["exponential"])
    found = chain_ladder.fading(arrived[None], chain_ladder.clear_steps(arrived, growth))
    assert (found.beyond[0], found.later[0]) == pytest.approx((beyond, later), rel=1e-9)


@pytest.mark.parametrize("name", ["gamma", "Weibull", "half-normal", "lognormal", "Lomax"])
def test_a_tail_that_bends_is_nearer_than_without_its_curvature(name, monkeypatch):
    arrived, growth, beyond, later = seen_for_25_lags(FAMILIES[name])
    steps = chain_ladder.clear_steps(arrived, growth)
    bent = chain_ladder.fading(arrived[None], steps)
    monkeypatch.setattr(chain_ladder, "_CURVATURE", 1e-4)
    straight = chain_ladder.fading(arrived[None], steps)
    for found, line, true in (
        (bent.beyond, straight.beyond, beyond),
        (bent.later, straight.later, later),
    ):
        assert abs(np.log(found[0] / true)) < 0.95 * abs(np.log(line[0] / true))
        assert abs(np.log(found[0] / true)) < np.log(1.6)


def test_a_resampled_tail_has_beliefs_around_that_of_the_data():
    arrived, growth, beyond, _ = seen_for_25_lags(FAMILIES["exponential"])
    steps = chain_ladder.clear_steps(arrived, growth)
    drawn = chain_ladder.fading(np.tile(arrived, (400, 1)), steps, np.random.default_rng(1)).beyond
    # The data are the same in all rows: what varies is how far the curvature is believed.
    assert np.median(drawn) == pytest.approx(beyond, rel=0.05)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert 0.6 * beyond < low < 0.9 * beyond
    assert 1.1 * beyond < high < 2 * beyond


def test_growth_that_has_ended_has_no_tail():
    arrived = np.append(np.linspace(0.5, 1.0, 10), np.ones(15))
    growth = DevelopmentFactors(
        arrived[1:] / arrived[:-1], np.zeros(24), np.full(24, 1e-4), np.full(24, 30.0)
    )
    found = chain_ladder.fading(arrived[None], chain_ladder.clear_steps(arrived, growth))
    assert found.beyond[0] == 0


@pytest.mark.parametrize(("per_lag", "beyond"), [(0.02, 1.0), (0.001, 0.008)])
def test_growth_that_does_not_fade_leaves_as_much_again_or_what_came_last(per_lag, beyond):
    """Of even steps over 24 lags the last eight count: 3% is the limit between the two."""
    arrived = 1 - per_lag * np.arange(24, -1, -1.0)
    growth = DevelopmentFactors(
        arrived[1:] / arrived[:-1], np.zeros(24), np.full(24, 1e-5), np.full(24, 30.0)
    )
    found = chain_ladder.fading(arrived[None], chain_ladder.clear_steps(arrived, growth))
    assert found.beyond[0] == pytest.approx(beyond)
