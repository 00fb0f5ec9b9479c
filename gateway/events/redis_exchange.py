"""The exchange over Redis. While Redis is away nothing is kept for it; once back, what is still true is told anew.

One session at a time, of four tasks: what we tell goes out in one pipeline at a time, channels are joined and left,
their messages are heard, and texts that they name are read. When one breaks the session ends, and the next begins
after a pause that grows to `LONGEST_PAUSE_S`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gateway.events.redis_outbox import Outbox
from gateway.events.redis_words import FIELD, Keys, read_entry, read_notice
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from redis.asyncio.client import PubSub

    from gateway.events.contract import Running
    from gateway.events.exchange import Listener, Whisper
    from shared.clock import Clock

ANSWER_S: Final = 2.0
"""How long Redis may take to answer before it counts as away."""
HEARTBEAT_S: Final = 1.0
"""How often Redis is asked for a sign of life when there is nothing to tell."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
SAID_AGAIN_S: Final = 0.1
READ_AT_ONCE: Final = 100
"""Texts read in one call."""
ENTRIES_AT_ONCE: Final = 500
BROKEN: Final = (RedisError, OSError, TimeoutError)

log = logger(__name__)


@dataclass(slots=True)
class _Text:
    """How far we have read a text, and of whom it is; nothing is known of it before its beginning was read."""

    last: str = "0-0"
    member: str = ""
    running: Running | None = None


