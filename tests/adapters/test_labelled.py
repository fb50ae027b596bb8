"""Policies of river, MABWiser and SMPyBandits through the adapters do what they do by themselves."""

import random

import numpy as np
import pytest
from river import bandit, proba

from latesum import InvalidInput, Problem, compare
from latesum.adapters import (
    MABWiserPolicy,
    RiverPolicy,
    RoundEnv,
    SMPyBanditsPolicy,
    compare_labelled,
    play_labelled,
)
from latesum.attributed.draws import Draws
from latesum.experiments.spec import WORLD

HORIZON = 600
MEANS = (0.3, 0.5, 0.7)
RIVER = {
    "ucb": lambda seed: bandit.UCB(delta=1, seed=seed),
    "epsilon greedy": lambda seed: bandit.EpsilonGreedy(epsilon=0.1, seed=seed),
    "thompson": lambda seed: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=seed),
    "exp3": lambda seed: bandit.Exp3(gamma=0.5, seed=seed),
}
MABWISER = {"ucb1": ("UCB1", 1.0), "epsilon greedy": ("EpsilonGreedy", 0.1), "thompson": ("ThompsonSampling",)}  # fmt: skip


def mab(arms, name, *parameters, **more):
    """A policy of MABWiser, which takes two seconds to load: not for every collection."""
    from mabwiser.mab import MAB, LearningPolicy

    return MAB(arms, getattr(LearningPolicy, name)(*parameters), **more)


def _rewards(seed, horizon=HORIZON):
    """What each arm would pay in each round: the draws of the runs."""
    draws = Draws(Problem(MEANS, "constant(0)"), np.random.SeedSequence(seed, spawn_key=(0, WORLD)))
    draws.next_block()
    return [[draws.of_play(now, arm)[0] for arm in range(3)] for now in range(horizon)]


def _regret(arms):
    return sum(max(MEANS) - MEANS[arm] for arm in arms)


@pytest.mark.parametrize("name", RIVER)
def test_without_delay_river_gives_the_same_regret_by_itself(name):
    alone, arms = RIVER[name](7), []
    for rewards in _rewards(3):
        arm = alone.pull([0, 1, 2])
        alone.update(arm, rewards[arm])
        arms.append(arm)
    run = play_labelled(
        Problem(MEANS, "constant(0)"), RiverPolicy(RIVER[name](7), 3), HORIZON, seed=3
    )
    assert run.regret() == pytest.approx(_regret(arms))
    assert [play.arm for play in run.plays for _ in range(play.rounds)] == arms


@pytest.mark.parametrize("name", MABWISER)
def test_without_delay_mabwiser_gives_the_same_regret_by_itself(name):
    rewards, horizon = _rewards(3), 200
    alone = mab([0, 1, 2], *MABWISER[name], seed=7)
    arms = [0, 1, 2]
    alone.fit(arms[:], [rewards[now][arm] for now, arm in enumerate(arms)])
    for now in range(3, horizon):
        arm = alone.predict()
        alone.partial_fit([arm], [rewards[now][arm]])
        arms.append(arm)
    played = MABWiserPolicy(mab([0, 1, 2], *MABWISER[name], seed=7))
    run = play_labelled(Problem(MEANS, "constant(0)"), played, horizon, seed=3)
    assert run.regret() == pytest.approx(_regret(arms))


def test_rivers_own_evaluation_agrees_in_distribution():
    """river's `evaluate` on the Gymnasium environment, 80 episodes; fails once in 100,000 by chance (4.4 errors)."""
    problem, episodes, horizon = Problem(MEANS, "constant(0)"), 80, 250
    env = RoundEnv(problem, horizon)
    env.reset(seed=1)
    theirs = {}
    for step in bandit.evaluate([bandit.UCB(delta=1, seed=1)], env, n_episodes=episodes, seed=1):
        played = theirs.setdefault(step["episode"], [])
        played.append(step["arm"])
    alone = np.array([_regret(arms) for arms in theirs.values()])
    others = {"ucb": lambda seed: RiverPolicy(bandit.UCB(delta=1, seed=seed), 3)}
    ours = compare_labelled(problem, others, horizon, replications=episodes, seed=2)
    mine = ours.runs["ucb"].regrets[:, -1]
    assert len(alone) == episodes
    error = np.sqrt(alone.var() / episodes + mine.var() / episodes)
    assert abs(alone.mean() - mine.mean()) < 4.4 * error


def test_a_reward_is_told_when_it_arrives_and_to_the_arm_that_earned_it():
    class Noting:
        def __init__(self):
            self.now, self.told = -1, []

        def choose(self):
            self.now += 1
            return self.now % 2

        def observe(self, arm, reward):
            self.told.append((self.now, arm, reward))

    problem = Problem(["constant(0.25)", "constant(0.75)"], ["constant(3)", "constant(0)"])
    noting = Noting()
    run = play_labelled(problem, noting, 8, seed=1)
    assert noting.told == [
        (1, 1, 0.75), (3, 1, 0.75), (3, 0, 0.25), (5, 1, 0.75), (5, 0, 0.25), (7, 1, 0.75), (7, 0, 0.25),
    ]  # fmt: skip
    assert sum(play.total for play in run.plays) == pytest.approx(4 * 0.75 + 3 * 0.25)
    noting = Noting()
    play_labelled(problem, noting, 4, seed=1, credit="playing")
    assert noting.told == [(0, 0, 0.0), (1, 1, 0.75), (2, 0, 0.0), (3, 1, 1.0)]


