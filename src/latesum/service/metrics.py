"""Figures for Prometheus. Each service has its own, so that several may live in one process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from latesum import _extras
from latesum.campaigns.health import Finding

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What a service counts."""

    def __init__(self) -> None:
        library = _extras.require("prometheus_client", "server")
        self._library = library
        self.registry = registry = library.CollectorRegistry()
        self._children: dict[tuple[str, str, int], tuple[Any, Any]] = {}

        def counter(name: str, about: str, *labels: str) -> Any:
            return library.Counter(f"latesum_{name}_total", about, labels, registry=registry)

        about = "Requests, by method, route and status."
        self._requests = counter("requests", about, "method", "route", "status")
        about = "How long requests took."
        self._seconds = library.Histogram(
            "latesum_request_seconds", about, ["route"], buckets=_SECONDS, registry=registry
        )
        self.records = counter("records", "Records taken in, by verdict.", "verdict")
        self.refused = counter("refused", "Requests refused before any route, by reason.", "reason")

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

    def health_text(self, health: Mapping[str, list[Finding]] | None) -> bytes:
        """What is wrong with each campaign; None if the store does not answer."""
        registry = self._library.CollectorRegistry()
        up = self._library.Gauge(
            "latesum_store_up", "Whether the store answers.", registry=registry
        )
        up.set(0 if health is None else 1)
        findings = self._library.Gauge(
            "latesum_campaign_health",
            "What is wrong or worrying, by campaign: 1 for each finding.",
            ["campaign", "level", "code"],
            registry=registry,
        )
        for name, found in (health or {}).items():
            for each in found:
                findings.labels(name, each.level, each.code).set(1)
        return bytes(self._library.generate_latest(registry))
