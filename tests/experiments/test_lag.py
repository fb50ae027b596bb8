"""Totals that are known late, without buckets: of whole blocks, at decisions that are few."""

import itertools

import pytest

from latesum import ODAAF, Flow, Problem, RoundRobin, simulate
from latesum.experiments import RunSpec, loop
from latesum.experiments.loop import Reports
from latesum.policies import PolicySpec

PROBLEM = Problem([0.5, 0.6], "uniform(0, 20)")


class Watched(RoundRobin):
    """In turns, keeping what the deciding copy was told at each decision, and after how many rounds."""

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
    plays = simulate(PROBLEM, policy, horizon, seed=1, report_lag=lag).plays
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
    """The second is cut when the first becomes known; that its own first part does so 20 rounds later changes nothing."""
    plays, _ = watched(lag=20)
    assert [each.rounds for each in plays][:5] == [50, 20, 30, 20, 30]


@pytest.mark.parametrize(
    "policy",
    [Flow(2, 20_000, mean_delay=50), RoundRobin(2, block=100), ODAAF(2, 20_000, mean_delay=50)],
    ids=["flow", "turns", "odaaf"],
)
def test_there_are_about_as_many_decisions_as_without_a_lag(policy):
    problem = Problem([0.5, 0.6], "uniform(0, 100)")
    at_once = simulate(problem, policy, 20_000, seed=1)
    late = simulate(problem, policy, 20_000, seed=1, report_lag=100)
    assert len(late.plays) <= 5 * len(at_once.plays)


def test_odaaf_waits_for_its_phases():
    policy = ODAAF(2, 20_000, mean_delay=10)
    plays = simulate(PROBLEM, policy, 20_000, seed=1, report_lag=100).plays
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
    setting = RunSpec(PROBLEM, PolicySpec.parse(name), 1_000, reports=Reports(*reports))
    kept = setting.run(1).plays
    forgetful = property(lambda self: None, lambda self, value: None)
    monkeypatch.setattr(loop.LateLoop, "_deciding", forgetful, raising=False)
    assert setting.run(1).plays == kept
