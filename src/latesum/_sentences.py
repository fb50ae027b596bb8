"""Sentences with the data they were made of, so that each reader gets them in words of its own.

A sentence is a text, and where it has values in it, it knows them: a kind, a template and its fields. The text is that
for researchers and the command line. A page or a program reads the same data in its own words (`Reader`); nobody
has to search a text for what was put into it. A plain text is a sentence too, and is shown as it is.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_NONE: Mapping[str, Any] = MappingProxyType({})


class Sentence(str):
    """A text that was made of a template and its fields; `sentence` makes one.

    >>> said = sentence("{option} for {rounds:block}.", kind="next", option="red", rounds=1500)
    >>> said, said.kind, said.fields["rounds"]
    ('red for 1,500 rounds.', 'next', 1500)
    """

    kind: str = ""
    template: str = ""
    fields: Mapping[str, Any] = _NONE


def sentence(template: str, /, *, kind: str = "", **fields: Any) -> Sentence:
    """A sentence from its data.

    Args:
        template: A text with fields, as `str.format` takes it. A field's format is one of Python's, or says what the
            value is, for readers to word it: see `Reader`.
        kind: What is said, for programs, and for readers that say it otherwise.
        **fields: The values; sentences among them.

    >>> sentence("{who} said: {what}", who="ada", what=sentence("use {decimal:setting}", decimal="','"))
    "ada said: use --decimal ','"
    """
    made = Sentence(Reader().filled(template, fields))
    made.kind, made.template, made.fields = kind, template, fields
    return made


def counted(number: int | str, noun: str) -> str:
    """A number of things; a number that is rounded comes as the text that is shown.

    >>> counted(1, "day"), counted(3_000, "round"), counted("1", "day"), counted("1.5", "day")
    ('1 day', '3,000 rounds', '1 day', '1.5 days')
    """
    shown = number if isinstance(number, str) else f"{number:,}"
    return f"{shown} {noun}" + ("" if shown == "1" else "s")


def joined(parts: list[str], between: str = " ") -> str:
    """Several sentences as one.

    Args:
        parts: The sentences.
        between: What stands between two of them.
    """
    names = [f"part_{number}" for number in range(len(parts))]
    template = between.join(f"{{{name}}}" for name in names)
    return sentence(template, **dict(zip(names, parts, strict=True)))


class Reader:
    """How values are said to researchers and on the command line; others override what they say otherwise.

    A field's format may be one of `formats`: a number of rounds (`rounds`), for which something is played (`block`),
    which were counted (`visitors`), a delay in rounds (`late`), a number of buckets (`buckets`), the name of a bucket
    (`bucket`), the word for one (`unit`), a mean between 0 and 1 (`mean`), a difference of two (`points`); a setting, whose name is the field's and
    whose value may be several (`setting`); a command of a campaign, whose name is the field's, with its options
    (`command`), or as a remark (`aside`).
    """

    #: Other templates for sentences of these kinds.
    templates: Mapping[str, str] = _NONE
    formats = (
        "rounds", "block", "visitors", "late", "buckets", "bucket", "unit", "mean", "points", "setting", "command", "aside",
    )  # fmt: skip

    def tell(self, said: str) -> str:
        """The text of a sentence for this reader; a plain text as it is.

        Args:
            said: The sentence.
        """
        if not isinstance(said, Sentence):
            return said
        return self.filled(self.templates.get(said.kind, said.template), said.fields)

    def filled(self, template: str, fields: Mapping[str, Any]) -> str:
        """A template with its fields in this reader's words.

        Args:
            template: The template.
            fields: The values.
        """
        text = []
        formatter = string.Formatter()
        for literal, name, spec, conversion in formatter.parse(template):
            text.append(literal)
            if name is None:
                continue
            value = fields[name]
            if conversion is not None:
                value = formatter.convert_field(value, conversion)
            if spec in self.formats:
                text.append(getattr(self, f"_{spec}")(value, name))
            else:
                text.append(
                    self.tell(value) if isinstance(value, Sentence) else format(value, spec or "")
                )
        return "".join(text)

    def _rounds(self, value: float, name: str) -> str:
        return counted(f"{value:,.0f}", "round")

    def _block(self, value: float, name: str) -> str:
        return self._rounds(value, name)

    def _visitors(self, value: float, name: str) -> str:
        return self._rounds(value, name)

    def _late(self, value: float, name: str) -> str:
        return f"about {counted(f'{value:,.4g}', 'round')}"

    def _buckets(self, value: float, name: str) -> str:
        shown = f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
        return counted(shown, "bucket")

    def _bucket(self, value: str, name: str) -> str:
        return value

    def _unit(self, value: str, name: str) -> str:
        return "bucket"

    def _mean(self, value: float, name: str) -> str:
        return f"{value:.3f}"

    def _points(self, value: float, name: str) -> str:
        return f"{value:g}"

    def _setting(self, value: str | tuple[str, ...], name: str) -> str:
        flag = "--" + name.replace("_", "-")
        values = (value,) if isinstance(value, str) else value
        return " or ".join(f"{flag} {each}".rstrip() for each in values)

    def _command(self, value: str, name: str) -> str:
        return f"`latesum campaign {name.replace('_', '-')} {value}".rstrip() + "`"

    def _aside(self, value: str, name: str) -> str:
        return f" ({self._command(value, name)})"


class ProgramReader(Reader):
    """How it is said to those who send requests: settings are fields of the request."""

    def _setting(self, value: str | tuple[str, ...], name: str) -> str:
        values = (value,) if isinstance(value, str) else value
        return " or ".join(f"{name}={each}" if each else f"the field {name}" for each in values)
