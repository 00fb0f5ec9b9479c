"""P24: no SSRF. The gate is where the socket is made, so every test counts sockets."""

from __future__ import annotations

import ipaddress

import pytest
from aiohttp import web

from ai_server.connectors.addresses import may_dial
from ai_server.connectors.client import SafeClient, open_socket
from shared.errors import ProviderError, ProviderRefused
from tests.data.forbidden_urls import FORBIDDEN, PRIVATE_V4, PRIVATE_V6
from tests.fakes.hostile_network import CountedSockets, HostileResolver
from tests.unit.connectors.conftest import spec_for


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

    def recorded(info):
        opened.append(info)
        return open_socket(info)

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
    assert set(sockets.addresses) == {"93.184.216.34"}


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
