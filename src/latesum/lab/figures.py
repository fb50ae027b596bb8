"""Figures of comparisons. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from latesum._checks import InvalidInput
from latesum._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latesum.lab.comparison import Comparison

#: Okabe and Ito's colours, which colour-blind readers can tell apart; yellow is left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> Figure:
    """Mean regret over rounds, with bands of 1.96 standard errors, on logarithmic axes."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    for index, policy in enumerate(comparison.policies):
        colour = COLOURS[index % len(COLOURS)]
        line = LINES[index // len(COLOURS) % len(LINES)]
        mean, error = comparison.mean_regret(policy), comparison.standard_error(policy)
        label = policy
        if policy in comparison.description["sees_more"]:
            label, line = f"{policy} (sees which arm paid)", ":"
        axes.plot(comparison.checkpoints, mean, color=colour, linestyle=line, label=label)
        axes.fill_between(
            comparison.checkpoints,
            mean - 1.96 * error,
            mean + 1.96 * error,
            color=colour,
            alpha=0.2,
            linewidth=0,
        )
    largest = max(float(comparison.mean_regret(policy)[-1]) for policy in comparison.policies)
    if largest > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=largest / 1000)
    axes.set_xscale("log")
    axes.set_xlim(max(1, comparison.checkpoints[-1] / 10_000), comparison.checkpoints[-1])
    axes.set_xlabel("rounds")
    axes.set_ylabel("mean regret")
    axes.set_title(comparison.description["problem"], fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8)
    if path is not None:
        save(figure, path)
    return figure


def plot_headline(
    comparison: Comparison, labels: Mapping[str, str], path: str | Path | None = None
) -> Figure:
    """Median regret over rounds with bands from the 5th to the 95th percentile, a log axis."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    rounds = comparison.checkpoints
    for index, (policy, label) in enumerate(labels.items()):
        colour = COLOURS[index % len(COLOURS)]
        sees_more = policy in comparison.description["sees_more"]
        median = comparison.quantile(policy, 0.5)
        low, high = comparison.quantile(policy, 0.05), comparison.quantile(policy, 0.95)
        axes.plot(rounds, median, color=colour, linestyle=":" if sees_more else "-")
        axes.fill_between(rounds, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.annotate(
            f"{label}: {median[-1]:,.0f}", (rounds[-1], median[-1]), xytext=(5, 0),
            textcoords="offset points", color=colour, va="center", fontsize=8,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(100, rounds[-1])
    axes.set_ylim(bottom=5)
    axes.set_xlabel("rounds")
    axes.set_ylabel("regret: median, 5th to 95th percentile")
    axes.set_title(comparison.description["problem"], fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    if path is not None:
        save(figure, path)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write a figure; the ending of the file's name says in which format."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot write the figure {path}: {error}.") from error
