"""Campaigns behind HTTP: an interface for programs, and a page for people."""

from latesum.service.configuration import Configuration
from latesum.service.tokens import SCOPES, Scope, Token, Tokens

__all__ = ["SCOPES", "Configuration", "Scope", "Token", "Tokens"]
