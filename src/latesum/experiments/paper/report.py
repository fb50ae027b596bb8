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
    "regret": "Mean regret with its 95% band, on logarithmic axes.",
}
_LIBRARIES = ("latesum", "numpy", "numba", "scipy", "pyarrow", "matplotlib")


def write_report(
    run: PaperRun, *, workers: int = 1
) -> tuple[list[verdicts.EndRatio], list[verdicts.Jumps]]:
    """Draw all figures and write report.html and report.md into the folder of the run."""

    def work_out(figure: str) -> tuple[dict[str, Path], list[verdicts.Jumps]]:
        results = run.results[figure]
        return draw(figure, results, run.folder), verdicts.jump_times(figure, results)

    # A forked process has the results already; drawing is most of what a quick look takes.
    runner = InProcesses(workers if sys.platform == "linux" else 1)
    found = [each for _, each in sorted(runner(work_out, list(run.results)))]
    jumps = [row for _, rows in found for row in rows]
    ratios = [
        row for figure, made in run.results.items() for row in verdicts.end_ratios(figure, made)
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
        max_shift=verdicts.MAX_SHIFT,
        figures=[
            _figure(figure, results, drawn, run.folder)
            for (figure, results), (drawn, _) in zip(run.results.items(), found, strict=True)
        ],
        machine=f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
        versions=f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in _LIBRARIES),
        seeds=", ".join({f"{each.specs[0].fields['seed']}" for each in run.results.values()}),
    )
    (run.folder / "report.html").write_text(_as_html(text, run.folder), encoding="utf-8")
    (run.folder / "report.md").write_text(text, encoding="utf-8")
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
    """What the report says of one figure; with a table, where its curves run over problems."""
    asked, columns, rows = experiment(figure), ["mean delay"], []
    if results.base in results.problems:
        known, delays = verdicts.published_curves(figure), mean_delays(results)
        columns += [
            f"{name} {whose}" for name in results.policies for whose in ("published", "ours")
        ]
        for place, problem in enumerate(results.problems):
            rows.append([f"{delays[place]:.1f}"])
            for policy in results.policies:
                ratio, error = results.ratio(problem, policy)
                ours = f"{ratio[-1]:.4f} ± {error[-1]:.4f}"
                rows[-1] += [f"{known[policy][1, place]:.4f}", ours]
    return {
        "name": figure,
        "title": asked.title,
        "horizon": results.specs[0].horizon,
        "seed": results.specs[0].fields["seed"],
        "ours": {each.policies[0]: each.replications for each in results},
        "theirs": published_replications(figure),
        "notes": " ".join(asked.notes.split()),
        "pictures": [
            (_CAPTIONS[kind], path.relative_to(folder).as_posix()) for kind, path in drawn.items()
        ],
        "columns": columns,
        "rows": rows,
    }
