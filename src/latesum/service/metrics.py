"""Figures for Prometheus. Each service has its own, so that several may live in one process."""

from __future__ import annotations

from typing import Any

from latesum import _extras

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What a service counts."""

    def __init__(self) -> None:
        library = _extras.require("prometheus_client", "server")
        self._library = library
        self.registry = library.CollectorRegistry()
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}
        self._requests = library.Counter(
            "latesum_requests_total",
            "Requests, by method, route and status.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self._seconds = library.Histogram(
            "latesum_request_seconds",
            "How long requests took.",
            ["route"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.records = library.Counter(
            "latesum_records_total",
            "Records taken in, by verdict.",
            ["verdict"],
            registry=self.registry,
        )
        self.commits = library.Counter(
            "latesum_commits_total",
            "Transactions by which records were taken in.",
            registry=self.registry,
        )
        self.decisions = library.Counter(
            "latesum_decisions_total",
            "Options handed out that were not in the cache.",
            registry=self.registry,
        )
        self.refused = library.Counter(
            "latesum_refused_total",
            "Requests refused before any route, by reason.",
            ["reason"],
            registry=self.registry,
        )

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        key = (method, route, status)
        children = self._children.get(key)
        if children is None:  # looking up a child costs more than counting
            children = self._children[key] = (
                self._requests.labels(method, route, str(status)),
                self._seconds.labels(route),
            )
        children[0].inc()
        children[1].observe(seconds)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return bytes(self._library.generate_latest(self.registry))
