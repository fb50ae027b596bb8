"""Figures of the paper's experiments: ours over the published ones, and regret with quantiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._extras import require, save
from latesum.experiments.figures import COLOURS
from latesum.experiments.paper.published import PublishedCurve, curves
from latesum.experiments.results import Floats
from latesum.experiments.sweeps import SweepResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAND = 1.96
#: As in the original: what knows only the mean is solid, what knows more is dotted.
_LINES: tuple[Any, ...] = ("-", (0, (1.2, 1.1)), "--", "-.")
_PUBLISHED: dict[str, Any] = {"color": "black", "linewidth": 0.8, "zorder": 4}
_PUBLISHED_POINTS = {**_PUBLISHED, "linestyle": "none", "marker": "x", "markersize": 6}
#: The first rounds of a run, where ratios of tiny regrets mean nothing, are not drawn.
_FROM_SHARE = 0.0005


def new_figure(width: float, height: float) -> Figure:
    """An empty figure with small letters, fit for a column or two of print."""
    require("matplotlib", "plots")
    import matplotlib
    from matplotlib.figure import Figure

    # Text in PDF as text, not as outlines: some journals ask for it.
    matplotlib.rcParams["pdf.fonttype"] = 42
    return Figure(figsize=(width, height), layout="constrained")


def write(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write a figure as PDF and as PNG."""
    paths = [folder / f"{name}.pdf", folder / f"{name}.png"]
    for path in paths:
        save(figure, path)
        figure.set_layout_engine("none")  # laid out once is enough
    return paths


def ratio_figure(results: SweepResults) -> Figure:
    """All curves in one frame, as the paper has them, over the published ones."""
    figure = new_figure(6.4, 4.4)
    _draw_ratios(figure.subplots(), results, results.problems)
    return figure


