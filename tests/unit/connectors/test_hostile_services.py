"""Down, slow, 401, 429, HTML, 50 MB, redirects: issue 8 (Bad input). Every connector type against each."""

from __future__ import annotations

import asyncio
import json

import pytest
from aiohttp import web

from ai_server.connectors import client
from ai_server.connectors.contract import SearchRequest
from ai_server.connectors.openapi import HttpEndpoint
from ai_server.connectors.service import FACTORIES
from shared.errors import ProviderError, ProviderOverloaded, ProviderRefused
from tests.unit.connectors.conftest import spec_for

CANARY = "canary-7f3a9c"
HTTP = {"things": HttpEndpoint("search", {"q": "{terms}"}, {}, "items", "title", "link", "date", "snippet")}
SPECS = {
    "jellyfin": {},
    "nextcloud": {"user": ""},
    "github": {},
    "openapi": {"options": {"http": HTTP, "auth": "bearer"}},
}


async def ask(kind, url, **changes):
    connector = FACTORIES[kind](spec_for(kind, url, secret=CANARY, **{**SPECS[kind], **changes}))
    try:
        return await connector.search(SearchRequest("", "secret words"))
    finally:
        await connector.close()


def answering(handler):
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    return app


def status(code, **more):
    async def handle(request):
        return web.Response(status=code, **more)

    return handle


@pytest.mark.parametrize("kind", sorted(FACTORIES))
@pytest.mark.parametrize(
    ("code", "error", "error_class"),
    [
        (401, ProviderRefused, "unauthorised"),
        (403, ProviderRefused, "refused"),
        (404, ProviderRefused, "refused"),
        (429, ProviderOverloaded, "rate_limited"),
        (500, ProviderOverloaded, "overloaded"),
        (503, ProviderOverloaded, "overloaded"),
        (204, ProviderRefused, "not_json"),
    ],
)
async def test_a_bad_status_becomes_our_error_without_a_secret(serve, kind, code, error, error_class):
    with pytest.raises(error) as caught:
        await ask(kind, await serve(answering(status(code))))
    assert caught.value.error_class == error_class
    assert CANARY not in str(caught.value)
    assert "secret words" not in str(caught.value)


@pytest.mark.parametrize("kind", sorted(FACTORIES))
@pytest.mark.parametrize(
    ("text", "content_type"),
    [
        ("<html><title>Log in</title></html>", "text/html"),
        ("{", "application/json"),
        ("[" * 100_000, "application/json"),
        ('{"a":' * 50_000, "application/json"),
    ],
)
async def test_what_is_no_json_is_refused(serve, kind, text, content_type):
    with pytest.raises(ProviderRefused) as caught:
        await ask(kind, await serve(answering(status(200, text=text, content_type=content_type))))
    assert caught.value.error_class == "not_json"


@pytest.mark.parametrize("kind", sorted(FACTORIES))
@pytest.mark.parametrize(
    "odd",
    [
        [],
        {},
        "x",
        7,
        None,
        {"items": 3, "Items": {}, "ocs": []},
        {"items": [1, None], "Items": ["x"], "ocs": {"data": {"entries": [3]}}},
    ],
)
async def test_json_of_another_shape_finds_nothing(serve, kind, odd):
    text = json.dumps(odd)
    assert await ask(kind, await serve(answering(status(200, text=text, content_type="application/json")))) == ()


@pytest.mark.parametrize("kind", sorted(FACTORIES))
async def test_a_slow_service_is_left_in_time(serve, kind):
    async def hang(request):
        await asyncio.sleep(60)

    started = asyncio.get_running_loop().time()
    with pytest.raises(ProviderOverloaded) as caught:
        await ask(kind, await serve(answering(hang)), timeout_s=0.2)
    assert caught.value.error_class == "timeout"
    assert asyncio.get_running_loop().time() - started < 2


async def test_a_service_that_drips_is_left_in_time(serve):
    async def drip(request):
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(1_000):
            await response.write(b" ")
            await asyncio.sleep(0.02)
        return response

    with pytest.raises(ProviderOverloaded):
        await ask("jellyfin", await serve(answering(drip)), timeout_s=0.3)


@pytest.mark.parametrize("declared", [True, False])
async def test_50_mb_are_not_read(serve, declared):
    sent = 0

    async def pour(request):
        nonlocal sent
        headers = {"Content-Type": "application/json"}
        if declared:
            headers["Content-Length"] = str(50 * 1024 * 1024)
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        try:
            for _ in range(800):
                await response.write(b" " * 64 * 1024)
                sent += 64 * 1024
        except (ConnectionError, asyncio.CancelledError):
            pass
        return response

    with pytest.raises(ProviderRefused) as caught:
        await ask("github", await serve(answering(pour)), timeout_s=10)
    assert caught.value.error_class == "too_large"
    assert sent < 10 * 1024 * 1024


async def test_packed_answers_are_refused_unopened(serve):
    packed = status(
        200, body=b"\x1f\x8b" + b"0" * 100, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}
    )
    with pytest.raises(ProviderRefused):
        await ask("openapi", await serve(answering(packed)))


async def test_a_port_where_nobody_listens_is_unreachable(free_port):
    with pytest.raises(ProviderOverloaded) as caught:
        await ask("jellyfin", f"http://127.0.0.1:{free_port}")
    assert caught.value.error_class == "unreachable"


async def test_what_is_no_http_passes_as_a_broken_connection(free_port):
    async def babble(reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(babble, "127.0.0.1", free_port)
    async with server:
        with pytest.raises(ProviderError):
            await ask("github", f"http://127.0.0.1:{free_port}")


async def test_a_redirect_on_the_same_origin_is_followed_with_credentials(serve):
    seen = []

    async def handle(request):
        seen.append((request.path, request.headers.get("Authorization")))
        if request.path != "/v2":
            raise web.HTTPFound("/v2")
        return web.json_response({"items": [{"title": "found"}]})

    found = await ask("openapi", await serve(answering(handle)))
    assert [each.title for each in found] == ["found"]
    assert seen == [("/search", f"Bearer {CANARY}"), ("/v2", f"Bearer {CANARY}")]


async def test_a_redirect_to_another_origin_is_refused_and_sees_no_credential(serve):
    reached = []

    async def thief(request):
        reached.append(dict(request.headers))
        return web.json_response({})

    other = await serve(answering(thief))

    async def handle(request):
        raise web.HTTPTemporaryRedirect(other)

    with pytest.raises(ProviderRefused) as caught:
        await ask("openapi", await serve(answering(handle)))
    assert caught.value.error_class == "redirected"
    assert reached == []


async def test_thirty_redirects_end_after_three(serve):
    count = 0

    async def handle(request):
        nonlocal count
        count += 1
        raise web.HTTPFound(f"/{count}")

    with pytest.raises(ProviderRefused):
        await ask("github", await serve(answering(handle)))
    assert count == client.HOP_LIMIT + 1


async def test_items_are_bounded_and_without_markup(serve):
    evil = {
        "title": "<script>alert(1)</script>" + "t" * 5_000,
        "link": "javascript:alert(1)",
        "date": "not a date",
        "snippet": "a\u202eb\x00c " + "s" * 50_000 + "\ud800",
    }
    found = await ask(
        "openapi",
        await serve(answering(status(200, text=json.dumps({"items": [evil] * 30}), content_type="application/json"))),
    )
    assert len(found) == 10
    assert len(found[0].title) == 300
    assert "<" not in found[0].title
    assert found[0].url is None
    assert found[0].date == ""
    assert len(found[0].snippet) == 1_000
    assert found[0].snippet.startswith("abc")
    found[0].snippet.encode()
