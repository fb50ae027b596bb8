"""One run: what it plays, its regret, and live data with buckets and a report lag."""

import numpy as np
import pytest

from latesum import ODAAF, ODAAFB, InvalidInput, Problem, simulate
from latesum.attributed import QPMD
from latesum.policies import FixedSplit

PROBLEM = Problem([0.5, 0.6], "uniform(0, 100)")
POLICY = ODAAFB(2, 250_000, mean_delay=50, delay_bound=100)


def test_the_readme_run():
    run = simulate(PROBLEM, POLICY, 250_000, seed=1)
    assert run.regret() == pytest.approx(2049.1)
    assert run.arms[-1] == 1
    assert run.switches == 7
    assert run.horizon == 250_000
    assert run.ends[:3].tolist() == [0, 1076, 2152]


def test_a_policy_given_as_text_is_told_what_is_true_of_the_problem():
    by_text = simulate(PROBLEM, "odaaf-b", 250_000, seed=1)
    assert by_text.regret() == simulate(PROBLEM, POLICY, 250_000, seed=1).regret()
    attributed = simulate(PROBLEM, "qpm-d(base='ucb1')", 5_000, seed=1)
    assert attributed.regret() == simulate(PROBLEM, QPMD("ucb1", 2), 5_000, seed=1).regret()


@pytest.mark.parametrize("nonsense", [3, None, ODAAF, ["odaaf"]])
def test_what_is_no_policy_is_refused(nonsense):
    with pytest.raises(InvalidInput, match="a policy is given as text"):
        simulate(PROBLEM, nonsense, 1_000, seed=1)


def test_the_same_seed_gives_the_same_run_and_another_does_not():
    one, same, other = (
        [s.total for s in simulate(PROBLEM, POLICY, 50_000, seed=seed).plays] for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_the_policy_handed_over_is_a_template():
    policy = POLICY.fresh()
    simulate(PROBLEM, policy, 10_000, seed=1)
    assert policy.rounds_played == 0


def test_regret_grows_by_the_gap_in_every_round_of_a_worse_arm():
    run = simulate(Problem([0.5, 0.6], "constant(3)"), FixedSplit(2, 100), 100, seed=1)
    assert run.regret(10) == pytest.approx(1.0)
    assert run.regret(np.array([0, 50, 100])) == pytest.approx([0, 5, 5])
    with pytest.raises(InvalidInput, match="within"):
        run.regret(101)


def test_in_buckets_it_decides_at_their_ends_only():
    run = simulate(PROBLEM, POLICY, 100_000, seed=1, bucket=700)
    assert set(run.ends[:-1] % 700) == {0}
    assert {s.rounds % 700 for s in run.plays[:-1]} == {0}


def test_with_a_report_lag_nothing_is_used_before_it_is_known():
    """After the first phase the policy waits on its leader for the lag, which is its bridge too."""
    run = simulate(PROBLEM, POLICY, 20_000, seed=1, bucket=538, report_lag=1076)
    purposes = [s.purpose for s in run.plays[:8]]
    assert purposes == ["learn"] * 4 + ["bridge"] * 2 + ["learn"] * 2


def test_attributed_policies_run_as_well():
    run = simulate(PROBLEM, QPMD("ucb1", n_arms=2), 20_000, seed=1)
    assert run.horizon == 20_000
    assert 10 < run.regret() < 400
