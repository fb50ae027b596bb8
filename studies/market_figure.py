"""A run in a market as a picture: what arrived, what the model made of it, and what was true."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from latesum._checks import InvalidInput
from latesum._extras import require, save
from latesum.experiments.markets.players import SwitchbackPlayer
from latesum.experiments.markets.spec import MarketRun
from latesum.markets.summary import summarize_panel

#: Colours that people with colour blindness tell apart (Okabe and Ito).
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
#: Effects are drawn this many buckets apart.
_EVERY = 4


def draw_market(run: MarketRun, path: str | Path, *, title: str = "") -> None:
    """Draw a run of `switchback`.

    Above: the totals of all regions, split by the options that they came from; holidays are grey,
    totals that counted as outliers have a mark. Below: what each region showed, and the effects
    against the first option with their 90% intervals as they were known at the time, beside the truth.

    >>> import tempfile
    >>> from latesum.experiments.markets.spec import MarketRunSpec
    >>> from latesum.simulation.market import Market
    >>> file = Path(tempfile.mkdtemp()) / "market.png"
    >>> draw_market(MarketRunSpec(Market(buckets=20, history=14), "switchback").run(0), file)
    >>> file.exists()
    True
    """
    if not isinstance(run.playing, SwitchbackPlayer):
        raise InvalidInput("only runs of switchback can be drawn.")
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    world, playing = run.world, run.playing
    law, config = world.law, playing.config
    options = law.options
    whole = playing.panel(law.buckets)
    last = summarize_panel(whole, config)
    buckets = np.arange(whole.first, whole.end)
    parts = np.zeros((len(buckets), options))
    for (region, bucket), shares in last.origins.items():
        place = bucket - whole.first
        total = whole.totals[place, config.regions.index(region)]
        for name, share in shares.items():
            parts[place, int(name)] += share * (0.0 if np.isnan(total) else total)

    figure = Figure(figsize=(9, 7.6), layout="constrained")
    above, middle, below = figure.subplots(
        3, 1, sharex=True, height_ratios=(3, 0.4 + 0.35 * law.regions, 2.4)
    )
    for bucket in config.holidays:
        for axes in (above, below):
            axes.axvspan(bucket - 0.5, bucket + 0.5, color="0.88", lw=0)
    above.stackplot(
        buckets,
        parts.T,
        colors=_COLOURS[:options],
        labels=["status quo", *(f"option {option}" for option in range(1, options))],
    )
    for outlier in {bucket for _, bucket in last.outliers}:
        above.plot(outlier, 1.04 * parts[outlier - whole.first].sum(), "v", color="black", ms=5)
    above.set_ylabel("arrived, by origin")
    above.set_title(title)
    above.margins(x=0)

    shown = world.shown(law.buckets).T
    colours = np.array(
        [tuple(int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)) for code in _COLOURS]
    )
    middle.imshow(
        colours[shown],
        aspect="auto",
        interpolation="nearest",
        extent=(whole.first - 0.5, whole.end - 0.5, law.regions - 0.5, -0.5),
    )
    middle.set_yticks(range(law.regions), [f"region {k + 1}" for k in range(law.regions)])
    middle.set_ylabel("shown")

    times = np.arange(config.period_length, law.buckets + 1, _EVERY)
    at_times = [summarize_panel(playing.panel(int(time)), config).effects for time in times]
    for option in range(1, options):
        rows = [effects[option] for effects in at_times]
        colour = _COLOURS[option]
        below.plot(times, [100 * row.effect for row in rows], color=colour, lw=1.8)
        below.fill_between(
            times,
            [100 * row.low90 for row in rows],
            [100 * row.high90 for row in rows],
            color=colour,
            alpha=0.2,
            lw=0,
        )
        truth = 100 * float(np.expm1(world.effects[option]))
        below.axhline(truth, color=colour, lw=1.2, ls="--")
    below.axhline(0, color=_COLOURS[0], lw=1)
    below.axvline(-0.5, color="0.4", lw=0.8)
    above.axvline(-0.5, color="0.4", lw=0.8)
    below.set_ylabel("effect against status quo, %")
    below.set_xlabel("day of the campaign (its history is below 0)")
    figure.legend(
        *above.get_legend_handles_labels(), loc="outside upper right", ncols=options, frameon=False
    )
    save(figure, path)
