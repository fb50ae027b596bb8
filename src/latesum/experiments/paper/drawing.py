"""Figures of the paper's experiments: ours over the published ones, and regret with quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._extras import figure_class, save
from latesum.experiments.paper.verdicts import Floats, published_curves
from latesum.experiments.results import COLORS, Results
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


def draw(
    figure: str, results: Results, folder: str | Path, kinds: Sequence[str] = ()
) -> dict[str, Path]:
    """Draw the figures of one experiment, as PDF and PNG; returns the PNGs by kind.

    Kinds are "figure", "by-delay" and "regret"; all that there are without.
    """
    target = Path(folder) / figure
    target.mkdir(parents=True, exist_ok=True)
    makers: dict[str, Callable[[str, Results], Figure]] = {
        "figure": ratio_figure,
        "by-delay": ratio_by_problem,
        "regret": lambda figure, made: made.plot(),
    }
    if results.base in results.problems:
        makers = {"figure": over_problems_figure, "regret": regret_at_horizon_figure}
    return {
        kind: _write(make(figure, results), target / kind)
        for kind, make in makers.items()
        if not kinds or kind in kinds
    }


def new_figure(width: float, height: float) -> Figure:
    """An empty figure with small letters, fit for a column or two of print."""
    figure = figure_class()(figsize=(width, height), layout="constrained")
    import matplotlib

    # Text in PDF as text, not as outlines: some journals ask for it.
    matplotlib.rcParams["pdf.fonttype"] = 42
    return figure


def _write(figure: Figure, path: Path) -> Path:
    """Write a figure as PDF and as PNG; returns the latter."""
    save(figure, path.with_suffix(".pdf"))
    figure.set_layout_engine("none")  # laid out once is enough
    save(figure, path.with_suffix(".png"))
    return path.with_suffix(".png")


def ratio_figure(name: str, results: Results) -> Figure:
    """All curves in one frame, as the paper has them, over the published ones."""
    figure = new_figure(6.4, 4.4)
    _draw_ratios(figure.subplots(), name, results, results.problems)
    return figure


def ratio_by_problem(name: str, results: Results) -> Figure:
    """The same curves with a frame for each delay, where they do not hide each other."""
    columns = 2
    rows = -(-len(results.problems) // columns)
    figure = new_figure(7.2, 2.7 * rows)
    frames = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for axes, problem in zip(frames, results.problems, strict=False):
        _draw_ratios(axes, name, results, [problem])
        axes.set_title(problem, fontsize=9)
    for axes in frames[len(results.problems) :]:
        axes.set_visible(False)
    for axes in frames[: len(results.problems) - columns]:
        axes.set_xlabel("")
    return figure


def over_problems_figure(name: str, results: Results) -> Figure:
    """End ratios over the problems' x: all policies above, those near 1 larger below."""
    figure = new_figure(6.4, 5.6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    known, x = published_curves(name), mean_delays(results)
    steepest = max(results.policies, key=lambda policy: _ends(results, policy)[0][-1])
    for color, policy in zip(COLORS, results.policies, strict=False):
        value, error = _ends(results, policy)
        for axes in (above, below):
            if axes is below and policy == steepest:
                continue
            style = {"color": color, "linewidth": 1.6, "marker": "o", "markersize": 4, "capsize": 2}
            axes.errorbar(x, value, yerr=Z * error, label=policy, **style)
            if policy in known:
                axes.plot(*known[policy], **_PUBLISHED_POINTS)
    for axes in (above, below):
        axes.set_ylabel("relative increase in regret")
        axes.grid(True, alpha=0.25, linewidth=0.5)
    above.plot([], [], label="published", **_PUBLISHED_POINTS)
    above.legend(fontsize=8, frameon=False)
    below.set_xlabel("mean delay")
    return figure


def regret_at_horizon_figure(name: str, results: Results) -> Figure:
    """Our own view of a figure over problems: how the runs of each policy are spread."""
    figure = new_figure(2.6 * len(results.policies) + 0.4, 3.4)
    frames = figure.subplots(1, len(results.policies), squeeze=False).ravel()
    for axes, color, policy in zip(frames, COLORS, results.policies, strict=False):
        finals = [results[problem, policy].regrets[:, -1] for problem in results.problems]
        _draw_spread(axes, mean_delays(results), np.column_stack(finals), color, policy)
        axes.set_title(policy, fontsize=9)
        axes.set_ylim(bottom=0)
    figure.supxlabel("mean delay", fontsize=9)
    figure.supylabel("regret at the horizon", fontsize=9)
    return figure


def _draw_spread(axes: Any, x: Any, regrets: Floats, color: str, label: str) -> None:
    """The mean, the median and the range of 90% of the runs, which are the rows."""
    low, median, high = np.quantile(regrets, [0.05, 0.5, 0.95], axis=0)
    axes.plot(x, regrets.mean(axis=0), color=color, linewidth=1.4, label=label)
    axes.plot(x, median, color=color, linewidth=0.8, linestyle=":")
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)
    axes.grid(True, alpha=0.25, linewidth=0.5)


