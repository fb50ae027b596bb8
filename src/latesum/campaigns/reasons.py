"""Why a decision was taken, as a sentence that keeps its data; and as the log has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latesum._sentences import Sentence, sentence


def say_asked(option: str, span: str, why: str) -> Sentence:
    """What a policy asked for, for how long, and why.

    >>> say_asked("red", "2 days", "to learn about it")
    'red for 2 days, to learn about it.'
    """
    return sentence("{option} for {span}, {why}.", kind="asked", option=option, span=span, why=why)


def reason_of(body: Mapping[str, Any]) -> str:
    """The reason that the log has of a decision, with its data where a policy gave it.

    >>> body = {"reason": "red for 2 days, to learn about it.", "why": "to learn about it"}
    >>> reason_of(body).fields["option"], reason_of(body).fields["span"]
    ('red', '2 days')
    """
    text: str = body["reason"]
    if "why" not in body:
        return text
    option, _, span = text.removesuffix(f", {body['why']}.").rpartition(" for ")
    return say_asked(option, span, body["why"])
