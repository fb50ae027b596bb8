"""The benchmark: frozen suites, entries of one's own, and their verification."""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from latesum.benchmark import Entry, archive, card, run_entry, suite, verify, write
from latesum.benchmark.report import score
from latesum.benchmark.running import microseconds_per_decision, rerun
from latesum.cli.app import app
from latesum.errors import InvalidInput
from latesum.experiments import RunSpec
from latesum.policies import PolicySpec

MINE = '''
from latesum import Block, Policy


class ExploreThenCommit(Policy):
    """Each arm for `explore` rounds, then the best one."""

    kind = "explore-then-commit-{name}"

    def __init__(self, n_arms, mean_delay, *, explore=500, names=None):
        self.mean_delay, self.explore = mean_delay, explore
        super().__init__(n_arms, names=names)

    def _reset(self):
        self._rounds = [0] * self.n_arms
        self._totals = [0.0] * self.n_arms

    def _learn(self, play):
        if play.purpose == "learn":
            self._rounds[play.arm] += play.rounds
            self._totals[play.arm] += play.total or 0.0

    def _next(self):
        for arm in self._available():
            if self._rounds[arm] < self.explore:
                return Block(arm, self.explore - self._rounds[arm], "learn")
        best = max(self._available(), key=self._totals.__getitem__)
        {late}
        return Block(best, 1_000 - self.rounds_played % 1_000, "commit")
'''


def _module(folder: Path, name: str, late: str = "") -> str:
    text = MINE.replace("{name}", name).replace("{late}", late or "pass")
    (folder / f"{name}.py").write_text(text)
    return f"{name}:ExploreThenCommit"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for modules of one's own, from which a command is called."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_suites_are_frozen() -> None:
    assert suite("core-1").digest == "70bbd70db6f25463f762"
    assert suite("random-1").digest == "c4763c3d0427ef3e3f6c"


