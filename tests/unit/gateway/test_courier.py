"""Telling live readers: one write for all that waits, in order, once, whoever joins or lags meanwhile."""

import asyncio
from datetime import UTC, datetime

import pytest

from gateway.events import courier as courier_module
from gateway.events.beginnings import Beginnings
from gateway.events.catch_up import CatchUp
from gateway.events.courier import WAITING_LIMIT, Courier
from gateway.events.cursor import Resumption
from gateway.events.reader import BUFFER_LIMIT, Reader, State
from gateway.events.streams import Streams
from gateway.events.told import SLICE_BYTES, ToldEvent, ToldWord
from gateway.storage.contract import StoredEvent, StreamPosition
from shared.errors import NotReady
from tests.waiting import eventually

STREAM = "visitor:v"
EPOCH = "0" * 12


class Sink:
    """Keeps what is written, as a transport whose reader takes nothing when `holds` is on."""

    def __init__(self, *, holds=False):
        self.writes = []
        self.holds = holds
        self.ended = self.aborted = False

    def write(self, data):
        self.writes.append(data)

    def buffered(self):
        return sum(map(len, self.writes)) if self.holds else 0

    def closed(self):
        return self.aborted

    async def drained(self):
        await asyncio.Event().wait()

    def end(self):
        self.ended = True

    def abort(self):
        self.aborted = True


class Plain:
    """An encoder whose bytes can be read in a test; the event of type `bad` cannot be shown."""

    ping = b"ping"

    def event(self, event, language):
        if event.type == "bad":
            raise ValueError(event.type)
        return f"{event.offset}{language}{event.data.get('pad', '')} ".encode()

    def passing(self, event_type, data):
        return f"{event_type} ".encode()

    def opening(self, cursor):
        return b""

    def resync(self, cursor, reason):
        return b"resync "


class World:
    """One stream, its courier, and a way to let readers in."""

    def __init__(self):
        self.streams = Streams()
        self.catch_up = CatchUp(self.streams, Plain(), None)
        self.courier = Courier(Plain(), self.catch_up)
        self.stream = self.streams.open(STREAM)

    def enter(self, *, language="fr", channels=frozenset({"support"}), sent=0, holds=False):
        reader = Reader(STREAM, Sink(holds=holds), language, channels, None)
        self.streams.join(reader)
        reader.epoch, reader.sent, reader.state = EPOCH, sent, State.LIVE
        reader.since = self.stream.told + len(self.stream.waiting)
        return reader

    def tell(self, *offsets, kind="read", channel="support", pad=""):
        self.stream.head = max(self.stream.head, *offsets)
        now = datetime(2026, 11, 30, tzinfo=UTC)
        data = {"pad": pad}
        stored = [StoredEvent(STREAM, EPOCH, each, kind, data, channel, None, None, now) for each in offsets]
        self.courier.tell(self.stream, [ToldEvent(each) for each in stored])

    def pause(self):
        """As after writing to very many readers."""
        self.stream.free_at = asyncio.get_running_loop().time() + 0.05


@pytest.fixture
def world():
    return World()


async def test_the_events_of_one_transaction_are_one_write_for_each_reader(world):
    readers = [world.enter(), world.enter(language="en"), world.enter(channels=frozenset({"account"}))]
    world.tell(1, 2, 3)
    assert [reader.sink.writes for reader in readers] == [[b"1fr 2fr 3fr "], [b"1en 2en 3en "], []]
    assert [reader.sent for reader in readers] == [3, 3, 3]


async def test_what_is_told_in_a_pause_goes_out_together_and_in_order(world):
    reader = world.enter()
    world.pause()
    world.tell(1)
    world.courier.tell(world.stream, [ToldWord("typing", {}, "c", "staff:a")])
    world.tell(2)
    assert reader.sink.writes == []
    await eventually(lambda: reader.sink.writes)
    assert reader.sink.writes == [b"1fr typing 2fr "]
    assert world.stream.waiting == []


async def test_a_reader_that_becomes_live_in_a_pause_hears_nothing_that_it_knows(world):
    early = world.enter()
    world.pause()
    world.tell(1)
    world.courier.tell(world.stream, [ToldWord("typing", {}, "c", "staff:a")])
    late = world.enter(sent=1)
    world.tell(2)
    await eventually(lambda: late.sink.writes)
    assert early.sink.writes == [b"1fr typing 2fr "]
    assert late.sink.writes == [b"2fr "]


async def test_a_stream_that_is_slow_to_write_to_pauses_and_a_fast_one_does_not(world, monkeypatch):
    world.enter()
    world.tell(1)
    assert world.stream.free_at == 0.0
    monkeypatch.setattr(courier_module, "LIGHT_S", -1.0)
    world.tell(2)
    assert world.stream.free_at > 0.0


