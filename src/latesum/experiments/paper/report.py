"""The report of a run: figures, end ratios, jump times, what differs and why.

Its words are in report.md.j2; what varies is worked out here.
"""

from __future__ import annotations

import base64
import os
import platform
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum import _render
from latesum._extras import figure_class, require, save
from latesum.experiments.paper import PaperRun, experiment, published_replications, verdicts
from latesum.experiments.paper.verdicts import Floats, published_curves
from latesum.experiments.results import COLORS, Results
from latesum.experiments.runners import InProcesses
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import Z

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: As in the original: what knows only the mean is solid, what knows more is dotted.
_LINES: tuple[Any, ...] = ("-", (0, (1.2, 1.1)), "--", "-.")
_PUBLISHED: dict[str, Any] = {"color": "black", "linewidth": 0.8, "zorder": 4}
_PUBLISHED_POINTS = {**_PUBLISHED, "linestyle": "none", "marker": "x", "markersize": 6}
#: The first rounds of a run, where ratios of tiny regrets mean nothing, are not drawn.
_FROM_SHARE = 0.0005
_CAPTIONS = {
    "figure": "Ours with its 95% band (thick), and the published curve (thin, darker).",
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
        known, delays = published_curves(figure), mean_delays(results)
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
        "horizon": results.specs[0].fields["horizon"],
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


# Figures: ours over the published ones, and regret itself.


def draw(
    figure: str, results: Results, folder: str | Path, kinds: Sequence[str] = ()
) -> dict[str, Path]:
    """Draw the figures of one experiment, as PDF and PNG; returns the PNGs by kind.

    Kinds are "figure" and "regret"; all that there are without.
    """
    import matplotlib

    matplotlib.rcParams["pdf.fonttype"] = 42  # text as text: some journals ask for it
    target = Path(folder) / figure
    target.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[], Figure]] = {
        "figure": lambda: _ratios(figure, results),
        "regret": results.plot,
    }
    if results.base in results.problems:
        makers = {"figure": lambda: _over_problems(figure, results)}
    drawn = {}
    for kind in kinds or makers:
        made, drawn[kind] = makers[kind](), target / f"{kind}.png"
        save(made, target / f"{kind}.pdf")
        made.set_layout_engine("none")  # laid out once is enough
        save(made, drawn[kind])
    return drawn


def _ratios(name: str, results: Results) -> Figure:
    """The curves over the published ones, as the paper has them.

    A published curve has the color of ours, only half way to black, and is thinner.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.lines import Line2D

    figure = figure_class()(figsize=(6.4, 4.4), layout="constrained")
    axes, rounds = figure.subplots(), results.checkpoints
    policies = dict(zip([p for p in results.policies if p != results.base], _LINES, strict=False))
    colors = dict(zip(results.problems, COLORS, strict=False))
    for problem, color in colors.items():
        for policy, line in policies.items():
            ratio, error = results.ratio(problem, policy)
            shown = (rounds >= _FROM_SHARE * rounds[-1]) & np.isfinite(ratio)
            x, y, half = rounds[shown], ratio[shown], Z * error[shown]
            axes.fill_between(x, y - half, y + half, color=color, alpha=0.2, linewidth=0)
            axes.plot(x, y, color=color, linestyle=line, linewidth=1.7)
            curve = published_curves(name).get(f"{policy} {problem}")
            if curve is not None:
                later = curve[:, curve[0] >= _FROM_SHARE * curve[0, -1]]
                style = {**_PUBLISHED, "color": tuple(part / 2.2 for part in to_rgb(color))}
                axes.plot(*later, linestyle=line, **style)
    axes.set_xlabel("round")
    axes.set_ylabel(f"regret over that of {results.base}")
    axes.set_xlim(0, rounds[-1])
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.25, linewidth=0.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    styles: list[tuple[str, dict[str, Any]]]
    styles = [(problem, {"color": color}) for problem, color in colors.items()]
    styles += [(each, {"color": "0.35", "linestyle": line}) for each, line in policies.items()]
    entries = [Line2D([], [], linewidth=1.7, label=name, **style) for name, style in styles]
    entries.append(Line2D([], [], label="published (thin, darker)", **_PUBLISHED))
    axes.legend(handles=entries, fontsize=7.5, frameon=False, ncols=2)
    return figure


def _over_problems(name: str, results: Results) -> Figure:
    """End ratios over the problems' mean delays: all policies above, those near 1 larger below."""
    figure = figure_class()(figsize=(6.4, 5.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    known, x = published_curves(name), mean_delays(results)
    ends = {}
    for policy in results.policies:
        ratios = [results.ratio(problem, policy) for problem in results.problems]
        ends[policy] = np.array([(ratio[-1], error[-1]) for ratio, error in ratios]).T
    steepest = max(ends, key=lambda policy: ends[policy][0, -1])
    for axes in (above, below):
        for color, (policy, (value, error)) in zip(COLORS, ends.items(), strict=False):
            if axes is below and policy == steepest:
                continue
            style = {"color": color, "linewidth": 1.6, "marker": "o", "markersize": 4, "capsize": 2}
            axes.errorbar(x, value, yerr=Z * error, label=policy, **style)
            if policy in known:
                axes.plot(*known[policy], **_PUBLISHED_POINTS)
        axes.set_ylabel("relative increase in regret")
        axes.grid(True, alpha=0.25, linewidth=0.5)
    above.plot([], [], label="published", **_PUBLISHED_POINTS)
    above.legend(fontsize=8, frameon=False)
    below.set_xlabel("mean delay")
    return figure


def mean_delays(results: Results) -> Floats:
    """What policies are given as the mean delay of each problem."""
    given = {
        spec.problem_name: spec.policy.parameters["mean_delay"]
        for spec in results.specs
        if isinstance(spec, RunSpec) and "mean_delay" in spec.policy.parameters
    }
    return np.array([given[problem] for problem in results.problems])
