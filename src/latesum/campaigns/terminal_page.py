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

from latesum.campaigns.health import Finding
from latesum.campaigns.view import BucketRow, Status
from latesum.campaigns.vocabulary import HealthLevel

COLOURS = ("blue", "dark_orange3", "green4", "magenta", "red", "cyan", "yellow4", "grey50")
_SIGNS = {"known": "█", "pending": "▒", "running": "▒", "missing": "×"}
_STYLES: dict[HealthLevel, str] = {"alarm": "bold red", "warning": "yellow", "note": "dim"}
_LABEL_WIDTH = 17


def status_page(status: Status, width: int = 100) -> RenderableType:
    """The whole page."""
    parts: list[RenderableType] = [
        Text(f"{status.name} ({status.state})", style="bold"),
        Text(status.headline),
        Text(""),
    ]
    parts += [Text(line, style=_STYLES[level]) for level, line in health_lines(status.health)]
    if status.health:
        parts.append(Text(""))
    parts.append(_options_table(status))
    if status.why_no_winner and status.timeline:
        parts.append(Text(status.why_no_winner))
    if status.gain is not None:
        parts.append(Text(gain_sentence(status)))
    parts.append(Text(status.data))
    if status.own_delay is not None:
        parts.append(Text(status.own_delay.sentence))
    if status.regions:
        parts += [Text(""), *regions_grid(status, width)]
    elif status.timeline:
        parts += [Text(""), *timeline(status, width)]
    if status.explanation:
        parts += [Text(""), Text("Why", style="bold")]
        parts += [Text(sentence) for sentence in status.explanation]
    if status.acts:
        parts += [Text(""), Text("History", style="bold")]
        parts += [Text(sentence) for sentence in status.acts]
    return Group(*parts)


def health_lines(findings: list[Finding]) -> list[tuple[HealthLevel, str]]:
    """A line for each finding, with its level."""
    signs = {"alarm": "ALARM:", "warning": "!", "note": "Note:"}
    return [(each.level, f"{signs[each.level]} {each.text}") for each in findings]


def gain_sentence(status: Status) -> str:
    """What the campaign has brought, compared with an equal split."""
    gain = status.gain or 0.0
    size = f"{abs(gain):,.0f}"
    compared = "as much as" if size == "0" else f"{size} {'more' if gain > 0 else 'less'} than"
    # The unit is the campaign's own word, of which only one form is known.
    return (
        f"So far, in {status.unit}: about {compared} if all options had been shown equally often, by the present "
        "estimates."
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
            Text(row.name, style=COLOURS[row.arm % len(COLOURS)]),
            counted(row.buckets, status.every if status.every != "number" else "bucket"),
            f"{row.rounds:,}",
            "?" if row.mean is None else rate_text(row.mean, status.range),
            interval,
            "" if row.uplift is None else signed(row.uplift, 1),
            "?" if row.probability_best is None else f"{row.probability_best:.0%}",
            row.status if row.status != "winner" else Text("winner", style="bold green"),
        )
    return table


def regions_grid(status: Status, width: int) -> list[Text]:
    """A row per region and a column per bucket: a letter for the option, in its colour."""
    regions = list(status.regions)
    name_width = min(max(len(region) for region in regions), 20)
    columns = max(width - name_width - 3, 20)
    letters = {row.arm: chr(ord("A") + row.arm % 26) for row in status.options}
    shown = {(row.region, row.bucket): row for row in status.timeline}
    buckets = sorted({row.bucket for row in status.timeline})
    labels = {row.bucket: row.label for row in status.timeline}
    lines = [Text("Which option was shown where and when", style="bold")]
    for start in range(0, len(buckets), columns):
        block = buckets[start : start + columns]
        for region in regions:
            line = Text(f"{region[:20]:<{name_width}}  ")
            for bucket in block:
                row = shown.get((region, bucket))
                letter = "·" if row is None else letters[row.arm]
                if row is not None and row.state in ("pending", "running"):
                    letter = letter.lower()
                line.append(letter, "" if row is None else COLOURS[row.arm % len(COLOURS)])
            lines.append(line)
        first, last = labels[block[0]], labels[block[-1]]
        gap = " " * max(len(block) - len(first) - len(last), 1)
        lines.append(Text(f"{'':<{name_width}}  {first}" + (gap + last if len(block) > 1 else "")))
    names = "   ".join(f"{letters[row.arm]} {row.name}" for row in status.options)
    lines.append(Text(f"{names}   (small: the total is awaited)"))
    return lines


def timeline(status: Status, width: int) -> list[Text]:
    """One row per option and one column per bucket, in as many blocks as the width needs."""
    name_width = min(max(len(row.name) for row in status.options), 20)
    columns = max(width - name_width - 3, 20)
    lines = [Text("Which option was shown when", style="bold")]
    for start in range(0, len(status.timeline), columns):
        block = status.timeline[start : start + columns]
        for option in status.options:
            style = COLOURS[option.arm % len(COLOURS)]
            signs = "".join(_sign(row) if row.arm == option.arm else "·" for row in block)
            lines.append(Text.assemble(f"{option.name[:20]:<{name_width}}  ", (signs, style)))
        first, last = block[0].label, block[-1].label
        gap = " " * max(len(block) - len(first) - len(last), 1)
        lines.append(Text(f"{'':<{name_width}}  {first}" + (gap + last if len(block) > 1 else "")))
    lines.append(Text("█ total known   ▒ awaited   × missing   ○ not as the policy decided"))
    return lines


def _sign(row: BucketRow) -> str:
    return "○" if row.purpose == "override" or row.decided != row.option else _SIGNS[row.state]
