"""Delays from data: single delays, a histogram, or a reporting triangle."""

from __future__ import annotations

from typing import Any

import numpy as np

from latesum._checks import InvalidInput
from latesum.delays.fitting.chain_ladder import fit_triangle
from latesum.delays.fitting.data import Columns, Source, read_columns
from latesum.delays.fitting.histogram import fit_histogram
from latesum.delays.fitting.kaplan_meier import fit_single
from latesum.delays.fitting.result import FittedDelay, finish
from latesum.files import FileForm

__all__ = ["FittedDelay", "fit"]


def fit(
    source: Source,
    *,
    unit: str | None = None,
    form: FileForm | None = None,
) -> FittedDelay:
    """How late rewards come, estimated from whichever data there are.

    What the data hold is seen by their columns:

    - Single delays: `delay`, and `censored` (true where only "longer than this" is known: the
      reward is certain to come and has not come yet); Kaplan-Meier.
    - A histogram: `from`, `to`, `count`; an empty last `to` is an open bin.
    - A triangle: `bucket`, `as_of`, `total`: what was known at the end of bucket `as_of` of the
      rewards of decisions in `bucket`. Numbers or dates.

    Args:
        source: A CSV, Excel or Parquet file, a mapping of columns, or a list of delays.
        unit: The name of the time unit, for tables; buckets that are dates have theirs.
        form: How a file is written, where that cannot be seen.

    >>> fitted = fit({"delay": [1, 3, 4, 8, 9, 9], "censored": [0, 0, 0, 0, 0, 1]})
    >>> round(fitted.mean.value, 2), fitted.mean.low < fitted.mean.value < fitted.mean.high
    (6.8, True)
    """
    columns = read_columns(source, form)
    if columns.is_empty:
        raise InvalidInput(f"{columns.where} has no rows.")
    if "as_of" in columns:
        kind = "triangle"
        (buckets, dates), (as_of, _) = columns.times("bucket"), columns.times("as_of")
        estimated, width = fit_triangle(buckets, as_of, columns.numbers("total"))
        unit = _bucket_unit(width, unit) if dates else unit or "bucket"
    elif "count" in columns:
        kind = "histogram"
        starts, ends = columns.numbers("from", at_least=0), _open_ends(columns)
        estimated = fit_histogram(starts, ends, columns.numbers("count", at_least=0))
    else:
        kind = "single"
        delays = columns.numbers("delay", at_least=0)
        censored = np.zeros(len(delays), dtype=bool)
        if "censored" in columns:
            censored = columns.truths("censored")
        estimated = fit_single(delays, censored)
    if columns.note is not None:
        estimated = estimated._replace(warnings=[*estimated.warnings, columns.note])
    return finish(estimated, kind, unit or "time unit")


def _open_ends(columns: Columns) -> Any:
    last = columns.take("to")[-1]
    if last is None or str(last).strip().lower() in ("", "nan", "inf"):
        return np.append(columns.numbers("to", rows=slice(None, -1)), np.inf)
    return columns.numbers("to")


def _bucket_unit(width: float, said: str | None) -> str:
    """The unit of delays in buckets that are dates; a unit that was said must be it."""
    named = {1.0: "day", 7.0: "week", 1 / 24: "hour"}
    seen = next((name for days, name in named.items() if abs(width - days) < 1e-6), None)
    word = "" if said is None else said.strip().lower().removesuffix("s")
    if said is not None and (seen is None or word not in (seen, seen[0])):
        are = f"{seen}s" if seen else f"{width:g} days long"
        raise InvalidInput(
            f"the buckets are {are}, so that the delays come out in that unit and not in {said!r}; "
            "leave the unit out."
        )
    return seen or f"bucket of {width:g} days"
