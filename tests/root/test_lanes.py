"""Four numbers at once are what the same operations give for each alone, to the last digit."""

import numpy as np
import pytest

from latesum._compile import allocation_free
from latesum._lane_kernels import (
    LANES,
    are_zero,
    equal_lanes,
    keep,
    lanes,
    not_negative,
    number,
    padded,
)


@allocation_free
def together(of, by, factor, divisor, into):
    for row in range(of.shape[0]):
        for place in range(0, of.shape[1], LANES):
            more = equal_lanes(factor) + lanes(of, (row, place))
            values = (more - factor * lanes(by, (row, place))) / divisor
            keep(into, (row, place), not_negative(values))


@allocation_free
def squares_and_zeros(of, into):
    zeros = 0
    for row in range(of.shape[0]):
        for place in range(0, of.shape[1], LANES):
            values = lanes(of, (row, place))
            keep(into, (row, place), values * values)
            zeros += are_zero(values)
    return zeros


@allocation_free
def one_after_the_other(array, into):
    for row in range(array.shape[0]):
        for place in range(array.shape[1]):
            into[row, place] = number(array, (row, place))


def test_operations_are_those_of_single_numbers():
    rng = np.random.default_rng(5)
    of, by = rng.normal(size=(2, 30, 8)) * 10.0 ** rng.integers(-9, 9, (2, 30, 8))
    into = np.full((30, 8), np.nan)
    together(of, by, 1 / 3, 0.7, into)
    assert np.array_equal(into, np.maximum((1 / 3 + of - 1 / 3 * by) / 0.7, 0.0))
    assert 0 < np.count_nonzero(into) < into.size


def test_squares_are_those_of_single_numbers_and_zeros_are_noticed():
    of = np.random.default_rng(6).normal(size=(5, 8))
    of[1, :4] = 0.0
    of[2, 4:] = 0.0, -0.0, 0.0, 0.0
    of[3, :3] = of[4, 5:] = 0.0  # all but one
    into = np.full((5, 8), np.nan)
    assert squares_and_zeros(of, into) == 2
    assert np.array_equal(into, of**2)


def test_single_numbers_are_those_at_their_places():
    array = np.arange(24.0).reshape(3, 8)
    into = np.zeros((3, 8))
    one_after_the_other(array, into)
    assert np.array_equal(into, array)


@pytest.mark.parametrize(("places", "length"), [(1, 4), (4, 4), (5, 8), (15, 16), (17, 20)])
def test_rows_are_whole_fours(places, length):
    assert padded(places) == length
