"""What a visit is worth: against its definition, exact information, and the bound on plays."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from latesum import InvalidInput, Problem, delays, theory
from latesum.delays import parse

ROOT = Path(__file__).parents[2]
TEXTS = [
    "constant(30)",
    "uniform(0, 40)",
    "exponential(20)",
    "geometric(15)",
    "poisson(25)",
    "pareto(1.5, 20)",
    "mixture((0.5, constant(0)), (0.5, constant(40)))",
]
SHORT_DELAYS = st.sampled_from(["exponential(9)", "uniform(0, 20)", "poisson(6)", "pareto(1.5, 5)"])


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
    SHORT_DELAYS,
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


LINE = [0.1 + 0.8 * i / 9 for i in range(10)]


@pytest.mark.parametrize(
    ("regret", "means", "limits"),
    [
        (48, [0.5, 0.6], [48, 53, 58]),
        (336, [0.5] * 9 + [0.6], [336, 382, 427]),
        (120, LINE, [120, 245, 318]),
    ],
    ids=["two arms", "ten, one better", "ten in a line"],
)
def test_the_reference_with_visits(regret, means, limits):
    """A visit of an arm that needs few plays wastes less than W: 245 and not 320 in a line."""
    laws = [delays.exponential(50)] * len(means)
    assert [round(theory.limit_with_visits(regret, means, laws, n)) for n in (0, 1, 2)] == limits


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("plays", [0.5, 7, 450])
def test_a_visit_is_as_long_as_it_must_be(text, plays):
    delay = parse(text)
    length = theory.visit_length(delay, plays)
    assert theory.visit_worth(delay, length) >= plays > theory.visit_worth(delay, length - 1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: theory.limit_with_visits(5, [0.1], []), "1 means and 0 delays"),
        (lambda: theory.limit_with_visits(-5, [0.1], [delays.constant(1)]), "attributed regret"),
        (lambda: theory.visit_worth(delays.constant(1), -1), "rounds of a visit"),
        (
            lambda: theory.least_plays(delays.constant(1), 0.0, 9, least_mean=0.5, regret=9),
            "a gap",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(call, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        call()


# Theorem 2: a lower bound in the paper's model. Its inequalities, numerically.

M0, DELTA, LAST = 0.5, 0.11, 60_000


def _poisson_divergence(mean, raised):
    return float((mean * np.log(mean / raised) + raised - mean).sum())


@pytest.mark.parametrize("plays", [50, 150, 500])
@pytest.mark.parametrize("text", ["exponential(50)", "uniform(0, 100)", "pareto(2.5, 50)"])
def test_the_divergence_from_an_empty_pipeline_is_within_the_bound(text, plays):
    """Step (i): arm j first, all means 1/2. Without W / 2 it would be false in the short cases."""
    delay = parse(text)
    arrived = delay.cdf(np.arange(LAST))
    some = arrived > 0
    raised = np.convolve(np.ones(plays), delay.pmf(np.arange(LAST)))[:LAST]
    exact = _poisson_divergence(M0 * arrived[some], (M0 * arrived + DELTA * raised)[some])
    scale = DELTA**2 / (2 * M0)
    worth = theory.visit_worth(delay, plays)
    assert exact <= scale * (worth + delay.spread / 2)
    if plays == 50:
        assert exact > scale * worth


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=80),
    SHORT_DELAYS,
)
def test_all_arms_together_gain_half_the_spread_from_the_start(arms, text):
    """Step (ii): the sum over arms and rounds of a^2 / F is at most that of w(N), and W / 2."""
    delay = parse(text)
    shares, arrived = delay.pmf(np.arange(3000)), delay.cdf(np.arange(3000))
    some, total, allowed = arrived > 0, 0.0, delay.spread / 2
    for arm in range(3):
        plays = np.array([each == arm for each in arms], dtype=float)
        arriving = np.convolve(plays, shares)[:3000]
        total += float((arriving[some] ** 2 / arrived[some]).sum())
        allowed += theory.visit_worth(delay, int(plays.sum()))
    assert total <= allowed + 1e-6


@pytest.mark.parametrize("text", ["uniform(0, 40)", "exponential(20)", "pareto(2.5, 20)"])
def test_the_anonymity_term_tends_to_the_spread(text):
    delay = parse(text)
    added = [
        theory.least_plays(delay, 0.02, 10**power, least_mean=0.5, regret=100 * power).anonymity
        for power in (6, 30, 300)
    ]
    assert added == sorted(added)
    assert 0.9 * delay.spread < added[-1] <= delay.spread * (1 + 1e-6)


def test_without_spread_there_is_no_anonymity_term():
    late, at_once = (
        theory.least_plays(delays.constant(delay), 0.1, 10**6, least_mean=0.5, regret=200)
        for delay in (500, 0)
    )
    assert late.information == at_once.information == late.total
    assert late.anonymity == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("regret", [10**4, 10**6])
def test_a_policy_that_is_poor_anyway_must_do_nothing(regret):
    """With so much regret Lambda is below 0 for some or all of the raised means."""
    found = theory.least_plays(delays.exponential(50), 0.1, 10**4, least_mean=0.5, regret=regret)
    assert found == (0, 0, 0)


def test_late_sums_can_be_simulated_from_rewards_at_once():
    """Proposition 1: a player without delays draws them, and meets the law of late sums.

    Two windows of each of 400 runs, by z-tests at 4.5: right code errs with probability below
    0.01% over the choice of the seeds.
    """
    problem, blocks = Problem([0.3, 0.7], "uniform(0, 30)"), [(0, 40), (1, 25), (0, 60)]
    late, own = [], []
    for number in range(400):
        world = problem.start(rng=np.random.default_rng([1, number]))
        late.append([world.play(arm, rounds) for arm, rounds in blocks])
        rng, now, arrivals = np.random.default_rng([2, number]), 0, []
        for arm, rounds in blocks:
            rewards = rng.random(rounds) < problem.means[arm]  # seen at once, by the player alone
            delayed = now + np.arange(rounds) + rng.integers(0, 31, rounds)
            arrivals.extend(delayed[rewards])
            now += rounds
        edges = np.cumsum([0] + [rounds for _, rounds in blocks])
        own.append(np.histogram(arrivals, edges - 0.5)[0])
    late, own = np.array(late, dtype=float), np.array(own, dtype=float)
    error = np.sqrt((late.var(axis=0) + own.var(axis=0)) / 400)
    assert (np.abs(late.mean(axis=0) - own.mean(axis=0)) <= 4.5 * error).all()


@pytest.fixture(scope="module")
def example():
    path = ROOT / "examples" / "theory" / "what_anonymity_costs.py"
    spec = importlib.util.spec_from_file_location("what_anonymity_costs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text", ["constant(50)", "uniform(0, 100)", "exponential(50)"])
def test_simulated_visits_waste_what_the_lemma_says(example, text):
    """Rates of 5% are nearly Poisson: five standard errors, and 2% of the visit for the rest."""
    wasted, error = example.wasted_by_a_visit(text, 0.05, runs=2000)
    expected = example.VISIT - theory.visit_worth(parse(text), example.VISIT)
    assert abs(wasted - expected) <= 5 * error + 0.02 * example.VISIT
