"""Experiments as data: grids multiplied out, and bad files refused with the place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from latesum import Calendar, CompositeProblem, FieldProblem, Problem
from latesum._checks import InvalidInput
from latesum.experiments import RunSpec
from latesum.experiments.engine import default_checkpoints
from latesum.experiments.loop import Reports
from latesum.experiments.sweep import Experiment, expand, load, parse, run_sweep
from latesum.policies import PolicySpec

EXAMPLES = Path(__file__).parents[2] / "examples"

GOOD = """
horizon = 1000
replications = 3

[[problems]]
name = "plain"
arms = [0.5, 0.6]
delay = "uniform(0, 10)"

[[policies]]
name = "ODAAF"
policy = "odaaf"
"""


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse(text, "file.toml", default_name="file")
    return str(caught.value)


def specs_of(text: str) -> list[RunSpec]:
    return expand(parse(text, "file.toml", default_name="file"))[0]


def test_lists_make_a_grid() -> None:
    experiment = Experiment.model_validate(
        {
            "name": "grid",
            "horizon": 1000,
            "replications": 2,
            "problems": [
                {"arms": [[0.5, 0.6], [0.2, 0.8]], "delay": ["uniform(0, 5)", "poisson(3)"]}
            ],
            "policies": [
                {"policy": "odaaf", "parameters": {"first_tolerance": [0.5, 1], "mean_delay": 4}},
                {"policy": "oracle", "replications": 7},
            ],
        }
    )
    made, counts = expand(experiment)
    assert len(made) == 4 * 3
    assert len({setting.digest for setting in made}) == 12
    assert made[0].policy_name == "odaaf (first_tolerance=0.5)"
    assert str(made[0].policy) == "odaaf(first_tolerance=0.5, mean_delay=4)"
    assert made[0].problem_name == "arms 0.5, 0.6, uniform(0, 5)"
    assert counts[-1] == 7


def test_what_is_given_goes_to_the_policies_that_take_it_and_have_no_own() -> None:
    text = GOOD + 'parameters = { mean_delay = 9 }\n[[policies]]\npolicy = "odaaf-b"\n'
    text = text.replace(
        '"uniform(0, 10)"', '"uniform(0, 10)"\ngiven = {mean_delay=7, delay_bound=20}'
    )
    made = specs_of(text)
    assert str(made[0].policy) == "odaaf(mean_delay=9)"
    assert str(made[1].policy) == "odaaf-b(mean_delay=7, delay_bound=20)"


def test_labels_do_not_matter_to_the_digest_of_a_setting() -> None:
    one, other = specs_of(GOOD)[0], specs_of(GOOD.replace("plain", "x"))[0]
    assert one.digest == other.digest
    third = specs_of(GOOD.replace("1000", "1001"))[0]
    assert one.digest != third.digest


UNIFORM = '"uniform(0, 10)"'


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("delay =", "dealy =", r"problems\[0\]: there is no key.*did you mean 'delay'\?"),
        ("horizon =", "horison =", r"there is no key 'horison'.*did you mean 'horizon'\?"),
        (UNIFORM, '"unifrom(0, 10)"', r"problems\[0\]: .*'uniform'"),
        (UNIFORM, '"uniform(0, 10"', r"problems\[0\]: .*cannot read"),
        (UNIFORM, "[]", ".*the list is empty"),
        (UNIFORM, f"{UNIFORM}\ngiven = {{mean_dealy = 3}}", ".*did you mean 'mean_delay'"),
        (f"delay = {UNIFORM}", f"delay_per_arm = [{UNIFORM}]", ".*one for each of the 2"),
        ("[0.5, 0.6]", "[0.5, 1.6]", r"problems\[0\]: .*at most 1"),
        ("[0.5, 0.6]", "[true, 0.6]", ".*valid number"),
        ("= 1000", "= 0", "horizon.*greater than or equal to 1"),
        ("= 3", "= 'many'", "replications.*valid integer"),
        ("= 3", '= "3"', "replications.*valid integer"),
        ("= 3", "= true", "replications.*valid integer"),
        ('"odaaf"', '"odaff"', r"policies\[0\]: .*did you mean 'odaaf'\?"),
        ('"odaaf"', '"odaaf(first=1)"', r"policies\[0\]: .*first_tolerance"),
        ('"odaaf"', '"odaaf("', r"policies\[0\]: .*cannot read the policy"),
        ('"odaaf"', '"odaaf"\nparameters = {first_tolerance = []}', ".*the list is empty"),
        (
            '"odaaf"',
            '"qpm-d"\n[[policies]]\npolicy = "qpm-d(base=3)"',
            r".*policies\[1\]: for the problem 'plain'",
        ),
        ("[[policies]]", "[ratio]\npolicy='X'\n[[policies]]", "ratio.policy.*'X'"),
    ],
)
def test_a_bad_file_is_refused_with_the_key_and_the_remedy(old, new, says) -> None:
    assert old in GOOD
    assert re.match(f"file.toml: {says}", refusal(GOOD.replace(old, new)), re.DOTALL)


def test_what_is_no_toml_is_refused_with_its_line() -> None:
    assert "file.toml is not TOML" in refusal("horizon = = 3")
    assert "line 1" in refusal("horizon = = 3")


def test_a_policy_that_cannot_run_on_a_problem_is_refused_with_the_problem() -> None:
    message = refusal(GOOD.replace('"odaaf"', '"odaaf-b"').replace("uniform(0, 10)", "poisson(9)"))
    assert "for the problem 'plain'" in message
    assert "delay bound" in message


@pytest.mark.parametrize(
    "path",
    sorted(EXAMPLES.rglob("*.toml")),
    ids=lambda path: path.relative_to(EXAMPLES).as_posix(),
)
def test_the_examples_are_good(path: Path) -> None:
    found = load(path)
    assert found.replications >= 5
    assert found.problems


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot read"):
        load(tmp_path / "none.toml")
    (tmp_path / "x.txt").write_text("")
    with pytest.raises(InvalidInput, match=r"ends with \.toml"):
        load(tmp_path / "x.txt")


EVERYTHING = """
horizon = 4000
replications = 2
order = "drawn"
measures = ["stuck(gap=0.05)", "switches", "settled_after"]

