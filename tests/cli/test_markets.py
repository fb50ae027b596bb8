"""`latesum markets` and `latesum plan --regions`: tables, a sentence, and refusals."""

import json

import numpy as np
import pytest

from latesum.lab.studies.market_cells import CELLS, Cell
from latesum.world.market import Market

SHORT = Market(buckets=28, sales=2_000, effects=0.3)
PLAN = ["plan", "--options", "2", "--lift", "25%", "--late", "about 1 day", "--run-for", "5 weeks"]


@pytest.fixture
def history(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["date;region;visitors;orders"]
    for day in range(1, 29):
        lines += [
            f"2026-02-{day:02d};{region};9000;{rng.poisson(300)}" for region in ("north", "south")
        ]
    path = tmp_path / "before.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(("goal", "code"), [(5.0, 0), (0.001, 1)])
def test_the_study_prints_tables_and_says_whether_goals_are_met(
    latesum, tmp_path, monkeypatch, goal, code
):
    cells = [
        Cell("worlds", "short", SHORT, "switchback", "switchback", goal),
        Cell("worlds", "short", SHORT, "half-time-test", "half-time-test"),
    ]
    monkeypatch.setitem(CELLS, "worlds", cells)
    asked = (
        "markets",
        "worlds",
        "--replications",
        "2",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "kept"),
    )
    found, out, _ = latesum(*asked)
    assert found == code
    assert "Worlds" in out
    assert "wrong winner" not in out  # nothing was looked for
    assert "half-time-test" in (tmp_path / "kept" / "markets.md").read_text(encoding="utf-8")
    assert latesum(*asked)[1] == out


def test_a_table_that_there_is_not(latesum):
    code, _, error = latesum("markets", "wrlds")
    assert code == 2
    assert "did you mean 'worlds'" in error


def test_a_plan_with_regions(latesum, history):
    asked = [*PLAN, "--regions", "2", "--history", history, "--replications", "3", "--workers", "1"]
    code, out, _ = latesum(*asked)
    assert code == 0
    assert "a test of half the time" in out
    assert "2 regions: decided in" in out
    data = json.loads(latesum(*asked, "--json")[1])
    assert data["market"]["regions"] == 2


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--regions", "2"], "--regions needs --history FILE"),
        (["--regions", "2", "--history", "HISTORY", "--rate", "0.1"], "leave --rate out"),
        (["--regions", "3", "--history", "HISTORY"], "has 2 regions"),
        ([], "say --traffic"),
    ],
)
def test_a_plan_with_regions_refuses(latesum, history, more, words):
    code, _, error = latesum(*PLAN, *(history if each == "HISTORY" else each for each in more))
    assert code == 2
    assert words in " ".join(error.split())
