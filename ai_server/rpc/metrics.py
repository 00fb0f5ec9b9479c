"""Calls over gRPC in Prometheus: by rpc and status code, both from closed lists."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shared.metrics import SECONDS, counter, histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class RpcMetrics:
    """Counts calls that reached the edge; a stream counts once, when it ends."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register under `registry`."""
        self._calls = cache(counter(registry, "passeur_ai_rpcs", "Calls that ended", ["rpc", "code"]).labels)
        self._seconds = cache(
            histogram(registry, "passeur_ai_rpc_seconds", "How long calls took", ["rpc"], SECONDS).labels
        )

    def ended(self, method: str, code: str, seconds: float) -> None:
        """A call ended; `method` is its full name, one of those that the server offers."""
        rpc = method.rpartition(".")[2]
        self._calls(rpc, code).inc()
        self._seconds(rpc).observe(seconds)
