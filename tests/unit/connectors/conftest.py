from __future__ import annotations

import ipaddress
import socket
from contextlib import AsyncExitStack

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from ai_server.connectors.contract import ConnectorSpec, Endpoint

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
async def serve():
    """Start applications on loopback; gives each one's base address."""
    async with AsyncExitStack() as stack:

        async def start(app: web.Application) -> str:
            server = TestServer(app)
            await server.start_server()
            stack.push_async_callback(server.close)
            return str(server.make_url("")).rstrip("/")

        yield start


@pytest.fixture
def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def spec_for(connector: str, url: str, **changes) -> ConnectorSpec:
    given = {
        "connector": connector,
        "instance": "home",
        "name": connector.capitalize(),
        "url": url,
        "endpoints": (Endpoint("things", {"fr": "choses", "en": "things", "es": "cosas"}),),
        "networks": LOOPBACK,
        "timeout_s": 2.0,
        **changes,
    }
    return ConnectorSpec(**given)
