"""Brings committed events and running text to the readers of this process.

A reader registers first, then reads the store from its cursor, and becomes live in the very step of the loop in which
it has read everything that was told since: nothing is missed, nothing comes twice (mercure's `localsubscriber.go` does
the same with a history). An event is encoded once for each language and its bytes are handed to every transport, with
no task and no await for each reader. A reader whose transport holds more than `BUFFER_LIMIT` stops being live and reads
the store again when it has drained; if it does not drain within `STALL_S` it is cut, and its cursor resumes.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from gateway.events.cursor import resume
from gateway.events.reader import Reader, State
from gateway.events.running import RunningText
from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from gateway.events.contract import Audience, Encoder, Running, Sink, Watcher
    from gateway.storage.contract import Store, StoredEvent, StreamPosition
    from shared.clock import Clock

BUFFER_LIMIT: Final = 64 * 1024
STALL_S: Final = 20.0
STORE_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while the store cannot be read, before a reader is cut: coming back would only add to what it has to do."""
BATCH: Final = 200
PING_S: Final = 15.0
COALESCE_S: Final = 0.024
"""Tokens that arrive within this time of the last delta go out together; the first one never waits."""
CHANNELS: Final = frozenset({"account", "support"})

log = logger(__name__)


class _Stream:
    """What this process knows of a stream that someone reads or writes now."""

    __slots__ = ("head", "readers", "texts")

    def __init__(self) -> None:
        self.head = 0
        self.readers: dict[int, Reader] = {}
        self.texts: dict[str, RunningText] = {}


