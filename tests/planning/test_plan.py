"""The result of a plan: verdict, recommendation, sensitivity analysis, report."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from latesum import InvalidInput, Problem, compare, delays
from latesum.campaigns.config import CampaignConfig
from latesum.experiments.stats import quantile_of, share_of
from latesum.planning import plan
from latesum.planning.planner import read_inputs
from latesum.planning.runs import Simulator
from latesum.planning.stream import EQUAL_SPLIT
from latesum.planning.verdict import judge, scenarios
from latesum.policies import registry

from .conftest import SMALL, SOME, row


def test_a_go(small_plan):
    assert small_plan.verdict.answer == "go"
    assert small_plan.recommended.finds_best.value >= 0.8
    assert small_plan.recommended.gain_low.value > 0
    assert str(small_plan).startswith("GO")


def test_longer_is_a_conditional_go():
    found = plan(
        options=2, rate=0.05, lift="20%", traffic="800 per day", late="8 hours",
        run_for="2 weeks", replications=60, workers=1, sensitivity=False,
        policies=["half test"],
    )  # fmt: skip
    assert found.verdict.answer == "conditional go"
    assert found.verdict.changes[0].what == "horizon"
    assert found.verdict.changes[0].factor <= 2


def test_the_share_that_finds_the_best_is_a_parameter():
    asked = {**SMALL, "replications": 60, "workers": 1, "sensitivity": False}
    found = plan(**asked, policies=["half test"], finds_best=0.999)
    assert found.recommended.finds_best.value >= 0.8
    assert (found.verdict.answer == "go") == (found.recommended.finds_best.value >= 0.999)


@pytest.mark.parametrize(
    ("found", "bad_runs", "surely"), [(200, 0, True), (162, 0, False), (200, 8, False)]
)
def test_a_close_go_says_so(found, bad_runs, surely):
    gain = np.where(np.arange(200) < bad_runs, -1.0, 1.0)
    verdict = judge(None, row("a", gain, np.arange(200) < found), Simulator(0.8, 1, {}), 10)
    assert (verdict.answer, verdict.sure) == ("go", surely)
    assert ("It is not sure" not in verdict.reason) is surely


def test_the_equal_split_loses_what_it_must(small_plan):
    split = next(a for a in small_plan.rows if a.label == EQUAL_SPLIT)
    inputs = small_plan.inputs
    assert split.regret.value == pytest.approx(inputs.horizon * inputs.lift / 2, rel=0.03)
    assert split.gain.value == pytest.approx(0, abs=0.03 * inputs.horizon * inputs.lift / 2)


def test_switches_cost(small_plan):
    costly = plan(
        **SMALL, replications=30, workers=1, policies=SOME, sensitivity=False, switch_cost=5.0
    )
    for free, paid in zip(small_plan.rows, costly.rows, strict=True):
        expected = free.regret.value + 5 * free.switches.value
        assert paid.regret.value == pytest.approx(expected)


def test_wrong_inputs(small_plan):
    rows = {each.truth: each for each in small_plan.sensitivity}
    assert set(rows) >= {
        "as given", "delays twice as long", "delays half as long", "lift half as large",
        "best option 2 times as late", "week-ends a third lower",
    }  # fmt: skip
    half, whole = rows["lift half as large"].row, rows["as given"].row
    assert half.gain.value < whole.gain.value


def test_json_can_be_handed_on(small_plan, tmp_path):
    """As a campaign takes it; it is the same in simulations, but for switchback, whose spans are in buckets."""
    unmix = next(each for each in small_plan.rows if each.label == "unmix")
    small_plan = dataclasses.replace(small_plan, recommended=unmix)
    small_plan.save(tmp_path / "plan.json")
    saved = json.loads((tmp_path / "plan.json").read_text())
    handed = saved["recommendation"]
    assert handed["simulated"] == {key: handed[key] for key in ("policy", "parameters")}
    policy = registry.build(handed["policy"], **handed["parameters"])
    assert policy.ask() == small_plan.policy().ask()
    problem = Problem([0.1, 0.14], "exponential(300)")
    result = compare(
        problem, {handed["label"]: policy}, handed["horizon"], bucket=handed["bucket"],
        replications=2, seed=1,
    )  # fmt: skip
    assert len(result.summary()) == 1
    assert saved["verdict"]["answer"] == "go"


def test_the_report_is_one_page(small_plan, tmp_path):
    small_plan.save(tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    assert page.count("<svg") == 3
    assert "<strong>go, not sure</strong>" in page  # thirty runs cannot be sure of a 5th percentile
    assert "http" not in page
    assert "src=" not in page
    with pytest.raises(InvalidInput, match=r"html or \.json"):
        small_plan.save(tmp_path / "plan.txt")


def test_given_means():
    found = plan(
        options=3, rate=0.1, means=[0.1, 0.14, 0.139], lift="10%", traffic="1000 per day",
        late="8 hours", run_for="8 weeks", replications=40, workers=1, sensitivity=False,
        policies=["half test"],
    )  # fmt: skip
    # The second best is within the lift, so ending on it is right.
    assert found.rows[0].finds_best.value > 0.9


def test_limits():
    assert share_of(0, 50).low == 0
    assert share_of(50, 50).high == 1
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        low, high = quantile_of(rng.normal(size=200), 0.05)[1:]
        held += low <= -1.6448536 <= high
    assert held > 270


def test_what_runs_today_is_simulated():
    """A shop that was open yesterday: rewards of yesterday arrive in the first days."""
    asked = {**SMALL, "late": "4 days", "replications": 20, "workers": 1, "sensitivity": False}
    nothing, option, other, known = (
        plan(**asked, policies=["unmix", "half test"], **more)
        for more in (
            {}, {"status_quo": "option"}, {"status_quo": "other"},
            {"status_quo": "option", "history": "4 weeks"},
        )
    )  # fmt: skip
    losses = [found.rows[0].regret.value for found in (nothing, option, other, known)]
    assert len(set(losses)) == 4
    assert losses[3] < losses[1]  # of the same runs, more is known
    assert "One of the options runs today, of which 4 weeks are known" in str(known)
    assert known.to_json()["asked"]["status_quo"] == "option"
    with pytest.raises(InvalidInput, match="a history is that of an option"):
        plan(**asked, history="4 weeks")
    with pytest.raises(InvalidInput, match="there is no status quo 'both'"):
        plan(**asked, status_quo="both")


NOISY = {
    "options": 3, "rate": 0.03, "lift": "15%", "traffic": "5000 per day", "late": "2 days", "run_for": "12 weeks",
    "replications": 40, "workers": 1, "sensitivity": False,
}  # fmt: skip


def test_switchback_is_tried_and_handed_on_as_a_campaign_takes_it():
    found = plan(
        **{**NOISY, "replications": 20}, status_quo="option", history="4 weeks",
        policies=["switchback", "half test"],
    )  # fmt: skip
    assert found.recommended.label == "switchback"
    handed = found.to_json()["recommendation"]
    assert handed["policy"] == "switchback"
    assert handed["parameters"] == {
        "n_arms": 3, "horizon": 84, "mean_delay": 2.0, "certainty": "guess",
    }  # fmt: skip
    config = CampaignConfig.read({
        "name": "offers", "options": ["a", "b", "c"], "policy": handed["policy"], "expected_rounds": handed["bucket"],
        "parameters": {key: value for key, value in handed["parameters"].items() if key != "n_arms"},
        "time_basis": "arrival", "start": "2026-03-02",
    })  # fmt: skip
    assert config.build_market().horizon == 84
    assert "40 simulated runs;" in str(found)
    assert "Policy: switchback, because" in " ".join(str(found).split())
    assert found.policy().kind == "switchback"
    simulated = handed["simulated"]
    policy = registry.build(simulated["policy"], **simulated["parameters"])
    assert policy.ask() == found.policy().ask()


def test_where_effects_change_another_policy_is_recommended_and_it_is_said_why():
    few = {**NOISY, "replications": 20}
    found = plan(**few, nonstationary=True)
    tried = {answer.label for answer in found.rows}
    assert "switchback" not in tried
    assert "guarded" not in tried  # it does not follow rates that change
    assert found.recommended.label == "unmix"
    assert "switchback is not tried, because it takes the options' effects to stay" in " ".join(
        found.assumed
    )
    stays = plan(**few, policies=["unmix"])
    assert found.recommended.regret.value > stays.recommended.regret.value


@pytest.mark.parametrize(
    "changes",
    [{"bucket": "hour"}, {"run_for": "2 weeks"}, {"rate": None, "mean": 2.0, "high": 50.0}],
)
def test_switchback_is_tried_where_it_can_be_simulated(changes):
    asked = {"replications", "workers", "sensitivity"}
    said = {key: value for key, value in {**NOISY, **changes}.items() if key not in asked}
    assert "switchback" not in [each.label for each in read_inputs(**said).candidates()]


QUICK = {"replications": 40, "workers": 1, "policies": ["unmix", "half test"]}


def test_the_option_of_today_is_the_best_as_often_as_any_other():
    """With two options: in half of the runs today's is, and what trying the other one costs counts."""
    asked = {**SMALL, "status_quo": "option", "history": "4 weeks", **QUICK, "sensitivity": False}
    found = plan(**asked)
    new_best = plan(**asked, means=[0.1, 0.14])  # today's 0.1 is the worse one
    today_best = plan(**asked, means=[0.1, 0.06])
    between = found.rows[0].regret.value
    assert new_best.rows[0].regret.value < between < today_best.rows[0].regret.value
    assert "One of the 2 options, today's included, is better" in str(found)
    half = found.rows[1]  # a test of half the time loses as much in both worlds
    assert half.regret.value == pytest.approx(new_best.rows[1].regret.value, rel=0.01)


