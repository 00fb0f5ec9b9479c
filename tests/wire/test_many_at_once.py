"""More answers at once than an HTTP client lets through by itself."""

from __future__ import annotations

import asyncio

import pytest

from ai_server.providers.contract import TextDelta
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.subjects import EACH_SDK, Subject, request_for, told_by

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = 130
"""More than the hundred connections that HTTP clients keep themselves to when nobody tells them otherwise."""
WITHIN_S = 60.0


@pytest.mark.parametrize("subject", EACH_SDK, ids=lambda each: each.name)
async def test_many_answers_at_once_do_not_wait_for_each_others_connections(
    subject: Subject, simulator: Simulator
) -> None:
    bundle = subject.bundle(simulator)
    assert bundle.generation is not None
    simulator.default = Script(chunks=("a", "b"), stall_after=1)
    begun, spoken = asyncio.Semaphore(0), 0

    async def read() -> None:
        await told_by(bundle, request_for(subject), lambda event: isinstance(event, TextDelta) and begun.release())

    reading = [asyncio.create_task(read()) for _ in range(AT_ONCE)]
    try:
        async with asyncio.timeout(WITHIN_S):
            while spoken < AT_ONCE:
                await begun.acquire()
                spoken += 1
    finally:
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        await bundle.generation.close()
    assert spoken == AT_ONCE
