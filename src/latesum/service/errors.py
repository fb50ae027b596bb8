"""What a refused request gets: always the same shape, with a sentence for people.

The libraries that find out what is wrong have words of their own, for programmers; people who send
a request read what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError, TimeoutError
from starlette.exceptions import HTTPException

from latesum._checks import InvalidInput, shortened
from latesum.errors import (
    MAX_PROBLEMS,
    BadFile,
    Conflicting,
    MissingExtra,
    NotPossible,
    ReadOnly,
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
#: By what a failing store says of itself.
_STORES = {
    " full|no space": "the store has no space left, so nothing was written; make room on its disk "
    "and try again.",
    "malformed|not a database|corrupt|invalid page": "the store is damaged and nothing was "
    "written; put its last backup in its place.",
    "readonly|read-only|permission denied|unable to open": "the store cannot be written to: its "
    "place is read-only, gone, or not for this user.",
    "disk i/o error|input/output error": "the store's disk fails, so nothing was written; look at "
    "it and try again.",
    "locked|busy": "the store is busy just now; try again.",
    "": "the store cannot be reached just now; try again.",
}
_PLAIN = {
    400: "the body cannot be read: it must be JSON in UTF-8.",
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
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
        self.headers = {key.replace("_", "-"): value for key, value in headers.items()}

    @property
    def content(self) -> dict[str, Any]:
        """As it is sent: what came in is not repeated at any length."""
        error, *details = (shortened(each, MAX_SENTENCE) for each in (str(self), *self.details))
        return {"error": error, "details": details}

    def answer(self) -> JSONResponse:
        """The refusal, ready to be sent."""
        return JSONResponse(self.content, self.status, self.headers)


class ClientLeft(Refused):
    """The client closed its connection before it had an answer; only the log shows this status."""

    def __init__(self) -> None:
        super().__init__(499, "the client left, so nothing was done.")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that a route may answer with, for its description."""
    return {each: {"model": ErrorAnswer, "description": _MEANINGS[each]} for each in statuses}


def set_up_errors(
    app: FastAPI,
    methods_of: Callable[[str], set[str]],
    missing_page: Callable[[Request, UnknownCampaign], Response],
) -> None:
    """Give every error of the app its answer."""

    @app.exception_handler(Refused)
    @app.exception_handler(InvalidInput)
    @app.exception_handler(OverflowError)
    @app.exception_handler(MissingExtra)
    @app.exception_handler(DBAPIError)
    @app.exception_handler(TimeoutError)
    async def known(request: Request, error: Exception) -> Response:
        if isinstance(error, UnknownCampaign) and request.scope["path"].startswith("/campaigns/"):
            return missing_page(request, error)
        return refusal_of(error).answer()

    @app.exception_handler(RequestValidationError)
    async def not_valid(_: Request, error: RequestValidationError) -> JSONResponse:
        details = [problem_text(each) for each in error.errors()[:MAX_PROBLEMS]]
        return Refused(422, details[0], details).answer()

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        refused = Refused(error.status_code, _PLAIN.get(error.status_code, str(error.detail)))
        if error.status_code == 405:
            refused.headers["allow"] = ", ".join(sorted(methods_of(request.scope["path"])))
        return refused.answer()


def refusal_of(error: BaseException) -> Refused:
    """What an error is answered with, wherever it was raised; ours and the store's are logged."""
    match error:
        case Refused():
            return error
        case BadFile():
            return Refused(422, error.heading, error.problems)
        case ReadOnly():
            return Refused(503, str(error))
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
            return Refused(503, store_text(error), retry_after="1")
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


def store_text(error: BaseException) -> str:
    """The sentence for a store that fails: what is the matter, and what to do about it."""
    said = "busy" if isinstance(error, TimeoutError) else str(getattr(error, "orig", None) or error)
    return next(text for words, text in _STORES.items() if re.search(words, said.lower()))
