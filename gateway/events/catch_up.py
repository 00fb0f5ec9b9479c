"""Brings a reader from its cursor to the present, by reading the store.

It becomes live in the very step of the loop in which it has read everything that was told since: nothing is missed,
nothing comes twice (mercure's `localsubscriber.go` does the same with a history). A reader whose transport does not
drain within `STALL_S` is cut, and its cursor resumes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from gateway.events.beginnings import BATCH, Beginning, Beginnings
from gateway.events.reader import Reader, State
from gateway.events.told import SLICE_BYTES, ToldEvent
from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gateway.events.contract import Encoder
    from gateway.events.streams import Streams
    from gateway.storage.contract import Store
    from shared.clock import Clock

STALL_S: Final = 20.0
STORE_DELAYS_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Waits while the store cannot be read, before a reader is cut: coming back would only add to what it has to do."""

log = logger(__name__)


class CatchUp:
    """Reads the store for those who are behind. Bind a store before the first comes."""

    def __init__(self, streams: Streams, encoder: Encoder, clock: Clock) -> None:
        """Take where readers are found, and what makes bytes of events."""
        self._streams = streams
        self._encoder = encoder
        self._clock = clock
        self._store: Store | None = None
        self._beginnings = Beginnings()
        self.cut_count = 0
        self.resync_count = 0

    def bind(self, store: Store) -> None:
        """Name the store that readers catch up from."""
        self._store = store
        self._beginnings.bind(store)

    async def look(self, reader: Reader, cursor: str | None) -> Beginning:
        """Read where a reader that has joined its stream begins: at its cursor, or now when it has none.

        Raises:
            NotReady: the store cannot be read.
        """
        return await self._beginnings.look(reader.stream_id, cursor)

    def begin(self, reader: Reader, beginning: Beginning) -> None:
        """Open a reader's stream where it begins; it is live at once, or reads on until it is. Never raises."""
        position, start = beginning.position, beginning.start
        self._streams.open(reader.stream_id).goes_to(position.epoch, position.head)
        reader.epoch, reader.sent = position.epoch, start.offset
        here = f"{position.epoch}.{start.offset}"
        opening = [self._encoder.opening(here if start.resync is None else None)]
        if start.resync is not None:
            self.resync_count += 1
            opening.append(self._encoder.resync(here, start.resync))
        try:
            if not self._write(reader, beginning.events, opening):
                self.start(reader)
        except Exception:  # an event that cannot be shown must not leave the connection hanging
            log.exception("reader_cut", stream_id=reader.stream_id)
            self.cut(reader)

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
                    await self._read_batch(reader)
                except NotReady:
                    delay = next(delays, None)
                    if delay is None:
                        raise
                    await self._clock.sleep(delay)
                    continue
                delays = iter(STORE_DELAYS_S)
        except TimeoutError:
            log.info("slow_reader_cut", stream_id=reader.stream_id, sent=reader.sent)
            self.cut(reader)
        except NotReady as exc:
            log.warning("reader_cut", stream_id=reader.stream_id, reason=exc.message)
            self.cut(reader)
        except Exception:  # a reader's own task: whatever breaks it must not leave the connection hanging
            log.exception("reader_cut", stream_id=reader.stream_id)
            self.cut(reader)
        finally:
            if reader.task is asyncio.current_task():
                reader.task = None

    async def _read_batch(self, reader: Reader) -> bool:
        """Write the next stored events; True when the reader has seen everything there is, and is live."""
        assert self._store is not None
        async with self._store.transaction() as tx:
            position = await tx.events.position(reader.stream_id)
            events = await tx.events.after(reader.stream_id, reader.sent, BATCH)
        self._streams.by_id[reader.stream_id].goes_to(position.epoch, position.head)
        parts: list[bytes] = []
        is_another = position.epoch != reader.epoch
        if is_another or reader.sent < position.trimmed:
            reader.epoch, reader.sent = position.epoch, position.head
            self.resync_count += 1
            reason = "unknown-cursor" if is_another else "cursor-too-old"
            parts.append(self._encoder.resync(f"{position.epoch}.{position.head}", reason))
            events = ()
        return self._write(reader, [ToldEvent(event) for event in events], parts)

    def _write(self, reader: Reader, events: Sequence[ToldEvent], parts: list[bytes]) -> bool:
        """Write `parts` and the stored events that a reader lacks, in as few pieces as may be; then it is live.

        False when it lags, or when there is more to read.
        """
        size, ends = 0, False
        for told in events:
            if size > SLICE_BYTES:
                self._hand_over(reader, parts)
                size = 0
                if reader.lags():
                    return False
            reader.sent = told.event.offset
            if reader.wants(told.event):
                parts.append(told.encoded(self._encoder, reader.language))
                size += len(parts[-1])
            ends = ends or reader.sees_end(told.event)
        is_live = reader.sent >= self._streams.by_id[reader.stream_id].head and reader.state is State.CATCHING_UP
        if is_live:
            parts += self._go_live(reader)
        self._hand_over(reader, parts)
        if ends:
            reader.sink.end()
        return is_live

    def _hand_over(self, reader: Reader, parts: list[bytes]) -> None:
        if parts:
            reader.sink.write(b"".join(parts))
            parts.clear()

    def _go_live(self, reader: Reader) -> Iterator[bytes]:
        """Make a reader live; gives what is being written now, which it is to be told first."""
        reader.state = State.LIVE
        stream = self._streams.by_id[reader.stream_id]
        reader.since = stream.told + len(stream.waiting)
        for text in stream.texts.values():
            if reader.wants_running(text.running):
                yield text.encoded_so_far(self._encoder)

    def cut(self, reader: Reader) -> None:
        """End a reader's connection, which its cursor resumes."""
        reader.state = State.GONE
        self.cut_count += 1
        reader.sink.abort()
        reader.sink.end()