class RedisExchange:
    """One gateway's place; see `gateway.events.exchange.Exchange`."""

    def __init__(self, url: str, prefix: str, clock: Clock) -> None:
        """Take where Redis is (`redis://…`, `rediss://…`) and what our names in it begin with."""
        self._redis: Redis = Redis.from_url(
            url,
            decode_responses=True,
            protocol=2,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._member = new_id(clock.now())
        self._keys = Keys(prefix)
        self._clock = clock
        self._listener: Listener | None = None
        self._outbox = Outbox(self._keys, self._member)
        self._spoken = asyncio.Event()
        self._followed: set[str] = set()
        self._left: set[str] = set()
        self._changed = asyncio.Event()
        self._texts: dict[str, _Text] = {}
        self._unread: dict[str, None] = {}
        self._named = asyncio.Event()
        self._connected = False
        self._closing = False

    @property
    def connected(self) -> bool:
        """Whether Redis answers and we hear its channels."""
        return self._connected

    @property
    def broken(self) -> bool:
        """Whether Redis is away."""
        return not self._connected

    @property
    def listener(self) -> Listener:
        """Who hears what others tell."""
        assert self._listener is not None
        return self._listener

    # ------------------------------------------------------------------ what we say

    def join(self, listener: Listener) -> None:
        """Name who hears."""
        self._listener = listener

    def follow(self, stream_id: str) -> None:
        """Hear of a stream from now on."""
        self._followed.add(stream_id)
        self._changed.set()

    def unfollow(self, stream_id: str) -> None:
        """Hear of it no longer."""
        self._followed.discard(stream_id)
        self._left.add(stream_id)
        self._changed.set()
        for message_id, text in list(self._texts.items()):
            if text.running is not None and self._followed.isdisjoint(text.running.streams):
                self._forget(message_id)

    def wake(self, stream_id: str, head: int) -> None:
        """Tell that a stream has grown."""
        if self._may_speak():
            notice = self._outbox.notice(stream_id)
            notice.head = max(notice.head, head)

    def begin(self, running: Running) -> None:
        """Tell that we write a message."""
        if self._may_speak():
            self._outbox.begin(running)

    def tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Tell a step or a delta."""
        if self._may_speak():
            self._outbox.tell(running, event_type, data)

    def end(self, running: Running) -> None:
        """Tell that the message is written."""
        if self._may_speak():
            self._outbox.end(running)

    def whisper(self, stream_ids: tuple[str, ...], whisper: Whisper) -> None:
        """Tell a passing word."""
        for stream_id in stream_ids:
            if self._may_speak():
                self._outbox.whisper(stream_id, whisper)

    def _may_speak(self) -> bool:
        if not self._connected:
            return False
        if self._outbox.full():
            log.warning("redis_too_slow", words=self._outbox.count)
            self._connected = False  # the sender sees it and ends the session
        self._spoken.set()
        return self._connected

    # ------------------------------------------------------------------ sessions

    async def serve(self) -> None:
        """Keep in touch for ever."""
        pause, told = FIRST_PAUSE_S, False
        while True:
            try:
                await self._session()
            except* BROKEN as group:
                if self._connected:
                    pause, told = FIRST_PAUSE_S, False
                if not told:
                    log.warning("redis_away", reason=_reason(group))
                told = True
            except* Exception:  # streams go on without Redis, whatever it said
                log.exception("redis_session_broken")
            finally:
                self._lose()
            _heed_cancellation()
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def close(self) -> None:
        """Say what is still to be said, and leave."""
        if self._closing:
            return
        self._closing = True
        with suppress(*BROKEN):
            if self._connected:
                await self._send()
        self._lose()
        await self._redis.aclose()

    async def _session(self) -> None:
        pubsub = self._redis.pubsub()
        try:
            await self._redis.ping()
            joined = set(self._followed)
            await pubsub.subscribe(self._keys.own(self._member), *map(self._keys.channel, joined))
            self._connected = True
            log.info("redis_joined", streams=len(joined))
            self.listener.joined()
            self._unread.update(dict.fromkeys(self._texts))
            await self._look_for_texts(joined)
            _heed_cancellation()
            await _until_one_ends(
                self._send_for_ever(), self._join_for_ever(pubsub, joined), self._hear_for_ever(pubsub),
                self._read_for_ever(),
            )  # fmt: skip
        finally:
            with suppress(*BROKEN):
                await pubsub.aclose()

    def _lose(self) -> None:
        self._connected = False
        self._outbox = Outbox(self._keys, self._member)
        self._unread.clear()
        for message_id in list(self._texts):
            self._texts[message_id].last = "0-0"

    # ------------------------------------------------------------------ telling

    async def _send_for_ever(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._spoken.wait()
            self._spoken.clear()
            if not self._connected:
                raise TimeoutError("Redis does not take what there is to tell")
            await self._send()

    async def _send(self) -> None:
        """Send everything there is in one round trip, and be it a sign of life."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            self._outbox.empty_into(pipeline)
            pipeline.ping()
            await pipeline.execute()

    # ------------------------------------------------------------------ hearing

    async def _join_for_ever(self, pubsub: PubSub, joined: set[str]) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            new, gone = self._followed - joined, joined - self._followed
            # Whoever left and came back, as a page that reloads, has forgotten the texts but kept the channel.
            back, self._left = self._left & joined & self._followed, set()
            if gone:
                await pubsub.unsubscribe(*map(self._keys.channel, gone))
            if new:
                await pubsub.subscribe(*map(self._keys.channel, new))
            if new or back:
                await self._look_for_texts(new | back)
            joined.difference_update(gone)
            joined.update(new)

    async def _look_for_texts(self, stream_ids: set[str]) -> None:
        """Find what is being written in streams, once their channels are heard."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for stream_id in stream_ids:
                pipeline.smembers(self._keys.written(stream_id))
            for message_ids in await pipeline.execute():
                self._unread.update(dict.fromkeys(message_ids))
        self._named.set()

    async def _hear_for_ever(self, pubsub: PubSub) -> None:
        while True:
            message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
            if message is None or message["type"] != "message":
                continue
            member, notice = read_notice(message["data"])
            if member == self._member:
                continue
            stream_id = message["channel"].removeprefix(self._keys.channel(""))
            if notice.head:
                self.listener.woken(stream_id, notice.head)
            for message_id in notice.over:
                self._forget(message_id)
            for whisper in notice.whispers:
                self.listener.whispered(stream_id, whisper)
            if notice.texts:
                self._unread.update(notice.texts)
                self._named.set()

    async def _read_for_ever(self) -> None:
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
                self._forget(message_id)  # it is over, or Redis has lost it; then its writer tells it anew
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

    def _forget(self, message_id: str) -> None:
        self._unread.pop(message_id, None)
        if self._texts.pop(message_id, None) is not None:
            self.listener.ended(message_id)


def _heed_cancellation() -> None:
    """Go when told to, where being told was swallowed.

    Before Python 3.12 `asyncio.wait_for`, by which the client sends, loses a cancellation that comes in the step in
    which it ends (https://github.com/python/cpython/issues/86296).
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _until_one_ends(*works: Coroutine[Any, Any, None]) -> None:
    """Run all until one breaks, end the others, and raise what broke; a cancellation that gets lost is said again."""
    tasks = {asyncio.create_task(work, name=f"redis {work.__name__}") for work in works}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        while pending := {task for task in tasks if not task.done()}:
            for task in pending:
                task.cancel()
            await asyncio.wait(pending, timeout=SAID_AGAIN_S)
    for task in done:
        task.result()


def _reason(group: BaseExceptionGroup[Exception]) -> str:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return f"{type(first).__name__}: {first}"
