"""Logs that programs can read: one JSON object per line, on the error output."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("latesum.service")


class JsonLines(logging.Formatter):
    """A log record as one line of JSON; `extra={"fields": {...}}` adds to it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def logging_config(level: str = "info") -> dict[str, Any]:
    """Logs of the service and warnings of its server to the error output, as `dictConfig` takes it.

    The service logs requests itself, without what could be secret in them.
    """
    handlers = ["errors"]
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": JsonLines}},
        "handlers": {
            "errors": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            LOGGER.name: {"level": level.upper(), "handlers": handlers, "propagate": False},
            "_granian": {"level": "WARNING", "handlers": handlers, "propagate": False},
        },
    }


def log(event: str, level: int = logging.INFO, **fields: Any) -> None:
    """Write a line."""
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, event, extra={"fields": fields})
