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
from latesum.cli.options import FILE_OPTIONS, AsJson, take_form, with_options

#: What `latesum.delays.fit` takes.
_FIT = {
    "kind": (str, "single, histogram or triangle; seen by its columns."),
    "unit": (str, "The unit of time of the file."),
    "largest": (float, "The largest delay, if known."),
    "level": (float, "Of the confidence limits; 0.95 by default."),
}


def _delays_command(
    what: Annotated[str, typer.Argument(help='A delay, such as "exponential(50)", or: fit')],
    file: Annotated[
        Path | None, typer.Argument(help="For fit: a CSV, Excel or Parquet file.")
    ] = None,
    rounds_per_unit: Annotated[
        float | None,
        typer.Option(help="Also print the delay in rounds, with this many rounds per unit."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the fit here.")] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """How late: a delay as text, or of data with `delays fit FILE`."""
    if what != "fit":
        if file is not None:
            raise InvalidInput(f"{what!r} takes no file; did you mean: latesum delays fit {file}")
        show_delay(what)
        return
    if file is None:
        raise InvalidInput("say which file: latesum delays fit FILE")
    if plot:
        need("plots")
    form = take_form(given)
    said = {name: value for name, value in given.items() if value is not None}
    fitted = delays.fit(file, form=form, **said)
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


delays_command = with_options(
    _delays_command,
    {
        **{
            name: Annotated[kind | None, typer.Option(help=help)]
            for name, (kind, help) in _FIT.items()
        },
        **{name: kind for name, kind in FILE_OPTIONS.items() if name not in ("preset", "add_up")},
    },
)
