"""The published curves, and where they bend."""

from __future__ import annotations

import csv
import functools
import gzip
import io
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Half of the last digit to which the curves were read off.
READING_ERROR = 0.00005


class PublishedCurve(NamedTuple):
    """A published curve: the regret ratio `y` at round (or mean delay) `x`."""

    x: Floats
    y: Floats


@functools.cache
def curves(figure: str) -> dict[str, PublishedCurve]:
    """The published curves of a figure, by their names.

    Figure 5 was published in two panels; what is in both is returned once.

    >>> list(curves("5"))
    ['ODAAF', 'ODAAF-V', 'QPM-D']
    >>> curves("3a")["ODAAF-B Unif(0,100)"].y[-1].item()
    9.8444
    """
    source = files("latesum.experiments.paper").joinpath("data/published-curves.csv.gz")
    text = gzip.decompress(source.read_bytes()).decode()
    points: dict[str, list[tuple[float, float]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["figure"] == figure and not row["curve"].endswith(" lower"):
            name = row["curve"].removesuffix(" upper")
            points.setdefault(name, []).append((float(row["x"]), float(row["y"])))
    return {name: PublishedCurve(*np.array(values).T) for name, values in points.items()}


def bend_near(
    curve: PublishedCurve, expected: float, reach: float = 0.03, span: float = 0.04
) -> float:
    """Where the curve bends most sharply within `reach` of a round, as a share of it.

    Around each of its points there two straight lines that meet in that point are fitted to the
    curve, over `span` on both sides; the point where they fit best is the bend. A published
    curve is a chain of points, thinned out where it is straight, so it bends at one of them.

    >>> x = np.arange(1.0, 2000.0)
    >>> bend_near(PublishedCurve(x, np.abs(x - 1000.0)), 1015)
    1000.0
    """
    x = np.linspace(expected * (1 - span), min(expected * (1 + span), curve.x[-1]), 241)
    y = np.interp(x, curve.x, curve.y)
    points = curve.x[np.abs(curve.x / expected - 1) <= reach]
    if len(points) == 0:
        return float(curve.x[np.argmin(np.abs(curve.x - expected))])
    misfits = []
    for point in points:
        after = (x - point) / expected
        basis = np.stack([np.ones_like(x), after, np.maximum(after, 0.0)], axis=1)
        fitted = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        misfits.append(float(((y - fitted) ** 2).sum()))
    return float(points[int(np.argmin(misfits))])
