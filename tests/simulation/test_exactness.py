"""`World.play` draws from exactly the law of the loop over rounds: singly and jointly.

Three samples of the totals of three consecutive blocks are compared, for eleven problems: the
shortcut, the world's own `play_rounds`, and a plain loop written here that shares no code with
either. Every comparison makes eleven tests; a p-value below ERROR_RATE over the number of all
tests rejects, so by Bonferroni a right shortcut fails this file with probability below 0.5%, over
the choice of its seeds. With the seeds as they are the outcome is always the same.

The default run has a third of the samples, and a tenth where a sample is expensive; the wrong
shortcuts below are caught with these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from latesum import delays
from latesum.delays import base
from latesum.simulation import Beta, Discrete, Problem, World
from latesum.simulation import cohorts as cohorts_module
from latesum.simulation import world as world_module

ERROR_RATE = 0.005
REFERENCES = ("play_rounds", "plain loop")
TESTS_PER_COMPARISON = 11

Draw = Callable[[int, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class Case:
    """A problem, how to draw its rewards and delays in the plain loop, and what to play."""

    problem: Problem
    rewards: tuple[Draw, ...]
    delays: tuple[Draw, ...]
    plan: tuple[tuple[int, int], ...]
    runs: int = 4000
    #: The default run has this part of them.
    part: int = 3
    #: The largest table for this case; with a small one short blocks are kept in cohorts.
    largest_table: int | None = None
    #: The share of delays beyond a table; with a large one short blocks reach the far tail.
    tail_share: float | None = None


def bernoulli(mean: float) -> Draw:
    return lambda count, rng: rng.random(count) < mean


def uniform(low: int, high: int) -> Draw:
    return lambda count, rng: rng.integers(low, high + 1, count)


def exponential(mean: float) -> Draw:
    return lambda count, rng: np.ceil(-mean * np.log(1 - rng.random(count)))


def lomax(shape: float, mean: float) -> Draw:
    scale = mean * (shape - 1)
    return lambda count, rng: np.ceil(scale * ((1 - rng.random(count)) ** (-1 / shape) - 1))


def rarely(chance: float, rare: Draw, usual: Draw) -> Draw:
    def draw(count: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(count) < chance, rare(count, rng), usual(count, rng))

    return draw


COINS = (bernoulli(0.4), bernoulli(0.7))

CASES = {
    "short delays, long blocks": Case(
        Problem([0.4, 0.7], "uniform(0, 10)"),
        COINS,
        (uniform(0, 10),) * 2,
        ((0, 60), (1, 45), (0, 30)),
    ),
    "blocks shorter than the delays": Case(
        Problem([0.4, 0.7], "uniform(0, 40)"),
        COINS,
        (uniform(0, 40),) * 2,
        ((0, 25), (1, 7), (0, 30)),
    ),
    "blocks of one round": Case(
        Problem([0.4, 0.7], "uniform(0, 3)"),
        COINS,
        (uniform(0, 3),) * 2,
        ((1, 1), (0, 1), (1, 1)),
    ),
    "exponential": Case(
        Problem([0.4, 0.7], "exponential(15)"),
        COINS,
        (exponential(15),) * 2,
        ((1, 50), (0, 20), (1, 35)),
    ),
    "one delay per arm": Case(
        Problem([0.4, 0.7], ["uniform(20, 30)", "geometric(4)"]),
        COINS,
        (uniform(20, 30), lambda count, rng: rng.geometric(0.2, count) - 1),
        ((0, 40), (1, 25), (0, 45)),
    ),
    "Beta rewards": Case(
        Problem([Beta(2, 3), Beta(0.5, 0.5)], "poisson(8)"),
        (lambda count, rng: rng.beta(2, 3, count), lambda count, rng: rng.beta(0.5, 0.5, count)),
        (lambda count, rng: rng.poisson(8, count),) * 2,
        ((0, 30), (1, 12), (0, 20)),
    ),
    "discrete rewards, heavy tail": Case(
        Problem([Discrete([0, 0.25, 1], [0.5, 0.3, 0.2]), 0.7], "pareto(1.5, 20)"),
        (
            lambda count, rng: np.array([0, 0.25, 1])[
                np.searchsorted([0.5, 0.8], rng.random(count), side="right")
            ],
            bernoulli(0.7),
        ),
        (lomax(1.5, 20),) * 2,
        ((0, 80), (1, 120), (0, 60)),
        part=10,
    ),
    "far tail with a small table": Case(
        Problem([0.4, 0.7], "pareto(1.3, 30)"),
        COINS,
        (lomax(1.3, 30),) * 2,
        ((1, 300), (0, 90), (1, 200)),
        part=10,
        largest_table=8,
    ),
    "Beta rewards, far tail with a small table": Case(
        Problem([Beta(2, 3), 0.7], "mixture((0.1, uniform(30, 200)), (0.9, uniform(0, 5)))"),
        (lambda count, rng: rng.beta(2, 3, count), bernoulli(0.7)),
        (rarely(0.1, uniform(30, 200), uniform(0, 5)),) * 2,
        ((0, 150), (1, 64), (0, 37)),
        runs=2500,
        part=10,
        largest_table=8,
    ),
    "far tail of a short table": Case(
        Problem([0.4, 0.7], "exponential(30)"),
        COINS,
        (exponential(30),) * 2,
        ((1, 300), (0, 90), (1, 200)),
        part=10,
        tail_share=0.2,
    ),
    "rare delays beyond the table": Case(
        Problem([0.02, 0.7], "mixture((0.05, uniform(3000, 12000)), (0.95, constant(2)))"),
        (bernoulli(0.02), bernoulli(0.7)),
        (rarely(0.05, uniform(3000, 12000), uniform(2, 2)),) * 2,
        ((1, 9000), (0, 5000), (0, 3000)),
        runs=1000,
        part=10,
    ),
}

LEVEL = ERROR_RATE / (len(CASES) * len(REFERENCES) * TESTS_PER_COMPARISON)


def by_plain_loop(case: Case, rng: np.random.Generator) -> np.ndarray:
    """The totals of each run's blocks: every round of every run has its reward and its delay."""
    ends = np.cumsum([rounds for _, rounds in case.plan])
    totals = np.zeros((case.runs, len(ends) + 1))  # the last column: not seen any more
    rounds_at_once = max(1, 500_000 // case.runs)
    for begins, (arm, rounds), end in zip([0, *ends], case.plan, ends, strict=False):
        assert end == begins + rounds
        for first in range(begins + 1, end + 1, rounds_at_once):
            now = np.arange(first, min(first + rounds_at_once, end + 1)).repeat(case.runs)
            reward = case.rewards[arm](len(now), rng)
            arrival = now + case.delays[arm](len(now), rng)
            run = np.arange(len(now)) % case.runs
            np.add.at(totals, (run, np.searchsorted(ends, arrival, side="left")), reward)
    return totals[:, :-1]


def by_world(
    problem: Problem, plan, runs: int, rng: np.random.Generator, play=World.play
) -> np.ndarray:
    totals = np.empty((runs, len(plan)))
    for run in range(runs):
        world = problem.start(rng=rng)
        for block, (arm, rounds) in enumerate(plan):
            totals[run, block] = np.sum(play(world, arm, rounds))
    return totals


def p_values(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    """Tests of whether two samples of three totals have the same joint law."""
    found = {"joint table": _joint_table(one, other)}
    combinations = {
        "first": (1, 0, 0),
        "second": (0, 1, 0),
        "third": (0, 0, 1),
        "all": (1, 1, 1),
        "first and second": (1, 1, 0),
        "second less third": (0, 1, -1),
        "third less first": (-1, 0, 1),
    }
    for name, weights in combinations.items():
        found[name] = stats.ks_2samp(one @ weights, other @ weights, method="asymp").pvalue
    for i, j in itertools.combinations(range(3), 2):
        found[f"covariance {i}{j}"] = _same_covariance(one, other, i, j)
    assert len(found) == TESTS_PER_COMPARISON
    return found


def _joint_table(one: np.ndarray, other: np.ndarray) -> float:
    """Chi-square on the table of which third each total falls in; rare cells are one cell."""
    pooled = np.concatenate([one, other])
    cells = np.zeros(len(pooled), dtype=int)
    for column in pooled.T:
        cells = 3 * cells + np.searchsorted(np.quantile(column, [1 / 3, 2 / 3]), column)
    counts = np.array(
        [np.bincount(part, minlength=27) for part in (cells[: len(one)], cells[len(one) :])]
    )
    rare = counts.sum(axis=0) < 20
    table = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) >= 20]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


