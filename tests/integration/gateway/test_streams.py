"""The visitor's event stream over a real socket: exact resumption, or a plain word that it cannot be."""

import asyncio
import json
import random
import socket
import struct
from contextlib import asynccontextmanager

import pytest

from gateway.events import catch_up
from gateway.events.catch_up import CatchUp
from gateway.events.reader import BUFFER_LIMIT
from gateway.storage import events as events_room
from gateway.storage.contract import NewEvent
from tests.fakes.assistant import Pause, answering
from tests.integration.gateway.client import is_done
from tests.sse_parser import SseParser
from tests.waiting import eventually


async def publish(services, visitor_id, count, start=0, pad=""):
    for number in range(start, start + count):
        async with services.store.transaction() as tx:
            await tx.events.append(f"visitor:{visitor_id}", NewEvent("read", {"n": number, "pad": pad}))


def numbers(events):
    return [json.loads(event.data)["n"] for event in events]


async def test_the_headers_are_those_that_proxies_understand(browser):
    """CONTRACTS.md; CASES.md F10."""
    async with browser.events() as stream:
        headers = stream.response.headers
        assert headers["Content-Type"] == "text/event-stream; charset=utf-8"
        assert headers["X-Accel-Buffering"] == "no"
        assert headers["Cache-Control"] == "no-store, no-transform"
        assert "Content-Encoding" not in headers


async def test_a_reader_cut_anywhere_resumes_exactly(browser, services):
    """PROMISES.md P13, short."""
    dice = random.Random(13)
    async with browser.events() as stream:
        cursor = await stream.opened()
    publisher = asyncio.create_task(publish(services, browser.visitor_id, 150))
    seen = []
    while len(seen) < 150:
        async with browser.events(cursor=cursor) as stream:
            for _ in range(dice.randint(1, 12)):
                if len(seen) == 150:
                    break
                event = await stream.next()
                assert event.type == "read"
                seen.append(json.loads(event.data)["n"])
                cursor = event.last_event_id
    await publisher
    assert seen == list(range(150))


async def test_events_published_exactly_while_replay_reads_are_not_lost(browser, services, monkeypatch):
    """CASES.md F6: subscribe, replay, then drop duplicates."""
    async with browser.events() as stream:
        cursor = await stream.opened()
    await publish(services, browser.visitor_id, 5)
    look, read_batch = CatchUp.look, CatchUp._read_batch
    numbered = iter(range(5, 8))

    async def publish_one():
        await publish(services, browser.visitor_id, 1, start=next(numbered))

    async def look_and_publish(self, reader, cursor):
        beginning = await look(self, reader, cursor)
        await publish_one()
        return beginning

    async def publish_and_read(self, reader):
        await publish_one()
        return await read_batch(self, reader)

    monkeypatch.setattr(CatchUp, "look", look_and_publish)
    monkeypatch.setattr(CatchUp, "_read_batch", publish_and_read)
    async with browser.events(cursor=cursor) as stream:
        events = [await stream.next() for _ in range(7)]
        await publish_one()
        events.append(await stream.next())
    assert numbers(events) == list(range(8))


async def test_the_cursor_may_come_in_the_query(browser, services):
    """CASES.md F8: a new EventSource sends no Last-Event-ID."""
    async with browser.events() as stream:
        cursor = await stream.opened()
    await publish(services, browser.visitor_id, 3)
    async with browser.events(query=f"?last_event_id={cursor}") as stream:
        assert numbers([await stream.next() for _ in range(3)]) == [0, 1, 2]


async def test_a_cursor_older_than_what_is_kept_is_told_and_live_goes_on(browser, services, monkeypatch):
    monkeypatch.setattr(events_room, "KEPT_EVENTS", 10)
    async with browser.events() as stream:
        cursor = await stream.opened()
    await publish(services, browser.visitor_id, 128)
    async with browser.events(cursor=cursor) as stream:
        event = await stream.next()
        assert (event.type, json.loads(event.data)["reason"]) == ("resync", "cursor-too-old")
        await publish(services, browser.visitor_id, 1, start=128)
        assert numbers([await stream.next()]) == [128]


