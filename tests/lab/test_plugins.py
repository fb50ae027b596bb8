"""A policy, a delay and a measure that another package brings work everywhere, in processes of their own.

The package is installed as pip would leave it: a module and its metadata on the path.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from latesum.policies import RoundRobin, Stretch
from latesum.delays.families import UniformDelay


class Backwards(RoundRobin):
    \"\"\"In turns, from the last arm to the first.\"\"\"

    kind = "backwards"

    def __init__(self, n_arms, *, stretch=50, names=None):
        super().__init__(n_arms, stretch=stretch, names=names)

    def _next(self):
        arm, rounds, purpose, *_ = super()._next()
        return Stretch(self.n_arms - 1 - arm, rounds, purpose)

    def _learn(self, play):
        super()._learn(play._replace(arm=self.n_arms - 1 - play.arm))


class Impostor(RoundRobin):
    kind = "impostor-kind"


class Twice(UniformDelay):
    def __init__(self, half):
        super().__init__(0, 2 * half)
        self._half = half

    @property
    def text(self):
        return f"twice({self._half})"


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
parameters = { stretch = [100, 200] }

[[policies]]
name = "by its place"
policy = "turning:Backwards(stretch=100)"
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of a package that brings things by entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "turning.py").write_text(MODULE)
    about = folder / "turning-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: turning\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


@pytest.fixture
def run(installed, tmp_path):
    """Run a command or some Python in a process that has the package."""
    source = Path(__file__).parents[2] / "src"
    path = os.pathsep.join([str(source), str(installed)])

    def run_command(*words, code=0):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": path}, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run_command


LATESUM = ("-m", "latesum.cli")


def test_compare_in_several_processes(run, tmp_path):
    out = run(
        *LATESUM, "compare", "--arms", "0.2,0.3,0.8", "--delay", "twice(10)", "--horizon", "2000",
        "--policies", "backwards, turning:Backwards(stretch=50), flow", "--replications", "4",
        "--measure", "first_arm", "--workers", "2", "--json", "--out", "runs.parquet",
    )  # fmt: skip
    rows = json.loads(out)["policies"]
    assert rows[0]["mean"] == rows[1]["mean"]
    assert rows[0]["policy"] == "backwards"
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "runs.parquet").to_pydict()
    assert table["first_arm"][:8] == [2] * 8


@pytest.mark.parametrize("where", [("--workers", "2"), ("--dask", "local", "--workers", "1")])
def test_sweeps_here_and_on_a_cluster(run, tmp_path, where):
    (tmp_path / "turns.toml").write_text(SWEEP)
    out = run(*LATESUM, "sweep", "turns.toml", *where)
    assert "backwards (stretch=200)" in out
    import pyarrow.parquet as pq

    table = pq.read_table(tmp_path / "turns-results/turns/runs.parquet").to_pydict()
    assert table["policy"][::3] == [
        "backwards (stretch=100)",
        "backwards (stretch=200)",
        "by its place",
    ]
    assert table["first_arm"] == [2] * 9
    assert table["regret"][:3] == table["regret"][6:]


def test_plans(run):
    out = run(
        *LATESUM, "plan", "--options", "2", "--rate", "0.1", "--lift", "40%", "--traffic", "1000 per day",
        "--late", "8 hours", "--run-for", "8 weeks", "--replications", "20", "--workers", "2",
        "--quick", "--policies", "backwards,turning:Backwards,half test", "--json",
    )  # fmt: skip
    labels = [row["label"] for row in json.loads(out)["policies"]]
    assert labels == ["half test", "backwards", "turning:Backwards"]


def test_campaigns(run):
    new = ("--options", "a,b", "--time-basis", "arrival", "--expected-rounds", "100")
    for name, policy in (("one", "backwards"), ("two", "turning:Backwards")):
        run(*LATESUM, "campaign", "--store", "c.db", "new", name, "--policy", policy, *new)
        out = run(*LATESUM, "campaign", "--store", "c.db", "next", "-c", name, "--json")
        assert json.loads(out)["option"] == "b"


def test_they_are_listed_and_described(run):
    out = run("-c", "from latesum.policies import registry; print(registry.describe('backwards'))")
    assert out == "In turns, from the last arm to the first.\n"
    assert "mean" in run(*LATESUM, "delays", "twice(30)")


def test_a_name_that_is_not_the_kind_is_refused(run):
    said = run(
        *LATESUM, "compare", "--arms", "0.2,0.8", "--delay", "twice(10)", "--horizon", "2000",
        "--policies", "impostor", code=2,
    )  # fmt: skip
    assert "Impostor has the kind 'impostor-kind'; a policy is registered under its kind" in said
    assert "Traceback" not in said
