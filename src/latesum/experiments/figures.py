"""Figures of results. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum._extras import figure_class, save
from latesum.experiments.stats import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which colour-blind readers can tell apart; yellow is left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")
#: More panels than this cannot be read; the figure says which problems it leaves out.
MAX_PANELS = 24
#: The axes begin where the regret is this share of the largest one.
_SMALLEST_SHARE = 1e-3
_PANEL = (3.6, 2.7)


class Curves(NamedTuple):
    """The regret of all runs of one policy on one problem, and how it is drawn."""

    problem: str
    policy: str
    rounds: NDArray[np.int64]
    regrets: NDArray[np.float64]
    attributed: bool

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean over runs, by checkpoint."""
        found: NDArray[np.float64] = self.regrets.mean(axis=0)
        return found

    @property
    def error(self) -> NDArray[np.float64]:
        """Half the width of the 95% band; 0 for a single run."""
        found: NDArray[np.float64] = np.nan_to_num(1.96 * standard_error(self.regrets))
        return found


def plot_regret(
    curves: Sequence[Curves], title: str, unit: str, path: str | Path | None = None
) -> Figure:
    """Mean regret over rounds with 95% bands, on logarithmic axes, one panel per problem.

    Every policy has one style in all panels. Where there are more problems than panels, the figure
    says which it leaves out.
    """
    problems = list(dict.fromkeys(each.problem for each in curves))
    policies = list(dict.fromkeys(each.policy for each in curves))
    shown, left_out = problems[:MAX_PANELS], problems[MAX_PANELS:]
    columns = min(len(shown), 3 if len(shown) > 4 else 2)
    rows = math.ceil(len(shown) / columns)
    width, height = (7.2, 4.2) if len(shown) == 1 else (_PANEL[0] * columns, _PANEL[1] * rows)
    figure: Figure = figure_class()(layout="constrained")
    frames = figure.subplots(rows, columns, squeeze=False).ravel()
    handles: dict[str, Any] = {}
    for axes, problem in zip(frames, shown, strict=False):
        here = [each for each in curves if each.problem == problem]
        for each in here:
            _draw(axes, each, policies.index(each.policy), handles)
        _fit_axes(axes, here)
        text = title if len(shown) == 1 else problem
        axes.set_title(textwrap.fill(text, int(width / columns * 13)), fontsize=8)
        axes.grid(True, which="major", alpha=0.3)
        axes.tick_params(labelsize=8)
    for axes in frames[len(shown) :]:
        axes.set_visible(False)
    figure.supylabel("mean regret, 95% band", fontsize=9)
    below = unit
    if left_out:
        text = f"{len(left_out)} more problems are not shown: {'; '.join(left_out)}"
        below += "\n" + textwrap.fill(textwrap.shorten(text, 600), int(width * 16))
    figure.supxlabel(below, fontsize=9 if not left_out else 7)
    across = max(1, int(width * 17 // (max(map(len, handles)) + 8)))
    lines = math.ceil(len(handles) / across)
    figure.set_size_inches(width, height + 0.2 * lines + 0.12 * below.count("\n") + 0.3)
    figure.legend(
        handles.values(),
        handles,
        loc="outside upper center",
        ncols=across,
        fontsize=8,
        frameon=False,
    )
    return save(figure, path)


def _draw(axes: Any, curves: Curves, place: int, handles: dict[str, Any]) -> None:
    """One mean curve with its band."""
    colour, line = COLOURS[place % len(COLOURS)], LINES[place // len(COLOURS) % len(LINES)]
    rounds, mean, error = curves.rounds, curves.mean, curves.error
    label = f"{curves.policy} (attributed feedback)" if curves.attributed else curves.policy
    if mean[-1] <= 0:  # a logarithmic axis has no place for it
        label += " (regret 0, below the axis)"
    (handles[label],) = axes.plot(
        rounds,
        mean,
        color=colour,
        linestyle=":" if curves.attributed else line,
        marker="o" if len(rounds) == 1 else "",
        linewidth=1.4,
    )
    axes.fill_between(rounds, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)


def _fit_axes(axes: Any, here: Sequence[Curves]) -> None:
    """Axes that hold the curves, from where regret is worth showing to the horizon."""
    largest = max(float((each.mean + each.error).max()) for each in here)
    end = max(int(each.rounds[-1]) for each in here)
    axes.set_xscale("log")
    if largest <= 0:
        axes.set_xlim(1, max(2, end))
        return
    finals = [float(each.mean[-1]) for each in here if each.mean[-1] > 0]
    least = min(_SMALLEST_SHARE * largest, *(0.5 * each for each in finals))
    starts = [int(each.rounds[np.argmax(each.mean >= least)]) for each in here if each.mean[-1] > 0]
    axes.set_yscale("log")
    axes.set_ylim(least, 1.3 * largest)
    axes.set_xlim(0.8 * min(starts), max(1.02 * end, 1.6 * min(starts)))


def plot_headline(
    curves: Sequence[Curves],
    title: str,
    labels: Mapping[str, str],
    path: str | Path | None = None,
) -> Figure:
    """Median regret over rounds with bands from the 5th to the 95th percentile, a log axis."""
    figure: Figure = figure_class()(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", xlabel="rounds", ylabel="regret: median, 5th to 95th percentile")
    axes.set_title(title, fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    by_policy = {each.policy: each for each in curves}
    for colour, (policy, label) in zip(COLOURS, labels.items(), strict=False):
        one = by_policy[policy]
        low, median, high = np.quantile(one.regrets, (0.05, 0.5, 0.95), axis=0)
        line = ":" if one.attributed else "-"
        axes.plot(one.rounds, median, color=colour, linestyle=line)
        axes.fill_between(one.rounds, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.annotate(
            f"{label}: {median[-1]:,.0f}",
            (one.rounds[-1], median[-1]),
            xytext=(5, 0),
            textcoords="offset points",
            color=colour,
            va="center",
            fontsize=8,
        )
    axes.set_yscale("log")
    axes.set_xlim(100, curves[0].rounds[-1])
    axes.set_ylim(bottom=5)
    return save(figure, path)