def test_rewards_and_delays_are_those_that_our_baselines_meet():
    """The last reward of a block depends on all draws: QPM-D written again, round by round."""
    from latesum.attributed import QPMD

    problem = Problem([0.4, 0.6], "uniform(0, 30)")

    class Stepped:
        def __init__(self):
            rng = Draws(problem, np.random.SeedSequence(5, spawn_key=(0, WORLD))).policy_rng
            self.steps = QPMD("ucb1", 2).start(rng=rng)
            self.arrived = None

        def choose(self):
            if self.arrived is not None:
                self.steps.observe(self.arrived)
            self.arrived = []
            return self.steps.choose()

        def observe(self, arm, reward):
            self.arrived.append((arm, reward))

    alike = compare(problem, {"qpm-d": QPMD("ucb1", 2)}, 3_000, replications=1, seed=5)
    stepped = play_labelled(problem, Stepped(), 3_000, seed=5)
    assert stepped.regret() == pytest.approx(alike.runs["qpm-d"].regrets[0, -1])


def test_they_stand_in_one_table_with_ours():
    problem = Problem([0.3, 0.7], "uniform(0, 20)")
    ours = compare(problem, {"flow": "flow"}, 800, replications=3, seed=1)
    others = {"river": lambda seed: RiverPolicy(bandit.UCB(delta=1, seed=seed), 2)}
    both = compare_labelled(problem, others, 800, replications=3, seed=1, beside=ours)
    assert both.policies == ["flow", "river"]
    assert both.description["sees_more"] == ["river"]
    assert "river *" in str(both)
    assert both.plot() is not None
    naive = {"river, totals": others["river"]}
    totals = compare_labelled(
        problem, naive, 800, replications=3, seed=1, beside=both, credit="playing"
    )
    assert totals.description["sees_more"] == ["river"]
    for other in ({"seed": 2}, {"replications": 4}):
        with pytest.raises(InvalidInput, match="only what is alike"):
            compare_labelled(
                problem, naive, 800, **{"seed": 1, "replications": 3, **other}, beside=both
            )
    with pytest.raises(InvalidInput, match="river is there already"):
        compare_labelled(problem, others, 800, replications=3, seed=1, beside=both)


def test_what_cannot_be_played_is_refused():
    problem = Problem([0.3, 0.7], "uniform(0, 20)")
    with pytest.raises(InvalidInput, match=r"has no pull, update.*choose\(\) and observe"):
        RiverPolicy(object(), 2)
    with pytest.raises(InvalidInput, match=r"must be 0, 1"):
        MABWiserPolicy(mab(["a", "b"], "Random"))
    with pytest.raises(InvalidInput, match="chose arm 2"):
        play_labelled(problem, RiverPolicy(bandit.UCB(delta=1), 3), 50, seed=1)
    with pytest.raises(InvalidInput, match="way to credit"):
        play_labelled(problem, RiverPolicy(bandit.UCB(delta=1), 2), 50, seed=1, credit="payed")


class _Drawn:
    """The interface of SMPyBandits' policies; draws from the shared generators, as they do."""

    def startGame(self):  # noqa: N802
        self.told = []

    def choice(self):
        return np.random.randint(2) if random.random() < 0.5 else 1

    def getReward(self, arm, reward):  # noqa: N802
        self.told.append((arm, reward))


def test_smpybandits_policies_have_their_own_state_of_the_shared_generators():
    """The library itself is played in an environment of its own (tests/root/test_release.py)."""
    np.random.seed(7)
    random.seed(7)
    alone = [_Drawn().choice() for _ in range(50)]
    before = np.random.get_state()[1].tolist(), random.getstate()
    one, other = SMPyBanditsPolicy(_Drawn, 7), SMPyBanditsPolicy(_Drawn, 8)
    both = [(one.choose(), other.choose()) for _ in range(50)]
    assert [first for first, _ in both] == alone
    assert [second for _, second in both] != alone
    assert (np.random.get_state()[1].tolist(), random.getstate()) == before
    one.observe(1, 0.5)
    assert one.policy.told == [(1, 0.5)]
    with pytest.raises(InvalidInput, match="has no startGame, choice, getReward"):
        SMPyBanditsPolicy(object, 1)
    with pytest.raises(InvalidInput, match="below 2"):
        SMPyBanditsPolicy(_Drawn, 1 << 32)
    with pytest.raises(InvalidInput, match="a function that makes"):
        SMPyBanditsPolicy(_Drawn(), 1)
