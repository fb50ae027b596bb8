"""`latesum policies`, and `latesum delays`: a delay written as text, or fitted to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import latesum.attributed  # noqa: F401 - its baselines are among the policies
from latesum._checks import InvalidInput
from latesum._extras import need
from latesum._plugins import POLICIES
from latesum._render import new_table, terminal
from latesum.cli.options import FILE_OPTIONS, AsJson, take_form, with_options
from latesum.delays import fit, parse
from latesum.policies import registry

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60
_PRIOR = ("horizon", "mean_delay", "delay_variance", "delay_bound", "best_arm")


def policies() -> None:
    """The policies there are, and what each must be given."""
    columns = ["policy", "is given", "what it does"]
    table = new_table(None, columns, texts=columns)
    for name in registry.available():
        accepted = registry.accepted_parameters(name)
        needs = ", ".join(each.replace("_", " ") for each in _PRIOR if each in accepted)
        table.add_row(name, needs or "nothing", registry.describe(name))
    about = (
        "One model of all buckets and regions: weekdays, drift, late sales; in campaigns, markets."
    )
    table.add_row("switchback", "horizon, mean delay", about)
    for name in registry.available("attributed"):
        knows = POLICIES.find(name).delay_knowledge
        table.add_row(f"{name} *", knows, registry.describe(name))
    table.caption = "* attributed feedback: a reference, not for totals"
    terminal().print(table)


def _delays(
    what: Annotated[str, typer.Argument(help='A delay, such as "exponential(50)", or: fit')],
    file: Annotated[
        Path | None, typer.Argument(help="For fit: a CSV, Excel or Parquet file.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of time of the file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a picture of the fit here.")] = None,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """How late: a delay as text, or of data with `delays fit FILE`."""
    if what != "fit":
        if file is not None:
            raise InvalidInput(f"{what!r} takes no file; did you mean: latesum delays fit {file}")
        _show_delay(what)
        return
    if file is None:
        raise InvalidInput("say which file: latesum delays fit FILE")
    if plot:
        need("plots")
    fitted = fit(file, unit=unit, form=take_form(given))
    if plot:
        fitted.plot(plot)
    if as_json:
        print(json.dumps(fitted.to_json(), indent=2))
        return
    terminal().print(fitted.table())
    for warning in fitted.warnings:
        print(f"Warning: {warning}")
    if plot:
        print(f"The picture: {plot}")


_OF_FILE = {name: kind for name, kind in FILE_OPTIONS.items() if name != "add_up"}
delays = with_options(_delays, _OF_FILE)


def _show_delay(text: str) -> None:
    """The mean, spread, variance and bound of a delay, in rounds, and a small histogram."""
    delay = parse(text)
    table = new_table(delay.short_text, ["", "rounds"])
    table.add_row("mean", f"{delay.mean:,.4g}")
    table.add_row("spread (of two, apart)", f"{delay.spread:,.4g}")
    table.add_row("variance", f"{delay.variance:,.4g}")
    table.add_row("bound", "none" if delay.bound is None else f"{delay.bound:,}")
    for share in (0.5, 0.9, 0.99):
        table.add_row(f"{share:.0%} arrive within", f"{delay.quantile(share):,}")
    console = terminal()
    console.print(table)
    last = max(delay.quantile(0.99), 1)
    edges = np.unique(np.linspace(-1, last, _WIDTH + 1).astype(np.int64))
    shares = -np.diff(delay.survival(edges)) / np.diff(edges)
    heights = np.rint(shares / shares.max() * (len(_BARS) - 1)).astype(int)
    line = "".join(_BARS[height] for height in heights)
    console.print(f"{line}\n0{f'{last:,} rounds':>{max(len(line) - 1, 1)}}")
