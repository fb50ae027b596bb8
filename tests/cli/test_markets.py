"""`latesum plan --regions`, and `latesum campaign new --history`: tables, a sentence, and refusals."""

import json

import numpy as np
import pytest

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


def test_a_plan_with_regions(latesum, history, tmp_path):
    asked = [*PLAN, "--regions", "2", "--history", history, "--replications", "2", "--workers", "1"]
    data, page = tmp_path / "plan.json", tmp_path / "plan.html"
    out = latesum(*asked, "--out", data, "--out", page).done()
    assert out.startswith(("GO", "CONDITIONAL GO", "NO-GO"))
    assert "half-time test" in out
    assert "A winner is named in" in out
    assert "nothing is better" in out
    assert json.loads(data.read_text())["asked"]["market"]["regions"] == 2
    assert "half-time test" in page.read_text()


NEW = [
    "new",
    "offers",
    "--options",
    "a,b",
    "--start",
    "2026-03-01",
    "--run-for",
    "5 weeks",
    "--late",
    "about 1 day",
    "--status-quo",
    "a",
    "--expected-rounds",
    "9000",
    "--time-basis",
    "arrival",
]


def test_a_new_campaign_with_a_history_has_the_policy_that_a_plan_recommends_and_says_why(
    campaign, tmp_path, monkeypatch
):
    monkeypatch.setattr("latesum.cli.campaign_new._RUNS", 2)
    rng = np.random.default_rng(1)
    rows = [f"2026-02-{day:02d},9000,{rng.poisson(300)}" for day in range(1, 29)]
    (tmp_path / "past.csv").write_text("\n".join(["date,rounds,total", *rows]), encoding="utf-8")
    said = " ".join(campaign(*NEW, "--history", "past.csv").done().split())
    chosen = said.split("Policy: ")[1].split(",")[0]
    assert "in 2 simulated markets like the history, with one option 10% better, " in said
    assert chosen in ("switchback", "unmix", "flow")
    assert f"; {chosen} with" in said


def test_a_history_that_cannot_be_simulated_leaves_the_usual_policy_and_says_so(campaign, tmp_path):
    """Its visitors are those that are expected."""
    (tmp_path / "past.csv").write_text("date,rounds,total\n2026-02-28,9100,300\n", encoding="utf-8")
    asked = [each for each in NEW if each not in ("--expected-rounds", "9000")]
    said = " ".join(campaign(*asked, "--history", "past.csv").done().split())
    assert "Policy: unmix, because it was not chosen by simulation: the history has 1 days" in said
    campaign("export", "offers.json").done()
    assert '"expected_rounds": 9100' in (tmp_path / "offers.json").read_text(encoding="utf-8")


def test_switchback_is_among_the_policies_also_for_one_who_misspells_it(latesum, campaign):
    assert " switchback " in latesum("policies")[1]
    campaign(*NEW, "--policy", "switchbak").refused("did you mean 'switchback'?")