def _same_covariance(one: np.ndarray, other: np.ndarray, i: int, j: int) -> float:
    products = [(x[:, i] - x[:, i].mean()) * (x[:, j] - x[:, j].mean()) for x in (one, other)]
    error = math.sqrt(sum(p.var() / len(p) for p in products))
    if error == 0:
        return 1.0
    return float(2 * stats.norm.sf(abs(products[0].mean() - products[1].mean()) / error))


def rejected(one: np.ndarray, other: np.ndarray) -> dict[str, float]:
    return {name: p for name, p in p_values(one, other).items() if not p >= LEVEL}


@pytest.fixture
def small_tables(monkeypatch):
    """Sets the largest table; tables are made once for each delay, so each case has its own."""

    def set_to(case: Case) -> Problem:
        if case.largest_table is not None:
            monkeypatch.setattr(base, "MAX_TABLE", case.largest_table)
            monkeypatch.setattr(cohorts_module, "SHORTEST", case.largest_table)
            monkeypatch.setattr(world_module, "_MAX_DRAWN", case.largest_table / 2)
        if case.tail_share is not None:
            monkeypatch.setattr(base, "_TAIL_SHARE", case.tail_share)
        # Read from text again: a delay that has made its table before would keep it.
        return Problem(case.problem.arms, [delays.parse(d.text) for d in case.problem.delays])

    return set_to


