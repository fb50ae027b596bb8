"""Unmix: regret with each constant of its rule halved and doubled.

    python studies/unmix_sensitivity.py --replications 60

The same runs for every value, so that differences are paired; the given mean delay is the true one,
and for `unmix-unknown-delay` nothing is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from latesum import Problem, compare
from latesum.policies.unmix import curves, explanations, policy
from latesum.policies.unmix.segments import Segments
from report import command, keep, options, show

#: Problem, horizon and policy.
CASES: dict[str, tuple[Problem, int, str]] = {
    "two arms, exponential(50)": (Problem([0.5, 0.6], "exponential(50)"), 250_000, "unmix"),
    "two arms, exponential(500)": (Problem([0.5, 0.6], "exponential(500)"), 250_000, "unmix"),
    "five arms in a line": (
        Problem([0.1, 0.3, 0.5, 0.7, 0.9], "exponential(50)"),
        250_000,
        "unmix",
    ),
    "two arms, unknown delay": (
        Problem([0.5, 0.6], "exponential(50)"),
        250_000,
        "unmix-unknown-delay",
    ),
}
#: The module or class that holds each constant.
CONSTANTS: dict[str, Any] = {
    "KAPPA": explanations,
    "FACTORS": explanations,
    "DELAY_RATIOS": curves,
    "ATOM": explanations,
    "PRIOR_WEIGHT": curves,
    "FIRST_BLOCK": policy,
    "FIRST_SHARE": policy,
    "SEGMENT": policy,
    "STAY_SHARE": policy,
    "FEWEST": Segments,
}


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """A constant times a factor; curves that were made with another value are forgotten.

    >>> with changed("FEWEST", 2):
    ...     print(Segments.FEWEST)
    16
    >>> Segments.FEWEST
    8
    """
    module = CONSTANTS[name]
    before = getattr(module, name)
    if isinstance(before, tuple):
        after: Any = tuple(factor * each for each in before)
    else:
        after = type(before)(factor * before)
    setattr(module, name, after)
    _forget_curves()
    try:
        yield
    finally:
        setattr(module, name, before)
        _forget_curves()


def _forget_curves() -> None:
    curves.mean_known.cache_clear()
    curves.distribution_known.cache_clear()


def regrets(case: str, replications: int, seed: int) -> np.ndarray:
    """The regret of each run."""
    problem, horizon, name = CASES[case]
    found = compare(problem, {name: name}, horizon, replications=replications, seed=seed)
    return np.asarray(found[name].regrets[:, -1])


def main() -> bool:
    """Read the options, run and print one table."""
    parser = options(__doc__, "sensitivity-results", seed=1)
    parser.add_argument("--constant", action="append", help="only these constants")
    asked = parser.parse_args()
    runs = asked.replications or 60
    usual = {case: regrets(case, runs, asked.seed) for case in CASES}
    rows = [
        {"constant": "", "factor": 1.0, "case": case, "mean": float(found.mean()), "error": 0.0}
        for case, found in usual.items()
    ]
    for name in asked.constant or CONSTANTS:
        for factor in (0.5, 2.0):
            for case in CASES:
                with changed(name, factor):
                    found = regrets(case, runs, asked.seed)
                error = float(np.std(found - usual[case], ddof=1)) / np.sqrt(runs)
                rows.append(
                    {
                        "constant": name,
                        "factor": factor,
                        "case": case,
                        "mean": float(found.mean()),
                        "error": float(error),
                    }
                )
    cells = []
    for start in range(0, len(rows), len(CASES)):
        line = rows[start : start + len(CASES)]
        shown = [f"{row['mean']:.0f} ± {row['error']:.0f}" for row in line]
        cells.append([str(line[0]["constant"]), f"{line[0]['factor']:g}", *shown])
    title = "Mean regret of Unmix ± standard error of the difference"
    show(title, ["constant", "times", *CASES], cells)
    keep(asked.out / "sensitivity.csv", rows, ("constant", "factor", "case"))
    return True


if __name__ == "__main__":
    command(main)
