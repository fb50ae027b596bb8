"""The loop: a policy is told all that was played, at once or late, and its hooks are called."""

import itertools
import tracemalloc

import numpy as np
import pytest

from latesum import ODAAF, Beta, Flow, Problem, RoundRobin, simulate
from latesum.experiments import RunSpec
from latesum.experiments.loop import LateLoop, Loop, Reports
from latesum.policies import PolicySpec

TWO_ARMS = Problem([0.5, 0.6], "uniform(0, 100)")
THREE_ARMS = Problem([0.3, 0.5, 0.45], ["constant(7)", "uniform(0, 30)", "poisson(9).clipped(40)"])
POLICIES = ["odaaf", "flow", "ars-ucb", "fixed-split", "round-robin", "unmix"]


def spec(problem, text, horizon, **more):
    return RunSpec(problem, PolicySpec.parse(text), horizon, **more)


@pytest.mark.parametrize("reports", [Reports(), Reports(500)], ids=["immediate", "buckets"])
@pytest.mark.parametrize("text", [*POLICIES, "unmix-unknown-delay"])
def test_a_policy_knows_what_was_played(text, reports):
    """Told all plays again, a fresh policy knows the same and asks for the same."""
    run = spec(TWO_ARMS, text, 30_000, reports=reports).run(3)
    assert sum(play.rounds for play in run.plays) == run.policy.rounds_played == 30_000
    again = run.policy.replay(run.plays)
    assert again.to_state() == run.policy.to_state()
    assert again.ask() == run.policy.ask()


@pytest.mark.parametrize(
    ("text", "reports"),
    [
        *itertools.product(
            ["odaaf", "flow"], [Reports(), Reports(500), Reports(1, 300), Reports(500, 1_300)]
        ),
        ("unmix", Reports()),
        ("unmix", Reports(500, 1_300)),
    ],
    ids=str,
)
def test_a_run_is_played_on(text, reports):
    """The last block of the first piece is cut short: the second goes on with it."""
    run = spec(TWO_ARMS, text, 20_700, reports=reports).run(1)
    longer = run.spec.run(1, until=60_000)
    assert longer.plays[: len(run.plays)] == run.plays
    assert sum(play.rounds for play in longer.plays) == 60_000


def test_late_totals_are_told_when_they_are_known():
    world = TWO_ARMS.start(rng=np.random.default_rng(1))
    policy = ODAAF(2, 20_000, mean_delay=50)
    loop = LateLoop(world, policy, Reports(100, lag=250))
    loop.play(10_000)
    assert policy.rounds_played == 9_600  # at the last decision, after round 9,900


class Stubborn(ODAAF):
    """A policy of one's own: it learns nothing, and so never ends its first block."""

    kind = "stubborn"

    def _learn(self, play):
        pass


@pytest.mark.parametrize(
    "reports",
    [Reports(), Reports(10), Reports(1, 20), Reports(10, 20, missing=0.2)],
    ids=str,
)
@pytest.mark.parametrize(
    "problem",
    [
        TWO_ARMS,
        Problem([Beta(1, 2), 0.5], "uniform(0, 9)"),
        Problem([0.4, 0.5], "uniform(0, 9000)"),
    ],
    ids=["table", "rewards", "long delays"],
)
def test_a_hook_that_is_overridden_is_called(problem, reports):
    own = PolicySpec.of(Stubborn(2, 5_000, mean_delay=50))
    assert {play.arm for play in RunSpec(problem, own, 5_000, reports=reports).run(0).plays} == {0}


@pytest.mark.parametrize("text", POLICIES)
def test_a_policy_that_has_lost_an_option_never_plays_it(text):
    _, policy = spec(THREE_ARMS, text, 9_000).prepared
    policy = policy.fresh()
    policy.drop(1)
    plays = Loop(THREE_ARMS.start(rng=np.random.default_rng(4)), policy).play(9_000)
    assert {play.arm for play in plays} == {0, 2}


def test_unmix_searches_for_another_delay():
    """Given a wrong mean delay, it finds a likelier curve, and learns blocks in segments."""
    problem = Problem([0.3, 0.25, 0.28], "mixture((0.5, constant(0)), (0.5, constant(900)))")
    runs = [spec(problem, "unmix(mean_delay=30)", 60_000).run(number) for number in range(2)]
    assert any(run.policy.explanations.believed.mean_delay > 60 for run in runs)
    for run in runs:
        assert len(run.plays) > len({play.number for play in run.plays})