async def test_no_more_waits_than_the_bound(world):
    reader = world.enter()
    world.pause()
    world.tell(*range(1, WAITING_LIMIT))
    assert reader.sink.writes == []
    world.tell(WAITING_LIMIT)
    assert reader.sent == WAITING_LIMIT
    assert world.stream.waiting == []


async def test_a_reader_that_lags_is_held_a_bounded_number_of_bytes_and_others_go_on(world):
    slow, fast = world.enter(holds=True), world.enter()
    world.tell(*range(1, 101), pad="x" * 4_000)
    assert slow.sink.buffered() <= BUFFER_LIMIT + SLICE_BYTES + 4_100
    assert slow.state is State.CATCHING_UP
    assert fast.sent == 100
    slow.task.cancel()


async def test_a_hole_in_the_offsets_sends_a_reader_back_to_the_store_with_what_came_before(world):
    reader = world.enter()
    world.tell(1, 3)
    assert reader.sink.writes == [b"1fr "]
    assert (reader.sent, reader.state) == (1, State.CATCHING_UP)
    reader.task.cancel()


async def test_a_stream_that_begins_anew_sends_a_reader_back_to_the_store_even_where_the_offsets_fit(world):
    """P13 found the silent change: a stream was lost under a live reader, and its next offset happened to follow."""
    reader = world.enter(sent=4)
    reader.epoch = "1" * 12
    world.tell(5)
    assert reader.sink.writes == []
    assert (reader.sent, reader.state) == (4, State.CATCHING_UP)
    reader.task.cancel()


async def test_events_that_were_told_before_are_not_told_again(world):
    reader = world.enter(sent=2)
    world.tell(1, 2, 3)
    world.tell(3)
    assert reader.sink.writes == [b"3fr "]


async def test_an_event_that_cannot_be_shown_cuts_those_who_want_it_and_nobody_else(world):
    wants, does_not = world.enter(), world.enter(channels=frozenset({"account"}))
    world.tell(1, 2, kind="bad")
    assert wants.sink.aborted
    assert not does_not.sink.aborted
    assert does_not.sent == 2


class CountingStore:
    """Answers with one event, and counts how often it is read; refuses when `broken`."""

    def __init__(self):
        self.reads = 0
        self.broken = False
        self.lock = asyncio.Lock()
        self.events = self

    def transaction(self):
        return self

    async def __aenter__(self):
        await self.lock.acquire()
        if self.broken:
            self.lock.release()
            raise NotReady("away")
        self.reads += 1
        return self

    async def __aexit__(self, *_):
        self.lock.release()

    async def position(self, stream_id):
        await asyncio.sleep(0)
        return StreamPosition(EPOCH, 7, 0)

    async def after(self, stream_id, offset, limit):
        now = datetime(2026, 11, 30, tzinfo=UTC)
        return [
            StoredEvent(STREAM, EPOCH, each, "read", {}, "support", None, None, now) for each in range(offset + 1, 8)
        ]


async def test_all_who_come_to_a_stream_at_once_are_served_by_one_read():
    store, beginnings = CountingStore(), Beginnings()
    beginnings.bind(store)
    cursors = [None, f"{EPOCH}.3", f"{EPOCH}.6", "of another life.1", *[f"{EPOCH}.5"] * 400]
    found = await asyncio.gather(*(beginnings.look(STREAM, cursor) for cursor in cursors))
    assert store.reads == 1
    assert [each.start for each in found[:4]] == [
        Resumption(7), Resumption(3), Resumption(6), Resumption(7, "unknown-cursor")
    ]  # fmt: skip
    assert [[told.event.offset for told in each.events] for each in found[:4]] == [[], [4, 5, 6, 7], [7], []]
    await beginnings.look(STREAM, None)
    assert store.reads == 2


async def test_a_read_that_is_refused_is_refused_to_all_who_asked_and_to_nobody_after():
    store, beginnings = CountingStore(), Beginnings()
    beginnings.bind(store)
    store.broken = True
    found = await asyncio.gather(*(beginnings.look(STREAM, None) for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in found] == [NotReady] * 3
    store.broken = False
    assert (await beginnings.look(STREAM, None)).position.head == 7


async def test_one_who_leaves_while_all_wait_takes_nothing_from_the_others():
    store, beginnings = CountingStore(), Beginnings()
    beginnings.bind(store)
    waiting = [asyncio.create_task(beginnings.look(STREAM, None)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    assert (await waiting[1]).position.head == 7
