"""Reads Mistral's usage: missing counts become 0 in the SDK, and cached tokens have had several names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ai_server.providers.counts import NotBelievable, remainder, whole
from shared.usage import Usage


def read_usage(said: Any, *, wrote: bool) -> Usage | None:
    """Read a `UsageInfo`; None when absent, zero or impossible. `wrote`: the model gave text or calls."""
    if said is None:
        return None
    try:
        cached = _cached(said.additional_properties or {})
        usage = Usage(
            input=remainder(whole(said.prompt_tokens), cached),
            cached_input=cached,
            output=whole(said.completion_tokens),
        )
    except NotBelievable:
        return None
    if usage.input + usage.cached_input == 0 or (wrote and usage.output == 0):
        return None
    return usage


def _cached(more: Mapping[str, Any]) -> int:
    for name in ("prompt_tokens_details", "prompt_token_details"):
        details = more.get(name)
        if isinstance(details, Mapping) and "cached_tokens" in details:
            return whole(details["cached_tokens"])
    return whole(more.get("num_cached_tokens"))
