"""How close our curves are to the published ones: where they end, and where they bend."""

from __future__ import annotations

import csv
import functools
import gzip
import io
import math
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from latesum.experiments.paper import published_replications
from latesum.experiments.results import Results
from latesum.experiments.spec import RunSpec
from latesum.experiments.stats import independent_ratio_error

Floats = NDArray[np.float64]

#: Half of the last digit to which the curves were read off.
READING_ERROR = 0.00005
#: A ratio may be off by this many combined standard errors.
MAX_ERRORS = 3.0
#: With fewer runs the standard error is too uncertain for a verdict: in one of the four divisors of
#: figure 3a the first 20 runs differ from 400 by 3.6 of their own standard errors.
MIN_RUNS = 100
#: A jump may be off by this share.
MAX_SHIFT = 0.005


@functools.cache
def published_curves(figure: str) -> dict[str, Floats]:
    """The published curves of a figure by their names: rounds (or mean delays), then ratios.

    Figure 5 was published in two panels; what is in both is returned once.

    >>> list(published_curves("5"))
    ['ODAAF', 'ODAAF-V', 'QPM-D']
    >>> published_curves("3a")["ODAAF-B Unif(0,100)"][1, -1].item()
    9.8444
    """
    source = files("latesum.experiments.paper").joinpath("data/published-curves.csv.gz")
    text = gzip.decompress(source.read_bytes()).decode()
    points: dict[str, list[tuple[float, float]]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        if row["figure"] == figure and not row["curve"].endswith(" lower"):
            name = row["curve"].removesuffix(" upper")
            points.setdefault(name, []).append((float(row["x"]), float(row["y"])))
    return {name: np.array(values).T for name, values in points.items()}


class EndRatio(NamedTuple):
    """The end of one curve, published and ours.

    `combined_error` joins our standard error, what our runs say theirs must be with their number of
    replications, and how exactly the curve could be read.
    """

    figure: str
    curve: str
    published: float
    ours: float
    standard_error: float
    combined_error: float
    runs: int

    @property
    def errors_apart(self) -> float:
        """The difference in combined standard errors."""
        return (self.ours - self.published) / self.combined_error

    @property
    def verdict(self) -> str:
        """Whether the two agree, in a word; few runs have no verdict."""
        if self.runs < MIN_RUNS or math.isnan(self.errors_apart):
            return "–"
        return "agrees" if abs(self.errors_apart) <= MAX_ERRORS else "differs"

    @property
    def cells(self) -> list[str]:
        """A row for a table: curve, published, ours, error, difference in errors, verdict."""
        apart = "–" if math.isnan(self.errors_apart) else f"{self.errors_apart:+.2f}"
        shown = ((self.published, 4), (self.ours, 4), (self.standard_error, 2))
        numbers = ["0" if abs(n) < 1e-9 else f"{n:#.{d}g}".rstrip(".") for n, d in shown]
        numbers = [each.replace("nan", "–") for each in numbers]
        return [f"{self.figure} {self.curve}", *numbers, apart, self.verdict]


def agreement(ratios: Sequence[EndRatio]) -> str:
    """How many of the end ratios agree, in a sentence."""
    judged = [row.verdict for row in ratios if row.verdict != "–"]
    if not judged:
        return f"No verdicts on end ratios: they need {MIN_RUNS} runs of each policy."
    return (
        f"{judged.count('agrees')} of {len(judged)} end ratios are within {MAX_ERRORS:g} combined "
        "standard errors of the published ones."
    )


class Jumps(NamedTuple):
    """Where a curve bends: the rounds at which the worse arm's blocks begin and end."""

    figure: str
    curve: str
    published: list[int]
    ours: list[int]
    #: Whether the published curve has a point near enough to tell.
    resolved: list[bool]

    @property
    def shifts(self) -> list[float]:
        """By what share the published jump is later than ours."""
        return [p / o - 1 for p, o in zip(self.published, self.ours, strict=True)]

    @property
    def each(self) -> list[tuple[int, int, float, bool]]:
        """Every jump: ours, the published one, the share between them, whether it is resolved."""
        return list(zip(self.ours, self.published, self.shifts, self.resolved, strict=True))

    @property
    def holding(self) -> int:
        """How many jumps agree."""
        return sum(abs(shift) <= MAX_SHIFT for shift in self.shifts)

    @property
    def cells(self) -> list[str]:
        """A row for a table: curve, ours, published, the largest difference, how many agree."""
        return [
            f"{self.figure} {self.curve}",
            ", ".join(f"{ours:,}" for ours in self.ours),
            ", ".join("=" if p == o else f"{p:,}" for o, p, *_ in self.each),
            f"{max(self.shifts, key=abs):+.2%}",
            f"{self.holding} of {len(self.ours)}",
        ]


def end_ratios(figure: str, results: Results) -> list[EndRatio]:
    """The ends of all curves of a figure."""
    known, published_runs, rows = published_curves(figure), published_replications(figure), []
    for one in results:
        problem, policy = one.problems[0], one.policies[0]
        name = f"{policy} {problem}"
        if results.base in results.problems:
            if problem != results.problems[-1]:
                continue  # a figure over problems ends with the last of them
            name = policy
        if name not in known:
            continue
        value, error = (float(each[-1]) for each in results.ratio(problem, policy))
        below, runs = results.divisor(problem, policy), published_runs[policy]
        theirs = independent_ratio_error(one.regrets, below.regrets, runs)
        combined = math.hypot(error, float(theirs[-1]), READING_ERROR)
        ours = min(one.replications, below.replications)
        published = float(known[name][1, -1])
        rows.append(EndRatio(figure, name, published, value, error, combined, ours))
    return rows


def jump_times(figure: str, results: Results) -> list[Jumps]:
    """The jumps of every curve whose policy plays its blocks at fixed rounds."""
    known, rows = published_curves(figure), []
    for one in results:
        spec, name = one.specs[0], f"{one.policies[0]} {one.problems[0]}"
        if name not in known or not isinstance(spec, RunSpec) or spec.attributed:
            continue
        # Most runs drop the worse arm in the same phase; the first such run shows its blocks.
        final = np.rint(one.regrets[:, -1] * 1e6)
        values, counts = np.unique(final, return_counts=True)
        run = spec.run(int(np.argmax(final == values[np.argmax(counts)])))
        worse = np.array(run.problem.gaps)[run.arms] > 0
        ours = run.ends[1:-1][worse[1:] != worse[:-1]].tolist()
        published = [round(bend_near(known[name], jump)) for jump in ours]
        resolved = [bool(np.abs(known[name][0] / jump - 1).min() <= MAX_SHIFT) for jump in ours]
        rows.append(Jumps(figure, name, published, ours, resolved))
    return rows


def bend_near(curve: Floats, expected: float, reach: float = 0.03, span: float = 0.04) -> float:
    """Where the curve bends most sharply within `reach` of a round, as a share of it.

    Around each of its points there two straight lines that meet in that point are fitted to the
    curve, over `span` on both sides; the point where they fit best is the bend. A published
    curve is a chain of points, thinned out where it is straight, so it bends at one of them.

    >>> x = np.arange(1.0, 2000.0)
    >>> bend_near(np.array([x, np.abs(x - 1000.0)]), 1015)
    1000.0
    """
    rounds, ratios = curve
    x = np.linspace(expected * (1 - span), min(expected * (1 + span), rounds[-1]), 241)
    y = np.interp(x, rounds, ratios)
    points = rounds[np.abs(rounds / expected - 1) <= reach]
    if len(points) == 0:
        return float(rounds[np.argmin(np.abs(rounds - expected))])
    misfits = []
    for point in points:
        after = (x - point) / expected
        basis = np.stack([np.ones_like(x), after, np.maximum(after, 0.0)], axis=1)
        fitted = basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
        misfits.append(float(((y - fitted) ** 2).sum()))
    return float(points[int(np.argmin(misfits))])
