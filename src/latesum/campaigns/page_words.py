"""Sentences in the words of those who decide at a page: days, dates and percent, labels and buttons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from latesum._sentences import Reader, counted
from latesum.campaigns.buckets import span_text
from latesum.campaigns.outlook import percent

if TYPE_CHECKING:
    from latesum.campaigns.status import Status

#: The labels of the page's fields, by the names that settings have elsewhere.
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "columns": "Columns",
        "date_format": "Dates",
        "decimal": "Decimal mark",
        "skip_lines": "Lines above the names",
        "sheet": "Sheet",
        "preset": "Comes from",
        "add_up": "Add up rows of the same time",
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


#: What is said otherwise to those who have buttons.
_WITH_BUTTONS = {
    "not asked for since": "No one has asked what to show since {label}, {missed} {word}s ago; {option} is taken to have "
    "gone on. If the campaign still runs, press “Decide now”, or let a program ask, once in every {word}; otherwise "
    "finish it.",
    "not asked for": "{carried} of the last {last} {word}s were not asked for, so what ran is taken to have gone on and "
    "the policy could not choose: press “Decide now”, or let a program ask, once in every {word}.",
    "bring in totals": "Bring in totals",
    "effects that stay": "The method takes the options' effects to stay as they are: where they change during the "
    "campaign, it can end on an option that is no longer the best. Where options are new to people, say so. No method "
    "here follows rates that go on changing: finish the campaign then and start a new one.",
    "weekdays": "Options are compared on different days, so a good weekday may be taken for a good option; periods of "
    "whole weeks avoid that.",
    "rounds not as expected": "A {word} has {mean:visitors} on average, not {expected:,} as expected. Delays given in time "
    "were turned into visitors by that; set it right, and give the horizon and the delays again with it.",
}
#: What is said otherwise to those who decide.
_FOR_MANAGERS = {
    "estimate": "{option} has a mean of about {mean:mean}; it might be as good as {bound:mean}. As much is known of it as "
    "{worth:rounds} without any delay would tell.",
    "late, as told": "Rewards are {mean:late} late on average ({told:late} was said at the start).",
    "nothing known at the end": "though nothing is known yet: the time to learn is over",
    "shown for": "{found}{label:bucket}: {option} is shown for {span}, {why}.",
    "decided for": "decided {label}: {option} for {span}, {why}.",
}
_BUTTONS = {"unpin": "end the pin"}


class PageReader(Reader):
    """How it is said at a page: settings are fields with labels, commands are buttons."""

    templates: Mapping[str, str] = _WITH_BUTTONS

    def _setting(self, value: str | tuple[str, ...], name: str) -> str:
        given = (value,) if isinstance(value, str) else value
        values = [_CHOICES.get(each, each) for each in given if each]
        return f"“{LABELS[name]}”" + (f" ({' or '.join(values)})" if values else "")

    def _visitors(self, value: float, name: str) -> str:
        return counted(f"{value:,.0f}", "visitor")

    def _command(self, value: str, name: str) -> str:
        return _BUTTONS.get(name, name)

    def _aside(self, value: str, name: str) -> str:
        return ""


class Words(PageReader):
    """How it is said of a campaign to those who decide: in days and dates, in percent or in what is counted.

    Args:
        every: What a bucket is.
        expected_rounds: The rounds in a bucket.
        range: The least and the most that a round can bring; between 0 and 1 a mean is a share.
        buttons: Whether they have buttons, and not commands.

    >>> from latesum._sentences import sentence
    >>> words = Words("day", 5000, (0.0, 1.0))
    >>> words.tell(sentence("{option} for {rounds:block}: {mean:mean}.", option="red", rounds=15_000, mean=0.0253))
    'red for about 3 days: 2.53%.'
    """

    def __init__(
        self,
        every: str,
        expected_rounds: int,
        range: tuple[float, float],
        *,
        buttons: bool = True,
    ) -> None:
        self._every = every
        self._expected = expected_rounds
        self._low, self._high = range
        self._shares = range == (0.0, 1.0)
        self._buttons = buttons
        self.templates = {**_FOR_MANAGERS, **(_WITH_BUTTONS if buttons else {})}

    def rate(self, value: float) -> str:
        """What a round brings.

        Args:
            value: The mean, in what the totals count.
        """
        return percent(value) if self._shares else f"{value:,.4g}"

    def _rounds(self, value: float, name: str) -> str:
        if self._every == "number":
            return self._visitors(value, name)
        buckets = value / self._expected
        if buckets < 1:
            return f"about {span_text(buckets, self._every)}"
        shown = f"{buckets:,.0f}" if buckets >= 10 else f"{buckets:.2g}"
        return f"about {counted(shown, self._every)}"

    def _block(self, value: float, name: str) -> str:
        if self._every == "number":
            return self._visitors(value, name)
        shown = f"{max(1, round(value / self._expected)):,}"  # an option is shown for whole buckets
        return f"about {counted(shown, self._every)}"

    def _late(self, value: float, name: str) -> str:
        if self._every != "number":
            return self._rounds(value, name)
        return f"about {counted(f'{value:,.4g}', 'visitor')}"

    def _buckets(self, value: float, name: str) -> str:
        if self._every == "number":
            return super()._buckets(value, name)
        shown = f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
        return counted(shown, self._every)

    def _bucket(self, value: str, name: str) -> str:
        return f"Bucket {value}" if self._every == "number" else value

    def _unit(self, value: str, name: str) -> str:
        return "bucket" if self._every == "number" else self._every

    def _mean(self, value: float, name: str) -> str:
        return self.rate(self._low + (self._high - self._low) * value)

    def _points(self, value: float, name: str) -> str:
        if self._shares:
            return f"{100 * value:.3g} percentage points"
        return f"{(self._high - self._low) * value:,.4g}"

    def _command(self, value: str, name: str) -> str:
        return (
            super()._command(value, name) if self._buttons else Reader._command(self, value, name)
        )

    def _aside(self, value: str, name: str) -> str:
        return super()._aside(value, name) if self._buttons else Reader._aside(self, value, name)


def words_of(status: Status, *, buttons: bool = True) -> Words:
    """The words of a campaign's page.

    Args:
        status: What is shown.
        buttons: Whether the page has buttons.
    """
    return Words(
        status.every,
        status.expected_rounds,
        status.range,
        buttons=buttons,
    )
