"""ODAAF plays the phases of Algorithm 1, whatever really happens."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from latesum import InvalidInput, Problem
from latesum.policies import ODAAF, ODAAFB, ODAAFV, NaiveODAAF
from latesum.policies.base import Play


def _follow(policy, means, until):
    """Play what is asked, with totals as expected, and return the blocks."""
    blocks = []
    while policy.rounds_played < until:
        asked = policy.ask()
        blocks.append(asked)
        policy.tell(
            asked.arm, asked.rounds, asked.rounds * means[asked.arm], asked.purpose, asked.number
        )
    return blocks


def test_the_paper_setting_block_by_block():
    policy = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)
    *blocks, last = [block[:3] for block in _follow(policy, (0.5, 0.6), 250_000)]
    for rounds in (1076, 1670, 4613):
        phase, blocks = blocks[:3], blocks[3:]
        assert phase == [(0, rounds, "learn"), (1, rounds, "learn"), (1, rounds, "bridge")]
    assert blocks == [(0, 13132, "learn"), (1, 13132, "learn")]
    assert last == (1, 201659, "commit")
    assert policy.explain()[0] == (
        "A was dropped after phase 4: its mean 0.500 is more than 0.0625 below B's 0.600."
    )


def test_without_a_bridge_phases_follow_each_other():
    blocks = _follow(ODAAF(2, 250_000, mean_delay=50), (0.5, 0.6), 250_000)
    assert {block.purpose for block in blocks} == {"learn", "commit"}
    assert [block.rounds for block in blocks[:4]] == [1350, 1350, 3636, 3636]


def test_leader_first_from_the_second_phase_on():
    policy = ODAAFB(2, 250_000, 25, 50, first_tolerance=1, order="leader first")
    blocks = _follow(policy, (0.5, 0.6), 10_000)
    assert [block.arm for block in blocks[:6]] == [0, 1, 1, 1, 0, 1]
    assert [block.purpose for block in blocks[:6]] == ["learn", "learn", "bridge"] * 2
    assert blocks[0].rounds == 309


def test_a_horizon_too_short_for_any_phase_plays_the_first_arm():
    assert ODAAF(2, 3, mean_delay=0).ask()[:3] == (0, 3, "commit")


def test_the_horizon_cuts_a_block_and_the_best_arm_goes_on_after_it():
    policy = ODAAF(2, 2_000, mean_delay=50)
    blocks = _follow(policy, (0.5, 0.6), 2_000)
    assert sum(block.rounds for block in blocks) == 2_000
    assert policy.ask()[:3] == (1, 2_000, "commit")


def test_overrides_are_discarded_and_what_is_missing_is_asked_for():
    policy = ODAAF(2, 250_000, mean_delay=50)
    policy.tell(0, 1000, 500)
    policy.tell(1, 300, 299)  # not asked for: an override
    assert policy.ask()[:3] == (0, 350, "learn")
    assert policy.estimates()[1].mean is None


def test_over_long_blocks_satisfy_later_phases_at_once():
    policy = ODAAF(2, 250_000, mean_delay=50)
    policy.tell(0, 5_000, 2_500)
    policy.tell(1, 5_000, 3_000)
    # n_2 = 4986 is reached by both, so that phases 1 and 2 are over.
    assert policy.ask()[:3] == (0, 15_471 - 5_000, "learn")


def test_pending_results_are_bridged_on_the_leader_until_they_come():
    policy = ODAAF(2, 250_000, mean_delay=50)
    policy.tell(0, 1350, 900.0)
    policy.tell(1, 1350, None)
    assert policy.ask()[:3] == (0, 1, "bridge")
    known = policy.replay([Play(0, 1350, 900.0), Play(1, 1350, 100.0)])
    assert known.ask().purpose == "commit"


def test_a_restated_total_brings_an_arm_back():
    plays = [Play(0, 1350, 1300.0), Play(1, 1350, 100.0)]
    policy = ODAAF(2, 250_000, mean_delay=50).replay(plays)
    assert [row.active for row in policy.estimates()] == [True, False]
    again = policy.replay([plays[0], Play(1, 1350, 1200.0)])
    assert [row.active for row in again.estimates()] == [True, True]


def test_dropping_the_answer_brings_the_next_best():
    policy = ODAAF(3, 100_000, mean_delay=5)
    _follow(policy, (0.2, 0.9, 0.5), 50_000)
    assert policy.ask().arm == 1
    policy.drop(1)
    assert policy.ask().arm == 2


@given(data=st.data())
def test_no_arm_is_learned_from_more_than_the_phase_needs(data):
    policy = ODAAF(3, 50_000, mean_delay=data.draw(st.integers(0, 100)))
    for _ in range(data.draw(st.integers(1, 30))):
        asked = policy.ask()
        policy.tell(*asked[:2], data.draw(st.integers(0, asked.rounds)) * 1.0, *asked[2:4])
        plays = [row.plays for row in policy.estimates() if row.active]
        phases = [0, *policy.phase_rounds]
        if policy.rounds_played < policy.horizon:
            assert phases.index(max(plays)) - phases.index(min(plays)) <= 1


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: ODAAF(1, 1000, 5), "number of arms must be a whole number of at least 2"),
        (lambda: ODAAF(2, 0, 5), "the horizon must be a whole number of at least 1"),
        (lambda: ODAAF(2, 10.5, 5), "the horizon must be a whole number"),
        (lambda: ODAAF(2, 1000, -1), "the mean delay must be a number of at least 0"),
        (lambda: ODAAF(2, 1000, 5, first_tolerance=0), "the first tolerance must be"),
        (lambda: ODAAF(2, 1000, 5, order="leader frist"), "did you mean 'leader first'"),
        (lambda: ODAAF(2, 1000, 5, names=["a"]), "give 2 different names"),
        (lambda: ODAAFB(2, 1000, 5, 3), "below the mean delay"),
        (lambda: ODAAFV(2, 1000, 5, -1), "the delay variance must be"),
        (lambda: NaiveODAAF(2, 1000, -1), "the delay bound must be"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(build, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        build()


@pytest.mark.parametrize(("total", "phase"), [(500.0, 2), (499.0, None)])
def test_an_arm_exactly_the_tolerance_behind_stays(total, phase):
    """The paper's sign is strict: dropped if mean + tolerance < best, here 0.25 + 0.5 and 0.75."""
    policy = ODAAF(2, 250_000, mean_delay=50)
    policy.tell(0, 2000, total)
    policy.tell(1, 2000, 1500.0)
    assert policy.phase == phase