async def test_a_foreign_cursor_shows_nothing_of_the_other_stream(browser, new_browser, services):
    """PROMISES.md P15, short: every other session's cursor, and guesses around them."""
    others = [await new_browser() for _ in range(3)]
    cursors = []
    for other in others:
        await publish(services, other.visitor_id, 5)
        async with other.events() as stream:
            epoch, _, _ = (await stream.opened()).partition(".")
        cursors += [f"{epoch}.{offset}" for offset in range(7)]
    await publish(services, browser.visitor_id, 2, start=100)
    for cursor in [*cursors, "deadbeef.0", "0.0", "%", "x" * 3000]:
        async with browser.events(cursor=cursor) as stream:
            event = await stream.next()
            assert (event.type, json.loads(event.data)["reason"]) == ("resync", "unknown-cursor")
            assert stream.pending == []


async def test_a_stream_without_credentials_or_with_ended_ones_is_refused(browser, new_browser):
    stranger = await new_browser(with_session=False)
    for query in ("", "?ticket=", "?ticket=x", f"?ticket={browser.token}", f"?token={browser.token}"):
        answer = await stranger.call("GET", f"/v1/events{query}")
        assert answer.status == 401


async def test_a_ticket_opens_one_stream_once(browser):
    ticket = (await browser.good("POST", "/v1/events/ticket"))["ticket"]
    token, browser.token = browser.token, ""
    async with browser.http.get(f"{browser.url}/v1/events?ticket={ticket}") as response:
        assert response.status == 200
    assert (await browser.call("GET", f"/v1/events?ticket={ticket}")).status == 401
    browser.token = token


async def test_channels_choose_what_is_told(browser, services):
    stream_id = f"visitor:{browser.visitor_id}"
    async with (
        browser.events(query="?channels=account") as account,
        browser.events(query="?channels=support") as support,
    ):
        await account.opened()
        await support.opened()
        async with services.store.transaction() as tx:
            await tx.events.append(stream_id, NewEvent("read", {"n": 1}, channel="support"))
            await tx.events.append(stream_id, NewEvent("read", {"n": 2}, channel="account"))
        assert numbers([await account.next(), await support.next()]) == [2, 1]
    answer = await browser.call("GET", "/v1/events?channels=account,other")
    assert (answer.status, answer.body["violations"][0]["field"]) == (400, "channels")


async def test_several_tabs_all_see_the_same_events(browser, services):
    async with browser.events() as one, browser.events() as two:
        await one.opened()
        await two.opened()
        await publish(services, browser.visitor_id, 5)
        assert [await one.next() for _ in range(5)] == [await two.next() for _ in range(5)]


async def test_a_tab_that_comes_in_the_middle_of_an_answer_gets_the_text_so_far_at_once(
    browser, conversation, assistant
):
    """DESIGN.md section 4: after a reconnect the text so far comes as one delta."""
    whole = answering("un deux trois quatre")
    assistant.script = lambda question: [*whole[:7], Pause(), *whole[7:]]
    async with browser.turn(conversation, "compte") as turn:
        await turn.until(lambda event: event.type == "message.delta" and "trois" in event.data)
        async with browser.events() as late:
            first = (await late.until(lambda event: event.type == "message.delta"))[-1]
            assert json.loads(first.data)["start"] == 0
            assert json.loads(first.data)["text"] == "un deux trois "
            assistant.release()
            text = json.loads(first.data)["text"]
            for event in await late.until(is_done):
                if event.type == "message.delta":
                    data = json.loads(event.data)
                    text = text[: data["start"]] + data["text"]
        assert text == "un deux trois quatre"


async def test_a_visitor_holds_a_bounded_number_of_streams(browser, services):
    """Issue 6: 100 streams from one visitor."""
    limit = 20
    held = []
    for _ in range(limit):
        context = browser.events()
        await context.__aenter__()
        held.append(context)
    answer = await browser.call("GET", "/v1/events")
    assert (answer.status, answer.body["type"]) == (429, "rate-limited")
    for context in held:
        await context.__aexit__(None, None, None)
    await eventually(lambda: services.hub.readers() == 0)
    async with browser.events() as stream:
        await stream.opened()


