"""Reads in Redis what other gateways write: each message is a stream there, which is read on from where we stopped."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gateway.events.redis_words import FIELD, Keys, read_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from redis.asyncio import Redis

    from gateway.events.contract import Running
    from gateway.events.exchange import Listener

READ_AT_ONCE: Final = 100
"""Texts read in one call."""
ENTRIES_AT_ONCE: Final = 500


@dataclass(slots=True)
class _Text:
    """How far we have read a text, and of whom it is; nothing is known of it before its beginning was read."""

    last: str = "0-0"
    member: str = ""
    running: Running | None = None


class TextsOfOthers:
    """The messages that are being written in streams followed here, those of this gateway among them but not told."""

    def __init__(self, redis: Redis, keys: Keys, member: str) -> None:
        """Take where texts are, and who we are."""
        self._redis = redis
        self._keys = keys
        self._member = member
        self._listener: Listener | None = None
        self._texts: dict[str, _Text] = {}
        self._unread: dict[str, None] = {}
        self._named = asyncio.Event()

    def join(self, listener: Listener) -> None:
        """Name who hears."""
        self._listener = listener

    @property
    def listener(self) -> Listener:
        """Who hears what others write."""
        assert self._listener is not None
        return self._listener

    # ------------------------------------------------------------------ which to read

    def name(self, message_ids: Iterable[str]) -> None:
        """Read on in some texts soon."""
        self._unread.update(dict.fromkeys(message_ids))
        self._named.set()

    async def look_in(self, stream_ids: set[str]) -> None:
        """Find what is being written in streams, once their channels are heard."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for stream_id in stream_ids:
                pipeline.smembers(self._keys.written(stream_id))
            for message_ids in await pipeline.execute():
                self.name(message_ids)

    def resume(self) -> None:
        """Read on in all that are known."""
        self.name(self._texts)

    def lose(self) -> None:
        """Redis is away: what it will have later may be told anew, from the beginning."""
        self._unread.clear()
        for text in self._texts.values():
            text.last = "0-0"

    def leave(self, followed: set[str]) -> None:
        """Forget the texts of which no stream is followed any more."""
        for message_id, text in list(self._texts.items()):
            if text.running is not None and followed.isdisjoint(text.running.streams):
                self.forget(message_id)

    def forget(self, message_id: str) -> None:
        """Read no more of a text, and tell so."""
        self._unread.pop(message_id, None)
        if self._texts.pop(message_id, None) is not None:
            self.listener.ended(message_id)

    # ------------------------------------------------------------------ reading

    async def read_for_ever(self) -> None:
        """Read whatever is named."""
        while True:
            await self._named.wait()
            self._named.clear()
            while self._unread:
                some = list(self._unread)[:READ_AT_ONCE]
                for message_id in some:
                    del self._unread[message_id]
                await self._read(some)

    async def _read(self, message_ids: list[str]) -> None:
        """Read on in some texts."""
        places: dict[Any, Any] = {}
        for message_id in message_ids:
            places[self._keys.text(message_id)] = self._texts.setdefault(message_id, _Text()).last
        found: dict[Any, Any] = dict(await self._redis.xread(places, count=ENTRIES_AT_ONCE) or ())
        for message_id in message_ids:
            text, entries = self._texts.get(message_id), found.get(self._keys.text(message_id), [])
            if text is not None and not entries and text.last == "0-0":
                self.forget(message_id)  # it is over, or Redis has lost it; then its writer tells it anew
            if len(entries) == ENTRIES_AT_ONCE:
                self._unread[message_id] = None
            for number, fields in entries:
                self._take(message_id, number, fields[FIELD])

    def _take(self, message_id: str, number: str, data: str) -> None:
        text = self._texts.get(message_id)
        if text is None:
            return
        text.last, entry = number, read_entry(data)
        if entry.begin is not None:
            text.member, text.running = entry.member, entry.begin
            if entry.member != self._member:
                self.listener.begun(entry.begin)
        if text.running is None or entry.member != text.member or entry.member == self._member:
            return
        for event_type, words in entry.words:
            self.listener.running(text.running, event_type, words)