def taught(policy, plays):
    for arm, rounds, total, purpose in plays:
        policy.tell(arm, rounds, total, purpose)
    return policy


@pytest.mark.parametrize(
    ("policy", "failures", "penalty"),
    [
        (ODAAF(2, 250_000, mean_delay=50), 3, 3 * 50),
        (ODAAFB(2, 250_000, 50, 100), 12, 2 * 50),
        (ODAAFV(2, 250_000, 50, 30), 12, 2 * 50 + 4 * 30),
    ],
)
def test_the_interval_is_that_of_the_lemma_for_both_sides(policy, failures, penalty):
    """Each side fails with `failures` / e^L: L is the logarithm of twice that over 1 - level."""
    policy.tell(0, 2000, total=900.0)
    for level in (0.8, 0.95):
        log_term = math.log(2 * failures / (1 - level))
        width = 4 * log_term / (3 * 2000) + math.sqrt(2 * log_term / 2000) + penalty / 2000
        first, other = policy.estimates(level)
        assert first.mean == 0.45
        assert first.low == pytest.approx(max(0.45 - width, 0.0), rel=1e-12)
        assert first.high == pytest.approx(min(0.45 + width, 1.0), rel=1e-12)
        assert (other.mean, other.low, other.high) == (None, 0.0, 1.0)


def test_the_naive_interval_is_two_sided_already():
    policy = NaiveODAAF(2, 250_000, delay_bound=100)
    policy.tell(0, 2000, total=900.0)
    policy.tell(1, 2000, total=900.0)
    log_term = math.log(2 / 0.05)
    width = math.sqrt(log_term / (2 * 2000)) + 100 / 2000
    assert policy.estimates(0.95)[0].low == pytest.approx(0.45 - width, rel=1e-12)


def test_intervals_contain_the_means_and_are_of_use():
    """300 runs of four blocks: a proved interval misses in at most 5% of them.

    More than 28 of 300 have a probability of 0.001. From above: at a tenth of the width a third of
    the runs would miss.
    """
    means = (0.3, 0.7)
    missed = narrow = 0
    for seed in range(300):
        problem = Problem(means, "exponential(20)")
        world = problem.start(rng=np.random.default_rng([3, seed]))
        policy = ODAAF(2, 20_000, mean_delay=20.5)
        for _ in range(4):
            asked = policy.ask()
            policy.tell(asked.arm, asked.rounds, world.play(asked.arm, asked.rounds), asked.purpose)
        rows = policy.estimates(0.95)
        missed += any(
            not row.low <= mean <= row.high for row, mean in zip(rows, means, strict=True)
        )
        narrow += any(
            abs(row.mean - mean) > (row.high - row.low) / 20
            for row, mean in zip(rows, means, strict=True)
        )
    assert missed <= 28
    assert narrow > 75


def test_learning_again_ends_a_bridge_that_was_begun():
    policy = ODAAFB(2, 250_000, 50, 100)
    taught(policy, [(0, 1076, 500.0, "learn"), (1, 1076, 600.0, "learn")])
    assert policy.ask()[:3] == (1, 1076, "bridge")
    taught(policy, [(1, 100, 50.0, "bridge")])
    assert policy.ask()[:3] == (1, 976, "bridge")
    taught(policy, [(0, 100, 50.0, "learn")])
    assert policy.ask()[:3] == (0, 2746 - 1176, "learn")


def test_a_phase_is_finished_with_what_is_known_of_it():
    """A total that is awaited does not hold up a phase for which enough is known without it."""
    policy = ODAAF(2, 250_000, mean_delay=50)
    taught(policy, [(0, 700, None, "learn"), (0, 1350, 600.0, "learn"), (1, 1350, 700.0, "learn")])
    assert policy.phase == 2


def test_a_phase_as_long_as_the_bound_is_not_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ODAAFB(2, 250_000, 50, 1076).phase_rounds[0] == 1076
    with pytest.warns(UserWarning, match="shorter than the delay bound 1401"):
        ODAAFB(2, 250_000, 50, 1401)
