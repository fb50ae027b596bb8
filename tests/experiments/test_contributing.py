"""The policy, the measure and the delay of CONTRIBUTING.md work as they stand there."""

import re
import shlex
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from latesum import Problem, compare

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
FILES = {"play_the_winner": 0, "longest_block": 2, "triangle": 3}
COMPARE = ["compare", "--arms", "0.5,0.6", "--horizon", "5000", "--replications", "2"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with these files, as their author has it; nothing has to be compiled any more."""
    compare(Problem([0.5, 0.6], "uniform(0, 9)"), ["flow"], 1_000, replications=1, seed=1)
    for name, block in FILES.items():
        (tmp_path / f"{name}.py").write_text(BLOCKS[block])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name, None)


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """Names that are loaded here are not known to other tests."""
    from latesum._plugins import DELAYS, POLICIES
    from latesum.experiments.run import MEASURES

    for known in (DELAYS, POLICIES, MEASURES):
        monkeypatch.setattr(known, "_known", dict(known._known))


def test_the_example_policy_conforms_and_runs(capsys):
    assert len(BLOCKS) == 4
    exec(compile("\n".join(BLOCKS[:2]), "CONTRIBUTING.md", "exec"), {"__name__": "mine"})
    assert "mine" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_one_file_is_enough_for_the_command_line(latesum):
    code, out, said = latesum(
        *COMPARE,
        "--delay",
        "triangle:Triangle(40)",
        "--policies",
        "flow,play_the_winner:PlayTheWinner(block=500)",
        "--measure",
        "longest_block:longest_block",
        "--out",
        "runs.parquet",
    )
    assert (code, said) == (0, "")
    assert "play_the_winner:PlayTheWinner(block=500)" in out
    table = pq.read_table("runs.parquet")
    names = "problem policy run regret ended_on_best switches"
    own = ["longest_block:longest_block", "regret_at_checkpoints"]
    assert table.column_names == names.split() + own
    mine = table.filter(pc.field("policy") == "play_the_winner:PlayTheWinner(block=500)")
    longest = {name: mine[name].to_numpy() for name in mine.column_names[2:-1]}
    assert longest["longest_block:longest_block"].tolist() == [500, 500]


@pytest.mark.usefixtures("folder")
def test_whole_commands_run_as_they_stand_there(latesum):
    text = re.sub(r"\\\n\s*", " ", TEXT)
    commands = re.findall(r"^    latesum (.*)$", text, flags=re.MULTILINE)
    whole = [command for command in commands if "..." not in command]
    assert whole
    for command in whole:
        code, out, said = latesum(*shlex.split(command), "--replications", "2")
        assert (code, said) == (0, "")
        assert "PlayTheWinner" in out


@pytest.mark.usefixtures("folder")
def test_the_example_delay_is_what_it_says(monkeypatch, tmp_path):
    import numpy as np

    from latesum import delays

    monkeypatch.syspath_prepend(str(tmp_path))
    delay = delays.parse("triangle:Triangle(40)")
    assert delay == delays.parse(delay.text)
    drawn = delay.draw(100_000, np.random.default_rng(1))
    # Within five standard errors of the mean of the law.
    assert abs(drawn.mean() - delay.mean) < 5 * (delay.variance / 100_000) ** 0.5
    assert delay.mean == pytest.approx(40)
    assert delays.parse("mixture((0.5, triangle:Triangle(3)), (0.5, constant(0)))").bound == 6