class Hub:
    """The readers of this process. Bind a store before the first reader comes."""

    def __init__(self, encoder: Encoder, clock: Clock, *, coalesce_s: float = COALESCE_S) -> None:
        """Take what makes bytes of events."""
        self._encoder = encoder
        self._clock = clock
        self._coalesce_s = coalesce_s
        self._store: Store | None = None
        self._streams: dict[str, _Stream] = {}
        self._texts: dict[str, RunningText] = {}
        self._flushed_at: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self.watcher: Watcher | None = None
        self.cut_count = 0
        self.resync_count = 0

    def bind(self, store: Store) -> None:
        """Name the store that readers catch up from."""
        self._store = store

    # ------------------------------------------------------------------ readers

    @asynccontextmanager
    async def attached(
        self,
        stream_id: str,
        sink: Sink,
        *,
        cursor: str | None = None,
        language: str,
        channels: frozenset[str] = CHANNELS,
        turn_id: str | None = None,
        audience: Audience | None = None,
    ) -> AsyncIterator[Reader]:
        """Serve a reader while the block runs; wait on its `finished` inside.

        Raises:
            NotReady: the store cannot be read.
        """
        reader = Reader(stream_id, sink, language, channels, turn_id, audience)
        stream = self._streams.setdefault(stream_id, _Stream())
        stream.readers[id(reader)] = reader
        if self.watcher is not None and len(stream.readers) == 1:
            self.watcher.followed(stream_id)
        try:
            position = await self._position(stream_id)
            stream.head = max(stream.head, position.head)
            self._open(reader, cursor, position)
            self._catch_up(reader)
            yield reader
        finally:
            self._leave(reader)

    def readers(self) -> int:
        """Count the readers of this process."""
        return sum(len(stream.readers) for stream in self._streams.values())

    def followed(self) -> list[str]:
        """Name the streams that have readers here."""
        return [stream_id for stream_id, stream in self._streams.items() if stream.readers]

    async def ping_for_ever(self) -> None:
        """Write a comment to every live reader every `PING_S`, from one timer."""
        while True:
            await self._clock.sleep(PING_S)
            for stream in self._streams.values():
                for reader in stream.readers.values():
                    if reader.sink.closed():
                        reader.finished.set()
                    elif reader.state is State.LIVE:
                        reader.sink.write(self._encoder.ping)

    def close(self) -> None:
        """Let every reader go, so that the process can end; they come back with their cursors."""
        for stream in list(self._streams.values()):
            for reader in list(stream.readers.values()):
                reader.finished.set()

    # ------------------------------------------------------------------ stored events

    def committed(self, events: tuple[StoredEvent, ...]) -> None:
        """Bring the events of one transaction to whoever is live; see `gateway.storage.contract.EventSink`."""
        for event in events:
            stream = self._streams.get(event.stream_id)
            if stream is None:
                continue
            stream.head = max(stream.head, event.offset)
            encoded: dict[str, bytes] = {}
            for reader in tuple(stream.readers.values()):
                if reader.state is State.LIVE and event.offset > reader.sent:
                    self._deliver(reader, event, encoded)

    def behind(self, stream_id: str, head: int) -> int | None:
        """Take note that a stream goes up to `head`, as another gateway says; those who catch up read that far.

        Tells after which offset live readers lack events that must be handed to `committed`; None when none does.
        """
        stream = self._streams.get(stream_id)
        if stream is None or not stream.readers:
            return None
        stream.head = max(stream.head, head)
        least = min((each.sent for each in stream.readers.values() if each.state is State.LIVE), default=head)
        return least if least < head else None

    def _deliver(self, reader: Reader, event: StoredEvent, encoded: dict[str, bytes]) -> None:
        if event.offset != reader.sent + 1 or reader.sink.buffered() > BUFFER_LIMIT:
            self._catch_up(reader)
            return
        reader.sent = event.offset
        if reader.wants(event):
            data = encoded.get(reader.language)
            if data is None:
                data = encoded[reader.language] = self._encoder.event(event, reader.language)
            reader.sink.write(data)
        if reader.sees_end(event):
            reader.finished.set()

    # ------------------------------------------------------------------ running text

    def text_of(self, message_id: str) -> RunningText | None:
        """Read a message that is being written."""
        return self._texts.get(message_id)

    def begin(self, running: Running) -> None:
        """Announce that a message is being written."""
        text = self._texts[running.message_id] = RunningText(running)
        for stream_id in running.streams:
            self._streams.setdefault(stream_id, _Stream()).texts[running.message_id] = text

    def step(self, running: Running, step: str, detail: str) -> None:
        """Tell what the turn is doing."""
        self.flush(running)
        self._tell(running, "turn.step", self._texts[running.message_id].step(step, detail))

    def delta(self, running: Running, start: int, text: str) -> None:
        """Tell that the text from `start` on is now `text`; see `COALESCE_S`."""
        self._texts[running.message_id].replace(start, text)
        loop = asyncio.get_running_loop()
        due = self._flushed_at.get(running.message_id, float("-inf")) + self._coalesce_s
        if loop.time() >= due:
            self.flush(running)
        elif running.message_id not in self._timers:
            self._timers[running.message_id] = loop.call_at(due, self.flush, running)

    def flush(self, running: Running) -> None:
        """Send what is still held back."""
        if timer := self._timers.pop(running.message_id, None):
            timer.cancel()
        data = self._texts[running.message_id].take_unsent()
        if data is not None:
            self._flushed_at[running.message_id] = asyncio.get_running_loop().time()
            self._tell(running, "message.delta", data)

    def end(self, running: Running) -> None:
        """Forget the running message."""
        if timer := self._timers.pop(running.message_id, None):
            timer.cancel()
        self._flushed_at.pop(running.message_id, None)
        self._texts.pop(running.message_id, None)
        for stream_id in running.streams:
            stream = self._streams.get(stream_id)
            if stream is not None:
                stream.texts.pop(running.message_id, None)
                self._forget_if_idle(stream_id, stream)

    def whisper(
        self,
        stream_ids: tuple[str, ...],
        event_type: str,
        data: Mapping[str, Any],
        *,
        conversation_id: str,
        sender: str,
    ) -> None:
        """Tell whoever is live now something that is not kept; see `gateway.events.contract.Whisperer`."""
        encoded: bytes | None = None
        for stream_id in stream_ids:
            stream = self._streams.get(stream_id)
            for reader in () if stream is None else tuple(stream.readers.values()):
                if reader.state is not State.LIVE or not reader.wants_whisper(conversation_id, sender):
                    continue
                if reader.sink.buffered() <= BUFFER_LIMIT:
                    encoded = self._encoder.passing(event_type, data) if encoded is None else encoded
                    reader.sink.write(encoded)

    def _tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        encoded: bytes | None = None
        for stream_id in running.streams:
            for reader in tuple(self._streams[stream_id].readers.values()):
                if reader.state is not State.LIVE or not reader.wants_running(running):
                    continue
                if reader.sink.buffered() > BUFFER_LIMIT:
                    self._catch_up(reader)
                    continue
                if encoded is None:
                    encoded = self._encoder.passing(event_type, data)
                reader.sink.write(encoded)
        if self.watcher is not None:
            self.watcher.told(running, event_type, data)

    # ------------------------------------------------------------------ catching up

    def _open(self, reader: Reader, cursor: str | None, position: StreamPosition) -> None:
        start = resume(cursor, position)
        reader.sent = start.offset
        here = f"{position.epoch}.{start.offset}"
        reader.sink.write(self._encoder.opening(here if start.resync is None else None))
        if start.resync is not None:
            self.resync_count += 1
            reader.sink.write(self._encoder.resync(here, start.resync))

    def _catch_up(self, reader: Reader) -> None:
        reader.state = State.CATCHING_UP
        reader.task = asyncio.create_task(self._read_on(reader), name=f"catch-up {reader.stream_id}")

    async def _read_on(self, reader: Reader) -> None:
        delays = iter(STORE_DELAYS_S)
        try:
            while reader.state is State.CATCHING_UP:
                async with asyncio.timeout(STALL_S):
                    await reader.sink.drained()
                try:
                    caught_up = await self._read_batch(reader)
                except NotReady:
                    delay = next(delays, None)
                    if delay is None:
                        raise
                    await self._clock.sleep(delay)
                    continue
                delays = iter(STORE_DELAYS_S)
                if caught_up:
                    self._go_live(reader)
        except TimeoutError:
            log.info("slow_reader_cut", stream_id=reader.stream_id, sent=reader.sent)
            self._cut(reader)
        except NotReady as exc:
            log.warning("reader_cut", stream_id=reader.stream_id, reason=exc.message)
            self._cut(reader)
        except Exception:  # a reader's own task: whatever breaks it must not leave the connection hanging
            log.exception("reader_cut", stream_id=reader.stream_id)
            self._cut(reader)

    async def _read_batch(self, reader: Reader) -> bool:
        """Write the next stored events; True when the reader has seen everything there is."""
        assert self._store is not None
        async with self._store.transaction() as tx:
            position = await tx.events.position(reader.stream_id)
            events = await tx.events.after(reader.stream_id, reader.sent, BATCH)
        if reader.sent < position.trimmed:
            reader.sent = position.head
            self.resync_count += 1
            here = f"{position.epoch}.{position.head}"
            reader.sink.write(self._encoder.resync(here, "cursor-too-old"))
            events = ()
        for event in events:
            if reader.sink.buffered() > BUFFER_LIMIT:
                return False
            reader.sent = event.offset
            if reader.wants(event):
                reader.sink.write(self._encoder.event(event, reader.language))
            if reader.sees_end(event):
                reader.finished.set()
        return reader.sent >= self._streams[reader.stream_id].head

    def _go_live(self, reader: Reader) -> None:
        if reader.state is not State.CATCHING_UP:
            return
        reader.state = State.LIVE
        for text in self._streams[reader.stream_id].texts.values():
            if reader.wants_running(text.running):
                for step in text.steps:
                    reader.sink.write(self._encoder.passing("turn.step", step))
                if so_far := text.so_far():
                    reader.sink.write(self._encoder.passing("message.delta", so_far))

    def _cut(self, reader: Reader) -> None:
        reader.state = State.GONE
        self.cut_count += 1
        reader.sink.abort()
        reader.finished.set()

    def _leave(self, reader: Reader) -> None:
        reader.state = State.GONE
        if reader.task is not None and not reader.task.done():
            reader.task.cancel()
        stream = self._streams.get(reader.stream_id)
        if stream is not None:
            if stream.readers.pop(id(reader), None) and not stream.readers and self.watcher is not None:
                self.watcher.left(reader.stream_id)
            self._forget_if_idle(reader.stream_id, stream)

    def _forget_if_idle(self, stream_id: str, stream: _Stream) -> None:
        if not stream.readers and not stream.texts:
            with suppress(KeyError):
                del self._streams[stream_id]

    async def _position(self, stream_id: str) -> StreamPosition:
        assert self._store is not None
        async with self._store.transaction() as tx:
            return await tx.events.position(stream_id)
