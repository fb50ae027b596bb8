"""The paper's experiments: what they are, how close they come, and what is reported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from latesum import delays
from latesum._checks import InvalidInput
from latesum.cli.app import app
from latesum.experiments.paper import (
    FIGURES,
    PaperRun,
    experiment,
    experiment_text,
    published_replications,
    run_paper,
)
from latesum.experiments.paper.report import write_report
from latesum.experiments.paper.verdicts import (
    EndRatio,
    agreement,
    end_ratios,
    jump_times,
    published_curves,
)
from latesum.experiments.stats import independent_ratio_error, ratio_of_means
from latesum.experiments.sweep import expand
from latesum.policies import ODAAF


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[PaperRun, Path]:
    """All figures with two runs of each policy: enough for what does not vary."""
    folder = tmp_path_factory.mktemp("paper")
    return run_paper(FIGURES, folder, replications=2, workers=2), folder


def test_there_are_31_published_curves_and_an_experiment_for_each() -> None:
    assert sum(len(published_curves(figure)) for figure in FIGURES) == 31
    for figure in FIGURES:
        asked = experiment(figure)
        assert asked.name == figure
        policies = {entry.name for entry in asked.policies}
        assert {name.split()[0] for name in published_curves(figure)} <= policies


def test_the_settings_are_those_of_the_paper() -> None:
    for figure in FIGURES:
        asked = experiment(figure)
        assert asked.horizon == 250_000
        assert all(problem.arms == [0.5, 0.6] for problem in asked.problems)
        counts = published_replications(figure)
        if figure == "5":
            assert counts == {"ODAAF": 1000, "ODAAF-V": 1000, "QPM-D": 5000}
        else:
            assert set(counts.values()) == {200}


@pytest.mark.parametrize(
    ("figure", "problem", "policy", "rounds"),
    [
        ("3a", "Unif(0,100)", "ODAAF", [572, 2126, 6548, 18668, 51147]),
        ("3a", "Unif(0,50)", "ODAAF", [377, 1350, 4175, 12149, 34277]),
        ("6a", "Unif(0,50)", "ODAAF-B", [309, 786, 2123, 6030, 17684]),
    ],
)
def test_the_phases_are_those_found_in_the_published_curves(
    figure: str, problem: str, policy: str, rounds: list[int]
) -> None:
    made, _ = expand(experiment(figure))
    setting = next(
        each for each in made if (each.problem_name, each.policy_name) == (problem, policy)
    )
    built = setting.prepared[1]
    assert isinstance(built, ODAAF)
    assert built.phase_rounds[:5] == rounds


def test_the_law_drawn_for_a_half_normal_has_the_mean_and_the_variance_told() -> None:
    for entry in experiment("3b").problems[2:]:
        assert isinstance(entry.delay, str)
        law = delays.parse(entry.delay)
        # Rounding up to whole rounds adds half a round and a twelfth of variance.
        assert law.mean == pytest.approx(float(entry.given["mean_delay"]) + 0.5, abs=0.02)
        assert law.variance == pytest.approx(float(entry.given["delay_variance"]), rel=0.02)


def test_jumps_are_where_the_published_ones_are(tiny: tuple[PaperRun, Path]) -> None:
    rows = [row for each in tiny[0].results.items() for row in jump_times(*each)]
    assert len(rows) == 28
    shifts = [
        (abs(shift), resolved)
        for row in rows
        for shift, resolved in zip(row.shifts, row.resolved, strict=True)
    ]
    assert len(shifts) == 244
    assert all(shift <= 0.005 for shift, resolved in shifts if resolved)
    assert sum(not resolved for _, resolved in shifts) == 1
    assert sum(shift == 0 for shift, _ in shifts) >= 170


def test_what_does_not_vary_is_the_published_value_to_the_last_digit(
    tiny: tuple[PaperRun, Path],
) -> None:
    results = tiny[0].results["5"]
    for policy in ("ODAAF", "ODAAF-V"):
        ours = [results.ratio(problem, policy)[0][-1] for problem in results.problems]
        assert np.round(ours, 4) == pytest.approx(published_curves("5")[policy][1], abs=1.01e-4)


def test_figures_share_their_runs(tiny: tuple[PaperRun, Path]) -> None:
    run, _ = tiny
    # 6a has the ODAAF and ODAAF-B runs of 3a, 6b the ODAAF and ODAAF-V runs of two of 3b's delays.
    assert run.runs_kept == 2 * (8 + 4)
    assert run.runs_made == 2 * (12 + 12 + 33 + 4 + 2)


@pytest.mark.parametrize(
    ("figures", "images", "ratios"),
    [(("5",), 1, 3), pytest.param(("3a", "5"), 3, 11, marks=pytest.mark.slow)],
)
def test_the_report_needs_nothing_else_and_says_everything(
    tiny: tuple[PaperRun, Path], figures: tuple[str, ...], images: int, ratios: int
) -> None:
    run, folder = tiny
    assert run.folder == folder / "2-runs"
    some = replace(run, results={each: run.results[each] for each in figures}, quick=True)
    found, _ = write_report(some, workers=2)
    html, markdown = ((run.folder / f"report.{kind}").read_text() for kind in ("html", "md"))
    assert not re.search(r'(src|href)="(?!data:)', html)
    assert html.count("data:image/png;base64,") == images
    for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", markdown):
        assert (run.folder / link).exists()
        assert (run.folder / link).with_suffix(".pdf").exists()
    for text in ("first tolerance", "half-normal", "Only just eliminated", "1.05", "quick look"):
        assert text.lower() in markdown.lower()
        assert text.lower() in html.lower()
    for text in ("Seed: 2018", "move together", "numpy", "Time:", "cores"):
        assert text in markdown
    assert len(found) == ratios
    assert all(f"| {row.figure} {row.curve} |" in markdown for row in found)


def test_the_command_line(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["paper", "--show", "5"])
    assert shown.output == experiment_text("5")
    (tmp_path / "mine.toml").write_text(shown.output)
    checked = CliRunner().invoke(
        app, ["sweep", str(tmp_path / "mine.toml"), "--check", "--workers", "2"]
    )
    assert "77,000 runs." in checked.output
    refused = CliRunner().invoke(app, ["paper", "3c"])
    assert isinstance(refused.exception, InvalidInput)
    assert "3a" in str(refused.exception)


def test_the_verdict_counts_combined_standard_errors() -> None:
    row = EndRatio("3a", "x", 10.0, 11.0, standard_error=0.2, combined_error=0.4, runs=200)
    assert row.errors_apart == pytest.approx(2.5)
    assert row.verdict == "agrees"
    assert row._replace(ours=11.3).verdict == "differs"
    assert row._replace(ours=11.3, runs=20).verdict == "–"
    assert agreement([row, row._replace(ours=11.3)]).startswith("1 of 2 end ratios")
    assert agreement([row._replace(runs=20)]).startswith("No verdicts")


def test_the_error_of_a_ratio_is_that_of_many_experiments() -> None:
    rng = np.random.default_rng(1)
    luck = rng.gamma(9.0, size=(4000, 50, 1))
    above = 3 * luck + rng.gamma(4.0, size=luck.shape)
    below = luck + rng.gamma(2.0, size=luck.shape)
    ratios = [ratio_of_means(a, b) for a, b in zip(above, below, strict=True)]
    spread = np.std([ratio[0] for ratio, _ in ratios])
    assert np.mean([error[0] for _, error in ratios]) == pytest.approx(spread, rel=0.05)
    # Had numerator and denominator been drawn by themselves:
    other = rng.permutation(below.reshape(-1, 1)).reshape(below.shape)
    spread = np.std([a.mean() / b.mean() for a, b in zip(above, other, strict=True)])
    pairs = zip(above, below, strict=True)
    independent = np.mean([independent_ratio_error(*pair, 50)[0] for pair in pairs])
    assert independent == pytest.approx(spread, rel=0.05)


@pytest.mark.slow
def test_the_ratio_figures_end_where_the_published_ones_do(tmp_path: Path) -> None:
    run = run_paper(["3a", "3b", "6a", "6b"], tmp_path, workers=2)
    rows = [row for figure, results in run.results.items() for row in end_ratios(figure, results)]
    differing = {(row.figure, row.curve) for row in rows if row.verdict == "differs"}
    assert len(rows) == 28
    assert differing <= {("6a", "ODAAF Exp d=75"), ("6a", "ODAAF-B Exp d=75")}
