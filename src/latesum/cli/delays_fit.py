"""`latesum delays`: a delay written as text, or `latesum delays fit FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from latesum import delays
from latesum._checks import InvalidInput
from latesum._extras import need
from latesum._render import new_table, terminal
from latesum.cli.describe import show_delay
from latesum.cli.file_options import Columns, DateFormat, Decimal, Sheet, SkipLines, Thousands
from latesum.delays import FittedDelay
from latesum.delays.fitting.result import plural
from latesum.files import FileForm


def delays_command(
    what: Annotated[str, typer.Argument(help='A delay, such as "exponential(50)", or: fit')],
    file: Annotated[
        Path | None, typer.Argument(help="For fit: a CSV, Excel or Parquet file.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="single, histogram, triangle or step; seen by its columns.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of time of the file.")] = None,
    largest: Annotated[float | None, typer.Option(help="The largest delay, if known.")] = None,
    stopped_at: Annotated[
        str | None, typer.Option(help="First bucket with all options off.")
    ] = None,
    started_at: Annotated[
        str | None, typer.Option(help="First bucket with all options on.")
    ] = None,
    background: Annotated[float, typer.Option(help="Total per bucket without the options.")] = 0.0,
    level: Annotated[float, typer.Option(help="Of the confidence limits.")] = 0.95,
    rounds_per_unit: Annotated[
        float | None,
        typer.Option(help="Also print the delay in rounds, with this many rounds per unit."),
    ] = None,
    columns: Columns = None,
    date_format: DateFormat = None,
    decimal: Decimal = None,
    thousands: Thousands = None,
    skip_lines: SkipLines = None,
    sheet: Sheet = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the fit here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """The mean, variance and bound of a delay; or of one fitted to data: `delays fit FILE`."""
    if what != "fit":
        if file is not None:
            raise InvalidInput(f"{what!r} takes no file; did you mean: latesum delays fit {file}")
        show_delay(what)
        return
    if file is None:
        raise InvalidInput("say which file: latesum delays fit FILE")
    if plot:
        need("plots")
    given: Any = kind
    form = FileForm.create(
        columns=columns, date_format=date_format, decimal=decimal, thousands=thousands,
        skip_lines=skip_lines, sheet=sheet,
    )  # fmt: skip
    fitted = delays.fit(
        file, kind=given, unit=unit, largest=largest,
        stopped_at=stopped_at, started_at=started_at, background=background, level=level,
        form=form,
    )  # fmt: skip
    if plot:
        fitted.plot(plot)
    if as_json:
        print(json.dumps(fitted.to_json(), indent=2))
        return
    _show(fitted)
    if rounds_per_unit:
        print(fitted.delay(rounds_per_unit).text)
    if plot:
        print(f"The picture: {plot}")


def _show(fitted: FittedDelay) -> None:
    title = f"Delays from {fitted.basis}, in {plural(fitted.unit)}"
    table = new_table(title, ["", "estimate", f"{fitted.level:.0%} limits"])
    rows = {"mean": fitted.mean, "variance": fitted.variance}
    rows |= {f"{share:.0%} arrive within": row for share, row in fitted.quantiles.items()}
    for name, row in rows.items():
        table.add_row(name, f"{row.value:,.4g}", f"{row.low:,.4g} to {row.high:,.4g}")
    table.add_row("standard error of the mean", f"{fitted.mean_error:,.4g}", "")
    if fitted.mack_error is not None:
        table.add_row("the same, Mack's formula", f"{fitted.mack_error:,.4g}", "")
    table.add_row("largest seen", f"{fitted.largest_seen:,.4g}", "")
    bound = "not known" if fitted.bound is None else f"{fitted.bound:,.4g}"
    table.add_row("largest possible", bound, "")
    terminal().print(table)
    for warning in fitted.warnings:
        print(f"Warning: {warning}")
