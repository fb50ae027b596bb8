"""The bounds of the theory: by hand, against their derivation, and where they must refuse."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latesum import theory
from latesum._checks import InvalidInput
from latesum.policies.schedules import KnownBound, KnownMean, KnownVariance, Naive

SCHEDULES = [
    KnownMean(50),
    KnownBound(50, 100),
    KnownVariance(50, 2500),
    KnownVariance(50, 2500, tightened=True),
    Naive(100),
]
#: b and c of "regret of an arm <= b G n_{m_j} + c / G".
BRIDGE_AND_FAILURES = {
    KnownMean: (1, 480),
    KnownBound: (2, 1920),
    KnownVariance: (2, 1920),
    Naive: (1, 96),
}
T = 250_000
L = math.log(T * 0.01)  # for a gap of 0.1


@pytest.mark.parametrize(
    ("schedule", "printed", "corrected"),
    [
        (
            KnownMean(50),
            1280 * L + 32 / 3 * L + 96 * math.log(40) * 50 + 4800 + 0.1,
            1280 * L + 64 / 3 * L + 96 * math.log(40) * 50 + 4800 + 0.1,
        ),
        (
            KnownBound(50, 100),
            2560 * L + 64 * 50 + 19200 + 64 * L + 0.2,
            2560 * L + 64 * 50 + 19200 + 64 * L + 0.2,
        ),
        (
            KnownVariance(50, 2500),
            2560 * L + 64 * 50 + 128 * 2500 + 19200 + 64 * math.log(T) + 0.2,
            2560 * L + 64 * 50 + 128 * 2500 + 19200 + 64 * L + 0.2,
        ),
        (
            KnownVariance(50, 2500, tightened=True),
            2560 * L + 64 * 50 + 128 * 50 + 19200 + 64 * math.log(T) + 0.2,
            2560 * L + 64 * 50 + 128 * 50 + 19200 + 64 * L + 0.2,
        ),
        (
            Naive(100),
            0.1 + 640 * L + 64 * math.log(20) * 100 + 960,
            0.1 + 640 * L + 64 * math.log(20) * 100 + 960,
        ),
    ],
)
def test_per_arm_bounds_by_hand(schedule, printed, corrected) -> None:
    bound = theory.arm_regret_bound
    assert bound(schedule, 0.1, T, corrected=False) == pytest.approx(printed, rel=1e-12)
    assert bound(schedule, 0.1, T) == pytest.approx(corrected, rel=1e-12)


def test_a_large_delay_bound_enters_as_printed_and_with_its_lost_factor() -> None:
    schedule = KnownBound(50, 60_000)
    odaaf = theory.arm_regret_bound(KnownMean(50), 0.1, T, corrected=False)
    plain = 2560 * L + 64 * 50 + 19200 + 64 * L + 0.2
    assert theory.arm_regret_bound(schedule, 0.1, T, corrected=False) == pytest.approx(
        max(min(60_000, odaaf), plain)
    )
    separation = 2 * 0.1 * math.log2(40) * 60_000
    assert theory.arm_regret_bound(schedule, 0.1, T) == pytest.approx(
        19200 + min(separation, 2 * (theory.arm_regret_bound(KnownMean(50), 0.1, T) - 4800))
    )


def due_phase(gap: float) -> tuple[int, float]:
    """m_j and its tolerance: the first phase with a tolerance below half the gap."""
    phase = 1
    while 0.5**phase >= gap / 2:
        phase += 1
    return phase, 0.5**phase


@given(
    which=st.integers(0, 3),
    mean=st.floats(1, 500),
    spread=st.integers(0, 5000),
    gap=st.floats(0.001, 1),
    horizon=st.integers(10, 10**30),
)
def test_corrected_bounds_cover_the_lengths_they_are_derived_from(
    which, mean, spread, gap, horizon
) -> None:
    schedule = [
        KnownMean(mean),
        KnownBound(mean, math.ceil(mean) + spread),
        KnownVariance(mean, spread),
        Naive(spread),
    ][which]
    phase, tolerance = due_phase(gap)
    log_term = math.log(horizon * tolerance**2)
    if log_term <= 0:
        return
    plays, failing = BRIDGE_AND_FAILURES[type(schedule)]
    needed = plays * gap * schedule.rounds(phase, tolerance, log_term) + failing / gap
    assert needed <= theory.arm_regret_bound(schedule, gap, horizon) * (1 + 1e-12)


def test_the_printed_constants_do_not_cover_their_derivation() -> None:
    """Otherwise there would be nothing to correct."""
    horizon, gap = 10**60, 1.0
    phase, tolerance = due_phase(gap)
    rounds = KnownMean(0).rounds(phase, tolerance, math.log(horizon * tolerance**2))
    assert gap * rounds + 480 > theory.arm_regret_bound(KnownMean(0), gap, horizon, corrected=False)
    schedule = KnownBound(100, 10**5)
    rounds = schedule.rounds(phase, tolerance, math.log(10**12 * tolerance**2))
    printed = theory.arm_regret_bound(schedule, gap, 10**12, corrected=False)
    assert 2 * gap * rounds + 1920 > printed


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_sums_over_gaps(schedule) -> None:
    horizon = 10**9
    per_arm = [theory.arm_regret_bound(schedule, gap, horizon) for gap in (0.1, 0.3)]
    assert theory.regret_bound(schedule, [0.1, 0, 0.3, 0], horizon) == pytest.approx(sum(per_arm))
    assert theory.regret_bound(schedule, [0, 0], horizon) == 0
    # A gap below 1 / sqrt(T) = 3.2e-5 costs T G, and its arm may eliminate the best one.
    elimination = {KnownMean: 192, KnownBound: 768, KnownVariance: 768, Naive: 64}[type(schedule)]
    with_small = theory.regret_bound(schedule, [0.1, 1e-5, 0.3], horizon)
    assert with_small == pytest.approx(sum(per_arm) + horizon * 1e-5 + elimination / 0.1)
    printed = theory.regret_bound(schedule, [0.1, 1e-5], horizon, corrected=False)
    alone = theory.arm_regret_bound(schedule, 0.1, horizon, corrected=False)
    assert printed == pytest.approx(alone + horizon * 1e-5)


@given(
    which=st.integers(0, len(SCHEDULES) - 1),
    gaps=st.lists(st.floats(0, 1), min_size=1, max_size=6),
    horizon=st.integers(1, 10**9),
)
def test_the_corrected_sum_is_never_above_the_trivial_bound(which, gaps, horizon) -> None:
    bound = theory.regret_bound(SCHEDULES[which], gaps, horizon)
    assert 0 <= bound <= horizon * max(gaps)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("corrected", [True, False])
def test_worst_cases_hold_for_every_gap(schedule, corrected) -> None:
    n_arms, horizon = 4, 10**8
    worst = theory.worst_case_regret(schedule, n_arms, horizon, corrected=corrected)
    assert worst < horizon
    for step in range(60):
        gap = 10 ** (-step / 12)
        at_gap = theory.regret_bound(schedule, [0] + [gap] * (n_arms - 1), horizon)
        assert at_gap <= worst * 1.001


def test_worst_cases_by_brute_force() -> None:
    schedule, horizon = KnownMean(50), 10**8
    grid = [10 ** (-4 + 4 * i / 30_000) for i in range(1, 30_001)]
    best = math.inf
    largest = 0.0
    for gap in reversed(grid):
        largest = max(largest, theory.arm_regret_bound(schedule, gap, horizon))
        best = min(best, 2 * largest + horizon * gap)
    assert theory.worst_case_regret(schedule, 3, horizon) == pytest.approx(best, rel=1e-4)


def test_a_bound_too_large_for_the_corollary_warns() -> None:
    limit = math.sqrt(10**6 * math.log(2) / 2) + 50
    with pytest.warns(UserWarning, match="the number is still a bound"):
        theory.worst_case_regret(KnownBound(50, math.ceil(limit)), 2, 10**6)


@pytest.mark.parametrize(
    ("schedule", "stated", "one_side", "both_sides"),
    [
        (KnownMean(9), 3, 3, 6),
        (KnownBound(9, 20), 12, 12, 24),
        (KnownVariance(9, 20), 12, 12, 24),
        (Naive(20), 2, 1, 2),
    ],
)
def test_failure_probabilities(schedule, stated, one_side, both_sides) -> None:
    probability = theory.failure_probability
    scale = 2000 * 0.25**2
    assert probability(schedule, 0.25, 2000) == pytest.approx(stated / scale)
    assert probability(schedule, 0.25, 2000, sides=1) == pytest.approx(one_side / scale)
    assert probability(schedule, 0.25, 2000, sides=2) == pytest.approx(both_sides / scale)
    assert probability(schedule, 0.5, 5, sides=2) <= 1


def test_half_widths_are_at_most_half_the_tolerance() -> None:
    for schedule in SCHEDULES:
        for phase in range(1, 7):
            width = theory.half_width(schedule, phase, 0.5**phase, T)
            assert 0 < width <= 0.5**phase / 2


def test_lai_robbins_by_hand() -> None:
    kl = 0.5 * math.log(0.5 / 0.6) + 0.5 * math.log(0.5 / 0.4)
    assert theory.lai_robbins([0.5, 0.6, 0.6], T) == pytest.approx(0.1 / kl * math.log(T))
    assert theory.lai_robbins([0.6, 0.6], T) == 0
    assert theory.lai_robbins([0.2, 1.0], T) == 0  # one success of the other arm settles it
    assert theory.lai_robbins([0.0, 0.5], 1000) == pytest.approx(0.5 / math.log(2) * math.log(1000))


@given(p=st.floats(0, 1), q=st.floats(0, 1))
def test_divergence_is_at_least_what_pinsker_says(p, q) -> None:
    assert theory.bernoulli_divergence(p, q) >= 2 * (p - q) ** 2
    assert math.isfinite(theory.lai_robbins([p, q], 1000))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_lower_bound_is_below_the_upper_ones(schedule) -> None:
    for horizon in (10**3, 10**6, 10**12):
        lower = theory.lai_robbins([0.4, 0.5, 0.6], horizon)
        assert lower <= theory.regret_bound(schedule, [0.2, 0.1, 0], horizon)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.arm_regret_bound(KnownMean(5), 0.001, 1000), "such an arm costs at most"),
        (lambda: theory.arm_regret_bound(KnownMean(5), 0, 1000), "a gap must be a number above 0"),
        (lambda: theory.arm_regret_bound(KnownMean(5), 1.5, 1000), "at most 1, not 1.5"),
        (lambda: theory.regret_bound(KnownMean(5), [-0.1], 1000), "a gap must be a number"),
        (lambda: theory.regret_bound(KnownMean(5), [math.nan], 1000), "a gap must be a number"),
        (lambda: theory.regret_bound(KnownMean(5), [0.1], 0), "the horizon must be a whole number"),
        (lambda: theory.regret_bound("odaaf", [0.1], 1000), "KnownMean, KnownBound"),
        (lambda: theory.worst_case_regret(KnownMean(5), 1, 1000), "at least 2, not 1"),
        (
            lambda: theory.half_width(KnownMean(5), 1, 0.01, 1000),
            "there is no phase with tolerance",
        ),
        (lambda: theory.half_width(KnownMean(5), 0, 0.5, 1000), "the phase must be a whole number"),
        (lambda: theory.failure_probability(KnownMean(5), 2, 1000), "the tolerance must be"),
        (lambda: theory.failure_probability(KnownMean(5), 0.5, 1000, sides=3), "sides is 1, 2"),
        (lambda: theory.lai_robbins([0.5], 1000), "at least 2 arms"),
        (lambda: theory.lai_robbins([0.5, 1.2], 1000), "a mean must be a number"),
    ],
)
def test_bad_input_is_refused(call, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_it_needs_no_heavy_library() -> None:
    code = (
        "import sys, latesum.policies.schedules; before = set(sys.modules); import latesum.theory; "
        "new = {m.split('.')[0] for m in set(sys.modules) - before}; "
        "assert not new & {'scipy', 'numba', 'matplotlib', 'pandas'}, new"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
