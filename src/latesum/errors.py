"""What latesum raises, all in one place.

    LatesumError
    ├── InvalidInput (a ValueError)        what was passed cannot be used; says what would be right
    │   ├── BadRows                        several rows; `problems` has the index of each
    │   ├── BadFile                        a file of totals; `problems` names each bad place
    │   ├── Conflicting                    another value for a bucket whose value is final
    │   ├── UnknownBucket                  a record for a bucket without a decision
    │   ├── UnknownCampaign                no campaign of that name in the store
    │   │   └── Deleted                    there was one; says who deleted it and why
    │   └── NotPossible                    an act that a campaign cannot do as things are
    ├── MissingExtra (an ImportError)      a library is not installed; says which extra brings it
    ├── NotConforming (an AssertionError)  a user-defined policy or delay breaks the protocol
    └── ServiceError (a RuntimeError)      the service refused; `status` is that of HTTP
        └── Unreachable                    the service did not answer

Every message is a sentence for people. On the command line `InvalidInput` and `MissingExtra` end
with that sentence and exit code 2; the service answers `InvalidInput` with a 4xx status and the
same sentence.

>>> from latesum import delays, errors
>>> try:
...     delays.parse("unifrom(0, 100)")
... except errors.LatesumError as error:
...     print(str(error).partition(" Known")[0])
there is no delay 'unifrom'; did you mean 'uniform'?
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BadFile",
    "BadRows",
    "Conflicting",
    "Deleted",
    "InvalidInput",
    "LatesumError",
    "MissingExtra",
    "NotConforming",
    "NotPossible",
    "ServiceError",
    "UnknownBucket",
    "UnknownCampaign",
    "Unreachable",
]


#: After this many bad rows the others are not checked.
MAX_PROBLEMS = 20


class LatesumError(Exception):
    """The root of everything that latesum raises by intent.

    Args:
        message: What is wrong, in a sentence.
        field: The field, option or column that it is about, if it is one.
        remedy: What to do about it, where that is a sentence of its own.
    """

    def __init__(self, message: str, *, field: str = "", remedy: str = "") -> None:
        super().__init__(f"{message} {remedy}" if remedy else message)
        self.message, self.field, self.remedy = message, field, remedy

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[LatesumError], args: tuple[Any, ...], state: dict[str, Any]) -> LatesumError:
    """The same error in another process, whatever its constructor takes."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class InvalidInput(LatesumError, ValueError):
    """Something the caller passed cannot be used; the message says what would be right."""


class BadRows(InvalidInput):
    """Rows cannot be used; the first of the problems is the message.

    Args:
        problems: The index of each bad row, and what is wrong with it.
    """

    def __init__(self, problems: list[tuple[int, InvalidInput]]) -> None:
        self.problems = problems
        first = problems[0][1]
        super().__init__(first.message, field=first.field, remedy=first.remedy)


class BadFile(InvalidInput):
    """A file cannot be imported; `problems` has a sentence for each of the first bad places."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems[:MAX_PROBLEMS]
        if len(problems) >= MAX_PROBLEMS:
            self.problems.append(f"These are the first {MAX_PROBLEMS}; there may be more.")
        self.heading = "the file cannot be imported, and nothing was."
        super().__init__("\n  ".join([self.heading, *self.problems]))


class Conflicting(InvalidInput):
    """The bucket's value is final, and this is another one."""


class UnknownBucket(InvalidInput):
    """The campaign has no decision for that bucket, so nothing can be recorded for it."""


class UnknownCampaign(InvalidInput):
    """There is no campaign of that name in the store."""


class Deleted(UnknownCampaign):
    """The campaign was deleted; the message says by whom and why."""


class NotPossible(InvalidInput):
    """An operator's act that the campaign cannot do as things are."""


class MissingExtra(LatesumError, ImportError):
    """A library that is not part of the light core is needed; the message says what to install."""


class NotConforming(LatesumError, AssertionError):
    """A user-defined policy or delay breaks the protocol; the message says where."""


class ServiceError(LatesumError, RuntimeError):
    """The service refused: `status` is that of HTTP, `details` are about single rows."""

    def __init__(self, status: int, message: str, details: list[str]) -> None:
        super().__init__(message)
        self.status, self.details = status, details


class Unreachable(ServiceError):
    """The service did not answer, however often it was asked."""
