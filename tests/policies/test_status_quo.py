"""The status quo and the history from before the start: what Flow makes of them."""

import json

import pytest

from latesum import InvalidInput
from latesum.policies import ODAAF, Flow, build, from_state
from latesum.policies.flow import FlowBalance

PLAYS = [(0, 130, 60.0), (1, 40, 30.0), (1, 260, None), (0, 95, 50.0), (2, 300, 100.0)]
HISTORY = [(1, 400, 210.0), (1, 300, None), (0, 90, 30.0)]


def _balance(status_quo, plays, **more):
    balance = FlowBalance(3, mean_delay=25, status_quo=status_quo, **more)
    for play in plays:
        balance.add(*play)
    return balance


def test_an_arm_as_status_quo_is_like_one_that_was_played_without_a_total():
    given = _balance(1, PLAYS)
    played = _balance(None, [(1, 10_000, None), *PLAYS])
    assert (given.own, given.leaks) == (played.own, played.leaks)
    assert given.boundaries == played.boundaries
    assert given.means() == played.means()
    assert given.means() != _balance(None, PLAYS).means()


def test_an_arm_that_goes_on_has_lost_nothing():
    balance = _balance(0, [(0, 1000, 500.0)])
    assert balance.means()[0] == 0.5
    assert balance.own[0] == 1000


@pytest.mark.parametrize("earned", [0.0, 12.0, 75.0])
def test_no_arm_is_judged_by_rounds_in_which_something_else_still_arrived(earned):
    """Whatever the first totals are, the estimates and limits of the arms are the same."""
    first = [(0, 40, earned), (1, 35, 2 * earned)]  # three mean delays are 75 rounds
    rest = [(2, 300, 100.0), (0, 200, 90.0), (1, 200, 80.0)]
    balance = _balance("other", first + rest)
    pending = _balance(None, [(arm, rounds, None) for arm, rounds, _ in first] + rest)
    assert balance.rounds == [200, 200, 300]
    assert balance.means() == pending.means()
    assert balance.limits(0.9) == pending.limits(0.9)


def test_the_status_quo_is_one_more_unknown_that_is_solved_for():
    plays = [
        (0, 75, 50 * 0.4 + 25 * 0.8),
        (1, 1000, 975 * 0.3 + 25 * 0.4),
        (0, 500, 475 * 0.4 + 25 * 0.3),
    ]
    balance = _balance("other", plays)
    assert balance.means()[:2] == pytest.approx([0.4, 0.3])
    assert balance.mean_of_status_quo() == pytest.approx(0.8)
    assert _balance("other", []).mean_of_status_quo() is None
    assert _balance(0, plays).mean_of_status_quo() is None


def test_a_bound_makes_the_time_longer_in_which_it_may_arrive():
    plays = [(0, 100, 50.0), (1, 100, 50.0), (2, 100, 50.0)]
    assert _balance("other", plays).rounds == [0, 100, 100]
    assert _balance("other", plays, delay_bound=150).rounds == [0, 0, 100]
    assert _balance("other", plays, delay_bound=25).rounds == [0, 100, 100]


@pytest.mark.parametrize("lookahead", [False, True])
def test_a_history_is_known_and_does_not_count_towards_the_horizon(lookahead):
    policy = Flow(3, 6_000, mean_delay=8.0, lookahead=lookahead, history=HISTORY)
    assert policy.rounds_played == 0
    assert [row.plays for row in policy.estimates()] == [90, 400, 0]
    assert policy.ask().arm == 2  # the only one that was never tried
    again = from_state(json.loads(json.dumps(policy.to_state())))
    assert again.ask() == policy.ask()
    assert again.estimates() == policy.estimates()
    assert again.history == policy.history


def test_a_history_may_be_cut_as_one_likes():
    days = [(0, 100, 40.0)] * 10 + [(1, 100, 60.0)] * 5
    one = Flow(2, 6_000, mean_delay=8.0, status_quo=1, history=days)
    halves = [(0, 50, 20.0)] * 20 + [(1, 250, 150.0)] * 2
    other = Flow(2, 6_000, mean_delay=8.0, status_quo=1, history=halves)
    assert one.ask() == other.ask()
    assert one.estimates() == other.estimates()


def test_with_a_history_of_all_arms_the_best_index_comes_first():
    history = [(0, 4_000, 800.0), (1, 4_000, 2_800.0)]
    policy = Flow(2, 10_000, mean_delay=8.0, history=history)
    assert policy.ask().arm == 1
    assert policy._reason() == "because it looks most promising"


def test_fresh_replaces_the_history():
    policy = Flow(2, 6_000, mean_delay=8.0, status_quo=0, history=[(0, 500, 200.0)])
    assert policy.fresh().history == policy.history
    given = policy.fresh(history=[(1, 500, 100.0)])
    assert [row.plays for row in given.estimates()] == [0, 500]
    assert given.fresh().history == given.history
    assert [row.plays for row in policy.estimates()] == [500, 0]
    assert policy.fresh(history=[]).estimates()[0].plays == 0
    with pytest.raises(InvalidInput, match="ODAAF takes no history"):
        ODAAF(2, 1_000, mean_delay=5).fresh(history=[])


def test_the_status_quo_is_among_the_findings():
    policy = Flow(2, 6_000, mean_delay=10, status_quo="other")
    for _ in range(4):
        asked = policy.ask()
        policy.tell(asked.arm, asked.rounds, 0.5 * asked.rounds)
    assert policy.explain()[0].startswith("The status quo had a mean of about 0.")
    impossible = policy.fresh()
    impossible.tell(0, 150, 150.0)  # as if more than all of it had come from before
    impossible.tell(0, 1_000, 0.0)
    assert not any("status quo" in text for text in impossible.explain())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"status_quo": "othr"}, "'other'"),
        ({"status_quo": 2}, "arm 2 cannot have run before"),
        ({"status_quo": 0.5}, "the status quo"),
        ({"history": [(0, 10)]}, "arm, rounds, total"),
        ({"history": [(2, 10, 1.0)]}, "no arm 2 in the history"),
        ({"history": [(0, 0, 1.0)]}, "at least 1"),
        ({"history": [(0, 10, float("nan"))]}, "a total in the history"),
        ({"history": [5]}, "arm, rounds, total"),
    ],
)
def test_nonsense_is_refused(arguments, says):
    with pytest.raises(InvalidInput, match=says):
        Flow(2, 1_000, mean_delay=5, **arguments)


@pytest.mark.parametrize("name", ["odaaf", "clw", "ars-ucb", "round-robin"])
def test_policies_that_do_not_understand_it_have_no_such_parameter(name):
    with pytest.raises(InvalidInput, match="'status_quo'"):
        build(name, n_arms=2, status_quo=0)
