"""P24: no SSRF. The gate is where the socket is made, so every test counts sockets."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver

from ai_server.connectors.addresses import may_dial
from ai_server.connectors.client import SafeClient
from shared.errors import ProviderError, ProviderRefused
from tests.data.forbidden_urls import FORBIDDEN, PRIVATE_V4, PRIVATE_V6, RESOLVES
from tests.unit.connectors.conftest import spec_for


class HostileResolver(AbstractResolver):
    """Leads every name where the corpus says, and reads numbers as the C library does."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    async def resolve(self, host, port=0, family=socket.AF_INET):
        return [
            {"hostname": host, "host": text, "port": port, "family": self._family(text), "proto": 0, "flags": 0}
            for text in self._answer(host)
        ]

    def _answer(self, host):
        if self._answers:
            return self._answers.pop(0)
        name = host.lower()
        if name in RESOLVES or f"{name}." in RESOLVES:
            return [RESOLVES.get(name) or RESOLVES[f"{name}."]]
        try:
            return [socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))]
        except OSError as fault:
            raise OSError(f"no such name {host}") from fault

    @staticmethod
    def _family(text):
        return socket.AF_INET6 if ":" in text else socket.AF_INET

    async def close(self):
        pass


class CountedSockets:
    """Stands for `socket.socket` and never opens anything."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, **_):
        self.count += 1
        raise OSError("tests open no socket here")


async def fetch(url: str, sockets: CountedSockets, *, networks=(), resolver=None) -> None:
    client = SafeClient(
        spec_for("openapi", url, networks=networks), {}, resolver=resolver or HostileResolver(), make_socket=sockets
    )
    try:
        await client.json("", {})
    finally:
        await client.close()


def test_the_corpus_has_200_different_addresses():
    assert len(FORBIDDEN) >= 200


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_a_forbidden_address_is_refused_before_there_is_a_socket(url):
    sockets = CountedSockets()
    with pytest.raises((ProviderError, ValueError)) as caught:
        await fetch(url, sockets)
    assert sockets.count == 0
    assert isinstance(caught.value, ValueError) or caught.value.error_class == "forbidden_address"


async def test_no_redirect_leads_to_a_forbidden_address(serve):
    """The origin itself is listed, so only the redirect is at fault; every hop but the first is refused undialled."""
    target = ""

    async def handle(request):
        return web.Response(status=302, headers={"Location": target})

    app = web.Application()
    app.router.add_get("/{tail:.*}", handle)
    url = await serve(app)
    opened = []

    def recorded(**given):
        opened.append(given)
        return socket.socket(**given)

    client = SafeClient(spec_for("openapi", url), {"Authorization": "Bearer x"}, make_socket=recorded)
    for target in FORBIDDEN:
        before = len(opened)
        with pytest.raises(ProviderRefused) as caught:
            await client.json("start", {})
        assert caught.value.error_class == "redirected", target
        assert len(opened) - before <= 1
    await client.close()


async def test_a_name_that_changes_its_address_is_stopped_at_the_dial():
    sockets = CountedSockets()
    resolver = HostileResolver(["93.184.216.34"], ["127.0.0.1"])
    for expected in ("unreachable", "forbidden_address"):
        with pytest.raises(ProviderError) as caught:
            await fetch("http://rebind.example/", sockets, resolver=resolver)
        assert caught.value.error_class == expected
    assert sockets.count == 1


async def test_a_name_with_a_public_and_a_private_address_never_reaches_the_private_one():
    sockets = CountedSockets()
    with pytest.raises(ProviderError):
        await fetch("http://both.example/", sockets, resolver=HostileResolver(["93.184.216.34", "10.0.0.1", "::1"]))
    assert sockets.count == 1


@pytest.mark.parametrize("text", [*PRIVATE_V4, *PRIVATE_V6])
def test_private_addresses_may_not_be_dialled(text):
    assert not may_dial(text.replace("%25", "%"), ())


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public_addresses_may_be_dialled(text):
    assert may_dial(text, ()) == (text != "64:ff9b::808:808")


def test_a_listed_network_may_be_dialled_and_nothing_beside_it():
    listed = (ipaddress.ip_network("192.168.1.0/24"), ipaddress.ip_network("fd00::/8"))
    allowed = ["192.168.1.7", "::ffff:192.168.1.7", "fd00::1"]
    refused = ["192.168.2.7", "10.0.0.1", "::ffff:192.168.2.7", "fe80::1", "127.0.0.1", "", "x", "1.2.3"]
    assert [may_dial(text, listed) for text in allowed + refused] == [True] * 3 + [False] * 8


@pytest.mark.parametrize(
    "url", ["ftp://x.example", "https://", "https://u:p@x.example", "https://x.example?a=b", "x", ""]
)
def test_a_base_address_is_http_with_a_host_and_no_credentials(url):
    with pytest.raises(ValueError, match=r"must|has no|holds"):
        SafeClient(spec_for("openapi", url), {})
