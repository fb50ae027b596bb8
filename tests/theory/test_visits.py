"""What a visit is worth: against its definition, exact information, and the bound on plays."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum import InvalidInput, delays, theory
from latesum.delays import parse

ROOT = Path(__file__).parents[2]
TEXTS = [
    "constant(30)", "uniform(0, 40)", "exponential(20)", "geometric(15)", "poisson(25)",
    "pareto(1.5, 20)", "mixture((0.5, constant(0)), (0.5, constant(40)))",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("rounds", [1, 7, 100, 2000])
def test_a_visit_is_worth_what_two_draws_say(text, rounds):
    """E(L - |tau - tau'|)+ from 200,000 pairs: five standard errors."""
    delay = parse(text)
    first, second = delay.draw(400_000, np.random.default_rng(5)).reshape(2, -1)
    worth = np.maximum(rounds - np.abs(first - second), 0.0)
    error = worth.std() / math.sqrt(len(worth))
    assert abs(theory.visit_worth(delay, rounds) - worth.mean()) <= 5 * error + 1e-6 * rounds


@pytest.mark.parametrize("text", [text for text in TEXTS if "pareto" not in text])
def test_a_long_visit_wastes_the_spread(text):
    delay = parse(text)
    assert 5000 - theory.visit_worth(delay, 5000) == pytest.approx(delay.spread, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_the_information_of_the_visit(text):
    """Poisson noise of intensity m: sum of a_t^2 / m, a_t counted play by play."""
    delay, rounds, last = parse(text), 60, 4000
    shares = delay.pmf(np.arange(last))
    arriving = np.convolve(np.ones(rounds), shares)
    information = float((arriving**2).sum())
    assert theory.visit_worth(delay, rounds) == pytest.approx(information, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.integers(0, 60), min_size=1, max_size=40),
    st.sampled_from(["exponential(9)", "uniform(0, 20)", "poisson(6)", "pareto(1.5, 5)"]),
)
def test_no_choice_of_rounds_is_worth_more_than_one_visit(played, text):
    """The step of the proposition: however the plays are spread, one run of them is worth most."""
    delay = parse(text)
    shares = delay.pmf(np.arange(3000))
    plays = np.zeros(61)
    plays[list(played)] = 1
    worth = float((np.convolve(plays, shares) ** 2).sum())
    assert worth <= theory.visit_worth(delay, len(played)) + 1e-3


def test_with_two_points_a_comb_of_plays_is_worth_more_than_a_visit():
    """Why the proposition needs probabilities that do not rise."""
    delay = parse("mixture((0.5, constant(0)), (0.5, constant(40)))")
    plays = np.zeros(40 * 50)
    plays[::40] = 1
    worth = float((np.convolve(plays, delay.pmf(np.arange(41))) ** 2).sum())
    assert worth > 50 - 1
    assert theory.visit_worth(delay, 50) < 50 - 15


def test_the_yardstick_of_three_problems():
    line = [0.1 + 0.8 * i / 9 for i in range(10)]
    problems = {
        "2a": (47, [0.1, 0.0]), "10one": (335, [0.1] * 9 + [0.0]),
        "10lin": (118, [0.9 - mean for mean in line]),
    }  # fmt: skip
    found = {
        name: [
            round(theory.limit_with_visits(attributed, gaps, [50] * len(gaps), n)) for n in (1, 2)
        ]
        for name, (attributed, gaps) in problems.items()
    }
    assert found == {"2a": [52, 57], "10one": [380, 425], "10lin": [318, 518]}


def test_an_infinite_spread_costs_only_where_there_is_a_gap():
    assert theory.limit_with_visits(5, [0.1, 0.0], [1.0, math.inf]) == 5.1
    assert theory.limit_with_visits(5, [0.1, 0.0], [math.inf, 1.0]) == math.inf
    assert theory.limit_with_visits(5, [0.1, 0.0], [math.inf, 1.0], visits=0) == 5


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.limit_with_visits(5, [0.1], [1.0, 2.0]), "1 gaps and 2 spreads"),
        (lambda: theory.limit_with_visits(-5, [0.1], [1.0]), "attributed regret"),
        (lambda: theory.visit_worth(delays.constant(1), -1), "rounds of a visit"),
        (
            lambda: theory.least_plays(
                delays.constant(1), 0.0, 100, least_mean=0.5, regret=9
            ),
            "a gap",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


@pytest.mark.parametrize("text", ["uniform(0, 40)", "exponential(20)", "pareto(2.5, 20)"])
def test_what_anonymity_adds_tends_to_the_spread(text):
    delay = parse(text)
    added = [
        theory.least_plays(delay, 0.02, 10**power, least_mean=0.5, regret=100 * power).anonymous
        for power in (6, 30, 300)
    ]
    assert added == sorted(added)
    assert 0.9 * delay.spread < added[-1] <= delay.spread * (1 + 1e-6)


def test_without_spread_nothing_is_added():
    late, at_once = (
        theory.least_plays(delays.constant(delay), 0.1, 10**6, least_mean=0.5, regret=200)
        for delay in (500, 0)
    )
    assert late.attributed == at_once.attributed
    assert late.anonymous == pytest.approx(0, abs=1e-9)


def test_a_policy_that_is_poor_anyway_must_do_nothing():
    assert theory.least_plays(delays.exponential(50), 0.1, 10**6, least_mean=0.5, regret=10**6) == (
        0,
        0,
    )


@pytest.fixture(scope="module")
def example():
    path = ROOT / "examples" / "theory" / "price_of_anonymity.py"
    spec = importlib.util.spec_from_file_location("price_of_anonymity", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text", ["constant(50)", "uniform(0, 100)", "exponential(50)"])
def test_simulated_visits_waste_what_the_lemma_says(example, text):
    """Rates of 5% are nearly Poisson: five standard errors, and 2% of the visit for what they are not."""
    wasted, error = example.wasted_by_a_visit(text, 0.05, runs=2000)
    expected = example.VISIT - theory.visit_worth(parse(text), example.VISIT)
    assert abs(wasted - expected) <= 5 * error + 0.02 * example.VISIT
