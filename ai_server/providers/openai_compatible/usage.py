"""Reads usage in every dialect of the format, into disjoint buckets."""

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
    from ai_server.providers.openai_compatible.profiles import Profile


def read_usage(said: object, profile: Profile, *, wrote: bool) -> Usage | None:
    """Read a usage object; None when absent, all zero, or impossible. `wrote`: the model gave text or calls."""
    if not isinstance(said, Mapping):
        return None
    try:
        usage = _usage(said, profile)
    except NotBelievable:
        return None
    if usage.input + usage.cached_input + usage.cache_write_short == 0:
        return None
    return None if wrote and usage.output + usage.reasoning == 0 else usage


def _usage(said: Mapping[str, object], profile: Profile) -> Usage:
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
        units=MappingProxyType(_units(said, profile)),
    )


def _units(said: Mapping[str, object], profile: Profile) -> dict[str, int]:
    units = {"requests": 1} if profile.counts_requests else {}
    found: object = said if profile.cost_path else None
    for name in profile.cost_path:
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        try:
            dollars = Decimal(str(found))
        except InvalidOperation as exc:
            raise NotBelievable("a reported cost is no number") from exc
        if not dollars.is_finite() or dollars < 0:
            raise NotBelievable("a reported cost is no amount")
        units[REPORTED_COST] = int((dollars * NANO_PER_USD).to_integral_value(rounding=ROUND_CEILING))
    return units


def _details(said: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = said.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
