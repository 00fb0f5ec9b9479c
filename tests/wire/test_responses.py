"""The Responses format as Perplexity's Agent API speaks it: what we send, and every way in which an answer may come."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pytest

from ai_server.providers import registry
from ai_server.providers.catalog import Catalog
from ai_server.providers.contract import (
    GenerationEvent,
    ImagePart,
    Message,
    TextDelta,
    TextPart,
    ToolCallMade,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from ai_server.providers.failures import Failures
from ai_server.providers.openai_compatible.profiles import PROFILES
from ai_server.providers.openai_compatible.responses_reader import ResponsesReader
from ai_server.providers.openai_compatible.usage import responses_usage
from ai_server.providers.pricing import REPORTED_COST
from ai_server.providers.registry import ModelChoice
from shared.errors import ProviderError
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.simulator.script import Script, ScriptedCall
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import CATALOG, KEY, PERPLEXITY, request_for, told_by

PROFILE = PROFILES["perplexity"]
USAGE = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
PIXEL = b"\x89PNG pixel"
WEATHER = ToolSpec("weather", "Tells the weather.", {"type": "object"})
on_the_wire = pytest.mark.asyncio(loop_scope="module")


def message(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": None} for text in texts]
    return {"type": "message", "role": "assistant", "content": parts}


def ended(*output: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"object": "response", "status": status, "error": None, "output": list(output), "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": response}


def delta(text: str | None) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text, "item_id": None}


def read(*chunks: object) -> tuple[str, ResponsesReader]:
    """Read chunks; give the text that came, and the reader."""
    reader = ResponsesReader(PROFILE, Failures("perplexity", [KEY]))
    events: list[GenerationEvent] = [event for chunk in chunks for event in reader.read(chunk)]
    return "".join(each.text for each in events if isinstance(each, TextDelta)), reader


# ---------------------------------------------------------------- what is sent


@on_the_wire
async def test_no_search_no_preset_and_no_other_model_are_asked_for(shared: Bundles, simulator: Simulator) -> None:
    """Searches have no price in the catalogue, and a preset may choose another provider's model."""
    await told_by(await shared(PERPLEXITY), request_for(PERPLEXITY, temperature=0.2))
    [received] = simulator.received
    assert received.path == "/perplexity/v1/responses"
    assert received.body.keys() == {
        "model",
        "instructions",
        "input",
        "max_output_tokens",
        "stream",
        "store",
        "prompt_cache_key",
        "temperature",
    }
    assert received.body["model"] == "perplexity/sonar"
    assert received.body["store"] is False


@on_the_wire
async def test_images_calls_and_results_go_as_items_where_a_row_allows_them(simulator: Simulator) -> None:
    row = dataclasses.replace(
        CATALOG.require("perplexity", PERPLEXITY.model), capabilities=frozenset({"text", "stream", "image", "tools"})
    )
    choice = ModelChoice("perplexity", PERPLEXITY.model)
    settings = {"perplexity": PERPLEXITY.settings(simulator.url)}
    catalogue = Catalog((row, CATALOG.require("embedded", "extractive")))
    providers = registry.build([choice], [], options=settings, catalogue=catalogue, clock=ManualClock())
    bundle = providers.generation(choice)
    asked = Message("user", (TextPart("What weather is this?"), ImagePart("image/png", PIXEL)))
    try:
        for stream in (True, False):
            simulator.reset()
            simulator.script(
                Script(chunks=("I look. ",), calls=(ScriptedCall("weather", '{"city": "Lyon"}', "call_7"),))
            )
            first = await told_by(bundle, request_for(PERPLEXITY, messages=(asked,), tools=(WEATHER,), stream=stream))
            assert first.calls == [ToolCallMade("call_7", "weather", '{"city": "Lyon"}', signature="c2lnbmVk")]
            assert (first.text, first.finish) == ("I look. ", "tool_calls")
            [made] = first.calls
            called = ToolCallPart(made.call_id, made.name, made.arguments_json, made.signature)
            history = (
                asked,
                Message("assistant", (TextPart("I look. "), called)),
                Message("user", (ToolResultPart(made.call_id, made.name, "Sunny"),)),
            )
            told = await told_by(bundle, request_for(PERPLEXITY, messages=history, tools=(WEATHER,), stream=stream))
            assert told.finish == "stop"
        body = simulator.received[-1].body
    finally:
        await providers.close()
    image = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"
    assert body["tools"] == [
        {"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}
    ]
    assert body["input"] == [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "What weather is this?"},
                {"type": "input_image", "image_url": image},
            ],
        },
        {"type": "message", "role": "assistant", "content": "I look. "},
        {
            "type": "function_call",
            "call_id": "call_7",
            "name": "weather",
            "arguments": '{"city": "Lyon"}',
            "thought_signature": "c2lnbmVk",
        },
        {"type": "function_call_output", "call_id": "call_7", "name": "weather", "output": "Sunny"},
    ]


