"""The shop's campaign of the documentation, from plan to winner, command by command."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_shop_finds_its_winner(load_example, tmp_path, capsys):
    status = load_example("campaign", "follow").follow(tmp_path)
    printed = capsys.readouterr().out
    assert status["winner"] == "a gift"
    assert status["gain"] > 0
    rows = {row["label"]: row for row in status["timeline"]}
    assert rows["2026-03-18"]["state"] == "missing"
    assert sum(row["revisions"] for row in rows.values()) >= 5
    assert "ends on the best option, or one within the lift" in " ".join(printed.split())
    assert "84 of 84 decisions come out the same" in printed
    assert "revised" in printed
    assert "timeline-chart" in (tmp_path / "offers.html").read_text(encoding="utf-8")
    for start in range(0, 84, 7):  # whole weeks
        assert len({row["option"] for row in status["timeline"][start : start + 7]}) == 1


@pytest.mark.parametrize("days", [4, pytest.param(42, marks=pytest.mark.slow)])
def test_the_shop_in_four_regions_finds_its_winner(load_example, tmp_path, capsys, days):
    """Four days show that the commands work; six weeks, that they find the winner."""
    status = load_example("regions", "follow").follow(tmp_path, days)
    printed = capsys.readouterr().out
    assert {row["state"] for row in status["timeline"]} == {"known"}
    assert f"{4 * days} of {4 * days} decisions come out the same" in printed
    if days < 42:
        return
    gift = next(each for each in status["options"] if each["name"] == "a gift")
    assert gift["uplift_low"] < 0.12 < gift["uplift_high"]
    assert status["winner"] == "a gift"
    assert 1.2 < status["model"]["delay"] < 2.4  # it is 1.6, and about two were given
    east = [row["option"] for row in status["timeline"] if row["region"] == "east"]
    assert east[11:15] == ["free shipping"] * 4
    assert east[15] != "free shipping"
