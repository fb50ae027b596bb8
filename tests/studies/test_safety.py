"""Suboptimal convergence is counted as defined, and Flow has none."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import safety
from latesum._checks import InvalidInput
from latesum._plugins import POLICIES
from latesum.experiments.run import measures_of
from latesum.experiments.spec import RunSpec
from latesum.experiments.store import read_summary
from latesum.policies import PolicySpec, register
from latesum.policies.base import Block
from latesum.policies.baselines import RoundRobin
from latesum.simulation import Problem


def test_flow_is_not_stuck():
    """2 x 25 runs: a rate of 6% would be noticed with probability 95%. The slow test has 20,000."""
    for given in ("1", "0.8"):
        assert safety.measure_safety(25, given=given, seed=3).stuck == 0


@pytest.mark.slow
@pytest.mark.parametrize("given", ["1", "0.8"])
def test_at_most_one_stuck_run_of_flow_in_ten_thousand_runs(given):
    assert safety.measure_safety(10_000, given=given).stuck <= 1


class _Stubborn(RoundRobin):
    """Always the same arm, the worst of those below."""

    kind = "stubborn"

    def __init__(self, n_arms):
        super().__init__(n_arms)

    def _next(self):
        return Block(0, 50_000, "learn")


class _LateRiser(_Stubborn):
    """The best arm, but only past the horizon."""

    kind = "late-riser"

    def _next(self):
        return Block(1 if self.rounds_played >= 10_000 else 0, 1_000, "learn")


@pytest.fixture
def registered(monkeypatch):
    """The two policies above, known by their names in one test."""
    monkeypatch.setattr(POLICIES, "_known", dict(POLICIES._known))
    register(_Stubborn)
    register(_LateRiser)


def one_problem(rng):
    """A law that always draws the same."""
    return Problem([0.5, 0.6], "constant(3)")


@pytest.mark.usefixtures("registered")
def test_a_run_is_stuck_only_if_it_lasts():
    asked = {"horizon": 10_000, "law": f"{__name__}:one_problem"}
    stuck = safety.measure_safety(3, policy="stubborn", **asked)
    assert (stuck.possibly_stuck, stuck.stuck, stuck.upper_limit) == (3, 3, 1.0)
    assert stuck.mean == pytest.approx(1_000)
    assert not stuck.is_safe
    late = safety.measure_safety(3, policy="late-riser", **asked)
    assert (late.possibly_stuck, late.stuck) == (3, 0)
    # The one rises after so many rounds, whatever horizon it is given; the other never.
    assert (stuck.stuck_if_longer, late.stuck_if_longer) == (3, 0)


def test_the_problems_are_of_all_kinds():
    problems = [safety.random_problem(np.random.default_rng(seed)) for seed in range(300)]
    assert {problem.n_arms for problem in problems} == set(range(2, 13))
    assert len({problem.delay.text for problem in problems}) == 36
    for problem in problems:
        assert 8 < problem.delay.mean < 102


def _command(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["safety", *arguments])
    return safety.main()


def test_the_command_resumes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ("--replications", "4", "--horizon", "20000", "--given", "1")
    assert _command(monkeypatch, *arguments)
    out, said = capsys.readouterr()
    assert "stuck" in out
    assert "4 runs." in said
    assert _command(monkeypatch, *arguments)
    again, said = capsys.readouterr()
    assert again == out
    assert "All 4 runs are there already" in said
    (row,) = read_summary(tmp_path / "safety-results" / "safety.csv")
    assert (row["policy"], row["given"], row["runs"], row["stuck"]) == ("unmix", "1", "4", "0")
    _command(monkeypatch, *arguments[:-1], "0.5")
    rows = read_summary(tmp_path / "safety-results" / "safety.csv")
    assert [each["given"] for each in rows] == ["1", "0.5"]  # rows about something else stay


def test_the_wide_law_is_as_wide_as_it_says():
    cases = [safety.wide_problem(np.random.default_rng(seed)) for seed in range(400)]
    problems, horizons, _ = zip(*cases, strict=True)
    assert {problem.n_arms for problem in problems} == set(range(2, 13))
    kinds = {re.sub(r"[\d.]+", "#", problem.delay.text) for problem in problems}
    assert len(kinds) == 8  # the two Pareto laws look alike
    assert min(problem.delay.mean for problem in problems) < 3
    assert max(problem.delay.mean for problem in problems) > 4_000
    assert min(max(problem.means) for problem in problems) < 0.05
    assert max(min(problem.means) for problem in problems) > 0.9
    assert {2_000, 2_000_000} <= set(horizons)
    assert min(horizons) >= 1_900
    assert max(horizons) <= 2_000_000
    for problem in problems:
        assert max(problem.gaps) >= min(0.02, max(problem.means) / 5) - 1e-12
    with_buckets = [case for case in cases if case[2] > 1]
    assert 50 < len(with_buckets) < 110
    for problem, horizon, bucket in with_buckets:
        assert horizon % bucket == 0
        assert horizon // bucket >= 39
        assert bucket <= 3 * problem.delay.mean + 3


def test_runs_of_the_wide_law_have_their_own_horizons_and_can_be_replayed():
    spec = PolicySpec.parse("flow")
    law = safety.LAWS["wide"]
    setting = safety.WideSpec(law, spec, 2_000_000, seed=5, measures=("regret",))
    for number in range(8):
        made = setting.run(number)
        drawn = setting.drawn(number)
        again = RunSpec.from_json(drawn.to_json())
        assert made.horizon == drawn.horizon
        assert again.run(number).plays == made.plays
        if drawn.reports.bucket > 1:
            assert all(play.rounds % drawn.reports.bucket == 0 for play in made.plays)
    assert len({setting.drawn(number).horizon for number in range(8)}) > 4
    assert any(setting.drawn(number).reports.bucket > 1 for number in range(40))


@pytest.mark.usefixtures("registered")
def test_every_stuck_run_is_found_again_from_what_is_said_of_it():
    found = safety.measure_safety(12, policy="stubborn", law="wide", seed=2)
    assert 3 <= found.stuck == len(found.found) < 12
    for number, data, regret in found.found:
        run = RunSpec.from_json(data).run(number)
        assert run.regret() == regret
        assert measures_of(["stuck(share=0.2)"])["stuck(share=0.2)"](run)


def test_a_small_rate_is_harmful_by_its_share():
    problem = Problem([0.004, 0.005], "constant(0)")
    run = RunSpec(problem, PolicySpec.parse("oracle(best_arm=0)"), 2_000).run(0)
    measured = measures_of(
        ["possibly_stuck", "possibly_stuck(share=0.2)", "stuck", "stuck(share=0.2)"]
    )
    assert [measure(run) for measure in measured.values()] == [False, True, False, True]


def test_without_prior_knowledge_none_is_given():
    found = safety.measure_safety(2, policy="ars-ucb", given="nothing", law="wide", seed=8)
    assert (found.given, found.runs) == ("nothing", 2)


@pytest.mark.usefixtures("registered")
def test_the_command_says_how_to_replay_what_is_stuck(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["--law", "wide", "--policy", "stubborn", "--replications", "6", "--seed", "2"]
    assert not _command(monkeypatch, *arguments, "--given", "nothing", "--workers", "1")
    said = re.findall(r"RunSpec.from_json\((.*)\).run\((\d+)\)", capsys.readouterr().out)
    assert said
    for setting, number in said:
        assert RunSpec.from_json(json.loads(setting)).run(int(number)).problem.gaps[0] > 0


def test_a_study_runs_as_a_script(tmp_path):
    """From any folder, on several processes; bad input ends with a sentence and code 2."""
    script = Path(safety.__file__)
    asked = ["--policy", "flow", "--law", "wide", "--given", "1", "--replications", "4"]
    for more, code in (([], 0), (["--given", "none"], 2)):
        done = subprocess.run(
            [sys.executable, script, *asked, "--workers", "2", *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert done.stderr.splitlines()[-1].startswith("--given takes a factor")
    assert (tmp_path / "safety-results" / "safety.csv").exists()


@pytest.mark.parametrize(
    ("runs", "given", "says"),
    [
        (0, {}, "replications"),
        (1, {"policy": "fow"}, "did you mean 'flow'"),
        (1, {"policy": "qpm-d"}, "has attributed feedback"),
        (1, {"given": "nothing"}, "flow must be given the mean delay"),
        (1, {"given": "none"}, "not 'none'"),
        (1, {"law": "wide", "horizon": 5_000}, "leave it out"),
        (1, {"law": "wild"}, "'wild'"),
    ],
)
def test_nonsense_is_refused(runs, given, says):
    with pytest.raises(InvalidInput, match=says):
        safety.measure_safety(runs, **given)
