"""Figures of comparisons. Matplotlib is an extra and is imported when a figure is made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    figure, axes = _frame(comparison, "mean regret")
    rounds = comparison.checkpoints
    for index, policy in enumerate(comparison.policies):
        colour = COLOURS[index % len(COLOURS)]
        line = LINES[index // len(COLOURS) % len(LINES)]
        mean, error = comparison.mean_regret(policy), comparison.standard_error(policy)
        label = policy
        if policy in comparison.description["sees_more"]:
            label, line = f"{policy} (sees which arm paid)", ":"
        axes.plot(rounds, mean, color=colour, linestyle=line, label=label)
        band = mean - 1.96 * error, mean + 1.96 * error
        axes.fill_between(rounds, *band, color=colour, alpha=0.2, linewidth=0)
    largest = max(float(comparison.mean_regret(policy)[-1]) for policy in comparison.policies)
    if largest > 0:
        axes.set_yscale("log")
        axes.set_ylim(bottom=largest / 1000)
    axes.set_xlim(max(1, rounds[-1] / 10_000), rounds[-1])
    axes.legend(fontsize=8)
    return save(figure, path)


def plot_headline(
    comparison: Comparison, labels: Mapping[str, str], path: str | Path | None = None
) -> Figure:
    """Median regret over rounds with bands from the 5th to the 95th percentile, a log axis."""
    figure, axes = _frame(comparison, "regret: median, 5th to 95th percentile")
    rounds = comparison.checkpoints
    for index, (policy, label) in enumerate(labels.items()):
        colour = COLOURS[index % len(COLOURS)]
        sees_more = policy in comparison.description["sees_more"]
        low, median, high = (comparison.quantile(policy, share) for share in (0.05, 0.5, 0.95))
        axes.plot(rounds, median, color=colour, linestyle=":" if sees_more else "-")
        axes.fill_between(rounds, low, high, color=colour, alpha=0.2, linewidth=0)
        axes.annotate(
            f"{label}: {median[-1]:,.0f}", (rounds[-1], median[-1]), xytext=(5, 0),
            textcoords="offset points", color=colour, va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlim(100, rounds[-1])
    axes.set_ylim(bottom=5)
    return save(figure, path)


def _frame(comparison: Comparison, what: str) -> tuple[Figure, Any]:
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.set_xscale("log")
    axes.set_xlabel("rounds")
    axes.set_ylabel(what)
    axes.set_title(comparison.description["problem"], fontsize=9)
    axes.grid(True, which="major", alpha=0.3)
    return figure, axes


def save(figure: Figure, path: str | Path | None) -> Figure:
    """Write a figure where a path is given; the ending of its name says in which format."""
    if path is not None:
        try:
            figure.savefig(path, dpi=150)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"cannot write the figure {path}: {error}.") from error
    return figure