def test_an_entry_of_ones_own_is_run_reported_and_verified(own: Path) -> None:
    """Changed results and changed sources are found."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    entry = _module(own, "entered")
    command = ["bench", entry, "--suite", "random-1", "--runs", "4", "--dev-seed", "1"]
    made = CliRunner().invoke(app, [*command, "--workers", "1", "--out", "mine"])
    assert made.exit_code == 0, made.output
    card = json.loads((own / "mine/card.json").read_text())
    assert card["entry"] == entry
    assert card["development"]
    assert card["suites"]["random-1"]["stuck"]["runs"] == 4
    assert set(card["suites"]["random-1"]["robustness"]) == {"0.5", "2"}
    assert entry in (own / "mine/report.html").read_text()
    checked = CliRunner().invoke(app, ["bench", "verify", "mine/entry.zip", "--sample", "3"])
    assert checked.exit_code == 0, checked.output
    assert "3 runs" in checked.output
    with zipfile.ZipFile("mine/entry.zip") as zipped:
        content = {name: zipped.read(name) for name in zipped.namelist()}
    table = pq.read_table("mine/results.parquet").to_pydict()
    table["regret"] = [regret * 0.9 for regret in table["regret"]]
    pq.write_table(pa.table(table), "better.parquet")
    for name, changed in (
        ("results.parquet", Path("better.parquet").read_bytes()),
        ("source/entered.py", content["source/entered.py"] + b"\n# better\n"),
    ):
        with zipfile.ZipFile("changed.zip", "w") as zipped:
            for each, data in content.items():
                zipped.writestr(each, changed if each == name else data)
        assert CliRunner().invoke(app, ["bench", "verify", "changed.zip"]).exit_code == 1


@pytest.mark.skipif(not archive(), reason="the archive is not there: python studies/archive.py")
def test_the_archive_is_what_its_runs_give() -> None:
    """Random cells of the shortest horizon are run again and have the same mean regret."""
    rng = random.Random(7)
    cells = {(cell.name, cell.horizon): cell for cell in suite("core-1").cells}
    for known in rng.sample([each for each in archive() if each["entry"] != "unmix"], 3):
        part = known["suites"]["core-1"]
        assert part["digest"] == suite("core-1").digest
        row = rng.choice([row for row in known["cells"] if row["horizon"] == 10_000])
        entry = Entry.read(known["entry"], known["track"])
        cell = cells[row["problem"], row["horizon"]]
        again = [rerun(entry, cell, number, part["seed"]) for number in range(part["runs"])]
        assert np.mean(again) == pytest.approx(row["mean"], rel=1e-12), (known["entry"], row)


def test_a_failing_policy_is_charged_round_robin_and_listed(own: Path) -> None:
    late = "if self.rounds_played > 1_500 and self.n_arms > 3: raise RuntimeError('out of ideas')"
    entry = Entry.read(_module(own, "failing", late), "mean")
    found = run_entry(entry, "random-1", seed=1, runs=6)
    failed = found.failed[0]
    assert 0 < failed.sum() < 6
    assert all("RuntimeError: out of ideas" in each for each in found.failures)
    for column in np.flatnonzero(failed):
        cell = found.cells[column]
        equal_split = cell.horizon * np.mean(cell.problem.gaps)
        assert found.regret[0, column] == pytest.approx(equal_split, rel=0.05)


@pytest.mark.parametrize(
    ("text", "track"),
    [
        ("flwo", "mean"),
        ("flow(indx='ucb1')", "mean"),
        ("flow", "means"),
        ("odaaf", "nothing"),
        ("no_such_module:Mine", "mean"),
    ],
)
def test_misspelt_and_impossible_entries_are_refused(text: str, track: str) -> None:
    with pytest.raises(InvalidInput):
        Entry.read(text, track)


def test_a_track_gives_what_it_says_and_no_more() -> None:
    cell = suite("core-1").cells[0]
    for track, known in (("nothing", False), ("mean", True)):
        entry = Entry(PolicySpec("unmix"), track, {})
        spec = RunSpec(cell.problem, entry.policy, cell.horizon, prior=entry.prior)
        policy = spec.prepared[1]
        assert (policy.parameters["mean_delay"] is not None) == known
        assert policy.parameters.get("delay") is None


def test_problems_that_a_track_cannot_give_are_left_out(tmp_path: Path) -> None:
    """Some of the first problems have no bound on the delay; run i is still on problem i."""
    entry = Entry.read("odaaf-b", "bound")
    found = run_entry(entry, "random-1", seed=1, runs=8)
    names = [f"random {place}" for place in range(8)]
    playable = [cell.name for cell in suite("random-1").cells[:8] if entry.can_play(cell)]
    assert 0 < len(playable) < 8
    assert [cell.name for cell in found.cells] == playable
    assert found.regret.shape == found.reference.shape == (1, len(playable))
    assert found.failures == []
    card_of = card(entry, [found], microseconds=microseconds_per_decision(entry, runs=1))
    assert card_of["suites"]["random-1"]["stuck"]["runs"] == len(playable)
    zipped = write(tmp_path, entry, card_of | {"development": True}, [found])
    assert verify(zipped, 3) == (3, [])
    assert set(playable) < set(names)


def test_another_source_has_another_seed(own: Path) -> None:
    first = Entry.read(_module(own, "first_version"), "mean")
    second = Entry.read(_module(own, "second_version"), "mean")
    core = suite("core-1")
    assert first.test_seed(core) != second.test_seed(core)
    assert first.test_seed(core) != first.test_seed(suite("random-1"))


def test_bootstrap_limits_hold_the_score() -> None:
    """Of 60 scores with 90 runs each, 95% limits miss at most 9: more by chance 1 in 10^3."""
    rng = np.random.default_rng(5)
    truth = np.log([2.0, 3.0]).mean()
    missed = 0
    for _ in range(60):
        reference = rng.gamma(4, 25, (90, 2))
        found = score(rng.gamma(4, 25, (90, 2)) * [2.0, 3.0], reference)
        missed += not found.low <= truth <= found.high
    assert missed <= 9
