"""Sentences in the words of those who decide at a page: days, dates and percent, labels and buttons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from latesum._sentences import Reader

#: The labels of the page's fields, by the names that settings have elsewhere.
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "columns": "Columns",
        "date_format": "Dates",
        "decimal": "Decimal mark",
        "skip_lines": "Lines above the names",
        "sheet": "Sheet",
        "preset": "Comes from",
        "add_up": "Several rows of one bucket are parts of it",
        "even_if_final": "Correct it even if it is final",
        "beyond_range": "It is right, though it seems impossible",
        "status": "It is",
        "shown": "Something else was shown than decided",
        "regions": "Regions",
        "time_basis": "A day's total holds",
    }
)
#: What the page offers to choose in place of these values.
_CHOICES = {"','": "comma", "'.'": "point", "decision": "what visitors of that day brought"}


class PageReader(Reader):
    """How it is said at a page: settings are fields with labels, commands are buttons."""

    templates: ClassVar[Mapping[str, str]] = {
        "not asked for since": "No one has asked what to show since {label}, {ago:buckets} ago; {option} is taken to have "
        "gone on. If the campaign still runs, press “Decide now”, or let a program ask, once in every {word}; "
        "otherwise finish it.",
        "not asked for": "{carried} of the last {last} {word}s were not asked for, so what ran is taken to have gone on "
        "and the policy could not choose: press “Decide now”, or let a program ask, once in every {word}.",
        "bring in totals": "Bring in totals",
        "effects that stay": "The method takes the options' effects to stay as they are: where they change during the "
        "campaign, it can end on an option that is no longer the best. Where options are new to people, say so; for "
        "rates that go on changing, take another method, such as guarded.",
        "weekdays": "Options are compared on different days, so a good weekday may be taken for a good option; periods of "
        "whole weeks avoid that.",
    }

    def _setting(self, value: str | tuple[str, ...], name: str) -> str:
        given = (value,) if isinstance(value, str) else value
        values = [_CHOICES.get(each, each) for each in given if each]
        return f"“{LABELS[name]}”" + (f" ({' or '.join(values)})" if values else "")

    def _visitors(self, value: float, name: str) -> str:
        return f"{value:,.0f} visitor{'' if value == 1 else 's'}"

    def _command(self, value: str, name: str) -> str:
        return name.replace("_", "-")

    def _aside(self, value: str, name: str) -> str:
        return ""
