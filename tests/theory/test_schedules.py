"""The phase lengths, to the integer, and what they are for: a half-width of at most D_m / 2."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latesum._checks import InvalidInput
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive, phase_rounds

HORIZON = 250_000


@pytest.mark.parametrize(
    ("schedule", "first_tolerance", "expected"),
    [
        (KnownMean(50), 0.5, [1350, 4986, 15471, 44558, 122854]),
        (KnownBound(50, 100), 0.5, [1076, 2746, 7359, 20491, 57962]),
        # Here m d binds: not in the first phase, where ODAAF needs less, and then in the second.
        (KnownBound(50, 3000), 0.5, [1350, 4986]),
        (KnownBound(50, 1500), 0.5, [1350, 3000, 7359]),
        (KnownVariance(50, 2500), 0.5, [44421, 91541, 190153, 398444]),
        (KnownMean(0), 0.5, [464, 1435, 4581, 14681, 45972]),
        (KnownBound(0, 0), 0.5, [464, 1435, 4581, 14681, 45972]),
        (KnownVariance(0, 0), 0.5, [464, 1435, 4581, 14681, 45972]),
        (KnownMean(50), 1.0, [572, 2126, 6548, 18668, 51147]),
        (KnownMean(25), 1.0, [377, 1350, 4175, 12149, 34277]),
        (KnownBound(25, 50), 1.0, [309, 786, 2123, 6030, 17684]),
    ],
)
def test_lengths_of_the_paper(schedule, first_tolerance, expected) -> None:
    assert phase_rounds(schedule, HORIZON, first_tolerance)[: len(expected)] == expected


def test_the_tightened_variance_is_the_variance_over_the_mean() -> None:
    assert phase_rounds(KnownVariance(50, 2500, tightened=True), HORIZON) == phase_rounds(
        KnownVariance(50, 50), HORIZON
    )


def test_no_phase_where_the_horizon_is_a_few_rounds() -> None:
    assert phase_rounds(KnownMean(50), 4) == []
    assert phase_rounds(KnownMean(50), 1, 1.0) == []


def test_a_phase_that_is_no_longer_than_the_one_before_is_none() -> None:
    assert phase_rounds(Naive(0), 25) == [15]  # the second would be 15 rounds as well
    assert phase_rounds(KnownBound(2, 5), 22, 1.0) == [53, 99]


def test_the_bound_never_needs_more_than_knowing_the_mean_alone() -> None:
    for bound in (50, 500, 50_000):
        with_bound = phase_rounds(KnownBound(50, bound), HORIZON)
        without = phase_rounds(KnownMean(50), HORIZON)
        assert all(b <= m for b, m in zip(with_bound, without, strict=False))


means = st.floats(0, 1000)
bounds = st.integers(0, 5000)
schedules = st.one_of(
    st.builds(KnownMean, means),
    st.builds(lambda mean, more: KnownBound(mean, math.ceil(mean) + more), means, bounds),
    st.builds(KnownVariance, means, st.floats(0, 10_000)),
    st.builds(lambda m, v: KnownVariance(m, v, tightened=True), st.floats(1, 1000), means),
    st.builds(Naive, bounds),
)


@given(
    schedule=schedules,
    phase=st.integers(1, 12),
    horizon=st.integers(20, 10**12),
    first_tolerance=st.sampled_from([0.5, 1.0]),
)
def test_each_length_is_the_shortest_that_is_good_enough(
    schedule, phase, horizon, first_tolerance
) -> None:
    tolerance = first_tolerance / 2 ** (phase - 1)
    log_term = math.log(horizon * tolerance**2)
    if log_term <= 0:
        return
    rounds = schedule.rounds(phase, tolerance, log_term)
    slack = 1e-9 * tolerance  # the formulas are solved in floating point
    assert schedule.half_width(phase, rounds, log_term) <= tolerance / 2 + slack
    separation_binds = isinstance(schedule, KnownBound) and rounds == min(
        phase * schedule.delay_bound,
        KnownMean(schedule.mean_delay).rounds(phase, tolerance, log_term),
    )
    if separation_binds:
        # Without it the arm would be played for less, and long enough for the width.
        plain = KnownBound(schedule.mean_delay, math.ceil(schedule.mean_delay))
        least = plain.half_width(phase, rounds, log_term)
        assert least <= tolerance / 2 + slack
        assert rounds <= phase * schedule.delay_bound
        assert rounds <= KnownMean(schedule.mean_delay).rounds(phase, tolerance, log_term)
        if rounds < phase * schedule.delay_bound:
            # ODAAF's own length is the shortest for its width.
            width = KnownMean(schedule.mean_delay).half_width(phase, rounds - 1, log_term)
            assert width > tolerance / 2 - slack
    elif rounds > 1:
        assert schedule.half_width(phase, rounds - 1, log_term) > tolerance / 2 - slack


@given(schedule=schedules, horizon=st.integers(1, 10**12))
def test_phases_grow_and_end(schedule, horizon) -> None:
    rounds = phase_rounds(schedule, horizon)
    assert all(earlier < later for earlier, later in itertools.pairwise(rounds))
    assert len(rounds) <= math.log2(horizon) / 2 + 1


@given(mean=means, horizon=st.integers(20, 10**9), more=st.floats(0, 100))
def test_a_larger_delay_never_shortens_a_phase(mean, horizon, more) -> None:
    for shorter, longer in [
        (KnownMean(mean), KnownMean(mean + more)),
        (KnownVariance(mean, 10), KnownVariance(mean + more, 10 + more)),
        (KnownBound(mean, 2000), KnownBound(mean + more, 2000 + math.ceil(more))),
        (Naive(math.floor(mean)), Naive(math.ceil(mean + more))),
    ]:
        for phase in (1, 2):
            log_term = math.log(horizon * 0.25)
            assert shorter.rounds(phase, 0.5, log_term) <= longer.rounds(phase, 0.5, log_term)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: KnownMean(-1), "the mean delay must be a number of at least 0"),
        (lambda: KnownMean(math.nan), "the mean delay must be a number of at least 0"),
        (lambda: KnownMean(math.inf), "the mean delay must be a number of at least 0"),
        (lambda: KnownBound(50, 40), "below the mean delay"),
        (lambda: KnownBound(50, 100.5), "the delay bound must be a whole number"),
        (lambda: KnownVariance(50, -1), "the delay variance must be a number of at least 0"),
        (lambda: KnownVariance(0.5, 1, tightened=True), "leave out tightened=True"),
        (lambda: Naive(-3), "the delay bound must be a whole number"),
        (lambda: Naive(2.5), "the delay bound must be a whole number"),
    ],
)
def test_bad_schedules_are_refused(build, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        build()
