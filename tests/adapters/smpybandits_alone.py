"""Policies of SMPyBandits by themselves and through the adapter: the same choices on the same draws.

SMPyBandits needs a SciPy before 1.14, so tests/root/test_release.py runs this in an environment of its own.
"""

import random

import numpy as np

from latesum import Problem, compare
from latesum.adapters import SMPyBanditsPolicy, compare_labelled, play_labelled
from latesum.attributed.draws import Draws
from latesum.experiments.spec import WORLD

HORIZON, SEED, OWN_SEED, MEANS = 600, 3, 7, (0.3, 0.5, 0.7)


def alone(make):
    """The arms that it plays in the loop of SMPyBandits' documentation, on the draws of the runs."""
    problem = Problem(MEANS, "constant(0)")
    draws = Draws(problem, np.random.SeedSequence(SEED, spawn_key=(0, WORLD)))
    draws.next_block()
    np.random.seed(OWN_SEED)
    random.seed(OWN_SEED)
    policy = make()
    policy.startGame()
    arms = []
    for now in range(HORIZON):
        arm = policy.choice()
        policy.getReward(arm, draws.of_play(now, arm)[0])
        arms.append(int(arm))
    return arms


def main():
    """Without delay, with delay, and from totals."""
    from SMPyBandits import Policies

    made = {
        "UCB": lambda: Policies.UCB(3),
        "UCBV": lambda: Policies.UCBV(3),
        "MOSS": lambda: Policies.MOSS(3),
        "klUCB": lambda: Policies.klUCB(3),
        "Thompson": lambda: Policies.Thompson(3),
        "EpsilonGreedy": lambda: Policies.EpsilonGreedy(3, epsilon=0.1),
        "Exp3": lambda: Policies.Exp3(3, gamma=0.2),
    }
    at_once = Problem(MEANS, "constant(0)")
    for name, make in made.items():
        arms = alone(make)
        run = play_labelled(at_once, SMPyBanditsPolicy(make, OWN_SEED), HORIZON, seed=SEED)
        assert [play.arm for play in run.plays for _ in range(play.rounds)] == arms, name
        assert len(set(arms)) > 1, name
        expected = sum(max(MEANS) - MEANS[arm] for arm in arms)
        assert abs(run.regret() - expected) < 1e-9, name
        print(f"{name}: the same {HORIZON} choices, regret {run.regret():.1f}")
    late = Problem(MEANS, "uniform(0, 40)")
    shared = {"replications": 3, "seed": 1}
    ours = compare(late, {"flow": "flow"}, HORIZON, **shared)
    others = {
        name: (lambda seed, make=make: SMPyBanditsPolicy(make, seed)) for name, make in made.items()
    }
    first, second = (
        compare_labelled(late, others, HORIZON, **shared, beside=ours) for _ in range(2)
    )
    for name in made:
        assert (first.runs[name].regrets == second.runs[name].regrets).all(), name
    naive = {"klUCB, from totals": others["klUCB"]}
    print(compare_labelled(late, naive, HORIZON, **shared, credit="playing", beside=first))


if __name__ == "__main__":
    main()
