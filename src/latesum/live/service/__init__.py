"""Campaigns behind HTTP: an interface for programs, and a page for people."""

from latesum.live.service.configuration import Configuration
from latesum.live.service.tokens import SCOPES, Scope, Token, Tokens

__all__ = ["SCOPES", "Configuration", "Scope", "Token", "Tokens"]
