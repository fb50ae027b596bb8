"""Special cases, play for play, against plain versions on the same draws."""

import numpy as np
import plain_policies as plain
import pytest

from latesum import _kl_kernels
from latesum.attributed import DUCB, QPMD, SDB, DelayedUCB1, ImprovedUCB, run
from latesum.attributed.runner import Draws
from latesum.simulation import Problem

HORIZON = 1_000
#: The complete version has three, and twice as many rounds.
SEEDS = [1, pytest.param(3, marks=pytest.mark.slow)]


@pytest.fixture(params=SEEDS, ids="{0} seeds".format)
def seeds(request, monkeypatch):
    if request.param > 1:
        monkeypatch.setitem(globals(), "HORIZON", 2_000)
    return range(request.param)


BERNOULLI = [0.5, 0.6]


def arms_of(problem, policy, horizon, seed):
    return np.repeat(
        *run(problem, policy, horizon, seed_sequence=np.random.SeedSequence(seed))
    ).tolist()


def assert_same_plays(problem, policy, version, seed, horizon=None):
    horizon = horizon or HORIZON
    expected, _ = plain.play(problem, version, horizon, np.random.SeedSequence(seed))
    assert arms_of(problem, policy, horizon, seed) == expected


NO_DELAY = Problem(BERNOULLI, "constant(0)")


def test_without_delay_delayed_ucb1_is_ucb1():
    for seed in range(5):
        ucb1 = arms_of(NO_DELAY, QPMD("ucb1", 2), HORIZON, seed)
        assert arms_of(NO_DELAY, DelayedUCB1(2), HORIZON, seed) == ucb1


def test_sdb_that_may_keep_nothing_unused_is_qpmd():
    sdb = SDB("kl-ucb", 2, heuristic="thompson", max_delay=0)
    assert arms_of(NO_DELAY, sdb, HORIZON, 1) == arms_of(NO_DELAY, QPMD("kl-ucb", 2), HORIZON, 1)


def first_plays(problem, seed):
    """The order of DUCB's first plays in a run with this seed."""
    draws = Draws(problem, np.random.SeedSequence(seed))
    return draws.policy_rng.permutation(problem.n_arms).tolist()


DUCB_DELAYS = [
    "uniform(0, 200)",
    "poisson(50)",
    "exponential(50).clipped(75)",
    "mixture((0.05, constant(500)), (0.95, uniform(0, 50)))",
]


@pytest.mark.parametrize("delay", DUCB_DELAYS)
@pytest.mark.parametrize("means", [BERNOULLI, [0.5, 0.45, 0.6, 0.3, 0.55]], ids=["two", "five"])
def test_ducb_equals_the_plain_sum_over_the_window(delay, means, seeds):
    problem = Problem(means, delay)
    n_arms = problem.n_arms
    chances = [plain.rounded_chances(problem.delay)] * n_arms
    for seed in seeds:
        order = first_plays(problem, seed)
        assert sorted(order) == list(range(n_arms))
        assert_same_plays(problem, DUCB(delay, n_arms), plain.DUCB(chances, order), seed)


@pytest.mark.parametrize(
    "delay", ["exponential(50)", "geometric(3)", "exponential(20).clipped(75)"]
)
def test_rounding_the_chances_changes_no_play(delay, seeds):
    """Where no two indices are equal: under uniform delays some are, before the first rewards."""
    problem = Problem(BERNOULLI, delay)
    chances = [plain.unrounded_chances(problem.delay)] * 2
    for seed in seeds:
        policy = DUCB(delay, 2)
        order = first_plays(problem, seed)
        assert_same_plays(problem, policy, plain.DUCB(chances, order), seed)


@pytest.mark.parametrize("horizon", [1, 2, 5, 40, 1_000, 30_000])
def test_improved_ucb(horizon, seeds):
    problem = Problem([0.3, 0.8, 0.75], "constant(0)")
    for seed in seeds:
        policy = ImprovedUCB(3, horizon=horizon)
        assert_same_plays(problem, policy, plain.ImprovedUCB(3, horizon), seed, horizon)


def test_solvers_meet_their_equations():
    last_digit = _kl_kernels.TO_THE_LAST_DIGIT
    for p in [0.0, 1e-9, 0.01, 0.5, 0.99, 1 - 1e-9, 1.0]:
        assert _kl_kernels.bernoulli_upper(p, 0.0, last_digit) == p
        assert _kl_kernels.poisson_upper(p, 0.0) == p
        for allowance in [1e-6, 0.01, 0.5, 3.0, 50.0]:
            expected = plain.largest_within(plain.kl, p, allowance)
            found = _kl_kernels.bernoulli_upper(p, allowance, last_digit)
            assert found == pytest.approx(expected, abs=1e-9)
            expected = plain.largest_within(
                lambda p, q: q - p + (p * np.log(p / q) if p > 0 else 0.0), p, allowance
            )
            assert _kl_kernels.poisson_upper(p, allowance) == pytest.approx(expected, abs=1e-9)
    # Too close for the bisection above: kl(p, q) is (q - p)^2 / (2 p (1 - p)) there.
    found = _kl_kernels.bernoulli_upper(0.3, 1e-14, last_digit)
    assert found - 0.3 == pytest.approx(np.sqrt(2e-14 * 0.21), rel=1e-4)