def test_the_sensitivity_analysis_has_what_most_often_happens(small_plan):
    """Nothing is better: how often is a winner named? All new ones are worse: what does trying cost?"""
    rows = {each.truth: each for each in small_plan.sensitivity}
    nothing, worse = rows["nothing is better"], rows["all new options are worse"]
    assert nothing.still_go is None
    assert nothing.row.regret.value == 0
    assert nothing.row.winner.value < rows["as given"].row.winner.value
    assert worse.row.regret.value > 0
    saved = {each["truth"]: each for each in small_plan.to_json()["sensitivity"]}
    assert saved["nothing is better"]["winner"]["value"] == nothing.row.winner.value
    for shown in (str(small_plan), small_plan.to_html()):
        assert "nothing is better" in shown
        assert "all new options are worse" in shown
        assert "winner named" in shown


def test_what_was_assumed_of_the_delay_is_said():
    late = "half within 4 hours, 95% within 4 days"
    asked = {"replications": 20, "workers": 1, "policies": ["half test"], "sensitivity": False}
    assert "a constant hazard" in " ".join(plan(**{**SMALL, "late": late}, **asked).assumed)


def test_a_verdict_says_how_sure_it_is():
    few = plan(**SMALL, replications=20, workers=1, policies=["half test"], sensitivity=False)
    assert str(few).startswith("GO, NOT SURE.")
    assert "20 runs do not settle it" in " ".join(str(few).split())
    assert "go, not sure" in few.to_html()
    assert few.to_json()["verdict"]["sure"] is False
    many = plan(**SMALL, replications=200, workers=1, policies=["half test"], sensitivity=False)
    assert str(many).startswith("GO. ")
    assert many.to_json()["verdict"]["sure"] is True


