"""`latesum campaign buckets | decisions | estimates`: tables for other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from latesum.cli.campaign_options import AsJson, CampaignName, opened

Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, json or parquet; by default by the file's name."),
]
Out = Annotated[Path | None, typer.Option(help="A file; by default it is printed.")]


def show_buckets(
    campaign: CampaignName = None, out: Out = None, kind: Format = None, as_json: AsJson = False
) -> None:
    """Every bucket with what was shown and its total; `import` reads it again."""
    _show("buckets", campaign, out, "json" if as_json else kind)


def show_decisions(
    campaign: CampaignName = None, out: Out = None, kind: Format = None, as_json: AsJson = False
) -> None:
    """Every decision with its reason."""
    _show("decisions", campaign, out, "json" if as_json else kind)


def show_estimates(
    campaign: CampaignName = None,
    level: Annotated[float, typer.Option(help="How sure the intervals are.")] = 0.95,
    out: Out = None,
    kind: Format = None,
    as_json: AsJson = False,
) -> None:
    """What is believed of each option."""
    _show("estimates", campaign, out, "json" if as_json else kind, level)


def _show(
    name: str, campaign: str | None, out: Path | None, kind: str | None, level: float = 0.95
) -> None:
    from latesum.files.written import format_of

    kind = format_of(out, kind)
    with opened(campaign) as found:
        table = found.table(name, level)
    if out is not None:
        table.write(out, kind)
        print(f"{len(table.rows)} rows: {out}")
    elif kind == "json":
        print(json.dumps(table.to_records(), indent=1, ensure_ascii=False))
    else:
        print(table.to_csv(), end="")