# ---------------------------------------------------------------- how an answer may come


def test_text_that_the_end_repeats_is_not_said_twice() -> None:
    """https://github.com/danielmiessler/Fabric/releases/tag/v1.4.528: streamed answers that showed two times."""
    repeated = {"type": "response.output_text.done", "text": "Hello."}
    item = {"type": "response.output_item.done", "item": message("Hello.")}
    text, reader = read(delta("Hel"), delta(None), delta("lo."), repeated, item, ended(message("Hello.")))
    assert (text, reader.finish) == ("Hello.", "stop")


@pytest.mark.parametrize("parts", [("Hel", "lo."), ("Hello.",)], ids=["two parts", "one part"])
@pytest.mark.parametrize("came", ["", "Hel", "Hello."])
def test_text_that_only_the_end_brings_is_said(came: str, parts: tuple[str, ...]) -> None:
    """https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fperplexity@5.0.0: text missing from the deltas."""
    assert read(delta(came), ended(message(*parts)))[0] == "Hello."


def test_steps_unknown_events_and_items_of_searches_say_nothing() -> None:
    """The recorded shapes: a search is first told as a call of `search_web`, which is nobody's to answer."""
    search = {"type": "function_call", "name": "search_web", "arguments": "{}", "call_id": "call_1"}
    text, reader = read(
        {"type": "response.created", "response": {"usage": None, "output": [], "error": None}},
        {"type": "response.output_item.added", "item": search},
        {"type": "response.reasoning.search_queries", "queries": ["a"], "thought": "Searching"},
        {"type": "response.reasoning.search_results", "results": None, "usage": USAGE},
        {"type": "response.unknown", "response": None},
        delta("Yes."),
    )
    assert (text, reader.finish, reader.usage, list(reader.rest())) == ("Yes.", None, None, [])
    text, reader = read(
        delta("Yes."), ended({"type": "search_results", "results": [], "queries": None}, message("Yes."))
    )
    assert (text, reader.finish, list(reader.rest())) == ("Yes.", "stop", [])


