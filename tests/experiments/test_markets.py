"""Runs in markets: pure, kept and resumed, measured, and played by all kinds of policies."""

from dataclasses import replace

import numpy as np
import pytest

from latesum import InvalidInput
from latesum.experiments import compare
from latesum.experiments.engine import run
from latesum.experiments.loop import Reports
from latesum.experiments.markets.one_stream import Switchback
from latesum.experiments.markets.players import OWN, SwitchbackTest, regression
from latesum.experiments.markets.spec import MarketRun, MarketRunSpec, intervals
from latesum.experiments.spec import RunSpec
from latesum.experiments.sweep import expand, parse, run_sweep
from latesum.policies import PolicySpec, conformance
from latesum.simulation import Calendar, FieldProblem
from latesum.simulation.market import Market

SHORT = Market(buckets=35, regions=2, sales=2_000, effects=0.3)
PLACE = "latesum.experiments.markets.one_stream:Switchback"


@pytest.mark.parametrize("policy", [*OWN, "flow", pytest.param("unmix", marks=pytest.mark.slow)])
def test_a_run_depends_on_its_setting_and_number_alone(policy):
    setting = MarketRunSpec(SHORT, policy)
    one, two = setting.run(3), MarketRunSpec(SHORT, policy).run(3)
    assert np.array_equal(one.world.totals(35), two.world.totals(35))
    assert (one.lost, one.answer) == (two.lost, two.answer)
    assert -1e-12 < one.lost < 1


def test_an_equal_split_loses_what_the_mean_of_all_options_does_in_the_same_markets():
    """Over 20 markets, rotating weekly loses what the mean of all options does, within 15%."""
    law = Market(buckets=84, effects=0.2)
    runs = [MarketRunSpec(law, "equal-split").run(number) for number in range(20)]
    played, computed = (
        np.mean([getattr(each, name) for each in runs]) for name in ("lost", "lost_by_split")
    )
    assert played == pytest.approx(computed, rel=0.15)
    other = MarketRunSpec(law, "half-time-test").run(2)
    assert (other.lost_by_split, other.best) == (runs[2].lost_by_split, runs[2].best)


def test_always_the_best_loses_nothing():
    best = MarketRunSpec(SHORT, "equal-split").run(5).best
    world = SHORT.start(np.random.SeedSequence(1, spawn_key=(5, 0)))
    for bucket in range(SHORT.buckets):
        world.play(bucket, [best, best])
    run_once = MarketRun(world, SwitchbackTest(world, 1.0))
    assert run_once.lost == pytest.approx(0.0, abs=1e-12)
    assert run_once.best == best


def test_the_engine_keeps_and_resumes(tmp_path):
    setting = MarketRunSpec(SHORT, "half-time-test", problem_name="short")
    first = run([setting], 4, store=tmp_path)
    more = run([setting], 6, store=tmp_path)
    whole = run([setting], 6)
    names = ("short", "half-time-test")
    for measure in setting.measures:
        found = [each[names].measured[measure] for each in (more, whole)]
        np.testing.assert_array_equal(found[0], found[1])
    assert first[names].replications == 4
    assert more.summary()[0].replications == 6


def test_the_digest_names_the_law_and_the_policy():
    one = MarketRunSpec(SHORT, "switchback")
    assert one.digest == MarketRunSpec(SHORT, "switchback", problem_name="other name").digest
    assert one.digest != MarketRunSpec(Market(buckets=35), "switchback").digest
    assert one.digest != MarketRunSpec(SHORT, "switchback(differing_delays=0)").digest


def test_clustered_errors_are_those_of_statsmodels():
    """What statsmodels 0.15 gives: OLS(outcome, design).fit(cov_type="cluster", ...)."""
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(24), rng.standard_normal((24, 2))])
    clusters = np.repeat(np.arange(6), 4)
    outcome = design @ [1, 2, 0] + rng.standard_normal(6)[clusters] + rng.standard_normal(24)
    estimates, errors = regression(outcome, design, clusters)
    assert estimates == pytest.approx([1.11787787, 1.85014396, 0.59767939])
    assert errors == pytest.approx([0.252535, 0.11729229, 0.10760535], rel=1e-6)


def test_the_analysts_find_large_effects():
    law = Market(regions=4, buckets=84, sales=20_000, effects=0.3, delay=0.5)
    world = law.start(np.random.SeedSequence(2))
    test = SwitchbackTest(world, 0.5)
    for bucket in range(84):
        world.play(bucket, test.decide(bucket))
    mean, error = test.effects()
    assert np.all(np.abs(mean - world.effects) < 0.06)
    assert np.all(error[1:] > 0)