@pytest.mark.parametrize("complete", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_the_shortcut_has_the_law_of_the_loop(name, complete, small_tables) -> None:
    case = CASES[name]
    if not complete:
        case = replace(case, runs=case.runs // case.part)
    problem = small_tables(case)
    seeds = np.random.SeedSequence([20180710, list(CASES).index(name)]).spawn(3)
    shortcut, rounds, loop = (np.random.default_rng(seed) for seed in seeds)
    drawn = by_world(problem, case.plan, case.runs, shortcut)
    per_round = by_world(problem, case.plan, case.runs, rounds, World.play_rounds)
    assert not rejected(drawn, per_round)
    assert not rejected(drawn, by_plain_loop(case, loop))


def test_small_tables_do_reach_the_far_tail(small_tables) -> None:
    """The cases named so exercise what they are for."""
    assert small_tables(CASES["rare delays beyond the table"]).delay.table.spread == 4096
    for case in CASES.values():
        if case.largest_table is not None:
            table = small_tables(case).delay.table
            assert table.spread == 8
            assert table.tail[0] > 0.05


def loses_what_is_in_flight(world: World, arm: int, rounds: int) -> float:
    world._carry[:] = 0
    world._in_flight.__init__()
    world._cohorts.clear()
    return world.play(arm, rounds)


def carries_one_round_late(world: World, arm: int, rounds: int) -> float:
    total = world.play(arm, rounds)
    late = np.zeros_like(world._carry)
    late[1:] = world._carry[:-1]
    world._carry[:] = late
    return total


def forgets_the_far_tail(world: World, arm: int, rounds: int) -> float:
    world._play_far_tail = lambda reward, delay, rounds: (0, 0.0)
    return world.play(arm, rounds)


def forgets_what_is_not_sure(world: World, arm: int, rounds: int) -> float:
    """Takes all rewards of a cohort for arrived or for in flight."""
    for cohorts, _ in world._cohorts.values():
        cohorts._new_plays = lambda which, rng: np.full(len(which), 1 << 40)
    return world.play(arm, rounds)


def keeps_those_that_arrived(world: World, arm: int, rounds: int) -> float:
    """Lets a cohort's rewards be as late as if no time had passed."""
    for cohorts, _ in world._cohorts.values():
        cohorts._survival = np.ones_like(cohorts._survival)
    return world.play(arm, rounds)


MUTANTS = {
    "short delays, long blocks": [loses_what_is_in_flight],
    "blocks shorter than the delays": [carries_one_round_late],
    "far tail of a short table": [forgets_the_far_tail],
    "far tail with a small table": [forgets_what_is_not_sure, keeps_those_that_arrived],
    "rare delays beyond the table": [keeps_those_that_arrived, loses_what_is_in_flight],
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_shortcut_is_caught(name, small_tables) -> None:
    case = CASES[name]
    problem = small_tables(case)
    runs = case.runs // case.part
    wrong, right = np.random.SeedSequence(7).spawn(2)
    expected = by_world(problem, case.plan, runs, np.random.default_rng(right), World.play_rounds)
    for mutant in MUTANTS[name]:
        drawn = by_world(problem, case.plan, runs, np.random.default_rng(wrong), mutant)
        assert rejected(drawn, expected), mutant.__name__
