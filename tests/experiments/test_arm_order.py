"""The order of arms: drawn in every run, the same for all policies, and independent of the rest."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chi2

from latesum import InvalidInput, Oracle, Problem, compare
from latesum.experiments.spec import ORDER, RunSpec
from latesum.policies import PolicySpec

DELAYS = ["constant(0)", "uniform(0, 9)", "poisson(4).clipped(20)"]
PROBLEM = Problem([0.3, 0.4, 0.8], DELAYS)
HORIZON = 4_000
TEXTS = ["unmix", "flow", "flow(lookahead=True)", "ars-ucb", "odaaf-b", "odaaf-v", "qpm-d"]
TEXTS += ["round-robin(block=100)", "oracle", "ducb"]


def random_order(n_arms, seed):
    seeds = np.random.SeedSequence(seed[0], spawn_key=(seed[1], ORDER))
    return np.random.default_rng(seeds).permutation(n_arms).tolist()


def _directly(problem, text, number):
    """The regret of a run of the problem as it is listed."""
    return RunSpec(problem, PolicySpec.parse(text), HORIZON, seed=1).run(number).regret()


def test_all_orders_come_equally_often():
    """Error rate one in a million, and the seeds are fixed."""
    counts = Counter(tuple(random_order(3, (1, number))) for number in range(6_000))
    assert set(counts) == set(permutations(range(3)))
    distance = sum((count - 1_000) ** 2 / 1_000 for count in counts.values())
    assert distance < chi2.isf(1e-6, 5)


@pytest.mark.filterwarnings("ignore")
def test_every_policy_meets_the_order_of_its_replication():
    result = compare(PROBLEM, TEXTS, HORIZON, replications=2, seed=1, order="drawn")
    for number in range(2):
        listed = PROBLEM.permuted(random_order(3, (1, number)))
        for text in TEXTS:
            expected = _directly(listed, text, number)
            assert result[text].regrets[number, -1] == pytest.approx(expected), text
    assert result.to_json()["order"] == "drawn"
    assert "arms in random order" in str(result)


def test_what_a_policy_knows_of_single_arms_follows_the_order():
    result = compare(PROBLEM, {"o": "oracle"}, HORIZON, replications=9, seed=1, order="drawn")
    assert result["o"].measured["ended_on_best"].all()
    assert not result["o"].regrets.any()
    for number in range(9):
        drawn = RunSpec(PROBLEM, PolicySpec("ducb"), HORIZON, order="drawn")
        listed, policy, _ = drawn.instantiate(number)
        assert repr(policy) == repr(RunSpec(listed, PolicySpec("ducb"), HORIZON).prepared[1])


def test_the_order_is_as_given_unless_it_is_asked_for():
    given = compare(PROBLEM, {"a": "ars-ucb"}, HORIZON, replications=3, seed=1)
    for number in range(3):
        assert given["a"].regrets[number, -1] == _directly(PROBLEM, "ars-ucb", number)
    assert given.to_json()["order"] == "listed"
    with pytest.raises(InvalidInput, match="give policies as text"):
        compare(PROBLEM, {"o": Oracle(3, 9, best_arm=2)}, 9, replications=1, seed=1, order="drawn")


def test_where_the_best_arm_is_listed_does_not_rank_a_policy():
    """One that stays with the first arm lost all or nothing; drawn orders make it the mean gap.

    How often each arm comes first is known exactly, and so is the mean regret.
    """
    runs, horizon = 40, 900
    for listing in ((0, 1, 2), (2, 1, 0)):
        problem = Problem([0.30, 0.31, 0.315], "geometric(15)").permuted(listing)
        given = {"replications": runs, "seed": 1, "order": "drawn", "bucket": 10, "report_lag": 20}
        (row,) = compare(problem, ["oracle(best_arm=0)"], horizon, **given).summary()
        gaps = problem.gaps
        lost = [gaps[random_order(3, (1, number))[0]] * horizon for number in range(runs)]
        assert row.mean == pytest.approx(np.mean(lost))
        # Within four standard errors; listed as given it would be 0, 4.5 or 13.5.
        error = np.std(gaps) * horizon / np.sqrt(runs)
        assert abs(row.mean - np.mean(gaps) * horizon) < 4 * error
