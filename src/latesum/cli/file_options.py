"""The options that say how a file is written, for every command that reads one."""

from __future__ import annotations

from typing import Annotated

import typer

Columns = Annotated[
    str | None,
    typer.Option(help="What your columns are called: rounds=Clicks,total=Conversions."),
]
DateFormat = Annotated[
    str | None,
    typer.Option(help="day-first, month-first, or a pattern such as %d.%m.%y."),
]
Decimal = Annotated[str | None, typer.Option(help="The decimal mark: . or ,")]
Thousands = Annotated[
    str | None, typer.Option(help="What stands between thousands: . or , or ' or a blank.")
]
SkipLines = Annotated[
    int | None, typer.Option(help="How many lines stand before the names of the columns.")
]
Sheet = Annotated[str | None, typer.Option(help="The sheet of an Excel file.")]
PresetName = Annotated[
    str | None, typer.Option("--preset", help="google-ads, meta-ads or amazon-ads; none ends one.")
]
AddUp = Annotated[bool | None, typer.Option(help="Rows of one bucket are parts of it.")]
