"""How close our curves are to the published ones: where they end, and where they bend."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from latesum.experiments.paper.published import READING_ERROR, bend_near, curves
from latesum.experiments.run import Run
from latesum.experiments.spec import RunSpec
from latesum.experiments.sweeps import SweepResults
from latesum.policies import ODAAF

#: A ratio may be off by this many combined standard errors.
MOST_ERRORS = 3.0
#: A jump may be off by this share.
MOST_SHIFT = 0.005


class EndRatio(NamedTuple):
    """The end of one curve, published and ours.

    `combined_error` joins our standard error with theirs. They published none: it is taken as what
    our runs say it must be with their number of replications. It includes how exactly the curve
    could be read.
    """

    figure: str
    curve: str
    published: float
    ours: float
    standard_error: float
    combined_error: float

    @property
    def errors_apart(self) -> float:
        """The difference in combined standard errors."""
        return (self.ours - self.published) / self.combined_error

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return abs(self.errors_apart) <= MOST_ERRORS

    @property
    def verdict(self) -> str:
        """Whether the two agree, in a word; a single run has no error, and so no verdict."""
        if math.isnan(self.errors_apart):
            return "–"
        return "agrees" if self.holds else "differs"

    @property
    def cells(self) -> list[str]:
        """A row for a table: curve, published, ours, error, difference in errors, verdict."""
        apart = "–" if math.isnan(self.errors_apart) else f"{self.errors_apart:+.2f}"
        numbers = digits(self.published, 4), digits(self.ours, 4), digits(self.standard_error, 2)
        return [f"{self.figure} {self.curve}", *numbers, apart, self.verdict]


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
    def holding(self) -> int:
        """How many jumps agree."""
        return sum(abs(shift) <= MOST_SHIFT for shift in self.shifts)


def digits(number: float, significant: int) -> str:
    """A number with `significant` digits, zeros included; a dash where there is none.

    >>> digits(15.0, 4), digits(151.4051, 4), digits(12.3, 2), digits(0.0, 2)
    ('15.00', '151.4', '12', '0')
    """
    if math.isnan(number):
        return "–"
    if abs(number) < 1e-9:
        return "0"
    return f"{number:#.{significant}g}".rstrip(".")


def end_ratios(results: SweepResults, published_replications: dict[str, int]) -> list[EndRatio]:
    """The ends of all curves of a figure; `published_replications` by policy."""
    figure = results.experiment.published or results.experiment.name
    known = curves(figure)
    rows = []
    for problem, policy, ratio in results.ratios():
        name = f"{policy} {problem}"
        if results.experiment.ratio is not None and results.experiment.ratio.problem is not None:
            if problem != results.problems[-1]:
                continue  # a figure over problems ends with the last of them
            name = policy
        if name not in known:
            continue
        theirs = float(ratio.error_if_independent(published_replications[policy])[-1])
        error = float(ratio.error[-1])
        combined = math.sqrt(error**2 + theirs**2 + READING_ERROR**2)
        value = float(ratio.value[-1])
        rows.append(EndRatio(figure, name, float(known[name].y[-1]), value, error, combined))
    return rows


def jump_times(results: SweepResults) -> list[Jumps]:
    """The jumps of every curve whose policy plays its blocks at fixed rounds."""
    figure = results.experiment.published or results.experiment.name
    known = curves(figure)
    rows = []
    for setting in results.grid.settings:
        name = f"{setting.policy_name} {setting.problem_name}"
        curve = known.get(name)
        if not isinstance(setting, RunSpec) or curve is None:
            continue
        if not isinstance(setting.prepared[1], ODAAF):
            continue
        # Most runs drop the worse arm in the same phase; the first such run shows its blocks.
        final = results[setting.problem_name, setting.policy_name].regrets[:, -1]
        values, counts = np.unique(np.rint(final * 1e6), return_counts=True)
        usual = values[np.argmax(counts)]
        ours = _changes(setting.run(int(np.argmax(np.rint(final * 1e6) == usual))))
        published = [round(bend_near(curve, jump)) for jump in ours]
        resolved = [bool(np.abs(curve.x / jump - 1).min() <= MOST_SHIFT) for jump in ours]
        rows.append(Jumps(figure, name, published, ours, resolved))
    return rows


def _changes(run: Run) -> list[int]:
    """The rounds after which a run goes over to a worse arm or comes back."""
    gaps = run.problem.gaps
    return [
        after.start
        for before, after in itertools.pairwise(run.blocks)
        if (gaps[before.arm] > 0) != (gaps[after.arm] > 0)
    ]
