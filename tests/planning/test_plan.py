"""The result of a plan: what is simulated, recommended, reported and handed on."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from latesum import InvalidInput, Problem, compare, delays
from latesum.campaigns.config import CampaignConfig
from latesum.experiments.stats import Uncertain
from latesum.planning import plan
from latesum.planning.planner import read_inputs
from latesum.policies import registry

from .conftest import SMALL, candidates, simulated

SHAPED = {"late": "half within 4 hours, 95% within 4 days"}


def config_of(handed, options):
    """The campaign that is set up with what a plan hands on."""
    parameters = {key: value for key, value in handed["parameters"].items() if key != "n_arms"}
    return CampaignConfig.read(
        {
            "name": "offers",
            "options": options,
            "policy": handed["policy"],
            "expected_rounds": 1000,
            "parameters": parameters,
            "time_basis": "arrival",
            "start": "2026-03-02",
        }
    )


def test_a_go(small_plan):
    assert small_plan.verdict == "go"
    assert small_plan.recommended.passes
    assert str(small_plan).startswith("GO, NOT SURE. ")  # of a 5th percentile, with twenty runs
    assert "<strong>go, not sure</strong>" in small_plan.to_html()
    saved = small_plan.to_json()["verdict"]
    assert (saved["answer"], saved["sure"]) == ("go", False)


def test_an_equal_split_has_its_regret_and_switches_cost():
    free = simulated("quarter test", "equal split")
    split = free[-1]
    whole = 56_000 * 0.04 / 2
    assert split.regret.value == pytest.approx(whole, rel=0.03)
    assert split.gain.value == pytest.approx(0, abs=0.03 * whole)
    for one, other in zip(
        free, simulated("quarter test", "equal split", switch_cost=5.0), strict=True
    ):
        expected = one.regret.value + 5 * one.switches.value
        assert other.regret.value == pytest.approx(expected)


def test_json_can_be_handed_on(small_plan, tmp_path):
    unmix = next(each for each in small_plan.rows if each.label == "unmix")
    small_plan = dataclasses.replace(small_plan, recommended=unmix)
    small_plan.save(tmp_path / "plan.json")
    handed = json.loads((tmp_path / "plan.json").read_text())["recommendation"]
    policy = registry.build(handed["policy"], **handed["parameters"])
    assert policy.ask() == small_plan.policy().ask()
    problem = Problem([0.1, 0.14], "exponential(300)")
    result = compare(
        problem,
        {handed["label"]: policy},
        handed["horizon"],
        bucket=handed["bucket"],
        replications=2,
        seed=1,
    )
    assert len(result.summary()) == 1


def test_the_report_is_one_page(small_plan, tmp_path):
    small_plan.save(tmp_path / "plan.html")
    page = (tmp_path / "plan.html").read_text()
    assert page.count("<svg") == 3
    assert "http" not in page
    assert "src=" not in page
    with pytest.raises(InvalidInput, match=r"html or \.json"):
        small_plan.save(tmp_path / "plan.txt")


def test_the_sensitivity_analysis_has_what_most_often_happens(small_plan):
    """Nothing is better: how often is a winner named? All new ones are worse: what does trying cost?"""
    rows = {truth: both[0] for truth, both in small_plan.sensitivity.items()}
    nothing, given = rows["nothing is better"], rows["as given"]
    assert nothing.regret.value == 0
    assert nothing.winner.value < given.winner.value
    assert rows["all new options are worse"].regret.value > 0
    assert rows["lift half as large"].gain.value < given.gain.value
    saved = {each["truth"]: each for each in small_plan.to_json()["sensitivity"]}
    assert saved["nothing is better"]["still_go"] is None
    assert saved["nothing is better"]["winner"]["value"] == nothing.winner.value
    assert {each["runner_up"]["label"] for each in saved.values()} < {"unmix", "half test"}
    for shown in (str(small_plan), small_plan.to_html()):
        assert "nothing is better" in shown
        assert "all new options are worse" in shown
        assert "winner named" in shown


def test_the_verdict_says_what_if_the_best_option_is_late(small_plan):
    said = small_plan.late_best
    for factor in ("1.5", "2", "3"):
        found = small_plan.sensitivity[f"best option {factor} times as late"][0].finds_best.value
        assert f"{found:.0%} of runs where it is {factor} times as late" in said
    assert said in " ".join(str(small_plan).split())
    late = {truth: rows for truth, rows in small_plan.sensitivity.items() if "as late" in truth}
    bad = dataclasses.replace(small_plan.rows[0], finds_best=Uncertain(0.0, 0.0, 0.0))
    good = dataclasses.replace(small_plan.rows[1], finds_best=Uncertain(1.0, 1.0, 1.0))
    for rows, is_safer in (([bad, good], True), ([good, bad], False)):
        other = dataclasses.replace(small_plan, sensitivity=dict.fromkeys(late, rows))
        advice = f"the safer choice, with --policies {rows[1].label}"
        assert (advice in other.late_best) == is_safer
    assert dataclasses.replace(small_plan, sensitivity={}).late_best == ""
    switchback = candidates(equal_delays=True)["switchback"]
    assert switchback.spec.parameters["differing_delays"] == 0


def test_the_two_that_know_of_late_options_are_compared_where_inputs_are_wrong():
    asked = {**SMALL, "run_for": "4 weeks", "replications": 2, "workers": 1}
    found = plan(**asked, policies=["unmix", "switchback", "half test", "quarter test"])
    both = {"unmix", "switchback"}
    for rows in found.sensitivity.values():
        assert {row.label for row in rows} & both - {found.recommended.label}


def test_the_status_quo_is_simulated():
    """A shop that was open yesterday: rewards of yesterday arrive in the first days."""
    asked = {"late": "4 days", "run_for": "4 weeks"}
    worlds = ({}, {"status_quo": "option"}, {"status_quo": "other"})
    losses = [simulated("unmix", **asked, **more)[0].regret.value for more in worlds]
    known = {**asked, "status_quo": "option", "history": "4 weeks"}
    losses.append(simulated("unmix", **known)[0].regret.value)
    assert len(set(losses)) == 4
    assert losses[3] < losses[1]  # of the same runs, more is known
    inputs = read_inputs(**{**SMALL, **known})
    said = " ".join(inputs.in_words())
    assert "One of the options runs today, of which 4 weeks are known" in said
    assert "One of the 2 options, today's included, is better" in said


def test_the_option_of_today_is_the_best_as_often_as_any_other():
    """With two options: in half of the runs today's is, and what trying the other one costs counts."""
    inputs = read_inputs(**SMALL, status_quo="option")
    (new, weight), (today, rest) = inputs.worlds()
    assert (weight, rest) == (1, 1)
    assert new.option_means == pytest.approx((0.14, 0.1))
    assert today.option_means == pytest.approx((0.1, 0.06))
    assert [each.spec(each.candidates()[0], (1,), "").status_quo for each in (new, today)] == [1, 0]
    (half,) = simulated("half test", status_quo="option")
    assert half.regret.value == pytest.approx(28_000 * 0.04 / 2, rel=0.02)
    assert half.reward.value == pytest.approx(56_000 * 0.12 - half.regret.value)