@pytest.mark.parametrize(
    ("end", "finish"),
    [
        (ended(message("x"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (ended(status="incomplete", incomplete_details={"reason": "content_filter"}), "refused"),
        (ended(message("x"), status="incomplete", incomplete_details=None), "other"),
        (ended({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]}), "refused"),
        (ended({"type": "message", "content": None}), "stop"),
        ({"type": "response.completed", "response": None}, "stop"),
    ],
)
@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
def test_why_an_answer_ended(end: dict[str, Any], finish: str, *, whole: bool) -> None:
    told = (end["response"] or {"object": "response", "status": "completed"}) if whole else end
    assert read(told)[1].finish == finish


def test_what_comes_after_the_end_changes_nothing() -> None:
    text, reader = read(delta("Yes."), ended(message("Yes.")), {}, {"type": "keep-alive"}, ended(message("Yes.")))
    assert (text, reader.finish) == ("Yes.", "stop")
    assert reader.usage == Usage(input=100, output=10)


@pytest.mark.parametrize("status", ["queued", "in_progress", None])
def test_a_whole_answer_that_is_not_at_its_end_has_none(status: str | None) -> None:
    assert read({"object": "response", "status": status, "output": []})[1].finish is None


@pytest.mark.parametrize(
    ("chunk", "error_class"),
    [
        ({"type": "response.failed", "response": {"error": {"code": 502, "message": "m"}}}, "server"),
        ({"type": "response.failed", "error": {"code": "429", "message": "m"}}, "rate"),
        ({"type": "response.failed", "response": {"error": {"code": "server_error", "message": "m"}}}, "overloaded"),
        ({"type": "response.failed", "response": None}, "overloaded"),
        ({"type": "response.cancelled", "response": {"status": "cancelled", "error": None}}, "overloaded"),
        ({"type": "error", "code": 503, "message": "m"}, "overloaded"),
        ({"type": "error", "error": {"code": 500}}, "server"),
        ({"object": "response", "status": "failed", "error": None, "output": []}, "overloaded"),
        ({"object": "response", "status": "failed", "error": {"code": 504}, "usage": USAGE}, "server"),
        ({"error": {"code": 400, "message": "m"}}, "bad-request"),
    ],
    ids=str,
)
def test_an_answer_that_failed_with_status_200_is_a_failure_that_began(chunk: dict[str, Any], error_class: str) -> None:
    with pytest.raises(ProviderError) as raised:
        read(delta("Half"), chunk)
    assert (raised.value.error_class, raised.value.started) == (error_class, True)


def test_a_call_without_a_name_or_with_broken_arguments_is_malformed() -> None:
    calls = [
        {"type": "function_call", "call_id": None, "name": "f", "arguments": None},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": {"x": 1}},
        {"type": "function_call", "call_id": "c", "name": None, "arguments": "{}"},
        {"type": "function_call", "call_id": "d", "name": "g", "arguments": "{broken"},
    ]
    _, reader = read(ended(*calls))
    assert reader.finish == "tool_calls"
    assert [each.malformed for each in reader.rest() if isinstance(each, ToolCallMade)] == [False, False, True, True]
    with pytest.raises(ValueError, match="too many calls"):
        read(ended(*calls * 17))


# ---------------------------------------------------------------- what it cost

RECORDED = {
    "input_tokens": 11_575,
    "input_tokens_details": {
        "cache_creation_input_tokens": 6_296,
        "cache_read_input_tokens": 5_270,
        "cached_tokens": 5_270,
    },
    "output_tokens": 227,
    "output_tokens_details": {"reasoning_tokens": 28},
    "total_tokens": 11_802,
    "cost": {
        "cache_creation_cost": 0.00157,
        "cache_read_cost": 0.00033,
        "input_cost": 0,
        "output_cost": 0.00057,
        "currency": "USD",
        "total_cost": 0.00247,
    },
}
"""What the model reported on 2026-09-22, without the two searches of that call."""
COUNTED = 9 * 250 + 6_296 * 250 + 5_270 * 625 // 10 + 227 * 2_500


def test_a_recorded_bill_is_reproduced_from_its_tokens_and_its_rounding_is_not_billed(simulator: Simulator) -> None:
    usage = responses_usage(RECORDED, PROFILE, wrote=True)
    assert usage is not None
    assert usage == Usage(
        input=9,
        cached_input=5_270,
        cache_write_short=6_296,
        output=199,
        reasoning=28,
        units={REPORTED_COST: 2_470_000},
    )
    assert PERPLEXITY.bundle(simulator).pricing.cost(usage) == COUNTED
    assert abs(COUNTED - 2_470_000) < 25_000


def test_searches_that_nobody_asked_for_cost_what_the_provider_says_and_are_unknown_without_its_word(
    simulator: Simulator,
) -> None:
    pricing = PERPLEXITY.bundle(simulator).pricing
    searched: dict[str, Any] = {**RECORDED, "tool_calls_details": {"search_web": {"invocation": 2, "cost_usd": 0.005}}}
    usage = responses_usage({**searched, "cost": {"total_cost": 0.00747}}, PROFILE, wrote=True)
    assert usage is not None
    assert usage.units["searches"] == 2
    assert pricing.cost(usage) == 7_470_000
    usage = responses_usage({**searched, "cost": None}, PROFILE, wrote=True)
    assert usage is not None
    assert pricing.cost(usage) is None


@pytest.mark.parametrize(
    ("total", "cost"),
    [
        (0.00247, COUNTED),
        (0.00249, COUNTED),
        (0.0025, 2_500_000),
        (0.00244, 2_440_000),
        (0, COUNTED),
        (None, COUNTED),
        ("0.1", COUNTED),
    ],
)
def test_a_cost_is_believed_where_rounding_does_not_explain_it(total: object, cost: int, simulator: Simulator) -> None:
    usage = responses_usage({**RECORDED, "cost": {"total_cost": total}}, PROFILE, wrote=True)
    assert usage is not None
    assert PERPLEXITY.bundle(simulator).pricing.cost(usage) == cost


@pytest.mark.parametrize(
    "said",
    [
        None,
        "none",
        {},
        {**RECORDED, "input_tokens": None},
        {**RECORDED, "output_tokens": -1},
        {**RECORDED, "input_tokens": 100},
        {**RECORDED, "output_tokens": 27},
        {**RECORDED, "tool_calls_details": {"search_web": {"invocation": "two"}}},
        {"input_tokens": 0, "output_tokens": 0},
        {"input_tokens": 10, "output_tokens": 0},
    ],
    ids=str,
)
def test_usage_that_cannot_be_true_is_absent(said: object) -> None:
    assert responses_usage(said, PROFILE, wrote=True) is None


@on_the_wire
async def test_a_tier_without_a_price_costs_what_the_provider_says(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(PERPLEXITY)
    simulator.script(Script(service_tier="fast", prompt_tokens=4_000, output_tokens=400))
    told = await told_by(bundle, request_for(PERPLEXITY))
    assert told.report is not None
    assert told.report.service_tier == "fast"
    assert bundle.pricing.cost(told.report.usage, "fast") == simulator.total_nanousd == 2_000_000


@on_the_wire
async def test_a_field_that_the_provider_does_not_know_would_be_refused_here_too(
    shared: Bundles, simulator: Simulator
) -> None:
    """The simulator is as strict as the real service, so that the suite would see a field too many."""
    import aiohttp

    async with aiohttp.ClientSession() as session:
        for body in (
            {"model": "perplexity/sonar", "input": "x", "disable_search": True},
            {"model": "sonar", "input": "x"},
        ):
            async with session.post(simulator.url + "/perplexity/v1/responses", json=body) as answer:
                assert answer.status == 400
    assert simulator.lines == []
