"""Each process is killed once in the middle of a turn. The visitor sees a true message, and the money adds up.

Issue «The main job», shown by: a crash walk. The model is a simulated provider with an invoice of its own, slow
enough that every kill lands between the first word and the last.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

import aiohttp
import pytest
import pytest_asyncio

from tests.e2e.installation import Installation, Visitor, installed, until, with_mistral
from tests.simulator.script import Script
from tests.simulator.server import Simulator

pytestmark = pytest.mark.asyncio(loop_scope="module")

MODULES = ("ai_server", "gateway")
PIECES = tuple(f"piece {number} " for number in range(60))
SLOW = Script(chunks=PIECES, pace_s=0.1)
QUESTION = "What is economy mode?"


def with_model(text: str) -> str:
    """Let the demo project answer with the simulated model."""
    embedded = '[{ provider = "embedded", model = "extractive" }]'
    assert embedded in text
    return text.replace(embedded, '[{ provider = "mistral", model = "mistral-small-2603" }]')


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider():
    running = Simulator()
    await running.start()
    yield running
    await running.stop()


@pytest.fixture
def simulator(provider):
    """The provider, with nothing on its invoice."""
    provider.reset()
    return provider


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house(tmp_path_factory, provider, prepared):
    """One installation for all walks, since each takes seconds to start."""
    folder = tmp_path_factory.mktemp("crash")
    async with installed(folder, prepared, with_mistral(provider.url), with_model) as both:
        yield both


@pytest_asyncio.fixture(loop_scope="module")
async def walk(house):
    """A new visitor of it; what an earlier walk left dead is started again."""
    installation, http = house
    for name in MODULES:
        if name not in installation.processes:
            installation.start(name)
    await installation.wait_ready(http)
    return installation, http, await Visitor.arrive(installation, http)


async def begin_turn(visitor: Visitor) -> asyncio.Task[None]:
    """Send a question and return when the first words of the answer have come."""
    spoken = asyncio.Event()

    async def read() -> None:
        headers = {"authorization": f"Bearer {visitor.token}", "accept": "text/event-stream"}
        url = f"{visitor.installation.url}/v1/conversations/{visitor.conversation}/messages"
        with suppress(aiohttp.ClientError):
            async with visitor.http.post(url, json={"text": QUESTION}, headers=headers) as response:
                async for line in response.content:
                    if line.startswith(b"event: message.delta"):
                        spoken.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(spoken.wait(), 90)
    return task


async def answered(visitor: Visitor) -> bool:
    return (await visitor.last())["role"].lower() == "ai"


async def audit(installation: Installation) -> str:
    return await installation.command("ai_server", "budgets", "audit")


async def test_a_killed_ai_server_leaves_a_true_message_and_a_held_reservation(walk, simulator):
    installation, http, visitor = walk
    simulator.script(SLOW)
    reading = await begin_turn(visitor)
    installation.kill("ai_server")
    installation.start("ai_server")
    await installation.wait_ready(http)
    await until(lambda: answered(visitor), 60)
    reading.cancel()
    last = await visitor.last()
    assert last["outcome"] in {"interrupted", "failed", "truncated"}
    assert "piece 59" not in last["text"]
    assert simulator.total_nanousd > 0
    assert "held" in await installation.command("ai_server", "budgets", "list")
    assert "everything adds up" in await audit(installation)
    simulator.script(Script())
    assert (await visitor.ask("How do I add documents?"))["outcome"] == "answered"


async def test_a_killed_gateway_gives_the_whole_answer_when_it_comes_back_for_one_call(walk, simulator):
    installation, http, visitor = walk
    simulator.script(SLOW)
    reading = await begin_turn(visitor)
    installation.kill("gateway")
    installation.start("gateway")
    await installation.wait_ready(http)
    await until(lambda: answered(visitor), 60)
    await reading
    last = await visitor.last()
    assert (last["outcome"], last["text"].split()) == ("answered", "".join(PIECES).split())
    assert len(simulator.lines) == 1
    assert last["cost_nanousd"] == simulator.total_nanousd
    assert "everything adds up" in await audit(installation)


async def test_a_killed_index_child_costs_no_answer(walk, simulator):
    installation, _, visitor = walk
    simulator.script(SLOW)
    reading = await begin_turn(visitor)
    victims = installation.children("ai_server")
    assert victims
    for each in victims:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    await asyncio.wait_for(reading, 60)
    last = await visitor.last()
    assert last["outcome"] == "answered"
    assert last["cost_nanousd"] == simulator.total_nanousd
    simulator.script(Script())
    assert (await visitor.ask("How do I add documents?"))["outcome"] == "answered"
    assert "everything adds up" in await audit(installation)