def test_switchback_loses_less_than_a_half_time_test():
    """Four runs with large effects: a third of what the test loses would be usual."""
    law = Market(regions=3, buckets=42, effects=0.2, sales=2_000)
    lost = {
        policy: np.mean([MarketRunSpec(law, policy).run(number).lost for number in range(4)])
        for policy in ("switchback", "half-time-test")
    }
    assert lost["switchback"] < 0.6 * lost["half-time-test"]


@pytest.mark.parametrize(
    "change",
    [
        {"order_spread": 1.0},
        {"dated": "decision"},
        {"report_lag": 2, "restated": 4, "missing": 0.1},
        {"week": 5},
        {"holiday": 0.6},
        {"status_quo": "other", "history": 0},
        {"status_quo": "nothing", "history": 0},
        {"rounds": "constant"},
    ],
)
def test_switchback_plays_in_every_kind_of_market(change):
    law = Market(**{"buckets": 21, "regions": 2, **change})
    found = MarketRunSpec(law, "switchback(winner=True)").run(0)
    assert 0 <= found.lost < 0.5
    assert np.isfinite(intervals(found)).all()


def test_one_stream_is_a_policy_like_any_other():
    conformance.check(Switchback(2, 16_000, 1_000.0, bucket=1_000))


def test_one_stream_plays_problems_of_the_lab():
    problem = FieldProblem([0.2, 0.3, 0.4], "geometric(2500)", calendar=Calendar.weekly(5_000))
    setting = RunSpec(
        problem,
        PolicySpec.parse(PLACE),
        60 * 5_000,
        reports=Reports(5_000, 5_000),
        status_quo=0,
        history=14 * 5_000,
    )
    found = setting.run(1)
    assert found.answer == 2
    assert found.regret() < 0.35 * 0.1 * found.horizon
    assert setting.run(1).regret() == found.regret()


def test_a_market_is_compared_like_any_other_problem(tmp_path):
    names = {name: name for name in ("switchback", "flow", "half-time-test", "geo-test")}
    found = compare(SHORT, names, 28, replications=2, seed=1, measures=["within"], store=tmp_path)
    assert found.checkpoints.tolist() == list(range(1, 29))
    assert all(np.all(np.diff(each.regrets) >= -1e-9) for each in found)
    one = MarketRunSpec(replace(SHORT, buckets=28), "flow", seed=1).run(1)
    assert found["flow"].regrets[1, -1] == pytest.approx(one.regret())
    assert "Regret after 28 buckets, 2 replications" in str(found)
    assert {row.policy for row in found.summary()} == set(names)


@pytest.mark.parametrize(
    ("policy", "named", "words"),
    [
        (Switchback(3, 900, 10.0), {}, "give it as text"),
        ("qpm-d", {}, "has attributed feedback"),
        (
            "flow",
            {"history": 5, "bucket": 2},
            "leave out bucket, history, and set it in the Market",
        ),
    ],
)
def test_what_a_market_cannot_be_compared_with_is_refused(policy, named, words):
    with pytest.raises(InvalidInput, match=words):
        compare(SHORT, {"a": policy}, 28, replications=1, seed=1, **named)


SWEEP = """
horizon = 2000
replications = 2
[[problems]]
name = "small"
arms = [0.2, 0.8]
delay = "uniform(0, 9)"
[[problems]]
name = "shops"
market = {regions = 2, buckets = 14, effects = 0.2}
[[policies]]
policy = "flow"
[[policies]]
policy = "switchback"
problems = ["shops"]
parameters = {differing_delays = [0, 0.5]}
"""


def test_a_sweep_file_takes_a_market_beside_other_problems(tmp_path):
    experiment = parse(SWEEP, "shops.toml", default_name="shops")
    found = run_sweep(experiment, tmp_path)
    assert [(row.problem, row.policy) for row in found.summary()] == [
        ("small", "flow"),
        ("shops", "flow"),
        ("shops", "switchback (differing_delays=0)"),
        ("shops", "switchback (differing_delays=0.5)"),
    ]
    again = run_sweep(experiment.with_replications(2), tmp_path)
    assert [row.mean for row in again.summary()] == [row.mean for row in found.summary()]
    other = expand(experiment.model_copy(update={"seed": 5}))[0][-1]
    assert other.digest != expand(experiment)[0][-1].digest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("regions = 2", "region = 2"), r"problems\[1\]: .*'regions'"),
        (("regions = 2", 'regions = "2"'), r"problems\[1\]: .*regions"),
        (('name = "shops"', 'name = "shops"\nhistory = 9'), "leave out history"),
        (('problems = ["shops"]', ""), "'small': switchback plays in markets only"),
    ],
)
def test_a_sweep_file_says_what_is_wrong_with_its_market(change, words):
    with pytest.raises(InvalidInput, match=words):
        parse(SWEEP.replace(*change), "shops.toml", default_name="shops")
