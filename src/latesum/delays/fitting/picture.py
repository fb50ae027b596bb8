"""The picture of a fit. Matplotlib is an extra and is imported when a picture is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latesum._figures import figure_class, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from latesum.delays.fitting.result import FittedDelay


def draw_fit(fitted: FittedDelay, path: str | Path | None = None) -> Figure:
    """The share that has arrived over time, its limits, the mean, and where the data end."""
    figure = figure_class()(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    grid, low, high = fitted.band
    times = np.linspace(0, grid[-1], 600)
    axes.plot(times, 1 - fitted.curve.survival(times), color="#0072B2", label="arrived")
    axes.fill_between(grid, 1 - high, 1 - low, color="#0072B2", alpha=0.2, linewidth=0)
    axes.axvline(fitted.mean.value, color="#D55E00", label=f"mean {fitted.mean.value:.4g}")
    axes.axvspan(fitted.mean.low, fitted.mean.high, color="#D55E00", alpha=0.15, linewidth=0)
    if fitted.unseen > 0:
        axes.axvline(fitted.observed_until, color="black", linestyle=":", label="the data end")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel(f"delay, in units of one {fitted.unit}")
    axes.set_ylabel("share that has arrived")
    axes.set_title(
        f"{fitted.observations:,} {fitted.kind} rows, {fitted.level:.0%} limits", fontsize=9
    )
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8)
    return save(figure, path)