[[problems]]
name = "a shop"
arms = ["beta(4, 6)", 0.3]
delay_per_arm = ["exponential(250)", "exponential(500)"]
horizon = 4500
bucket = 500
report_lag = 1000
background = 0.004
missing = 0.02
final_after = 3
first_share = 0.9

[[problems]]
name = "quieter week-ends"
arms = [0.3, 0.33]
delay = "geometric(25)"
calendar = { rounds_per_day = 500 }

[[problems]]
name = "drift"
arms = [0.3, 0.33]
delay = "geometric(25)"
calendar = { step = 100, drift_to = [0.5, 0.2], drift_over = 4000 }

[[problems]]
name = "an arm ran before"
arms = [0.3, 0.33]
delay = "geometric(25)"
status_quo = 1
history = 2000

[[problems]]
name = "something ran before"
arms = [0.3, 0.33]
delay = "geometric(25)"
status_quo = "beta(6, 4)"

[[problems]]
name = "rewards in parts"
arms = [0.3, 0.33]
delay = "uniform(0, 50)"
parts = 4

[[problems]]
name = "any"
drawn_by = "safety:random_problem"

[[policies]]
policy = "flow"
"""


def test_a_file_can_say_what_python_can(tmp_path: Path) -> None:
    experiment = parse(EVERYTHING, "all.toml", default_name="all")
    specs, _ = expand(experiment)
    measures = ("regret", "ended_on_best", "switches", "stuck(gap=0.05)", "settled_after")

    def spec(problem, horizon=4_000, **more) -> RunSpec:
        points = default_checkpoints(horizon, 200, 50)
        usual = {"checkpoints": points, "order": "drawn", "measures": measures}
        return RunSpec(problem, PolicySpec("flow"), horizon, **usual, **more)

    delays = ["exponential(250)", "exponential(500)"]
    shop = FieldProblem(["beta(4, 6)", 0.3], delays, background=0.004)
    drift = Calendar(100, drift_to=(0.5, 0.2), drift_over=4_000)
    arms, delay = [0.3, 0.33], "geometric(25)"
    expected = [
        spec(shop, 4_500, reports=Reports(500, 1_000, 0.02, 3, 0.9)),
        spec(FieldProblem(arms, delay, calendar=Calendar.weekly(500))),
        spec(FieldProblem(arms, delay, calendar=drift)),
        spec(Problem(arms, delay), status_quo=1, history=2_000),
        spec(Problem(arms, delay), status_quo="beta(6, 4)"),
        spec(CompositeProblem(arms, "uniform(0, 50)", parts=4)),
        spec("safety:random_problem"),
    ]
    assert [setting.digest for setting in specs] == [each.digest for each in expected]
    results = run_sweep(experiment, tmp_path)
    assert results["a shop", "flow"].measured["stuck(gap=0.05)"].shape == (2,)
    assert results["drift", "flow"].regrets[0, -1] == expected[2].run(0).regret()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rounds_per_day = 500", "rounds_per_dya = 500", "problems.1.: .*rounds_per_dya"),
        ("drift_over = 4000", "drift_over = 0", "problems.2.: the rounds of a drift"),
        ("background = 0.004", "background = -1.0", "problems.0.: the mean of the background"),
        ("missing = 0.02", "missing = 2.0", "problems.0..missing: "),
        ("bucket = 500\n", "", "missing or restated come in buckets"),
        (
            "status_quo = 1",
            "status_quo = 2",
            "for the problem 'an arm ran before': arm 2 cannot have run before",
        ),
        ("status_quo = 1", "status_quo = {arm = 1}", "problems.3..status_quo"),
        ("status_quo = 1\n", "", "problems.3.: a history needs status_quo"),
        ("history = 2000", "history = -1", "problems.3..history: .*greater than or equal to 0"),
        ('order = "drawn"', 'order = "random"', "order: .*'listed' or 'drawn'"),
        ("stuck(gap=0.05)", "stick", "measures: .*did you mean 'stuck'"),
        ('"beta(4, 6)"', '"betta(4, 6)"', "problems.0.: .*did you mean 'beta'"),
        ("random_problem", "no_problem", "the law of problems .* cannot be loaded"),
        ('name = "any"', 'name = "any"\narms = [0.1, 0.2]', "problems.6.: .*either 'drawn_by'"),
    ],
)
def test_what_is_wrong_in_the_parts_of_a_problem_is_named_with_its_line(old, new, says) -> None:
    assert old in EVERYTHING
    assert re.search(says, refusal(EVERYTHING.replace(old, new)))


GRID = """
horizon = [1000, 2000]
replications = 2
[[problems]]
name = "p"
arms = [0.5, 0.6]
delay = "uniform(0, 10)"
bucket = [1, 10]
given = {mean_delay = [2.5, 5.0, 10.0]}
[[policies]]
policy = "flow"
[[policies]]
policy = "odaaf"
parameters = {mean_delay = 3.0}
"""


def test_any_field_may_have_a_list() -> None:
    """Horizon, bucket and what is given are varied; a policy's own parameter stays."""
    settings = specs_of(GRID)
    assert len(settings) == 2 * 2 * 2 * 3
    flow = [each for each in settings if each.policy_name == "flow"]
    assert {(each.horizon, each.reports.bucket) for each in flow} == {
        (1000, 1),
        (1000, 10),
        (2000, 1),
        (2000, 10),
    }
    assert {each.prepared[1].mean_delay for each in flow} == {2.5, 5.0, 10.0}
    assert flow[0].problem_name == "p, horizon=1000, bucket=1, mean_delay=2.5"
    odaaf = [each for each in settings if each.policy_name == "odaaf"]
    assert {each.prepared[1].mean_delay for each in odaaf} == {3.0}


@pytest.mark.parametrize("key", ["horizon", "bucket"])
def test_an_empty_list_is_refused_with_its_key(key: str) -> None:
    said = refusal(re.sub(rf"{key} = \[.*\]", f"{key} = []", GRID))
    assert f"problems[0]: {key}: the list is empty" in said


def test_a_market_is_a_grid_too() -> None:
    text = GRID.replace('arms = [0.5, 0.6]\ndelay = "uniform(0, 10)"\nbucket = [1, 10]\n', "")
    text = text.replace(
        "given = {mean_delay = [2.5, 5.0, 10.0]}", "market = {regions = [1, 2], buckets = 28}"
    )
    names = [each.problem_name for each in specs_of(text)]
    assert names == ["p, regions=1", "p, regions=2"] * 2
