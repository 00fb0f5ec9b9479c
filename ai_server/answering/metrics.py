"""Turns and model calls in Prometheus. Labels are bounded; model calls have the names of OpenTelemetry's GenAI."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shared.metrics import SECONDS, BoundedLabels, counter, gauge, histogram
from shared.usage import TOKEN_BUCKETS

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from ai_server.answering.contract import AnswerResult
    from ai_server.answering.journal import TurnRecord
    from ai_server.providers.account import CallRecord


class TurnMetrics:
    """Counts turns."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register under `registry`."""
        self._turns = cache(counter(registry, "passeur_ai_turns", "Turns that ended", ["operation", "outcome"]).labels)
        self._seconds = cache(
            histogram(registry, "passeur_ai_turn_seconds", "How long turns took", ["operation"], SECONDS).labels
        )
        self._running = gauge(registry, "passeur_ai_turns_running", "Turns under way")
        self._economy = counter(registry, "passeur_ai_economy_turns", "Turns answered in economy mode")
        self._dropped = counter(registry, "passeur_ai_dropped_markers", "Citation markers that no passage had")

    def started(self) -> None:
        """A turn began."""
        self._running.inc()

    def ended(self, record: TurnRecord, result: AnswerResult, seconds: float) -> None:
        """A turn ended."""
        self._running.dec()
        self._turns(record.operation, result.outcome.value).inc()
        self._seconds(record.operation).observe(seconds)
        if result.economy:
            self._economy.inc()
        if record.dropped_markers:
            self._dropped.inc(record.dropped_markers)


class CallMetrics:
    """Counts calls to models."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register under `registry`."""
        names = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"]
        self._seconds = cache(
            histogram(
                registry,
                "gen_ai_client_operation_duration_seconds",
                "How long calls to models took",
                [*names, "error_type"],
                SECONDS,
            ).labels
        )
        self._tokens = cache(
            counter(
                registry, "gen_ai_client_token_usage", "Tokens that models reported", [*names, "gen_ai_token_type"]
            ).labels
        )
        self._cost = cache(
            counter(registry, "passeur_ai_model_cost_nanousd", "What calls to models cost", names).labels
        )
        self._bounded = BoundedLabels()

    def observe(self, call: CallRecord) -> None:
        """A call ended."""
        operation = "embeddings" if call.operation == "embedding" else "chat"
        labels = (operation, call.provider, self._bounded.bound(call.model))
        self._seconds(*labels, self._bounded.bound(call.error_class)).observe(call.duration_s)
        self._cost(*labels).inc(call.cost_nanousd)
        if call.usage is None:
            return
        for bucket in TOKEN_BUCKETS:
            count = getattr(call.usage, bucket)
            if count:
                self._tokens(*labels, bucket).inc(count)
