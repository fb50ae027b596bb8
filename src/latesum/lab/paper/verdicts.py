"""How close our curves are to the published ones: where they end, and where they bend."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from latesum.lab.paper.published import READING_ERROR, Curve, bend_near, curves
from latesum.lab.results import Results
from latesum.lab.run import Run
from latesum.lab.simulation import play_once
from latesum.policies import ODAAF
from latesum.world import Problem

#: So many combined standard errors may a ratio be off.
MOST_ERRORS = 3.0
#: By so much, as a share, may a jump be off.
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


class Jumps(NamedTuple):
    """Where a curve bends: the rounds at which the worse arm's stretches begin and end."""

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
    """A number with so many significant digits, zeros included.

    >>> digits(15.0, 4), digits(151.4051, 4), digits(12.3, 2), digits(0.0, 2)
    ('15.00', '151.4', '12', '0')
    """
    if abs(number) < 1e-9:
        return "0"
    return f"{number:#.{significant}g}".rstrip(".")


def end_ratios(results: Results, published_replications: dict[str, int]) -> list[EndRatio]:
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
        rows.append(EndRatio(figure, name, known[name].end, value, error, combined))
    return rows


def jump_times(results: Results) -> list[Jumps]:
    """The jumps of every curve whose policy plays its stretches at fixed rounds."""
    figure = results.experiment.published or results.experiment.name
    known = curves(figure)
    rows = []
    for cell in results.cells:
        curve = known.get(f"{cell.policy} {cell.problem}")
        problem, policy = cell.build()
        if curve is None or not isinstance(policy, ODAAF):
            continue
        # Most runs drop the worse arm in the same phase; the first such run shows its stretches.
        final = results.regrets(cell.problem, cell.policy)[:, -1]
        values, counts = np.unique(np.rint(final * 1e6), return_counts=True)
        usual = values[np.argmax(counts)]
        number = int(np.argmax(np.rint(final * 1e6) == usual))
        ours = _changes(problem, policy, cell.horizon, (cell.seed, number))
        published = [round(bend_near(curve, jump)) for jump in ours]
        resolved = [_has_point_near(curve, jump) for jump in ours]
        rows.append(Jumps(figure, f"{cell.policy} {cell.problem}", published, ours, resolved))
    return rows


def _changes(problem: Problem, policy: ODAAF, horizon: int, seed: tuple[int, int]) -> list[int]:
    """The rounds after which a run goes over to a worse arm or comes back."""
    stretches = Run(problem, play_once(problem, policy, horizon, seed)).stretches
    return [
        after.start
        for before, after in itertools.pairwise(stretches)
        if (problem.gaps[before.arm] > 0) != (problem.gaps[after.arm] > 0)
    ]


def _has_point_near(curve: Curve, jump: int) -> bool:
    return bool(np.abs(curve.x / jump - 1).min() <= MOST_SHIFT)
