"""What differs between those who speak OpenAI's formats, profile by profile."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from types import FrameType

import pytest

from ai_server.providers.contract import Thinking
from ai_server.providers.pricing import REPORTED_COST
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import (
    COMPATIBLE,
    DEEPSEEK,
    GROQ,
    OLLAMA,
    OPENAI,
    OPENROUTER,
    PERPLEXITY,
    XAI,
    Subject,
    request_for,
    told_by,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
SDK = re.compile(r"/(?:openai|httpx2|pydantic)/|/copy\.py$")
FAMILY = (OPENAI, GROQ, DEEPSEEK, XAI, OPENROUTER, OLLAMA, COMPATIBLE)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        (OPENAI, "max_completion_tokens"),
        (GROQ, "max_completion_tokens"),
        (XAI, "max_completion_tokens"),
        (DEEPSEEK, "max_tokens"),
        (OPENROUTER, "max_tokens"),
        (PERPLEXITY, "max_output_tokens"),
        (OLLAMA, "max_tokens"),
        (COMPATIBLE, "max_tokens"),
    ],
    ids=lambda each: getattr(each, "name", each),
)
async def test_the_cap_goes_under_the_name_that_the_provider_reads(
    subject: Subject, name, shared: Bundles, simulator: Simulator
) -> None:
    await told_by(await shared(subject), request_for(subject))
    assert simulator.received[-1].body[name] == 200


@pytest.mark.parametrize(("subject", "kept"), [(OPENAI, True), (OLLAMA, False), (COMPATIBLE, False)])
async def test_ones_own_server_is_asked_over_a_connection_of_its_own(
    subject: Subject, kept, shared: Bundles, simulator: Simulator
) -> None:
    """llama.cpp's server closes a kept connection after each stream without saying so."""
    await told_by(await shared(subject), request_for(subject))
    assert (simulator.received[-1].headers.get("Connection") != "close") is kept


async def test_a_provider_is_told_the_sdk_and_nothing_of_our_machine(shared: Bundles, simulator: Simulator) -> None:
    await told_by(await shared(OPENAI), request_for(OPENAI))
    sent = {name.lower(): value for name, value in simulator.received[-1].headers.items()}
    assert sent["user-agent"].startswith("AsyncOpenAI/Python ")
    ours = {f"x-stainless-{name}" for name in ("os", "arch", "runtime", "runtime-version", "read-timeout")}
    assert ours.isdisjoint(sent)


async def test_a_call_of_an_answer_in_one_piece_asks_little_of_the_sdk(shared: Bundles) -> None:
    """Ours: 782 calls of functions before its clocks, headers and copies of defaults were left out; then 615."""
    bundle = await shared(OPENAI)
    await told_by(bundle, request_for(OPENAI, stream=False))
    calls: Counter[bool] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[SDK.search(frame.f_code.co_filename) is not None] += 1

    sys.setprofile(count)
    try:
        await told_by(bundle, request_for(OPENAI, stream=False))
    finally:
        sys.setprofile(None)
    assert 0 < calls[True] <= 640


@pytest.mark.parametrize(
    ("subject", "thinking", "sent"),
    [
        (OPENAI, Thinking.HIGH, {"reasoning_effort": "high"}),
        (GROQ, Thinking.LOW, {"reasoning_effort": "low"}),
        (DEEPSEEK, Thinking.LOW, {"thinking": {"type": "disabled"}}),
        (DEEPSEEK, Thinking.HIGH, {"thinking": {"type": "enabled"}}),
        (XAI, Thinking.HIGH, {}),
        (PERPLEXITY, Thinking.HIGH, {}),
    ],
    ids=lambda each: getattr(each, "name", str(each)),
)
async def test_thinking_is_asked_for_in_the_provider_s_way(
    subject: Subject, thinking, sent, shared: Bundles, simulator: Simulator
) -> None:
    await told_by(await shared(subject), request_for(subject, thinking=thinking))
    body = simulator.received[-1].body
    assert {name: body[name] for name in ("reasoning_effort", "thinking", "reasoning") if name in body} == sent


async def test_models_that_think_get_no_temperature_where_they_refuse_it(shared: Bundles, simulator: Simulator) -> None:
    await told_by(await shared(OPENAI), request_for(OPENAI, temperature=0.2))
    assert "temperature" not in simulator.received[-1].body
    await told_by(await shared(GROQ), request_for(GROQ, temperature=0.2))
    assert simulator.received[-1].body["temperature"] == 0.2


@pytest.mark.parametrize("subject", FAMILY, ids=lambda each: each.name)
async def test_chunks_without_choices_and_a_null_reason_at_the_end_are_taken(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B10, https://github.com/deepset-ai/haystack/issues/8507, and OpenRouter's last chunk."""
    bundle = await shared(subject)
    for script in (Script(empty_choices=True), Script(finish="null_last")):
        simulator.reset()
        simulator.script(script)
        told = await told_by(bundle, request_for(subject))
        assert (told.text, told.finish) == ("The answer is forty-two.", "stop")
        assert told.usage is not None
        assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


async def test_xai_s_reasoning_is_outside_its_completion_tokens(shared: Bundles, simulator: Simulator) -> None:
    simulator.script(Script(output_tokens=40, reasoning_tokens=500))
    told = await told_by(await shared(XAI), request_for(XAI))
    assert told.usage is not None
    assert (told.usage.output, told.usage.reasoning) == (40, 500)


async def test_a_reported_cost_is_the_bill(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(OPENROUTER)
    told = await told_by(bundle, request_for(OPENROUTER))
    assert told.usage is not None
    assert told.usage.units[REPORTED_COST] == simulator.total_nanousd
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


async def test_a_service_tier_without_a_price_makes_the_cost_unknown(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(OPENAI)
    for tier, known in (("default", True), ("priority", False)):
        simulator.script(Script(service_tier=tier))
        told = await told_by(bundle, request_for(OPENAI))
        assert told.report is not None
        assert told.report.service_tier == tier
        assert (bundle.pricing.cost(told.report.usage, tier) is not None) is known


@pytest.mark.parametrize("subject", [OPENAI, PERPLEXITY], ids=lambda each: each.name)
async def test_the_same_beginning_has_the_same_cache_key(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    for question in ("a", "b"):
        await told_by(bundle, request_for(subject, question=question))
    await told_by(bundle, request_for(subject, instructions="Other instructions."))
    keys = [each.body["prompt_cache_key"] for each in simulator.received]
    assert keys[0] == keys[1] != keys[2]
    assert "Answer" not in json.dumps(keys)
