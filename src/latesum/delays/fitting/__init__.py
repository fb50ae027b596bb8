"""Delays from data: single delays, a histogram, a reporting triangle, or totals around a step."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.delays.fitting.data import Columns, Source, read_columns
from latesum.delays.fitting.result import Estimated, FittedDelay, Limited, finish
from latesum.files import FileForm

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
    form: FileForm | None = None,
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
        source: A CSV, Excel or Parquet file, a mapping of columns, or a list of delays.
        kind: What the data are: "single", "histogram", "triangle" or "step"; by default their
            columns say it.
        unit: The name of the time unit, for tables; buckets that are dates have theirs.
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
        form: How a file is written, where that cannot be seen.

    >>> fitted = fit({"delay": [1, 3, 4, 8, 9, 9], "censored": [0, 0, 0, 0, 0, 1]})
    >>> round(fitted.mean.value, 2), fitted.mean.low < fitted.mean.value < fitted.mean.high
    (6.8, True)
    """
    columns = read_columns(source, form, column, censored)
    if columns.is_empty:
        raise InvalidInput(f"{columns.where} has no rows.")
    step = stopped_at is not None or started_at is not None
    if kind is None:
        kind = _seen_kind(columns, step)
    known_name(kind, KINDS, "kind of delay data")
    if largest is not None:
        largest = finite_number(largest, "the largest delay", above=0)
        if kind == "step":
            raise InvalidInput(
                "totals around a step show the mean and nothing of a tail, so the largest delay is "
                "not used; leave it out."
            )
    estimated, named = _estimated(
        columns, kind, unit, column, censored, largest, stopped_at, started_at, background
    )
    if columns.note is not None:
        estimated = estimated._replace(warnings=[*estimated.warnings, columns.note])
    return finish(estimated, kind, named, level, seed)


def _estimated(
    columns: Columns,
    kind: Kind,
    unit: str | None,
    column: str,
    censored: str,
    largest: float | None,
    stopped_at: Any,
    started_at: Any,
    background: float,
) -> tuple[Estimated, str]:
    """The estimate, and the unit of time that it is in."""
    if kind == "single":
        from latesum.delays.fitting.kaplan_meier import fit_single

        delays = columns.numbers(column, at_least=0)
        marks = np.zeros(len(delays), dtype=bool)
        if censored in columns:
            marks = columns.truths(censored)
        elif censored != "censored":
            columns.take(censored)
        return fit_single(delays, marks, largest), unit or "time unit"
    if kind == "histogram":
        from latesum.delays.fitting.histogram import fit_histogram

        starts = columns.numbers("from", at_least=0)
        ends = _open_ends(columns)
        counts = columns.numbers("count", at_least=0)
        return fit_histogram(starts, ends, counts, largest), unit or "time unit"
    buckets, dates = columns.times("bucket")
    if kind == "triangle":
        from latesum.delays.fitting.chain_ladder import fit_triangle

        as_of, _ = columns.times("as_of")
        totals = columns.numbers("total")
        estimated, width = fit_triangle(buckets, as_of, totals, largest)
        return estimated, _bucket_unit(width, dates, unit)
    from latesum.delays.fitting.step import fit_step

    if (stopped_at is None) == (started_at is None):
        raise InvalidInput("totals alone need stopped_at or started_at: one of the two.")
    at = stopped_at if stopped_at is not None else started_at
    totals = columns.numbers("total")
    estimated, width = fit_step(
        buckets, totals, columns.one_time(at, "the time of the step", dates=dates),
        stopped=stopped_at is not None, background=background,
    )  # fmt: skip
    return estimated, _bucket_unit(width, dates, unit)


def _seen_kind(columns: Columns, step: bool) -> Kind:
    if "as_of" in columns:
        return "triangle"
    if step:
        return "step"
    if "count" in columns:
        return "histogram"
    if "bucket" in columns and "total" in columns:
        raise InvalidInput(
            f"{columns.where} holds totals only: say with stopped_at or started_at when all options were "
            "stopped or started."
        )
    return "single"


def _open_ends(columns: Columns) -> Any:
    last = columns.take("to")[-1]
    if last is None or str(last).strip().lower() in ("", "nan", "inf"):
        return np.append(columns.numbers("to", rows=slice(None, -1)), np.inf)
    return columns.numbers("to")


def _bucket_unit(width: float, dates: bool, said: str | None) -> str:
    """The unit of delays in buckets: of dates it is known, and a unit that was said must be it."""
    if not dates:
        return said or "bucket"
    named = {1.0: "day", 7.0: "week", 1 / 24: "hour"}
    seen = next((name for days, name in named.items() if abs(width - days) < 1e-6), None)
    short = {"d": "day", "w": "week", "h": "hour"}
    word = "" if said is None else said.strip().lower().removesuffix("s")
    if said is not None and short.get(word, word) != seen:
        are = f"{seen}s" if seen else f"{width:g} days long"
        raise InvalidInput(
            f"the buckets are {are}, so that the delays come out in that unit and not in {said!r}; "
            "leave the unit out."
        )
    return seen or f"bucket of {width:g} days"