def _draw_ratios(axes: Any, name: str, results: Results, problems: list[str]) -> None:
    """The curves of some problems, their frame and its legend."""
    policies = [policy for policy in results.policies if policy != results.base]
    for color, problem in zip(COLORS, results.problems, strict=False):
        for line, policy in zip(_LINES, policies, strict=False):
            if problem in problems:
                _draw_ratio(axes, results, problem, policy, color, line)
                curve = published_curves(name).get(f"{policy} {problem}")
                if curve is not None:
                    _draw_published(axes, curve, color, line)
    axes.set_xlabel("round")
    axes.set_ylabel(f"regret over that of {results.base}")
    axes.set_xlim(0, results.checkpoints[-1])
    axes.set_ylim(bottom=0)
    axes.grid(True, alpha=0.25, linewidth=0.5)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    _legend(axes, results, policies, problems)


def _draw_ratio(
    axes: Any, results: Results, problem: str, policy: str, color: str, line: Any
) -> None:
    ratio, error = results.ratio(problem, policy)
    rounds = results.checkpoints
    shown = (rounds >= _FROM_SHARE * rounds[-1]) & np.isfinite(ratio)
    low, high = (ratio - Z * error)[shown], (ratio + Z * error)[shown]
    axes.fill_between(rounds[shown], low, high, color=color, alpha=0.2, linewidth=0)
    axes.plot(rounds[shown], ratio[shown], color=color, linestyle=line, linewidth=1.7)


def _draw_published(axes: Any, curve: Floats, color: str, line: Any) -> None:
    """A published curve has the color of ours, only half way to black, and is thinner."""
    from matplotlib.colors import to_rgb

    later = curve[:, curve[0] >= _FROM_SHARE * curve[0, -1]]
    style = {**_PUBLISHED, "color": tuple(part / 2.2 for part in to_rgb(color))}
    axes.plot(*later, linestyle=line, **style)


def mean_delays(results: Results) -> Floats:
    """What policies are given as the mean delay of each problem."""
    given = {
        spec.problem_name: spec.policy.parameters["mean_delay"]
        for spec in results.specs
        if isinstance(spec, RunSpec) and "mean_delay" in spec.policy.parameters
    }
    return np.array([given[problem] for problem in results.problems])


def _legend(axes: Any, results: Results, policies: list[str], problems: list[str]) -> None:
    from matplotlib.lines import Line2D

    entries = []
    if len(problems) > 1:
        entries += [
            Line2D([], [], color=color, linewidth=1.7, label=problem)
            for color, problem in zip(COLORS, problems, strict=False)
        ]
    color = COLORS[results.problems.index(problems[0])] if len(problems) == 1 else "0.35"
    entries += [
        Line2D([], [], color=color, linestyle=line, linewidth=1.7, label=policy)
        for line, policy in zip(_LINES, policies, strict=False)
    ]
    entries.append(Line2D([], [], label="published (thin, darker)", **_PUBLISHED))
    axes.legend(handles=entries, fontsize=7.5, frameon=False, ncols=2 if len(problems) > 1 else 1)


def _ends(results: Results, policy: str) -> tuple[Floats, Floats]:
    ratios = [results.ratio(problem, policy) for problem in results.problems]
    return np.array([ratio[-1] for ratio, _ in ratios]), np.array(
        [error[-1] for _, error in ratios]
    )
