"""Rewards in parts: the law of totals is that of a plain loop that shares no code with the package."""

import json
from itertools import pairwise

import numpy as np
import pytest

from latesum import CompositeProblem, InvalidInput
from latesum.experiments.spec import RunSpec
from latesum.policies import PolicySpec
from latesum.simulation.field import problem_from

RUNS = 400
#: Arms and rounds of consecutive blocks, some shorter than the delays and some longer.
BLOCKS = [(0, 60), (1, 7), (0, 15), (1, 90)]
MEANS = (0.7, 0.2)


def _plain(parts, status_quo, rng):
    """Every reward is drawn, cut into parts, and put into the rounds in which they arrive."""
    arms = [status_quo] * 30 * (status_quo is not None)
    start = len(arms)
    arms += [arm for arm, rounds in BLOCKS for _ in range(rounds)]
    seen = np.zeros(len(arms) + 31)
    for now, arm in enumerate(arms):
        if rng.random() < MEANS[arm]:
            if parts == "spread":
                seen[now : now + 21] += 1 / 21
            else:
                for _ in range(parts):
                    seen[now + rng.integers(0, 21)] += 1 / parts
    edges = start + np.cumsum([0] + [rounds for _, rounds in BLOCKS])
    return [seen[a:b].sum() for a, b in pairwise(edges)]


@pytest.mark.parametrize("status_quo", [None, 1])
@pytest.mark.parametrize("parts", [1, 3, "spread"])
@pytest.mark.parametrize("way", ["play", "play_rounds"])
def test_totals_have_the_law_of_the_plain_loop(parts, status_quo, way):
    """Means and variances of four totals: z-tests at 4.5, so 96 tests err below 0.1% in all."""
    problem = CompositeProblem(MEANS, "uniform(0, 20)", parts=parts)
    ours, plain = [], []
    for number in range(RUNS):
        world = problem.start(rng=np.random.default_rng([1, number]), status_quo=status_quo)
        ours.append([np.sum(getattr(world, way)(arm, rounds)) for arm, rounds in BLOCKS])
        plain.append(_plain(parts, status_quo, np.random.default_rng([2, number])))
    one, other = np.array(ours), np.array(plain)
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / RUNS)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 4.5 * error).all()
    ratio = one.var(axis=0) / other.var(axis=0)
    assert (np.abs(np.log(ratio)) <= 4.5 * np.sqrt(2 * 2 / RUNS) * 1.2).all()


@pytest.mark.parametrize("parts", [4, "spread"])
def test_no_part_is_lost(parts):
    problem = CompositeProblem([1.0, 1.0], ["uniform(0, 50)", "constant(9)"], parts=parts)
    world = problem.start(rng=np.random.default_rng(1))
    seen = sum(world.play(arm % 2, rounds) for arm, rounds in enumerate([3, 1, 200, 40, 1, 1]))
    seen += world.play_rounds(1, 20).sum()
    assert seen + world.outstanding == pytest.approx(world.rounds_played)
    assert seen + world.play(0, 1_000) + world.outstanding == pytest.approx(world.rounds_played)


def test_a_composite_problem_is_kept_as_data_and_run_by_specs():
    problem = CompositeProblem([0.5, "beta(6, 4)"], "uniform(0, 9)", parts=2)
    data = json.loads(json.dumps(problem.plain()))
    assert repr(problem_from(data)) == repr(problem)
    assert repr(problem.permuted([1, 0])).startswith("CompositeProblem([Beta(a=6, b=4), 0.5]")
    one, other = (
        RunSpec(each, PolicySpec("flow"), 2_000) for each in (problem, problem_from(data))
    )
    assert one.run(3).plays == other.run(3).plays


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CompositeProblem([0.1, 0.2], "exponential(9)"), "at most 4,096 rounds"),
        (lambda: CompositeProblem([0.1, 0.2], "constant(9)", parts=0), "number of parts"),
        (
            lambda: problem_from(
                {"arms": [0.1, 0.2], "delay": "constant(1)", "parts": 2, "background": {}}
            ),
            "has no background",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(make, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        make()
