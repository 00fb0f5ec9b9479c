"""What every provider does alike: one suite over all of them, through their SDKs, over HTTP."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ai_server.providers.contract import (
    GenerationProvider,
    ImagePart,
    Message,
    TextDelta,
    TextPart,
    Thinking,
    ToolCallPart,
    ToolResultPart,
    ToolSpec,
)
from shared.errors import ProviderRefused
from shared.usage import Usage
from tests.simulator.script import Script, ScriptedCall
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import (
    ALL,
    CLAUDE,
    COMPATIBLE,
    EACH_WIRE,
    GEMINI,
    MISTRAL,
    OLLAMA,
    Subject,
    request_for,
    told_by,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
every = pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
each_wire = pytest.mark.parametrize("subject", EACH_WIRE, ids=lambda each: each.name)
streamed_or_whole = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])

WEATHER = ToolSpec(
    name="weather",
    description="Tells the weather of a city.",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@every
async def test_the_provider_keeps_the_contract(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    assert isinstance(bundle.generation, GenerationProvider)
    assert bundle.generation.name == subject.provider


@every
@streamed_or_whole
async def test_text_usage_and_reason_arrive_and_cost_what_the_invoice_says(
    subject: Subject, stream, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    told = await told_by(bundle, request_for(subject, stream=stream))
    assert told.text == "The answer is forty-two."
    assert told.finish == "stop"
    assert told.usage is not None
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd
    assert (simulator.total_nanousd == 0) is subject.free


@every
async def test_text_comes_piece_by_piece(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    simulator.script(Script(chunks=("one ", "two ", "three")))
    told = await told_by(await shared(subject), request_for(subject))
    assert [each.text for each in told.events if isinstance(each, TextDelta)] == ["one ", "two ", "three"]


@every
async def test_the_request_carries_instructions_question_cap_and_reservation(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    await told_by(await shared(subject), request_for(subject, temperature=0.3))
    [received] = simulator.received
    sent = json.dumps(received.body)
    assert "Answer from the passages." in sent
    assert "What is the answer?" in sent
    assert "200" in sent
    assert {name.lower(): value for name, value in received.headers.items()}["x-client-request-id"] == "res-1"


@every
@streamed_or_whole
async def test_a_tool_call_in_fragments_is_put_together(
    subject: Subject, stream, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    assert bundle.generation is not None
    if not bundle.generation.capabilities.tools:
        with pytest.raises(ProviderRefused, match="does not call tools"):
            await told_by(bundle, request_for(subject, tools=(WEATHER,), stream=stream))
        return
    call = ScriptedCall("weather", '{"city": "Orléans", "days": [1, 2]}', call_id="call_abc1", fragments=5)
    simulator.script(Script(chunks=(), calls=(call,)))
    told = await told_by(bundle, request_for(subject, tools=(WEATHER,), stream=stream))
    [made] = told.calls
    assert (made.name, json.loads(made.arguments_json)) == ("weather", {"city": "Orléans", "days": [1, 2]})
    assert not made.malformed
    assert told.finish == "tool_calls"
    assert told.usage is not None
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


@every
async def test_the_history_of_a_tool_round_is_accepted(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    assert bundle.generation is not None
    if not bundle.generation.capabilities.tools:
        pytest.skip("this model calls no tools")
    call = ScriptedCall("weather", '{"city": "Lyon"}', call_id="call_abc1")
    simulator.script(Script(chunks=(), thoughts="I should look.", calls=(call,)))
    first = await told_by(
        bundle, request_for(subject, tools=(WEATHER,), thinking=Thinking.HIGH, max_output_tokens=8_000)
    )
    [made] = first.calls
    called = ToolCallPart(made.call_id, made.name, made.arguments_json, made.signature)
    history = (
        Message("user", (TextPart("Weather in Lyon?"),)),
        Message("assistant", (called,)),
        Message("user", (ToolResultPart(made.call_id, made.name, "Sunny, 21 °C"),)),
    )
    told = await told_by(bundle, request_for(subject, tools=(WEATHER,), messages=history))
    assert told.finish == "stop"
    sent = json.dumps(simulator.received[-1].body, ensure_ascii=False)
    assert "Sunny, 21 °C" in sent
    assert "weather" in sent
    if made.signature:
        assert "c2lnbmVk" in sent, "what was signed goes back"


@every
async def test_an_image_is_sent_where_the_model_sees(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    assert bundle.generation is not None
    message = Message("user", (TextPart("What is this?"), ImagePart("image/png", PIXEL)))
    if not bundle.generation.capabilities.image:
        with pytest.raises(ProviderRefused, match="does not read images"):
            await told_by(bundle, request_for(subject, messages=(message,)))
        assert simulator.received == []
        return
    told = await told_by(bundle, request_for(subject, messages=(message,)))
    sent = json.dumps(simulator.received[-1].body).replace("-", "+").replace("_", "/")
    assert base64.b64encode(PIXEL).decode() in sent
    assert told.usage is not None
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


@every
@pytest.mark.parametrize(
    ("image", "said"),
    [
        (ImagePart("image/tiff", PIXEL), "PNG, JPEG, WebP and GIF"),
        (ImagePart("image/svg+xml", b"<svg/>"), "PNG, JPEG, WebP and GIF"),
        (ImagePart("image/png", b""), "1 to 3,145,728 bytes"),
        (ImagePart("image/png", b"x" * (3 * 1024 * 1024 + 1)), "1 to 3,145,728 bytes"),
    ],
    ids=["tiff", "svg", "empty", "too large"],
)
async def test_an_image_that_nobody_reads_is_refused_before_the_call(
    subject: Subject, image: ImagePart, said: str, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    assert bundle.generation is not None
    if not bundle.generation.capabilities.image:
        said = "does not read images"
    with pytest.raises(ProviderRefused, match=said) as refused:
        await told_by(bundle, request_for(subject, messages=(Message("user", (image,)),)))
    assert refused.value.started is False
    assert refused.value.provider == subject.provider
    assert simulator.received == []


@every
@pytest.mark.parametrize("cap", [0, 10_000_000])
async def test_a_cap_over_the_model_s_maximum_is_refused_before_the_call(
    subject: Subject, cap: int, shared: Bundles, simulator: Simulator
) -> None:
    with pytest.raises(ProviderRefused, match="the output cap must be"):
        await told_by(await shared(subject), request_for(subject, max_output_tokens=cap))
    assert simulator.received == []


@every
@streamed_or_whole
async def test_cached_and_reasoning_tokens_cost_what_the_invoice_says(
    subject: Subject, stream, shared: Bundles, simulator: Simulator
) -> None:
    """P7: thoughts and cache are where billing bugs live."""
    bundle = await shared(subject)
    simulator.script(Script(prompt_tokens=1_000, cached_tokens=300, reasoning_tokens=77, output_tokens=33))
    told = await told_by(bundle, request_for(subject, stream=stream))
    hidden = 0 if subject is MISTRAL else 77
    visible = 110 if subject is MISTRAL else 33
    assert told.usage is not None
    assert told.usage.reasoning == hidden
    assert told.usage.output == visible
    assert told.usage.cached_input == 300
    assert told.usage.input == 700
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


@each_wire
async def test_an_answer_that_is_cut_by_its_limit_says_so(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    simulator.script(Script(finish="length"))
    assert (await told_by(await shared(subject), request_for(subject))).finish == "length"


@pytest.mark.parametrize("subject", [each for each in EACH_WIRE if each is not MISTRAL], ids=lambda each: each.name)
@streamed_or_whole
async def test_a_refusal_by_policy_says_so(subject: Subject, stream, shared: Bundles, simulator: Simulator) -> None:
    simulator.script(Script(chunks=(), finish="refused"))
    told = await told_by(await shared(subject), request_for(subject, stream=stream))
    assert (told.text, told.finish) == ("", "refused")


@every
@streamed_or_whole
async def test_a_model_that_only_thinks_ends_by_length_and_is_billed(
    subject: Subject, stream, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B1, https://github.com/googleapis/python-genai/issues/1011: content without parts, thoughts = limit."""
    bundle = await shared(subject)
    simulator.script(Script(chunks=(), finish="length", thoughts="hm", empty_choices=True, reasoning_tokens=200))
    told = await told_by(bundle, request_for(subject, stream=stream))
    assert (told.text, told.finish) == ("", "length")
    assert told.usage is not None
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


