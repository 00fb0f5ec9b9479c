"""Prometheus metrics for both processes: how they are made, bounded and served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180)
"""Buckets of durations, in seconds."""

LABEL_VALUES: Final = 200
"""Most different values that one label takes; further ones are counted as `other`."""

OTHER: Final = "other"


class BoundedLabels:
    """Keeps label values that come from outside to a bounded number."""

    def __init__(self, limit: int = LABEL_VALUES) -> None:
        """Know none yet."""
        self._limit = limit
        self._known: set[str] = set()

    def bound(self, value: str) -> str:
        """Return the value, or `other` once there are too many."""
        if value in self._known:
            return value
        if len(self._known) >= self._limit:
            return OTHER
        self._known.add(value)
        return value


def counter(registry: CollectorRegistry, name: str, text: str, labels: Sequence[str] = ()) -> Counter:
    """Make a counter; its sample's name ends in `_total`."""
    return Counter(name, text, labels, registry=registry)


def gauge(registry: CollectorRegistry, name: str, text: str, labels: Sequence[str] = ()) -> Gauge:
    """Make a gauge."""
    return Gauge(name, text, labels, registry=registry)


def histogram(
    registry: CollectorRegistry, name: str, text: str, labels: Sequence[str], buckets: Sequence[float]
) -> Histogram:
    """Make a histogram."""
    return Histogram(name, text, labels, registry=registry, buckets=buckets)


def serve(registry: CollectorRegistry, host: str, port: int) -> Callable[[], None]:
    """Serve `/metrics` from a thread of its own; returns what stops it.

    Raises:
        OSError: the address cannot be had.
    """
    server, thread = start_http_server(port, addr=host, registry=registry)

    def stop() -> None:
        server.shutdown()
        server.server_close()
        thread.join(timeout=2)

    return stop
