"""`latesum policies` and `latesum delays`."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

import latesum.attributed  # noqa: F401 - its baselines are among the policies
from latesum import delays
from latesum._plugins import POLICIES
from latesum._render import new_table, terminal
from latesum.delays import Delay
from latesum.policies import registry

_BARS = " ▁▂▃▄▅▆▇█"
_WIDTH = 60


def list_policies() -> None:
    """The policies there are, and what each must be given."""
    table = new_table(None, ["policy", "is given", "what it does"])
    for column in table.columns[1:]:
        column.justify = "left"
        column.no_wrap = False
    prior = ("horizon", "mean_delay", "delay_variance", "delay_bound", "best_arm")
    for name in registry.available():
        accepted = registry.accepted_parameters(name)
        needs = ", ".join(each.replace("_", " ") for each in prior if each in accepted)
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


def show_delay(
    text: Annotated[str, typer.Argument(help='A delay, such as "exponential(50)".')],
) -> None:
    """The mean, spread, variance and bound of a delay, in rounds, and a small picture of it."""
    delay = delays.parse(text)
    table = new_table(delay.short_text, ["", "rounds"])
    table.add_row("mean", f"{delay.mean:,.4g}")
    table.add_row("spread (of two, apart)", f"{delay.spread:,.4g}")
    table.add_row("variance", f"{delay.variance:,.4g}")
    table.add_row("bound", "none" if delay.bound is None else f"{delay.bound:,}")
    for share in (0.5, 0.9, 0.99):
        table.add_row(f"{share:.0%} arrive within", f"{delay.quantile(share):,}")
    console = terminal()
    console.print(table)
    console.print(picture(delay))


def picture(delay: Delay) -> str:
    """A histogram of a delay in one line, up to the time by which 99% have arrived.

    >>> print(picture(delays.uniform(0, 59)).splitlines()[0][:8])
    ████████
    """
    last = max(delay.quantile(0.99), 1)
    edges = np.unique(np.linspace(-1, last, _WIDTH + 1).astype(np.int64))
    shares = -np.diff(delay.survival(edges)) / np.diff(edges)
    heights = np.rint(shares / shares.max() * (len(_BARS) - 1)).astype(int)
    line = "".join(_BARS[height] for height in heights)
    return f"{line}\n0{f'{last:,} rounds':>{max(len(line) - 1, 1)}}"
