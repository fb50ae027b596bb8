"""The report of a run: figures, end ratios, jump times, what differs and why.

Its words are in report.md.j2; what varies is worked out here.
"""

from __future__ import annotations

import base64
import os
import platform
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from latesum import _render
from latesum._extras import require
from latesum.experiments.paper import PaperRun, experiment, published_replications, verdicts
from latesum.experiments.paper.drawing import draw, mean_delays
from latesum.experiments.results import Results
from latesum.experiments.runners import InProcesses

_CAPTIONS = {
    "figure": "Ours with its 95% band (thick), and the published curve (thin, darker).",
    "by-delay": "The same with a frame for each delay.",
    "regret": "Regret itself: mean (solid), median (dotted) and the range of 90% of the runs.",
}
_LIBRARIES = ("latesum", "numpy", "numba", "scipy", "pyarrow", "matplotlib")


def write_report(
    run: PaperRun, *, workers: int = 1
) -> tuple[list[verdicts.EndRatio], list[verdicts.Jumps]]:
    """Draw all figures and write report.html and report.md into the folder of the run."""
    folder = run.folder
    # A forked process has the results already; drawing is most of what a quick look takes.
    runner = InProcesses(workers if sys.platform == "linux" else 1)
    figures = list(run.results)

    def work_out(figure: str) -> tuple[dict[str, Path], list[verdicts.Jumps]]:
        results = run.results[figure]
        return draw(figure, results, folder), verdicts.jump_times(figure, results)

    drawn_and_found = [found for _, found in sorted(runner(work_out, figures))]
    jumps = [row for _, rows in drawn_and_found for row in rows]
    ratios = [
        row
        for figure, results in run.results.items()
        for row in verdicts.end_ratios(figure, results, published_replications(figure))
    ]
    text = _render.render(
        "experiments/paper/report.md.j2",
        run=run,
        ratios=ratios,
        jumps=jumps,
        agreement=verdicts.agreement(ratios),
        all_jumps=sum(len(row.ours) for row in jumps),
        good_jumps=sum(row.holding for row in jumps),
        exact_jumps=sum(shift == 0 for row in jumps for shift in row.shifts),
        figures=[
            _figure(figure, run.results[figure], drawn, folder)
            for figure, (drawn, _) in zip(figures, drawn_and_found, strict=True)
        ],
        ratio_rows=[row.cells for row in ratios],
        jump_rows=[_jump_row(row) for row in jumps],
        missed_jumps=[
            (row, ours, theirs, resolved)
            for row in jumps
            for ours, theirs, shift, resolved in zip(
                row.ours, row.published, row.shifts, row.resolved, strict=True
            )
            if abs(shift) > verdicts.MAX_SHIFT
        ],
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        versions=f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        seeds=", ".join({f"{each.specs[0].fields['seed']}" for each in run.results.values()}),
    )
    (folder / "report.html").write_text(_as_html(text, folder), encoding="utf-8")
    (folder / "report.md").write_text(text, encoding="utf-8")
    return ratios, jumps


def _as_html(text: str, folder: Path) -> str:
    """The report as one file that needs nothing else: pictures are embedded."""
    markup = require("markupsafe", "experiments").Markup
    reader = require("markdown_it", "experiments").MarkdownIt("commonmark", {"html": False})

    def embedded(link: re.Match[str]) -> str:
        data = base64.b64encode((folder / link[1]).read_bytes()).decode()
        return f'<img src="data:image/png;base64,{data}"'

    body = re.sub(r'<img src="([^"]+)"', embedded, reader.enable("table").render(text))
    return _render.render("experiments/paper/report.html.j2", body=markup(body))


def _figure(figure: str, results: Results, drawn: dict[str, Path], folder: Path) -> dict[str, Any]:
    """What the report says of one figure."""
    asked, theirs = experiment(figure), published_replications(figure)
    ours = {each.specs[0].policy_name: each.replications for each in results}
    seed = results.specs[0].fields["seed"]
    conditions = f"{results.specs[0].horizon:,} rounds, seed {seed}. Runs of each: {_counted(ours)}"
    if ours != theirs:
        conditions += f" (published: {_counted(theirs)})"
    return {
        "name": figure,
        "title": asked.title,
        "conditions": conditions,
        "notes": " ".join(asked.notes.split()),
        "pictures": [
            (_CAPTIONS[kind], path.relative_to(folder).as_posix()) for kind, path in drawn.items()
        ],
        "over_problems": _over_problems(figure, results)
        if results.base in results.problems
        else None,
    }


def _counted(runs: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in runs.items())


def _over_problems(figure: str, results: Results) -> tuple[list[str], list[list[str]]]:
    """The values of a figure whose curves run over problems: the columns and rows of a table."""
    known = verdicts.published_curves(figure)
    columns = ["mean delay"]
    for policy in results.policies:
        columns += [f"{policy} published", f"{policy} ours"]
    rows = []
    for place, (problem, mean) in enumerate(
        zip(results.problems, mean_delays(results), strict=True)
    ):
        rows.append([f"{mean:.1f}"])
        for policy in results.policies:
            ratio, error = results.ratio(problem, policy)
            rows[-1] += [f"{known[policy][1, place]:.4f}", f"{ratio[-1]:.4f} ± {error[-1]:.4f}"]
    return columns, rows


def _jump_row(row: verdicts.Jumps) -> list[str]:
    same = ["=" if p == o else f"{p:,}" for p, o in zip(row.published, row.ours, strict=True)]
    return [
        f"{row.figure} {row.curve}",
        ", ".join(f"{jump:,}" for jump in row.ours),
        ", ".join(same),
        f"{max(row.shifts, key=abs):+.2%}",
        f"{row.holding} of {len(row.ours)}",
    ]
