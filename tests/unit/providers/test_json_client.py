"""The client that speaks OpenAI's formats: events in any pieces, bounds, refusals, and connections that serve again."""

from __future__ import annotations

import contextlib
import json

import pytest
from aiohttp import web
from pydantic import SecretStr

from ai_server.providers.openai_compatible import http
from ai_server.providers.openai_compatible.http import ErrorEvent, JsonClient, Refusal, TooLong


@contextlib.asynccontextmanager
async def serving(answer):
    """A client of a server that answers every post by `answer(request)`."""
    application = web.Application()
    application.router.add_post("/v1/chat", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [address] = runner.addresses
    client = JsonClient(f"http://127.0.0.1:{address[1]}/v1", SecretStr("secret-key"))
    try:
        yield client
    finally:
        await client.close()
        await runner.cleanup()


def in_pieces(*pieces, peers=None):
    async def answer(request):
        if peers is not None:
            peers.append(request.transport.get_extra_info("peername"))
        response = web.StreamResponse()
        await response.prepare(request)
        for each in pieces:
            await response.write(each)
        await response.write_eof()
        return response

    return answer


async def read(client):
    events = await client.stream("/chat", {"q": "é"}, {})
    try:
        return [each async for each in events]
    finally:
        events.close()


WHOLE = (
    b'event: x\r\ndata: {"a": "\xc3\xa9"}\r\n\r\n: ping\n\ndata:{"b":\ndata: 2}\n\ndata: [DONE]\n\ndata: {"c": 3}\n\n'
)


@pytest.mark.parametrize("size", [1, 2, 7, len(WHOLE)])
async def test_events_are_the_same_in_whatever_pieces_they_come(size):
    pieces = [WHOLE[start : start + size] for start in range(0, len(WHOLE), size)]
    async with serving(in_pieces(*pieces)) as client:
        assert await read(client) == [{"a": "é"}, {"b": 2}]


async def test_the_last_event_counts_without_an_empty_line_after_it():
    async with serving(in_pieces(b'data: {"a": 1}\n\n', b'data: {"b": 2}')) as client:
        assert await read(client) == [{"a": 1}, {"b": 2}]


async def test_an_error_inside_a_stream_is_raised_with_what_it_says():
    async with serving(in_pieces(b'data: {"a": 1}\n\ndata: {"error": {"code": 503}}\n\n')) as client:
        events = await client.stream("/chat", {}, {})
        assert await anext(events) == {"a": 1}
        with pytest.raises(ErrorEvent) as raised:
            await anext(events)
        assert raised.value.said == {"code": 503}
        events.close()


async def test_an_event_and_a_body_without_an_end_are_cut(monkeypatch):
    monkeypatch.setattr(http, "EVENT_LIMIT", 1_000)
    monkeypatch.setattr(http, "BODY_LIMIT", 1_000)
    async with serving(in_pieces(b"data: ", b"x" * 2_000)) as client:
        with pytest.raises(TooLong):
            await read(client)
        with pytest.raises(TooLong):
            await client.post("/chat", {}, {})


async def test_a_connection_serves_the_next_call_after_a_stream_and_after_a_whole_answer():
    peers = []
    async with serving(in_pieces(b"data: [DONE]\n\n", peers=peers)) as client:
        for _ in range(3):
            await read(client)
    assert len(set(peers)) == 1


async def test_the_key_the_headers_and_the_body_are_sent_and_a_whole_answer_is_read():
    async def answer(request):
        return web.json_response([request.headers["Authorization"], request.headers["X-Id"], await request.json()])

    async with serving(answer) as client:
        got = await client.post("/chat", {"q": "é\ud800"}, {"X-Id": "7"})
    assert got == ["Bearer secret-key", "7", {"q": "é?"}]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (429, json.dumps({"error": {"code": "rate"}}), {"code": "rate"}),
        (400, json.dumps({"message": "no"}), {"message": "no"}),
        (500, "<html>", {}),
        (302, "", {}),
    ],
)
async def test_a_refusal_tells_its_status_and_words_and_no_redirect_is_followed(status, body, said):
    async def answer(request):
        return web.Response(status=status, text=body, headers={"Location": "http://127.0.0.1:9/"})

    async with serving(answer) as client:
        for ask in (client.post, client.stream):
            with pytest.raises(Refusal) as raised:
                await ask("/chat", {}, {})
            assert (raised.value.status, raised.value.said) == (status, said)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"https_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "example.org"}, None),
        ({"all_proxy": "http://any:1"}, "http://any:1"),
        ({}, None),
    ],
)
def test_the_proxy_of_the_environment_is_used_unless_it_excepts_the_host(monkeypatch, environment, expected):
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert http._proxy_for("https://api.example.org/v1") == expected
