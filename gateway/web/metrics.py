"""What the gateway tells Prometheus. No label comes from a visitor: routes are patterns, outcomes a fixed list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from shared import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.core import Metric

    from gateway.events.hub import Hub
    from gateway.turns.service import TurnService

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


class GatewayMetrics:
    """The registry of one gateway and what it counts."""

    def __init__(self) -> None:
        """Begin at zero."""
        self.registry = CollectorRegistry()
        self._requests = metrics.counter(
            self.registry, "passeur_gateway_requests", "HTTP requests answered.", ("method", "route", "status")
        )
        self._request_seconds = metrics.histogram(
            self.registry, "passeur_gateway_request_seconds", "Time to answer, streams to their end.", ("route",),
            metrics.SECONDS,
        )  # fmt: skip
        self._turns = metrics.counter(self.registry, "passeur_gateway_turns", "Turns ended.", ("outcome",))
        self._turn_seconds = metrics.histogram(
            self.registry, "passeur_gateway_turn_seconds", "From message to published answer.", (), metrics.SECONDS
        )

        self._clarifications = metrics.counter(
            self.registry,
            "passeur_gateway_clarifications",
            "Questions asked back, and what became of them.",
            ("kind", "event"),
        )

    def clarification(self, kind: str, event: str) -> None:
        """Count a question that was asked, or its resolution."""
        self._clarifications.labels(kind, event).inc()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._requests.labels(method if method in METHODS else metrics.OTHER, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)

    def turn(self, outcome: str, seconds: float) -> None:
        """Count a turn that ended."""
        self._turns.labels(outcome).inc()
        self._turn_seconds.observe(seconds)

    def watch(self, hub: Hub, turns: TurnService) -> None:
        """Also tell what the hub and the turns know; once for a registry."""
        turns.watchers.append(self.turn)
        self.registry.register(_Live(hub, turns))


class _Live:
    """Read when Prometheus asks."""

    def __init__(self, hub: Hub, turns: TurnService) -> None:
        self._hub = hub
        self._turns = turns

    def collect(self) -> Iterator[Metric]:
        """Tell the present state."""
        yield GaugeMetricFamily("passeur_gateway_stream_readers", "Open event streams.", self._hub.readers())
        yield GaugeMetricFamily("passeur_gateway_running_turns", "Turns this process runs.", self._turns.running())
        yield CounterMetricFamily(
            "passeur_gateway_streams_cut", "Readers cut because they did not read.", self._hub.catch_up.cut_count
        )
        yield CounterMetricFamily(
            "passeur_gateway_resyncs", "Cursors that could not be resumed.", self._hub.catch_up.resync_count
        )
