"""Event streams whose connections the hub has taken over: nothing of the request stays, and nothing is left behind."""

import asyncio
import gc
from contextlib import AsyncExitStack

import pytest
from aiohttp.web_protocol import RequestHandler

from gateway.events import hub as hub_module
from gateway.web.frames import chunk
from gateway.web.sink import unchunked
from shared.errors import NotReady
from tests.fakes.gateway import serving
from tests.integration.gateway.test_streams import publish, raw_reader, read_raw
from tests.waiting import eventually


def counted(services) -> float | None:
    labels = {"method": "GET", "route": "/v1/events", "status": "200"}
    return services.metrics.registry.get_sample_value("passeur_gateway_requests_total", labels)


def of_streams() -> list[RequestHandler]:
    gc.collect()
    handlers = [each for each in gc.get_objects() if isinstance(each, RequestHandler)]
    return [
        each for each in handlers if each._current_request is not None and each._current_request.path == "/v1/events"
    ]


async def test_an_open_stream_keeps_nothing_of_its_request(browser, services):
    """PERFORMANCE.md, slow-readers: an idle reader weighs little."""
    async with browser.events() as one, browser.events() as two:
        await one.opened()
        await two.opened()
        await eventually(lambda: not of_streams())
        assert services.hub.readers() == 2
        await publish(services, browser.visitor_id, 1)
        assert (await one.next()).type == (await two.next()).type == "read"


async def test_a_stream_is_counted_when_it_ends_and_gives_back_what_it_held(browser, services):
    async with browser.events() as stream:
        await stream.opened()
        assert counted(services) is None
        assert services.limits.streams._held
    await eventually(lambda: counted(services) == 1)
    assert services.limits.streams._held == {}
    assert services.hub.streams.by_id == {}


async def test_a_reader_that_goes_while_its_stream_is_opened_leaves_nothing_behind(browser, services, url, monkeypatch):
    entered, may_go_on = asyncio.Event(), asyncio.Event()
    look = services.hub.look

    async def slow_look(reader, cursor):
        entered.set()
        await may_go_on.wait()
        return await look(reader, cursor)

    monkeypatch.setattr(services.hub, "look", slow_look)
    async with raw_reader(url, browser.token):
        await entered.wait()
        assert services.hub.readers() == 1
    await eventually(lambda: services.hub.readers() == 0)
    may_go_on.set()
    assert services.limits.streams._held == {}


async def test_a_stream_that_cannot_be_read_is_refused_with_a_problem(browser, services, monkeypatch):
    """The store is asked before the head is sent, so that the reader hears why."""

    async def refuse(reader, cursor):
        raise NotReady("the store is away")

    monkeypatch.setattr(services.hub, "look", refuse)
    answer = await browser.call("GET", "/v1/events")
    assert (answer.status, answer.body["type"]) == (503, "not-ready")
    assert services.hub.readers() == 0
    assert services.limits.streams._held == {}


async def test_an_event_that_cannot_be_shown_cuts_the_reader_and_nobody_else(browser, services, monkeypatch):
    async with browser.events() as healthy:
        cursor = await healthy.opened()
        await publish(services, browser.visitor_id, 1)
        await healthy.next()

        def broken(self, event, language):
            raise ValueError("cannot be shown")

        with monkeypatch.context() as patched:
            patched.setattr(type(services.hub.catch_up._encoder), "event", broken)
            async with browser.events(cursor=cursor) as cut:
                with pytest.raises(Exception, match=r"payload|Connection|ended"):
                    await cut.next()
        await eventually(lambda: services.hub.readers() == 1)
        assert services.hub.catch_up.cut_count == 1
        await publish(services, browser.visitor_id, 1, start=1)
        await healthy.next()


async def test_a_stopping_gateway_cuts_those_who_do_not_take_their_last_bytes(browser, services, monkeypatch):
    """Another gateway on the same services is stopped, while its reader holds its own end open and reads nothing."""
    monkeypatch.setattr(hub_module, "FAREWELL_S", 0.3)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(services))
        async with raw_reader(url, browser.token) as stuck:
            await eventually(lambda: services.hub.readers() == 1)
            (reader,) = services.hub.streams.readers()
            while reader.sink.buffered() == 0:
                reader.sink.write(chunk(b"x" * 1_000_000))
            await stack.aclose()
            await eventually(lambda: services.hub.readers() == 0)
            assert stuck.fileno() != -1


async def test_what_a_reader_says_after_its_request_is_not_answered(browser, services, url):
    """A stream's response says `Connection: close`; a further request on it is not read."""
    async with raw_reader(url, browser.token) as sock:
        await eventually(lambda: services.hub.readers() == 1)
        await asyncio.get_running_loop().sock_sendall(sock, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        await publish(services, browser.visitor_id, 3)
        assert await read_raw(sock, 3) == [0, 1, 2]


async def test_the_end_of_a_stream_is_the_end_of_its_response(browser, services, url):
    loop = asyncio.get_running_loop()
    async with raw_reader(url, browser.token) as sock:
        await eventually(lambda: services.hub.readers() == 1)
        services.hub.close()
        raw = b""
        async with asyncio.timeout(20):
            while piece := await loop.sock_recv(sock, 65536):
                raw += piece
    assert b"connection: close" in raw.lower()
    assert raw.endswith(b"\r\n0\r\n\r\n")


def test_chunks_are_undone_however_many_come_together():
    blocks = [b"data: a\r\n\r\n", b"x" * 300, b": ping\n\n"]
    assert unchunked(b"".join(map(chunk, blocks))) == b"".join(blocks)
    assert unchunked(b"") == b""
