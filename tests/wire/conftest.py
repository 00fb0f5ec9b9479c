"""One simulator and one client of each provider for a module: making an SDK's client is the slow part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio

from ai_server.providers.registry import ProviderBundle, ProviderSet
from tests.fakes.clock import ManualClock
from tests.simulator.server import Simulator, running
from tests.wire.subjects import Subject

Bundles = Callable[[Subject], Awaitable[ProviderBundle]]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server() -> AsyncIterator[Simulator]:
    async with running(now=ManualClock().now) as simulator:
        simulator.dimension |= {"gemini-embedding-001": 3072, "mistral-embed": 1024, "text-embedding-3-small": 1536}
        yield simulator


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def shared(server: Simulator) -> AsyncIterator[Bundles]:
    made: dict[str, ProviderSet] = {}

    async def bundle(subject: Subject) -> ProviderBundle:
        if subject.name not in made:
            made[subject.name] = subject.provider_set(server)
        found = made[subject.name].bundles()[(subject.provider, subject.model), "generation"]
        assert found.generation is not None
        await found.generation.initialize()
        return found

    yield bundle
    for each in made.values():
        await each.close()


@pytest.fixture
def simulator(server: Simulator) -> Simulator:
    """The module's simulator, with nothing left from the test before."""
    server.reset()
    return server
