# ruff: noqa: E402
"""The status of a campaign in the terminal, for people who do not read code."""

from __future__ import annotations

from latesum._extras import need
from latesum._render import counted, rate_text, signed

need("cli")  # before anything of it is imported

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from latesum.campaigns.health import HealthLevel
from latesum.campaigns.view import BucketRow, Status

COLORS = ("blue", "dark_orange3", "green4", "magenta", "red", "cyan", "yellow4", "grey50")
_SIGNS = {"known": "█", "pending": "▒", "running": "▒", "missing": "×"}
_STYLES: dict[HealthLevel, str] = {"alarm": "bold red", "warning": "yellow", "note": "dim"}


def status_page(status: Status, width: int = 100) -> RenderableType:
    """The whole page."""
    parts: list[RenderableType] = [
        Text(f"{status.name} ({status.state})", style="bold"),
        Text(status.headline),
        Text(""),
    ]
    parts += [Text(each.line, style=_STYLES[each.level]) for each in status.health]
    if status.health:
        parts.append(Text(""))
    parts.append(_options_table(status))
    if status.why_no_winner and status.timeline:
        parts.append(Text(status.why_no_winner))
    if status.gain is not None:
        parts.append(Text(gain_sentence(status)))
    parts.append(Text(status.data))
    if status.timeline:
        parts += [Text(""), *timeline(status, width)]
    if status.explanation:
        parts += [Text(""), Text("Why", style="bold")]
        parts += [Text(sentence) for sentence in status.explanation]
    if status.actions:
        parts += [Text(""), Text("History", style="bold")]
        parts += [Text(sentence) for sentence in status.actions]
    return Group(*parts)


def gain_sentence(status: Status) -> str:
    """What the campaign has brought, compared with an equal split."""
    gain = status.gain or 0.0
    size = f"{abs(gain):,.0f}"
    compared = "as much as" if size == "0" else f"{size} {'more' if gain > 0 else 'less'} than"
    # The unit is the campaign's own word, of which only one form is known.
    return (
        f"So far, in {status.unit}: about {compared} if all options had been shown equally often, "
        "by the present estimates."
    )


def _options_table(status: Status) -> Table:
    """The estimates of the options, for policies and market models alike."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("option")
    for column in ("shown for", "visitors", f"{status.unit} per visitor"):
        table.add_column(column, justify="right")
    table.add_column(f"{status.level:.0%} confidence interval", no_wrap=True)
    table.add_column(f"uplift on {status.status_quo}", justify="right")
    table.add_column("probability of being best", justify="right", min_width=11)
    table.add_column("status")
    for row in status.options:
        interval = "nothing known yet"
        if row.mean is not None:
            low, high = (rate_text(each, status.range) for each in (row.low, row.high))
            interval = f"{low} to {high}"
        table.add_row(
            Text(row.name, style=COLORS[row.arm % len(COLORS)]),
            counted(row.buckets, status.every),
            f"{row.rounds:,}",
            "?" if row.mean is None else rate_text(row.mean, status.range),
            interval,
            "" if row.uplift is None else signed(row.uplift, 1),
            "?" if row.probability_best is None else f"{row.probability_best:.0%}",
            row.status if row.status != "winner" else Text("winner", style="bold green"),
        )
    return table


def timeline(status: Status, width: int) -> list[Text]:
    """A row per region, or per option where there are none, and a column per bucket."""
    regional = bool(status.regions)
    names = list(status.regions) or [row.name for row in status.options]
    name_width = min(max(len(name) for name in names), 20)
    columns = max(width - name_width - 3, 20)
    shown = {(row.region if regional else row.option, row.bucket): row for row in status.timeline}
    labels = {row.bucket: row.label for row in status.timeline}
    buckets = sorted(labels)
    lines = [Text(f"Which option was shown {'where and ' * regional}when", style="bold")]
    for start in range(0, len(buckets), columns):
        block = buckets[start : start + columns]
        for name in names:
            line = Text(f"{name[:20]:<{name_width}}  ")
            for bucket in block:
                row = shown.get((name, bucket))
                style = "" if row is None else COLORS[row.arm % len(COLORS)]
                line.append("·" if row is None else _sign(row, regional=regional), style)
            lines.append(line)
        first, last = labels[block[0]], labels[block[-1]]
        gap = " " * max(len(block) - len(first) - len(last), 1)
        lines.append(Text(f"{'':<{name_width}}  {first}" + (gap + last if len(block) > 1 else "")))
    if not regional:
        signs = "█ total known   ▒ awaited   × missing   ○ not as the policy decided"
        return [*lines, Text(signs)]
    letters = "   ".join(f"{_letter(row.arm)} {row.name}" for row in status.options)
    return [*lines, Text(f"{letters}   (small: the total is awaited)")]


def _sign(row: BucketRow, *, regional: bool) -> str:
    """A letter for the option, or a sign for its total."""
    if not regional:
        return "○" if row.purpose == "override" or row.ordered else _SIGNS[row.state]
    letter = _letter(row.arm)
    return letter.lower() if row.state in ("pending", "running") else letter


def _letter(arm: int) -> str:
    return chr(ord("A") + arm % 26)
