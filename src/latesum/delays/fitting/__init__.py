"""Delays from data: single delays, a histogram, a reporting triangle, or totals around a step."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.delays.fitting.columns import (
    Columns,
    Source,
    numbers,
    one_time,
    read_columns,
    take,
    times,
    truths,
)
from latesum.delays.fitting.result import FittedDelay, Limited, finish

__all__ = ["FittedDelay", "Limited", "fit"]

Kind = Literal["single", "histogram", "triangle", "step"]
KINDS = ("single", "histogram", "triangle", "step")


def fit(
    source: Source,
    *,
    kind: Kind | None = None,
    unit: str | None = None,
    column: str = "delay",
    censored: str = "censored",
    largest: float | None = None,
    stopped_at: Any = None,
    started_at: Any = None,
    background: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
) -> FittedDelay:
    """How late rewards come, estimated from whichever data there are.

    What the data hold is seen by their columns, or said with `kind`:

    - "single": `delay`, and `censored` (true where only "longer than this" is known: the reward is
      certain to come and has not come yet); Kaplan-Meier. Other names: `column`, `censored`.
    - "histogram": `from`, `to`, `count`; an empty last `to` is an open bin.
    - "triangle": `bucket`, `as_of`, `total`: what was known at the end of bucket `as_of` of the
      rewards of decisions in `bucket`. Numbers or dates.
    - "step": `bucket`, `total` (dated by arrival), with `stopped_at` or `started_at`: the first
      bucket in which all options were off, or on. `background` is what comes without them.

    Args:
        source: A CSV or Parquet file, a mapping of columns, or a list of delays.
        kind: What the data are: "single", "histogram", "triangle" or "step"; by default their
            columns say it.
        unit: The name of the time unit, for tables.
        column: The name of the column `delay` of single delays.
        censored: The name of the column `censored` of single delays.
        largest: The largest delay possible, where it is known. It replaces assumptions about a tail
            that the data do not show, and the limits then allow what is unseen anywhere up to
            there. Totals around a step do not take it.
        stopped_at: The first bucket in which all options were off, for totals around a step.
        started_at: The first bucket in which all options were on, for totals around a step.
        background: What comes per bucket without the options, for totals around a step.
        level: The level of the confidence limits.
        seed: For limits that are drawn; the same seed gives the same limits.

    >>> fitted = fit({"delay": [1, 3, 4, 8, 9, 9], "censored": [0, 0, 0, 0, 0, 1]})
    >>> round(fitted.mean.value, 2), fitted.mean.low < fitted.mean.value < fitted.mean.high
    (6.8, True)
    """
    columns, where = read_columns(source)
    if columns and not next(iter(columns.values())):
        raise InvalidInput(f"{where} has no rows.")
    step = stopped_at is not None or started_at is not None
    if kind is None:
        kind = _seen_kind(columns, where, step)
    known_name(kind, KINDS, "kind of delay data")
    if largest is not None:
        largest = finite_number(largest, "the largest delay", above=0)
        if kind == "step":
            raise InvalidInput(
                "totals around a step show the mean and nothing of a tail, so the largest delay is "
                "not used; leave it out."
            )
    if kind == "single":
        from latesum.delays.fitting.single import fit_single

        delays = numbers(take(columns, column, where), column, where, at_least=0)
        marks = np.zeros(len(delays), dtype=bool)
        if censored in columns:
            marks = truths(columns[censored], censored, where)
        elif censored != "censored":
            take(columns, censored, where)
        return finish(fit_single(delays, marks, largest), kind, unit or "time unit", level, seed)
    if kind == "histogram":
        from latesum.delays.fitting.histogram import fit_histogram

        starts = numbers(take(columns, "from", where), "from", where, at_least=0)
        ends = _open_ends(take(columns, "to", where), where)
        counts = numbers(take(columns, "count", where), "count", where, at_least=0)
        estimated = fit_histogram(starts, ends, counts, largest)
        return finish(estimated, kind, unit or "time unit", level, seed)
    buckets, dates = times(take(columns, "bucket", where), "bucket", where)
    if kind == "triangle":
        from latesum.delays.fitting.triangle import fit_triangle

        as_of, _ = times(take(columns, "as_of", where), "as_of", where)
        totals = numbers(take(columns, "total", where), "total", where)
        estimated, width = fit_triangle(buckets, as_of, totals, largest)
        return finish(estimated, kind, unit or _bucket_unit(width, dates), level, seed)
    from latesum.delays.fitting.step import fit_step

    if (stopped_at is None) == (started_at is None):
        raise InvalidInput("totals alone need stopped_at or started_at: one of the two.")
    at = stopped_at if stopped_at is not None else started_at
    totals = numbers(take(columns, "total", where), "total", where)
    estimated, width = fit_step(
        buckets, totals, one_time(at, "the time of the step", dates=dates),
        stopped=stopped_at is not None, background=background,
    )  # fmt: skip
    return finish(estimated, "step", unit or _bucket_unit(width, dates), level, seed)


def _seen_kind(columns: Columns, where: str, step: bool) -> Kind:
    if "as_of" in columns:
        return "triangle"
    if step:
        return "step"
    if "count" in columns:
        return "histogram"
    if "bucket" in columns and "total" in columns:
        raise InvalidInput(
            f"{where} holds totals only: say with stopped_at or started_at when all options were "
            "stopped or started."
        )
    return "single"


def _open_ends(values: list[Any], where: str) -> Any:
    filled = list(values)
    if filled[-1] is None or str(filled[-1]).strip().lower() in ("", "nan", "inf"):
        filled[-1] = np.inf
        ends = numbers(filled[:-1], "to", where)
        return np.append(ends, np.inf)
    return numbers(filled, "to", where)


def _bucket_unit(width: float, dates: bool) -> str:
    if not dates:
        return "bucket"
    named = {1.0: "day", 7.0: "week", 1 / 24: "hour"}
    for days, name in named.items():
        if abs(width - days) < 1e-6:
            return name
    return f"bucket of {width:g} days"
