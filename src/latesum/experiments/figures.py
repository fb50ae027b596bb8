"""Figures of comparisons. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latesum._extras import figure_class, save
from latesum.experiments.results import Runs
from latesum.experiments.stats import standard_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, which colour-blind readers can tell apart; yellow is left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")


def plot_comparison(
    runs: Mapping[str, Runs], description: Mapping[str, Any], path: str | Path | None = None
) -> Figure:
    """Mean regret over rounds, with bands of 1.96 standard errors, on logarithmic axes."""
    figure, axes = _frame(description, "mean regret")
    rounds, largest = next(iter(runs.values())).checkpoints, 0.0
    for index, (policy, made) in enumerate(runs.items()):
        colour, line, label = (
            COLOURS[index % len(COLOURS)],
            LINES[index // len(COLOURS) % 4],
            policy,
        )
        if policy in description["sees_more"]:
            line, label = ":", f"{policy} (attributed feedback)"
        mean, error = made.regrets.mean(axis=0), standard_error(made.regrets)
        largest = max(largest, float(mean[-1]))
        axes.plot(rounds, mean, color=colour, linestyle=line, label=label)
        band = mean - 1.96 * error, mean + 1.96 * error
        axes.fill_between(rounds, *band, color=colour, alpha=0.2, linewidth=0)
    if largest > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=largest / 1000)
    axes.set_xlim(max(1, rounds[-1] / 10_000), rounds[-1])
    axes.legend(fontsize=8)
    return save(figure, path)


def plot_headline(
    runs: Mapping[str, Runs],
    description: Mapping[str, Any],
    labels: Mapping[str, str],
    path: str | Path | None = None,
) -> Figure:
    """Median regret over rounds with bands from the 5th to the 95th percentile, a log axis."""
    figure, axes = _frame(description, "regret: median, 5th to 95th percentile")
    rounds = next(iter(runs.values())).checkpoints
    for colour, (policy, label) in zip(COLOURS, labels.items(), strict=False):
        low, median, high = np.quantile(runs[policy].regrets, (0.05, 0.5, 0.95), axis=0)
        line = ":" if policy in description["sees_more"] else "-"
        axes.plot(rounds, median, color=colour, linestyle=line)
        axes.fill_between(rounds, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.annotate(
            f"{label}: {median[-1]:,.0f}", (rounds[-1], median[-1]), xytext=(5, 0),
            textcoords="offset points", color=colour, va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(100, rounds[-1])
    axes.set_ylim(bottom=5)
    return save(figure, path)


def _frame(description: Mapping[str, Any], what: str) -> tuple[Figure, Any]:
    figure: Figure = figure_class()(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set(xscale="log", xlabel="rounds", ylabel=what)
    axes.set_title(description["problem"], fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    return figure, axes
