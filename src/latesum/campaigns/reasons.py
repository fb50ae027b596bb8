"""Why a decision was taken, as a sentence that keeps its data; and as the log has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latesum._sentences import Sentence, counted, sentence


def say_asked(option: str, rounds: int, why: str) -> Sentence:
    """What a policy asked for, and why.

    >>> say_asked("red", 5000, "to learn about it")
    'red for 5,000 rounds, to learn about it.'
    """
    return sentence(
        "{option} for {rounds:block}, {why}.", kind="asked", option=option, rounds=rounds, why=why
    )


def reason_of(body: Mapping[str, Any]) -> str:
    """The reason that the log has of a decision, with its data where a policy gave it.

    An entry keeps the reason as it was written and, of what a policy asked for, `rounds` and `why`. Entries of earlier versions
    have no `why`: it is what they have after the rounds.

    >>> body = {"source": "policy", "rounds": 5000, "reason": "red for 5,000 rounds, to learn about it."}
    >>> reason_of(body).fields["why"], reason_of({**body, "why": "to learn about it"}).fields["option"]
    ('to learn about it', 'red')
    """
    text: str = body["reason"]
    if body["source"] != "policy" or body["rounds"] is None:
        return text
    middle = f" for {counted(body['rounds'], 'round')}, "
    if "why" in body:
        option = text.removesuffix(f"{middle}{body['why']}.")
        return say_asked(option, body["rounds"], body["why"])
    option, found, why = text.partition(middle)
    return say_asked(option, body["rounds"], why.removesuffix(".")) if found else text
