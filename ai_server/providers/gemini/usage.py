"""Reads Gemini's usage: cumulative, thoughts beside candidates, tool prompts beside the prompt."""

from __future__ import annotations

from typing import Any

from ai_server.providers.counts import NotBelievable, remainder, whole
from shared.usage import Usage


def read_usage(said: Any, *, wrote: bool) -> Usage | None:
    """Read `usage_metadata`; None when absent, zero or impossible. `wrote`: the model gave text or calls."""
    if said is None:
        return None
    try:
        usage = _usage(said)
    except NotBelievable:
        return None
    if usage.input + usage.cached_input == 0 or (wrote and usage.output + usage.reasoning == 0):
        return None
    return usage


def _usage(said: Any) -> Usage:
    prompt = whole(said.prompt_token_count, absent=None)
    cached = whole(said.cached_content_token_count)
    tool_use = whole(said.tool_use_prompt_token_count)
    output = whole(said.candidates_token_count)
    reasoning = whole(said.thoughts_token_count)
    if said.total_token_count is not None:
        remainder(whole(said.total_token_count), prompt, tool_use, output, reasoning)
    return Usage(input=remainder(prompt, cached) + tool_use, cached_input=cached, output=output, reasoning=reasoning)
