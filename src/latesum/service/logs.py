"""What the service says of itself: a log of JSON lines on the error output, and metrics."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from latesum import _extras
from latesum.campaigns.health import Finding

LOGGER = logging.getLogger("latesum.service")
#: Bounds of the histogram of requests' seconds.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


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


class Metrics:
    """Figures for Prometheus; each service has its own, so that several may live in one process."""

    def __init__(self) -> None:
        self._library = library = _extras.require("prometheus_client", "server")
        self._registry = registry = library.CollectorRegistry()
        self.requests = library.Counter(
            "latesum_requests_total",
            "Requests, by method, route and status.",
            ["method", "route", "status"],
            registry=registry,
        )
        self.seconds = library.Histogram(
            "latesum_request_seconds",
            "How long requests took.",
            ["route"],
            buckets=_SECONDS,
            registry=registry,
        )
        about = "Whether the store answers."
        self._store_up = library.Gauge("latesum_store_up", about, registry=registry)
        self._findings = library.Gauge(
            "latesum_campaign_health",
            "What is wrong or worrying, by campaign: 1 for each finding.",
            ["campaign", "level", "code"],
            registry=registry,
        )

    def text(self, health: Mapping[str, list[Finding]] | None) -> bytes:
        """All figures, and what is wrong with each campaign; None if the store does not answer."""
        self._store_up.set(0 if health is None else 1)
        self._findings.clear()
        for name, found in (health or {}).items():
            for each in found:
                self._findings.labels(name, each.level, each.code).set(1)
        return bytes(self._library.generate_latest(self._registry))
