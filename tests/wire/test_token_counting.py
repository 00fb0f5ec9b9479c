"""Counting before the call: never too low, bounded in time, and calm about a million characters."""

from __future__ import annotations

import asyncio
import time

import pytest

from ai_server.providers.contract import Message, TextPart, ToolSpec
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import ALL, CLAUDE, GEMINI, VERTEX_AI, Subject, request_for, told_by

pytestmark = pytest.mark.asyncio(loop_scope="module")
every = pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
TOOL = ToolSpec("lookup", "Looks a word up.", {"type": "object", "properties": {"word": {"type": "string"}}})


@every
async def test_the_count_is_never_below_what_is_billed(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    for text in ("short", "où est la facture ? " * 50, "你好世界" * 200, "<|endoftext|>" * 100, "👩‍👩‍👧" * 40):
        for tools in ((), (TOOL,)):
            request = request_for(subject, messages=(Message("user", (TextPart(text),)),), tools=tools)
            if tools and bundle.generation and not bundle.generation.capabilities.tools:
                continue
            counted = await bundle.tokenizer.count(request)
            await told_by(bundle, request)
            used = simulator.lines[-1].used
            assert counted.tokens >= used.prompt + used.tool_use


@every
async def test_a_million_repeated_characters_are_counted_at_once(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B15, https://github.com/openai/tiktoken/issues/15: a tokenizer that panics or takes minutes."""
    bundle = await shared(subject)
    request = request_for(subject, messages=(Message("user", (TextPart("^" * 1_000_000),)),))
    best = 1.0
    for _ in range(5):
        began = time.process_time()
        counted = await bundle.tokenizer.count(request)
        best = min(best, time.process_time() - began)
    assert counted.tokens >= 1_000_000 / 4
    assert best <= 0.05
    assert simulator.received == [], "a text of this size is not sent away to be counted"


@pytest.mark.parametrize("subject", [GEMINI, VERTEX_AI, CLAUDE], ids=lambda each: each.name)
async def test_a_counter_that_fails_or_is_slow_is_replaced_by_the_bound(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    request = request_for(subject)
    own = await bundle.tokenizer.count(request)
    for script in (Script(status=500), Script(status=401), Script(latency_s=300.0)):
        simulator.counting = script
        async with asyncio.timeout(60):
            bound = await bundle.tokenizer.count(request)
        assert bound.exact is False
        assert bound.tokens > own.tokens


async def test_gemini_s_own_count_is_exact(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(VERTEX_AI)
    counted = await bundle.tokenizer.count(request_for(VERTEX_AI, tools=(TOOL,)))
    await told_by(bundle, request_for(VERTEX_AI, tools=(TOOL,)))
    assert counted.exact is True
    assert counted.tokens == simulator.lines[-1].used.prompt
