"""A policy, a delay and a measure that another package brings work in every command.

The package is installed as pip would leave it: a module and its metadata on the path.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

MODULE = """
from latesum.policies import RoundRobin, Block
from latesum.delays import Delay, uniform


class Backwards(RoundRobin):
    \"\"\"In turns, from the last arm to the first.\"\"\"

    kind = "backwards"

    def __init__(self, n_arms, *, block=50, names=None):
        super().__init__(n_arms, block=block, names=names)

    def _next(self):
        arm, rounds, purpose, *_ = super()._next()
        return Block(self.n_arms - 1 - arm, rounds, purpose)

    def _learn(self, play):
        super()._learn(play._replace(arm=self.n_arms - 1 - play.arm))


class Impostor(RoundRobin):
    kind = "impostor-kind"


class Twice(Delay):
    def __init__(self, half):
        self._half, self._law = half, uniform(0, 2 * half)

    @property
    def text(self):
        return f"twice({self._half})"

    @property
    def bound(self):
        return 2 * self._half

    def survival(self, k):
        return self._law.survival(k)

    def draw(self, count, rng):
        return self._law.draw(count, rng)


def first_arm(run):
    return run.arms[0]
"""
ENTRY_POINTS = """
[latesum.policies]
backwards = turning:Backwards
impostor = turning:Impostor

[latesum.delays]
twice = turning:Twice

[latesum.measures]
first_arm = turning:first_arm
"""
SWEEP = """
horizon = 2000
replications = 3
measures = ["first_arm"]
order = "drawn"

[[problems]]
name = "late"
arms = [0.2, 0.3, 0.8]
delay = "twice(10)"

[[policies]]
policy = "backwards"
parameters = { block = [100, 200] }

[[policies]]
name = "by its place"
policy = "turning:Backwards(block=100)"
"""

#: Runs commands in one process, and prints the exit code, the output and the errors of each.
SEVERAL = """
import contextlib, io, json, shlex, sys
from latesum.cli import main

answers = []
for words in sys.argv[1:]:
    sys.argv = ["latesum", *shlex.split(words)]
    out, said, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    answers.append((code, out.getvalue(), said.getvalue()))
print(json.dumps(answers))
"""
COMPARE = """
compare --arms 0.2,0.3,0.8 --delay twice(10) --horizon 2000
--policies "backwards, turning:Backwards(block=50), flow" --replications 4
--measure first_arm --workers 2 --json --out runs.parquet
"""
PLAN = """
plan --options 2 --rate 0.1 --lift 40% --traffic "1000 per day" --late "8 hours"
--run-for "8 weeks" --replications 20 --workers 2 --quick
--policies "backwards,turning:Backwards,half test" --json
"""
IMPOSTOR = "compare --arms 0.2,0.8 --delay twice(10) --horizon 2000 --policies impostor"
NEW = """
campaign --store c.db new {} --policy {} --options a,b --time-basis arrival --expected-rounds 100
"""
NEXT = "campaign --store c.db next -c {} --json"


@pytest.fixture
def answers(tmp_path):
    """Runs commands in a process that has a package with entry points installed."""
    site = tmp_path / "site"
    about = site / "turning-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "turning.py").write_text(MODULE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: turning\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    path = os.pathsep.join([str(Path(__file__).parents[2] / "src"), str(site)])

    def run(commands):
        done = subprocess.run(
            [sys.executable, "-c", SEVERAL, *commands],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_every_command_knows_them(answers, tmp_path):
    (tmp_path / "turns.toml").write_text(SWEEP)
    commands = [COMPARE, "sweep turns.toml --workers 2", PLAN, "delays twice(30)", IMPOSTOR]
    for name, policy in (("one", "backwards"), ("two", "turning:Backwards")):
        commands += [NEW.format(name, policy), NEXT.format(name)]
    found = answers(commands)
    compared, swept, planned, described, refused, *campaigns = found
    assert [code for code, *_ in found] == [0, 0, 0, 0, 2, 0, 0, 0, 0], found[5]

    assert "backwards (block=200)" in swept[1]
    table = pq.read_table(tmp_path / "turns-results/turns/runs.parquet").to_pydict()
    names = ["backwards (block=100)", "backwards (block=200)", "by its place"]
    assert table["policy"][::3] == names
    assert table["first_arm"] == [2] * 9
    assert table["regret"][:3] == table["regret"][6:]

    rows = json.loads(compared[1])["policies"]
    assert rows[0]["mean"] == rows[1]["mean"]
    assert rows[0]["policy"] == "backwards"
    table = pq.read_table(tmp_path / "runs.parquet").to_pydict()
    assert table["first_arm"][:8] == [2] * 8

    labels = [row["label"] for row in json.loads(planned[1])["policies"]]
    assert labels == ["half test", "backwards", "turning:Backwards"]
    assert "mean" in described[1]
    said = " ".join(refused[2].split())
    assert "Impostor has the kind 'impostor-kind'; a policy is registered under its kind" in said
    assert "Traceback" not in said
    for _, out, _ in campaigns[1::2]:
        assert json.loads(out)["option"] == "b"
