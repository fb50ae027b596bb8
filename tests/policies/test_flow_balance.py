"""The flow balance: by hand, in expectation for any delay, and however a history is cut."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attributed.plain_policies import kl, largest_within
from latesum.delays import parse
from latesum.policies.flow import FlowBalance

DELAYS = (
    "constant(7)",
    "uniform(0, 20)",
    "uniform(5, 9)",
    "exponential(10).truncated(60)",
    "poisson(6).clipped(15)",
    "mixture((0.9, constant(0)), (0.1, constant(40)))",
)


def expected_totals(runs, means, delay):
    """What arrives in each run on average, if every run is at least as long as any delay."""
    totals, in_flight = [], 0.0
    for arm, rounds in runs:
        left_behind = delay.clipped(rounds).mean * means[arm]
        totals.append(rounds * means[arm] - left_behind + in_flight)
        in_flight = left_behind
    return totals


def histories(n_arms=3, longest=200):
    play = st.tuples(st.integers(0, n_arms - 1), st.integers(1, longest), st.booleans())
    return st.lists(play, min_size=1, max_size=12)


def weights(balance):
    """Row j: how many plays of each arm arrived in known rounds of arm j."""
    arms = range(balance.n_arms)
    return [[{**balance.leaks[j], j: balance.own[j]}.get(i, 0) for i in arms] for j in arms]


def test_by_hand():
    # E = 10: half of the rewards come at once, half 20 rounds later.
    balance = FlowBalance(3, mean_delay=10)
    balance.add(0, 100, 45.0)  # 100 plays, 10 of them in flight at the end
    balance.add(1, 30, 12.0)  # 30 plays, 10 in flight, and the 10 of arm 0
    balance.add(2, 6, 2.0)  # 6 plays, 3 in flight, and 3 of arm 1
    balance.add(0, 50, 25.0)  # 50 - 10, and 7 of arm 1 and 3 of arm 2
    assert weights(balance) == [[130, 7, 3], [10, 20, 0], [0, 3, 3]]
    assert balance.rounds == [150, 30, 6]
    assert balance.totals == [70, 12, 2]
    assert balance.boundaries == [2, 1, 1]
    np.testing.assert_allclose(balance.means(), np.linalg.solve(weights(balance), balance.totals))
    np.testing.assert_allclose(
        balance.effective_counts(), [130**2 / 170, 20**2 / 40, 3**2 / 16], rtol=1e-12
    )


def test_runs_longer_than_two_mean_delays_leak_one_mean_delay():
    """own = N - E F and E C leaks in: F departures, C transitions, whatever the lengths."""
    balance = FlowBalance(2, mean_delay=12.5)
    for arm, rounds in [(0, 25), (1, 400), (1, 3), (0, 90), (1, 31)]:
        balance.add(arm, rounds, 0.0)
    np.testing.assert_allclose(weights(balance), [[115 - 25, 12.5], [25, 434 - 25]])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(DELAYS), st.data())
def test_the_solution_is_exact_in_expectation_for_any_delay(text, data):
    delay = parse(text)
    shortest = max(math.ceil(2 * delay.mean), delay.bound)
    arms = [*data.draw(st.lists(st.integers(0, 3), min_size=3, max_size=12)), 0, 1, 2, 3]
    runs = [
        (arm, data.draw(st.integers(math.ceil(1.5 * shortest), 300)))
        for arm, before in zip(arms, [None, *arms], strict=False)
        if arm != before
    ]
    means = data.draw(st.lists(st.floats(0, 1), min_size=4, max_size=4))
    balance = FlowBalance(4, delay.mean, delay.bound)
    for (arm, rounds), total in zip(runs, expected_totals(runs, means, delay), strict=True):
        balance.add(arm, rounds, total)
    np.testing.assert_allclose(balance.means(), means, atol=1e-5)
    low, high = balance.limits(0.95)
    assert np.all(low <= np.array(means) + 1e-9)
    assert np.all(high >= np.array(means) - 1e-9)


@settings(max_examples=60, deadline=None)
@given(histories(), st.floats(0, 60), st.randoms(use_true_random=False))
def test_cutting_a_history_otherwise_changes_nothing(history, mean_delay, random):
    whole, parts = FlowBalance(3, mean_delay), FlowBalance(3, mean_delay)
    for arm, rounds, known in history:
        whole.add(arm, rounds, rounds / 2 if known else None)
        while rounds:
            some = random.randint(1, rounds)
            parts.add(arm, some, some / 2 if known else None)
            rounds -= some
    np.testing.assert_allclose(weights(whole), weights(parts), atol=1e-9)
    np.testing.assert_allclose(whole.totals, parts.totals)
    known_runs = [
        (arm, before)
        for (arm, _, known), before in zip(history, [None, *history], strict=False)
        if known and not (before and before[0] == arm and before[2])
    ]
    assert sum(whole.boundaries) == len(known_runs)
    if all(known for *_, known in history):
        assert parts.boundaries == whole.boundaries


@settings(max_examples=60, deadline=None)
@given(histories(), st.floats(0, 60))
def test_every_play_arrives_at_most_once_and_the_system_stays_solvable(history, mean_delay):
    balance = FlowBalance(3, mean_delay)
    played = np.zeros(3)
    for arm, rounds, known in history:
        balance.add(arm, rounds, rounds / 2 if known else None)
        played[arm] += rounds
    assert np.all(np.sum(weights(balance), axis=0) <= played + 1e-9)
    assert np.all(np.diagonal(weights(balance)) >= np.array(balance.rounds) / 2 - 1e-9)
    assert np.all(np.isfinite(balance.means()))
    low, high = balance.limits(0.95)
    assert np.all(np.isfinite(low))
    assert np.all(np.isfinite(high))


def test_a_pending_play_drops_only_its_own_equation():
    balance = FlowBalance(2, mean_delay=10)
    balance.add(0, 100, 45.0)
    balance.add(1, 100, None)
    balance.add(0, 100, 56.0)
    assert weights(balance) == [[180, 10], [0, 0]]
    assert balance.rounds == [200, 0]
    assert balance.previous == 0
    # Nothing is known of arm 1: it takes the overall mean, and its limits say nothing.
    assert balance.means()[1] == pytest.approx(101 / 200)
    low, high = balance.limits(0.95)
    assert (low[1], high[1]) == (0, 1)


def test_a_factor_is_solving_with_a_larger_mean_delay():
    """Exactly so where every run is at least twice that long."""
    usual, larger = FlowBalance(2, 40), FlowBalance(2, 50)
    for balance in (usual, larger):
        balance.add(0, 3000, 1475.0)
        balance.add(1, 500, 300.0)
        balance.add(0, 3000, 1500.0)
    np.testing.assert_allclose(usual.means(1.25), larger.means(), atol=1e-7)


def test_tails_widen_the_limits_after_short_runs():
    """With a bound that every run reaches there are none; without one they fade with the runs."""

    def width(rounds, **more):
        balance = FlowBalance(2, mean_delay=50, **more)
        balance.add(0, rounds, 0.5 * rounds)
        balance.add(1, rounds, 0.5 * rounds)
        return balance.slack[1], np.diff(balance.limits(0.95), axis=0)[0, 1]

    assert width(150, delay_bound=150)[0] == 0.0
    assert width(150)[0] == pytest.approx(50 * math.exp(-3))
    assert width(75, delay_bound=150)[0] == pytest.approx(25)
    assert width(150)[1] > width(150, delay_bound=150)[1]


def plain_limits(balance, level):
    """The thinned interval again, plainly: a union over the other arms, and n' = N + d B plays."""
    risk, arms = 1 - level, balance.n_arms
    plays = np.array(balance.rounds) + balance.reach * np.array(balance.boundaries)
    present = [balance._tail(balance.run) * (arm == balance.previous) for arm in range(arms)]
    slack = np.array(balance.slack) + present

    def totals(arm, allowance):
        share = min(max(balance.totals[arm] / plays[arm], 0.0), 1.0)
        each = allowance / plays[arm]
        most = plays[arm] * largest_within(kl, share, each)
        least = plays[arm] * (1 - largest_within(kl, 1 - share, each))
        return least - slack[arm], most + slack[arm]

    def solved(arm, least, most, low, high):
        others = [other for other in range(arms) if other != arm]
        own, leaks = balance.own[arm], balance.leaks[arm]
        in_most = sum(leaks.get(other, 0.0) * high[other] for other in others)
        in_least = sum(leaks.get(other, 0.0) * low[other] for other in others)
        return (least - in_most) / own, (most - in_least) / own

    low, high = np.zeros(arms), np.ones(arms)
    wide = math.log(2 * (arms - 1) / (0.1 * risk))
    for _ in range(60):
        for arm in range(arms):
            new_low, new_high = solved(arm, *totals(arm, wide), low, high)
            new_low, new_high = max(new_low, low[arm]), min(new_high, high[arm])
            if new_low <= new_high:  # otherwise the totals contradict each other
                low[arm], high[arm] = new_low, new_high
    own = math.log(2 / (0.9 * risk))
    return [solved(arm, *totals(arm, own), low, high) for arm in range(arms)]


