"""What commands say of the time that is left, and which folder they write to."""

import sys

import pytest

from latesum._progress import progress_bar

SWEEP = """
horizon = 500
replications = 2
problems = [{ name = "p", arms = [0.4, 0.6], delay = "constant(3)" }]
policies = [{ policy = "%s" }]
"""


@pytest.fixture
def clock():
    """A clock that is set by hand."""

    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    return Clock()


def test_the_time_left_follows_from_the_share_of_the_work(clock, capsys):
    show = progress_bar(clock, log=True)
    for done in range(1, 11):
        clock.now += 10
        show(done * 1000, 100_000, "runs")
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "runs: 10%, about 15 minutes left"


def test_the_clock_begins_anew_with_what_is_new(clock, capsys):
    """After 1,000 s of one thing, the first tenth of another in 10 s leaves 90 s and no more."""
    show = progress_bar(clock, log=True)
    for done in range(1, 101):
        clock.now += 10
        show(done, 100, "policies")
    for done in (100, 200):
        clock.now += 10
        show(done, 1000, "wrong beliefs")
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "wrong beliefs: 20%, about 80 s left"


def test_two_files_of_one_name_do_not_share_a_folder(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("latesum.cli.compare.has", lambda _: False)  # a figure takes seconds
    for folder, policy in (("a", "odaaf"), ("b", "oracle")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.toml").write_text(SWEEP % policy)
    assert latesum("sweep", "a/mine.toml", "--workers", "1")[0] == 0
    tables = {path: path.read_bytes() for path in (tmp_path / "mine-results/mine").iterdir()}
    latesum("sweep", "b/mine.toml", "--workers", "1").refused(
        "holds the results of another experiment of this name, from",
        "a/mine.toml; give one of them another name",
    )
    assert tables == {
        path: path.read_bytes() for path in (tmp_path / "mine-results/mine").iterdir()
    }
    assert latesum("sweep", "b/mine.toml", "--workers", "1", "--out", "other")[0] == 0
    # The same file, changed, goes on where it was; and so does one that was moved.
    (tmp_path / "a/mine.toml").write_text(SWEEP % "flow")
    assert latesum("sweep", "a/mine.toml", "--workers", "1")[0] == 0
    (tmp_path / "a").rename(tmp_path / "c")
    assert latesum("sweep", "c/mine.toml", "--workers", "1")[0] == 0


@pytest.mark.parametrize("made", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_quick_look_does_not_replace_the_report_of_a_larger_run(
    latesum, tmp_path, monkeypatch, made
):
    """Figures take seconds: in the default run the files of the larger run are put there."""
    from latesum.experiments import paper

    monkeypatch.chdir(tmp_path)
    published = paper.experiment("3a")
    one_delay = published.model_copy(update={"problems": published.problems[:1]})
    usual = one_delay.with_replications(3)
    monkeypatch.setattr(paper, "experiment", lambda figure: usual)
    report, runs = (
        tmp_path / "paper-results" / name for name in ("report.html", "3a/runs.parquet")
    )
    if made:
        assert latesum("paper", "3a", "--workers", "2")[0] == 0
    else:
        runs.parent.mkdir(parents=True)
        report.write_bytes(b"a report")
        runs.write_bytes(b"runs")
    before = report.read_bytes(), runs.read_bytes()
    out = latesum("paper", "3a", "--workers", "2", "--quick").done()
    assert "paper-results/quick/report.html" in out.replace("\n", "")
    assert (tmp_path / "paper-results/quick/3a/runs.parquet").exists()
    assert before == (report.read_bytes(), runs.read_bytes())


def test_a_missing_extra_is_said_before_any_work(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("latesum.experiments.engine.run_chunk", None)  # nothing may be run
    code, out, said = latesum("paper", "3a")
    assert code == 2
    assert "pip install 'latesum[plots]'" in said
    assert out == ""
    assert list(tmp_path.iterdir()) == []


def test_runs_of_a_comparison_are_kept_and_found_again(latesum, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = [
        "compare",
        "--arms",
        "0.3,0.6",
        "--delay",
        "uniform(0,10)",
        "--policies",
        "odaaf,flow",
        "--horizon",
        "2000",
        "--replications",
        "4",
        "--json",
    ]

    def parts():
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "kept/parts").rglob("*.p*")}

    first = latesum(*command, "--store", "kept")
    made = parts()
    assert (first[0], bool(made)) == (0, True)
    assert latesum(*command, "--store", "kept")[:2] == first[:2]
    assert parts() == made
    assert latesum(*command)[1] == first[1]