def test_the_simulated_policy_switchback_is_handed_on_as_a_campaign_takes_it():
    asked = {**SMALL, "options": 3, "run_for": "4 weeks", "policies": ["switchback", "half test"]}
    found = plan(**asked, finds_best=0.01, replications=20, workers=1, sensitivity=False)
    switchback = next(each for each in found.rows if each.label == "switchback")
    found = dataclasses.replace(found, recommended=switchback)
    handed = found.to_json()["recommendation"]
    mean_delay = found.inputs.delay().mean / 1000
    assert handed["parameters"].pop("mean_delay") == pytest.approx(mean_delay, rel=1e-3)
    assert handed["parameters"] == {"n_arms": 3, "horizon": 28, "certainty": "guess"}
    handed["parameters"]["mean_delay"] = mean_delay
    assert config_of(handed, ["a", "b", "c"]).build_market().horizon == 28
    assert "40 simulated runs;" in str(found)
    assert found.policy().kind == "switchback"


@pytest.mark.parametrize(
    "changes",
    [{"bucket": "hour"}, {"run_for": "2 weeks"}, {"rate": None, "mean": 2.0, "high": 50.0}],
)
def test_switchback_is_tried_where_it_can_be_simulated(changes):
    assert "switchback" in candidates()
    assert "switchback" not in candidates(**changes)


def test_a_delay_that_was_given_is_handed_over_with_its_shape():
    inputs, tried = read_inputs(**{**SMALL, **SHAPED}), candidates(**SHAPED)
    assert "a constant hazard" in " ".join(inputs.in_words())
    unmix, switchback = (inputs.campaign(tried[label]) for label in ("unmix", "switchback"))
    assert "mean_delay" not in unmix["parameters"]
    given = unmix["parameters"]["delay"]
    assert delays.parse(given).mean == pytest.approx(inputs.delay().mean)
    assert config_of(unmix, ["a", "b"]).parameters["delay"] == given
    assert tried["switchback"].spec.parameters["shape"] == switchback["parameters"]["shape"]
    assert "mean_delay" in candidates()["unmix"].spec.parameters
    assert "shape" not in candidates()["switchback"].spec.parameters


def test_the_tests_it_is_compared_with_leave_out_what_comes_soon_after_a_switch():
    """Ten days for each option and sales that are two days late: without it 63% find the best."""
    (half,) = simulated(
        "half test",
        options=3,
        rate=0.024,
        lift="10%",
        traffic="8000 per day",
        late="2 days",
        run_for="60 days",
        runs=40,
    )
    assert half.finds_best.value > 0.85
    assert half.candidate.spec.parameters["washout"] == 40_000


def test_a_plan_is_the_same_on_any_number_of_workers_and_a_slow_policy_has_fewer_runs():
    asked = {**SMALL, "run_for": "4 weeks", "lift": "90%", "policies": ["switchback", "half test"]}
    found = [
        plan(**asked, replications=40, sensitivity=False, workers=workers) for workers in (1, 2)
    ]
    assert found[0].to_json() == found[1].to_json()
    runs = {each.label: each.replications for each in found[0].rows}
    assert runs == {"switchback": 20, "half test": 40}
    for label, count in runs.items():
        line = next(line for line in str(found[0]).splitlines() if line.startswith(f" {label}"))
        assert f" {count}" in line


def test_other_policies_are_tried_by_their_names():
    half = candidates()["half test"].spec.parameters
    given = ", ".join(f"{name}={value}" for name, value in half.items() if name != "n_arms")
    policies = ["half test", f"fixed-split({given})"]
    asked = {**SMALL, "replications": 20, "workers": 1, "sensitivity": False}
    found = plan(**asked, policies=policies)
    assert [each.replications for each in found.rows] == [20, 20]
    assert np.array_equal(found.rows[0].gains, found.rows[1].gains)
    for bad, says in (
        ("none-such", "there is no candidate"),
        ("qpm-d", "attributed feedback"),
        ("equal split", "add one that can: unmix"),
    ):
        with pytest.raises(InvalidInput, match=says):
            plan(**asked, policies=[bad])