@every
@pytest.mark.parametrize("size", [1, 3, 7])
async def test_characters_cut_by_the_network_arrive_whole(
    subject: Subject, size: int, shared: Bundles, simulator: Simulator
) -> None:
    """CASES F12: every byte of multi-byte text on its own."""
    text = ("é ", "你 ", "👩‍👩‍👧 ", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "\u2028\u0085end")
    simulator.script(Script(chunks=text, split=size))
    assert (await told_by(await shared(subject), request_for(subject))).text == "".join(text)


@every
@pytest.mark.parametrize("mode", ["late", "cumulative", "duplicated"])
async def test_usage_is_right_however_it_is_told(
    subject: Subject, mode: Any, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B2, https://github.com/pydantic/pydantic-ai/issues/1736: the last value wins, sums are wrong."""
    bundle = await shared(subject)
    simulator.script(Script(chunks=("a", "b", "c", "d"), usage=mode, prompt_tokens=36, output_tokens=12))
    told = await told_by(bundle, request_for(subject))
    assert told.usage is not None
    assert (told.usage.input, told.usage.output) == (36, 12)
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


@every
@pytest.mark.parametrize("mode", ["missing", "zero", "inconsistent"])
@streamed_or_whole
async def test_usage_that_is_absent_or_impossible_is_unknown_and_never_zero(
    subject: Subject, mode: Any, stream, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B12, https://github.com/mistralai/client-python/issues/40: no usage in any chunk."""
    simulator.script(Script(usage=mode))
    if subject is CLAUDE and mode == "missing" and not stream:
        pytest.skip("a whole message without usage is not in the format")
    told = await told_by(await shared(subject), request_for(subject, stream=stream))
    assert told.text == "The answer is forty-two."
    assert told.usage is None


@every
async def test_closing_the_iterator_frees_the_connection_and_the_next_call_works(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    bundle = await shared(subject)
    assert bundle.generation is not None
    from tests.wire.subjects import permit_for

    simulator.script(Script(pace_s=0.05, chunks=tuple("abcdefghij")))
    events = bundle.generation.generate(request_for(subject), permit_for(bundle))
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()  # type: ignore[attr-defined]
    assert (await told_by(bundle, request_for(subject))).text == "The answer is forty-two."


@every
async def test_a_closed_provider_can_be_used_again_and_closing_twice_is_harmless(
    subject: Subject, simulator: Simulator
) -> None:
    bundle = subject.bundle(simulator)
    assert bundle.generation is not None
    await told_by(bundle, request_for(subject))
    await bundle.generation.close()
    await bundle.generation.close()
    assert (await told_by(bundle, request_for(subject))).finish == "stop"
    await bundle.generation.close()


async def test_content_as_a_list_of_thinking_and_text_gives_the_text(shared: Bundles, simulator: Simulator) -> None:
    """Mistral's magistral and small models answer in lists."""
    for stream in (True, False):
        simulator.script(Script(list_content=True, thoughts="secret thoughts"))
        told = await told_by(await shared(MISTRAL), request_for(MISTRAL, stream=stream))
        assert told.text == "The answer is forty-two."


async def test_thoughts_are_no_part_of_the_answer(shared: Bundles, simulator: Simulator) -> None:
    for subject in EACH_WIRE:
        simulator.script(Script(thoughts="secret thoughts"))
        told = await told_by(await shared(subject), request_for(subject))
        assert told.text == "The answer is forty-two."


async def test_gemini_s_tool_prompt_is_input_and_its_thoughts_are_reasoning(
    shared: Bundles, simulator: Simulator
) -> None:
    """CASES B4, https://github.com/agentscope-ai/agentscope-java/issues/3033."""
    simulator.script(
        Script(prompt_tokens=500, output_tokens=120, tool_use_tokens=300, reasoning_tokens=10, usage="cumulative")
    )
    bundle = await shared(GEMINI)
    told = await told_by(bundle, request_for(GEMINI))
    assert told.usage == Usage(input=800, output=120, reasoning=10)
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


async def test_claude_s_unknown_events_say_nothing(shared: Bundles, simulator: Simulator) -> None:
    simulator.script(Script(unknown_event=True))
    told = await told_by(await shared(CLAUDE), request_for(CLAUDE))
    assert (told.text, told.finish) == ("The answer is forty-two.", "stop")


async def test_claude_s_cache_writes_cost_a_quarter_more(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(CLAUDE)
    simulator.script(Script(prompt_tokens=5_000, cached_tokens=1_000, cache_write_tokens=3_000, output_tokens=10))
    told = await told_by(bundle, request_for(CLAUDE))
    assert told.usage == Usage(input=1_000, cached_input=1_000, cache_write_short=3_000, output=10)
    assert bundle.pricing.cost(told.usage) == simulator.total_nanousd


async def test_claude_s_breakpoints_stand_after_what_is_repeated(shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(CLAUDE)
    await told_by(bundle, request_for(CLAUDE))
    plain = json.dumps(simulator.received[-1].body)
    assert "cache_control" not in plain, "nothing says that anything repeats"
    await told_by(bundle, request_for(CLAUDE, stable_characters=12))
    [stable, rest] = simulator.received[-1].body["system"]
    assert (stable["text"], "cache_control" in stable, "cache_control" in rest) == ("Answer from ", True, False)
    await told_by(bundle, request_for(CLAUDE, tools=(WEATHER,)))
    body = simulator.received[-1].body
    assert "cache_control" in body["system"][0]
    assert "cache_control" in body["messages"][-1]["content"][-1]


@pytest.mark.parametrize("subject", [OLLAMA, COMPATIBLE], ids=lambda each: each.name)
async def test_our_own_machine_costs_nothing(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    assert bundle.pricing.metered is False
    assert bundle.pricing.ceiling(1_000_000, 1_000_000) == 0
