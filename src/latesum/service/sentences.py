"""What is wrong, in sentences: values that cannot be used, and stores that fail.

The libraries that find it out have words of their own, for programmers; people who send a request are
told what would be right.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import TimeoutError

from latesum._checks import shortened

#: By the kind of problem; `{...}` is what the library says of it.
_WRONG = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "none_required": "it must be null",
    "string_type": "it must be a text",
    "string_too_short": "it must have at least {min_length} characters",
    "string_too_long": "it must have at most {max_length} characters",
    "string_pattern_mismatch": "it must be written otherwise, by the pattern {pattern}",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "it must be a smaller number",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "greater_than": "it must be above {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be below {lt}",
    "less_than_equal": "it must be at most {le}",
    "literal_error": "it must be {expected}",
    "list_type": "it must be a list",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "too_short": "there must be at least {min_length}",
    "too_long": "there must be at most {max_length}",
    "value_error": "{error}",
}


def of_problem(problem: Any, where: str | None = None) -> str:
    """The sentence for a problem that pydantic found.

    Args:
        problem: One of a `ValidationError`'s `errors()`.
        where: The place of the value; by default it is found in the problem.

    >>> of_problem({"type": "missing", "loc": ("body", "why"), "msg": "Field required"})
    'why: it is missing.'
    """
    if problem["type"] == "json_invalid":
        return f"the body is not JSON: it goes wrong at character {problem['loc'][-1]}."
    if where is None:
        first, *rest = [str(part) for part in problem["loc"]] or [""]
        parts = rest if first in ("body", "path", "query", "header") else [first, *rest]
        where = ".".join(shortened(part) for part in parts)
    wrong = _WRONG.get(problem["type"], "it cannot be used").format_map(problem.get("ctx", {}))
    if not where:
        return "the body is missing." if problem["type"] == "missing" else f"the body: {wrong}."
    return f"{where}: {wrong}."


def of_store(error: BaseException) -> str:
    """The sentence for a store that fails: what is the matter, and what to do about it."""
    said = str(getattr(error, "orig", None) or error).lower()
    if isinstance(error, TimeoutError):
        return "the store is busy just now; try again."
    for words, sentence in _STORES:
        if any(word in said for word in words):
            return sentence
    return "the store cannot be reached just now; try again."


_STORES = (
    (
        (" full", "no space", "disk full"),
        "the store has no space left, so nothing was written; make room on its disk and try again.",
    ),
    (
        ("malformed", "not a database", "corrupt", "invalid page"),
        "the store is damaged and nothing was written; put its last backup in its place.",
    ),
    (
        ("readonly", "read-only", "permission denied", "unable to open"),
        "the store cannot be written to: its place is read-only, gone, or not for this user.",
    ),
    (
        ("disk i/o error", "input/output error"),
        "the store's disk fails, so nothing was written; look at it and try again.",
    ),
    (("locked", "busy"), "the store is busy just now; try again."),
)
