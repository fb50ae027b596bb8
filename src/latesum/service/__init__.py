"""Campaigns behind HTTP: an interface for programs, and a page for people.

The client alone needs neither the service nor a database, so all else is imported when used.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from latesum.service.server import Configuration
    from latesum.service.tokens import SCOPES, Scope, Token, Tokens

__all__ = ["SCOPES", "Configuration", "Scope", "Token", "Tokens"]


def __getattr__(name: str) -> object:
    from importlib import import_module

    from latesum._extras import need

    if name not in __all__:
        raise AttributeError(f"module 'latesum.service' has no attribute {name!r}")
    need("campaigns")
    home = "server" if name == "Configuration" else "tokens"
    return getattr(import_module(f"latesum.service.{home}"), name)
