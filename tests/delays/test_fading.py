"""How growth fades after the last lag: exact for an exponential tail, nearer than a line for others."""

import numpy as np
import pytest
from delay_samples import FAMILIES

from latesum.delays.fitting import chain_ladder
from latesum.delays.fitting.chain_ladder import DevelopmentFactors, fading


def growth_of(arrived, errors):
    return DevelopmentFactors(arrived[1:] / arrived[:-1], errors, np.full(24, 30.0))


def seen_for_25_lags(law):
    """What has arrived of the last lag's total, how sure its growth is, and what is beyond, of a law itself."""
    fine = (np.arange(400 * 100) + 0.5) / 100
    averages = law.sf(fine).reshape(400, 100).mean(axis=1)
    arrived = (1 - averages[:25]) / (1 - averages[24])
    growth = growth_of(arrived, 0.0005 / arrived[:-1])
    return arrived, growth, (averages[24] / (1 - averages[24]), averages[24:].sum() / averages[24])


def test_an_exponential_tail_is_found_exactly():
    arrived, growth, expected = seen_for_25_lags(FAMILIES["exponential"])
    found = fading(arrived[None], growth)
    assert np.ravel(found) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["gamma", "Weibull", "half-normal", "lognormal", "Lomax"])
def test_a_tail_that_bends_is_nearer_than_without_its_curvature(name, monkeypatch):
    arrived, growth, expected = seen_for_25_lags(FAMILIES[name])
    bent = np.ravel(fading(arrived[None], growth))
    monkeypatch.setattr(chain_ladder, "_CURVATURE", 1e-4)
    straight = np.ravel(fading(arrived[None], growth))
    off = np.abs(np.log(bent / expected))
    assert (off < 0.95 * np.abs(np.log(straight / expected))).all()
    assert (off < np.log(1.6)).all()


def test_a_resampled_tail_has_beliefs_around_that_of_the_data():
    arrived, growth, (beyond, _) = seen_for_25_lags(FAMILIES["exponential"])
    drawn, _ = fading(np.tile(arrived, (400, 1)), growth, np.random.default_rng(1))
    # The data are the same in all rows: what varies is how far the curvature is believed.
    assert np.median(drawn) == pytest.approx(beyond, rel=0.05)
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert 0.6 * beyond < low < 0.9 * beyond
    assert 1.1 * beyond < high < 2 * beyond


@pytest.mark.parametrize(
    ("arrived", "beyond"),
    [
        (np.append(np.linspace(0.5, 1.0, 10), np.ones(15)), 0.0),  # growth has ended
        # Of even steps over 24 lags the last eight count: 3% is the limit between as much again,
        # and as much as came last.
        (1 - 0.02 * np.arange(24, -1, -1.0), 1.0),
        (1 - 0.001 * np.arange(24, -1, -1.0), 0.008),
    ],
)
def test_growth_that_has_ended_or_does_not_fade(arrived, beyond):
    found, _ = fading(arrived[None], growth_of(arrived, np.full(24, 1e-5)))
    assert found[0] == pytest.approx(beyond)
