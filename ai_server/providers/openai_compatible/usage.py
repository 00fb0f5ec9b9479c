"""Reads usage in every dialect of both formats, into disjoint buckets."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from ai_server.providers.counts import NotBelievable, remainder, whole
from ai_server.providers.pricing import REPORTED_COST
from shared.money import NANO_PER_USD
from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from ai_server.providers.openai_compatible.profiles import Profile


Counts = Mapping[str, object]


def chat_usage(said: object, profile: Profile, *, wrote: bool) -> Usage | None:
    """Read the usage of a chat answer; None when absent, all zero, or impossible. `wrote`: it gave text or calls."""
    return _believed(said, profile, _chat, wrote=wrote)


def responses_usage(said: object, profile: Profile, *, wrote: bool) -> Usage | None:
    """Read the usage of a Responses answer, as `chat_usage` does."""
    return _believed(said, profile, _responses, wrote=wrote)


def _believed(said: object, profile: Profile, read: Callable[[Counts, Profile], Usage], *, wrote: bool) -> Usage | None:
    if not isinstance(said, Mapping):
        return None
    try:
        usage = read(said, profile)
    except NotBelievable:
        return None
    if usage.input + usage.cached_input + usage.cache_write_short == 0:
        return None
    return None if wrote and usage.output + usage.reasoning == 0 else usage


def _chat(said: Counts, profile: Profile) -> Usage:
    prompt = whole(said.get("prompt_tokens"), absent=None)
    completion = whole(said.get("completion_tokens"), absent=None)
    inputs = _details(said, "prompt_tokens_details")
    outputs = _details(said, "completion_tokens_details")
    cached = whole(inputs.get("cached_tokens"))
    if "prompt_cache_hit_tokens" in said:
        cached = whole(said["prompt_cache_hit_tokens"])
    written = whole(inputs.get("cache_write_tokens"))
    reasoning = whole(outputs.get("reasoning_tokens"))
    return Usage(
        input=remainder(prompt, cached, written),
        cached_input=cached,
        cache_write_short=written,
        output=remainder(completion, reasoning) if profile.reasoning_inside else completion,
        reasoning=reasoning,
        units=MappingProxyType(_reported(said, profile)),
    )


def _responses(said: Counts, profile: Profile) -> Usage:
    inputs = _details(said, "input_tokens_details")
    outputs = _details(said, "output_tokens_details")
    cached = whole(inputs.get("cached_tokens")) or whole(inputs.get("cache_read_input_tokens"))
    written = whole(inputs.get("cache_creation_input_tokens"))
    reasoning = whole(outputs.get("reasoning_tokens"))
    tools = _details(said, "tool_calls_details")
    searches = sum(whole(_details(tools, name).get("invocation")) for name in tools)
    return Usage(
        input=remainder(whole(said.get("input_tokens"), absent=None), cached, written),
        cached_input=cached,
        cache_write_short=written,
        output=remainder(whole(said.get("output_tokens"), absent=None), reasoning),
        reasoning=reasoning,
        units=MappingProxyType({**({"searches": searches} if searches else {}), **_reported(said, profile)}),
    )


def _reported(said: Counts, profile: Profile) -> dict[str, int]:
    """Read what the provider says that it charged, where it says so."""
    found: object = said if profile.cost_path else None
    for name in profile.cost_path:
        found = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(found, (int, float)) or isinstance(found, bool):
        return {}
    try:
        dollars = Decimal(str(found))
    except InvalidOperation as exc:
        raise NotBelievable("a reported cost is no number") from exc
    if not dollars.is_finite() or dollars < 0:
        raise NotBelievable("a reported cost is no amount")
    return {REPORTED_COST: int((dollars * NANO_PER_USD).to_integral_value(rounding=ROUND_CEILING))}


def _details(said: Counts, name: str) -> Counts:
    found = said.get(name)
    return cast("Counts", found) if isinstance(found, Mapping) else {}