@pytest.mark.parametrize("bound", [None, 40, 300])
def test_the_limits_are_those_of_the_theorem(bound):
    balance = FlowBalance(3, mean_delay=20, delay_bound=bound)
    for arm, rounds, mean in [
        (0, 400, 0.5),
        (1, 300, 0.6),
        (2, 500, 0.3),
        (0, 200, 0.5),
        (2, 100, 0.3),
    ]:
        balance.add(arm, rounds, rounds * mean)
    for level in (0.9, 0.99):
        low, high = balance.limits(level)
        expected = np.array(plain_limits(balance, level))
        np.testing.assert_allclose(low, expected[:, 0], atol=1e-6)
        np.testing.assert_allclose(high, expected[:, 1], atol=1e-6)


def test_totals_that_contradict_each_other_say_nothing_about_other_arms():
    balance = FlowBalance(2, mean_delay=50)
    balance.add(0, 200, 60.0)
    balance.add(1, 200, 399.0)  # more than 200 plays and what leaked in can bring
    balance.add(0, 200, 60.0)
    low, high = balance.limits(0.95)
    expected = np.array(plain_limits(balance, 0.95))
    np.testing.assert_allclose(low, expected[:, 0], atol=1e-6)
    np.testing.assert_allclose(high, expected[:, 1], atol=1e-6)


def test_a_mean_outside_its_range_corrects_the_others_up_to_a_limit():
    """Clipped to [0, 1], low rates would be biased; without a limit errors could grow."""

    def means(total):
        balance = FlowBalance(2, mean_delay=50)
        balance.add(0, 400, total)
        balance.add(1, 400, 200.0)
        return balance, balance.means()

    for total in (-60.0, 450.0):  # means of -0.17 and 1.29
        balance, found = means(total)
        assert not 0 <= found[0] <= 1
        weights = [[balance.own[0], 0.0], [balance.leaks[1][0], balance.own[1]]]
        np.testing.assert_allclose(found, np.linalg.solve(weights, balance.totals), atol=1e-6)
    _, found = means(900.0)  # 2.57, which corrects as 1.5 does
    assert found[1] == pytest.approx((200 - 50 * 1.5) / 350)