@pytest.mark.parametrize(
    ("delay", "horizon"),
    [("uniform(0, 100)", 10**7), ("uniform(0, 20000)", 10**6), ("pareto(1.5, 20000)", 10**7)],
)
def test_a_run_needs_less_than_50_megabytes(delay, horizon):
    problem = Problem([0.5, 0.6], delay)
    setting = RunSpec(problem, PolicySpec.of(Flow(2, horizon, mean_delay=100)), horizon)
    setting.run(0)  # what is made once, and kept
    tracemalloc.start()
    setting.run(1)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50 * 2**20


# Totals that are known late, without buckets: of whole blocks, at decisions that are few.

SHORT_DELAYS = Problem([0.5, 0.6], "uniform(0, 20)")


class Watched(RoundRobin):
    """In turns, keeping what the deciding copy was told at each decision, and when."""

    kind = "watched"
    decisions: list

    def _reset(self):
        super()._reset()
        self.told = []

    def _learn(self, play):
        super()._learn(play)
        self.told = [*self.told, list(play)]

    def _next(self):
        Watched.decisions.append((self.rounds_played, self.told))
        return super()._next()


def watched(lag, block=50, horizon=400):
    Watched.decisions = []
    policy = Watched(2, block=block)
    plays = simulate(SHORT_DELAYS, policy, horizon, seed=1, report_lag=lag).plays
    return plays, Watched.decisions


def test_a_block_is_known_its_lag_after_its_end():
    plays, decisions = watched(lag=70)
    ends, now = [], 0
    for each in plays:
        now += each.rounds
        ends.append(now)
    # Of two records after as many rounds, the first is that of a decision: the policy that is told
    # only what is final gets there later.
    for now, told in dict(reversed(decisions)).items():
        known = {number for _, _, total, _, number in told if total is not None}
        due = {each.number for each, end in zip(plays, ends, strict=True) if end + 70 <= now}
        assert known == due


def test_a_decision_is_taken_when_an_earlier_block_becomes_known():
    plays, decisions = watched(lag=70)
    # The first block, of rounds 1 to 50, is known after 120: the third is cut there, and goes on.
    assert [each.rounds for each in plays][:4] == [50, 50, 20, 30]
    assert plays[2].number == plays[3].number
    assert 120 in [now for now, _ in decisions]


def test_a_block_is_not_cut_for_its_own_parts():
    """Only when the first becomes known, and not 20 rounds later for its own first part."""
    plays, _ = watched(lag=20)
    assert [each.rounds for each in plays][:5] == [50, 20, 30, 20, 30]


@pytest.mark.parametrize(
    "policy",
    [Flow(2, 20_000, mean_delay=50), RoundRobin(2, block=100), ODAAF(2, 20_000, mean_delay=50)],
    ids=["flow", "turns", "odaaf"],
)
def test_there_are_about_as_many_decisions_as_without_a_lag(policy):
    at_once = simulate(TWO_ARMS, policy, 20_000, seed=1)
    late = simulate(TWO_ARMS, policy, 20_000, seed=1, report_lag=100)
    assert len(late.plays) <= 5 * len(at_once.plays)


def test_odaaf_waits_for_its_phases():
    policy = ODAAF(2, 20_000, mean_delay=10)
    plays = simulate(SHORT_DELAYS, policy, 20_000, seed=1, report_lag=100).plays
    assert sum(each.rounds for each in plays) == 20_000
    assert sum(each.rounds for each in plays if each.purpose == "bridge") >= 100


@pytest.mark.parametrize(
    ("name", "reports"),
    [
        *itertools.product(["flow", "odaaf-b", "ars-ucb", "round-robin"], [(1, 60), (40, 100)]),
        ("unmix", (40, 100)),
    ],
)
def test_the_copy_that_decides_again_is_as_good_as_a_new_one(name, reports, monkeypatch):
    setting = spec(SHORT_DELAYS, name, 1_000, reports=Reports(*reports))
    kept = setting.run(1).plays
    forgetful = property(lambda self: None, lambda self, value: None)
    monkeypatch.setattr(LateLoop, "_deciding", forgetful, raising=False)
    assert setting.run(1).plays == kept
