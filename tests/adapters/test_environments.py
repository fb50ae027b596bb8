"""The environments pass Gymnasium's own checker, and are the worlds that latesum simulates."""

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from latesum import InvalidInput, Problem
from latesum.adapters import BlockEnv, RoundEnv

PROBLEMS = [
    Problem([0.5, 0.6], "uniform(0, 20)"),
    Problem([0.2, 0.5, "beta(2, 3)"], ["constant(0)", "geometric(0.2)", "exponential(7)"]),
]


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("kind", [RoundEnv, BlockEnv])
def test_gymnasiums_checker_has_nothing_to_say(problem, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Made without an id, an environment has no spec, of which the checker would make another.
        warnings.filterwarnings("ignore", message=".*spec.*")
        check_env(kind(problem, 500), skip_render_check=True)


@pytest.mark.parametrize("kind", [RoundEnv, BlockEnv])
def test_an_episode_ends_at_the_horizon_and_stays_in_its_space(kind):
    env = kind(PROBLEMS[0], 300)
    env.action_space.seed(1)
    seen, info = env.reset(seed=3)
    assert info == {"regret": 0.0, "rounds": 0}
    truncated = False
    while not truncated:
        assert env.observation_space.contains(seen)
        seen, _, terminated, truncated, info = env.step(env.action_space.sample())
        assert not terminated
    assert info["rounds"] == 300
    with pytest.raises(InvalidInput, match=r"call reset\(\) after 300 rounds"):
        env.step(env.action_space.sample())


def test_misuse_is_refused_in_a_sentence():
    with pytest.raises(InvalidInput, match="before the first step"):
        RoundEnv(PROBLEMS[0], 300).step(0)
    with pytest.raises(InvalidInput, match="no options"):
        RoundEnv(PROBLEMS[0], 300).reset(options={"horizon": 3})
    with pytest.raises(InvalidInput, match="at least one length"):
        BlockEnv(PROBLEMS[0], 300, lengths=())


def test_a_block_is_what_the_world_plays():
    env = BlockEnv(PROBLEMS[1], 1_000, lengths=(7, 90))
    env.reset(seed=5)
    child = int(np.random.Generator(np.random.PCG64(5)).integers(1 << 63))
    world = PROBLEMS[1].start(rng=np.random.default_rng(child))
    for arm, length in [(0, 1), (2, 0), (1, 1), (0, 0)]:
        rounds = env.lengths[length]
        seen, reward, *_ = env.step([arm, length])
        assert seen.tolist() == [reward, rounds, arm]
        assert reward == world.play(arm, rounds)


def test_regret_is_that_of_the_arms_played():
    env = RoundEnv(Problem([0.5, 0.75], "uniform(0, 20)"), 100)
    env.reset(seed=1)
    info = {}
    for arm in [0] * 40 + [1] * 60:
        *_, info = env.step(arm)
    assert info["regret"] == pytest.approx(40 * 0.25)
