"""The version, for all packages."""

__version__ = "1.0.0"
