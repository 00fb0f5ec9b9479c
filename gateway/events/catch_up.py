"""Brings a reader from its cursor to the present, by reading the store.

It becomes live in the very step of the loop in which it has read everything that was told since: nothing is missed,
nothing comes twice (mercure's `localsubscriber.go` does the same with a history). A reader whose transport does not
drain within `STALL_S` is cut, and its cursor resumes.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.events.cursor import resume
from gateway.events.reader import Reader, State
from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.events.contract import Encoder
    from gateway.events.cursor import Resumption
    from gateway.events.streams import Streams
    from gateway.storage.contract import Store, StoredEvent, StreamPosition
    from shared.clock import Clock

STALL_S: Final = 20.0
STORE_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while the store cannot be read, before a reader is cut: coming back would only add to what it has to do."""
BATCH: Final = 200

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a reader begins in its stream, and the first events that follow, at most `BATCH`."""

    position: StreamPosition
    start: Resumption
    events: Sequence[StoredEvent]


class CatchUp:
    """Reads the store for those who are behind. Bind a store before the first comes."""

    def __init__(self, streams: Streams, encoder: Encoder, clock: Clock) -> None:
        """Take where readers are found, and what makes bytes of events."""
        self._streams = streams
        self._encoder = encoder
        self._clock = clock
        self._store: Store | None = None
        self.cut_count = 0
        self.resync_count = 0

    def bind(self, store: Store) -> None:
        """Name the store that readers catch up from."""
        self._store = store

    async def look(self, reader: Reader, cursor: str | None) -> Beginning:
        """Read where a reader that has joined its stream begins: at its cursor, or now when it has none.

        Raises:
            NotReady: the store cannot be read.
        """
        assert self._store is not None
        async with self._store.transaction() as tx:
            position = await tx.events.position(reader.stream_id)
            start = resume(cursor, position)
            behind = start.offset < position.head
            events = await tx.events.after(reader.stream_id, start.offset, BATCH) if behind else ()
        return Beginning(position, start, events)

    def begin(self, reader: Reader, beginning: Beginning) -> None:
        """Open a reader's stream where it begins; it is live at once, or reads on until it is. Never raises."""
        position, start = beginning.position, beginning.start
        stream = self._streams.open(reader.stream_id)
        stream.head = max(stream.head, position.head)
        reader.sent = start.offset
        here = f"{position.epoch}.{start.offset}"
        try:
            reader.sink.write(self._encoder.opening(here if start.resync is None else None))
            if start.resync is not None:
                self.resync_count += 1
                reader.sink.write(self._encoder.resync(here, start.resync))
            if self._write(reader, beginning.events):
                self._go_live(reader)
            else:
                self.start(reader)
        except Exception:  # an event that cannot be shown must not leave the connection hanging
            log.exception("reader_cut", stream_id=reader.stream_id)
            self._cut(reader)

    def start(self, reader: Reader) -> None:
        """Let a reader read the store, from what it has seen on, until it is live."""
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
        finally:
            if reader.task is asyncio.current_task():
                reader.task = None

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
        return self._write(reader, events)

    def _write(self, reader: Reader, events: Sequence[StoredEvent]) -> bool:
        """Write stored events that follow what a reader has seen; True when that is everything there is."""
        for event in events:
            if reader.lags():
                return False
            reader.sent = event.offset
            if reader.wants(event):
                reader.sink.write(self._encoder.event(event, reader.language))
            if reader.sees_end(event):
                reader.sink.end()
        return reader.sent >= self._streams.by_id[reader.stream_id].head

    def _go_live(self, reader: Reader) -> None:
        if reader.state is not State.CATCHING_UP:
            return
        reader.state = State.LIVE
        for text in self._streams.by_id[reader.stream_id].texts.values():
            if reader.wants_running(text.running):
                for step in text.steps:
                    reader.sink.write(self._encoder.passing("turn.step", step))
                if so_far := text.so_far():
                    reader.sink.write(self._encoder.passing("message.delta", so_far))

    def _cut(self, reader: Reader) -> None:
        reader.state = State.GONE
        self.cut_count += 1
        reader.sink.abort()
        reader.sink.end()
