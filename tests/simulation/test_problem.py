"""Problems and their worlds: nothing is lost, nothing comes early, bad input is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum import delays
from latesum._checks import InvalidInput
from latesum.delays import base
from latesum.simulation import Beta, Discrete, Problem

DELAYS = [
    "constant(0)",
    "constant(3)",
    "uniform(0, 10)",
    "geometric(4)",
    "poisson(6)",
    "exponential(5)",
    "half_normal(3, 2)",
    "pareto(1.2, 30)",
    "pareto(1.05, 5000)",
    "mixture((0.2, uniform(5000, 9000)), (0.8, constant(1)))",
    "constant(5000)",
    "tabulated([0, 0, 2, 2, 40, 40], [0, 0.5, 0.5, 0.75, 0.75, 1])",
]

#: Not a Bernoulli reward, whose draws have a way of their own.
ALWAYS, NEVER = Discrete([1], [1]), Discrete([0], [1])


def start(problem: Problem, seed: int = 1):
    return problem.start(rng=np.random.default_rng(seed))


def test_a_problem_knows_its_arms() -> None:
    problem = Problem([0.5, Beta(3, 1), Discrete([0.6], [1]), 0.75], "uniform(0, 100)")
    assert problem.n_arms == 4
    assert problem.means == (0.5, 0.75, 0.6, 0.75)
    assert problem.best == 1
    assert problem.gaps == pytest.approx((0.25, 0, 0.15, 0))
    assert problem.delay == delays.uniform(0, 100)
    assert "uniform(0, 100)" in repr(problem)
    assert Problem(np.array([0.25, 0.5]), "poisson(5)").means == (0.25, 0.5)


def test_one_delay_per_arm() -> None:
    problem = Problem([0.5, 0.6], ["poisson(5)", delays.constant(2)])
    assert problem.delays == (delays.poisson(5), delays.constant(2))
    with pytest.raises(InvalidInput, match=r"see problem\.delays"):
        _ = problem.delay


plays = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 400), st.booleans()), min_size=1, max_size=8
)


#: For tests that are the same for several delays: together they have more examples than others.
fewer = settings(max_examples=2 * settings.default.max_examples // 5)


@pytest.mark.parametrize("delay", DELAYS)
@given(plays=plays, seed=st.integers(0, 2**32))
@fewer
def test_no_reward_is_lost_or_made(delay, plays, seed) -> None:
    """Every play earns 1, so what was seen and what is in flight is the number of rounds."""
    world = start(Problem([ALWAYS, 1.0], [delay, "pareto(1.5, 20)"]), seed)
    seen = 0.0
    for arm, rounds, one_by_one in plays:
        seen += world.play_rounds(arm, rounds).sum() if one_by_one else world.play(arm, rounds)
        assert seen + world.outstanding == world.rounds_played
    assert world.rounds_played == sum(rounds for _, rounds, _ in plays)


@pytest.mark.parametrize("pays", [ALWAYS, 1.0], ids=["discrete", "Bernoulli"])
@pytest.mark.parametrize("largest_table", [4096, 4])
@given(rounds=st.integers(1, 50), delay=st.integers(0, 60), more=st.integers(0, 100))
@fewer
def test_constant_delays_arrive_to_the_round(pays, largest_table, rounds, delay, more) -> None:
    """Round t's reward is seen at the end of round t + delay (delay 0: in its own round).

    With a table of 4 the longer delays take the ways of a far tail, which must be as punctual.
    """
    expected = np.zeros(rounds + more)
    expected[delay : delay + rounds] = 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "MAX_TABLE", largest_table)
        problem = Problem([pays, NEVER], delays.constant(delay))
        by_block, by_round, step_by_step = start(problem), start(problem), start(problem)
    assert by_block.play(0, rounds) == expected[:rounds].sum()
    assert by_block.play(1, more) == expected[rounds:].sum()
    seen = np.concatenate([by_round.play_rounds(0, rounds), by_round.play_rounds(1, more)])
    np.testing.assert_array_equal(seen, expected)
    step_by_step.play(0, rounds)
    rest = [step_by_step.play(1, 1) for _ in range(more)]
    np.testing.assert_array_equal(rest, expected[rounds:])


def test_the_same_seed_gives_the_same_world() -> None:
    problem = Problem([0.3, Beta(2, 2)], "pareto(1.5, 50)")
    one, other = start(problem, 3), start(problem, 3)
    for arm, rounds in [(0, 100), (1, 5000), (0, 7)]:
        assert one.play(arm, rounds) == other.play(arm, rounds)


def test_playing_no_rounds_changes_nothing() -> None:
    world = start(Problem([1.0, 1.0], "constant(5)"))
    world.play(0, 3)
    assert world.play(1, 0) == 0
    assert len(world.play_rounds(1, 0)) == 0
    assert world.outstanding == 3


@pytest.mark.parametrize(
    ("arms", "delay", "sentence"),
    [
        ([], "poisson(5)", "at least 2 arms .* not 0"),
        ([0.5], "poisson(5)", "at least 2 arms .* not 1"),
        ([0.5, 1.5], "poisson(5)", "at least 0 and at most 1, not 1.5"),
        ([0.5, -0.1], "poisson(5)", "at least 0 and at most 1, not -0.1"),
        ([0.5, math.nan], "poisson(5)", "not nan"),
        ([0.5, "0.6"], "poisson(5)", "cannot read the reward"),
        ([0.5, "beta(6"], "poisson(5)", "cannot read the reward"),
        ([0.5, "beta(3)"], "poisson(5)", "cannot read the reward"),
        ([0.5, "__import__('os')"], "poisson(5)", "there is no reward"),
        ([0.5, "bta(3, 4)"], "poisson(5)", "did you mean 'beta'"),
        ([0.5, "beta(a=3, b=4)"], "poisson(5)", "cannot read the reward"),
        ([0.5, True], "poisson(5)", "an arm is a reward or a number between 0 and 1"),
        ([0.5, None], "poisson(5)", "an arm is a reward or a number between 0 and 1"),
        ("0.5,0.6", "poisson(5)", "the arms are a list"),
        (0.5, "poisson(5)", "the arms are a list"),
        ([0.5, 0.6], "poison(5)", "did you mean 'poisson'"),
        ([0.5, 0.6], ["poisson(5)"], "one for each of the 2, not 1"),
        ([0.5, 0.6], [], "one for each of the 2, not 0"),
        ([0.5, 0.6], 50, "delay"),
        ([0.5, 0.6], None, "delay"),
        ([0.5, 0.6], [50, 50], "a delay is written as text"),
    ],
)
def test_bad_problems_are_refused(arms, delay, sentence) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Problem(arms, delay)


@pytest.mark.parametrize(
    ("arm", "rounds", "sentence"),
    [
        (2, 5, "there is no arm 2; the arms are 0 to 1"),
        (-1, 5, "an arm must be a whole number"),
        (0.5, 5, "an arm must be a whole number"),
        (True, 5, "an arm must be a whole number"),
        (0, -1, "rounds must be a whole number of at least 0, not -1"),
        (0, 2.5, "rounds must be a whole number of at least 0, not 2.5"),
        (0, math.nan, "rounds must be a whole number of at least 0, not nan"),
        (0, None, "rounds must be a whole number"),
    ],
)
def test_bad_plays_are_refused(arm, rounds, sentence) -> None:
    world = start(Problem([0.5, 0.6], "poisson(5)"))
    for play in (world.play, world.play_rounds):
        with pytest.raises(InvalidInput, match=sentence):
            play(arm, rounds)
    assert world.rounds_played == 0


def test_rewards_may_be_given_as_text():
    problem = Problem(["beta(6, 4)", 0.5, "discrete([0, 0.4], [0.5, 0.5])"], "poisson(3)")
    assert problem.means == (0.6, 0.5, 0.2)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3], [0, 1, 2, 3], [0, 1.5, 2]])
def test_an_order_names_every_arm_once(order):
    problem = Problem([0.1, 0.2, 0.3], "constant(3)")
    with pytest.raises(InvalidInput, match="order"):
        problem.permuted(order)


def test_a_world_that_is_copied_or_pickled_goes_on_alike():
    import copy
    import pickle

    world = Problem([0.5, 0.6], "uniform(0, 20)").start(rng=np.random.default_rng(1))
    world.play(0, 50)
    others = copy.deepcopy(world), pickle.loads(pickle.dumps(world))
    expected = [world.play(1, 30), world.play(0, 5), world.outstanding]
    for other in others:
        assert [other.play(1, 30), other.play(0, 5), other.outstanding] == expected
