"""What is answered: JSON; to a refused request always the same shape, with a sentence for people.

The libraries that find out what is wrong have words of their own, for programmers; people who send
a request read what would be right.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError, TimeoutError
from starlette.responses import Response

from latesum._checks import InvalidInput, shortened
from latesum._render import plain
from latesum.campaigns.store import failure_text
from latesum.errors import (
    BadFile,
    Conflicting,
    MissingExtra,
    NotPossible,
    UnknownBucket,
    UnknownCampaign,
)
from latesum.service.logs import LOGGER

#: A refusal repeats no more than this of what was sent.
MAX_SENTENCE = 1_000
#: By the kind of problem that pydantic found, or how that begins; `{...}` is what it says of it.
_WRONG = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "none_required": "it must be null",
    "string_too_short": "it must have at least {min_length} characters",
    "string_too_long": "it must have at most {max_length} characters",
    "string_pattern_mismatch": "it must be written otherwise, by the pattern {pattern}",
    "string": "it must be a text",
    "int_parsing_size": "it must be a smaller number",
    "int": "it must be a whole number",
    "float": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool": "it must be true or false",
    "greater_than_equal": "it must be at least {ge}",
    "greater_than": "it must be above {gt}",
    "less_than_equal": "it must be at most {le}",
    "less_than": "it must be below {lt}",
    "literal_error": "it must be {expected}",
    "list": "it must be a list",
    "dict": "it must be an object",
    "model": "it must be an object",
    "too_short": "there must be at least {min_length}",
    "too_long": "there must be at most {max_length}",
    "value_error": "{error}",
    "": "it cannot be used",
}
_MEANINGS = {
    400: "The request cannot be read: it is not UTF-8, or not HTTP.",
    401: "No token, or not a valid one.",
    403: "The token's scope is too small.",
    404: "There is no such campaign or bucket.",
    408: "The body took too long to come.",
    409: "It cannot be done as things are.",
    413: "The body is too large.",
    415: "The body is of a kind that is not understood.",
    422: "A value cannot be used.",
    429: "Too many requests; try again after Retry-After.",
    503: "The store cannot be reached or written to; the sentence says why.",
}
#: What any route may answer.
ON_ANY_ROUTE = (400, 401, 403, 408, 413, 422, 429, 503)


class ErrorAnswer(BaseModel):
    """Every refusal has this shape."""

    error: str = Field(description="What is wrong and what would be right, in a sentence.")
    details: list[str] = Field(
        default_factory=list, description="One sentence for each wrong place, if there are several."
    )


class Refused(Exception):
    """Answer with this status and sentence."""

    def __init__(
        self, status: int, sentence: str, details: list[str] | None = None, **headers: str
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.details = details or []
        self.headers = headers

    @property
    def content(self) -> dict[str, Any]:
        """As it is sent: what came in is not repeated at any length."""
        error, *details = (shortened(each, MAX_SENTENCE) for each in (str(self), *self.details))
        return {"error": error, "details": details}

    def answer(self) -> Response:
        """The refusal, ready to be sent."""
        return send(self.content, self.status, **self.headers)


class ClientLeft(Refused):
    """The client closed its connection before it had an answer; only the log shows this status."""

    def __init__(self) -> None:
        super().__init__(499, "the client left, so nothing was done.")


def send(content: Any, status: int = 200, **headers: str) -> Response:
    """An answer in JSON: records become objects."""
    text = content if isinstance(content, str) else json.dumps(plain(content), ensure_ascii=False)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return Response(text.encode(), status, named, "application/json")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that a route may answer with, for its description."""
    return {each: {"model": ErrorAnswer, "description": _MEANINGS[each]} for each in statuses}


def refusal_of(error: BaseException) -> Refused:
    """What an error is answered with, wherever it was raised; ours and the store's are logged."""
    match error:
        case Refused():
            return error
        case BadFile():
            return Refused(422, error.heading, error.problems)
        case UnknownCampaign() | UnknownBucket():
            return Refused(404, str(error))
        case Conflicting() | NotPossible():
            return Refused(409, str(error))
        case InvalidInput():
            return Refused(422, str(error))
        case MemoryError():
            return Refused(422, "this needs too much memory; send it in parts.")
        case MissingExtra():
            return Refused(415, f"this service cannot read or write such a file: {error}.")
        case OverflowError():
            return Refused(422, "a number or a date is too large to be used.")
        case DBAPIError() | TimeoutError():
            LOGGER.error("the store failed", exc_info=error)
            return Refused(503, f"the store failed. {failure_text(error)}", retry_after="1")
    LOGGER.error("unexpected error", exc_info=error)
    return Refused(500, "the service made an error, which is in its log.")


def problem_text(problem: Any) -> str:
    """The sentence for a problem that pydantic found.

    >>> problem_text({"type": "missing", "loc": ("body", "reason"), "msg": "Field required"})
    'reason: it is missing.'
    """
    if problem["type"] == "json_invalid":
        return f"the body is not JSON: it goes wrong at character {problem['loc'][-1]}."
    first, *rest = [str(part) for part in problem["loc"]] or [""]
    parts = rest if first in ("body", "path", "query", "header") else [first, *rest]
    where = ".".join(shortened(part) for part in parts)
    template = next(text for kind, text in _WRONG.items() if problem["type"].startswith(kind))
    return f"{where or 'the body'}: {template.format_map(problem.get('ctx', {}))}."
