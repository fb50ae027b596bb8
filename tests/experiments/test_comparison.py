"""Many runs: the summary, saving, and the same bytes whatever the number of workers."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from latesum import ODAAF, FixedSplit, InvalidInput, Oracle, Problem, compare
from latesum._plugins import split_list
from latesum.attributed import QPMD
from latesum.experiments import run
from latesum.experiments.engine import default_checkpoints
from latesum.experiments.spec import RunSpec, knowledge
from latesum.policies import PolicySpec

PROBLEM = Problem([0.3, 0.6], "geometric(10)")
POLICIES = {"ODAAF": ODAAF(2, 20_000, mean_delay=10), "split": FixedSplit(2, 20_000)}


def _compare(**changes):
    arguments = {"replications": 12, "seed": 3, **changes}
    return compare(PROBLEM, POLICIES, 20_000, **arguments)


def test_the_summary():
    result = _compare()
    split = result.summary()[1]
    assert split.mean == pytest.approx(0.3 * 10_000)
    assert (split.standard_error, split.switches, split.ended_on_best) == (0, 1, 1)
    assert result["split"].regrets.mean(axis=0)[-1] == pytest.approx(3000)
    assert result.checkpoints[-1] == 20_000
    assert "split" in str(result)


def test_adding_a_policy_does_not_change_the_others():
    both = _compare()
    alone = compare(PROBLEM, {"split": POLICIES["split"]}, 20_000, replications=12, seed=3)
    assert np.array_equal(both["split"].regrets, alone["split"].regrets)


def test_saved_as_a_tidy_table(tmp_path):
    result = _compare()
    result.to_parquet(tmp_path / "runs.parquet")
    table = pq.read_table(tmp_path / "runs.parquet")
    assert table.column_names[:4] == ["problem", "policy", "run", "regret"]
    odaaf = table.filter(np.array(table["policy"]) == "ODAAF")
    assert odaaf["regret"].to_pylist() == result["ODAAF"].regrets[:, -1].tolist()
    assert odaaf["regret_at_checkpoints"].to_pylist() == result["ODAAF"].regrets.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


def test_two_processes_may_save_to_one_file_at_once(tmp_path, monkeypatch):
    result, path, write = _compare(), tmp_path / "runs.parquet", pq.write_table

    def write_while_another_saves(*given, **named):
        write(*given, **named)
        monkeypatch.setattr(pq, "write_table", write)
        result.to_parquet(path)

    monkeypatch.setattr(pq, "write_table", write_while_another_saves)
    result.to_parquet(path)
    assert pq.read_table(path).num_rows == 24
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot write"):
        _compare().to_parquet(tmp_path / "no" / "folder.parquet")


def test_attributed_policies_are_marked(tmp_path):
    policies = {"oracle": Oracle(2, 2_000, best_arm=1), "QPM-D": QPMD("ucb1", n_arms=2)}
    result = compare(PROBLEM, policies, 2_000, replications=3, seed=1, workers=2)
    assert "QPM-D *" in str(result)
    assert "oracle *" not in str(result)
    result.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_checkpoints_are_rounds_within_the_horizon():
    for horizon in (1, 2, 17, 10**9):
        points = np.array(default_checkpoints(horizon))
        assert (np.diff(points) > 0).all()
        assert points[0] == 1
        assert points[-1] == horizon


def test_policies_are_told_what_is_true_of_the_problem():
    problem = Problem([0.5, 0.6, 0.1], ["uniform(0, 10)", "constant(30)", "poisson(4)"])
    known = knowledge(problem, 100)
    assert (known["mean_delay"], known["delay_variance"], known["delay_bound"]) == (30, 10, None)
    told = PolicySpec.parse("odaaf-b(delay_bound=90, mean_delay=2)")
    parameters = RunSpec(problem, told, 100).prepared[1].parameters
    assert (parameters["delay_bound"], parameters["mean_delay"]) == (90, 2)
    assert split_list("a, b(c=[1,2], d=3),e") == ["a", "b(c=[1,2], d=3)", "e"]


def test_policies_may_be_a_list_of_texts():
    result = compare(PROBLEM, ["flow", "flow(index='ucb1')"], 500, replications=2, seed=1)
    assert result.policies == ["flow", "flow(index='ucb1')"]
    frame = result.to_frame(per="run")
    assert frame["index"].to_pylist() == [None, None, "ucb1", "ucb1"]


@pytest.mark.parametrize(
    ("policies", "more", "says"),
    [
        (["flow", "flow"], {}, "twice"),
        ([FixedSplit(2, 500)], {}, "give others a name"),
        ([], {}, "at least one policy"),
        ({}, {}, "at least one policy"),
        (["flow"], {"replications": 0}, "the number of replications"),
        (["flow"], {"workers": 0}, "workers"),
    ],
)
def test_nonsense_is_refused(policies, more, says):
    with pytest.raises(InvalidInput, match=says):
        compare(PROBLEM, policies, 500, **{"replications": 2, "seed": 1, **more})


def test_clashing_names_and_misspelt_policies_are_refused_before_any_work(tmp_path):
    """Two horizons of one policy on one problem: they need names, and then have a column."""
    flow = PolicySpec.parse("flow")
    specs = [RunSpec(PROBLEM, flow, horizon) for horizon in (500, 900)]
    misspelt = RunSpec(PROBLEM, PolicySpec("flwo"), 500)
    for wrong, count, says in (
        (specs, 2, r"two specifications are 'flow' on .*give each a name of its own"),
        ([specs[0], misspelt], 2, "did you mean 'flow'"),
        (specs[:1], [1, 2], "one for each of 1"),
    ):
        with pytest.raises(InvalidInput, match=says):
            run(wrong, count, store=tmp_path)
    assert not list((tmp_path / "parts").rglob("*.parquet"))
    results = run([replace(spec, problem_name=f"{spec.horizon}") for spec in specs], 2)
    for per in ("checkpoint", "run", "summary"):
        frame = results.to_frame(per=per)
        assert set(frame["horizon"].to_pylist()) == {500, 900}
    assert results.to_frame(per="summary").num_rows == 2
    assert "problem" in str(results)


def test_a_policy_that_was_built_for_another_horizon_is_warned_of():
    with pytest.warns(UserWarning, match="built for a horizon of 900"):
        compare(PROBLEM, {"it": ODAAF(2, 900, mean_delay=5)}, 500, replications=1, seed=1)


def test_a_figure_says_what_it_leaves_out():
    spec = RunSpec(PROBLEM, PolicySpec.parse("oracle"), 100, checkpoints=(10, 50))
    many = run([replace(spec, problem_name=f"problem {place}") for place in range(26)], 1)
    figure = many.plot()
    assert len([axes for axes in figure.axes if axes.get_visible()]) == 24
    said = figure.get_supxlabel()
    assert "2 more problems are not shown: problem 24; problem 25" in " ".join(said.split())
