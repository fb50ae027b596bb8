"""What is believed, in the words of those who decide."""

import pytest

from latesum.campaigns.outlook import make_outlook
from latesum.campaigns.status import OptionRow


class Known:
    """What an outlook needs of a status."""

    def __init__(self, *rows, status_quo="a", every="day"):
        self.options = [
            OptionRow(name, arm, 3, 2, 1000, mean, low, high, place)
            for arm, (name, mean, low, high, place) in enumerate(rows)
        ]
        self.status_quo = status_quo
        self.every = every
        self.level = 0.95
        self.expected_rounds = 1000
        self.market = None


def test_two_that_are_alike_have_half_a_chance_each():
    found = make_outlook(
        Known(("a", 0.2, 0.1, 0.3, "in the race"), ("b", 0.2, 0.1, 0.3, "in the race"))
    )
    assert [each.chance for each in found.options] == pytest.approx([0.5, 0.5])
    assert found.options[1].uplift == pytest.approx(0.0)


def test_chances_are_those_of_normal_draws():
    """Against 400,000 draws: the standard error is below 0.0008, and five of them are allowed."""
    import numpy as np

    known = Known(
        ("a", 0.20, 0.18, 0.22, "in the race"), ("b", 0.21, 0.16, 0.26, "in the race"),
        ("c", 0.19, 0.189, 0.191, "in the race"), ("d", 0.5, 0.4, 0.6, "removed"),
    )  # fmt: skip
    found = [each.chance for each in make_outlook(known).options]
    assert sum(found) == pytest.approx(1.0)
    assert found[3] == 0.0
    rng = np.random.default_rng(1)
    racing = known.options[:3]
    half = 1.959964
    draws = np.array(
        [rng.normal(row.mean, (row.high - row.low) / 2 / half, 400_000) for row in racing]
    )
    shares = np.bincount(draws.argmax(axis=0), minlength=3) / 400_000
    assert found[:3] == pytest.approx(list(shares), abs=0.004)


def test_uplift_and_worth_are_against_the_status_quo():
    rows = (("a", 0.25, 0.24, 0.26, "in the race"), ("b", 0.20, 0.19, 0.21, "in the race"))
    found = make_outlook(Known(*rows, status_quo="b"))
    assert (found.status_quo, found.assumed) == ("b", False)
    first, second = found.options
    assert first.uplift == pytest.approx(0.25)
    assert first.low < 0.25 < first.high
    assert second.is_status_quo
    assert second.uplift is None
    assert found.worth.value == pytest.approx(0.05 * 1000 * 30)
    assert found.worth.option == "a"
    weekly = make_outlook(Known(*rows, status_quo="b", every="week"))
    assert weekly.worth.value == pytest.approx(0.05 * 1000 * 30 / 7)
    assumed = make_outlook(Known(*rows, status_quo="unknown"))
    assert (assumed.status_quo, assumed.assumed, assumed.worth) == ("a", True, None)


def test_what_is_not_known_is_not_made_up():
    found = make_outlook(
        Known(("a", None, 0.0, 1.0, "in the race"), ("b", 0.2, 0.1, 0.3, "in the race"))
    )
    assert [each.chance for each in found.options] == [None, None]
    assert found.options[1].uplift is None
    assert found.worth is None
    numbered = make_outlook(
        Known(("a", 0.1, 0.0, 0.2, "behind"), ("b", 0.2, 0.1, 0.3, "in the race"), every="number")
    )
    assert numbered.worth is None