@asynccontextmanager
async def raw_reader(url, token, version="1.1"):
    """Open a stream on a bare socket with a tiny receive window."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, (host, int(port)))
        request = f"GET /v1/events HTTP/{version}\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        await loop.sock_sendall(sock, request.encode())
        yield sock


async def test_a_slow_reader_is_cut_and_others_still_receive(browser, services, url, monkeypatch):
    """CASES.md F3, PROMISES.md P14, short: bounded memory, and its cursor resumes."""
    monkeypatch.setattr(catch_up, "STALL_S", 0.5)
    async with raw_reader(url, browser.token), browser.events() as healthy:
        start = await healthy.opened()
        await eventually(lambda: services.hub.readers() == 2)
        publishing = asyncio.create_task(publish(services, browser.visitor_id, 300, pad="x" * 30_000))
        assert numbers([await healthy.next() for _ in range(300)]) == list(range(300))
        await publishing
        await eventually(lambda: services.hub.readers() == 1)
    assert services.hub.catch_up.cut_count == 1
    async with browser.events(cursor=start) as again:
        assert numbers([await again.next() for _ in range(3)]) == [0, 1, 2]


async def test_a_reader_that_only_paused_gets_everything_in_order_from_a_bounded_buffer(browser, services, url):
    async with raw_reader(url, browser.token) as sock:
        await eventually(lambda: services.hub.readers() == 1)
        (reader,) = services.hub.streams.by_id[f"visitor:{browser.visitor_id}"].readers.values()
        most = 0
        for number in range(200):
            await publish(services, browser.visitor_id, 1, start=number, pad="x" * 20_000)
            most = max(most, reader.sink.buffered())
        assert most < 2 * BUFFER_LIMIT
        assert await read_raw(sock, 200) == list(range(200))


async def read_raw(sock, count, *, chunked=True):
    """Read events from a bare socket, undoing the chunks by hand."""
    loop, parser, raw, events, at = asyncio.get_running_loop(), SseParser(), b"", [], None
    async with asyncio.timeout(20):
        while len(events) < count:
            raw += await loop.sock_recv(sock, 65536)
            if at is None:
                head, found, rest = raw.partition(b"\r\n\r\n")
                if not found:
                    continue
                at, raw = 0, rest
                assert (b"transfer-encoding: chunked" in head.lower()) == chunked
            if not chunked:
                events += parser.feed(raw)
                raw = b""
                continue
            while b"\r\n" in raw:
                size, _, rest = raw.partition(b"\r\n")
                length = int(size, 16)
                if len(rest) < length + 2:
                    break
                assert rest[length : length + 2] == b"\r\n"
                events += parser.feed(rest[:length])
                raw = rest[length + 2 :]
    return numbers(events)


async def test_http_1_0_gets_the_same_events_without_chunks(browser, services, url):
    """nginx speaks HTTP/1.0 to upstreams by default."""
    async with raw_reader(url, browser.token, version="1.0") as sock:
        await eventually(lambda: services.hub.readers() == 1)
        await publish(services, browser.visitor_id, 3)
        assert await read_raw(sock, 3, chunked=False) == [0, 1, 2]


async def test_a_reader_that_resets_its_connection_leaves_nothing_behind(browser, services, url):
    async with raw_reader(url, browser.token) as sock:
        await eventually(lambda: services.hub.readers() == 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await publish(services, browser.visitor_id, 3)
    await eventually(lambda: services.hub.readers() == 0)
    assert services.hub.streams.by_id == {}


@pytest.mark.parametrize("seed", range(3))
async def test_any_text_arrives_identical_through_the_whole_gateway(browser, conversation, assistant, seed):
    """PROMISES.md P16, short: AI server → gateway → SSE → strict parser."""
    dice = random.Random(seed)
    alphabet = 'a \r\n\t\u2028\u2029\x85\ufeff\x00é你👩\u200d\U000e0067\U0010ffff\x01\x7f:data\\"<&'
    text = "".join(dice.choice(alphabet) for _ in range(400)) + "fin"
    assistant.script = lambda question: answering(text, words=3)
    async with browser.turn(conversation, "dis") as turn:
        events = [(event.type, json.loads(event.data)) for event in await turn.rest()]
    said = [data for kind, data in events if kind == "message.created"][1]
    assert said["text"] == text
    running = ""
    for kind, data in events:
        if kind == "message.delta":
            running = running[: data["start"]] + data["text"]
    assert running == text
    assert {kind for kind, _ in events} == {"message.created", "message.delta", "turn.step"}
