"""The version, for all packages."""

__version__ = "0.1.0"