def ratio_by_problem(results: SweepResults) -> Figure:
    """The same curves with a frame for each delay, where they do not hide each other."""
    columns = 2
    rows = -(-len(results.problems) // columns)
    figure = new_figure(7.2, 2.7 * rows)
    frames = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axes, problem in zip(frames, results.problems, strict=False):
        _draw_ratios(axes, results, [problem])
        axes.set_title(problem, fontsize=9)
    for axes in frames[len(results.problems) :]:
        axes.set_visible(False)
    for axes in frames[: len(results.problems) - columns]:
        axes.set_xlabel("")
    return figure


def over_problems_figure(results: SweepResults) -> Figure:
    """End ratios over the problems' x: all policies above, those near 1 larger below."""
    figure = new_figure(6.4, 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    known = _published(results)
    x = np.array([results.grid.x[p] for p in results.problems], dtype=float)
    steepest = max(results.policies, key=lambda policy: _ends(results, policy)[0][-1])
    for colour, policy in zip(COLOURS, results.policies, strict=False):
        value, error = _ends(results, policy)
        for axes in (above, below):
            if axes is below and policy == steepest:
                continue
            axes.errorbar(
                x,
                value,
                yerr=_BAND * error,
                color=colour,
                linewidth=1.6,
                capsize=2,
                marker="o",
                markersize=4,
                label=policy,
            )
            if policy in known:
                axes.plot(known[policy].x, known[policy].y, **_PUBLISHED_POINTS)
    for axes in (above, below):
        axes.set_ylabel("relative increase in regret")
        axes.grid(True, alpha=0.25, linewidth=0.5)
    if known:
        above.plot([], [], label="published", **_PUBLISHED_POINTS)
    handles, labels = above.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda place: labels[place] == "published")
    above.legend([handles[i] for i in order], [labels[i] for i in order], fontsize=8, frameon=False)
    below.set_xlabel("mean delay")
    return figure


def regret_at_horizon_figure(results: SweepResults) -> Figure:
    """Our own view of a figure over problems: how the runs of each policy are spread."""
    figure = new_figure(2.6 * len(results.policies) + 0.4, 3.4)
    frames = figure.subplots(1, len(results.policies), squeeze=False).ravel()
    for axes, colour, policy in zip(frames, COLOURS, results.policies, strict=False):
        finals = [results[problem, policy].regrets[:, -1] for problem in results.problems]
        x = np.array([results.grid.x[problem] or 0.0 for problem in results.problems])
        _draw_spread(axes, x, np.column_stack(finals), colour, policy)
        axes.set_title(policy, fontsize=9)
        axes.set_ylim(bottom=0)
    figure.supxlabel("mean delay", fontsize=9)
    figure.supylabel("regret at the horizon", fontsize=9)
    return figure


def _draw_spread(axes: Any, x: Any, regrets: Floats, colour: str, label: str) -> None:
    """The mean, the median and the range of 90% of the runs, which are the rows."""
    low, median, high = np.quantile(regrets, [0.05, 0.5, 0.95], axis=0)
    axes.plot(x, regrets.mean(axis=0), color=colour, linewidth=1.4, label=label)
    axes.plot(x, median, color=colour, linewidth=0.8, linestyle=":")
    axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.grid(True, alpha=0.25, linewidth=0.5)


def _draw_ratios(axes: Any, results: SweepResults, problems: list[str]) -> None:
    """The curves of some problems, their frame and its legend."""
    asked = results.experiment.ratio
    policies = [name for name in results.policies if asked is None or name != asked.policy]
    for colour, problem in zip(COLOURS, results.problems, strict=False):
        for line, policy in zip(_LINES, policies, strict=False):
            if problem in problems:
                _draw_ratio(axes, results, problem, policy, colour, line)
    axes.set_xlabel("round")
    axes.set_ylabel(f"regret over that of {asked.policy}" if asked else "ratio of regrets")
    axes.set_xlim(0, results.checkpoints[-1])
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.25, linewidth=0.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    _legend(axes, results, policies, problems)


def _draw_ratio(
    axes: Any, results: SweepResults, problem: str, policy: str, colour: str, line: Any
) -> None:
    ratio = results.ratio(problem, policy)
    rounds = results.checkpoints
    shown = (rounds >= _FROM_SHARE * rounds[-1]) & np.isfinite(ratio.value)
    low = (ratio.value - _BAND * ratio.error)[shown]
    high = (ratio.value + _BAND * ratio.error)[shown]
    axes.fill_between(rounds[shown], low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(rounds[shown], ratio.value[shown], color=colour, linestyle=line, linewidth=1.7)
    curve = _published(results).get(f"{policy} {problem}")
    if curve is not None:
        from matplotlib.colors import to_rgb

        later = curve.x >= _FROM_SHARE * rounds[-1]
        # A published curve has the colour of ours, only half way to black, and thinner.
        style = {**_PUBLISHED, "color": tuple(part / 2.2 for part in to_rgb(colour))}
        axes.plot(curve.x[later], curve.y[later], linestyle=line, **style)


def _published(results: SweepResults) -> dict[str, PublishedCurve]:
    return curves(results.experiment.published) if results.experiment.published else {}


def _legend(axes: Any, results: SweepResults, policies: list[str], problems: list[str]) -> None:
    from matplotlib.lines import Line2D

    entries = []
    if len(problems) > 1:
        entries += [
            Line2D([], [], color=colour, linewidth=1.7, label=problem)
            for colour, problem in zip(COLOURS, problems, strict=False)
        ]
    colour = COLOURS[results.problems.index(problems[0])] if len(problems) == 1 else "0.35"
    entries += [
        Line2D([], [], color=colour, linestyle=line, linewidth=1.7, label=policy)
        for line, policy in zip(_LINES, policies, strict=False)
    ]
    if results.experiment.published:
        entries.append(Line2D([], [], label="published (thin, darker)", **_PUBLISHED))
    axes.legend(handles=entries, fontsize=7.5, frameon=False, ncols=2 if len(problems) > 1 else 1)


def _ends(results: SweepResults, policy: str) -> tuple[Floats, Floats]:
    ratios = [results.ratio(problem, policy) for problem in results.problems]
    value = np.array([ratio.value[-1] for ratio in ratios])
    return value, np.array([ratio.error[-1] for ratio in ratios])
