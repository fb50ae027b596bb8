"""A run specification is all that a run depends on: JSON and back, and a digest."""

import json
import pickle

import numpy as np
import pytest

from latesum import (
    Beta,
    Calendar,
    CompositeProblem,
    Discrete,
    FieldProblem,
    Flow,
    InvalidInput,
    Problem,
    compare,
)
from latesum.attributed import DUCB, QPMD
from latesum.experiments import RunSpec
from latesum.experiments.loop import Reports
from latesum.policies import PolicySpec, RoundRobin

FLOW = PolicySpec("flow")
PLAIN = Problem([0.3, 0.6], "uniform(0, 9)")
FIELD = FieldProblem(
    ["beta(4, 6)", 0.3, "discrete([0, 0.5, 1], [0.5, 0.25, 0.25])"],
    ["poisson(3)", "mixture((0.9, uniform(0, 40)), (0.1, constant(200)))", "pareto(2.5, 9)"],
    calendar=Calendar(50, (1.0, 0.5), drift_to=(0.2, 0.1, 0.4), drift_over=1_000),
    background=0.1,
)
PARTS = CompositeProblem([0.1, 0.2], "constant(9)")
SETTINGS = {
    "plain": RunSpec(PLAIN, FLOW, 2_000),
    "parameters": RunSpec(PLAIN, PolicySpec.parse("flow(index='ucb1')"), 2_000, seed=7),
    "in buckets": RunSpec(PLAIN, FLOW, 2_000, reports=Reports(100, 200)),
    "field": RunSpec(FIELD, FLOW, 2_000, reports=Reports(100, missing=0.1, final_after=2)),
    "drawn order": RunSpec(PLAIN, FLOW, 2_000, order="drawn"),
    "drawn problems": RunSpec("safety:random_problem", FLOW, 2_000, given={"mean_delay": 0.8}),
    "whole buckets": RunSpec(PLAIN, FLOW, 2_000, reports=Reports(100), seed=(3, 1)),
    "measures": RunSpec(
        PLAIN, FLOW, 2_000, checkpoints=(50, 100), measures=("regret", "stuck(gap=0.1)")
    ),
    "an arm ran before": RunSpec(PLAIN, FLOW, 2_000, status_quo=1, history=300, order="drawn"),
    "something ran before": RunSpec(PLAIN, FLOW, 2_000, status_quo=0.9, reports=Reports(100)),
    "a reward ran before": RunSpec(PLAIN, FLOW, 2_000, status_quo=Beta(2, 3)),
    "labels": RunSpec(PLAIN, PolicySpec.parse("qpm-d(base='kl-ucb++')"), 2_000),
    "not told": RunSpec(PLAIN, PolicySpec.of(Flow(2, 2_000, mean_delay=4)), 2_000, given=None),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_json_and_back_gives_the_same_runs(name):
    setting = SETTINGS[name]
    again = RunSpec.from_json(json.loads(json.dumps(setting.to_json())))
    assert again.digest == setting.digest
    assert again.to_json() == setting.to_json()
    pickled = pickle.loads(pickle.dumps(setting))
    for number in (0, 3):
        run, same = setting.run(number), again.run(number)
        assert same.regret() == run.regret() == pickled.run(number).regret()
        assert same.switches == run.switches


def test_no_two_of_them_share_a_digest():
    assert len({setting.digest for setting in SETTINGS.values()}) == len(SETTINGS)


def test_every_reward_of_ours_goes_through_json():
    arms = [0.5, Beta(2, 3), Discrete([0, 0.4], [0.9, 0.1])]
    setting = RunSpec(Problem(arms, "constant(3)"), FLOW, 100)
    again = RunSpec.from_json(setting.to_json()).problem
    assert again.arms == setting.problem.arms


class Odd:
    """A reward of one's own: it plays, and no file can hold it."""

    mean = 0.5

    def draw(self, count, rng):
        return np.full(count, 0.5)

    def draw_sum(self, count, rng):
        return 0.5 * count


def test_what_cannot_be_written_runs_in_memory_and_is_refused_for_a_folder(tmp_path):
    problem = Problem([Odd(), 0.6], "constant(3)")
    policy = {"flow": Flow(2, 500, mean_delay=3)}
    assert compare(problem, policy, 500, replications=2, seed=1)["flow"].replications == 2
    with pytest.raises(InvalidInput, match="cannot be written to a file"):
        compare(problem, policy, 500, replications=2, seed=1, store=tmp_path / "kept")


def test_a_class_that_was_changed_meanwhile_is_not_taken_for_the_old_one():
    """As in a notebook: the same name, the same parameters, another rule."""

    def made(first):
        class Mine(RoundRobin):
            kind = "mine"

            def _next(self):
                return super()._next()._replace(arm=first)

        return Mine(2)

    lost = [
        compare(PLAIN, {"mine": made(arm)}, 1_000, replications=1, seed=1).summary()[0].mean
        for arm in (0, 1)
    ]
    assert lost == [pytest.approx(300), 0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"horizon": 0}, "the horizon"),
        ({"horizon": 10.5}, "the horizon"),
        ({"seed": -1}, "the seed must be a whole number of at least 0, not -1"),
        ({"seed": (1, -1)}, "the seed"),
        ({"checkpoints": (1, 3_000)}, "checkpoints are rounds between 1 and 2000"),
        ({"checkpoints": (0,)}, "checkpoints are rounds"),
        ({"problem": "no.such:law"}, "the law of problems .* cannot be loaded"),
        (
            {"policy": PolicySpec("odaaf-b"), "problem": Problem([0, 1], "poisson(3)")},
            "must be given the delay bound",
        ),
        (
            {"policy": PolicySpec("qpm-d"), "reports": Reports(9)},
            "sees every reward as it arrives",
        ),
        ({"policy": PolicySpec("qpm-d"), "problem": FIELD}, "not on a FieldProblem"),
        ({"policy": PolicySpec("qpm-d"), "problem": PARTS}, "not on a CompositeProblem"),
        ({"policy": PolicySpec("flow", {"n_arms": 3})}, "chooses among 3 arms"),
        ({"history": 100}, "a history needs status_quo"),
        ({"status_quo": 0.5, "history": 100}, "a history needs status_quo"),
        ({"status_quo": 2}, "arm 2 cannot have run before"),
        ({"policy": PolicySpec("odaaf"), "status_quo": 0, "history": 9}, "ODAAF takes no history"),
        ({"policy": PolicySpec("qpm-d"), "status_quo": 0}, "leave `status_quo` out"),
        ({"given": {"best_arm": 2}}, "knowledge with a factor"),
    ],
)
def test_nonsense_is_refused(changes, says):
    given = {"problem": PLAIN, "policy": FLOW, "horizon": 2_000, **changes}
    with pytest.raises(InvalidInput, match=says):
        RunSpec(**given).check()


def test_specs_of_baselines_hold_what_they_were_made_with():
    for policy in (
        QPMD("kl-ucb++", 2, horizon=500),
        DUCB(["constant(0)", "uniform(0, 9)"], n_arms=2),
    ):
        spec = PolicySpec.of(policy)
        assert repr(PolicySpec.parse(str(spec)).build()) == repr(policy)


def test_a_policy_as_text_is_told_what_ran_before_and_an_arm_moves_with_the_order():
    setting = SETTINGS["an arm ran before"]
    seen = set()
    for number in range(8):
        problem, policy, _ = setting.instantiate(number)
        assert problem.means[policy.status_quo] == 0.6
        seen.add(policy.status_quo)
        played = setting.run(number).policy.history
        assert [part[:2] for part in played] == [(policy.status_quo, 300)]
    assert seen == {0, 1}
    assert SETTINGS["something ran before"].prepared[1].status_quo == "other"
    untold = RunSpec(PLAIN, PolicySpec.parse("flow(status_quo=None)"), 2_000, status_quo=1)
    assert untold.prepared[1].status_quo is None
