"""A real gateway on a free port with a scripted AI server."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack
from dataclasses import replace

import aiohttp
import pytest

from gateway.identity.limits import Rate
from gateway.identity.projects import PublicKey
from gateway.web.services import LimitSettings
from tests.fakes.assistant import ScriptedAssistant
from tests.fakes.gateway import DEMO, migrate, open_services, serving
from tests.integration.gateway.client import Browser, Documented

GENEROUS = LimitSettings(requests=Rate(100_000, 100_000), sessions=Rate(10_000, 10_000), messages=Rate(10_000, 10_000))
OTHER = replace(
    DEMO,
    id="other",
    public_keys=(PublicKey("pk_other", frozenset({"https://other.example"})),),
    anonymous_contexts=(),
    expose_model=False,
    expose_cost=False,
)


@pytest.fixture
def assistant():
    return ScriptedAssistant()


@pytest.fixture
def projects():
    return (DEMO, OTHER)


@pytest.fixture
def limits():
    return GENEROUS


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A folder with an empty store in it, migrated once for all tests."""
    folder = tmp_path_factory.mktemp("migrated")
    asyncio.run(migrate(folder))
    return folder


@pytest.fixture
async def services(tmp_path, assistant, limits, migrated, projects):
    shutil.copytree(migrated, tmp_path / "gateway")
    async with open_services(tmp_path / "gateway", assistant, limits=limits, projects=projects) as opened:
        yield opened


@pytest.fixture
async def url(services):
    async with serving(services) as address:
        yield address


@pytest.fixture
async def new_browser(url):
    """Make browsers, each a visitor of its own."""
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0, force_close=True), auto_decompress=False)
        )
        async with session.get(f"{url}/openapi.json") as response:
            documented = Documented(await response.json())

        async def make(*, with_session=True):
            browser = Browser(session, url, documented)
            if with_session:
                await browser.open_session()
            return browser

        yield make


@pytest.fixture
async def browser(new_browser):
    return await new_browser()


@pytest.fixture
async def conversation(browser):
    return await browser.open_conversation()