def test_what_would_have_to_change_is_a_range():
    found = plan(
        options=2, rate=0.024, lift="10%", traffic="400 per day", late="2 days", run_for="60 days",
        replications=40, workers=1, sensitivity=False, policies=["half test"],
    )  # fmt: skip
    assert found.verdict.answer == "no-go"
    assert found.verdict.changes
    said = " ".join(str(found).split())
    for change in found.verdict.changes:
        assert change.low < change.factor <= change.high
        assert re.search(r"about [\d.,]+ to [\d.,]+", change.sentence)
        assert change.sentence in said
    assert "% in place of 10%" in said  # the lift as it was given, not as a difference of rates
    assert "so these are rough" in said


def test_a_delay_that_was_given_is_handed_over_with_its_shape():
    asked = {**SMALL, "replications": 20, "workers": 1, "policies": ["unmix"], "sensitivity": False}
    given = plan(**{**asked, "late": "half within 4 hours, 95% within 4 days"})
    handed = given.to_json()["recommendation"]["parameters"]
    assert "mean_delay" not in handed
    assert delays.parse(handed["delay"]).mean == pytest.approx(given.inputs.delay().mean)
    config = CampaignConfig.read({
        "name": "offers", "options": ["a", "b"], "policy": "unmix", "expected_rounds": 1000,
        "parameters": {key: value for key, value in handed.items() if key != "n_arms"},
        "time_basis": "arrival", "start": "2026-03-02",
    })  # fmt: skip
    assert config.parameters["delay"] == handed["delay"]
    assert "mean_delay" in plan(**asked).to_json()["recommendation"]["parameters"]


def test_the_tests_it_is_compared_with_leave_out_what_comes_soon_after_a_switch():
    """Ten days for each option and sales that are two days late: without it 63% find the best."""
    found = plan(
        options=3,
        rate=0.024,
        lift="10%",
        traffic="8000 per day",
        late="2 days",
        run_for="60 days",
        replications=40,
        workers=1,
        sensitivity=False,
        policies=["half test"],
        finds_best=0.05,
    )
    half = found.rows[0]
    assert half.candidate.about.endswith("the first 5 days of each are not counted")
    assert half.finds_best.value > 0.85
    assert found.to_json()["recommendation"]["parameters"]["washout"] == 40_000


def test_the_verdict_says_what_if_the_best_option_is_late(small_plan):
    rows = {each.truth: each.row for each in small_plan.sensitivity}
    said = small_plan.verdict.late_best
    for factor in ("1.5", "2", "3"):
        found = rows[f"best option {factor} times as late"].finds_best.value
        assert f"{found:.0%} of runs where it is {factor} times as late" in said
    assert said in " ".join(str(small_plan).split())
    sure = read_inputs(**{**SMALL, "equal_delays": True})
    assert not any("times as late" in truth for truth in scenarios(sure))
    switchback = next(each for each in sure.candidates() if each.label == "switchback")
    assert switchback.spec.parameters["differing_delays"] == 0
    assert switchback.campaign["parameters"]["differing_delays"] == 0


def test_switchback_is_given_the_shape_of_the_delay_and_so_is_the_campaign():
    said = {"late": "half within 4 hours, 95% within 4 days"}
    shaped = read_inputs(**{**SMALL, **said})
    switchback = next(each for each in shaped.candidates() if each.label == "switchback")
    assert switchback.spec.parameters["shape"] == switchback.campaign["parameters"]["shape"]
    plain = next(each for each in read_inputs(**SMALL).candidates() if each.label == "switchback")
    assert "shape" not in plain.spec.parameters
