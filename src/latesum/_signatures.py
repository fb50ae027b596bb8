"""What a policy's builder takes, read the same way on every Python."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any


def signature_of(builder: Callable[..., Any]) -> inspect.Signature:
    """The parameters of a class, of a function, or of a `functools.partial` of either.

    For a class these are the parameters of its `__init__`. `inspect.signature(cls)` is not always
    that: of a class with a `__new__` it is the signature of `__new__`, and whether an inherited
    `__new__` counts differs between Pythons (3.11.2 and 3.11.7 disagree).

    >>> class Parent:
    ...     def __new__(cls, *args, **options):
    ...         return super().__new__(cls)
    ...     def __init__(self, n_arms, *, block=200):
    ...         pass
    >>> print(signature_of(Parent))
    (n_arms, *, block=200)
    """
    given = builder if isinstance(builder, functools.partial) else functools.partial(builder)
    if isinstance(given.func, type):
        initialise = given.func.__init__  # type: ignore[misc]
        given = functools.partial(initialise, None, *given.args, **given.keywords)
    return inspect.signature(given)
