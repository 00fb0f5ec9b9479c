"""JSON log lines through structlog; secrets are masked by type, not by name."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import structlog
from pydantic import SecretBytes, SecretStr

MASK = "**********"


def masked(value: object) -> object:
    """Replace pydantic secrets, also inside lists and mappings, by a mask."""
    if isinstance(value, (SecretStr, SecretBytes)):
        return MASK
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return value


def _mask_event(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    return {key: masked(value) for key, value in event.items()}


def configure(service: str, level: str = "INFO", stream: TextIO | None = None) -> None:
    """Send all log lines of the process, foreign libraries' too, to `stream` (standard error) as JSON."""
    shared_steps: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask_event,
    ]
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared_steps,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    root = logging.getLogger()
    handler.setLevel(level)  # some libraries set a level of their own on their loggers
    root.handlers[:] = [handler]
    root.setLevel(level)
    structlog.configure(
        processors=[*shared_steps, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level)),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Get the logger of one module; its first positional argument is the event, the rest are keywords."""
    return structlog.get_logger(name)
