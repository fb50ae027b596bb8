"""The delay as Unmix has learned it, as a figure. Matplotlib is an extra and is imported when one is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latesum._extras import figure_class, save
from latesum.delays import Delay, exponential

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The picture ends where this share has arrived, by the curve that takes longest, or at this many
#: means of the longest one.
_SHOWN_SHARE, _SHOWN_MEANS = 0.99, 6.0


def draw_learned(
    learned: Delay, told: float | None, true: Delay | None, path: str | Path | None
) -> Figure:
    """The share of rewards that has arrived over time: as learned, as told and in truth."""
    curves = [("learned", learned, "#0072B2", "-")]
    if told is not None and told > 0:
        curves.append((f"told: a mean of {told:,.4g}", exponential(told), "#D55E00", "--"))
    if true is not None:
        curves.append((f"true: {true.text}", true, "black", ":"))
    longest = max(law.mean for _, law, *_ in curves)
    end = max(law.quantile(_SHOWN_SHARE) for _, law, *_ in curves)
    times = np.linspace(0, min(end, _SHOWN_MEANS * longest), 600)
    figure = figure_class()(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    for label, law, colour, line in curves:
        arrived = 1 - law.survival(np.floor(times).astype(np.int64))
        axes.plot(times, arrived, line, color=colour, label=label)
    axes.set_xlim(0, times[-1])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("rounds after the play")
    axes.set_ylabel("share of rewards that has arrived")
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
    return save(figure, path)
