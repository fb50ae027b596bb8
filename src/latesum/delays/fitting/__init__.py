"""Delays from data: single delays, a histogram, a reporting triangle, or totals around a step."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from latesum._checks import InvalidInput, finite_number, known_name
from latesum.delays.fitting.chain_ladder import fit_triangle
from latesum.delays.fitting.data import Columns, Source, read_columns
from latesum.delays.fitting.histogram import fit_histogram
from latesum.delays.fitting.kaplan_meier import fit_single
from latesum.delays.fitting.result import FittedDelay, Limited, finish
from latesum.delays.fitting.step import fit_step
from latesum.files import FileForm

__all__ = ["FittedDelay", "Limited", "fit"]

Kind = Literal["single", "histogram", "triangle", "step"]
KINDS = ("single", "histogram", "triangle", "step")


def fit(
    source: Source,
    *,
    kind: Kind | None = None,
    unit: str | None = None,
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
      certain to come and has not come yet); Kaplan-Meier.
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
        largest: The largest delay possible, where it is known. It replaces assumptions about a tail
            that the data do not show, and the limits then allow what is unseen anywhere up to
            there. Totals around a step do not take it.
        stopped_at: The first bucket in which all options were off, for totals around a step.
        started_at: The first bucket in which all options were on, for totals around a step.
        background: What comes per bucket without the options, for totals around a step.
        seed: For limits that are drawn; the same seed gives the same limits.
        form: How a file is written, where that cannot be seen.

    >>> fitted = fit({"delay": [1, 3, 4, 8, 9, 9], "censored": [0, 0, 0, 0, 0, 1]})
    >>> round(fitted.mean.value, 2), fitted.mean.low < fitted.mean.value < fitted.mean.high
    (6.8, True)
    """
    columns = read_columns(source, form)
    if columns.is_empty:
        raise InvalidInput(f"{columns.where} has no rows.")
    if kind is None:
        kind = _seen_kind(columns, stopped_at is not None or started_at is not None)
    known_name(kind, KINDS, "kind of delay data")
    if largest is not None:
        largest = finite_number(largest, "the largest delay", above=0)
    if kind == "single":
        delays = columns.numbers("delay", at_least=0)
        censored = np.zeros(len(delays), dtype=bool)
        if "censored" in columns:
            censored = columns.truths("censored")
        estimated = fit_single(delays, censored, largest)
    elif kind == "histogram":
        starts, ends = columns.numbers("from", at_least=0), _open_ends(columns)
        estimated = fit_histogram(starts, ends, columns.numbers("count", at_least=0), largest)
    else:
        buckets, dates = columns.times("bucket")
        totals = columns.numbers("total")
        if kind == "triangle":
            as_of, _ = columns.times("as_of")
            estimated, width = fit_triangle(buckets, as_of, totals, largest)
        else:
            if largest is not None:
                raise InvalidInput(
                    "totals around a step show the mean and nothing of a tail, so the largest "
                    "delay is not used; leave it out."
                )
            if (stopped_at is None) == (started_at is None):
                raise InvalidInput("totals alone need stopped_at or started_at: one of the two.")
            stopped = stopped_at is not None
            at = columns.one_time(
                stopped_at if stopped else started_at, "the time of the step", dates=dates
            )
            estimated, width = fit_step(buckets, totals, at, stopped=stopped, background=background)
        unit = _bucket_unit(width, dates, unit)
    if columns.note is not None:
        estimated = estimated._replace(warnings=[*estimated.warnings, columns.note])
    return finish(estimated, kind, unit or "time unit", level, seed)


def _seen_kind(columns: Columns, step: bool) -> Kind:
    if "as_of" in columns:
        return "triangle"
    if step:
        return "step"
    if "count" in columns:
        return "histogram"
    if "bucket" in columns and "total" in columns:
        raise InvalidInput(
            f"{columns.where} holds totals only: say with stopped_at or started_at when all "
            "options were stopped or started."
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
