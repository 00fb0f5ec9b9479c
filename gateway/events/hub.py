"""Brings committed events to the readers of this process.

A reader registers first, then catches up with the store from its cursor (`catch_up`), and is live from then on. An
event is encoded once for each language and its bytes are handed to every transport, with no task and no await for each
reader (`courier`). A reader whose transport holds more than `BUFFER_LIMIT` stops being live and reads the store again
when it has drained. Text that is being written comes to live readers too (`live_texts`).
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from gateway.events.catch_up import CatchUp
from gateway.events.courier import Courier
from gateway.events.live_texts import LiveTexts
from gateway.events.reader import Reader, State
from gateway.events.streams import Streams
from gateway.events.told import ToldEvent, ToldWord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from gateway.events.beginnings import Beginning
    from gateway.events.contract import Audience, Encoder, Sink, Watcher
    from gateway.storage.contract import Store, StoredEvent
    from shared.clock import Clock

PING_S: Final = 15.0
FAREWELL_S: Final = 2.0
"""How long readers may take for their last bytes when the process ends."""
FAREWELL_POLL_S: Final = 0.02
CHANNELS: Final = frozenset({"account", "support"})


class Hub:
    """The readers of this process; an `EventSink` and a `Whisperer`. Bind a store before the first reader comes."""

    def __init__(self, encoder: Encoder, clock: Clock) -> None:
        """Take what makes bytes of events."""
        self._encoder = encoder
        self._clock = clock
        self.streams = Streams()
        self.catch_up = CatchUp(self.streams, encoder, clock)
        self._courier = Courier(encoder, self.catch_up)
        self.texts = LiveTexts(self.streams, self._courier)

    def bind(self, store: Store) -> None:
        """Name the store that readers catch up from."""
        self.catch_up.bind(store)

    def watch(self, watcher: Watcher) -> None:
        """Name who is told of what concerns other gateways."""
        self.streams.watcher = watcher

    # ------------------------------------------------------------------ readers

    def join(
        self,
        stream_id: str,
        sink: Sink,
        *,
        language: str,
        channels: frozenset[str] = CHANNELS,
        turn_id: str | None = None,
        audience: Audience | None = None,
    ) -> Reader:
        """Let a reader in, who hears nothing until `begin`; whoever lets it in lets it go with `leave`."""
        reader = Reader(stream_id, sink, language, channels, turn_id, audience)
        self.streams.join(reader)
        return reader

    async def look(self, reader: Reader, cursor: str | None) -> Beginning:
        """Read where a reader that has joined begins.

        Raises:
            NotReady: the store cannot be read.
        """
        return await self.catch_up.look(reader, cursor)

    def begin(self, reader: Reader, beginning: Beginning) -> None:
        """Write to a reader from now on; its sink is told when it has heard all. Never raises."""
        self.catch_up.begin(reader, beginning)

    def leave(self, reader: Reader) -> None:
        """Let a reader go; idempotent."""
        reader.state = State.GONE
        if reader.task is not None:
            reader.task.cancel()
        self.streams.leave(reader)

    @asynccontextmanager
    async def attached(
        self,
        stream_id: str,
        sink: Sink,
        *,
        cursor: str | None = None,
        language: str,
        turn_id: str | None = None,
    ) -> AsyncIterator[None]:
        """Serve a reader while the block runs.

        Raises:
            NotReady: the store cannot be read.
        """
        reader = self.join(stream_id, sink, language=language, turn_id=turn_id)
        try:
            self.begin(reader, await self.look(reader, cursor))
            yield
        finally:
            self.leave(reader)

    def readers(self) -> int:
        """Count the readers of this process."""
        return sum(1 for _ in self.streams.readers())

    def followed(self) -> list[str]:
        """Name the streams that have readers here."""
        return [stream_id for stream_id, stream in self.streams.by_id.items() if stream.readers]

    async def ping_for_ever(self) -> None:
        """Write a comment to every live reader every `PING_S`, from one timer."""
        while True:
            await self._clock.sleep(PING_S)
            for reader in self.streams.readers():
                if reader.sink.closed():
                    reader.sink.end()
                elif reader.state is State.LIVE:
                    reader.sink.write(self._encoder.ping)

    def close(self) -> None:
        """Let every reader go, so that the process can end; they come back with their cursors."""
        for reader in list(self.streams.readers()):
            reader.sink.end()

    async def emptied(self) -> None:
        """Wait until the readers whom `close` let go are gone, and cut those who do not take their last bytes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                while self.readers():  # noqa: ASYNC110 - connections close one by one, and once in a process
                    await asyncio.sleep(FAREWELL_POLL_S)
        for reader in list(self.streams.readers()):
            reader.sink.abort()

    # ------------------------------------------------------------------ stored events

    def committed(self, events: tuple[StoredEvent, ...]) -> None:
        """Bring the events of one transaction to whoever is live; see `gateway.storage.contract.EventSink`."""
        told: dict[str, list[ToldEvent]] = {}
        for event in events:
            stream = self.streams.by_id.get(event.stream_id)
            if stream is None:
                continue
            stream.goes_to(event.epoch, event.offset)
            told.setdefault(event.stream_id, []).append(ToldEvent(event))
        for stream_id, things in told.items():
            self._courier.tell(self.streams.by_id[stream_id], things)

    def behind(self, stream_id: str, head: int) -> int | None:
        """Take note that a stream goes up to `head`, as another gateway says; those who catch up read that far.

        Tells after which offset live readers lack events that must be handed to `committed`; None when none does.
        """
        stream = self.streams.by_id.get(stream_id)
        if stream is None or not stream.readers:
            return None
        stream.head = max(stream.head, head)
        least = min((each.sent for each in stream.live()), default=head)
        return least if least < head else None

    # ------------------------------------------------------------------ passing words

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
        word = ToldWord(event_type, data, conversation_id, sender)
        for stream_id in stream_ids:
            stream = self.streams.by_id.get(stream_id)
            if stream is not None:
                self._courier.tell(stream, (word,))
