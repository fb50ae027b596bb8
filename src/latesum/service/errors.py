"""What a refused request gets: always the same shape, with a sentence for people."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from sqlalchemy.exc import DBAPIError, TimeoutError
from starlette.exceptions import HTTPException

from latesum._checks import InvalidInput
from latesum.errors import (
    MAX_PROBLEMS,
    BadFile,
    Conflicting,
    Moved,
    NotPossible,
    ReadOnly,
    UnknownBucket,
    UnknownCampaign,
)
from latesum.service import sentences
from latesum.service.logs import LOGGER

_PLAIN = {
    400: "the body cannot be read: it must be JSON in UTF-8.",
    404: "there is nothing at this address.",
    405: "this address does not take that method.",
}


class ErrorAnswer(BaseModel):
    """Every refusal has this shape."""

    error: str = Field(description="What is wrong and what would be right, in a sentence.")
    details: list[str] = Field(
        default_factory=list, description="One sentence for each wrong place, if there are several."
    )


#: Our page sends it. Other sites cannot set it; so an act by cookie that has it was meant by our page.
PAGE_HEADER = "x-latesum-page"


class Refused(Exception):
    """Answer with this status and sentence."""

    def __init__(
        self, status: int, sentence: str, details: list[str] | None = None, **more: Any
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.content = {"error": sentence, "details": details or [], **more}
        self.headers: dict[str, str] = {}


class ClientLeft(Refused):
    """The client closed its connection before it had an answer; only the log shows this status."""

    def __init__(self) -> None:
        super().__init__(499, "the client left, so nothing was done.")


def error_answer(status: int, sentence: str, **headers: str) -> JSONResponse:
    """A refusal, ready to be sent."""
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return JSONResponse({"error": sentence, "details": []}, status, named)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals that a route may answer with, for its description."""
    meanings = {
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
    return {status: {"model": ErrorAnswer, "description": meanings[status]} for status in statuses}


#: What any route may answer.
ON_ANY_ROUTE = (400, 401, 403, 408, 413, 422, 429, 503)


def set_up_errors(app: FastAPI, methods_of: Callable[[str], set[str]]) -> None:
    """Give every error of the app its answer."""

    @app.exception_handler(Refused)
    @app.exception_handler(InvalidInput)
    @app.exception_handler(OverflowError)
    @app.exception_handler(DBAPIError)
    @app.exception_handler(TimeoutError)
    async def known(_: Request, error: Exception) -> JSONResponse:
        return answer_to(error)

    @app.exception_handler(RequestValidationError)
    async def not_valid(_: Request, error: RequestValidationError) -> JSONResponse:
        details = [sentences.of_problem(each) for each in error.errors()[:MAX_PROBLEMS]]
        return JSONResponse({"error": details[0], "details": details}, 422)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> JSONResponse:
        sentence = _PLAIN.get(error.status_code, str(error.detail))
        headers = dict(error.headers or {})
        if error.status_code == 405:
            headers["allow"] = ", ".join(sorted(methods_of(request.scope["path"])))
        return JSONResponse({"error": sentence, "details": []}, error.status_code, headers)


def answer_to(error: Exception) -> JSONResponse:
    """What an error is answered with, wherever it was raised."""
    if isinstance(error, Refused):
        return JSONResponse(error.content, error.status, error.headers)
    if isinstance(error, InvalidInput):
        return _invalid(error)
    if isinstance(error, OverflowError):
        return error_answer(422, "a number or a date is too large to be used.")
    if isinstance(error, DBAPIError | TimeoutError):
        return store_failed(error)
    return unexpected(error)


def _invalid(error: InvalidInput) -> JSONResponse:
    details = error.problems if isinstance(error, BadFile) else []
    sentence = error.heading if isinstance(error, BadFile) else str(error)
    if isinstance(error, ReadOnly):
        return error_answer(503, sentence)
    unknown = isinstance(error, UnknownCampaign | UnknownBucket)
    status = (
        404 if unknown else 409 if isinstance(error, Conflicting | Moved | NotPossible) else 422
    )
    return JSONResponse({"error": sentence, "details": details}, status)


def store_failed(error: BaseException) -> JSONResponse:
    """The store failed: it is logged in full and answered with what is the matter."""
    LOGGER.error("the store failed", exc_info=error)
    return error_answer(503, sentences.of_store(error), retry_after="1")


def unexpected(error: BaseException) -> JSONResponse:
    """An error of ours: it is logged in full and answered without details."""
    LOGGER.log(logging.ERROR, "unexpected error", exc_info=error)
    return error_answer(500, "the service made an error, which is in its log.")
