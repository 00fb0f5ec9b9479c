"""Reads Claude's usage: counts of `message_start`, overtaken field by field by the last `message_delta`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ai_server.providers.counts import NotBelievable, remainder, whole
from shared.usage import Usage

Said = Mapping[str, Any]


def read_usage(said: Said, *, wrote: bool) -> Usage | None:
    """Read the merged usage; None when absent, zero or impossible. `wrote`: the model gave text or calls."""
    try:
        usage = _usage(said)
    except NotBelievable:
        return None
    if usage.input + usage.cached_input + usage.cache_write_short + usage.cache_write_long == 0:
        return None
    return None if wrote and usage.output + usage.reasoning == 0 else usage


def _usage(said: Said) -> Usage:
    output = whole(said.get("output_tokens"), absent=None)
    reasoning = whole(_part(said, "output_tokens_details").get("thinking_tokens"))
    written = whole(said.get("cache_creation_input_tokens"))
    long = whole(_part(said, "cache_creation").get("ephemeral_1h_input_tokens"))
    searches = whole(_part(said, "server_tool_use").get("web_search_requests"))
    return Usage(
        input=whole(said.get("input_tokens"), absent=None),
        cached_input=whole(said.get("cache_read_input_tokens")),
        cache_write_short=remainder(written, long),
        cache_write_long=long,
        output=remainder(output, reasoning),
        reasoning=reasoning,
        units=MappingProxyType({"searches": searches} if searches else {}),
    )


def _part(said: Said, name: str) -> Said:
    found = said.get(name)
    return found if isinstance(found, Mapping) else {}
