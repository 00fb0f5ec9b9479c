"""Joins the hub of this gateway with those of others on the same database.

The relay stands in front of the hub: what happens here goes to the hub and to the exchange, what others tell goes to
the hub alone. Nothing depends on the exchange being there. The heads of followed streams are also read from the
database, every `POLL_S` while the others cannot be heard and every `SAFETY_POLL_S` besides; live readers get what they
lack by one read for each stream.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from gateway.events.exchange import Whisper
from gateway.events.reader import is_end
from shared.errors import NotReady
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Running
    from gateway.events.exchange import Exchange
    from gateway.events.hub import Hub
    from gateway.storage.contract import Store, StoredEvent
    from shared.clock import Clock

POLL_S: Final = 1.0
SAFETY_POLL_S: Final = 10.0
FETCH_BATCH: Final = 200
"""Events of one stream read at a time."""
FETCH_STREAMS: Final = 50
"""Streams read in one transaction."""
FETCH_RETRY_S: Final = 0.5
OVER_LIMIT: Final = 4_096
"""Turns remembered as over, so that a late word of theirs does not bring their text back."""

log = logger(__name__)


class Relay:
    """Tells others and hears them. An `EventSink`, `Announcer`, `Whisperer`, `Watcher` and `Listener`."""

    def __init__(self, hub: Hub, exchange: Exchange, clock: Clock) -> None:
        """Stand between this gateway's hub and the others."""
        self._hub = hub
        self._exchange = exchange
        self._clock = clock
        self._store: Store | None = None
        self._own: dict[str, Running] = {}
        self._foreign: dict[str, Running] = {}
        self._over: OrderedDict[str, None] = OrderedDict()
        self._due: dict[str, int] = {}
        self._work = asyncio.Event()
        hub.watch(self)
        exchange.join(self)

    @property
    def broken(self) -> bool:
        """Whether others should hear us and do not."""
        return self._exchange.broken

    def bind(self, store: Store) -> None:
        """Name the store that all gateways share."""
        self._store = store

    async def serve(self) -> None:
        """Keep in touch, and hand live readers what other gateways committed, for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._exchange.serve(), name="exchange")
            group.create_task(self._poll_for_ever(), name="stream heads")
            group.create_task(self._fetch_for_ever(), name="events of others")

    async def close(self) -> None:
        """Say what is still to be said to the others."""
        await self._exchange.close()

    # ------------------------------------------------------------------ what happens here

    def committed(self, events: tuple[StoredEvent, ...]) -> None:
        """Bring events to the readers here and wake the others; see `gateway.storage.contract.EventSink`."""
        self._deliver(events)
        heads: dict[str, int] = {}
        for event in events:
            heads[event.stream_id] = max(event.offset, heads.get(event.stream_id, 0))
        for stream_id, head in heads.items():
            self._exchange.wake(stream_id, head)

    def begin(self, running: Running) -> None:
        """Announce that a message is being written."""
        self._foreign.pop(running.message_id, None)
        self._own[running.message_id] = running
        self._hub.texts.begin(running)
        self._exchange.begin(running)

    def step(self, running: Running, step: str, detail: str) -> None:
        """Tell what the turn is doing."""
        self._hub.texts.step(running, step, detail)

    def delta(self, running: Running, start: int, text: str) -> None:
        """Tell that the text from `start` on is now `text`."""
        self._hub.texts.delta(running, start, text)

    def flush(self, running: Running) -> None:
        """Send what is still held back."""
        self._hub.texts.flush(running)

    def end(self, running: Running) -> None:
        """Forget the running message."""
        self._hub.texts.end(running)
        self._own.pop(running.message_id, None)
        self._exchange.end(running)

    def whisper(
        self,
        stream_ids: tuple[str, ...],
        event_type: str,
        data: Mapping[str, Any],
        *,
        conversation_id: str,
        sender: str,
    ) -> None:
        """Tell whoever is live now, here and elsewhere."""
        self._hub.whisper(stream_ids, event_type, data, conversation_id=conversation_id, sender=sender)
        self._exchange.whisper(stream_ids, Whisper(event_type, data, conversation_id, sender))

    # ------------------------------------------------------------------ what the hub tells

    def followed(self, stream_id: str) -> None:
        """Hear of a stream from now on."""
        self._exchange.follow(stream_id)

    def left(self, stream_id: str) -> None:
        """Hear of it no longer."""
        self._due.pop(stream_id, None)
        self._exchange.unfollow(stream_id)

    def told(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Pass running text on, if it is ours."""
        if running.message_id in self._own:
            self._exchange.tell(running, event_type, data)

    # ------------------------------------------------------------------ what others tell

    def woken(self, stream_id: str, head: int) -> None:
        """Fetch what live readers lack of a stream."""
        if self._hub.behind(stream_id, head) is not None:
            self._due[stream_id] = max(head, self._due.get(stream_id, 0))
            self._work.set()

    def begun(self, running: Running) -> None:
        """Show a message that another gateway writes."""
        if running.message_id in self._own or running.message_id in self._over:
            return
        self._foreign[running.message_id] = running
        self._hub.texts.begin(running)

    def running(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Show how it goes on."""
        known = self._foreign.get(running.message_id)
        if known is None:
            return
        if event_type == "turn.step":
            self._hub.texts.step(known, data["step"], data["detail"])
        else:
            self._hub.texts.delta(known, data["start"], data["text"])
            self._hub.texts.flush(known)

    def ended(self, message_id: str) -> None:
        """Show it no longer; its stored form comes from the database."""
        known = self._foreign.pop(message_id, None)
        if known is not None:
            self._hub.texts.end(known)

    def whispered(self, stream_id: str, whisper: Whisper) -> None:
        """Tell whoever is live here."""
        self._hub.whisper(
            (stream_id,),
            whisper.event_type,
            whisper.data,
            conversation_id=whisper.conversation_id,
            sender=whisper.sender,
        )

    def joined(self) -> None:
        """Tell anew, whole, what we are writing; and look for what we were not told."""
        for message_id, running in self._own.items():
            self._exchange.begin(running)
            text = self._hub.texts.find(message_id)
            if text is None:
                continue
            for step in text.steps:
                self._exchange.tell(running, "turn.step", step)
            if so_far := text.so_far():
                self._exchange.tell(running, "message.delta", so_far)
        self._due.update(dict.fromkeys(self._hub.followed(), 0))
        self._work.set()

    # ------------------------------------------------------------------ the database

    async def _poll_for_ever(self) -> None:
        waited = 0.0
        while True:
            await self._clock.sleep(POLL_S)
            waited += POLL_S
            if self._exchange.connected and waited < SAFETY_POLL_S:
                continue
            waited = 0.0
            self._due.update(dict.fromkeys(self._hub.followed(), 0))
            self._work.set()

    async def _fetch_for_ever(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._due:
                some = list(self._due)[:FETCH_STREAMS]
                for stream_id in some:
                    del self._due[stream_id]
                try:
                    await self._fetch(some)
                except NotReady as exc:
                    log.warning("events_of_others_not_read", reason=exc.message)
                    self._due.update(dict.fromkeys(some, 0))
                    await self._clock.sleep(FETCH_RETRY_S)
                except Exception:  # one broken event must not end the hearing of all others; readers look again
                    log.exception("events_of_others_broken", streams=some)

    async def _fetch(self, stream_ids: list[str]) -> None:
        """Hand live readers what they lack of some streams, at most `FETCH_BATCH` events of each at a time."""
        assert self._store is not None
        found: list[tuple[StoredEvent, ...]] = []
        async with self._store.transaction() as tx:
            for stream_id, head in (await tx.events.heads(stream_ids)).items():
                after = self._hub.behind(stream_id, head)
                if after is not None:
                    found.append(tuple(await tx.events.after(stream_id, after, FETCH_BATCH)))
                    if head - after > FETCH_BATCH:
                        self._due[stream_id] = head
        for events in found:
            self._deliver(events)

    def _deliver(self, events: tuple[StoredEvent, ...]) -> None:
        self._hub.committed(events)
        for event in events:
            message_id = event.data.get("message_id") if is_end(event.type, event.data) else None
            if message_id is not None and message_id not in self._own:
                self._over[message_id] = None
                if len(self._over) > OVER_LIMIT:
                    self._over.popitem(last=False)
                self.ended(message_id)
