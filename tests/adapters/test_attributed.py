"""Policies of river, MABWiser and one's own, played with attributed feedback."""

import numpy as np
import pytest
from river import bandit, proba

from attributed.plain_policies import DelayedUCB1
from latesum import InvalidInput, Problem, compare
from latesum.adapters import compare_attributed
from latesum.attributed.runner import Draws
from latesum.experiments.spec import WORLD

HORIZON = 600
MEANS = (0.3, 0.5, 0.7)
RIVER = {
    "ucb": lambda seed: bandit.UCB(delta=1, seed=seed),
    "epsilon greedy": lambda seed: bandit.EpsilonGreedy(epsilon=0.1, seed=seed),
    "thompson": lambda seed: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed),
    "exp3": lambda seed: bandit.Exp3(gamma=0.5, seed=seed),
}
MABWISER = {
    "ucb1": ("UCB1", 1.0),
    "epsilon greedy": ("EpsilonGreedy", 0.1),
    "thompson": ("ThompsonSampling",),
}


class River:
    """The recipe of docs/how-to/other-libraries.md; notes the arms that it chooses."""

    def __init__(self, policy, n_arms):
        self.policy, self.n_arms, self.arms = policy, n_arms, []

    def choose(self):
        self.arms.append(self.policy.pull(list(range(self.n_arms))))
        return self.arms[-1]

    def observe(self, arm, reward):
        self.policy.update(arm, reward)


class MABWiser:
    """The recipe for MABWiser, which must be fitted before it predicts: first each arm once."""

    def __init__(self, mab):
        self.mab, self.first, self.arms = mab, [], []

    def choose(self):
        fitted = len(self.first) >= len(self.mab.arms)
        self.arms.append(self.mab.predict() if fitted else len(self.arms) % len(self.mab.arms))
        return self.arms[-1]

    def observe(self, arm, reward):
        if len(self.first) >= len(self.mab.arms):
            self.mab.partial_fit([arm], [reward])
            return
        self.first.append((arm, reward))
        if len(self.first) == len(self.mab.arms):
            arms, rewards = zip(*self.first, strict=True)
            self.mab.fit(list(arms), list(rewards))


def mab(arms, name, *parameters, **more):
    """A policy of MABWiser, which takes two seconds to load: not for every collection."""
    from mabwiser.mab import MAB, LearningPolicy

    return MAB(arms, getattr(LearningPolicy, name)(*parameters), **more)


def played(problem, policy, horizon=HORIZON, seed=3, **options):
    return compare_attributed(
        problem, {"it": lambda _: policy}, horizon, replications=1, seed=seed, **options
    )


def _rewards(seed, horizon=HORIZON):
    """What each arm would pay in each round: the draws of the runs."""
    draws = Draws(Problem(MEANS, "constant(0)"), np.random.SeedSequence(seed, spawn_key=(0, WORLD)))
    draws.next_chunk()
    return [[draws.of_play(now, arm)[0] for arm in range(3)] for now in range(horizon)]


def _regret(arms):
    return sum(max(MEANS) - MEANS[arm] for arm in arms)


@pytest.mark.parametrize("name", RIVER)
def test_without_delay_river_plays_as_by_itself(name):
    alone, arms = RIVER[name](7), []
    for rewards in _rewards(3):
        arm = alone.pull([0, 1, 2])
        alone.update(arm, rewards[arm])
        arms.append(arm)
    policy = River(RIVER[name](7), 3)
    made = played(Problem(MEANS, "constant(0)"), policy)
    assert policy.arms == arms
    assert made["it"].regrets[0, -1] == pytest.approx(_regret(arms))


@pytest.mark.parametrize("name", MABWISER)
def test_without_delay_mabwiser_plays_as_by_itself(name):
    rewards, horizon = _rewards(3), 200
    alone = mab([0, 1, 2], *MABWISER[name], seed=7)
    arms = [0, 1, 2]
    alone.fit(arms[:], [rewards[now][arm] for now, arm in enumerate(arms)])
    for now in range(3, horizon):
        arm = alone.predict()
        alone.partial_fit([arm], [rewards[now][arm]])
        arms.append(arm)
    policy = MABWiser(mab([0, 1, 2], *MABWISER[name], seed=7))
    played(Problem(MEANS, "constant(0)"), policy, horizon)
    assert policy.arms == arms


class Noting:
    """Plays the arms in turn and notes what it observes."""

    def __init__(self):
        self.now, self.observed = -1, []

    def choose(self):
        self.now += 1
        return self.now % 2

    def observe(self, arm, reward):
        self.observed.append((self.now, arm, reward))


def test_a_reward_is_observed_when_it_arrives_and_by_the_arm_that_earned_it():
    problem = Problem(
        ["discrete([0.25], [1])", "discrete([0.75], [1])"], ["constant(3)", "constant(0)"]
    )
    noting = Noting()
    played(problem, noting, 6)
    expected = [(1, 1, 0.75), (3, 0, 0.25), (3, 1, 0.75), (5, 0, 0.25), (5, 1, 0.75)]
    assert noting.observed == expected
    noting = Noting()
    played(problem, noting, 4, credit="playing")
    assert noting.observed == [(0, 0, 0.0), (1, 1, 0.75), (2, 0, 0.0), (3, 1, 1.0)]


def test_rewards_and_delays_are_those_that_our_baselines_meet():
    """Delayed-UCB1, plainly: its plays depend on all draws."""
    problem = Problem([0.4, 0.6], "uniform(0, 30)")

    class Delayed(DelayedUCB1):
        observe = DelayedUCB1.feed

    ours = compare(problem, {"delayed-ucb1": "delayed-ucb1"}, 3_000, replications=1, seed=5)
    theirs = played(problem, Delayed(2), 3_000, seed=5)
    regrets = theirs["it"].regrets[0]
    assert regrets.tolist() == pytest.approx(ours["delayed-ucb1"].regrets[0].tolist())


def test_they_stand_in_one_table_with_ours():
    problem = Problem([0.3, 0.7], "uniform(0, 20)")
    ours = compare(problem, {"flow": "flow"}, 800, replications=3, seed=1)
    others = {"river": lambda seed: River(bandit.UCB(delta=1, seed=seed), 2)}
    both = compare_attributed(problem, others, 800, replications=3, seed=1, beside=ours)
    assert both.policies == ["flow", "river"]
    assert both.to_json()["attributed"] == ["river"]
    assert "river *" in str(both)
    assert both.plot() is not None
    naive = {"river, totals": others["river"]}
    totals = compare_attributed(
        problem, naive, 800, replications=3, seed=1, beside=both, credit="playing"
    )
    assert totals.to_json()["attributed"] == ["river"]
    for other in ({"seed": 2}, {"replications": 4}):
        options = {"seed": 1, "replications": 3, **other}
        with pytest.raises(InvalidInput, match="only what is alike"):
            compare_attributed(problem, naive, 800, **options, beside=both)
    with pytest.raises(InvalidInput, match="two specifications are 'river'"):
        compare_attributed(problem, others, 800, replications=3, seed=1, beside=both)


def test_what_cannot_be_played_is_refused():
    problem = Problem([0.3, 0.7], "uniform(0, 20)")
    with pytest.raises(InvalidInput, match="chose arm 2"):
        played(problem, River(bandit.UCB(delta=1), 3), 50)
    with pytest.raises(InvalidInput, match="way to credit"):
        played(problem, River(bandit.UCB(delta=1), 2), 50, credit="payed")
