"""`latesum delays`: a delay written as text, or `latesum delays fit FILE`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from latesum import delays
from latesum._checks import InvalidInput
from latesum._extras import need
from latesum._render import terminal
from latesum.cli.describe import show_delay
from latesum.cli.file_options import Columns, DateFormat, Decimal, Sheet, SkipLines, Thousands
from latesum.files import FileForm
from latesum.files.form import read_columns


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
    form = FileForm(
        columns=read_columns(columns),
        date_format=date_format,
        decimal=decimal,
        thousands=thousands,
        skip_lines=skip_lines,
        sheet=sheet,
    )
    fitted = delays.fit(
        file,
        kind=given,
        unit=unit,
        largest=largest,
        stopped_at=stopped_at,
        started_at=started_at,
        background=background,
        level=level,
        form=form,
    )
    if plot:
        fitted.plot(plot)
    if as_json:
        print(json.dumps(fitted.to_json(), indent=2))
        return
    terminal().print(fitted.table())
    for warning in fitted.warnings:
        print(f"Warning: {warning}")
    if rounds_per_unit:
        print(fitted.delay(rounds_per_unit).text)
    if plot:
        print(f"The picture: {plot}")
