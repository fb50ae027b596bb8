"""The answers of a plan: verdicts, recommendation, wrong beliefs, report."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from latesum import InvalidInput, Problem, compare
from latesum.campaigns.config import CampaignConfig
from latesum.experiments.stats import quantile_of, share_of
from latesum.planning import plan
from latesum.planning.beliefs import read_beliefs
from latesum.planning.candidates import EQUAL_SPLIT, candidates_for
from latesum.policies import registry

from .conftest import SMALL, SOME


def test_a_go(small_plan):
    assert small_plan.verdict.answer == "go"
    assert small_plan.recommended.ended_well.value >= 0.8
    assert small_plan.recommended.worst_gain.value > 0
    assert "GO." in str(small_plan)


def test_it_does_not_depend_on_workers():
    one = plan(**SMALL, replications=24, workers=1, policies=["half test"], check_beliefs=False)
    two = plan(**SMALL, replications=24, workers=2, policies=["half test"], check_beliefs=False)
    assert one.to_json() == two.to_json()


def test_too_short_is_a_no_go_that_says_what_would_help():
    found = plan(
        options=4, rate=0.02, lift="5%", traffic="1000 per day", late="2 days", run_for="3 weeks",
        replications=30, workers=1, check_beliefs=False, policies=["half test", "quarter test"],
    )  # fmt: skip
    assert found.verdict.answer == "no-go"
    assert "NO-GO" in str(found)
    for change in found.verdict.changes:
        assert change.factor > 2 or change.what in ("traffic", "lift")


def test_longer_is_a_go_but():
    found = plan(
        options=2, rate=0.05, lift="20%", traffic="800 per day", late="8 hours",
        run_for="2 weeks", replications=100, workers=1, check_beliefs=False,
        policies=["half test"], longer=4.0,
    )  # fmt: skip
    assert found.verdict.answer == "go, but"
    assert found.verdict.changes[0].what == "horizon"
    assert found.verdict.changes[0].factor <= 4


def test_thresholds_are_parameters():
    asked = {**SMALL, "run_for": "10 days", "lift": "20%"}
    options = {"replications": 60, "workers": 1, "policies": ["half test"], "check_beliefs": False}
    assert plan(**asked, **options).verdict.answer != "go"
    assert plan(**asked, **options, ended_well=0.5, percentile=0.5).verdict.answer == "go"


def test_the_equal_split_loses_what_it_must(small_plan):
    split = next(a for a in small_plan.answers if a.candidate.label == EQUAL_SPLIT)
    beliefs = small_plan.beliefs
    assert split.loss.value == pytest.approx(beliefs.horizon * beliefs.lift / 2, rel=0.03)
    assert split.gain.value == pytest.approx(0, abs=0.03 * beliefs.horizon * beliefs.lift / 2)


def test_switches_cost(small_plan):
    costly = plan(
        **SMALL, replications=30, workers=1, policies=SOME, check_beliefs=False, switch_cost=5.0
    )
    for free, paid in zip(small_plan.answers, costly.answers, strict=True):
        expected = free.loss.value + 5 * free.switches.value
        assert paid.loss.value == pytest.approx(expected)


def test_wrong_beliefs(small_plan):
    rows = {what_if.belief: what_if for what_if in small_plan.what_ifs}
    assert set(rows) >= {
        "as believed", "delays twice as long", "delays half as long", "lift half as large",
        "best option twice as late", "week-ends a third lower",
    }  # fmt: skip
    assert rows["as believed"].answer.replications < small_plan.recommended.replications
    half, whole = rows["lift half as large"].answer, rows["as believed"].answer
    assert half.gain.value < whole.gain.value


def test_json_can_be_handed_on(small_plan, tmp_path):
    """As a campaign takes it; it is the same in simulations, but for switchback, whose spans are in buckets."""
    unmix = next(each for each in small_plan.answers if each.candidate.label == "unmix")
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
    assert "<strong>go</strong>" in page
    assert "http" not in page
    assert "src=" not in page
    with pytest.raises(InvalidInput, match=r"html or \.json"):
        small_plan.save(tmp_path / "plan.txt")


def test_given_means():
    found = plan(
        options=3, rate=0.1, means=[0.1, 0.14, 0.139], lift="10%", traffic="1000 per day",
        late="8 hours", run_for="8 weeks", replications=40, workers=1, check_beliefs=False,
        policies=["half test"],
    )  # fmt: skip
    # The second best is within the lift, so ending on it is right.
    assert found.answers[0].ended_well.value > 0.9


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
    asked = {**SMALL, "late": "4 days", "replications": 20, "workers": 1, "check_beliefs": False}
    nothing, option, other, known = (
        plan(**asked, policies=["unmix", "half test"], **more)
        for more in (
            {}, {"status_quo": "option"}, {"status_quo": "other"},
            {"status_quo": "option", "history": "4 weeks"},
        )
    )  # fmt: skip
    losses = [found.answers[0].loss.value for found in (nothing, option, other, known)]
    assert len(set(losses)) == 4
    assert losses[3] < losses[1]  # of the same runs, more is known
    assert "One of the options runs today, of which 4 weeks are known" in str(known)
    assert known.to_json()["asked"]["status_quo"] == "option"
    # The half test takes the totals as they are: what arrives of yesterday is none of its doing.
    assert other.answers[1].loss.value != nothing.answers[1].loss.value
    with pytest.raises(InvalidInput, match="a history is that of an option"):
        plan(**asked, history="4 weeks")
    with pytest.raises(InvalidInput, match="there is no status quo 'both'"):
        plan(**asked, status_quo="both")


NOISY = {
    "options": 3, "rate": 0.03, "lift": "15%", "traffic": "5000 per day", "late": "2 days", "run_for": "12 weeks",
    "replications": 40, "workers": 1, "check_beliefs": False,
}  # fmt: skip


def test_switchback_is_tried_and_handed_on_as_a_campaign_takes_it():
    found = plan(
        **{**NOISY, "replications": 20}, status_quo="option", history="4 weeks",
        policies=["switchback", "half test"],
    )  # fmt: skip
    assert found.recommended.candidate.label == "switchback"
    handed = found.to_json()["recommendation"]
    assert handed["policy"] == "switchback"
    assert handed["parameters"] == {
        "n_arms": 3, "horizon": 84, "mean_delay": 2.0, "sure": "guess",
    }  # fmt: skip
    settings = CampaignConfig.read({
        "name": "offers", "options": ["a", "b", "c"], "policy": handed["policy"], "expected_rounds": handed["bucket"],
        "parameters": {key: value for key, value in handed["parameters"].items() if key != "n_arms"},
        "time_basis": "arrival", "start": "2026-03-02",
    })  # fmt: skip
    assert settings.build_market().horizon == 84
    assert "40 simulated runs;" in str(found)
    assert "switchback(n_arms=3, horizon=84" in " ".join(str(found).split())
    assert found.policy().kind == "switchback"
    simulated = handed["simulated"]
    policy = registry.build(simulated["policy"], **simulated["parameters"])
    assert policy.ask() == found.policy().ask()


def test_where_effects_change_another_policy_is_recommended_and_it_is_said_why():
    few = {**NOISY, "replications": 20}
    found = plan(**few, changing=True)
    tried = {answer.candidate.label for answer in found.answers}
    assert "switchback" not in tried
    assert "guarded" not in tried  # it does not follow rates that change
    assert found.recommended.candidate.label == "unmix"
    assert "switchback is not tried, because it takes the options' effects to stay" in " ".join(
        found.assumed
    )
    stays = plan(**few, policies=["unmix"])
    assert found.recommended.loss.value > stays.recommended.loss.value


@pytest.mark.parametrize(
    "changes",
    [{"bucket": "hour"}, {"run_for": "2 weeks"}, {"rate": None, "mean": 2.0, "high": 50.0}],
)
def test_switchback_is_tried_where_it_can_be_simulated(changes):
    asked = {"replications", "workers", "check_beliefs"}
    said = {key: value for key, value in {**NOISY, **changes}.items() if key not in asked}
    assert "switchback" not in [each.label for each in candidates_for(read_beliefs(**said))]
